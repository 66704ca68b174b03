/* Types of values: building, joining, merging, and what an operator's schema says of them. */
#include <string.h>

#include "schema/param.h"
#include "shape/infer_impl.h"

const struct ox_type *ox_shapes_tensor(struct ox_shapes *s, enum ox_type_kind kind,
                                       enum ox_dtype elem, bool has_rank, unsigned rank,
                                       const struct ox_expr *const *dims)
{
    struct ox_type *type = ox_arena_words(&s->arena, sizeof *type);
    const struct ox_expr **copy =
        has_rank && rank ? ox_arena_words(&s->arena, rank * sizeof(*copy)) : NULL;
    if (!type || (has_rank && rank && !copy)) {
        s->failed = true;
        return NULL;
    }
    if (copy && dims)
        memcpy(copy, dims, rank * sizeof(*copy));
    *type = (struct ox_type){.kind = kind,
                             .elem = elem,
                             .has_rank = has_rank,
                             .rank = has_rank ? rank : 0,
                             .dims = copy};
    return type;
}

static const struct ox_type *nested(struct ox_shapes *s, enum ox_type_kind kind, enum ox_dtype key,
                                    const struct ox_type *inner)
{
    struct ox_type *type = ox_arena_alloc(&s->arena, sizeof *type);
    if (!type) {
        s->failed = true;
        return NULL;
    }
    *type = (struct ox_type){.kind = kind, .elem = key, .inner = inner};
    return type;
}

static bool is_tensor(const struct ox_type *type)
{
    return type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE;
}

bool ox_infer_type_equal(const struct ox_type *a, const struct ox_type *b)
{
    for (;;) {
        if (a == b)
            return true;
        if (!a || !b || a->kind != b->kind || a->elem != b->elem || a->has_rank != b->has_rank)
            return false;
        if (a->has_rank &&
            (a->rank != b->rank ||
             (a->rank && memcmp(a->dims, b->dims, a->rank * sizeof a->dims[0]) != 0)))
            return false;
        a = a->inner;
        b = b->inner;
    }
}

const struct ox_type *ox_shapes_join(struct ox_shapes *s, const struct ox_type *a,
                                     const struct ox_type *b)
{
    if (!a || !b || a->kind != b->kind)
        return NULL;
    if (ox_infer_type_equal(a, b))
        return a;
    if (!is_tensor(a))
        return a->elem == b->elem
                   ? nested(s, a->kind, a->elem, ox_shapes_join(s, a->inner, b->inner))
                   : NULL;
    enum ox_dtype elem = a->elem == b->elem ? a->elem : OX_UNDEFINED;
    if (!a->has_rank || !b->has_rank || a->rank != b->rank)
        return ox_shapes_tensor(s, a->kind, elem, false, 0, NULL);
    const struct ox_type *type =
        ox_shapes_tensor(s, a->kind, elem, true, a->rank, (const struct ox_expr *const *)a->dims);
    for (unsigned i = 0; type && i < a->rank; i++) {
        if (a->dims[i] != b->dims[i])
            type->dims[i] = NULL;
    }
    return type;
}

/* The more specific of two dimensions that are said to be the same one. */
static const struct ox_expr *merge_dim(struct ox_shapes *s, const struct ox_expr *inferred,
                                       const struct ox_expr *declared, bool *differ)
{
    if (!inferred || !declared || inferred == declared)
        return inferred ? inferred : declared;
    if (ox_expr_differ(s->pool, inferred, declared)) {
        *differ = true;
        return inferred;
    }
    if (ox_expr_is_int(inferred, NULL))
        return inferred;
    if (ox_expr_is_int(declared, NULL))
        return declared;
    return ox_shapes_made_up(s, inferred) ? declared : inferred;
}

static const struct ox_type *copy_of(struct ox_shapes *s, const struct ox_type *type,
                                     enum ox_dtype elem)
{
    return ox_shapes_tensor(s, type->kind, elem, type->has_rank, type->rank,
                            (const struct ox_expr *const *)type->dims);
}

