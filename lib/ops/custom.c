/* Custom operators: shapes by the patterns and formulas of a schema file. */
#include "ops/custom.h"

#include <string.h>

#include "ops/infer.h"

enum { MOST_RANK = 1024 };

struct run_of_dims {
    bool bound;
    unsigned n;
    const struct ox_expr *const *dims;
};

struct match {
    struct ox_infer *c;
    const struct ox_operator *op;
    const struct ox_expr **dims; /* by op->names; NULL: not bound */
    struct run_of_dims *runs;    /* by op->runs */
};

static const struct ox_expr *value_of(struct match *m, const struct ox_formula *f)
{
    size_t n, at = (size_t)f->value;
    if (f->kind == OX_FORMULA_INPUT) {
        const struct ox_expr *const *values;
        if (!ox_infer_values(m->c, f->at, &n, &values))
            return NULL;
        if (at >= n)
            ox_infer_conflict(m->c, "input %zu has %zu elements, and its element %zu is needed",
                              f->at, n, at);
        return at < n ? values[at] : NULL;
    }
    const struct ox_schema_attr *attr = &m->op->schema.attrs[f->at];
    if (!f->has_element) {
        bool given = attr->default_kind != OX_DEFAULT_NONE || ox_infer_attr(m->c, attr->name);
        return given ? ox_infer_num(m->c, ox_infer_int_attr(m->c, attr->name, 0)) : NULL;
    }
    const int64_t *ints = ox_infer_ints_attr(m->c, attr->name, &n);
    if (ints && at >= n)
        ox_infer_conflict(m->c, "attribute '%s' has %zu elements, and its element %zu is needed",
                          attr->name, n, at);
    return ints && at < n ? ox_infer_num(m->c, ints[at]) : NULL;
}

static const struct ox_expr *evaluate(struct match *m, const struct ox_formula *f)
{
    unsigned rank;
    if (f->kind == OX_FORMULA_NUMBER)
        return ox_infer_num(m->c, f->value);
    if (f->kind == OX_FORMULA_DIM)
        return m->dims[f->at];
    if (f->kind == OX_FORMULA_RANK)
        return ox_infer_shape(m->c, f->at, &rank, NULL) ? ox_infer_num(m->c, rank) : NULL;
    if (f->kind == OX_FORMULA_ATTR || f->kind == OX_FORMULA_INPUT)
        return value_of(m, f);
    const struct ox_expr *a = evaluate(m, f->a);
    const struct ox_expr *b = evaluate(m, f->b);
    int64_t divisor;
    bool divides = f->kind == OX_FORMULA_FLOORDIV || f->kind == OX_FORMULA_CEILDIV ||
                   f->kind == OX_FORMULA_MOD;
    if (divides && ox_infer_is_num(b, &divisor) && divisor <= 0) {
        ox_infer_conflict(m->c, "a formula of the schema divides by %lld", (long long)divisor);
        return NULL;
    }
    switch (f->kind) {
    case OX_FORMULA_ADD:
        return ox_infer_add(m->c, a, b);
    case OX_FORMULA_SUB:
        return ox_infer_sub(m->c, a, b);
    case OX_FORMULA_MUL:
        return ox_infer_mul(m->c, a, b);
    case OX_FORMULA_FLOORDIV:
        return ox_infer_floordiv(m->c, a, b);
    case OX_FORMULA_CEILDIV:
        return ox_infer_ceildiv(m->c, a, b);
    case OX_FORMULA_MOD:
        return ox_infer_mod(m->c, a, b);
    case OX_FORMULA_MIN:
        return ox_infer_min(m->c, a, b);
    case OX_FORMULA_MAX:
        return ox_infer_max(m->c, a, b);
    default:
        return NULL;
    }
}

/* ---- Inputs ---- */

/* The tensor in a sequence or an optional, as the pattern nests them; NULL: not known, or another kind. */
static const struct ox_type *tensor_in(const struct ox_type *type, char kind)
{
    unsigned depth = kind == 'q' ? 2 : kind == 's' || kind == 'o' ? 1 : 0;
    for (; type && depth; depth--)
        type = type->inner;
    bool is_tensor = type && type->kind == (kind == 'p' ? OX_TYPE_SPARSE : OX_TYPE_TENSOR);
    return is_tensor ? type : NULL;
}

static const struct ox_param_pattern *pattern_of(const struct ox_param_pattern *patterns,
                                                 const struct ox_schema_param *params, size_t n,
                                                 size_t i)
{
    if (i < n)
        return &patterns[i];
    return n && params[n - 1].option == OX_PARAM_VARIADIC ? &patterns[n - 1] : NULL;
}

