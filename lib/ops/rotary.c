/* RotaryEmbedding: pairs of numbers turned by an angle that grows with the position. */
#include <string.h>

#include "common/threads.h"
#include "kernels/turns.h"
#include "ops/infer.h"
#include "ops/product.h"
#include "ops/real.h"

enum { TOKENS = 32 }; /* of a task */

struct rotary {
    const struct ox_tensor *x, *cosine, *sine, *positions;
    struct ox_tensor *y;
    size_t batch, length, heads, size, half; /* half: pairs that turn */
    bool interleaved, by_head;               /* by_head: x is [batch, heads, length, size] */
    const struct ox_turns *turns;
    struct ox_task_state state;
};

static void infer_rotary(struct ox_infer *c)
{
    unsigned rank;
    ox_infer_same_shape(c, 0, 0);
    if (!ox_infer_shape(c, 0, &rank, NULL))
        return;
    if (rank != 3 && rank != 4)
        ox_infer_conflict(c, "the input's rank is %u, not 3 or 4", rank);
    else if (rank == 3 && ox_infer_int_attr(c, "num_heads", 0) < 1)
        ox_infer_conflict(c, "the input's rank is 3, and num_heads is not given");
}

/* First element of a token's head. */
static size_t head_at(const struct rotary *j, size_t token, size_t head)
{
    return (j->by_head ? (token / j->length * j->heads + head) * j->length + token % j->length
                       : token * j->heads + head) *
           j->size;
}

static size_t place_of(const struct rotary *j, size_t token)
{
    return j->positions ? (size_t)ox_tensor_get_int(j->positions, token) : token;
}

static void turn_head(const struct rotary *j, size_t token, size_t head)
{
    const size_t half = j->half, at = head_at(j, token, head), place = place_of(j, token) * half;
    const float *c = (const float *)j->cosine->data + place;
    const float *s = (const float *)j->sine->data + place;
    const float *x = (const float *)j->x->data + at;
    float *y = (float *)j->y->data + at;
    if (j->interleaved)
        j->turns->neighbours(half, c, s, x, y);
    else
        j->turns->halves(half, c, s, x, x + half, y, y + half);
    if (j->size > 2 * half)
        memcpy(y + 2 * half, x + 2 * half, (j->size - 2 * half) * sizeof *y);
}

/* All heads of some tokens, all of it float32: of a head those rows that lie together. */
static void tokens_f32_task(void *arg, size_t i)
{
    const struct rotary *j = arg;
    const size_t first = i * TOKENS, all = j->batch * j->length;
    const size_t end = all - first < TOKENS ? all : first + TOKENS;
    if (!j->by_head) {
        for (size_t token = first; token < end; token++)
            for (size_t head = 0; head < j->heads; head++)
                turn_head(j, token, head);
        return;
    }
    for (size_t head = 0; head < j->heads; head++)
        for (size_t token = first; token < end; token++)
            turn_head(j, token, head);
}

/* All heads of one token. */
static void token_task(void *arg, size_t token)
{
    struct rotary *j = arg;
    size_t need = j->size + 2 * j->half + 1;
    double *row = ox_task_alloc(&j->state, need, sizeof *row);
    if (!row)
        return;
    double *c = row + j->size, *s = c + j->half;
    size_t place = place_of(j, token);
    ox_real_load(j->cosine, place * j->half, j->half, c);
    ox_real_load(j->sine, place * j->half, j->half, s);
    for (size_t head = 0; head < j->heads; head++) {
        size_t at = head_at(j, token, head);
        ox_real_load(j->x, at, j->size, row);
        for (size_t k = 0; k < j->half; k++) {
            double *a = row + (j->interleaved ? 2 * k : k);
            double *b = row + (j->interleaved ? 2 * k + 1 : k + j->half);
            double re = c[k] * *a - s[k] * *b, im = s[k] * *a + c[k] * *b;
            *a = re;
            *b = im;
        }
        ox_real_store(j->y, at, j->size, row);
    }
    ox_task_free(&j->state, row, need, sizeof *row);
}