const struct ox_type *ox_shapes_merge(struct ox_shapes *s, const struct ox_type *inferred,
                                      const struct ox_type *declared, bool *differ)
{
    bool ignored = false;
    differ = differ ? differ : &ignored;
    if (!inferred || !declared || inferred == declared)
        return inferred ? inferred : declared;
    if (inferred->kind == OX_TYPE_UNKNOWN || declared->kind == OX_TYPE_UNKNOWN)
        return inferred->kind == OX_TYPE_UNKNOWN ? declared : inferred;
    if (inferred->kind != declared->kind) {
        *differ = true;
        return inferred;
    }
    enum ox_dtype elem = inferred->elem ? inferred->elem : declared->elem;
    *differ |= elem != declared->elem && declared->elem;
    if (!is_tensor(inferred))
        return nested(s, inferred->kind, elem,
                      ox_shapes_merge(s, inferred->inner, declared->inner, differ));
    if (!inferred->has_rank || !declared->has_rank) {
        const struct ox_type *ranked = inferred->has_rank ? inferred : declared;
        return ox_shapes_tensor(s, inferred->kind, elem, ranked->has_rank, ranked->rank,
                                (const struct ox_expr *const *)ranked->dims);
    }
    *differ |= inferred->rank != declared->rank;
    if (inferred->rank != declared->rank)
        return inferred;
    const struct ox_type *made = NULL;
    for (unsigned i = 0; i < inferred->rank; i++) {
        const struct ox_expr *dim = merge_dim(s, inferred->dims[i], declared->dims[i], differ);
        if (dim != inferred->dims[i] && !made)
            made = copy_of(s, inferred, elem);
        if (made)
            made->dims[i] = dim;
    }
    if (!made && elem != inferred->elem)
        made = copy_of(s, inferred, elem);
    return made ? made : inferred;
}

const struct ox_type *ox_shapes_forget(struct ox_shapes *s, const struct ox_type *type)
{
    if (!type)
        return NULL;
    if (type->kind == OX_TYPE_TENSOR && type->has_rank) { /* what nearly every node begins with */
        const struct ox_type **known = &s->unranked[type->elem];
        if (!*known)
            *known = ox_shapes_tensor(s, OX_TYPE_TENSOR, type->elem, false, 0, NULL);
        return *known;
    }
    if (is_tensor(type))
        return type->has_rank ? ox_shapes_tensor(s, type->kind, type->elem, false, 0, NULL) : type;
    return type->inner ? nested(s, type->kind, type->elem, ox_shapes_forget(s, type->inner)) : type;
}

const struct ox_type *ox_shapes_resolve_type(struct ox_shapes *s, const struct ox_type *type)
{
    if (!type || !s->n_facts)
        return type;
    if (!is_tensor(type)) {
        const struct ox_type *inner = ox_shapes_resolve_type(s, type->inner);
        return inner == type->inner ? type : nested(s, type->kind, type->elem, inner);
    }
    const struct ox_type *made = NULL;
    for (unsigned i = 0; i < type->rank; i++) {
        const struct ox_expr *dim = ox_shapes_resolve(s, type->dims[i]);
        if (dim == type->dims[i])
            continue;
        if (!made)
            made = ox_shapes_tensor(s, type->kind, type->elem, true, type->rank,
                                    (const struct ox_expr *const *)type->dims);
        if (made)
            made->dims[i] = dim;
    }
    return made ? made : type;
}

/* ---- Types in schemas ------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum ox_dtype dtype;
} element_names[] = {
    {"bfloat16", OX_BFLOAT16},
    {"bool", OX_BOOL},
    {"complex128", OX_COMPLEX128},
    {"complex64", OX_COMPLEX64},
    {"double", OX_FLOAT64},
    {"float", OX_FLOAT32},
    {"float16", OX_FLOAT16},
    {"float4e2m1", OX_FLOAT4E2M1},
    {"float6e2m3", OX_FLOAT6E2M3},
    {"float6e3m2", OX_FLOAT6E3M2},
    {"float8e4m3fn", OX_FLOAT8E4M3FN},
    {"float8e4m3fnuz", OX_FLOAT8E4M3FNUZ},
    {"float8e5m2", OX_FLOAT8E5M2},
    {"float8e5m2fnuz", OX_FLOAT8E5M2FNUZ},
    {"float8e8m0", OX_FLOAT8E8M0},
    {"int16", OX_INT16},
    {"int2", OX_INT2},
    {"int32", OX_INT32},
    {"int4", OX_INT4},
    {"int64", OX_INT64},
    {"int8", OX_INT8},
    {"string", OX_STRING},
    {"uint16", OX_UINT16},
    {"uint2", OX_UINT2},
    {"uint32", OX_UINT32},
    {"uint4", OX_UINT4},
    {"uint64", OX_UINT64},
    {"uint8", OX_UINT8},
};

/* Reads an element's name up to `end`. */
static enum ox_dtype element_type(const char *name, const char *end)
{
    for (size_t i = 0; i < OX_COUNT(element_names); i++) {
        size_t n = strlen(element_names[i].name);
        if (n == (size_t)(end - name) && memcmp(name, element_names[i].name, n) == 0)
            return element_names[i].dtype;
    }
    return OX_UNDEFINED;
}

