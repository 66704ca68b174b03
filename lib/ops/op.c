#include "ops/op.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "common/pages.h"
#include "ops/attr_find.h"

#define OX_FAMILY(name) extern const struct ox_op ox_ops_##name[];
#include "ops/families.def"
#undef OX_FAMILY

static const struct ox_op *const families[] = {
#define OX_FAMILY(name) ox_ops_##name,
#include "ops/families.def"
#undef OX_FAMILY
    NULL};

const struct ox_op *ox_op_find(const char *domain, const char *name, int64_t opset)
{
    const struct ox_op *best = NULL;
    for (size_t i = 0; families[i]; i++)
        for (const struct ox_op *op = families[i]; op->name; op++)
            if (op->since <= opset && (!best || op->since > best->since) &&
                strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0)
                best = op;
    return best;
}

/* ---- Inputs and outputs ----------------------------------------------------------------------------------------- */

const struct ox_tensor *ox_run_in(const struct ox_run *r, size_t i)
{
    return i < r->n_in && r->in[i] ? r->in[i]->tensor : NULL;
}

bool ox_run_has(const struct ox_run *r, size_t i)
{
    return i < r->n_in && r->in[i];
}

bool ox_run_wants(const struct ox_run *r, size_t i)
{
    return i < r->n_out && r->node->outputs[i];
}

/* Puts the tensor in place as output i and gives up the caller's reference, also on failure. */
static enum ox_status put_tensor(struct ox_run *r, size_t i, struct ox_tensor *tensor,
                                 struct ox_error *err)
{
    if (i >= r->n_out) {
        ox_tensor_release(tensor);
        return ox_run_fail(r, err, OX_INTERNAL, "output %zu is not one of its %zu", i, r->n_out);
    }
    struct ox_datum *datum;
    enum ox_status status = ox_datum_of_tensor(&datum, tensor, err);
    ox_tensor_release(tensor);
    if (status != OX_OK)
        return status;
    ox_datum_release(r->out[i]);
    r->out[i] = datum;
    return OX_OK;
}

enum ox_status ox_run_out(struct ox_run *r, size_t i, enum ox_dtype dtype, unsigned rank,
                          const int64_t *dims, struct ox_tensor **out, struct ox_error *err)
{
    bool keep = r->op && r->op->flags & OX_OP_KEEP_FLOAT;
    if (r->oracle && !keep && (dtype == OX_FLOAT16 || dtype == OX_BFLOAT16 || dtype == OX_FLOAT32))
        dtype = OX_FLOAT64;
    struct ox_tensor *tensor;
    enum ox_status status =
        r->alloc ? r->alloc(r, dtype, rank, dims, &tensor, err)
                 : ox_tensor_new(&tensor, ox_env_budget(r->env), dtype, rank, dims, err);
    if (status == OX_OK)
        status = put_tensor(r, i, tensor, err);
    if (status == OX_OK)
        *out = tensor;
    return status;
}

enum ox_status ox_run_out_view(struct ox_run *r, size_t i, const struct ox_tensor *of,
                               unsigned rank, const int64_t *dims, struct ox_error *err)
{
    struct ox_tensor *view;
    OX_TRY(ox_tensor_view(&view, of, rank, dims, err));
    return put_tensor(r, i, view, err);
}

enum ox_status ox_run_out_reuse(struct ox_run *r, size_t i, size_t k, enum ox_dtype dtype,
                                unsigned rank, const int64_t *dims, struct ox_tensor **out,
                                struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, k);
    size_t n;
    if (!in || in->dtype != dtype || r->oracle || !ox_dims_count(rank, dims, &n) || n != in->n ||
        !r->is_last_use || !r->is_last_use(r, k))
        return ox_run_out(r, i, dtype, rank, dims, out, err);
    struct ox_tensor *view;
    OX_TRY(ox_tensor_view(&view, in, rank, dims, err));
    OX_TRY(put_tensor(r, i, view, err));
    *out = view;
    return OX_OK;
}

enum ox_status ox_run_out_tensor(struct ox_run *r, size_t i, const struct ox_tensor *tensor,
                                 struct ox_error *err)
{
    return put_tensor(r, i, ox_tensor_ref(tensor), err);
}

enum ox_status ox_run_out_datum(struct ox_run *r, size_t i, const struct ox_datum *datum,
                                struct ox_error *err)
{
    if (i >= r->n_out)
        return ox_run_fail(r, err, OX_INTERNAL, "output %zu is not one of its %zu", i, r->n_out);
    ox_datum_release(r->out[i]);
    r->out[i] = ox_datum_ref(datum);
    return OX_OK;
}

void *ox_run_scratch(struct ox_run *r, size_t count, size_t size, struct ox_error *err)
{
    void *memory = ox_arena_array(r->scratch, count, size);
    if (!memory)
        ox_run_fail(r, err, OX_NO_MEMORY, "out of memory (%zu x %zu bytes of scratch)", count,
                    size);
    return memory;
}

