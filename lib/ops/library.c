/* Kernels of custom operators from shared objects (onnxtool_op.h). */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ops/custom.h"
#include "ops/library.h"

/* ---- Loading ---------------------------------------------------------------------------------------------------- */

/* One row as the registry knows it. */
struct library_row {
    struct ox_op op; /* first: r->op leads here */
    const struct onnxtool_op_v1 *kernel;
    const struct ox_library *library;
};

struct ox_library {
    void *handle;
    char *path;
    enum ox_library_mode mode;
    struct library_row *rows;
    size_t n_rows;
    struct ox_library *next;
};

static void release_one(struct ox_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    free(library->path);
    free(library->rows);
    free(library);
}

static void release_all(struct ox_library *library)
{
    while (library) {
        struct ox_library *next = library->next;
        release_one(library);
        library = next;
    }
}

static enum ox_status run_row(struct ox_run *r, struct ox_error *err);

static enum ox_status take_rows(struct ox_library *library, struct ox_error *err)
{
    enum { MOST_ROWS = 100000 };
    size_t n = 0;
    const struct onnxtool_op_v1 *(*entry)(size_t *) = NULL;
    void *symbol = dlsym(library->handle, "onnxtool_ops_v1");
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from data to functions */
    if (!entry)
        return ox_fail(err, OX_INPUT,
                       "%s: it does not export onnxtool_ops_v1() (see onnxtool_op.h)",
                       library->path);
    const struct onnxtool_op_v1 *kernel = entry(&n);
    if (!kernel || n == 0 || n > MOST_ROWS)
        return ox_fail(err, OX_INPUT, "%s: onnxtool_ops_v1() returns no operators", library->path);
    library->rows = calloc(n, sizeof *library->rows);
    if (!library->rows)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", library->path);
    for (size_t i = 0; i < n; i++) {
        if (kernel->bytes < sizeof *kernel || !kernel->domain || !kernel->name || !kernel->run ||
            kernel->since < 1 || kernel->since > INT32_MAX)
            return ox_fail(err, OX_INPUT,
                           "%s: operator %zu lacks a domain, a name, a version or a kernel",
                           library->path, i);
        library->rows[i] = (struct library_row){
            .op = {.domain = kernel->domain,
                   .name = kernel->name,
                   .since = (int)kernel->since,
                   .flags = OX_OP_HALF | OX_OP_RANDOM, /* what it does is not known here */
                   .infer = ox_infer_custom,
                   .run = run_row},
            .kernel = kernel,
            .library = library};
        /* A later version's rows may be longer. */
        kernel =
            (const struct onnxtool_op_v1 *)(const void *)((const char *)kernel + kernel->bytes);
    }
    library->n_rows = n;
    return OX_OK;
}

enum ox_status ox_env_add_library(struct ox_env *env, const char *path, enum ox_library_mode mode,
                                  struct ox_error *err)
{
    struct ox_operators *operators = ox_operators_of(env);
    struct ox_library *library = operators ? calloc(1, sizeof *library) : NULL;
    if (!library)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    /* A bare name would be looked for in the system's folders. */
    size_t bytes = strlen(path) + sizeof "./";
    enum ox_status status = OX_OK;
    library->path = malloc(bytes);
    library->mode = mode;
    if (!library->path) {
        status = ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
        goto cleanup;
    }
    snprintf(library->path, bytes, "%s%s", strchr(path, '/') ? "" : "./", path);
    library->handle = dlopen(library->path, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        const char *why = dlerror();
        status = ox_fail(err, OX_INPUT, "%s: it cannot be loaded: %s", path, why ? why : "");
        goto cleanup;
    }
    OX_TRY_CLEANUP(take_rows(library, err));
    library->next = operators->libraries;
    operators->libraries = library;
    operators->libraries_release = release_all;
    return OX_OK;
cleanup:
    release_one(library);
    return status;
}

const struct ox_op *ox_library_find(const struct ox_env *env, const char *domain, const char *name,
                                    int64_t opset)
{
    const struct ox_op *best = NULL;
    const struct ox_library *library = env && env->operators ? env->operators->libraries : NULL;
    for (; library; library = library->next)
        for (size_t i = 0; i < library->n_rows; i++) {
            const struct ox_op *op = &library->rows[i].op;
            if (op->since <= opset && (!best || op->since > best->since) &&
                strcmp(op->name, name) == 0 && strcmp(op->domain, domain) == 0)
                best = op;
        }
    return best;
}

/* ---- What kernels ask ------------------------------------------------------------------------------------------- */

static const char *host_node_name(const struct onnxtool_call_v1 *call)
{
    return call->r->node->name;
}

static int64_t host_version(const struct onnxtool_call_v1 *call)
{
    return call->r->opset;
}

static uint32_t host_n_inputs(const struct onnxtool_call_v1 *call)
{
    return (uint32_t)call->r->n_in;
}

static uint32_t host_n_outputs(const struct onnxtool_call_v1 *call)
{
    return (uint32_t)call->r->n_out;
}

static int host_input(const struct onnxtool_call_v1 *call, uint32_t i,
                      struct onnxtool_tensor_v1 *to)
{
    const struct ox_tensor *tensor = ox_run_in(call->r, i);
    if (!tensor)
        return 0;
    *to = (struct onnxtool_tensor_v1){.type = (int32_t)tensor->dtype,
                                      .rank = tensor->rank,
                                      .dims = tensor->dims,
                                      .count = tensor->n,
                                      .data = tensor->data};
    return 1;
}