/* Shape of input i where its pattern speaks of one; false: nothing to match. */
static bool shape_to_match(struct match *m, size_t i, const struct ox_param_pattern **pattern,
                           unsigned *rank, const struct ox_expr *const **dims)
{
    const struct ox_schema *schema = &m->op->schema;
    *pattern = pattern_of(m->op->inputs, schema->inputs, schema->n_inputs, i);
    if (!*pattern || !(*pattern)->has_shape || !ox_infer_has(m->c, i))
        return false;
    const struct ox_type *type = tensor_in(ox_infer_type(m->c, i), (*pattern)->kind);
    if (!type || !type->has_rank)
        return false;
    *rank = type->rank;
    *dims = (const struct ox_expr *const *)type->dims;
    size_t n_runs = 0;
    for (size_t k = 0; k < (*pattern)->n_dims; k++)
        n_runs += (*pattern)->dims[k].kind == OX_DIM_RUN;
    size_t least = (*pattern)->n_dims - n_runs;
    if (*rank == least || (*rank > least && n_runs))
        return true;
    ox_infer_conflict(m->c, "input %zu has rank %u; %s takes %s%zu", i, *rank, schema->name,
                      n_runs ? "at least " : "", least);
    return false;
}

static const struct ox_expr *equal(struct match *m, const struct ox_expr *a,
                                   const struct ox_expr *b, size_t input, unsigned axis)
{
    char what[80];
    snprintf(what, sizeof what, "dimension %u of input %zu", axis, input);
    return ox_infer_equal(m->c, a, b, what);
}

static void bind_run(struct match *m, size_t input, unsigned axis, struct run_of_dims *run,
                     const struct ox_expr *const *dims, unsigned n)
{
    if (!run->bound) {
        *run = (struct run_of_dims){true, n, dims};
        return;
    }
    if (run->n != n) {
        ox_infer_conflict(m->c, "input %zu has %u dimensions where another has %u", input, n,
                          run->n);
        return;
    }
    const struct ox_expr **both = ox_infer_dims(m->c, n);
    for (unsigned k = 0; both && k < n; k++)
        both[k] = equal(m, run->dims[k], dims[k], input, axis + k);
    if (both)
        run->dims = both;
}

/* Names alone bind what they stand for; formulas (`second`) are held against it when all names are bound. */
static void match_input(struct match *m, size_t i, bool second)
{
    const struct ox_param_pattern *pattern;
    const struct ox_expr *const *dims;
    unsigned rank, axis = 0;
    if (!shape_to_match(m, i, &pattern, &rank, &dims))
        return;
    for (size_t k = 0; k < pattern->n_dims; k++) {
        const struct ox_dim_pattern *dim = &pattern->dims[k];
        if (dim->kind == OX_DIM_RUN) {
            unsigned n = rank + 1 - (unsigned)pattern->n_dims;
            if (!second)
                bind_run(m, i, axis, &m->runs[dim->run], dims + axis, n);
            axis += n;
            continue;
        }
        bool is_name = dim->kind == OX_DIM_FORMULA && dim->formula->kind == OX_FORMULA_DIM;
        const struct ox_expr **bound = is_name ? &m->dims[dim->formula->at] : NULL;
        if (is_name && !second)
            *bound = *bound ? equal(m, *bound, dims[axis], i, axis) : dims[axis];
        else if (dim->kind == OX_DIM_FORMULA && !is_name && second)
            equal(m, dims[axis], evaluate(m, dim->formula), i, axis);
        axis++;
    }
}

/* ---- Outputs ---- */

/* The element type of a type variable: that of an input of it. */
static enum ox_dtype element_of(struct match *m, const struct ox_param_pattern *out)
{
    const struct ox_schema *schema = &m->op->schema;
    if (out->variable == SIZE_MAX)
        return out->elem;
    for (size_t i = 0; i < ox_infer_n_in(m->c); i++) {
        const struct ox_param_pattern *in =
            pattern_of(m->op->inputs, schema->inputs, schema->n_inputs, i);
        const struct ox_type *type = in && in->variable == out->variable
                                         ? tensor_in(ox_infer_type(m->c, i), in->kind)
                                         : NULL;
        if (type && type->elem)
            return type->elem;
    }
    return OX_UNDEFINED;
}

/* numpy's rule for two runs. */
static bool broadcast_runs(struct match *m, const struct run_of_dims *a,
                           const struct run_of_dims *b, struct run_of_dims *to)
{
    if (!a->bound || !b->bound)
        return false;
    unsigned n = a->n > b->n ? a->n : b->n;
    const struct ox_expr **dims = ox_infer_dims(m->c, n);
    const struct ox_expr *one = ox_infer_num(m->c, 1);
    for (unsigned k = 0; dims && k < n; k++) {
        const struct ox_expr *x = k + a->n < n ? one : a->dims[k + a->n - n];
        const struct ox_expr *y = k + b->n < n ? one : b->dims[k + b->n - n];
        dims[k] = ox_infer_broadcast_dim(m->c, x, y);
    }
    *to = (struct run_of_dims){true, n, dims};
    return dims != NULL;
}