void *ox_run_work(struct ox_run *r, size_t count, size_t size, struct ox_error *err)
{
    size_t bytes, i = 0;
    while (i < OX_COUNT(r->work) && r->work[i])
        i++;
    bool fits = !OX_MUL_OVERFLOWS(count, size, &bytes) && bytes <= INT64_MAX / 2;
    if (!fits || i == OX_COUNT(r->work)) {
        ox_run_fail(r, err, fits ? OX_INTERNAL : OX_LIMIT, "%zu x %zu bytes of work", count, size);
        return NULL;
    }
    int64_t dim = (int64_t)bytes + !bytes;
    enum ox_status status =
        r->alloc ? r->alloc(r, OX_UINT8, 1, &dim, &r->work[i], err)
                 : ox_tensor_new(&r->work[i], ox_env_budget(r->env), OX_UINT8, 1, &dim, err);
    return status == OX_OK ? r->work[i]->data : NULL;
}

void ox_run_release_work(struct ox_run *r)
{
    for (size_t i = 0; i < OX_COUNT(r->work); i++) {
        ox_tensor_release(r->work[i]);
        r->work[i] = NULL;
    }
}

/* ---- What prepare() leaves --------------------------------------------------------------------------------------- */

enum { KEEP_ALIGN = 64 };

void *ox_run_keep(struct ox_run *r, size_t bytes, struct ox_error *err)
{
    struct ox_prepared *prepared = r->prepared;
    size_t rounded;
    void *state = NULL;
    if (r->once && r->alloc && !prepared->state && bytes < INT64_MAX) {
        const int64_t dim = (int64_t)bytes + !bytes;
        if (r->alloc(r, OX_UINT8, 1, &dim, &prepared->lent, err) != OX_OK)
            return NULL;
        prepared->bytes = (size_t)dim;
        return prepared->state = prepared->lent->data;
    }
    if (!prepared->state && !OX_ADD_OVERFLOWS(bytes, (size_t)KEEP_ALIGN, &rounded) &&
        ox_budget_take(ox_env_budget(r->env), rounded)) {
        state = ox_pages_new(rounded);
        if (!state)
            ox_budget_give(ox_env_budget(r->env), rounded);
    }
    if (!state) {
        ox_run_fail(r, err, OX_NO_MEMORY, "out of memory (%zu bytes of packed weights)", bytes);
        return NULL;
    }
    prepared->state = state;
    prepared->bytes = rounded;
    return state;
}

void ox_run_absorb(struct ox_run *r, size_t i)
{
    r->prepared->absorbed |= (uint64_t)1 << i;
}

void *ox_run_state(const struct ox_run *r)
{
    return r->prepared ? r->prepared->state : NULL;
}

void ox_prepared_release(struct ox_prepared *prepared, struct ox_budget *budget)
{
    if (!prepared->state)
        return;
    if (prepared->lent) {
        ox_tensor_release(prepared->lent);
    } else {
        ox_pages_release(prepared->state, prepared->bytes);
        ox_budget_give(budget, prepared->bytes);
    }
    *prepared = (struct ox_prepared){0};
}

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

void ox_run_where(const struct ox_run *r, struct ox_strbuf *out)
{
    struct ox_strbuf label, path;
    ox_strbuf_init(&label);
    ox_strbuf_init(&path);
    ox_node_label(&label, r->node);
    if (r->node->graph)
        ox_graph_path(&path, r->node->graph);
    size_t name_bytes = r->env ? (size_t)r->env->limits.name_bytes : 0;
    if (r->node->domain[0]) {
        ox_strbuf_name(out, r->node->domain, name_bytes);
        ox_strbuf_putc(out, '.');
    }
    ox_strbuf_name(out, r->node->op_type, name_bytes);
    ox_strbuf_puts(out, " '");
    if (label.data)
        ox_strbuf_name(out, label.data, name_bytes);
    ox_strbuf_putc(out, '\'');
    if (path.len) {
        ox_strbuf_puts(out, " in '");
        ox_strbuf_name(out, path.data, name_bytes);
        ox_strbuf_putc(out, '\'');
    }
    ox_strbuf_printf(out, " (opset %lld)", (long long)r->opset);
    ox_strbuf_release(&label);
    ox_strbuf_release(&path);
}

