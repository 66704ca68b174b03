#include "ops/attend.h"

#include <math.h>
#include <string.h>

#include "common/threads.h"
#include "ops/product.h"
#include "ops/real.h"

struct job {
    const struct ox_attend *a;
    struct ox_task_state state;
};

/* Keys that a row sees: [*low, *high). */
static void visible(const struct ox_attend *a, size_t batch, size_t row, size_t *low, size_t *high)
{
    *low = 0;
    *high = a->lengths && a->lengths[batch] < a->cols ? a->lengths[batch] : a->cols;
    if (!a->causal)
        return;
    size_t last = (a->first ? a->first[batch] : 0) + row + 1;
    if (last < *high)
        *high = last;
    if (a->window >= 0 && last > (size_t)a->window)
        *low = last - (size_t)a->window < *high ? last - (size_t)a->window : *high;
}

static void score_row(const struct ox_attend *a, size_t b, size_t h, size_t row, size_t low,
                      size_t high, double *scores)
{
    size_t kv = h / (a->heads / a->kv_heads);
    const double *q = a->q + b * a->q_at.batch + h * a->q_at.head + row * a->q_at.row;
    const double *k = a->k + b * a->k_at.batch + kv * a->k_at.head;
    for (size_t t = low; t < high; t++) {
        const double *key = k + t * a->k_at.row;
        double sum = 0;
        for (size_t i = 0; i < a->size; i++)
            sum += q[i] * key[i];
        scores[t] = sum * a->scale;
    }
    if (a->softcap > 0)
        for (size_t t = low; t < high; t++)
            scores[t] = a->softcap * tanh(scores[t] / a->softcap);
    if (a->bias) {
        const double *bias =
            a->bias + b * a->bias_at.batch + h * a->bias_at.head + row * a->bias_at.row;
        for (size_t t = low; t < high; t++)
            scores[t] += bias[t];
    }
    if (a->mask) {
        const double *mask = a->mask + b * a->mask_at.batch + row * a->mask_at.row;
        for (size_t t = low; t < high; t++)
            scores[t] += mask[t];
    }
}

/* Leaves the weights in `scores`. */
static void weigh_row(const struct ox_attend *a, size_t b, size_t h, size_t row, size_t low,
                      size_t high, double *scores)
{
    size_t kv = h / (a->heads / a->kv_heads);
    const double *v = a->v + b * a->v_at.batch + kv * a->v_at.head;
    double *y = a->y + b * a->y_at.batch + h * a->y_at.head + row * a->y_at.row;
    double max = a->sink ? a->sink[h] : -INFINITY, sum = 0;
    for (size_t t = low; t < high; t++)
        max = scores[t] > max ? scores[t] : max;
    for (size_t i = 0; i < a->v_size; i++)
        y[i] = 0;
    if (max == -INFINITY) {
        for (size_t t = low; t < high; t++)
            scores[t] = 0;
        return;
    }
    for (size_t t = low; t < high; t++) {
        double weight = exp(scores[t] - max);
        const double *value = v + t * a->v_at.row;
        sum += weight;
        scores[t] = weight;
        for (size_t i = 0; i < a->v_size; i++)
            y[i] += weight * value[i];
    }
    if (a->sink)
        sum += exp(a->sink[h] - max);
    for (size_t i = 0; i < a->v_size; i++)
        y[i] /= sum;
    for (size_t t = low; t < high; t++)
        scores[t] /= sum;
}

static void attend_task(void *arg, size_t index)
{
    struct job *job = arg;
    const struct ox_attend *a = job->a;
    size_t b = index / a->heads, h = index % a->heads;
    double *scores = ox_task_alloc(&job->state, a->cols, sizeof *scores);
    for (size_t row = 0; scores && row < a->rows; row++) {
        size_t low, high;
        visible(a, b, row, &low, &high);
        if (a->qk) {
            double *qk = a->qk + (index * a->rows + row) * a->cols;
            for (size_t t = 0; t < a->cols; t++)
                qk[t] = 0;
            score_row(a, b, h, row, low, high, qk);
            memcpy(scores, qk, a->cols * sizeof *scores);
        } else {
            score_row(a, b, h, row, low, high, scores);
        }
        weigh_row(a, b, h, row, low, high, scores);
        if (a->qk && a->qk_weights)
            memcpy(a->qk + (index * a->rows + row) * a->cols + low, scores + low,
                   (high - low) * sizeof *scores);
    }
    ox_task_free(&job->state, scores, a->cols, sizeof *scores);
}

enum ox_status ox_attend(struct ox_run *r, const struct ox_attend *a, struct ox_error *err)
{
    struct job job = {.a = a, .state = {.budget = ox_env_budget(r->env)}};
    if (a->kv_heads == 0 || a->heads % a->kv_heads)
        return ox_run_fail(r, err, OX_INPUT, "%zu heads cannot share %zu keys", a->heads,
                           a->kv_heads);
    if (a->rows)
        ox_parallel(r->env, a->batch * a->heads, attend_task, &job);
    if (job.state.no_memory)
        return ox_no_memory(err);
    return ox_env_poll(r->env, err);
}

void ox_attend_gather(double *to, size_t total, size_t at, const double *from,
                      struct ox_attend_steps steps, size_t batch, size_t heads, size_t rows,
                      size_t size, const double *bias)
{
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t t = 0; t < rows; t++) {
                const double *x = from + b * steps.batch + h * steps.head + t * steps.row;
                double *y = to + ((b * heads + h) * total + at + t) * size;
                for (size_t i = 0; i < size; i++)
                    y[i] = x[i] + (bias ? bias[h * size + i] : 0);
            }
}

void ox_attend_rotate(double *head, size_t half, bool interleaved, const double *cosines,
                      const double *sines)
{
    for (size_t i = 0; i < half; i++) {
        double *a = head + (interleaved ? 2 * i : i), *b = interleaved ? a + 1 : a + half;
        double x = *a, y = *b;
        *a = x * cosines[i] - y * sines[i];
        *b = y * cosines[i] + x * sines[i];
    }
}
