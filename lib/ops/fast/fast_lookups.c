/* Rows of tables that com.microsoft's operators look up, in float32: (Q)EmbedLayerNormalization and GatherBlockQuantized. What does not fit is
 * left to the plain forms, which tell it. */
#include "kernels/code_rows.h"
#include "kernels/dense.h"
#include "kernels/few_bits.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"

enum { GRAIN = 8192 /* elements of a task */ };

static size_t rows_of_task(size_t n)
{
    return n >= GRAIN ? 1 : GRAIN / (n + 1);
}

/* ---- EmbedLayerNormalization and QEmbedLayerNormalization --------------------------------------------------------- */

enum { NO_INPUT = OX_MOST_RANK, TABLES = 3, WORDS = 0, SEGMENTS = 2 };

/* Inputs of the node. */
struct source {
    size_t ids, rows, scale,
        zero; /* NO_INPUT: none; without ids rows in their order, without a scale of floats */
};

struct sources {
    struct source tables[TABLES]; /* words, places, segments */
    struct source gamma, beta;
};

struct table {
    const struct ox_tensor *ids;
    const float *rows;    /* NULL: */
    const uint8_t *codes; /* NULL: there is no table */
    struct ox_codes kernels;
    float scale;
    int32_t zero;
};

struct embedding {
    const struct ox_rows *kernels;
    struct table tables[TABLES];
    struct ox_norm_row row; /* but for what depends on the token */
    size_t n, length;       /* of a row; tokens of a sequence */
    size_t tokens, grain;   /* all; of a task */
    float *work;            /* [slots][TABLES][n] */
};

static const float *row_of(const struct embedding *e, size_t table, size_t token, float *work)
{
    const struct table *t = &e->tables[table];
    const size_t id =
        t->ids ? (size_t)ox_tensor_get_int(t->ids, token % t->ids->n) : token % e->length;
    if (t->rows)
        return t->rows + id * e->n;
    if (!t->codes)
        return NULL;
    t->kernels.dequantize(e->n, t->codes + id * e->n, 0, &t->scale, &t->zero, work + table * e->n);
    return work + table * e->n;
}

static void embed_task(void *arg, size_t i, size_t slot)
{
    const struct embedding *e = arg;
    float *work = e->work + slot * TABLES * e->n;
    const size_t first = i * e->grain;
    for (size_t token = first; token < e->tokens && token < first + e->grain; token++) {
        struct ox_norm_row row = e->row;
        row.x = row_of(e, 0, token, work);
        row.skip = row_of(e, 1, token, work);
        row.bias = row_of(e, 2, token, work);
        row.y += token * e->n;
        row.sum = row.sum ? row.sum + token * e->n : NULL;
        e->kernels->norm(e->n, &row);
    }
}

/* Of floats, or of codes of a byte by one scale. False: otherwise. */
static bool read_rows(const struct ox_run *r, const struct source *from, const struct ox_tensor *in,
                      struct table *t)
{
    if (from->scale == NO_INPUT) {
        t->rows = in->dtype == OX_FLOAT32 ? in->data : NULL;
        return t->rows;
    }
    const struct ox_tensor *scale = ox_fast_in(r, from->scale), *zero = ox_run_in(r, from->zero);
    if ((in->dtype != OX_UINT8 && in->dtype != OX_INT8) || !scale || !zero || scale->n != 1 ||
        zero->n != 1 || zero->dtype != in->dtype)
        return false;
    t->codes = in->data;
    t->kernels = ox_codes(ox_cpu(), in->dtype);
    t->scale = *(const float *)scale->data;
    t->zero = (int32_t)ox_tensor_get_int(zero, 0);
    return true;
}

/* False: the table or one of its ids is not as it has to be. */
static bool read_table(const struct ox_run *r, const struct source *from, const struct embedding *e,
                       struct table *t)
{
    const struct ox_tensor *in = ox_run_in(r, from->rows);
    t->ids = ox_run_in(r, from->ids);
    if (!in)
        return true;
    if (in->rank != 2 || (size_t)in->dims[1] != e->n ||
        (t->ids && t->ids->n != e->tokens && t->ids->n != e->length) ||
        (!t->ids && in->dims[0] < (int64_t)e->length))
        return false;
    for (size_t i = 0; t->ids && i < t->ids->n; i++) {
        const int64_t id = ox_tensor_get_int(t->ids, i);
        if (id < 0 || id >= in->dims[0])
            return false;
    }
    return read_rows(r, from, in, t);
}

/* *out stays NULL where there is no input. */
static enum ox_status read_row(struct ox_run *r, const struct source *from, size_t n,
                               const float **out, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, from->rows);
    struct table t = {0};
    if (!in)
        return OX_OK;
    if (in->n != n || !read_rows(r, from, in, &t))
        return OX_UNSUPPORTED;
    *out = t.rows;
    if (t.rows)
        return OX_OK;
    float *row = ox_run_scratch(r, n, sizeof *row, err);
    if (!row)
        return OX_NO_MEMORY;
    t.kernels.dequantize(n, t.codes, 0, &t.scale, &t.zero, row);
    *out = row;
    return OX_OK;
}

