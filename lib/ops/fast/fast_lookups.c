/* Rows of tables that com.microsoft's operators look up, in float32: EmbedLayerNormalization and GatherBlockQuantized. What does not fit is
 * left to the plain forms, which tell it. */
#include "kernels/few_bits.h"
#include "ops/contrib/contrib.h"
#include "ops/contrib/nbits.h"
#include "ops/fast/fast.h"

enum { GRAIN = 8192 /* elements of a task */ };

static size_t rows_of_task(size_t n)
{
    return n >= GRAIN ? 1 : GRAIN / (n + 1);
}

/* ---- EmbedLayerNormalization ------------------------------------------------------------------------------------- */

struct table {
    const struct ox_tensor *ids; /* NULL: rows in their order */
    const float *rows;           /* NULL: there is no table */
};

struct embedding {
    const struct ox_rows *kernels;
    struct table words, places, segments;
    struct ox_norm_row row; /* but for what depends on the token */
    size_t n, length;       /* of a row; tokens of a sequence */
};

static const float *row_of(const struct embedding *e, const struct table *t, size_t token)
{
    if (!t->rows)
        return NULL;
    const size_t id =
        t->ids ? (size_t)ox_tensor_get_int(t->ids, token % t->ids->n) : token % e->length;
    return t->rows + id * e->n;
}

static void embed_task(void *arg, size_t from, size_t to)
{
    const struct embedding *e = arg;
    for (size_t token = from; token < to; token++) {
        struct ox_norm_row row = e->row;
        row.x = row_of(e, &e->words, token);
        row.skip = row_of(e, &e->places, token);
        row.bias = row_of(e, &e->segments, token);
        row.y += token * e->n;
        row.sum = row.sum ? row.sum + token * e->n : NULL;
        e->kernels->norm(e->n, &row);
    }
}

/* False: the table or one of its ids is not as it has to be. */
static bool read_table(const struct ox_run *r, size_t ids, size_t rows, const struct embedding *e,
                       size_t tokens, struct table *t)
{
    const struct ox_tensor *in = ox_fast_in(r, rows);
    t->ids = ox_run_has(r, ids) ? ox_run_in(r, ids) : NULL;
    if (!ox_run_has(r, rows))
        return true;
    if (!in || in->rank != 2 || (size_t)in->dims[1] != e->n ||
        (t->ids && t->ids->n != tokens && t->ids->n != e->length) ||
        (!t->ids && in->dims[0] < (int64_t)e->length))
        return false;
    for (size_t i = 0; t->ids && i < t->ids->n; i++) {
        const int64_t id = ox_tensor_get_int(t->ids, i);
        if (id < 0 || id >= in->dims[0])
            return false;
    }
    t->rows = in->data;
    return true;
}

static bool read_row(const struct ox_run *r, size_t i, size_t n, const float **out)
{
    const struct ox_tensor *in = ox_run_has(r, i) ? ox_fast_in(r, i) : NULL;
    *out = in ? in->data : NULL;
    return in ? in->n == n : !ox_run_has(r, i);
}

enum ox_status ox_fast_embed_norm(struct ox_run *r, struct ox_error *err)
{
    enum { IDS, SEGMENTS, WORDS, PLACE_ROWS, SEGMENT_ROWS, GAMMA, BETA, PLACES = 8 };
    const struct ox_tensor *ids = ox_run_in(r, IDS), *words = ox_fast_in(r, WORDS);
    if (!words || ids->rank != 2 || words->rank != 2 || !ids->n || !words->dims[1])
        return OX_UNSUPPORTED;
    struct embedding e = {
        .kernels = ox_fast_rows(), .n = (size_t)words->dims[1], .length = (size_t)ids->dims[1]};
    if (!read_table(r, IDS, WORDS, &e, ids->n, &e.words) ||
        !read_table(r, PLACES, PLACE_ROWS, &e, ids->n, &e.places) || !e.places.rows ||
        !read_table(r, SEGMENTS, SEGMENT_ROWS, &e, ids->n, &e.segments) ||
        !read_row(r, GAMMA, e.n, &e.row.scale) || !read_row(r, BETA, e.n, &e.row.shift))
        return OX_UNSUPPORTED;
    if (!ox_run_has(r, SEGMENTS))
        e.segments.rows = NULL;
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
    ox_fast_spread(r->env, ids->n, rows_of_task(e.n), 0.4 * (double)e.n, embed_task, &e);
    return OX_OK;
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