static int host_wants(const struct onnxtool_call_v1 *call, uint32_t i)
{
    return ox_run_wants(call->r, i);
}

static void *host_output(struct onnxtool_call_v1 *call, uint32_t i, int32_t type, uint32_t rank,
                         const int64_t *dims)
{
    static char nothing[64]; /* of no elements */
    struct ox_tensor *tensor;
    if (call->status != OX_OK)
        return NULL;
    if (i >= call->r->n_out || call->r->out[i])
        call->status =
            ox_run_fail(call->r, &call->err, OX_INPUT, "the library makes output %u, which is %s",
                        i, i < call->r->n_out ? "there already" : "none of this node's");
    else if (type <= OX_UNDEFINED || type >= OX_N_DTYPES || type == OX_STRING)
        call->status = ox_run_fail(call->r, &call->err, OX_INPUT,
                                   "the library makes output %u of element type %d, which it "
                                   "cannot",
                                   i, (int)type);
    else
        call->status = ox_run_out(call->r, i, (enum ox_dtype)type, rank, dims, &tensor, &call->err);
    if (call->status != OX_OK)
        return NULL;
    return tensor->data ? tensor->data : nothing;
}

static int64_t host_attr_int(const struct onnxtool_call_v1 *call, const char *name,
                             int64_t fallback)
{
    return ox_run_int(call->r, name, fallback);
}

static float host_attr_float(const struct onnxtool_call_v1 *call, const char *name, float fallback)
{
    return ox_run_float(call->r, name, fallback);
}

static const char *host_attr_string(const struct onnxtool_call_v1 *call, const char *name,
                                    const char *fallback)
{
    const char *text = ox_run_string(call->r, name);
    return text ? text : fallback;
}

static const int64_t *host_attr_ints(const struct onnxtool_call_v1 *call, const char *name,
                                     size_t *n)
{
    return ox_run_ints(call->r, name, n);
}

static const float *host_attr_floats(const struct onnxtool_call_v1 *call, const char *name,
                                     size_t *n)
{
    return ox_run_floats(call->r, name, n);
}

static int host_fail(struct onnxtool_call_v1 *call, const char *message)
{
    if (call->status == OX_OK)
        call->status = ox_run_fail(call->r, &call->err, OX_INPUT, "%s says: %s", call->path,
                                   message ? message : "it failed");
    return 1;
}

static const struct onnxtool_host_v1 host = {.bytes = sizeof host,
                                             .node_name = host_node_name,
                                             .version = host_version,
                                             .n_inputs = host_n_inputs,
                                             .n_outputs = host_n_outputs,
                                             .input = host_input,
                                             .wants = host_wants,
                                             .output = host_output,
                                             .attr_int = host_attr_int,
                                             .attr_float = host_attr_float,
                                             .attr_string = host_attr_string,
                                             .attr_ints = host_attr_ints,
                                             .attr_floats = host_attr_floats,
                                             .fail = host_fail};

/* ---- A call ----------------------------------------------------------------------------------------------------- */

void ox_library_call(struct onnxtool_call_v1 *call)
{
    int answer = call->kernel->run(&host, call);
    if (answer != 0 && call->status == OX_OK)
        call->status = ox_run_fail(call->r, &call->err, OX_INPUT, "%s failed with %d and no reason",
                                   call->path, answer);
}

static enum ox_status check_inputs(const struct ox_run *r, struct ox_error *err)
{
    if (r->oracle)
        return ox_run_fail(r, err, OX_UNSUPPORTED,
                           "the oracle is double precision, which a library's kernel has not");
    for (size_t i = 0; i < r->n_in; i++) {
        const struct ox_tensor *tensor = ox_run_in(r, i);
        if (r->in[i] && (!tensor || tensor->dtype == OX_STRING))
            return ox_run_fail(r, err, OX_UNSUPPORTED,
                               "input %zu is no tensor of numbers, which alone libraries take", i);
    }
    return OX_OK;
}

/* What the kernel made, before others rely on it. */
static enum ox_status check_outputs(struct ox_run *r, const char *path, struct ox_error *err)
{
    for (size_t i = 0; i < r->n_out; i++) {
        struct ox_tensor *tensor = r->out[i] ? r->out[i]->tensor : NULL;
        if (!tensor && ox_run_wants(r, i))
            return ox_run_fail(r, err, OX_INPUT, "%s did not make output %zu", path, i);
        if (!tensor)
            continue;
        ox_tensor_normalize(tensor->dtype, tensor->data, tensor->n);
        const struct ox_schema_param *param =
            r->schema && i < r->schema->n_outputs ? &r->schema->outputs[i] : NULL;
        if (param && !ox_param_takes(param, 't', tensor->dtype))
            return ox_run_fail(r, err, OX_INPUT,
                               "%s made output %zu ('%s') of %s, which the schema does not allow",
                               path, i, param->name, ox_dtype_name(tensor->dtype));
    }
    return OX_OK;
}

static enum ox_status run_row(struct ox_run *r, struct ox_error *err)
{
    OX_TRY(check_inputs(r, err));
    r->asked = NULL; /* a library's names may lie anywhere */
    const struct library_row *row = (const struct library_row *)(const void *)r->op;
    struct onnxtool_call_v1 call = {
        .r = r, .kernel = row->kernel, .path = row->library->path, .status = OX_OK};
    if (row->library->mode == OX_LIBRARY_APART)
        ox_library_call_apart(&call);
    else
        ox_library_call(&call);
    if (call.status != OX_OK)
        return ox_fail(err, call.status, "%s", call.err.message);
    return check_outputs(r, call.path, err);
}
