#include "ops/tfidf_pool.h"

#include <inttypes.h>
#include <string.h>

static struct ox_tfidf_edge *edge_at(const struct ox_tfidf_pool *p, uint32_t from, uint32_t item)
{
    const uint64_t hash = ox_hash_word((uint64_t)from << 32 | item, p->seeds);
    const size_t last = SIZE_MAX >> p->shift;
    for (size_t at = (size_t)(hash >> p->shift);; at = (at + 1) & last) {
        struct ox_tfidf_edge *e = p->edges + at;
        if (e->from == OX_NO_CATEGORY || (e->from == from && e->item == item))
            return e;
    }
}

const struct ox_tfidf_edge *ox_tfidf_next(const struct ox_tfidf_pool *p, uint32_t from,
                                          uint32_t item)
{
    const struct ox_tfidf_edge *e = edge_at(p, from, item);
    return e->from == OX_NO_CATEGORY ? NULL : e;
}

/* Of n-grams that stand twice the first one counts. */
static void add_gram(struct ox_tfidf_pool *p, const uint32_t *numbers, size_t length, uint32_t gram,
                     uint32_t *n_nodes)
{
    uint32_t *place = &p->singles[numbers[0]], node = numbers[0];
    for (size_t i = 1; i < length; i++) {
        struct ox_tfidf_edge *e = edge_at(p, node, numbers[i]);
        if (e->from == OX_NO_CATEGORY)
            *e = (struct ox_tfidf_edge){node, numbers[i], (*n_nodes)++, OX_NO_CATEGORY};
        node = e->to;
        place = &e->gram;
    }
    if (*place == OX_NO_CATEGORY)
        *place = gram;
}

/* The n-grams of each length follow one another; ngram_counts says where each length begins. */
static enum ox_status add_grams(struct ox_run *r, struct ox_tfidf_pool *p, const uint32_t *numbers,
                                size_t n_indexes, struct ox_error *err)
{
    size_t n_counts;
    const int64_t *counts = ox_run_ints(r, "ngram_counts", &n_counts), n = (int64_t)p->n;
    uint32_t n_nodes = (uint32_t)p->n;
    for (size_t length = 1; length <= n_counts; length++) {
        int64_t from = counts[length - 1], to = length < n_counts ? counts[length] : n;
        if (from < 0 || to < from || to > n || (to - from) % (int64_t)length != 0)
            return ox_run_fail(r, err, OX_INPUT,
                               "ngram_counts[%zu] is %" PRId64 " for a pool of %zu items",
                               length - 1, from, p->n);
        for (; from < to; from += (int64_t)length)
            add_gram(p, numbers + from, length, (uint32_t)p->n_grams++, &n_nodes);
    }
    if (p->n_grams != n_indexes)
        return ox_run_fail(r, err, OX_INPUT, "%zu ngram_indexes for %zu n-grams", n_indexes,
                           p->n_grams);
    return OX_OK;
}

static enum ox_status read_indexes(struct ox_run *r, struct ox_tfidf_pool *p, size_t *n_indexes,
                                   struct ox_error *err)
{
    size_t n_weights;
    const int64_t *indexes = ox_run_ints(r, "ngram_indexes", n_indexes);
    const float *weights = ox_run_floats(r, "weights", &n_weights);
    if (weights && n_weights != *n_indexes)
        return ox_run_fail(r, err, OX_INPUT, "%zu weights for %zu ngram_indexes", n_weights,
                           *n_indexes);
    for (size_t i = 0; i < *n_indexes; i++) {
        if (indexes[i] < 0 || indexes[i] == INT64_MAX)
            return ox_run_fail(r, err, OX_INPUT, "ngram_indexes[%zu] is %" PRId64, i, indexes[i]);
        p->width = indexes[i] >= p->width ? indexes[i] + 1 : p->width;
    }
    if ((uint64_t)p->width / 8 > *n_indexes + 64) /* not worth looking */
        return OX_OK;
    bool *met = ox_run_scratch(r, (size_t)p->width + 1, sizeof *met, err);
    if (!met)
        return OX_NO_MEMORY;
    p->one_each = true;
    for (size_t i = 0; i < *n_indexes; i++) {
        p->one_each = p->one_each && !met[indexes[i]];
        met[indexes[i]] = true;
    }
    return OX_OK;
}

static enum ox_status borrow_items(struct ox_run *r, struct ox_tensor **list, struct ox_error *err)
{
    size_t n_ints, n_strings;
    const int64_t *ints = ox_run_ints(r, "pool_int64s", &n_ints);
    const struct ox_str *strings = ox_run_strings(r, "pool_strings", &n_strings);
    const bool text = ox_run_in(r, 0)->dtype == OX_STRING;
    const int64_t dim = (int64_t)(text ? n_strings : n_ints);
    if ((text && !strings) || (!text && !ints))
        return ox_run_fail(r, err, OX_INPUT, "attribute '%s' is missing",
                           text ? "pool_strings" : "pool_int64s");
    return ox_tensor_borrow(list, text ? OX_STRING : OX_INT64, 1, &dim,
                            text ? (const void *)strings : (const void *)ints, NULL, NULL, err);
}

/* The pool, its items' table, the edges and singles lie one behind the other. */
static enum ox_status lay_out(struct ox_run *r, const struct ox_tensor *list, bool keep,
                              struct ox_tfidf_pool **out, struct ox_error *err)
{
    unsigned bits = 3;
    while (((size_t)1 << bits) < 2 * list->n)
        bits++;
    const size_t edges = (size_t)1 << bits, items = (ox_categories_bytes(list) + 7) / 8 * 8,
                 bytes = sizeof **out + items + edges * sizeof(struct ox_tfidf_edge) +
                         (list->n + 1) * sizeof(uint32_t);
    struct ox_tfidf_pool *p = keep ? ox_run_keep(r, bytes, err) : ox_run_scratch(r, 1, bytes, err);
    if (!p)
        return OX_NO_MEMORY;
    *p = (struct ox_tfidf_pool){.n = list->n, .shift = 64 - bits};
    char *at = (char *)(p + 1);
    if (!ox_categories_in(at, list, false, &p->items))
        return ox_run_fail(r, err, OX_LIMIT, "%zu keys are too many", list->n);
    p->edges = (struct ox_tfidf_edge *)(void *)(at + items);
    p->singles = (uint32_t *)(p->edges + edges);
    memset(p->edges, 0xff, edges * sizeof *p->edges);
    memset(p->singles, 0xff, list->n * sizeof *p->singles);
    ox_hash_seeds(p->seeds, OX_COUNT(p->seeds));
    *out = p;
    return OX_OK;
}

enum ox_status ox_tfidf_pool(struct ox_run *r, bool keep, struct ox_tfidf_pool **out,
                             struct ox_error *err)
{
    struct ox_tensor *list;
    size_t n_indexes;
    OX_TRY(borrow_items(r, &list, err));
    uint32_t *numbers = ox_run_scratch(r, list->n + 1, sizeof *numbers, err);
    enum ox_status status = numbers ? lay_out(r, list, keep, out, err) : OX_NO_MEMORY;
    if (status == OX_OK)
        ox_categories_find(&(*out)->items, list, 0, list->n, numbers);
    ox_tensor_release(list);
    OX_TRY(status);
    OX_TRY(read_indexes(r, *out, &n_indexes, err));
    return add_grams(r, *out, numbers, n_indexes, err);
}
