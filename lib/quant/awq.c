#include "quant/awq.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "common/threads.h"

/* Factors are inputs^a, and inputs^a / weights^(1 - a), over steps of a. The first candidate is rounding to nearest, the second the same
 * where rows count by their inputs. */
enum { STEPS = 20, NEAREST = 0, WEIGHED = 1, CANDIDATES = 1 + 2 * STEPS, COLUMNS = 16 };

struct search {
    const struct ox_blocking *b;
    float *seen, *rows;          /* [k]: mean squares of inputs, mean magnitudes of weights */
    float *factors, *importance; /* [k]: of the candidate */
    double *logs;                /* [k] */
    float *values;               /* [k, n] */
    const struct ox_tensor *back;
    double *costs; /* of each task */
};

/* The mean square of each row's inputs over the mean of all; of those that samples hardly showed a little. */
static void find_seen(const double *hessian, size_t k, float *seen)
{
    const double share = 0.01;
    double sum = 0;
    for (size_t i = 0; i < k; i++)
        sum += hessian[i * k + i];
    const double mean = sum > 0 && isfinite(sum) ? sum / (double)k : 1;
    for (size_t i = 0; i < k; i++) {
        const double own = hessian[i * k + i] / mean;
        seen[i] = (float)((own > 0 && isfinite(own) ? own : 0) + share);
    }
}

/* Mean magnitude of each row's weights, each measured by the largest of its block. */
static void weigh_rows(const struct ox_blocking *b, float *rows)
{
    const float least = 1e-4f;
    for (size_t row = 0; row < b->k; row += b->block) {
        const size_t end = b->k - row < b->block ? b->k : row + b->block;
        for (size_t j = 0; j < b->n; j++) {
            float most = 0;
            for (size_t i = row; i < end; i++)
                most = fmaxf(most, fabsf(b->values[i * b->n + j]));
            for (size_t i = row; most > 0 && i < end; i++)
                rows[i] += fabsf(b->values[i * b->n + j]) / most;
        }
    }
    for (size_t i = 0; i < b->k; i++)
        rows[i] = fmaxf(rows[i] / (float)b->n, least);
}

/* What the factors have in common is taken out, the middle of the largest and the smallest, and they are of a few values, so that
 * another machine's last bit of a logarithm changes none. */
static void set_factors(const struct search *s)
{
    const double steps = 8; /* of an octave */
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < s->b->k; i++) {
        least = fmin(least, s->logs[i]);
        most = fmax(most, s->logs[i]);
    }
    for (size_t i = 0; i < s->b->k; i++)
        s->factors[i] = (float)exp2(rint((s->logs[i] - (least + most) / 2) * steps) / steps);
}

static void make_candidate(const struct search *s, int candidate)
{
    const bool by_weights = candidate > STEPS;
    const double a = (double)(candidate - (by_weights ? STEPS : 1)) / STEPS;
    for (size_t i = 0; i < s->b->k; i++)
        s->logs[i] = candidate == NEAREST
                         ? 0
                         : a * log2((double)s->seen[i]) / 2 -
                               (by_weights ? (1 - a) * log2((double)s->rows[i]) : 0);
    set_factors(s);
    for (size_t i = 0; i < s->b->k; i++)
        s->importance[i] = s->seen[i] / (s->factors[i] * s->factors[i]);
}

/* The sum of e^T H e over a task's columns, of which e is what rounding changed. */
static void cost_columns(void *arg, size_t task)
{
    const struct search *s = arg;
    const size_t k = s->b->k, n = s->b->n, first = task * COLUMNS;
    const size_t m = n - first < COLUMNS ? n - first : COLUMNS;
    float *errors = s->values + first * k; /* of this task alone, and read no more: [k][m] */
    const float *back = (const float *)s->back->data + first;
    double sum = 0;
    for (size_t i = 0; i < k; i++) {
        for (size_t j = 0; j < m; j++)
            errors[i * m + j] = back[i * n + j] / s->factors[i] - s->b->values[i * n + first + j];
    }
    for (size_t i = 0; i < k; i++) {
        const double *h = s->b->hessian + i * k;
        double line[COLUMNS] = {0};
        for (size_t c = 0; c < m; c++)
            line[c] = h[i] / 2 * (double)errors[i * m + c];
        for (size_t j = i + 1; j < k; j++) {
            for (size_t c = 0; c < m; c++)
                line[c] += h[j] * (double)errors[j * m + c];
        }
        for (size_t c = 0; c < m; c++)
            sum += 2 * line[c] * (double)errors[i * m + c];
    }
    s->costs[task] = sum;
}

