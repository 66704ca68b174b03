/* MRotaryEmbedding (com.microsoft): rotary embeddings of tokens that have three positions (time, height, width), each of which gives the
 * angles of its part of a head. */
#include <inttypes.h>
#include <string.h>

#include "ops/attend.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"
#include "ops/turn_heads.h"

enum { POSITIONS = 3 };

struct turning {
    const struct ox_tensor *x, *places, *cosines, *sines;
    size_t batch, heads, rows, size, half; /* half: pairs that turn */
    struct ox_heads_step at;
    unsigned char *stream; /* of each pair: which position it turns by */
    double scale;
    bool interleaved;
};

/* [batch, rows, heads * size] or [batch, heads, rows, size]. */
static enum ox_status read_heads(struct ox_run *r, struct turning *t, struct ox_error *err)
{
    const struct ox_tensor *x = t->x;
    const int64_t heads = ox_run_int(r, "num_heads", 0),
                  part = ox_run_int(r, "rotary_embedding_dim", 0);
    if (x->rank != 3 && x->rank != 4)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, not 3 or 4", x->rank);
    if ((x->rank == 3 || part) && (heads < 1 || (x->rank == 3 && x->dims[2] % heads)))
        return ox_run_fail(r, err, OX_INPUT, "%" PRId64 " heads of %" PRId64 " columns", heads,
                           x->dims[x->rank - 1]);
    const bool by_head = x->rank == 4;
    t->batch = (size_t)x->dims[0];
    t->heads = (size_t)(by_head ? x->dims[1] : heads);
    t->rows = (size_t)x->dims[by_head ? 2 : 1];
    t->size = (size_t)(by_head ? x->dims[3] : x->dims[2] / heads);
    const size_t all = t->heads * t->rows * t->size;
    t->at = by_head ? (struct ox_heads_step){all, t->rows * t->size, t->size}
                    : (struct ox_heads_step){all, t->size, t->heads * t->size};
    if (part < 0 || part % 2 || (size_t)part > t->size || (!part && t->size % 2))
        return ox_run_fail(r, err, OX_INPUT,
                           "%" PRId64 " of a head's %zu values cannot be turned in pairs", part,
                           t->size);
    t->half = (part ? (size_t)part : t->size) / 2;
    return OX_OK;
}

/* Sections one behind the other, or every third pair, as far as a section has so many; what is left goes by the first position. */
static enum ox_status read_sections(struct ox_run *r, struct turning *t, struct ox_error *err)
{
    size_t n;
    const int64_t *sections = ox_run_ints(r, "mrope_section", &n);
    const int64_t layout = ox_run_int(r, "mrope_layout", 0);
    uint64_t sum = 0;
    bool fits = n == POSITIONS && sections && (layout == 0 || layout == 1);
    for (size_t k = 0; fits && k < POSITIONS; k++) {
        fits = sections[k] >= 0 && (uint64_t)sections[k] <= t->half;
        sum += (uint64_t)sections[k];
    }
    if (!fits || sum != t->half)
        return ox_run_fail(r, err, OX_INPUT,
                           "mrope_section is not three sizes that are %zu in all, or mrope_layout "
                           "%" PRId64 " is neither 0 nor 1",
                           t->half, layout);
    t->stream = ox_run_scratch(r, t->half + 1, 1, err);
    if (!t->stream)
        return OX_NO_MEMORY;
    memset(t->stream, 0, t->half);
    size_t at = 0;
    for (unsigned char k = 0; k < POSITIONS; at += (size_t)sections[k++])
        for (size_t i = 0; i < (size_t)sections[k]; i++) {
            const size_t pair = layout ? POSITIONS * i + k : at + i;
            if (pair < t->half)
                t->stream[pair] = k;
        }
    return OX_OK;
}

static enum ox_status check_tables(struct ox_run *r, const struct turning *t, struct ox_error *err)
{
    const struct ox_tensor *c = t->cosines, *s = t->sines, *p = t->places;
    if (c->rank != 2 || s->rank != 2 || c->dims[0] != s->dims[0] || c->dims[1] != s->dims[1] ||
        (size_t)c->dims[1] != t->half)
        return ox_run_fail(r, err, OX_INPUT,
                           "cos_cache and sin_cache are no two matrices of %zu columns", t->half);
    if (p->rank != 3 || p->dims[0] != POSITIONS || (size_t)p->dims[1] != t->batch ||
        (size_t)p->dims[2] != t->rows)
        return ox_run_fail(r, err, OX_INPUT, "position_ids is not [3, %zu, %zu]", t->batch,
                           t->rows);
    for (size_t i = 0; i < p->n; i++)
        if (((const int64_t *)p->data)[i] < 0 || ((const int64_t *)p->data)[i] >= c->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "position %" PRId64 " is outside of the %" PRId64 " of cos_cache",
                               ((const int64_t *)p->data)[i], c->dims[0]);
    return OX_OK;
}

