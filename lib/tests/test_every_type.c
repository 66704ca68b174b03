/* Every operator of the standard, at every version, with every element type that its schema allows: the node is inferred, run and run in
 * double on small random inputs of several ranks. What a kernel refuses must be refused for a value or a shape, never for its
 * type; what runs must have the shape that was inferred, and the same shape in double. With OX_RANDOM_CASES=10000 in the
 * environment it is the long run under the sanitizers. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "ops/op.h"
#include "shape/shapes.h"
#include "tests/run_suite.h"

static const char *const ranks[] = {"2,3", "1,2,4,4", "3", "", "2,2,3", "0,3", "4,4", "1,4,4"};

/* Values for attributes that have no default; kinds that no table needs are by their type. */
static const struct {
    const char *name, *text;
} attributes[] = {{"to", "1"},
                  {"axis", "0"},
                  {"perm", "[0]"},
                  {"kernel_shape", "[1, 1]"},
                  {"equation", "\"...->...\""},
                  {"direction", "\"RIGHT\""},
                  {"blocksize", "1"},
                  {"pattern", "\"a*\""},
                  {"mode", "\"TF\""},
                  {"locale", "\"C\""}};

struct job {
    const struct ox_schema *row;
    size_t constraint; /* whose type varies */
    const char *type;
    const char *dims;
    uint64_t seed;
    bool wild; /* optional inputs and attributes too */
};

/* "tensor(float)" as the text syntax has it: "float[2,3]". */
static bool put_type(struct ox_strbuf *out, const char *type, const char *dims)
{
    static const char tensor[] = "tensor(";
    size_t n = strlen(type);
    if (strncmp(type, tensor, sizeof tensor - 1) != 0 || n < sizeof tensor)
        return false; /* no tensor: there is no way to draw one at random */
    ox_strbuf_add(out, type + sizeof tensor - 1, n - sizeof tensor);
    ox_strbuf_printf(out, *dims ? "[%s]" : "%s", dims);
    return true;
}

static const char *type_of(const struct job *job, const struct ox_schema_param *param)
{
    static const char *const liked[] = {"tensor(float)", "tensor(int64)"};
    const char *const *types;
    size_t n = ox_type_set(param->allowed, &types);
    if (param->constraint >= 0 && (size_t)param->constraint == job->constraint)
        return job->type;
    for (size_t k = 0; k < OX_COUNT(liked); k++) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(types[i], liked[k]) == 0)
                return types[i];
        }
    }
    return n ? types[0] : "";
}

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Any value, right or wrong, for an attribute that has a default; false: left out. */
static bool put_any(struct ox_strbuf *out, const struct ox_schema_attr *attr, uint64_t *state)
{
    const char *type = ox_schema_attr_type(attr);
    int n = (int)(draw(state) % 4);
    if (draw(state) % 2)
        return false;
    if (strcmp(type, "INT") == 0)
        ox_strbuf_printf(out, "%s = %d", attr->name, (int)(draw(state) % 6) - 2);
    else if (strcmp(type, "FLOAT") == 0)
        ox_strbuf_printf(out, "%s = %d.5", attr->name, (int)(draw(state) % 4) - 1);
    else if (strcmp(type, "INTS") == 0 && n) {
        ox_strbuf_printf(out, "%s = [%d", attr->name, (int)(draw(state) % 5) - 1);
        for (int i = 1; i < n; i++)
            ox_strbuf_printf(out, ", %d", (int)(draw(state) % 5) - 1);
        ox_strbuf_puts(out, "]");
    } else {
        return false;
    }
    return true;
}

static bool put_attribute(struct ox_strbuf *out, const struct ox_schema_attr *attr)
{
    const char *type = ox_schema_attr_type(attr);
    for (size_t i = 0; i < OX_COUNT(attributes); i++) {
        if (strcmp(attributes[i].name, attr->name) == 0) {
            ox_strbuf_printf(out, "%s = %s", attr->name, attributes[i].text);
            return true;
        }
    }
    const struct {
        const char *type, *text;
    } any[] = {{"INT", "1"},       {"FLOAT", "1.0"},    {"STRING", "\"a\""},
               {"INTS", "[1, 1]"}, {"FLOATS", "[1.0]"}, {"STRINGS", "[\"a\"]"}};
    for (size_t i = 0; i < OX_COUNT(any); i++) {
        if (strcmp(any[i].type, type) == 0) {
            ox_strbuf_printf(out, "%s = %s", attr->name, any[i].text);
            return true;
        }
    }
    return false; /* graphs and tensors: those operators have tests of their own */
}