static bool skip(const char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* One type, up to its closing parenthesis; schema types are nested three deep at most. */
static const struct ox_type *parse_type(struct ox_shapes *s, const char **at, int depth)
{
    enum ox_type_kind kind = OX_TYPE_UNKNOWN;
    if (depth > 4)
        return NULL;
    if (skip(at, "tensor("))
        kind = OX_TYPE_TENSOR;
    else if (skip(at, "sparse_tensor("))
        kind = OX_TYPE_SPARSE;
    else if (skip(at, "seq("))
        kind = OX_TYPE_SEQUENCE;
    else if (skip(at, "optional("))
        kind = OX_TYPE_OPTIONAL;
    else if (skip(at, "map("))
        kind = OX_TYPE_MAP;
    const char *end = *at;
    while (*end && *end != ',' && *end != ')')
        end++;
    enum ox_dtype elem = OX_UNDEFINED;
    if (kind != OX_TYPE_SEQUENCE && kind != OX_TYPE_OPTIONAL) {
        elem = element_type(*at, end);
        *at = *end ? end + 1 : end;
        while (**at == ' ')
            ++*at;
        if (elem == OX_UNDEFINED)
            return NULL;
    }
    if (kind == OX_TYPE_TENSOR || kind == OX_TYPE_SPARSE)
        return ox_shapes_tensor(s, kind, elem, false, 0, NULL);
    if (kind == OX_TYPE_UNKNOWN) /* map(string, float): a bare element stands for a tensor of it */
        return depth ? ox_shapes_tensor(s, OX_TYPE_TENSOR, elem, false, 0, NULL) : NULL;
    const struct ox_type *inner = parse_type(s, at, depth + 1);
    if (kind != OX_TYPE_MAP)
        skip(at, ")");
    return inner ? nested(s, kind, elem, inner) : NULL;
}

/* "tensor(int64)", "seq(tensor(float))", ...: the type without shape; NULL when it is not understood. */
static const struct ox_type *type_of_text(struct ox_shapes *s, const char *text)
{
    return parse_type(s, &text, 0);
}

/* The type that a constraint of the schema has here, by the inputs. */
static const struct ox_type *bound_type(struct ox_infer *c, int constraint)
{
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        const struct ox_schema_param *param =
            ox_param_at(c->schema->inputs, c->schema->n_inputs, i);
        if (!param || param->constraint != constraint ||
            (param->option == OX_PARAM_VARIADIC && !param->homogeneous))
            continue;
        const struct ox_type *type = ox_infer_type(c, i);
        if (type && (!is_tensor(type) || type->elem))
            return ox_shapes_forget(c->s, type);
    }
    const char *const *types;
    if (ox_type_set(c->schema->constraints[constraint].allowed, &types) == 1)
        return type_of_text(c->s, types[0]);
    return NULL;
}

/* How ox_type_set_has() names the kind of a type, and its element type; 0 where it has no name for it. */
static char kind_letter(const struct ox_type *type, enum ox_dtype *elem)
{
    const struct ox_type *inner = type->inner;
    if (type->kind == OX_TYPE_TENSOR || type->kind == OX_TYPE_SPARSE) {
        *elem = type->elem;
        return type->kind == OX_TYPE_TENSOR ? 't' : 'p';
    }
    bool optional = type->kind == OX_TYPE_OPTIONAL;
    if (!inner || (type->kind != OX_TYPE_SEQUENCE && !optional))
        return 0;
    if (inner->kind == OX_TYPE_TENSOR) {
        *elem = inner->elem;
        return optional ? 'o' : 's';
    }
    if (!optional || inner->kind != OX_TYPE_SEQUENCE || !inner->inner ||
        inner->inner->kind != OX_TYPE_TENSOR)
        return 0;
    *elem = inner->inner->elem;
    return 'q';
}

/* The standard does not contradict itself; our signatures of com.microsoft are wider or narrower than the runtime's: they are what
 * we run by, and no finding about a model. */
static bool is_judged(const struct ox_infer *c)
{
    return c->schema && c->node->graph->model == c->s->model &&
           strcmp(c->schema->domain, "com.microsoft") != 0;
}

