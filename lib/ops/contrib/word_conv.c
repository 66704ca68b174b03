/* WordConvEmbedding (com.microsoft): characters of words, embedded, convolved and pooled. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/fast/fast.h"
#include "ops/infer.h"
#include "ops/real.h"

struct words {
    size_t count, length, filters, window, width; /* width: of a character's embedding */
    const struct ox_tensor *sequence;
    const int32_t *ids;
};

static enum ox_status read_words(struct ox_run *r, struct words *j, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0), *w = ox_run_in(r, 1), *b = ox_run_in(r, 2);
    const struct ox_tensor *table = ox_run_in(r, 3);
    if (x->rank < 1 || x->rank > OX_MOST_RANK || w->rank != 4 || table->rank != 2 ||
        w->dims[1] != 1 || w->dims[3] != table->dims[1] || (int64_t)b->n != w->dims[0])
        return ox_run_fail(r, err, OX_INPUT, "weights, bias and characters do not fit each other");
    *j = (struct words){.sequence = x,
                        .ids = x->data,
                        .length = (size_t)x->dims[x->rank - 1],
                        .filters = (size_t)w->dims[0],
                        .window = (size_t)w->dims[2],
                        .width = (size_t)w->dims[3]};
    if (j->window > j->length)
        return ox_run_fail(r, err, OX_INPUT, "a window of %zu in words of %zu", j->window,
                           j->length);
    j->count = j->length ? x->n / j->length : 0;
    for (size_t i = 0; i < x->n; i++) {
        if (j->ids[i] < 0 || j->ids[i] >= table->dims[0])
            return ox_run_fail(r, err, OX_INPUT,
                               "character %" PRId32 " at place %zu is none of %" PRId64, j->ids[i],
                               i, table->dims[0]);
    }
    return OX_OK;
}

/* Places of the window in a word, which ends at its first character 0; an empty one has none. */
static size_t places_of(const struct words *j, size_t word)
{
    size_t length = 0;
    while (length < j->length && j->ids[word * j->length + length] > 0)
        length++;
    return length == 0 ? 0 : length < j->window ? 1 : length - j->window + 1;
}

static void out_dims(const struct words *j, int64_t *dims)
{
    const struct ox_tensor *x = j->sequence;
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    dims[x->rank - 1] = (int64_t)j->filters;
}

/* The greatest of sums that are numbers; the hyperbolic tangent behind it keeps their order. */
static inline bool is_more(double sum, double most)
{
    return sum > most || most != most;
}

static enum ox_status run_word_conv(struct ox_run *r, struct ox_error *err)
{
    struct words j;
    const double *weights, *bias, *table;
    int64_t dims[OX_MOST_RANK];
    OX_TRY(read_words(r, &j, err));
    OX_TRY(ox_real_in(r, 1, &weights, err));
    OX_TRY(ox_real_in(r, 2, &bias, err));
    OX_TRY(ox_real_in(r, 3, &table, err));
    double *y = ox_real_scratch(r, j.count * j.filters, err);
    if (!y)
        return OX_NO_MEMORY;
    for (size_t word = 0; word < j.count; word++)
        for (size_t f = 0, places = places_of(&j, word); f < j.filters; f++) {
            double most = (double)NAN;
            for (size_t at = 0; at < places; at++) {
                double sum = bias[f];
                for (size_t k = 0; k < j.window; k++) {
                    const double *character =
                        table + (size_t)j.ids[word * j.length + at + k] * j.width;
                    for (size_t i = 0; i < j.width; i++)
                        sum += weights[(f * j.window + k) * j.width + i] * character[i];
                }
                most = is_more(sum, most) ? sum : most;
            }
            y[word * j.filters + f] = places ? tanh(most) : 0;
        }
    out_dims(&j, dims);
    return ox_real_out(r, 0, ox_run_in(r, 1)->dtype, j.sequence->rank, dims, y, err);
}

/* ---- In float32: windows are rows of a left side that overlap ----------------------------------------------------- */

enum { ROWS = 1024 /* of characters at a time, so that their sums stay near */ };

/* The characters that windows of a word see, at `to`; returns how many. */
static size_t embed(const struct words *j, size_t word, size_t places, const float *table,
                    float *to)
{
    const size_t n = places ? places + j->window - 1 : 0;
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * j->width, table + (size_t)j->ids[word * j->length + i] * j->width,
               j->width * sizeof *to);
    return n;
}

/* y = tanh(most of the word's sums + bias) */
static void pool(const struct words *j, size_t places, const float *sums, const float *bias,
                 float *y)
{
    if (!places) {
        memset(y, 0, j->filters * sizeof *y);
        return;
    }
    memcpy(y, sums, j->filters * sizeof *y);
    for (size_t at = 1; at < places; at++) {
        const float *sum = sums + at * j->filters;
        for (size_t f = 0; f < j->filters; f++)
            y[f] = sum[f] > y[f] || y[f] != y[f] ? sum[f] : y[f];
    }
    const struct ox_rows *rows = ox_fast_rows();
    rows->binary[OX_BINARY_ADD][OX_ROW_BOTH](j->filters, y, bias, y);
    rows->unary[OX_UNARY_TANH](j->filters, y, y, 0, 0);
}

