/* The first value of a graph of which something holds, by few questions. */
#ifndef OX_GRAPH_FIRST_VALUE_H
#define OX_GRAPH_FIRST_VALUE_H

#include "model/model.h"

struct ox_first_value {
    const struct ox_value *output; /* which holds; a node of a sorted graph makes it */
    /* Whether a value may be asked for; NULL: all that nodes make. Constants never are. */
    bool (*takes)(void *arg, const struct ox_value *value);
    enum ox_status (*holds)(void *arg, const struct ox_value *value, bool *answer,
                            struct ox_error *err);
    void *arg;
    const struct ox_value *found; /* NULL: none may be asked for */
    size_t n_asked;
};

/* Of the values that `output` needs, itself included, the first that holds by halving, and from there on those that enter its
 * node, until none of them does. Fails as `holds` does, and for want of memory. */
enum ox_status ox_first_value(struct ox_first_value *f, struct ox_error *err);

/* The least number below n that holds, if each after it does; n - 1 is not asked for. n > 0. */
enum ox_status ox_first_number(size_t n,
                               enum ox_status (*holds)(void *arg, size_t i, bool *answer,
                                                       struct ox_error *err),
                               void *arg, size_t *found, struct ox_error *err);

#endif
