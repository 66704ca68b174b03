/* TfIdfVectorizer: counts of n-grams. */
#include <inttypes.h>
#include <string.h>

#include "kernels/dense.h"
#include "ops/infer.h"
#include "ops/real.h"
#include "ops/tfidf_pool.h"

enum tf_mode { TF_COUNT, TF_IDF, TF_BOTH };

struct counting {
    const struct ox_tfidf_pool *pool;
    const int64_t *indexes;
    const float *weights; /* NULL: ones */
    int64_t min, max, skips;
    enum tf_mode mode;
    const struct ox_tensor *in;
    struct ox_tensor *out;
    size_t n; /* items of a row */
    /* Of each slot: counts of all n-grams, 0 between rows; a row's numbers; the n-grams that it has. */
    uint32_t *work;
    size_t apart;
    double *sums; /* of each slot, of an output row; NULL: no two n-grams meet there */
};

static enum ox_status read_attrs(struct ox_run *r, struct counting *c, struct ox_error *err)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    const char *mode = ox_run_string(r, "mode");
    size_t n;
    int found = -1;

    for (int i = 0; mode && i < 3; i++) {
        if (strcmp(mode, modes[i]) == 0)
            found = i;
    }
    if (found < 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is none of TF, IDF, TFIDF",
                           mode ? mode : "");
    c->mode = (enum tf_mode)found;
    c->min = ox_run_int(r, "min_gram_length", 1);
    c->max = ox_run_int(r, "max_gram_length", 1);
    c->skips = ox_run_int(r, "max_skip_count", 0);
    if (c->min < 1 || c->max < c->min || c->skips < 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "n-grams of %" PRId64 " to %" PRId64 " items, %" PRId64 " skipped",
                           c->min, c->max, c->skips);
    c->indexes = ox_run_ints(r, "ngram_indexes", &n);
    c->weights = ox_run_floats(r, "weights", &n);
    return OX_OK;
}

/* The counts of one row of items, and how many n-grams it has, which `met` lists. Runs of items between which `skip` lie; single items
 * have none between, and are counted once. */
static size_t count_row(const struct counting *c, const uint32_t *row, uint32_t *counts,
                        uint32_t *met)
{
    const struct ox_tfidf_pool *p = c->pool;
    size_t n_met = 0;
    for (int64_t skip = 0; skip <= c->skips && skip < (int64_t)c->n; skip++) {
        const int64_t first = skip > 0 && c->min == 1 ? 2 : c->min;
        if (first > c->max)
            break;
        for (size_t start = 0; start < c->n; start++) {
            if (row[start] == OX_NO_CATEGORY)
                continue;
            uint32_t node = row[start], gram = p->singles[node];
            size_t at = start;
            for (int64_t length = 1;; length++) {
                if (length >= first && gram != OX_NO_CATEGORY && counts[gram]++ == 0)
                    met[n_met++] = gram;
                if (length == c->max || c->n - at <= (size_t)skip + 1)
                    break;
                at += (size_t)skip + 1;
                if (row[at] == OX_NO_CATEGORY)
                    break;
                const struct ox_tfidf_edge *e = ox_tfidf_next(p, node, row[at]);
                if (!e)
                    break;
                node = e->to;
                gram = e->gram;
            }
        }
    }
    return n_met;
}

static double weighted(const struct counting *c, uint32_t gram, uint32_t count)
{
    const double n = c->mode == TF_IDF && count > 1 ? 1 : count;
    return c->mode == TF_COUNT || !c->weights ? n : 0 + n * (double)c->weights[gram];
}

/* Several n-grams of one index are added up in their order. */
static void add_in_order(const struct counting *c, size_t i, uint32_t *counts, double *sums)
{
    const size_t width = (size_t)c->pool->width;
    memset(sums, 0, width * sizeof *sums);
    for (uint32_t gram = 0; gram < c->pool->n_grams; gram++) {
        if (counts[gram])
            sums[c->indexes[gram]] += weighted(c, gram, counts[gram]);
        counts[gram] = 0;
    }
    ox_real_store(c->out, i * width, width, sums);
}

