/* Nodes by the shapes of what they take and make. */
#ifndef OX_QUANT_DIMS_PATTERN_H
#define OX_QUANT_DIMS_PATTERN_H

#include "model/model.h"
#include "shape/shapes.h"

enum { OX_PATTERN_RANK = 16 };

struct ox_dims_pattern {
    enum { OX_PATTERN_CONSTANT, OX_PATTERN_IN, OX_PATTERN_OUT } of;
    unsigned n;
    bool more; /* any further dimensions */
    struct {
        int64_t least, most; /* -1, INT64_MAX: any, also one that is not known */
    } dims[OX_PATTERN_RANK];
    struct ox_shapes *shapes; /* of IN and OUT */
};

/* "[in:|out:]DIMS", of DIMS 64, *, <64, <=64, >64, >=64 with x between them, and "..." as the last. OX_USAGE: it is none. Release it also
 * after a failure. */
enum ox_status ox_dims_pattern_make(struct ox_dims_pattern *pattern, struct ox_model *model,
                                    const char *text, struct ox_error *err);
void ox_dims_pattern_release(struct ox_dims_pattern *pattern);
bool ox_dims_pattern_has(const struct ox_dims_pattern *pattern, const struct ox_node *node);

#endif