/* The angles of a token, one for each pair. */
static void find_angles(const struct turning *t, size_t token, double *cosines, double *sines)
{
    const int64_t *places = t->places->data;
    const size_t tokens = t->batch * t->rows;
    for (size_t i = 0; i < t->half; i++) {
        const size_t at = (size_t)places[t->stream[i] * tokens + token] * t->half + i;
        ox_real_load(t->cosines, at, 1, &cosines[i]);
        ox_real_load(t->sines, at, 1, &sines[i]);
        cosines[i] *= t->scale;
        sines[i] *= t->scale;
    }
}

static enum ox_status turn_floats(struct ox_run *r, const struct turning *t, double *cosines,
                                  double *sines, struct ox_error *err)
{
    const size_t tokens = t->batch * t->rows;
    size_t n;
    struct ox_tensor *y;
    if (OX_MUL_OVERFLOWS(tokens + 1, t->half + 1, &n))
        return ox_run_fail(r, err, OX_LIMIT, "the tables of angles are too big");
    size_t *place = ox_run_scratch(r, tokens + 1, sizeof *place, err);
    float *c = ox_run_scratch(r, n, sizeof *c, err), *s = ox_run_scratch(r, n, sizeof *s, err);
    if (!place || !c || !s)
        return OX_NO_MEMORY;
    for (size_t token = 0; token < tokens; token++) {
        place[token] = token * t->half;
        find_angles(t, token, cosines, sines);
        for (size_t i = 0; i < t->half; i++) {
            c[place[token] + i] = (float)cosines[i];
            s[place[token] + i] = (float)sines[i];
        }
    }
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, t->x->rank, t->x->dims, &y, err));
    struct ox_turn_heads turn = {.batch = t->batch,
                                 .heads = t->heads,
                                 .rows = t->rows,
                                 .size = t->size,
                                 .x_at = t->at,
                                 .y_at = t->at,
                                 .x = t->x->data,
                                 .cosines = c,
                                 .sines = s,
                                 .y = y->data,
                                 .place = place,
                                 .half = t->half,
                                 .interleaved = t->interleaved};
    if (y->n)
        ox_turn_heads(r->env, &turn);
    return ox_env_poll(r->env, err);
}

static enum ox_status run_multi_rotary(struct ox_run *r, struct ox_error *err)
{
    struct turning t = {.x = ox_run_in(r, 0),
                        .places = ox_run_in(r, 1),
                        .cosines = ox_run_in(r, 2),
                        .sines = ox_run_in(r, 3),
                        .scale = (double)ox_run_float(r, "scale", 1),
                        .interleaved = ox_run_int(r, "interleaved", 0) != 0};
    OX_TRY(read_heads(r, &t, err));
    OX_TRY(read_sections(r, &t, err));
    OX_TRY(check_tables(r, &t, err));
    double *cosines = ox_real_scratch(r, t.half, err), *sines = ox_real_scratch(r, t.half, err);
    if (!cosines || !sines)
        return OX_NO_MEMORY;
    if (t.x->dtype == OX_FLOAT32)
        return turn_floats(r, &t, cosines, sines, err);
    double *y = ox_real_scratch(r, t.x->n, err);
    if (!y)
        return OX_NO_MEMORY;
    ox_real_load(t.x, 0, t.x->n, y);
    for (size_t token = 0; token < t.batch * t.rows; token++) {
        find_angles(&t, token, cosines, sines);
        for (size_t h = 0; h < t.heads; h++)
            ox_attend_rotate(y + token / t.rows * t.at.batch + h * t.at.head +
                                 token % t.rows * t.at.row,
                             t.half, t.interleaved, cosines, sines);
    }
    return ox_real_out(r, 0, t.x->dtype, t.x->rank, t.x->dims, y, err);
}

static void infer_multi_rotary(struct ox_infer *c)
{
    ox_infer_same(c, 0, 0);
    ox_rule_rank(c, 1, 3);
}

const struct ox_op ox_ops_multi_rotary[] = {
    {"com.microsoft", "MRotaryEmbedding", 1, .infer = infer_multi_rotary, .run = run_multi_rotary},
    {0}};
