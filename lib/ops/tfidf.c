/* TfIdfVectorizer: counts of n-grams. */
#include <inttypes.h>
#include <string.h>

#include "common/strmap.h"
#include "ops/carry.h"
#include "ops/categories.h"
#include "ops/real.h"

enum tf_mode { TF_COUNT, TF_IDF, TF_BOTH };

/* Items of the input and the pool are numbered: n-grams are strings of numbers. */
struct pool {
    struct ox_categories items; /* an item's number is its first place in the pool */
    struct ox_strmap grams;     /* the numbers of an n-gram -> its place in the pool's list */
    uint32_t *singles;          /* n-grams of one item by its number; OX_STRMAP_NONE */
    size_t n_grams;
    const int64_t *indexes;
    const float *weights; /* NULL: ones */
    int64_t min, max, skips;
    enum tf_mode mode;
};

/* The n-grams of each length follow one another; ngram_counts says where each length begins. */
static enum ox_status pool_grams(struct ox_run *r, struct pool *p, const uint32_t *numbers,
                                 size_t n, size_t n_indexes, struct ox_error *err)
{
    size_t n_counts;
    const int64_t *counts = ox_run_ints(r, "ngram_counts", &n_counts);

    for (size_t length = 1; length <= n_counts; length++) {
        int64_t from = counts[length - 1], to = length < n_counts ? counts[length] : (int64_t)n;

        if (from < 0 || to < from || to > (int64_t)n || (to - from) % (int64_t)length != 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "ngram_counts[%zu] is %" PRId64 " for a pool of %zu items",
                               length - 1, from, n);
        for (; from < to; from += (int64_t)length) {
            uint32_t place = (uint32_t)p->n_grams++;

            if (!ox_strmap_add(&p->grams, (const char *)(numbers + from), length * sizeof(*numbers),
                               &place, NULL))
                return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
            if (length == 1)
                p->singles[numbers[from]] = place;
        }
    }
    if (p->n_grams != n_indexes)
        return ox_run_fail(r, err, OX_INPUT, "%zu ngram_indexes for %zu n-grams", n_indexes,
                           p->n_grams);
    return OX_OK;
}

static enum ox_status pool_read(struct ox_run *r, struct pool *p, size_t n_indexes,
                                struct ox_error *err)
{
    size_t n_ints, n_strings;
    const int64_t *ints = ox_run_ints(r, "pool_int64s", &n_ints);
    const struct ox_str *strings = ox_run_strings(r, "pool_strings", &n_strings);
    bool text = ox_run_in(r, 0)->dtype == OX_STRING;
    size_t n = text ? n_strings : n_ints;

    if ((text && !strings) || (!text && !ints))
        return ox_run_fail(r, err, OX_INPUT, "attribute '%s' is missing",
                           text ? "pool_strings" : "pool_int64s");
    const void *data = text ? (const void *)strings : (const void *)ints;
    uint32_t *numbers = ox_run_scratch(r, n + 1, sizeof(*numbers), err);
    struct ox_tensor *list;
    int64_t dim = (int64_t)n;

    p->singles = ox_run_scratch(r, n + 1, sizeof(*p->singles), err);
    if (!numbers || !p->singles)
        return OX_NO_MEMORY;
    memset(p->singles, 0xff, n * sizeof(*p->singles));
    if (!ox_strmap_reserve(&p->grams, n_indexes))
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    OX_TRY(ox_tensor_borrow(&list, text ? OX_STRING : OX_INT64, 1, &dim, data, NULL, NULL, err));
    enum ox_status status = ox_categories(r, list, n + ox_run_in(r, 0)->n, false, &p->items, err);
    if (status == OX_OK)
        ox_categories_find(&p->items, list, 0, n, numbers);
    ox_tensor_release(list);
    return status == OX_OK ? pool_grams(r, p, numbers, n, n_indexes, err) : status;
}

static enum ox_status tf_attrs(struct ox_run *r, struct pool *p, size_t *n_indexes, int64_t *width,
                               struct ox_error *err)
{
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    const char *mode = ox_run_string(r, "mode");
    size_t n_weights;
    int found = -1;

