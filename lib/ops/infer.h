/* What a shape rule sees. Rules set what they can tell and leave the rest unknown (with a reason); they never stop.
 * Before a rule runs, the engine has given each output the element type that the schema's type constraints imply, if
 * they imply one: most rules set shapes alone. Dimensions and small integer values are interned expressions
 * (model/expr.h), NULL for unknown. The engine behind these functions is shape/. */
#ifndef OX_OPS_INFER_H
#define OX_OPS_INFER_H

#include "model/model.h"
#include "schema/schema.h"

struct ox_infer;

/* ---- Inputs ---- */
size_t ox_infer_n_in(const struct ox_infer *c);
size_t ox_infer_n_out(const struct ox_infer *c);
bool ox_infer_has(const struct ox_infer *c, size_t i);   /* given, not omitted */
bool ox_infer_wants(const struct ox_infer *c, size_t i); /* output is used by name */
const struct ox_type *ox_infer_type(const struct ox_infer *c,
                                    size_t i);                    /* NULL: unknown or omitted */
enum ox_dtype ox_infer_dtype(const struct ox_infer *c, size_t i); /* OX_UNDEFINED when not known */
/* Rank and dims of a tensor input; false when the rank is unknown. dims may be NULL. */
bool ox_infer_shape(const struct ox_infer *c, size_t i, unsigned *rank,
                    const struct ox_expr *const **dims);
const struct ox_expr *ox_infer_dim(const struct ox_infer *c, size_t i,
                                   unsigned axis); /* NULL when unknown */
int64_t ox_infer_opset(const struct ox_infer *c);
const struct ox_schema *ox_infer_schema(const struct ox_infer *c); /* NULL: not known */
const struct ox_node *ox_infer_node(const struct ox_infer *c);

/* The value of a small integer or bool tensor input, an expression an element (NULL elements: not known); false when nothing
 * is known of it. n is the number of elements, rank 0 or 1 as the tensor has it (any rank, flattened). */
bool ox_infer_values(const struct ox_infer *c, size_t i, size_t *n,
                     const struct ox_expr *const **values);
/* Likewise all of them as plain integers; false if one is symbolic. The array lives as long as the rule runs. */
bool ox_infer_ints(const struct ox_infer *c, size_t i, size_t *n, const int64_t **values);
/* A constant input of any type (initializer, Constant, folded); NULL. Do not release. Small ones only (64 KiB). */
const struct ox_tensor *ox_infer_const(const struct ox_infer *c, size_t i);

/* ---- Attributes, with the schema's defaults ---- */
const struct ox_attr *ox_infer_attr(const struct ox_infer *c, const char *name);
int64_t ox_infer_int_attr(const struct ox_infer *c, const char *name, int64_t fallback);
float ox_infer_float_attr(const struct ox_infer *c, const char *name, float fallback);
const char *ox_infer_string_attr(const struct ox_infer *c, const char *name); /* NULL */
const int64_t *ox_infer_ints_attr(const struct ox_infer *c, const char *name,
                                  size_t *n); /* NULL, 0 */