static void count_task(void *arg, size_t i, size_t slot)
{
    const struct counting *c = arg;
    const size_t width = (size_t)c->pool->width, size = ox_dtype_size(c->out->dtype);
    uint32_t *counts = c->work + slot * c->apart, *row = counts + c->pool->n_grams,
             *met = row + c->n;
    ox_categories_find(&c->pool->items, c->in, i * c->n, c->n, row);
    const size_t n_met = count_row(c, row, counts, met);
    if (c->sums) {
        add_in_order(c, i, counts, c->sums + slot * width);
        return;
    }
    memset((char *)c->out->data + i * width * size, 0, width * size);
    for (size_t k = 0; k < n_met; k++) {
        const uint32_t gram = met[k];
        const double value = weighted(c, gram, counts[gram]);
        ox_real_store(c->out, i * width + (size_t)c->indexes[gram], 1, &value);
        counts[gram] = 0;
    }
}

static enum ox_status count_all(struct ox_run *r, struct counting *c, struct ox_error *err)
{
    const struct ox_tensor *in = c->in = ox_run_in(r, 0);
    const struct ox_tfidf_pool *p = c->pool;
    const size_t rows = in->rank == 2 ? (size_t)in->dims[0] : 1, slots = ox_slots(r->env);
    const int64_t dims[2] = {(int64_t)rows, p->width};
    c->n = rows > 0 ? in->n / rows : 0;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, in->rank == 2 ? 2 : 1, in->rank == 2 ? dims : dims + 1,
                      &c->out, err));
    if (rows == 0)
        return OX_OK;
    c->apart = 2 * p->n_grams + c->n + 1;
    c->work = ox_run_work(r, slots * c->apart, sizeof *c->work, err);
    if (c->work && !p->one_each)
        c->sums = ox_run_work(r, slots * (size_t)p->width + 1, sizeof *c->sums, err);
    if (!c->work || (!p->one_each && !c->sums))
        return OX_NO_MEMORY;
    for (size_t slot = 0; slot < slots; slot++)
        memset(c->work + slot * c->apart, 0, p->n_grams * sizeof *c->work);
    const double items = (double)in->n * (double)(c->skips + 1) * (double)c->max;
    ox_spread(r->env, rows, items * 50 + (double)c->out->n, count_task, c);
    return ox_env_poll(r->env, err);
}

/* What is asked once only is made as it is run. */
static enum ox_status prepare_tfidf(struct ox_run *r, struct ox_error *err)
{
    struct ox_tfidf_pool *pool;
    return r->once ? OX_OK : ox_tfidf_pool(r, true, &pool, err);
}

static enum ox_status run_tfidf(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct counting c = {.pool = ox_run_state(r)};
    if (in->rank > 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, neither 1 nor 2", in->rank);
    OX_TRY(read_attrs(r, &c, err));
    if (!c.pool || !c.pool->items.strings != (in->dtype != OX_STRING)) {
        struct ox_tfidf_pool *made;
        OX_TRY(ox_tfidf_pool(r, false, &made, err));
        c.pool = made;
    }
    return count_all(r, &c, err);
}

static void infer_tfidf(struct ox_infer *c)
{
    const struct ox_expr *const *in, *dims[2];
    size_t n;
    const int64_t *indexes = ox_infer_ints_attr(c, "ngram_indexes", &n);
    int64_t width = 0;
    unsigned rank;

    ox_infer_set_dtype(c, 0, OX_FLOAT32);
    if (!n)
        ox_infer_conflict(c, "ngram_indexes is empty");
    for (size_t i = 0; i < n; i++) {
        width = indexes[i] >= width && indexes[i] < INT64_MAX ? indexes[i] + 1 : width;
        if (indexes[i] < 0)
            ox_infer_conflict(c, "ngram_indexes[%zu] is %" PRId64, i, indexes[i]);
    }
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    dims[0] = rank == 2 ? in[0] : NULL;
    dims[1] = ox_infer_num(c, width);
    if (rank == 0 || rank > 2)
        ox_infer_conflict(c, "the input has rank %u, neither 1 nor 2", rank);
    else
        ox_infer_set_shape(c, 0, rank == 2 ? 2 : 1, rank == 2 ? dims : dims + 1);
}

const struct ox_op ox_ops_tfidf[] = {{"", "TfIdfVectorizer", 9, OX_OP_TEXT, .infer = infer_tfidf,
                                      .run = run_tfidf, .prepare = prepare_tfidf},
                                     {0}};