static enum ox_status run_embedding(struct ox_run *r, const struct sources *from,
                                    struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0), *words = ox_run_in(r, from->tables[WORDS].rows);
    if (ids->rank != 2 || words->rank != 2 || !ids->n || !words->dims[1])
        return OX_UNSUPPORTED;
    struct embedding e = {.kernels = ox_fast_rows(),
                          .n = (size_t)words->dims[1],
                          .length = (size_t)ids->dims[1],
                          .tokens = ids->n};
    for (size_t i = 0; i < TABLES; i++)
        if ((i != SEGMENTS || ox_run_has(r, from->tables[i].ids)) &&
            !read_table(r, &from->tables[i], &e, &e.tables[i]))
            return OX_UNSUPPORTED;
    OX_TRY(read_row(r, &from->gamma, e.n, &e.row.scale, err));
    OX_TRY(read_row(r, &from->beta, e.n, &e.row.shift, err));
    e.work = ox_run_work(r, ox_slots(r->env) * e.n, TABLES * sizeof *e.work, err);
    if (!e.work)
        return OX_NO_MEMORY;
    const int64_t dims[3] = {ids->dims[0], ids->dims[1], words->dims[1]};
    struct ox_tensor *y, *sum = NULL;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, 3, dims, &y, err));
    OX_TRY(ox_embed_mask_index(r, (size_t)ids->dims[0], e.length, err));
    if (ox_run_wants(r, 2))
        OX_TRY(ox_run_out(r, 2, OX_FLOAT32, 3, dims, &sum, err));
    e.row.y = y->data;
    e.row.sum = sum ? sum->data : NULL;
    e.row.centred = true;
    e.row.epsilon = ox_run_float(r, "epsilon", 1e-12f);
    e.grain = rows_of_task(e.n);
    ox_spread(r->env, (e.tokens + e.grain - 1) / e.grain, 32 * (double)e.n * (double)e.tokens,
              embed_task, &e);
    return OX_OK;
}

enum ox_status ox_fast_embed_norm(struct ox_run *r, struct ox_error *err)
{
    static const struct sources from = {.tables = {{0, 2, NO_INPUT, NO_INPUT},
                                                   {8, 3, NO_INPUT, NO_INPUT},
                                                   {1, 4, NO_INPUT, NO_INPUT}},
                                        .gamma = {NO_INPUT, 5, NO_INPUT, NO_INPUT},
                                        .beta = {NO_INPUT, 6, NO_INPUT, NO_INPUT}};
    return run_embedding(r, &from, err);
}

enum ox_status ox_fast_embed_codes(struct ox_run *r, struct ox_error *err)
{
    static const struct sources from = {
        .tables = {{0, 2, 8, 13}, {NO_INPUT, 3, 9, 14}, {1, 4, 10, 15}},
        .gamma = {NO_INPUT, 5, 11, 16},
        .beta = {NO_INPUT, 6, 12, 17}};
    return run_embedding(r, &from, err);
}

/* ---- GatherBlockQuantized ---------------------------------------------------------------------------------------- */

struct gather {
    struct ox_few_bits table;
    const struct ox_few_bits_kernels *kernels;
    const struct ox_tensor *indices;
    int64_t rows;
    float *y;
};

static void gather_task(void *arg, size_t from, size_t to)
{
    const struct gather *g = arg;
    for (size_t i = from; i < to; i++) {
        const int64_t at = ox_tensor_get_int(g->indices, i);
        g->kernels->list(&g->table, (size_t)(at < 0 ? at + g->rows : at), g->y + i * g->table.k);
    }
}

/* Codes in bytes whose rows are whole blocks, as the columns of few_bits.h are. */
enum ox_status ox_fast_gather_blocks(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *codes = ox_run_in(r, 0), *scales = ox_fast_in(r, 2),
                           *zeros = ox_run_has(r, 3) ? ox_run_in(r, 3) : NULL;
    const int64_t bits = ox_run_int(r, "bits", 4), block = ox_run_int(r, "block_size", 128);
    const int64_t along = ox_run_int(r, "gather_axis", 0), axis = ox_run_int(r, "quantize_axis", 1);
    struct gather g = {.indices = ox_run_in(r, 1)};
    if (!scales || codes->dtype != OX_UINT8 || codes->rank != 2 || scales->rank != 2 || !codes->n ||
        (bits != 2 && bits != 4 && bits != 8) || block < 16 || (block & (block - 1)) ||
        (along != 0 && along != -2) || (axis != 1 && axis != -1) ||
        g.indices->rank + 1 > OX_MOST_RANK)
        return OX_UNSUPPORTED;
    const int64_t blocks = scales->dims[1], per_byte = 8 / bits, width = codes->dims[1] * per_byte;
    const int64_t zero_bytes = (blocks + per_byte - 1) / per_byte;
    g.rows = codes->dims[0];
    if (scales->dims[0] != g.rows || blocks * block != width ||
        (zeros && (zeros->dtype != OX_UINT8 || (int64_t)zeros->n != g.rows * zero_bytes)))
        return OX_UNSUPPORTED;
    g.table = (struct ox_few_bits){.k = (size_t)width,
                                   .block = (size_t)block,
                                   .blocks = (size_t)blocks,
                                   .bits = (unsigned)bits,
                                   .codes = codes->data,
                                   .scales = scales->data,
                                   .zeros = zeros ? zeros->data : NULL,
                                   .zero_bytes = (size_t)zero_bytes};
    g.kernels = ox_few_bits_kernels(ox_cpu(), &g.table);
    int64_t dims[OX_MOST_RANK];
    for (unsigned d = 0; d < g.indices->rank; d++)
        dims[d] = g.indices->dims[d];
    dims[g.indices->rank] = width;
    for (size_t i = 0; i < g.indices->n; i++) {
        const int64_t at = ox_tensor_get_int(g.indices, i);
        if (at < -g.rows || at >= g.rows)
            return OX_UNSUPPORTED;
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, g.indices->rank + 1, dims, &y, err));
    g.y = y->data;
    ox_fast_spread(r->env, g.indices->n, rows_of_task(g.table.k), 0.3 * (double)g.table.k,
                   gather_task, &g);
    return OX_OK;
}