/* ---- Arithmetic on dimensions: NULL in, NULL out ---- */
const struct ox_expr *ox_infer_num(struct ox_infer *c, int64_t value);
const struct ox_expr *ox_infer_add(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_sub(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_mul(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_floordiv(struct ox_infer *c, const struct ox_expr *a,
                                        const struct ox_expr *b);
const struct ox_expr *ox_infer_ceildiv(struct ox_infer *c, const struct ox_expr *a,
                                       const struct ox_expr *b);
const struct ox_expr *ox_infer_mod(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_min(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_max(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b);
const struct ox_expr *ox_infer_ratio(struct ox_infer *c, const struct ox_expr *e, int64_t by);
bool ox_infer_is_num(const struct ox_expr *e, int64_t *value);
/* Two dimensions that must be equal: the more specific one; learns a == b; reports a conflict naming `what`. */
const struct ox_expr *ox_infer_equal(struct ox_infer *c, const struct ox_expr *a,
                                     const struct ox_expr *b, const char *what);
/* Broadcast of two dimensions (1 gives way); reports a conflict. */
const struct ox_expr *ox_infer_broadcast_dim(struct ox_infer *c, const struct ox_expr *a,
                                             const struct ox_expr *b);
/* A new symbol for a size that only the data knows: "NonZero_3.count". */
const struct ox_expr *ox_infer_data_dim(struct ox_infer *c, const char *what);

/* ---- Outputs ---- */
const struct ox_expr **
ox_infer_dims(struct ox_infer *c,
              unsigned rank); /* scratch array of unknowns; NULL when out of memory */
/* Zeroed, until the rule has run; NULL when out of memory. */
void *ox_infer_scratch(struct ox_infer *c, size_t count, size_t size);
void ox_infer_set_dtype(struct ox_infer *c, size_t i, enum ox_dtype dtype);
void ox_infer_set_shape(struct ox_infer *c, size_t i, unsigned rank,
                        const struct ox_expr *const *dims);
void ox_infer_set_type(struct ox_infer *c, size_t i, const struct ox_type *type);
/* Element type and shape of input `from`. */
void ox_infer_same(struct ox_infer *c, size_t out, size_t from);
void ox_infer_same_shape(struct ox_infer *c, size_t out, size_t from);
void ox_infer_same_dtype(struct ox_infer *c, size_t out, size_t from);
/* The output's value, where it is small and integer; rank and dims as set. */
void ox_infer_set_values(struct ox_infer *c, size_t i, size_t n,
                         const struct ox_expr *const *values);
/* Types built by rules. */
const struct ox_type *ox_infer_make_tensor(struct ox_infer *c, enum ox_dtype elem, bool has_rank,
                                           unsigned rank, const struct ox_expr *const *dims);
const struct ox_type *ox_infer_make_sequence(struct ox_infer *c, const struct ox_type *inner);
const struct ox_type *ox_infer_make_optional(struct ox_infer *c, const struct ox_type *inner);
const struct ox_type *ox_infer_make_map(struct ox_infer *c, enum ox_dtype key,
                                        const struct ox_type *value);
/* Types of a subgraph's outputs when its inputs have those types (NULL elements: unknown); results in the order of the
 * graph's outputs, NULL elements unknown. */
bool ox_infer_subgraph(struct ox_infer *c, const char *attr, const struct ox_type *const *inputs,
                       size_t n_inputs, const struct ox_type **outputs, size_t n_outputs);

/* What is known of a value where it passes into a subgraph or out of one. */
struct ox_infer_value {
    const struct ox_type *type;
    const struct ox_expr *const *values; /* n_values of them; NULL: none. As of ox_infer_values() */
    size_t n_values;
    struct ox_tensor *constant;         /* NULL; the inference's */
    const struct ox_infer_items *items; /* of a sequence; NULL: not known one by one */
};
/* The elements of a sequence. */
struct ox_infer_items {
    size_t n;
    const struct ox_infer_value *of;
};
struct ox_infer_value ox_infer_value(const struct ox_infer *c, size_t i); /* of input i */
void ox_infer_set_value(struct ox_infer *c, size_t i, const struct ox_infer_value *value);
/* The elements of a sequence, where they are known one by one; NULL. Those given to _set_ are copied; too many are ignored. */
const struct ox_infer_items *ox_infer_items(const struct ox_infer *c, size_t i);
void ox_infer_set_items(struct ox_infer *c, size_t i, size_t n, const struct ox_infer_value *items);
/* ox_infer_subgraph() with values. */
bool ox_infer_subgraph_values(struct ox_infer *c, const char *attr,
                              const struct ox_infer_value *inputs, size_t n_inputs,
                              struct ox_infer_value *outputs, size_t n_outputs);
/* Type of a value in the subgraph that was passed last, without the sizes that only its data tell: they may be others each time. */
const struct ox_type *ox_infer_lasting_type(struct ox_infer *c, const struct ox_value *value);
/* Before and after passes over a subgraph that are one trip each of a loop: what holds for one of them alone. false from _end:
 * what they gave is not to be used, for sizes that only the data tell were met, or they cost too much. After _end comes a
 * pass for all trips. */
void ox_infer_trips_begin(struct ox_infer *c);
bool ox_infer_trips_go_on(const struct ox_infer *c);
bool ox_infer_trips_end(struct ox_infer *c);

bool ox_infer_type_equal(const struct ox_type *a,
                         const struct ox_type *b); /* the same in every dimension */

/* Broadcast of all inputs in [first, first + n) into dims (numpy's rule); false when a rank is unknown. */
bool ox_infer_broadcast(struct ox_infer *c, size_t first, size_t n, unsigned *rank,
                        const struct ox_expr *const **dims);
/* Normalized axis; false with a finding when it is out of range. */
bool ox_infer_axis(struct ox_infer *c, int64_t axis, unsigned rank, unsigned *out);

/* ---- Findings ---- */
/* The model is wrong here: the node cannot run with these shapes or attributes (an error in strict mode). */
void ox_infer_conflict(struct ox_infer *c, const char *format, ...) OX_PRINTF(2, 3);
/* The node would be refused if it ran, and the standard's own inference finds nothing wrong: nothing is reported, but no rewriting takes
 * the node away. */
void ox_infer_refused(struct ox_infer *c);
/* Between the two, where `doubt`: subgraphs that may never run, in which a conflict is an error only if the standard's own rules
 * alone find one. */
void ox_infer_doubt(struct ox_infer *c, bool doubt);
void ox_infer_trust(struct ox_infer *c, bool doubted);
/* Whether only what these rules find is asked for. */
bool ox_infer_by_rules_alone(const struct ox_infer *c);
/* Why output i stays unknown, for --explain. */
void ox_infer_unknown(struct ox_infer *c, size_t i, const char *format, ...) OX_PRINTF(3, 4);

#endif
