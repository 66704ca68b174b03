/* The n-grams that TfIdfVectorizer counts. */
#ifndef OX_OPS_TFIDF_POOL_H
#define OX_OPS_TFIDF_POOL_H

#include "ops/categories.h"

/* Items of the pool are numbered by their first place there. N-grams are the paths of a tree: nodes below n are those of the items, what
 * a path's next item leads to is found by hashing. */
struct ox_tfidf_pool {
    struct ox_categories items;
    size_t n;
    uint32_t *singles; /* n-grams of one item by its number; OX_NO_CATEGORY: none */
    struct ox_tfidf_edge *edges;
    unsigned shift;
    uint64_t seeds[2];
    size_t n_grams;
    bool one_each; /* no two n-grams are counted at the same index */
    int64_t width; /* of a row of the output */
};

struct ox_tfidf_edge {
    uint32_t from, item; /* from: OX_NO_CATEGORY: free */
    uint32_t to,
        gram; /* the n-gram that ends here, by its place in the pool's list; OX_NO_CATEGORY */
};

/* Reads the node's pool, for its input's type, into memory that stays with the node (`keep`, in prepare()) or its scratch. OX_INPUT:
 * attributes that do not fit each other. */
enum ox_status ox_tfidf_pool(struct ox_run *r, bool keep, struct ox_tfidf_pool **out,
                             struct ox_error *err);
/* NULL: no n-gram goes on so. */
const struct ox_tfidf_edge *ox_tfidf_next(const struct ox_tfidf_pool *p, uint32_t from,
                                          uint32_t item);

#endif