    for (int i = 0; mode && i < 3; i++) {
        if (strcmp(mode, modes[i]) == 0)
            found = i;
    }
    if (found < 0)
        return ox_run_fail(r, err, OX_INPUT, "mode '%s' is none of TF, IDF, TFIDF",
                           mode ? mode : "");
    p->mode = (enum tf_mode)found;
    p->min = ox_run_int(r, "min_gram_length", 1);
    p->max = ox_run_int(r, "max_gram_length", 1);
    p->skips = ox_run_int(r, "max_skip_count", 0);
    if (p->min < 1 || p->max < p->min || p->skips < 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "n-grams of %" PRId64 " to %" PRId64 " items, %" PRId64 " skipped",
                           p->min, p->max, p->skips);
    p->indexes = ox_run_ints(r, "ngram_indexes", n_indexes);
    p->weights = ox_run_floats(r, "weights", &n_weights);
    if (p->weights && n_weights != *n_indexes)
        return ox_run_fail(r, err, OX_INPUT, "%zu weights for %zu ngram_indexes", n_weights,
                           *n_indexes);
    *width = 0;
    for (size_t i = 0; i < *n_indexes; i++) {
        if (p->indexes[i] < 0 || p->indexes[i] == INT64_MAX)
            return ox_run_fail(r, err, OX_INPUT, "ngram_indexes[%zu] is %" PRId64, i,
                               p->indexes[i]);
        *width = p->indexes[i] >= *width ? p->indexes[i] + 1 : *width;
    }
    return OX_OK;
}

/* The counts of one row of items. Runs of items between which `skip` lie; single items have none between, and are counted
 * once. An n-gram goes on only as far as its beginnings might stand in the pool: no longer than max, nor than the row. */
static void count_row(const struct pool *p, const uint32_t *row, size_t n, uint32_t *gram,
                      uint32_t *counts)
{
    for (int64_t skip = 0; skip <= p->skips && skip < (int64_t)n; skip++) {
        int64_t first = skip > 0 && p->min == 1 ? 2 : p->min;

        if (first > p->max)
            return;
        for (size_t start = 0; start < n; start++) {
            size_t at = start;

            for (int64_t length = 1; length <= p->max && at < n; length++, at += (size_t)skip + 1) {
                if (row[at] == OX_STRMAP_NONE)
                    break;
                gram[length - 1] = row[at];
                if (length < first)
                    continue;
                uint32_t place = length == 1 ? p->singles[row[at]]
                                             : ox_strmap_find(&p->grams, (const char *)gram,
                                                              (size_t)length * sizeof(*gram));

                if (place != OX_STRMAP_NONE)
                    counts[place]++;
            }
        }
    }
}

static void add_weighted(const struct pool *p, const uint32_t *counts, double *out)
{
    for (size_t i = 0; i < p->n_grams; i++) {
        double count = p->mode == TF_IDF && counts[i] > 1 ? 1 : counts[i];

        out[p->indexes[i]] += p->mode == TF_COUNT || !p->weights ? count : count * p->weights[i];
    }
}

static enum ox_status count_all(struct ox_run *r, const struct pool *p, int64_t width,
                                struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    size_t rows = in->rank == 2 ? (size_t)in->dims[0] : 1, n = rows > 0 ? in->n / rows : 0;
    size_t longest = (size_t)p->max < n ? (size_t)p->max : n;
    int64_t dims[2] = {(int64_t)rows, width};
    uint32_t *row = ox_run_scratch(r, n + 1, sizeof(*row), err);
    uint32_t *gram = ox_run_scratch(r, longest + 1, sizeof(*gram), err);
    uint32_t *counts = ox_run_scratch(r, p->n_grams + 1, sizeof(*counts), err);
    double *sums = ox_real_scratch(r, (size_t)width + 1, err);
    struct ox_tensor *out;

    if (!row || !gram || !counts || !sums)
        return OX_NO_MEMORY;
    OX_TRY(ox_run_out(r, 0, OX_FLOAT32, in->rank == 2 ? 2 : 1, in->rank == 2 ? dims : dims + 1,
                      &out, err));
    for (size_t i = 0; i < rows; i++) {
        OX_TRY(ox_env_poll(r->env, err));
        ox_categories_find(&p->items, in, i * n, n, row);
        memset(counts, 0, p->n_grams * sizeof(*counts));
        memset(sums, 0, (size_t)width * sizeof(*sums));
        count_row(p, row, n, gram, counts);
        add_weighted(p, counts, sums);
        ox_real_store(out, i * (size_t)width, (size_t)width, sums);
    }
    return OX_OK;
}

static enum ox_status run_tfidf(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    struct pool p = {.n_grams = 0};
    size_t n_indexes = 0;
    int64_t width = 0;
    enum ox_status status;

    if (in->rank > 2)
        return ox_run_fail(r, err, OX_INPUT, "the input has rank %u, neither 1 nor 2", in->rank);
    ox_strmap_init(&p.grams);
    status = tf_attrs(r, &p, &n_indexes, &width, err);
    if (status == OX_OK)
        status = pool_read(r, &p, n_indexes, err);
    if (status == OX_OK)
        status = count_all(r, &p, width, err);
    ox_strmap_release(&p.grams);
    return status;
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

const struct ox_op ox_ops_tfidf[] = {
    {"", "TfIdfVectorizer", 9, 0, .infer = infer_tfidf, .run = run_tfidf}, {0}};