enum ox_status ox_run_fail(const struct ox_run *r, struct ox_error *err, enum ox_status status,
                           const char *format, ...)
{
    if (!err)
        return status;
    char message[OX_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct ox_strbuf where;
    ox_strbuf_init(&where);
    ox_run_where(r, &where);
    ox_strbuf_puts(&where, ": ");
    ox_strbuf_name(&where, message, 0); /* it may hold strings of the model's */
    ox_fail(err, status, "%s", where.failed ? "out of memory" : where.data);
    ox_strbuf_release(&where);
    return status;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

static struct ox_found_attr find_attr(const struct ox_run *r, const char *name)
{
    return ox_attr_find(r->node, r->schema, r->call, name);
}

const struct ox_attr *ox_run_attr(const struct ox_run *r, const char *name)
{
    return ox_attr_given(r->node, r->call, name).attr;
}

int64_t ox_run_int(const struct ox_run *r, const char *name, int64_t fallback)
{
    struct ox_found_attr found = find_attr(r, name);
    if (found.attr)
        return found.attr->type == OX_ATTR_INT ? found.attr->i : fallback;
    return found.standard && found.standard->default_kind == OX_DEFAULT_INT ? found.standard->i
                                                                            : fallback;
}

float ox_run_float(const struct ox_run *r, const char *name, float fallback)
{
    struct ox_found_attr found = find_attr(r, name);
    if (found.attr)
        return found.attr->type == OX_ATTR_FLOAT ? found.attr->f : fallback;
    return found.standard && found.standard->default_kind == OX_DEFAULT_FLOAT ? found.standard->f
                                                                              : fallback;
}

const char *ox_run_string(const struct ox_run *r, const char *name)
{
    struct ox_found_attr found = find_attr(r, name);
    if (found.attr)
        return found.attr->type == OX_ATTR_STRING ? found.attr->s.p : NULL;
    return found.standard && found.standard->default_kind == OX_DEFAULT_STRING ? found.standard->s
                                                                               : NULL;
}

const int64_t *ox_run_ints(const struct ox_run *r, const char *name, size_t *n)
{
    static const int64_t empty;
    struct ox_found_attr found = find_attr(r, name);
    const int64_t *ints = NULL;
    *n = 0;
    if (found.attr && found.attr->type == OX_ATTR_INTS) {
        ints = found.attr->ints;
        *n = found.attr->n;
    } else if (!found.attr && found.standard && found.standard->default_kind == OX_DEFAULT_INTS) {
        ints = found.standard->ints;
        *n = found.standard->n;
    } else {
        return NULL;
    }
    return ints ? ints : &empty;
}

const float *ox_run_floats(const struct ox_run *r, const char *name, size_t *n)
{
    static const float empty;
    struct ox_found_attr found = find_attr(r, name);
    const float *floats = NULL;
    *n = 0;
    if (found.attr && found.attr->type == OX_ATTR_FLOATS) {
        floats = found.attr->floats;
        *n = found.attr->n;
    } else if (!found.attr && found.standard && found.standard->default_kind == OX_DEFAULT_FLOATS) {
        floats = found.standard->floats;
        *n = found.standard->n;
    } else {
        return NULL;
    }
    return floats ? floats : &empty;
}

const struct ox_str *ox_run_strings(const struct ox_run *r, const char *name, size_t *n)
{
    static const struct ox_str empty;
    struct ox_found_attr found = find_attr(r, name);
    *n = 0;
    if (found.attr) {
        if (found.attr->type != OX_ATTR_STRINGS)
            return NULL;
        *n = found.attr->n;
        return found.attr->strings ? found.attr->strings : &empty;
    }
    if (!found.standard || found.standard->default_kind != OX_DEFAULT_STRINGS)
        return NULL;
    struct ox_str *strings = ox_arena_array(r->scratch, found.standard->n + 1, sizeof *strings);
    if (!strings)
        return NULL;
    for (size_t i = 0; i < found.standard->n; i++)
        strings[i] =
            (struct ox_str){found.standard->strings[i], strlen(found.standard->strings[i])};
    *n = found.standard->n;
    return strings;
}

const struct ox_graph *ox_run_graph(const struct ox_run *r, const char *name)
{
    const struct ox_attr *attr = ox_run_attr(r, name);
    return attr && attr->type == OX_ATTR_GRAPH && attr->n && attr->graphs ? attr->graphs[0] : NULL;
}

enum ox_status ox_run_tensor_attr(const struct ox_run *r, const char *name, struct ox_tensor **out,
                                  struct ox_error *err)
{
    const struct ox_attr *attr = ox_run_attr(r, name);
    if (!attr || attr->type != OX_ATTR_TENSOR || !attr->n || !attr->tensor) {
        *out = NULL;
        return OX_OK;
    }
    if (attr->tensor->place == OX_STORED_TENSOR) {
        *out = ox_tensor_ref(attr->tensor->tensor);
        return OX_OK;
    }
    enum ox_status status = ox_stored_load(r->node->graph->model, attr->tensor, out, err);
    return status == OX_OK
               ? status
               : ox_run_fail(r, err, status, "attribute '%s': %s", name, err ? err->message : "");
}

enum ox_status ox_run_axis(const struct ox_run *r, int64_t axis, unsigned rank, unsigned *out,
                           struct ox_error *err)
{
    int64_t n = rank;
    if (axis < -n || axis >= n)
        return ox_run_fail(r, err, OX_INPUT,
                           "axis %lld is outside [%lld, %lld] for a tensor of rank %u",
                           (long long)axis, (long long)-n, (long long)n - 1, rank);
    *out = (unsigned)(axis < 0 ? axis + n : axis);
    return OX_OK;
}
