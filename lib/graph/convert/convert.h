/* Converting operators from one version of their domain to the next: what adapters see and use.
 *
 * A graph is converted a version at a time, so that at each moment all of it is of one version. Of every operator that has
 * another row at the next version, a row of the table (convert_table.c), if there is one, is asked first: it changes the node in
 * place so that it means the same under the next version, or replaces it. What is left to be done is done by comparing the two
 * schemas (convert_schema.c): attributes at their default are dropped, defaults that changed are spelled out, types and arities
 * are checked. So a version that only widens types needs no adapter. */
#ifndef OX_GRAPH_CONVERT_H
#define OX_GRAPH_CONVERT_H

#include "common/error.h"
#include "model/model.h"
#include "shape/shapes.h"

enum { OX_ADAPT_RANK = 64 };

/* One node on its way from one version to the next. */
struct ox_adapt {
    struct ox_model *model;
    struct ox_shapes *shapes;
    const size_t *n_known; /* by graph: values that `shapes` knows of */
    size_t n_graphs_known;
    struct ox_graph *graph;
    struct ox_node *node;
    const char *domain;
    int64_t version, next;             /* of the domain: next is version + 1 or - 1 */
    const struct ox_schema *from, *to; /* NULL: not there in that version */
    bool replaced;                     /* by others, which are of version `next` */
    struct ox_strbuf *blocked; /* why it cannot be, if an adapter returned false; empty: `status` */
    struct ox_strmap *freed;   /* addresses of values that lost a use */
    enum ox_status status;     /* a failure: no memory */
    struct ox_error *err;
};

/* ---- convert_node.c: what adapters do. false: blocked, or out of memory. ------------------------------------------- */

bool ox_adapt_block(struct ox_adapt *c, const char *format, ...) OX_PRINTF(2, 3); /* false */
bool ox_adapt_no_memory(struct ox_adapt *c);                                      /* false */

/* The attribute's value, or fallback where there is none; blocked when it is of another type or a function's parameter. */
bool ox_adapt_int(struct ox_adapt *c, const char *name, int64_t fallback, int64_t *value);
bool ox_adapt_float(struct ox_adapt *c, const char *name, float fallback, float *value);
/* *n of them, at most OX_ADAPT_RANK; *found says whether it is there. */
bool ox_adapt_int_list(struct ox_adapt *c, const char *name, int64_t *values, size_t *n,
                       bool *found);
/* Whether the attribute is there and is that string. */
bool ox_adapt_is(const struct ox_adapt *c, const char *name, const char *value);
bool ox_adapt_has(const struct ox_adapt *c, const char *name);
void ox_adapt_drop(struct ox_adapt *c, const char *name);
bool ox_adapt_set_int(struct ox_adapt *c, const char *name, int64_t value);
bool ox_adapt_set_ints(struct ox_adapt *c, const char *name, const int64_t *values, size_t n);
bool ox_adapt_set_string(struct ox_adapt *c, const char *name, const char *value);
bool ox_adapt_set_op(struct ox_adapt *c, const char *op_type);

/* What is inferred; NULL, OX_UNDEFINED and -1 where it is not known. value may be NULL. */
const struct ox_type *ox_adapt_type(const struct ox_adapt *c, const struct ox_value *value);
enum ox_dtype ox_adapt_dtype(const struct ox_adapt *c, const struct ox_value *value);
int ox_adapt_rank(const struct ox_adapt *c, const struct ox_value *value);
int64_t ox_adapt_dim(const struct ox_adapt *c, const struct ox_value *value, int axis);
/* All of them; false: one is not known. */
bool ox_adapt_dims(const struct ox_adapt *c, const struct ox_value *value, int64_t *dims);
/* The same, blocked where it is not known. */
bool ox_adapt_need_rank(struct ox_adapt *c, size_t input, int *rank);
bool ox_adapt_need_dtype(struct ox_adapt *c, size_t input, enum ox_dtype *dtype);