/* Words [word, word + n), whose characters lie one behind the other. */
static void convolve(struct ox_run *r, const struct words *j, struct ox_dense *d, float *work,
                     float *left, size_t word, size_t n, float *y)
{
    const float *table = ox_run_in(r, 3)->data, *bias = ox_run_in(r, 2)->data;
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows += embed(j, word + i, places_of(j, word + i), table, left + rows * j->width);
    d->m = rows ? rows - j->window + 1 : 0;
    if (rows)
        ox_dense_run(ox_compute(ox_cpu()), r->env, d, work);
    const float *sums = d->c;
    for (size_t i = 0; i < n; i++) {
        const size_t places = places_of(j, word + i);
        pool(j, places, sums, bias, y + i * j->filters);
        sums += places ? (places + j->window - 1) * j->filters : 0;
    }
}

static void pack(struct ox_run *r, size_t depth, size_t filters, float *packed)
{
    ox_dense_pack(ox_compute(ox_cpu()), r->env, depth, filters, ox_run_in(r, 1)->data,
                  OX_WEIGHT_F32, 1, depth, packed);
}

static enum ox_status prepare_word_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *w = ox_fast_in(r, 1);
    if (r->once || !r->fixed[1] || !w || w->rank != 4 || !w->n)
        return OX_OK;
    const size_t filters = (size_t)w->dims[0], depth = w->n / filters;
    const size_t floats = ox_dense_packed(ox_compute(ox_cpu()), depth, filters);
    if (floats > SIZE_MAX / sizeof(float))
        return OX_OK;
    float *packed = ox_run_keep(r, floats * sizeof *packed, err);
    if (!packed)
        return err->status;
    pack(r, depth, filters, packed);
    return OX_OK;
}

static enum ox_status fast_word_conv(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *w = ox_fast_in(r, 1), *table = ox_fast_in(r, 3);
    const struct ox_compute *t = ox_compute(ox_cpu());
    struct words j;
    int64_t dims[OX_MOST_RANK];
    struct ox_tensor *y;
    OX_TRY(read_words(r, &j, err));
    if (!w || !ox_fast_in(r, 2) || !table || !w->n || !j.count)
        return OX_UNSUPPORTED;
    size_t some = ROWS / j.length, characters, n_sums;
    some = some < 1 ? 1 : some < j.count ? some : j.count;
    if (OX_MUL_OVERFLOWS(some * j.length, j.width, &characters) ||
        OX_MUL_OVERFLOWS(some * j.length, j.filters, &n_sums))
        return OX_UNSUPPORTED;
    const size_t depth = j.window * j.width;
    float *left = ox_run_work(r, characters, sizeof *left, err);
    float *sums = left ? ox_run_work(r, n_sums, sizeof *sums, err) : NULL;
    float *packed = sums ? ox_run_state(r) : NULL;
    if (sums && !packed &&
        (packed = ox_run_work(r, ox_dense_packed(t, depth, j.filters), sizeof *packed, err)))
        pack(r, depth, j.filters, packed);
    if (!packed)
        return err->status;
    struct ox_dense d = {.m = some * j.length,
                         .n = j.filters,
                         .k = depth,
                         .whole = {some * j.length, j.filters},
                         .a = left,
                         .a_row = j.width,
                         .a_col = 1,
                         .packed = packed,
                         .c = sums,
                         .c_row = j.filters};
    float *work = ox_run_work(r, ox_dense_work(t, r->env, &d), sizeof *work, err);
    if (!work)
        return err->status;
    out_dims(&j, dims);
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, j.sequence->rank, dims, &y, err));
    for (size_t word = 0; word < j.count; word += some) {
        convolve(r, &j, &d, work, left, word, j.count - word < some ? j.count - word : some,
                 (float *)y->data + word * j.filters);
        OX_TRY(ox_env_poll(r->env, err));
    }
    return OX_OK;
}

static void infer_word_conv(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    ox_infer_same_dtype(c, 0, 1);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank == 0)
        return;
    const struct ox_expr **dims = ox_infer_dims(c, rank);
    for (unsigned d = 0; dims && d < rank; d++)
        dims[d] = d + 1 < rank ? x[d] : ox_infer_dim(c, 1, 0);
    if (dims)
        ox_infer_set_shape(c, 0, rank, dims);
}

const struct ox_op ox_ops_word_conv[] = {{"com.microsoft", "WordConvEmbedding", 1,
                                          .infer = infer_word_conv, .run = run_word_conv,
                                          .fast = fast_word_conv, .prepare = prepare_word_conv},
                                         {0}};