/* The model as text; false: the operator takes what cannot be drawn. */
static bool write_model(struct ox_strbuf *out, const struct job *job)
{
    const struct ox_schema *row = job->row;
    const char *domain = *row->domain ? row->domain : "ai.onnx";
    uint64_t state = job->seed * 1000003;
    size_t n = 0;
    ox_strbuf_printf(out, "<ir_version: 10, opset_import: [\"%s\" : %d]>\ng (", row->domain,
                     row->since);
    for (size_t i = 0; i < row->n_inputs; i++) {
        unsigned copies = row->inputs[i].option == OX_PARAM_VARIADIC ? row->inputs[i].min_arity : 1;
        if (row->inputs[i].option == OX_PARAM_OPTIONAL && (!job->wild || draw(&state) % 3 == 0))
            break;
        for (unsigned k = 0; k < copies; k++) {
            ox_strbuf_puts(out, n ? ", " : "");
            if (!put_type(out, type_of(job, &row->inputs[i]), job->dims))
                return false;
            ox_strbuf_printf(out, " x%zu", n++);
        }
    }
    ox_strbuf_puts(out, ") => (y0");
    for (unsigned i = 1; i < row->min_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_puts(out, ") { y0");
    for (unsigned i = 1; i < row->min_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_printf(out, " = %s.%s ", domain, row->name);
    size_t n_attrs = 0;
    for (size_t i = 0; i < row->n_attrs; i++) {
        size_t before = out->len;
        ox_strbuf_puts(out, n_attrs ? ", " : "<");
        bool put = row->attrs[i].required ? put_attribute(out, &row->attrs[i])
                                          : job->wild && put_any(out, &row->attrs[i], &state);
        if (!put && row->attrs[i].required)
            return false;
        if (!put)
            out->data[out->len = before] = '\0';
        n_attrs += put;
    }
    ox_strbuf_puts(out, n_attrs ? "> (" : "(");
    for (size_t i = 0; i < n; i++)
        ox_strbuf_printf(out, i ? ", x%zu" : "x%zu", i);
    ox_strbuf_puts(out, ") }\n");
    return !out->failed;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

struct outcome {
    enum ox_status status;
    struct ox_datum *out[8];
    size_t n_out;
    struct ox_error err;
};

static void outcome_release(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_out; i++)
        ox_datum_release(outcome->out[i]);
}

static void run_once(struct ox_model *model, const struct job *job, bool oracle,
                     struct outcome *outcome)
{
    struct ox_datum *in[16] = {0};
    struct ox_session *session = NULL;
    const struct ox_run_options options = {.oracle = oracle, .seed = 1};
    *outcome = (struct outcome){0};
    outcome->status = ox_session_new(&session, model, &options, &outcome->err);
    size_t n = outcome->status == OX_OK ? ox_session_n_inputs(session) : 0;
    for (size_t i = 0; i < n && outcome->status == OX_OK; i++)
        outcome->status =
            ox_session_random_input(session, i, job->seed + i, NULL, &in[i], &outcome->err);
    if (outcome->status == OX_OK) {
        outcome->status = ox_session_run(session, in, outcome->out, &outcome->err);
        outcome->n_out = outcome->status == OX_OK ? ox_session_n_outputs(session) : 0;
    }
    for (size_t i = 0; i < n; i++)
        ox_datum_release(in[i]);
    ox_session_release(session);
}

/* Every number that inference gives is the one that the run shows. */
static void expect_inferred(const struct ox_model *model, const struct ox_shapes *shapes,
                            const struct outcome *outcome, const char *text)
{
    for (size_t i = 0; i < outcome->n_out; i++) {
        const struct ox_datum *datum = outcome->out[i];
        const struct ox_type *type = ox_shapes_type(shapes, model->graph->outputs[i]);
        int64_t dim;
        if (!datum || datum->kind != OX_DATUM_TENSOR || !type || type->kind != OX_TYPE_TENSOR)
            continue;
        ck_assert_msg(type->elem == OX_UNDEFINED || type->elem == datum->tensor->dtype,
                      "%s: output %zu is %s, inferred %s", text, i,
                      ox_dtype_name(datum->tensor->dtype), ox_dtype_name(type->elem));
        if (!type->has_rank)
            continue;
        ck_assert_msg(type->rank == datum->tensor->rank, "%s: rank %u, inferred %u", text,
                      datum->tensor->rank, type->rank);
        for (unsigned d = 0; d < type->rank; d++)
            ck_assert_msg(!ox_expr_is_int(type->dims[d], &dim) || dim == datum->tensor->dims[d],
                          "%s: dimension %u is %lld, inferred %lld", text, d,
                          (long long)datum->tensor->dims[d], (long long)dim);
    }
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

enum { MOST_INPUTS = 16, MOST_DIMS = 8 };

struct sizes {
    int64_t of[MOST_INPUTS][MOST_DIMS];
};

/* "d2_1" is dimension 1 of input 2. */
static bool size_of(void *arg, const char *symbol, int64_t *value)
{
    const struct sizes *sizes = arg;
    unsigned input, dim;
    if (sscanf(symbol, "d%u_%u", &input, &dim) != 2 || input >= MOST_INPUTS || dim >= MOST_DIMS)
        return false; /* made up on the way: only the data tell it */
    *value = sizes->of[input][dim];
    return true;
}

/* Every dimension of every input under a name of its own: what inference then tells as a formula must hold. */
static void expect_formulas(struct ox_model *model, const struct outcome *outcome, const char *text)
{
    struct ox_strbuf dims[MOST_INPUTS] = {{0}};
    const char *names[MOST_INPUTS], *texts[MOST_INPUTS];
    struct ox_shapes *shapes = NULL;
    struct sizes sizes;
    size_t n = 0;
    for (size_t i = 0; i < model->graph->n_inputs && n < MOST_INPUTS; i++) {
        const struct ox_type *type = model->graph->inputs[i]->type;
        for (unsigned d = 0; d < type->rank; d++) {
            ck_assert(ox_expr_is_int(type->dims[d], &sizes.of[n][d]));
            ox_strbuf_printf(&dims[n], d ? ",d%zu_%u" : "d%zu_%u", n, d);
        }
        if (!dims[n].len)
            continue;
        names[n] = model->graph->inputs[i]->name;
        texts[n] = dims[n].data;
        n++;
    }
    const struct ox_shapes_options options = {
        .input_names = names, .input_dims = texts, .n_overrides = n};
    ck_assert_int_eq(ox_shapes_infer(&shapes, model, &options, NULL, NULL), OX_OK);
    for (size_t i = 0; i < outcome->n_out; i++) {
        const struct ox_type *type = ox_shapes_type(shapes, model->graph->outputs[i]);
        const struct ox_datum *datum = outcome->out[i];
        int64_t dim;
        if (!datum || datum->kind != OX_DATUM_TENSOR || !type || !type->has_rank ||
            type->kind != OX_TYPE_TENSOR)
            continue;
        ck_assert_uint_eq(type->rank, datum->tensor->rank);
        for (unsigned d = 0; d < type->rank; d++)
            ck_assert_msg(!type->dims[d] || !ox_expr_eval(type->dims[d], size_of, &sizes, &dim) ||
                              dim == datum->tensor->dims[d],
                          "%s: dimension %u is %lld, by formula %lld", text, d,
                          (long long)datum->tensor->dims[d], (long long)dim);
    }
    for (size_t i = 0; i < MOST_INPUTS; i++)
        ox_strbuf_release(&dims[i]);
    ox_shapes_release(shapes);
}

static bool has_empty(const struct job *job)
{
    return job->dims[0] == '0';
}

static void expect_same_shapes(const struct outcome *a, const struct outcome *b, const char *text)
{
    for (size_t i = 0; i < a->n_out; i++) {
        if (!a->out[i] || !b->out[i] || a->out[i]->kind != OX_DATUM_TENSOR ||
            b->out[i]->kind != OX_DATUM_TENSOR)
            continue;
        const struct ox_tensor *x = a->out[i]->tensor, *y = b->out[i]->tensor;
        bool same = x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
        ck_assert_msg(same, "%s: another shape in double", text);
    }
}

/* What the schema lets through and no meaning can be given: strings added up. */
static bool has_no_meaning(const struct job *job)
{
    return strcmp(job->row->name, "Col2Im") == 0 && strcmp(job->type, "tensor(string)") == 0;
}

static bool is_answer(enum ox_status status)
{
    return status == OX_OK || status == OX_INPUT || status == OX_LIMIT;
}

enum tried { TRIED_NOTHING, TRIED_REFUSED, TRIED_RAN };

static enum tried try_job(struct ox_env *env, const struct job *job)
{
    struct ox_strbuf text = {0};
    struct ox_model *model = NULL;
    struct ox_shapes *shapes = NULL;
    struct outcome plain = {0}, exact = {0};
    struct ox_error err;
    enum tried tried = TRIED_NOTHING;
    if (!has_no_meaning(job) && write_model(&text, job) &&
        ox_model_open_memory(&model, env, text.data, text.len, NULL, &err) == OX_OK) {
        run_once(model, job, false, &plain);
        ck_assert_msg(is_answer(plain.status), "%s: %s", text.data, plain.err.message);
        run_once(model, job, true, &exact);
        ck_assert_msg(is_answer(exact.status), "%s: in double: %s", text.data, exact.err.message);
        ck_assert_int_eq(ox_shapes_infer(&shapes, model, NULL, NULL, NULL), OX_OK);
        tried = plain.status == OX_OK ? TRIED_RAN : TRIED_REFUSED;
        if (tried == TRIED_RAN) {
            expect_inferred(model, shapes, &plain, text.data);
            /* Nobody names the size of what is always empty: formulas are for sizes of at least 1. */
            if (!has_empty(job))
                expect_formulas(model, &plain, text.data);
            if (exact.status == OX_OK && !job->row->non_deterministic)
                expect_same_shapes(&plain, &exact, text.data);
        }
    }
    outcome_release(&plain);
    outcome_release(&exact);
    ox_shapes_release(shapes);
    ox_model_release(model);
    ox_strbuf_release(&text);
    return tried;
}

static bool is_standard(const struct ox_schema *row)
{
    return !row->deprecated && strncmp(row->domain, "com.", 4) != 0 &&
           ox_schema_find_foreign(row->domain, row->name, row->since) != row;
}

START_TEST(no_type_that_the_schema_allows_is_refused)
{
    const char *wish = getenv("OX_RANDOM_CASES");
    uint64_t rounds = wish ? strtoull(wish, NULL, 10) / OX_COUNT(ranks) + 1 : 2;
    size_t n_rows, n_ran = 0, n_types = 0;
    const struct ox_schema *rows = ox_schema_rows(&n_rows);
    struct ox_env *env = ox_env_new();
    ox_env_limits(env)->memory_bytes = 64 << 20;
    for (size_t r = (size_t)_i; r < n_rows; r += 16) {
        for (size_t c = 0; is_standard(&rows[r]) && c < rows[r].n_constraints; c++) {
            const char *const *types;
            size_t n = ox_type_set(rows[r].constraints[c].allowed, &types);
            for (size_t t = 0; t < n; t++) {
                enum tried best = TRIED_NOTHING;
                for (uint64_t k = 0; k < rounds * OX_COUNT(ranks); k++) {
                    struct job job = {&rows[r], c,
                                      types[t], ranks[k % OX_COUNT(ranks)],
                                      k + 1,    k >= OX_COUNT(ranks)};
                    enum tried tried = try_job(env, &job);
                    best = tried > best ? tried : best;
                }
                n_types += best != TRIED_NOTHING;
                n_ran += best == TRIED_RAN;
            }
        }
    }
    /* Most run on something that can be drawn at random: the rest wants subgraphs, sequences or fitting shapes. */
    ck_assert_uint_gt(n_ran, n_types / 2);
    ox_env_release(env);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("every type");
    TCase *tcase = tcase_create("every type");
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(tcase, no_type_that_the_schema_allows_is_refused, 0, 16);
    suite_add_tcase(s, tcase);
    return run_suite(s);
}