/* Input i of the node, or NULL. */
struct ox_value *ox_adapt_input(const struct ox_adapt *c, size_t i);
struct ox_value *ox_adapt_output(const struct ox_adapt *c, size_t i);
/* Whether anything reads it. */
bool ox_adapt_used(const struct ox_adapt *c, const struct ox_value *value);
/* The constant that the value is; NULL. Borrowed. */
const struct ox_tensor *ox_adapt_known(struct ox_adapt *c, const struct ox_value *value);
/* The integers that input i is; blocked when it is no constant. */
bool ox_adapt_known_ints(struct ox_adapt *c, size_t i, int64_t *values, size_t *n);
bool ox_adapt_known_double(struct ox_adapt *c, size_t i, double *value);

/* Constants, as nodes. NULL: out of memory (c->status says it). */
struct ox_value *ox_adapt_const(struct ox_adapt *c, const struct ox_tensor *tensor);
struct ox_value *ox_adapt_const_ints(struct ox_adapt *c, const int64_t *values, size_t n); /* 1-D */
/* A scalar, or with rank 1 a vector of one, of that type. */
struct ox_value *ox_adapt_const_number(struct ox_adapt *c, enum ox_dtype dtype, unsigned rank,
                                       double value);
struct ox_value *ox_adapt_const_empty(struct ox_adapt *c, enum ox_dtype dtype); /* [0] */

/* The node's input i becomes that value (NULL: omitted); the list grows as needed. */
bool ox_adapt_set_input(struct ox_adapt *c, size_t i, struct ox_value *value);
void ox_adapt_cut_inputs(struct ox_adapt *c, size_t n); /* at most n are left */
/* A new node of one output. NULL: out of memory. */
struct ox_node *ox_adapt_add(struct ox_adapt *c, const char *op_type,
                             struct ox_value *const *inputs, size_t n_inputs);
/* A node of one input between input i, or output i, and what it was connected to. NULL: out of memory. */
struct ox_node *ox_adapt_before(struct ox_adapt *c, size_t i, const char *op_type);
struct ox_node *ox_adapt_after(struct ox_adapt *c, size_t i, const char *op_type);
/* The node becomes a graph in the textual syntax, "(x, y) => (z) { z = Add(x, y) }", valid under c->next; its inputs and outputs are
 * the node's, in order. */
bool ox_adapt_replace(struct ox_adapt *c, const char *format, ...) OX_PRINTF(2, 3);

/* ---- convert_schema.c ---- */

/* What comparing the rows c->from and c->to tells, which both are there. */
bool ox_adapt_by_schema(struct ox_adapt *c);
/* Inputs and outputs of types that c->to does not take go through casts, where that changes no value. */
bool ox_adapt_by_casts(struct ox_adapt *c, bool *done);

/* ---- convert_table.c ---- */

struct ox_adapter_row {
    const char *domain, *op_type;
    int since; /* the newer row's version */
    /* true when the node now means under `next` what it meant. Otherwise the reason is in c->blocked; the node may have been
     * changed. NULL: comparing schemas is all there is to do. */
    bool (*up)(struct ox_adapt *c);
    bool (*down)(struct ox_adapt *c);
};
const struct ox_adapter_row *ox_adapter_rows(size_t *n);
/* NULL: no row. */
const struct ox_adapter_row *ox_adapter_find(const char *domain, const char *op_type, int since);

/* ---- What is left to do for a whole model --------------------------------------------------------------------------- */

/* Constants that were inputs and are attributes now (`freed`: addresses of values) go, if nothing else uses them. false: out of memory. */
bool ox_convert_drop_unused(struct ox_model *model, const struct ox_strmap *freed);

/* The least IR version that what is in the model needs. Initializers that are no inputs need 4. */
int64_t ox_convert_needed_ir(const struct ox_model *model);

#endif