static enum ox_status read_shape(struct ox_run *r, struct rotary *j, struct ox_error *err)
{
    const struct ox_tensor *x = j->x;
    int64_t heads = ox_run_int(r, "num_heads", 0), dim = ox_run_int(r, "rotary_embedding_dim", 0);
    if (x->rank != 3 && x->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the input's rank is %u, not 3 or 4", x->rank);
    j->by_head = x->rank == 4;
    if (!j->by_head && (heads < 1 || x->dims[2] % heads))
        return ox_run_fail(r, err, OX_INPUT, "num_heads %lld does not divide a hidden size of %lld",
                           (long long)heads, (long long)x->dims[2]);
    j->batch = (size_t)x->dims[0];
    j->length = (size_t)x->dims[j->by_head ? 2 : 1];
    j->heads = (size_t)(j->by_head ? x->dims[1] : heads);
    j->size = (size_t)(j->by_head ? x->dims[3] : x->dims[2] / heads);
    if (dim == 0)
        dim = (int64_t)j->size;
    if (dim < 0 || dim % 2 || (size_t)dim > j->size)
        return ox_run_fail(r, err, OX_INPUT,
                           "%lld of a head's %zu values cannot be turned in pairs", (long long)dim,
                           j->size);
    j->half = (size_t)dim / 2;
    return OX_OK;
}

static enum ox_status check_cache(struct ox_run *r, const struct rotary *j,
                                  const struct ox_tensor *cache, const char *what,
                                  struct ox_error *err)
{
    unsigned rank = j->positions ? 2 : 3;
    bool fits = cache->rank == rank && (size_t)cache->dims[rank - 1] == j->half;
    if (fits && rank == 3)
        fits = (size_t)cache->dims[0] == j->batch && (size_t)cache->dims[1] == j->length;
    if (fits)
        return OX_OK;
    return ox_run_fail(r, err, OX_INPUT, "%s is not [%s, %zu]", what,
                       rank == 2 ? "positions" : "batch, sequence", j->half);
}

static enum ox_status run_rotary(struct ox_run *r, struct ox_error *err)
{
    struct rotary j = {.x = ox_run_in(r, 0),
                       .cosine = ox_run_in(r, 1),
                       .sine = ox_run_in(r, 2),
                       .positions = ox_run_in(r, 3),
                       .turns = ox_turns(),
                       .interleaved = ox_run_int(r, "interleaved", 0) != 0};
    OX_TRY(read_shape(r, &j, err));
    OX_TRY(check_cache(r, &j, j.cosine, "cos_cache", err));
    OX_TRY(check_cache(r, &j, j.sine, "sin_cache", err));
    size_t tokens = j.batch * j.length;
    if (j.positions) {
        int64_t most = j.cosine->dims[0] < j.sine->dims[0] ? j.cosine->dims[0] : j.sine->dims[0];
        if (j.positions->rank != 2 || j.positions->n != tokens)
            return ox_run_fail(r, err, OX_INPUT, "position_ids is not [%zu, %zu]", j.batch,
                               j.length);
        for (size_t i = 0; i < tokens; i++) {
            int64_t at = ox_tensor_get_int(j.positions, i);
            if (at < 0 || at >= most)
                return ox_run_fail(r, err, OX_INPUT,
                                   "position_ids[%zu] is %lld, outside of [0, %lld)", i,
                                   (long long)at, (long long)most);
        }
    }
    OX_TRY(ox_run_out(r, 0, j.x->dtype, j.x->rank, j.x->dims, &j.y, err));
    if (!j.x->n)
        return OX_OK;
    j.state.budget = ox_env_budget(r->env);
    const bool floats =
        j.x->dtype == OX_FLOAT32 && j.cosine->dtype == OX_FLOAT32 && j.sine->dtype == OX_FLOAT32;
    if (floats)
        ox_parallel(r->env, (tokens - 1) / TOKENS + 1, tokens_f32_task, &j);
    else
        ox_parallel(r->env, tokens, token_task, &j);
    OX_TRY(ox_env_poll(r->env, err));
    return j.state.no_memory ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory") : OX_OK;
}

const struct ox_op ox_ops_rotary[] = {
    {"", "RotaryEmbedding", 23, .infer = infer_rotary, .run = run_rotary}, {0}};