static enum ox_status try_candidate(struct search *s, struct ox_env *env, int candidate,
                                    double *cost, struct ox_error *err)
{
    const size_t n_tasks = (s->b->n + COLUMNS - 1) / COLUMNS;
    struct ox_blocking blocking = *s->b;
    struct ox_blocked made;
    struct ox_tensor *back;
    make_candidate(s, candidate);
    for (size_t i = 0; i < blocking.k * blocking.n; i++)
        s->values[i] = s->b->values[i] * s->factors[i / blocking.n];
    blocking.values = s->values;
    blocking.importance = candidate == NEAREST ? NULL : s->importance;
    OX_TRY(ox_blocked_quantize(&made, env, &blocking, err));
    const enum ox_status status = ox_blocked_dequantize(&back, env, &made, blocking.block, err);
    ox_blocked_release(&made);
    if (status != OX_OK)
        return status;
    s->back = back;
    ox_parallel(env, n_tasks, cost_columns, s);
    *cost = 0;
    for (size_t t = 0; t < n_tasks; t++)
        *cost += s->costs[t];
    ox_tensor_release(back);
    return OX_OK;
}

struct chosen {
    int candidate;
    double cost;
};

/* Of equal candidates the first stays. */
static enum ox_status offer(struct search *s, struct ox_env *env, int candidate,
                            struct chosen *best, struct ox_error *err)
{
    double cost;
    OX_TRY(try_candidate(s, env, candidate, &cost, err));
    if (cost < best->cost)
        *best = (struct chosen){candidate, cost};
    return OX_OK;
}

/* In wide steps, and in narrower ones around what is best then. */
static enum ox_status choose(struct search *s, struct ox_env *env, struct ox_awq *best,
                             struct ox_error *err)
{
    enum { WIDE = 4 };
    struct chosen found = {NEAREST, INFINITY};
    OX_TRY(offer(s, env, NEAREST, &found, err));
    const double first = found.cost;
    for (int c = WEIGHED; c < CANDIDATES; c += WIDE)
        OX_TRY(offer(s, env, c, &found, err));
    for (int step = WIDE / 2; step > 0 && found.candidate > NEAREST; step /= 2) {
        const int around = found.candidate;
        for (int c = around - step; c <= around + step; c += 2 * step) {
            const bool same = (c > STEPS) == (around > STEPS);
            if (c >= WEIGHED && c < CANDIDATES && same)
                OX_TRY(offer(s, env, c, &found, err));
        }
    }
    make_candidate(s, found.candidate);
    const double least = found.cost;
    best->left = first > 0 ? least / first : 1;
    best->weighs = found.candidate >= WEIGHED;
    best->scales = found.candidate > WEIGHED;
    return OX_OK;
}

enum ox_status ox_awq_search(struct ox_awq *best, struct ox_env *env, const struct ox_blocking *b,
                             struct ox_error *err)
{
    enum ox_status status = OX_NO_MEMORY;
    struct search s = {.b = b, .factors = best->factors, .importance = best->importance};
    s.seen = calloc(2 * b->k + 1, sizeof *s.seen);
    s.rows = s.seen + b->k;
    s.logs = calloc(b->k + 1, sizeof *s.logs);
    s.values = calloc(b->k * b->n + 1, sizeof *s.values);
    s.costs = calloc((b->n + COLUMNS - 1) / COLUMNS + 1, sizeof *s.costs);
    if (s.seen && s.logs && s.values && s.costs) {
        find_seen(b->hessian, b->k, s.seen);
        weigh_rows(b, s.rows);
        status = choose(&s, env, best, err);
    } else {
        ox_no_memory(err);
    }
    free(s.seen);
    free(s.logs);
    free(s.values);
    free(s.costs);
    return status;
}
