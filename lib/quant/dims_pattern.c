#include "quant/dims_pattern.h"

#include <stdlib.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

static bool read_number(const char **at, int64_t *value)
{
    const char *digit = *at;
    int64_t sum = 0;
    for (; '0' <= *digit && *digit <= '9'; digit++) {
        if (sum > (INT64_MAX - 9) / 10)
            return false;
        sum = sum * 10 + (*digit - '0');
    }
    if (digit == *at)
        return false;
    *at = digit;
    *value = sum;
    return true;
}

static bool read_dim(const char **at, int64_t *least, int64_t *most)
{
    const char sign = **at;
    int64_t value;
    *least = -1;
    *most = INT64_MAX;
    if (sign == '*') {
        ++*at;
        return true;
    }
    if (sign != '<' && sign != '>')
        return read_number(at, &value) && ((*least = *most = value), true);
    bool equal = (*at)[1] == '=';
    *at += 1 + equal;
    if (!read_number(at, &value))
        return false;
    if (sign == '<') {
        *least = 0;
        *most = equal ? value : value - 1;
    } else {
        *least = equal ? value : value + 1;
    }
    return true;
}

static bool read_dims(struct ox_dims_pattern *pattern, const char *at)
{
    if (!*at)
        return false;
    while (*at) {
        if (strcmp(at, "...") == 0) {
            pattern->more = true;
            return true;
        }
        if (pattern->n == OX_PATTERN_RANK ||
            !read_dim(&at, &pattern->dims[pattern->n].least, &pattern->dims[pattern->n].most))
            return false;
        pattern->n++;
        if (*at && *at++ != 'x')
            return false;
        if (!*at && at[-1] == 'x')
            return false;
    }
    return true;
}

enum ox_status ox_dims_pattern_make(struct ox_dims_pattern *pattern, struct ox_model *model,
                                    const char *text, struct ox_error *err)
{
    const char *dims = text;
    *pattern = (struct ox_dims_pattern){.of = OX_PATTERN_CONSTANT};
    if (strncmp(text, "in:", 3) == 0) {
        pattern->of = OX_PATTERN_IN;
        dims += 3;
    } else if (strncmp(text, "out:", 4) == 0) {
        pattern->of = OX_PATTERN_OUT;
        dims += 4;
    }
    char shown[OX_SHOWN_BYTES];
    if (!read_dims(pattern, dims))
        return ox_fail(err, OX_USAGE,
                       "the selector 'shape:%s' is no shape: [in:|out:]DIMS with 64, *, <64, <=64, "
                       ">64 or >=64 between x, and '...' at the end",
                       ox_shown(shown, text, strlen(text)));
    return pattern->of == OX_PATTERN_CONSTANT
               ? OX_OK
               : ox_shapes_infer(&pattern->shapes, model, NULL, NULL, err);
}

void ox_dims_pattern_release(struct ox_dims_pattern *pattern)
{
    ox_shapes_release(pattern->shapes);
    pattern->shapes = NULL;
}

/* ---- Matching ----------------------------------------------------------------------------------------------------- */

static bool rank_fits(const struct ox_dims_pattern *pattern, unsigned rank)
{
    return pattern->more ? rank >= pattern->n : rank == pattern->n;
}

static bool dim_fits(const struct ox_dims_pattern *pattern, unsigned i, int64_t dim)
{
    return pattern->dims[i].least <= dim && dim <= pattern->dims[i].most;
}

static bool stored_fits(const struct ox_dims_pattern *pattern, const struct ox_stored *stored)
{
    bool fits = rank_fits(pattern, stored->rank);
    for (unsigned i = 0; fits && i < pattern->n; i++)
        fits = dim_fits(pattern, i, stored->dims[i]);
    return fits;
}

static bool type_fits(const struct ox_dims_pattern *pattern, const struct ox_type *type)
{
    bool fits =
        type && type->kind == OX_TYPE_TENSOR && type->has_rank && rank_fits(pattern, type->rank);
    for (unsigned i = 0; fits && i < pattern->n; i++) {
        int64_t dim;
        const bool known = type->dims[i] && ox_expr_is_int(type->dims[i], &dim);
        fits = dim_fits(pattern, i, known ? dim : -1);
    }
    return fits;
}

/* An initializer, of a graph around it too, or what a Constant makes. */
static const struct ox_stored *constant_of(const struct ox_value *value)
{
    while (value->outer)
        value = value->outer;
    const struct ox_node *node = value->producer;
    if (value->init || !node || strcmp(node->op_type, "Constant") != 0 || *node->domain)
        return value->init;
    const struct ox_attr *attr = ox_node_attr(node, "value");
    return attr && attr->type == OX_ATTR_TENSOR && attr->n && !attr->ref ? attr->tensor : NULL;
}

static bool value_fits(const struct ox_dims_pattern *pattern, const struct ox_value *value)
{
    if (pattern->of != OX_PATTERN_CONSTANT)
        return type_fits(pattern, ox_shapes_type(pattern->shapes, value));
    const struct ox_stored *stored = constant_of(value);
    return stored && stored_fits(pattern, stored);
}

bool ox_dims_pattern_has(const struct ox_dims_pattern *pattern, const struct ox_node *node)
{
    const bool out = pattern->of == OX_PATTERN_OUT;
    struct ox_value *const *values = out ? node->outputs : node->inputs;
    const size_t n = out ? node->n_outputs : node->n_inputs;
    for (size_t i = 0; i < n; i++)
        if (values[i] && value_fits(pattern, values[i]))
            return true;
    return false;
}
