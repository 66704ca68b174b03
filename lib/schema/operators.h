/* Operators of an environment that no standard has: their signatures with patterns for the shapes of inputs and formulas for
 * those of outputs, read from text (ox_env_add_schemas()). Constant once models are open. */
#ifndef OX_SCHEMA_OPERATORS_H
#define OX_SCHEMA_OPERATORS_H

#include "common/arena.h"
#include "common/env.h"
#include "schema/schema_tables.h"

enum ox_formula_kind {
    OX_FORMULA_NUMBER, /* value */
    OX_FORMULA_NAME,   /* while reading only: what text names is not settled yet */
    OX_FORMULA_DIM,    /* names[at], bound by a dimension of an input; else only the data tell it */
    OX_FORMULA_ATTR,   /* attribute at; of a list its element `value` */
    OX_FORMULA_INPUT,  /* element `value` of the integer input at */
    OX_FORMULA_RANK,   /* of input at */
    OX_FORMULA_ADD,    /* a + b, and so on */
    OX_FORMULA_SUB,
    OX_FORMULA_MUL,
    OX_FORMULA_FLOORDIV,
    OX_FORMULA_CEILDIV,
    OX_FORMULA_MOD,
    OX_FORMULA_MIN,
    OX_FORMULA_MAX
};

struct ox_formula {
    enum ox_formula_kind kind;
    int64_t value;
    size_t at;
    const char *text;
    bool has_element; /* of a NAME: text[value] */
    unsigned weight;  /* of all that is below it, which is bounded: so is its depth */
    struct ox_formula *a, *b;
};

enum ox_dim_kind {
    OX_DIM_ANY,     /* ? */
    OX_DIM_FORMULA, /* a number, a name, a formula */
    OX_DIM_RUN /* *S: any number of dimensions, named together; of an output also what two of them broadcast to */
};

struct ox_dim_pattern {
    enum ox_dim_kind kind;
    struct ox_formula *formula;
    size_t run;   /* index in runs */
    size_t other; /* that it is broadcast with; SIZE_MAX: none */
};

/* Type and shape of a parameter. */
struct ox_param_pattern {
    char kind;          /* of ox_type_set_has() */
    enum ox_dtype elem; /* OX_UNDEFINED: that of the variable */
    size_t variable;    /* index in the schema's constraints; SIZE_MAX: none */
    bool has_shape;     /* otherwise nothing is said of it, not even the rank */
    struct ox_dim_pattern *dims;
    size_t n_dims;
};

struct ox_operator {
    struct ox_schema schema; /* first: a schema's address is its operator's */
    struct ox_param_pattern *inputs, *outputs;
    struct ox_schema_param *input_params, *output_params; /* the schema's own, while it is read */
    struct ox_schema_constraint *constraints;
    const char **names; /* of dimensions */
    size_t n_names;
    const char **runs;
    size_t n_runs;
};

struct ox_operators {
    struct ox_arena arena;
    struct ox_operator **items; /* in the order of the files */
    size_t n_items;
    struct ox_library *libraries; /* of ops/library.h; NULL */
    void (*libraries_release)(struct ox_library *libraries);
};

/* Those of the environment, made when there are none yet; NULL: out of memory. */
struct ox_operators *ox_operators_of(struct ox_env *env);
/* The row that serves version `opset`; NULL. */
const struct ox_operator *ox_operators_find(const struct ox_env *env, const char *domain,
                                            const char *name, int64_t opset);
bool ox_operators_has_domain(const struct ox_env *env, const char *domain);
/* The oldest row of an operator; NULL. */
const struct ox_schema *ox_operators_first(const struct ox_env *env, const char *domain,
                                           const char *name);
/* The operator that the schema belongs to; NULL: the schema is the standard's. */
const struct ox_operator *ox_operators_owner(const struct ox_env *env,
                                             const struct ox_schema *schema);

/* Appends the operators of a text; `name` is the file's. */
enum ox_status ox_operators_read(struct ox_operators *operators, const char *text, size_t n,
                                 const char *name, struct ox_error *err);

#endif
