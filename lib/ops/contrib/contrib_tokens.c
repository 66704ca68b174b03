/* What models of com.microsoft have around their tokens: MurmurHash3 NGramRepeatBlock DynamicTimeWarping. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ops/infer.h"
#include "ops/real.h"
#include "ops/rules.h"

/* ---- MurmurHash3 -------------------------------------------------------------------------------------------------- */

static uint32_t turned_left(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static uint32_t mixed(uint32_t block)
{
    return turned_left(block * 0xcc9e2d51U, 15) * 0x1b873593U;
}

/* MurmurHash3_x86_32. */
static inline uint32_t hash_of(const unsigned char *bytes, size_t n, uint32_t h)
{
    uint32_t tail = 0;
    size_t at = 0;
    for (; at + 4 <= n; at += 4) {
        uint32_t block = (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 |
                         (uint32_t)bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24;
        h = turned_left(h ^ mixed(block), 13) * 5 + 0xe6546b64U;
    }
    for (size_t i = n; i-- > at;)
        tail = tail << 8 | bytes[i];
    h ^= mixed(tail) ^ (uint32_t)n;
    h = (h ^ h >> 16) * 0x85ebca6bU;
    h = (h ^ h >> 13) * 0xc2b2ae35U;
    return h ^ h >> 16;
}

/* With --oracle floats come widened: their bits are those of the type they were widened from. */
static uint32_t hash_of_element(const struct ox_run *r, const struct ox_tensor *x, size_t i,
                                uint32_t seed)
{
    size_t size = ox_dtype_size(x->dtype);
    if (x->dtype == OX_STRING) {
        const struct ox_str *text = (const struct ox_str *)x->data + i;
        return hash_of((const unsigned char *)text->p, text->n, seed);
    }
    if (r->oracle && x->dtype == OX_FLOAT64) {
        double wide = ((const double *)x->data)[i];
        float narrow = (float)wide;
        if ((double)narrow == wide)
            return hash_of((const unsigned char *)&narrow, sizeof narrow, seed);
    }
    return hash_of((const unsigned char *)x->data + i * size, size, seed);
}

static enum ox_status run_hash(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    uint32_t seed = (uint32_t)ox_run_int(r, "seed", 0);
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, ox_run_int(r, "positive", 1) ? OX_UINT32 : OX_INT32, x->rank, x->dims,
                      &y, err));
    uint32_t *to = y->data;
    if (x->dtype == OX_INT32 || x->dtype == OX_UINT32 || x->dtype == OX_FLOAT32)
        for (size_t i = 0; i < x->n; i++)
            to[i] = hash_of((const unsigned char *)x->data + i * 4, 4, seed);
    else
        for (size_t i = 0; i < x->n; i++)
            to[i] = hash_of_element(r, x, i, seed);
    return OX_OK;
}

static void infer_hash(struct ox_infer *c)
{
    ox_infer_same_shape(c, 0, 0);
    ox_infer_set_dtype(c, 0, ox_infer_int_attr(c, "positive", 1) ? OX_UINT32 : OX_INT32);
}

/* ---- NGramRepeatBlock --------------------------------------------------------------------------------------------- */

/* Scores of a row: minus infinity for each token that would end an n-gram which the row has already. */
static enum ox_status block_row(struct ox_run *r, const int64_t *ids, size_t length, size_t n,
                                struct ox_tensor *scores, size_t row, struct ox_error *err)
{
    const size_t vocabulary = (size_t)scores->dims[1];
    const double none = -(double)INFINITY;
    for (size_t at = 0; length >= n && at + n <= length; at++) {
        int64_t token = ids[at + n - 1];
        const int64_t *last = ids + length - (n - 1);
        if (n > 1 && (ids[at] != *last || memcmp(ids + at, last, (n - 1) * sizeof *ids) != 0))
            continue;
        if (token < 0 || (uint64_t)token >= vocabulary)
            return ox_run_fail(r, err, OX_INPUT,
                               "token %" PRId64 " at place %zu is outside of %zu scores", token,
                               at + n - 1, vocabulary);
        ox_real_store(scores, row * vocabulary + (size_t)token, 1, &none);
    }
    return OX_OK;
}

