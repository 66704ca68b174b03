/* Attributes as kernels and shape rules look for them: references of functions lead outward through the calls. */
#ifndef OX_OPS_ATTR_FIND_H
#define OX_OPS_ATTR_FIND_H

#include "ops/op.h"

/* What an attribute's name leads to: the model's own, or a default of a schema. Both NULL: nothing. */
struct ox_found_attr {
    const struct ox_attr *attr;
    const struct ox_schema_attr *standard;
};

/* What node and calls give. A reference that no call gives and no function has a default for is as if the attribute were not
 * there. call may be NULL. */
struct ox_found_attr ox_attr_given(const struct ox_node *node, const struct ox_call *call,
                                   const char *name);
/* The same, and else the default of the node's own schema (which may be NULL). */
struct ox_found_attr ox_attr_find(const struct ox_node *node, const struct ox_schema *schema,
                                  const struct ox_call *call, const char *name);

/* What kernels have asked of one node. They ask the same of it at every run, so that it is found again by the address of the
 * name, without a look at the names of the node and its schema. */
struct ox_asked {
    const struct ox_node
        *node; /* whoever runs another node, or by another schema, asks nothing here */
    const struct ox_schema *schema;
    size_t n;
    struct {
        const char *name;
        struct ox_found_attr found;
    } list[15];
};

/* What was found as one type: the fallback, or NULL, where it is of another or nothing was found. */
int64_t ox_found_int(struct ox_found_attr found, int64_t fallback);
float ox_found_float(struct ox_found_attr found, float fallback);
const char *ox_found_string(struct ox_found_attr found);
/* An empty list is not NULL. */
const int64_t *ox_found_ints(struct ox_found_attr found, size_t *n);
const float *ox_found_floats(struct ox_found_attr found, size_t *n);

#endif
