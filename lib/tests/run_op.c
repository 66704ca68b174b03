#include "tests/run_op.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"

enum { MOST_INPUTS = 64, MOST_ATTRS = 32, MOST_RANK = 16 };

/* A model of one graph of one node, put together by hand. */
struct one_op {
    struct ox_env *env;
    struct ox_model model;
    struct ox_opset opset;
    struct ox_graph graph;
    struct ox_node node;
    struct ox_attr attrs[MOST_ATTRS];
    struct ox_value *inputs[MOST_INPUTS];
    struct ox_value *outputs[MOST_INPUTS];
    struct ox_value values[2 * MOST_INPUTS];
    struct ox_datum *in[MOST_INPUTS];
    size_t n_in;
    struct ox_datum *out[MOST_INPUTS];
    struct ox_tensor *kept[MOST_ATTRS];
    size_t n_kept;
    struct ox_arena arena;
    bool oracle;
    uint64_t seed;
    struct ox_error err;
};

static void *must(void *p)
{
    ck_assert_msg(p != NULL, "out of memory in a test");
    return p;
}

struct one_op *one_op_new(const char *domain, const char *op_type, int64_t opset)
{
    struct one_op *op = must(calloc(1, sizeof *op));
    op->env = must(ox_env_new());
    ox_arena_init(&op->arena, NULL);
    op->opset = (struct ox_opset){domain, opset};
    op->model.env = op->env;
    op->model.path = must(ox_arena_strdup(&op->arena, "test"));
    op->model.opsets = &op->opset;
    op->model.n_opsets = 1;
    op->model.graph = &op->graph;
    op->graph.model = &op->model;
    op->graph.name = "test";
    op->node = (struct ox_node){.name = "",
                                .op_type = op_type,
                                .domain = domain,
                                .overload = "",
                                .inputs = op->inputs,
                                .outputs = op->outputs,
                                .attrs = op->attrs,
                                .graph = &op->graph};
    return op;
}

void one_op_free(struct one_op *op)
{
    for (size_t i = 0; i < MOST_INPUTS; i++) {
        ox_datum_release(op->in[i]);
        ox_datum_release(op->out[i]);
    }
    for (size_t i = 0; i < op->n_kept; i++)
        ox_tensor_release(op->kept[i]);
    ox_arena_release(&op->arena);
    ox_env_release(op->env);
    free(op);
}

void one_op_set_oracle(struct one_op *op)
{
    op->oracle = true;
}

void one_op_set_seed(struct one_op *op, uint64_t seed)
{
    op->seed = seed;
}

struct ox_env *one_op_env(struct one_op *op)
{
    return op->env;
}

/* ---- Inputs ----------------------------------------------------------------------------------------------------- */

static unsigned parse_shape(const char *shape, int64_t *dims)
{
    unsigned rank = 0;
    while (*shape) {
        char *end;
        ck_assert_uint_lt(rank, MOST_RANK);
        dims[rank++] = strtoll(shape, &end, 10);
        ck_assert_msg(end != shape && (*end == 'x' || !*end), "bad shape '%s'", shape);
        shape = *end ? end + 1 : end;
    }
    return rank;
}

static struct ox_tensor *new_tensor(struct one_op *op, enum ox_dtype dtype, const char *shape)
{
    int64_t dims[MOST_RANK];
    unsigned rank = parse_shape(shape, dims);
    struct ox_tensor *tensor;
    enum ox_status status =
        ox_tensor_new(&tensor, ox_env_budget(op->env), dtype, rank, dims, &op->err);
    ck_assert_msg(status == OX_OK, "%s", op->err.message);
    return tensor;
}

