/* Types of actual inputs, held against the schema. */
#include <limits.h>
#include <string.h>

#include "runtime/runtime.h"
#include "schema/param.h"

static char kind_letter(const struct ox_datum *datum)
{
    bool has_item = datum->n_items > 0;
    switch (datum->kind) {
    case OX_DATUM_TENSOR:
        return 't';
    case OX_DATUM_SPARSE:
        return 'p';
    case OX_DATUM_SEQUENCE:
        return !has_item || datum->items[0]->kind == OX_DATUM_TENSOR ? 's' : 'm';
    case OX_DATUM_OPTIONAL:
        return has_item && datum->items[0]->kind == OX_DATUM_SEQUENCE ? 'q' : 'o';
    case OX_DATUM_MAP:
        break;
    }
    return 'm';
}

static const char *kind_name(char kind)
{
    switch (kind) {
    case 't':
        return "a tensor";
    case 'p':
        return "a sparse tensor";
    case 's':
        return "a sequence of tensors";
    case 'q':
        return "an optional sequence";
    case 'o':
        return "an optional";
    default:
        return "a map or a sequence of maps";
    }
}

/* In the oracle every float is a double: whatever float the set allows will do. */
static bool allows(const struct ox_schema_param *param, char kind, enum ox_dtype elem, bool oracle)
{
    if (kind == 'm') {
        const char *const *types;
        size_t n = ox_param_types(param, &types);
        for (size_t i = 0; i < n; i++)
            if (strstr(types[i], "map("))
                return true;
        return false;
    }
    if (elem == OX_UNDEFINED) { /* an empty sequence or optional of no type */
        for (int any = 1; any < OX_N_DTYPES; any++)
            if (ox_param_takes(param, kind, (enum ox_dtype)any))
                return true;
        return kind == 'o' && allows(param, 'q', OX_FLOAT32, oracle);
    }
    if (ox_param_takes(param, kind, elem))
        return true;
    return oracle && elem == OX_FLOAT64 &&
           (ox_param_takes(param, kind, OX_FLOAT32) || ox_param_takes(param, kind, OX_FLOAT16) ||
            ox_param_takes(param, kind, OX_BFLOAT16));
}

bool ox_step_takes_sparse(const struct ox_run *run, const struct ox_schema *schema, size_t i,
                          const struct ox_datum *datum)
{
    const struct ox_schema_param *param =
        schema ? ox_param_at(schema->inputs, schema->n_inputs, i) : NULL;
    return !schema || (param && allows(param, 'p', ox_datum_dtype(datum), run->oracle));
}

static enum ox_status fail_type(const struct ox_run *run, size_t i,
                                const struct ox_schema_param *param, char kind, enum ox_dtype elem,
                                struct ox_error *err)
{
    const char *const *types;
    size_t n = ox_param_types(param, &types);
    char list[256];
    size_t at = 0;
    list[0] = 0;
    for (size_t k = 0; k < n && at < sizeof list - 64; k++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", k ? ", " : "", types[k]);
    return ox_run_fail(run, err, OX_INPUT, "input %zu ('%s') is %s of %s; allowed: %s%s", i,
                       param->name, kind_name(kind), ox_dtype_name(elem), list,
                       at >= sizeof list - 64 ? ", ..." : "");
}

static uint16_t type_code(const struct ox_datum *datum, char *kind, enum ox_dtype *elem)
{
    *kind = kind_letter(datum);
    *elem = *kind == 'm' ? OX_UNDEFINED : ox_datum_dtype(datum);
    return (uint16_t)((unsigned)*kind << 8 | (unsigned)*elem);
}

/* Inputs bound to one type variable must agree. */
static enum ox_status check_bound(const struct ox_run *run, size_t i,
                                  const struct ox_schema_param *param, enum ox_dtype elem,
                                  struct ox_error *err)
{
    const struct ox_schema *schema = run->schema;
    for (size_t k = 0; k < i; k++) {
        const struct ox_schema_param *other = ox_param_at(schema->inputs, schema->n_inputs, k);
        if (!run->in[k] || !other || other->constraint != param->constraint)
            continue;
        char kind;
        enum ox_dtype other_elem;
        type_code(run->in[k], &kind, &other_elem);
        if (kind == 'm' || other_elem == OX_UNDEFINED)
            continue;
        if (other_elem == elem)
            return OX_OK; /* those before it agree with it */
        return ox_run_fail(run, err, OX_INPUT,
                           "input %zu ('%s') is %s, but input %zu ('%s') is %s; both are '%s'", i,
                           param->name, ox_dtype_name(elem), k, other->name,
                           ox_dtype_name(other_elem), param->type);
    }
    return OX_OK;
}

static bool is_absorbed(const struct ox_run *run, size_t i)
{
    return run->prepared && i < 64 && run->prepared->absorbed >> i & 1;
}

static enum ox_status check_kind_alone(const struct ox_run *run, struct ox_error *err)
{
    bool any = run->op && run->op->flags & OX_OP_ANY_KIND;
    for (size_t i = 0; i < run->n_in; i++)
        if (run->in[i] && run->in[i]->kind != OX_DATUM_TENSOR && !any)
            return ox_run_fail(run, err, OX_INPUT, "input %zu is %s, not a tensor", i,
                               kind_name(kind_letter(run->in[i])));
    return OX_OK;
}

enum ox_status ox_step_check_types(const struct ox_run *run, struct ox_step *step,
                                   struct ox_error *err)
{
    const struct ox_schema *schema = step->schema;
    bool same = true;
    for (size_t i = 0; i < run->n_in; i++) {
        char kind;
        enum ox_dtype elem;
        uint16_t code = run->in[i] ? type_code(run->in[i], &kind, &elem) : UINT16_MAX;
        same &= step->checked[i] == code;
        step->checked[i] = code;
    }
    if (same)
        return OX_OK;
    memset(step->checked, 0, run->n_in * sizeof *step->checked); /* until all was found right */
    if (!schema)
        return check_kind_alone(run, err);
    for (size_t i = 0; i < run->n_in; i++) {
        const struct ox_schema_param *param = ox_param_at(schema->inputs, schema->n_inputs, i);
        if (!run->in[i] || !param) {
            if (ox_param_is_required(param) && !is_absorbed(run, i))
                return ox_run_fail(run, err, OX_INPUT, "input %zu ('%s') was not made", i,
                                   param->name);
            continue;
        }
        char kind;
        enum ox_dtype elem;
        type_code(run->in[i], &kind, &elem);
        if (!allows(param, kind, elem, run->oracle))
            return fail_type(run, i, param, kind, elem, err);
        bool bound =
            param->constraint >= 0 && (param->option != OX_PARAM_VARIADIC || param->homogeneous);
        if (bound && kind != 'm' && elem != OX_UNDEFINED)
            OX_TRY(check_bound(run, i, param, elem, err));
    }
    for (size_t i = 0; i < run->n_in; i++) {
        char kind;
        enum ox_dtype elem;
        step->checked[i] = run->in[i] ? type_code(run->in[i], &kind, &elem) : UINT16_MAX;
    }
    return OX_OK;
}