static void report_type(struct ox_infer *c, const char *side, size_t i, const struct ox_type *type,
                        const char *problem)
{
    if (!is_judged(c))
        return;
    const struct ox_value *value = *side == 'i' ? c->node->inputs[i] : c->node->outputs[i];
    struct ox_strbuf text = {0};
    char message[OX_ERROR_BYTES];
    ox_type_print(&text, type, false);
    snprintf(message, sizeof message, "%s %zu ('%.200s') is %.200s, %.300s", side, i, value->name,
             text.data ? text.data : "?", problem);
    struct ox_place place = {.graph = c->node->graph, .node = c->node, .tensor = value->name};
    ox_shapes_finding(c->s, OX_F_TYPE_CONFLICT, &place, message);
    ox_strbuf_release(&text);
}

static bool an_input_has(const struct ox_infer *c, int constraint)
{
    for (size_t i = 0; i < c->schema->n_inputs && i < c->node->n_inputs; i++) {
        if (c->node->inputs[i] && c->schema->inputs[i].constraint == constraint)
            return true;
    }
    return false;
}

bool ox_shapes_signature_tells(const struct ox_infer *c, const struct ox_value *value)
{
    size_t i = 0;
    while (i < c->node->n_outputs && c->node->outputs[i] != value)
        i++;
    const struct ox_schema_param *param =
        is_judged(c) ? ox_param_at(c->schema->outputs, c->schema->n_outputs, i) : NULL;
    return param && (param->constraint < 0 || an_input_has(c, param->constraint));
}

void ox_shapes_check_made(struct ox_infer *c, size_t i)
{
    enum ox_dtype elem = OX_UNDEFINED;
    const struct ox_schema_param *param =
        is_judged(c) ? ox_param_at(c->schema->outputs, c->schema->n_outputs, i) : NULL;
    const struct ox_type *type = param ? c->outs[i].type : NULL;
    char letter = type ? kind_letter(type, &elem) : 0;
    if (!letter || elem == OX_UNDEFINED || ox_param_takes(param, letter, elem) ||
        an_input_has(c, param->constraint))
        return;
    char problem[200];
    snprintf(problem, sizeof problem, "which %.100s does not make at opset %lld", c->node->op_type,
             (long long)c->opset);
    report_type(c, "output", i, type, problem);
}

/* Inputs against the types that the operator takes, and against each other where they must be of one type. */
static void check_inputs(struct ox_infer *c)
{
    enum { MOST_CONSTRAINTS = 32 };
    enum ox_dtype bound[MOST_CONSTRAINTS] = {OX_UNDEFINED}, elem = OX_UNDEFINED;
    char letters[MOST_CONSTRAINTS] = {0};
    for (size_t i = 0; i < c->node->n_inputs; i++) {
        const struct ox_schema_param *param =
            ox_param_at(c->schema->inputs, c->schema->n_inputs, i);
        if (param && param->option == OX_PARAM_VARIADIC && !c->node->inputs[i])
            ox_infer_conflict(c, "input %zu is left out of the list '%.100s'", i, param->name);
        const struct ox_type *type = param ? ox_infer_type(c, i) : NULL;
        char letter = type ? kind_letter(type, &elem) : 0;
        if (!letter || elem == OX_UNDEFINED)
            continue;
        if (!ox_param_takes(param, letter, elem)) {
            if (letter != 'p' || !ox_param_takes(param, 't', elem)) /* runs make those dense */
                ox_shapes_clash(c, OX_CLASH_INPUTS);
            char problem[200];
            snprintf(problem, sizeof problem, "which %.100s does not take at opset %lld",
                     c->node->op_type, (long long)c->opset);
            report_type(c, "input", i, type, problem);
            continue;
        }
        int k = param->constraint;
        if (k < 0 || k >= MOST_CONSTRAINTS ||
            (param->option == OX_PARAM_VARIADIC && !param->homogeneous))
            continue;
        if (letters[k] && (letters[k] != letter || bound[k] != elem)) {
            if (bound[k] != elem)
                ox_shapes_clash(c, OX_CLASH_INPUTS);
            char problem[200];
            snprintf(problem, sizeof problem, "others of type %.40s are %s", param->type,
                     ox_dtype_name(bound[k]));
            report_type(c, "input", i, type, problem);
        }
        letters[k] = letter;
        bound[k] = elem;
    }
}

void ox_shapes_generic(struct ox_infer *c)
{
    if (!c->schema)
        return;
    if (c->node->graph->model == c->s->model)
        check_inputs(c);
    for (size_t i = 0; i < c->node->n_outputs; i++) {
        const struct ox_schema_param *param =
            ox_param_at(c->schema->outputs, c->schema->n_outputs, i);
        if (!param || (param->option == OX_PARAM_VARIADIC && !param->homogeneous))
            continue;
        c->outs[i].type = param->constraint >= 0 ? bound_type(c, param->constraint)
                                                 : type_of_text(c->s, param->type);
    }
}