static const struct ox_expr *output_dim(struct match *m, size_t i, const struct ox_dim_pattern *dim)
{
    if (dim->kind == OX_DIM_ANY)
        return NULL;
    if (dim->formula->kind == OX_FORMULA_DIM && !m->dims[dim->formula->at])
        m->dims[dim->formula->at] = ox_infer_data_dim(m->c, m->op->names[dim->formula->at]);
    const struct ox_expr *e = evaluate(m, dim->formula);
    int64_t size;
    if (ox_infer_is_num(e, &size) && size < 0) {
        ox_infer_conflict(m->c, "output %zu would have a dimension of %lld", i, (long long)size);
        return NULL;
    }
    return e;
}

/* false: the rank is not known. */
static bool output_shape(struct match *m, size_t i, const struct ox_param_pattern *pattern,
                         unsigned *rank, const struct ox_expr *const **dims)
{
    struct run_of_dims run = {0};
    bool has_run = false;
    size_t n = pattern->n_dims;
    for (size_t k = 0; k < pattern->n_dims; k++) {
        const struct ox_dim_pattern *dim = &pattern->dims[k];
        if (dim->kind != OX_DIM_RUN)
            continue;
        has_run = true;
        run = m->runs[dim->run];
        if (dim->other != SIZE_MAX &&
            !broadcast_runs(m, &m->runs[dim->run], &m->runs[dim->other], &run))
            run.bound = false;
        if (!run.bound) {
            ox_infer_unknown(m->c, i,
                             "the dimensions '%s' of %s are those of an input whose rank "
                             "is not known",
                             m->op->runs[dim->run], m->op->schema.name);
            return false;
        }
        n += run.n;
    }
    n -= has_run;
    const struct ox_expr **made = n <= MOST_RANK ? ox_infer_dims(m->c, (unsigned)n) : NULL;
    unsigned axis = 0;
    for (size_t k = 0; made && k < pattern->n_dims; k++) {
        if (pattern->dims[k].kind != OX_DIM_RUN) {
            made[axis++] = output_dim(m, i, &pattern->dims[k]);
            continue;
        }
        for (unsigned d = 0; d < run.n; d++)
            made[axis++] = run.dims[d];
    }
    *rank = (unsigned)n;
    *dims = made;
    return made != NULL;
}

static void set_output(struct match *m, size_t i, const struct ox_param_pattern *pattern)
{
    enum ox_dtype elem = element_of(m, pattern);
    unsigned rank = 0;
    const struct ox_expr *const *dims = NULL;
    bool known = pattern->has_shape && output_shape(m, i, pattern, &rank, &dims);
    if (pattern->kind == 't') {
        ox_infer_set_dtype(m->c, i, elem);
        if (known)
            ox_infer_set_shape(m->c, i, rank, dims);
        else if (!pattern->has_shape)
            ox_infer_unknown(m->c, i, "the schema of %s says nothing of this shape",
                             m->op->schema.name);
        return;
    }
    if (pattern->kind == 'p') /* rules make none; what the file declares of it stands */
        return;
    const struct ox_type *type = ox_infer_make_tensor(m->c, elem, known, rank, dims);
    if (pattern->kind != 'o')
        type = ox_infer_make_sequence(m->c, type);
    if (pattern->kind != 's')
        type = ox_infer_make_optional(m->c, type);
    ox_infer_set_type(m->c, i, type);
}

void ox_infer_custom(struct ox_infer *c)
{
    struct match m = {.c = c};
    const struct ox_schema *schema = ox_infer_schema(c);
    m.op = ox_operators_owner(ox_infer_node(c)->graph->model->env, schema);
    if (!m.op)
        return;
    m.dims = ox_infer_dims(c, (unsigned)m.op->n_names);
    struct run_of_dims *runs = m.runs = ox_infer_scratch(c, m.op->n_runs + 1, sizeof *m.runs);
    if (!m.dims || !runs)
        return;
    for (size_t i = 0; i < ox_infer_n_in(c); i++)
        match_input(&m, i, false);
    for (size_t i = 0; i < ox_infer_n_in(c); i++)
        match_input(&m, i, true);
    for (size_t i = 0; i < ox_infer_n_out(c); i++) {
        const struct ox_param_pattern *pattern =
            pattern_of(m.op->outputs, schema->outputs, schema->n_outputs, i);
        if (pattern && ox_infer_wants(c, i))
            set_output(&m, i, pattern);
    }
}

/* ---- Rows ---- */

const struct ox_op *ox_op_lookup(const struct ox_env *env, const char *domain, const char *name,
                                 int64_t opset)
{
    static const struct ox_op described = {.domain = "",
                                           .name = "custom",
                                           .since = 1,
                                           .flags = OX_OP_RANDOM,
                                           .infer = ox_infer_custom};
    const struct ox_op *op = ox_op_find(domain, name, opset);
    if (!op)
        op = ox_library_find(env, domain, name, opset);
    if (!op && ox_operators_find(env, domain, name, opset))
        op = &described;
    return op;
}

/* GroupNormalization 18 was deprecated after its release, not by it, and has a row of its own. */
bool ox_op_has_left(const struct ox_op *op, const struct ox_schema *schema)
{
    return schema && schema->deprecated && !(op && op->since == schema->since);
}