struct ox_tensor *one_op_make(struct one_op *op, enum ox_dtype dtype, const char *shape,
                              const double *values, size_t n)
{
    struct ox_tensor *wide = new_tensor(op, OX_FLOAT64, shape);
    ck_assert_msg(wide->n == n, "shape '%s' has %zu elements, %zu are given", shape, wide->n, n);
    if (n)
        memcpy(wide->data, values, n * sizeof *values);
    if (dtype == OX_FLOAT64)
        return wide;
    struct ox_tensor *tensor;
    enum ox_status status =
        ox_tensor_convert(&tensor, ox_env_budget(op->env), wide, dtype, true, &op->err);
    ck_assert_msg(status == OX_OK, "%s", op->err.message);
    ox_tensor_release(wide);
    return tensor;
}

void one_op_in_datum(struct one_op *op, const struct ox_datum *datum)
{
    ck_assert_uint_lt(op->n_in, MOST_INPUTS);
    op->in[op->n_in++] = ox_datum_ref(datum);
}

static void add_tensor(struct one_op *op, struct ox_tensor *tensor)
{
    ck_assert_uint_lt(op->n_in, MOST_INPUTS);
    ck_assert_int_eq(ox_datum_of_tensor(&op->in[op->n_in++], tensor, &op->err), OX_OK);
    ox_tensor_release(tensor);
}

void one_op_in(struct one_op *op, enum ox_dtype dtype, const char *shape, const double *values,
               size_t n)
{
    add_tensor(op, one_op_make(op, dtype, shape, values, n));
}

void one_op_in_data(struct one_op *op, enum ox_dtype dtype, const char *shape, const void *data,
                    size_t bytes)
{
    struct ox_tensor *tensor = new_tensor(op, dtype, shape);
    ck_assert_uint_eq(tensor->n * ox_dtype_size(dtype), bytes);
    if (bytes)
        memcpy(tensor->data, data, bytes);
    add_tensor(op, tensor);
}