static enum ox_status run_block_repeats(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *ids = ox_run_in(r, 0), *scores = ox_run_in(r, 1);
    int64_t n = ox_run_int(r, "ngram_size", 0);
    if (n < 1)
        return ox_run_fail(r, err, OX_INPUT, "ngram_size is %" PRId64, n);
    if (ids->rank != 2 || scores->rank != 2 || ids->dims[0] != scores->dims[0])
        return ox_run_fail(r, err, OX_INPUT,
                           "input_ids and scores are not two matrices with a row for each batch");
    const size_t length = (size_t)ids->dims[1];
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, scores->dtype, 2, scores->dims, &y, err));
    if (y->n)
        memcpy(y->data, scores->data, y->n * ox_dtype_size(y->dtype));
    for (size_t b = 0; b < (size_t)ids->dims[0]; b++)
        OX_TRY(block_row(r, (const int64_t *)ids->data + b * length, length, (size_t)n, y, b, err));
    return OX_OK;
}

static void infer_block_repeats(struct ox_infer *c)
{
    ox_infer_same(c, 0, 1);
}

/* ---- DynamicTimeWarping ------------------------------------------------------------------------------------------- */

enum step { BOTH, ROW, COLUMN };

/* The least cost to each place, `width` = columns + 1 to a row, and by which step it is reached. */
static void find_costs(const double *in, size_t rows, size_t columns, double *cost,
                       unsigned char *steps)
{
    size_t width = columns + 1;
    for (size_t i = 0; i < (rows + 1) * width; i++)
        cost[i] = INFINITY;
    cost[0] = 0;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            size_t at = i * width + j;
            double both = cost[at - width - 1], row = cost[at - width], column = cost[at - 1];
            enum step step = both < row && both < column  ? BOTH
                             : row < both && row < column ? ROW
                                                          : COLUMN;
            steps[at] = (unsigned char)step;
            cost[at] = in[(i - 1) * columns + j - 1] + (step == BOTH  ? both
                                                        : step == ROW ? row
                                                                      : column);
        }
}

static enum ox_status run_warp(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    if ((x->rank != 2 && x->rank != 3) || (x->rank == 3 && x->dims[0] != 1))
        return ox_run_fail(r, err, OX_INPUT, "the input is neither [M, N] nor [1, M, N]");
    size_t rows = (size_t)x->dims[x->rank - 2], columns = (size_t)x->dims[x->rank - 1], places;
    if (OX_MUL_OVERFLOWS(rows + 1, columns + 1, &places))
        return ox_run_fail(r, err, OX_LIMIT, "the input is too large");
    const double *in;
    OX_TRY(ox_real_in(r, 0, &in, err));
    double *cost = ox_real_scratch(r, places, err);
    unsigned char *steps = ox_run_scratch(r, places, 1, err);
    int32_t *path = ox_run_scratch(r, rows + columns, 2 * sizeof *path, err);
    if (!cost || !steps || !path)
        return OX_NO_MEMORY;
    find_costs(in, rows, columns, cost, steps);
    size_t n = 0;
    for (size_t i = rows, j = columns; i && j; n++) {
        enum step step = steps[i * (columns + 1) + j];
        path[2 * n] = (int32_t)(i - 1);
        path[2 * n + 1] = (int32_t)(j - 1);
        i -= step != COLUMN;
        j -= step != ROW;
    }
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_INT32, 2, (const int64_t[]){2, (int64_t)n}, &y, err));
    for (size_t k = 0; k < 2 * n; k++)
        ((int32_t *)y->data)[k] = path[2 * (n - 1 - k % n) + k / n];
    return OX_OK;
}

static void infer_warp(struct ox_infer *c)
{
    const struct ox_expr *dims[] = {ox_infer_num(c, 2), ox_infer_data_dim(c, "steps")};
    ox_infer_set_dtype(c, 0, OX_INT32);
    ox_infer_set_shape(c, 0, 2, dims);
}

#define MS "com.microsoft"

const struct ox_op ox_ops_contrib_tokens[] = {
    {MS, "DynamicTimeWarping", 1, .infer = infer_warp, .run = run_warp},
    {MS, "MurmurHash3", 1, .infer = infer_hash, .run = run_hash},
    {MS, "NGramRepeatBlock", 1, .infer = infer_block_repeats, .run = run_block_repeats},
    {0}};