void one_op_in_strings(struct one_op *op, const char *shape, const char *const *strings, size_t n)
{
    struct ox_tensor *tensor = new_tensor(op, OX_STRING, shape);
    ck_assert_uint_eq(tensor->n, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(ox_tensor_set_string(tensor, i, strings[i], strlen(strings[i]), &op->err),
                         OX_OK);
    add_tensor(op, tensor);
}

void one_op_in_none(struct one_op *op)
{
    ck_assert_uint_lt(op->n_in, MOST_INPUTS);
    op->n_in++;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */

static struct ox_attr *add_attr(struct one_op *op, const char *name, enum ox_attr_type type,
                                size_t n)
{
    ck_assert_uint_lt(op->node.n_attrs, MOST_ATTRS);
    struct ox_attr *attr = &op->attrs[op->node.n_attrs++];
    *attr = (struct ox_attr){.name = name, .type = type, .n = n};
    return attr;
}

void one_op_int(struct one_op *op, const char *name, int64_t value)
{
    add_attr(op, name, OX_ATTR_INT, 1)->i = value;
}

void one_op_float(struct one_op *op, const char *name, float value)
{
    add_attr(op, name, OX_ATTR_FLOAT, 1)->f = value;
}

void one_op_string(struct one_op *op, const char *name, const char *value)
{
    add_attr(op, name, OX_ATTR_STRING, 1)->s = (struct ox_str){value, strlen(value)};
}

void one_op_ints(struct one_op *op, const char *name, const int64_t *values, size_t n)
{
    add_attr(op, name, OX_ATTR_INTS, n)->ints =
        must(ox_arena_copy(&op->arena, values, n * sizeof *values));
}

void one_op_floats(struct one_op *op, const char *name, const float *values, size_t n)
{
    add_attr(op, name, OX_ATTR_FLOATS, n)->floats =
        must(ox_arena_copy(&op->arena, values, n * sizeof *values));
}

void one_op_strings(struct one_op *op, const char *name, const char *const *values, size_t n)
{
    struct ox_str *strings = must(ox_arena_array(&op->arena, n, sizeof *strings));
    for (size_t i = 0; i < n; i++)
        strings[i] = (struct ox_str){values[i], strlen(values[i])};
    add_attr(op, name, OX_ATTR_STRINGS, n)->strings = strings;
}

void one_op_tensor(struct one_op *op, const char *name, const struct ox_tensor *tensor)
{
    ck_assert_uint_lt(op->n_kept, MOST_ATTRS);
    op->kept[op->n_kept++] = ox_tensor_ref(tensor);
    struct ox_stored *stored = must(ox_arena_alloc(&op->arena, sizeof *stored));
    *stored = (struct ox_stored){.name = name,
                                 .dtype = tensor->dtype,
                                 .data_type = (int32_t)tensor->dtype,
                                 .rank = tensor->rank,
                                 .dims = tensor->dims,
                                 .place = OX_STORED_TENSOR,
                                 .tensor = op->kept[op->n_kept - 1]};
    add_attr(op, name, OX_ATTR_TENSOR, 1)->tensor = stored;
}

/* ---- Run -------------------------------------------------------------------------------------------------------- */

static struct ox_value *add_value(struct one_op *op, size_t at, const char *kind, size_t i)
{
    struct ox_value *value = &op->values[at];
    *value = (struct ox_value){.name = must(ox_arena_printf(&op->arena, "%s_%zu", kind, i)),
                               .graph = &op->graph,
                               .id = (uint32_t)at};
    return value;
}

/* What the executor does for floats that a kernel does not take as they are. */
static void widen(struct one_op *op, const struct ox_op *row, enum ox_dtype *rounded)
{
    for (size_t i = 0; i < op->n_in; i++) {
        struct ox_tensor *tensor = op->in[i] ? op->in[i]->tensor : NULL;
        if (!tensor || op->in[i]->kind != OX_DATUM_TENSOR)
            continue;
        bool half = tensor->dtype == OX_FLOAT16 || tensor->dtype == OX_BFLOAT16;
        enum ox_dtype to = OX_UNDEFINED;
        if (op->oracle && (half || tensor->dtype == OX_FLOAT32))
            to = OX_FLOAT64;
        else if (!op->oracle && half && !(row->flags & OX_OP_HALF))
            to = OX_FLOAT32;
        if (to == OX_UNDEFINED)
            continue;
        if (to == OX_FLOAT32)
            *rounded = tensor->dtype;
        struct ox_tensor *wide;
        ck_assert_int_eq(ox_tensor_convert(&wide, NULL, tensor, to, true, &op->err), OX_OK);
        ox_datum_release(op->in[i]);
        ck_assert_int_eq(ox_datum_of_tensor(&op->in[i], wide, &op->err), OX_OK);
        ox_tensor_release(wide);
    }
}

static void narrow(struct one_op *op, size_t n_outputs, enum ox_dtype to)
{
    for (size_t i = 0; i < n_outputs; i++) {
        struct ox_tensor *tensor = op->out[i] ? op->out[i]->tensor : NULL;
        if (!tensor || tensor->dtype != OX_FLOAT32)
            continue;
        struct ox_tensor *rounded;
        ck_assert_int_eq(ox_tensor_convert(&rounded, NULL, tensor, to, false, &op->err), OX_OK);
        ox_datum_release(op->out[i]);
        ck_assert_int_eq(ox_datum_of_tensor(&op->out[i], rounded, &op->err), OX_OK);
        ox_tensor_release(rounded);
    }
}

enum ox_status one_op_run(struct one_op *op, size_t n_outputs)
{
    ck_assert_uint_le(n_outputs, MOST_INPUTS);
    const struct ox_op *row = ox_op_find(op->node.domain, op->node.op_type, op->opset.version);
    ck_assert_msg(row && row->run, "no kernel for %s %lld", op->node.op_type,
                  (long long)op->opset.version);
    for (size_t i = 0; i < op->n_in; i++)
        op->inputs[i] = op->in[i] ? add_value(op, i, "in", i) : NULL;
    for (size_t i = 0; i < n_outputs; i++)
        op->outputs[i] = add_value(op, MOST_INPUTS + i, "out", i);
    op->node.n_inputs = op->n_in;
    op->node.n_outputs = n_outputs;
    enum ox_dtype rounded = OX_UNDEFINED;
    widen(op, row, &rounded);
    struct ox_arena scratch;
    ox_arena_init(&scratch, ox_env_budget(op->env));
    struct ox_run run = {.env = op->env,
                         .node = &op->node,
                         .schema =
                             ox_schema_find(op->node.domain, op->node.op_type, op->opset.version),
                         .opset = op->opset.version,
                         .in = op->in,
                         .n_in = op->n_in,
                         .out = op->out,
                         .n_out = n_outputs,
                         .scratch = &scratch,
                         .oracle = op->oracle,
                         .seed = op->seed,
                         .op = row};
    enum ox_status status = row->run(&run, &op->err);
    ox_run_release_work(&run);
    ox_arena_release(&scratch);
    if (status == OX_OK && rounded != OX_UNDEFINED)
        narrow(op, n_outputs, rounded);
    return status;
}

const char *one_op_error(const struct one_op *op)
{
    return op->err.message;
}

/* ---- Outputs ---------------------------------------------------------------------------------------------------- */

const struct ox_datum *one_op_datum(const struct one_op *op, size_t i)
{
    ck_assert_uint_lt(i, op->node.n_outputs);
    return op->out[i];
}

const struct ox_tensor *one_op_out(const struct one_op *op, size_t i)
{
    const struct ox_datum *datum = one_op_datum(op, i);
    ck_assert_msg(datum && datum->kind == OX_DATUM_TENSOR, "output %zu is no tensor", i);
    return datum->tensor;
}

static const struct ox_tensor *expect_shape(const struct one_op *op, size_t i, enum ox_dtype dtype,
                                            const char *shape)
{
    const struct ox_tensor *tensor = one_op_out(op, i);
    int64_t dims[MOST_RANK];
    unsigned rank = parse_shape(shape, dims);
    ck_assert_msg(tensor->dtype == dtype, "output %zu is %s, not %s", i,
                  ox_dtype_name(tensor->dtype), ox_dtype_name(dtype));
    ck_assert_msg(tensor->rank == rank, "output %zu has rank %u, not %u", i, tensor->rank, rank);
    for (unsigned d = 0; d < rank; d++)
        ck_assert_msg(tensor->dims[d] == dims[d], "output %zu: dimension %u is %lld, not %lld", i,
                      d, (long long)tensor->dims[d], (long long)dims[d]);
    return tensor;
}

void one_op_expect(const struct one_op *op, size_t i, enum ox_dtype dtype, const char *shape,
                   double tolerance, const double *values, size_t n)
{
    const struct ox_tensor *tensor = expect_shape(op, i, dtype, shape);
    ck_assert_uint_eq(tensor->n, n);
    for (size_t k = 0; k < n; k++) {
        double got = ox_tensor_get_double(tensor, k), want = values[k];
        bool same = got == want || (isnan(got) && isnan(want)) ||
                    fabs(got - want) <= tolerance * fmax(1, fabs(want));
        ck_assert_msg(same, "output %zu, element %zu is %.17g, not %.17g", i, k, got, want);
    }
}

void one_op_expect_strings(const struct one_op *op, size_t i, const char *shape,
                           const char *const *strings, size_t n)
{
    const struct ox_tensor *tensor = expect_shape(op, i, OX_STRING, shape);
    ck_assert_uint_eq(tensor->n, n);
    const struct ox_str *got = tensor->data;
    for (size_t k = 0; k < n; k++)
        ck_assert_msg(got[k].n == strlen(strings[k]) &&
                          (got[k].n == 0 || memcmp(got[k].p, strings[k], got[k].n) == 0),
                      "output %zu, element %zu is '%.*s', not '%s'", i, k, (int)got[k].n, got[k].p,
                      strings[k]);
}
