/* Every operator of the standard, at every version, with every element type that its schema allows: the node is inferred, run and run in
 * double on small random inputs of several ranks. What a kernel refuses must be refused for a value or a shape, never for its
 * type; what runs must have the shape that was inferred, the same shape in double, and the values that double precision gives
 * within a bound a type.
 *
 * OX_RANDOM_CASES=10000 makes so many of each operator, OX_RANDOM_OPERATOR=Conv those of one alone, OX_RANDOM_TELL=1 tells how
 * many of them ran: scripts/random_operators makes the long run of it. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "ops/op.h"
#include "shape/infer_impl.h"
#include "tests/random_node.h"
#include "tests/run_suite.h"
#include "tests/written_codes.h"

/* An assertion that costs nothing while it holds: Check writes each of its own to a file. */
static void must(bool holds, const char *what)
{
    if (!holds)
        ck_abort_msg("%s", what);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

struct outcome {
    enum ox_status status;
    struct ox_datum *in[16], *out[8];
    size_t n_in, n_out;
    struct ox_error err;
};

static void outcome_release(struct outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_in; i++)
        ox_datum_release(outcome->in[i]);
    for (size_t i = 0; i < outcome->n_out; i++)
        ox_datum_release(outcome->out[i]);
}

/* Up to 4 keys, in order; values of any sign, strings that are numbers. */
static enum ox_status random_map(struct ox_env *env, const char *type, uint64_t seed,
                                 struct ox_datum **out, struct ox_error *err)
{
    static const char *const words[] = {"a", "b", "c", "d"};
    const char *value = strchr(type, ',');
    bool named = strncmp(type, "map(string", 10) == 0, worded = strstr(value, "string");
    enum ox_dtype dtype = worded                   ? OX_STRING
                          : strstr(value, "int64") ? OX_INT64
                          : strstr(value, "64")    ? OX_FLOAT64
                                                   : OX_FLOAT32;
    const int64_t n = (int64_t)(seed % 5), step = 1 + (int64_t)(seed / 5 % 2);
    struct ox_tensor *keys, *values;
    struct ox_datum *list = NULL;
    ck_assert_int_eq(
        ox_tensor_new(&keys, ox_env_budget(env), named ? OX_STRING : OX_INT64, 1, &n, err), OX_OK);
    ck_assert_int_eq(ox_tensor_new(&values, ox_env_budget(env), dtype, 1, &n, err), OX_OK);
    for (int64_t i = 0; i < n; i++) {
        char digits[24];
        double x = (double)((seed * 7 + (uint64_t)i * 5) % 11) - 4;
        if (named)
            ck_assert_int_eq(ox_tensor_set_string(keys, (size_t)i, words[i], 1, err), OX_OK);
        else
            ((int64_t *)keys->data)[i] = i * step;
        if (worded)
            ck_assert_int_eq(ox_tensor_set_string(values, (size_t)i, digits,
                                                  (size_t)snprintf(digits, sizeof digits, "%g", x),
                                                  err),
                             OX_OK);
        else
            ox_elements_convert(dtype, (char *)values->data + (size_t)i * ox_dtype_size(dtype),
                                OX_FLOAT64, &x, 1, true);
    }
    enum ox_status status = ox_datum_of_tensor(&list, values, err);
    if (status == OX_OK)
        status = ox_datum_map(out, keys, list, err);
    ox_datum_release(list);
    ox_tensor_release(keys);
    ox_tensor_release(values);
    return status;
}

static enum ox_status random_input(struct ox_session *session, struct ox_env *env, size_t i,
                                   uint64_t seed, struct ox_datum **out, struct ox_error *err)
{
    const char *type = ox_session_input(session, i)->type;
    if (strncmp(type, "map(", 4) == 0)
        return random_map(env, type, seed, out, err);
    return ox_session_random_input(session, i, seed, NULL, out, err);
}

static void run_once(struct ox_model *model, uint64_t seed, bool oracle, struct outcome *outcome)
{
    struct ox_session *session = NULL;
    const struct ox_run_options options = {.oracle = oracle, .seed = 1};
    *outcome = (struct outcome){0};
    outcome->status = ox_session_new(&session, model, &options, &outcome->err);
    outcome->n_in = outcome->status == OX_OK ? ox_session_n_inputs(session) : 0;
    must(outcome->n_in <= OX_COUNT(outcome->in), "too many inputs");
    for (size_t i = 0; i < outcome->n_in && outcome->status == OX_OK; i++)
        outcome->status =
            random_input(session, model->env, i, seed + i, &outcome->in[i], &outcome->err);
    if (outcome->status == OX_OK) {
        outcome->status = ox_session_run(session, outcome->in, outcome->out, &outcome->err);
        outcome->n_out = outcome->status == OX_OK ? ox_session_n_outputs(session) : 0;
    }
    ox_session_release(session);
}

/* Every number that inference gives is the one that the run shows; false: what differs is told. */
static bool as_inferred(const struct ox_model *model, const struct ox_shapes *shapes,
                        const struct outcome *outcome, struct ox_strbuf *told)
{
    for (size_t i = 0; i < outcome->n_out; i++) {
        const struct ox_datum *datum = outcome->out[i];
        const struct ox_type *type = ox_shapes_type(shapes, model->graph->outputs[i]);
        int64_t dim;
        if (!datum || datum->kind != OX_DATUM_TENSOR || !type || type->kind != OX_TYPE_TENSOR)
            continue;
        const struct ox_tensor *tensor = datum->tensor;
        bool same = type->elem == OX_UNDEFINED || type->elem == tensor->dtype;
        same = same && (!type->has_rank || type->rank == tensor->rank);
        for (unsigned d = 0; same && type->has_rank && d < type->rank; d++)
            same = !ox_expr_is_int(type->dims[d], &dim) || dim == tensor->dims[d];
        if (same)
            continue;
        ox_strbuf_printf(told, "output %zu is %s of rank %u, inferred %s of rank %u: ", i,
                         ox_dtype_name(tensor->dtype), tensor->rank, ox_dtype_name(type->elem),
                         type->rank);
        return false;
    }
    return true;
}

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

enum { MOST_INPUTS = 16, MOST_DIMS = 8 };

/* What a formula gave: told in numbers, told by a name that only data tell, not told. */
struct told_dims {
    size_t n_known, n_named;
};

struct sizes {
    struct ox_model *model;
    const struct outcome *run;
    int64_t of[MOST_INPUTS][MOST_DIMS];
};

/* What was fed to an input of that name; NULL. */
static const struct ox_tensor *fed(const struct sizes *sizes, const char *name)
{
    const struct ox_graph *graph = sizes->model->graph;
    for (size_t i = 0; i < graph->n_inputs && i < sizes->run->n_in; i++) {
        const struct ox_datum *datum = sizes->run->in[i];
        if (strcmp(graph->inputs[i]->name, name) == 0)
            return datum && datum->kind == OX_DATUM_TENSOR ? datum->tensor : NULL;
    }
    return NULL;
}

/* "x1[0]" and "x1.value" are elements of an initializer or of an input. */
static bool element_of(const struct sizes *sizes, const char *symbol, int64_t *element)
{
    char name[16];
    size_t n = strcspn(symbol, "[."), at = 0;
    struct ox_tensor *loaded = NULL;
    if (n >= sizeof name || !symbol[n] ||
        (symbol[n] == '[' && sscanf(symbol + n, "[%zu]", &at) != 1))
        return false;
    memcpy(name, symbol, n);
    name[n] = '\0';
    const struct ox_value *value = ox_graph_value(sizes->model->graph, name);
    if (!value ||
        (value->init && ox_stored_load(sizes->model, value->init, &loaded, NULL) != OX_OK))
        return false;
    const struct ox_tensor *tensor = loaded ? loaded : fed(sizes, name);
    if (tensor) {
        must(at < tensor->n, symbol);
        *element = ox_tensor_get_int(tensor, at);
    }
    ox_tensor_release(loaded);
    return tensor != NULL;
}

/* As if the initializers were defaults of inputs, which say nothing: then their elements are symbols. */
static void set_given(struct ox_model *model, bool given)
{
    for (size_t i = 0; i < model->graph->n_values; i++) {
        struct ox_value *value = model->graph->values[i];
        if (value->init)
            value->is_input = given;
    }
}

/* "d2_1" is dimension 1 of input 2. */
static bool size_of(void *arg, const char *symbol, int64_t *value)
{
    const struct sizes *sizes = arg;
    unsigned input, dim;
    if (sscanf(symbol, "d%u_%u", &input, &dim) != 2)
        return element_of(sizes, symbol, value); /* else only the data tell it */
    if (input >= MOST_INPUTS || dim >= MOST_DIMS)
        return false;
    *value = sizes->of[input][dim];
    return true;
}

/* Whether a formula is the number that the run shows, where it can be told without more data. */
static bool holds(const struct ox_expr *e, int64_t number, struct sizes *sizes,
                  struct told_dims *count)
{
    int64_t told;
    if (!e || !ox_expr_eval(e, size_of, sizes, &told)) {
        count->n_named++;
        return true;
    }
    count->n_known++;
    return told == number;
}

/* Shape and, of a few integers, the values of an output. */
static bool output_holds(struct ox_shapes *shapes, const struct ox_value *value,
                         const struct ox_datum *datum, struct sizes *sizes, struct told_dims *count)
{
    const struct ox_type *type = ox_shapes_type(shapes, value);
    const struct ox_expr *const *values;
    struct told_dims of_values = {0};
    size_t n;
    if (!datum || datum->kind != OX_DATUM_TENSOR || !type || !type->has_rank ||
        type->kind != OX_TYPE_TENSOR)
        return true;
    const struct ox_tensor *tensor = datum->tensor;
    bool same = type->rank == tensor->rank;
    for (unsigned d = 0; same && d < type->rank; d++)
        same = holds(type->dims[d], tensor->dims[d], sizes, count);
    if (!same || !(ox_dtype_is_integer(tensor->dtype) || tensor->dtype == OX_BOOL) ||
        !ox_shapes_values(shapes, value, &n, &values))
        return same;
    for (size_t i = 0; same && n == tensor->n && i < n; i++)
        same = holds(values[i], ox_tensor_get_int(tensor, i), sizes, &of_values);
    return same && n == tensor->n;
}

/* Its elements are named where its length is known. */
static bool may_be_sizes(const struct ox_type *type)
{
    return type->rank <= 1 && ox_dtype_is_integer(type->elem);
}

/* Every dimension of every input, and with `given` every element of short inputs and initializers, under a name of its own:
 * what inference then tells as a formula, of sizes or of values, must hold. */
static bool as_formulas(struct ox_model *model, const struct outcome *outcome, bool given,
                        struct told_dims *count, struct ox_strbuf *told)
{
    struct ox_strbuf dims[MOST_INPUTS] = {{0}};
    const char *names[MOST_INPUTS], *texts[MOST_INPUTS];
    struct ox_shapes *shapes = NULL;
    struct sizes sizes = {.model = model, .run = outcome};
    size_t n = 0;
    bool same = true;
    for (size_t i = 0; i < model->graph->n_inputs && n < MOST_INPUTS; i++) {
        const struct ox_type *type = model->graph->inputs[i]->type;
        for (unsigned d = 0; !(given && may_be_sizes(type)) && d < type->rank; d++) {
            must(ox_expr_is_int(type->dims[d], &sizes.of[n][d]), "an input of an open size");
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
    set_given(model, given);
    must(ox_shapes_infer(&shapes, model, &options, NULL, NULL) == OX_OK, "not inferred");
    set_given(model, false);
    for (size_t i = 0; i < outcome->n_out && same; i++) {
        same = output_holds(shapes, model->graph->outputs[i], outcome->out[i], &sizes, count);
        if (!same)
            ox_strbuf_printf(told, "output %zu is not as its formula says: ", i);
    }
    for (size_t i = 0; i < MOST_INPUTS; i++)
        ox_strbuf_release(&dims[i]);
    ox_shapes_release(shapes);
    return same;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* How far a value of a type may lie from the one in double, relative to the largest of its tensor or 1: half a unit in the last
 * place and, for types wide enough to sum in, what rounding of intermediate values leaves. */
static double bound_of(enum ox_dtype dtype)
{
    switch (dtype) {
    case OX_FLOAT64:
    case OX_COMPLEX128:
        return 1e-13;
    case OX_FLOAT32:
    case OX_COMPLEX64:
        return 1e-6;
    case OX_FLOAT16:
        return 0x1p-11 + 1e-6;
    case OX_BFLOAT16:
        return 0x1p-8 + 1e-6;
    case OX_FLOAT8E4M3FN:
    case OX_FLOAT8E4M3FNUZ:
        return 0x1p-4;
    case OX_FLOAT8E5M2:
    case OX_FLOAT8E5M2FNUZ:
        return 0x1p-3;
    default:
        return 0;
    }
}

static double part(const struct ox_tensor *tensor, size_t i, bool imaginary)
{
    if (tensor->dtype == OX_COMPLEX64)
        return ((const float *)tensor->data)[2 * i + imaginary];
    if (tensor->dtype == OX_COMPLEX128)
        return ((const double *)tensor->data)[2 * i + imaginary];
    return imaginary ? 0 : ox_tensor_get_double(tensor, i);
}

static bool is_close(double got, double want, double slack, enum ox_dtype dtype)
{
    static const double largest[OX_N_DTYPES] = {
        [OX_FLOAT16] = 65504, [OX_BFLOAT16] = 3.3895e38, [OX_FLOAT32] = 3.4028e38};
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    if (largest[dtype] > 0 && fabs(want) >= largest[dtype] && got == copysign(INFINITY, want))
        return true; /* too large for the type, not for a double */
    if (isinf(want) || isinf(got))
        return got == want;
    return fabs(got - want) <= slack;
}

/* False, and *at the element, where a value departs. */
static bool same_values(const struct ox_tensor *got, const struct ox_tensor *want, double bound,
                        size_t *at)
{
    double scale = 1;
    for (size_t i = 0; i < want->n && got->dtype != OX_STRING; i++) {
        double size = hypot(part(want, i, false), part(want, i, true));
        scale = isfinite(size) && size > scale ? size : scale;
    }
    for (*at = 0; *at < want->n && got->dtype != OX_STRING; ++*at)
        for (int k = 0; k < 2; k++)
            if (!is_close(part(got, *at, k), part(want, *at, k), bound * scale, got->dtype))
                return false;
    return true;
}

/* Operators whose standard asks for less than double in between, or for a step that tips at a boundary. */
static const struct {
    const char *name;
    double units; /* of bound_of(its type) more; integers: steps */
    const char *why;
} slack[] = {
    {"Attention", 8, "16-bit scores and weights are rounded in between, as its function has it"},
    {"FlexAttention", 8, "the same"},
    {"Softmax", 4, "the same of its exponentials and their sum"},
};

static double slack_of(const struct random_node *node, enum ox_dtype dtype)
{
    double unit = bound_of(dtype) > 0 ? bound_of(dtype) : 1;
    for (size_t i = 0; i < OX_COUNT(slack); i++)
        if (strcmp(slack[i].name, node->row->name) == 0)
            return slack[i].units * unit;
    return 0;
}

/* Codes of a quotient that is rounded and of one that is not may lie a step apart, at a tie: both are held against the text. */
static bool same_codes(const struct ox_model *model, const struct outcome *outcome, bool oracle,
                       struct ox_strbuf *told)
{
    const struct ox_tensor *in[3] = {NULL}, *y = outcome->out[0]->tensor;
    size_t at;
    for (size_t i = 0; i < outcome->n_in && i < OX_COUNT(in); i++)
        in[i] = outcome->in[i]->tensor;
    if (written_codes_match(model->graph->nodes[0], in, y, oracle, &at))
        return true;
    ox_strbuf_printf(told, "element %zu is %.17g%s, not as written: ", at,
                     ox_tensor_get_double(y, at), oracle ? " in double" : "");
    return false;
}

/* False, and the departure told, where a value is not within the bound of its type or of a narrower one that went in. */
static bool same_outputs(const struct ox_model *model, const struct random_node *node,
                         const struct outcome *a, const struct outcome *b, struct ox_strbuf *told)
{
    double widest = 0;
    size_t at;
    if (strcmp(node->row->name, "QuantizeLinear") == 0)
        return same_codes(model, a, false, told) && same_codes(model, b, true, told);
    for (size_t i = 0; i < model->graph->n_inputs; i++)
        widest = fmax(widest, bound_of(model->graph->inputs[i]->type->elem));
    for (size_t i = 0; i < a->n_out; i++) {
        if (!a->out[i] || !b->out[i] || a->out[i]->kind != OX_DATUM_TENSOR ||
            b->out[i]->kind != OX_DATUM_TENSOR)
            continue;
        const struct ox_tensor *x = a->out[i]->tensor, *y = b->out[i]->tensor;
        bool same = x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0;
        double bound = bound_of(x->dtype);
        bound = (bound > 0 ? fmax(bound, widest) : bound) + slack_of(node, x->dtype);
        if (same && same_values(x, y, bound, &at))
            continue;
        if (same)
            ox_strbuf_printf(told, "output %zu, element %zu is %.17g, in double %.17g: ", i, at,
                             part(x, at, false), part(y, at, false));
        else
            ox_strbuf_printf(told, "output %zu has another shape in double: ", i);
        return false;
    }
    return true;
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

/* What the schema lets through and no meaning can be given: strings added up. */
static bool has_no_meaning(const struct random_node *node)
{
    return strcmp(node->row->name, "Col2Im") == 0 && strcmp(node->type, "tensor(string)") == 0;
}

static bool is_answer(enum ox_status status)
{
    return status == OX_OK || status == OX_INPUT || status == OX_LIMIT;
}

/* Nobody names the size of what is always empty: formulas are for sizes of at least 1. */
static bool has_empty(const struct ox_model *model)
{
    for (size_t i = 0; i < model->graph->n_inputs; i++) {
        const struct ox_type *type = model->graph->inputs[i]->type;
        int64_t dim;
        for (unsigned d = 0; d < type->rank; d++)
            if (ox_expr_is_int(type->dims[d], &dim) && dim == 0)
                return true;
    }
    return false;
}

enum tried { TRIED_NOTHING, TRIED_REFUSED, TRIED_RAN };

/* Departures are told in `told`. */
static enum tried try_node(struct ox_env *env, const struct random_node *node,
                           struct told_dims count[2], struct ox_strbuf *told)
{
    struct ox_strbuf text = {0};
    struct ox_model *model = NULL;
    struct ox_shapes *shapes = NULL;
    struct outcome plain = {0}, exact = {0};
    struct ox_error err;
    enum tried tried = TRIED_NOTHING;
    if (!has_no_meaning(node) && random_node_write(&text, node) &&
        ox_model_open_memory(&model, env, text.data, text.len, NULL, &err) == OX_OK) {
        run_once(model, node->round + 1, false, &plain);
        if (!is_answer(plain.status))
            ck_abort_msg("%s: %s", text.data, plain.err.message);
        run_once(model, node->round + 1, true, &exact);
        if (!is_answer(exact.status))
            ck_abort_msg("%s: in double: %s", text.data, exact.err.message);
        must(ox_shapes_infer(&shapes, model, NULL, NULL, NULL) == OX_OK, text.data);
        tried = plain.status == OX_OK ? TRIED_RAN : TRIED_REFUSED;
        if (tried == TRIED_RAN) {
            bool same = as_inferred(model, shapes, &plain, told);
            if (same && !has_empty(model))
                same = as_formulas(model, &plain, false, &count[0], told) &&
                       as_formulas(model, &plain, true, &count[1], told);
            if (same && exact.status == OX_OK && !node->row->non_deterministic)
                same = same_outputs(model, node, &plain, &exact, told);
            if (!same)
                ox_strbuf_puts(told, text.data);
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

/* Types of all constraints of a row. */
static size_t n_types_of(const struct ox_schema *row)
{
    const char *const *types;
    size_t n = 0;
    for (size_t c = 0; is_standard(row) && c < row->n_constraints; c++)
        n += ox_type_set(row->constraints[c].allowed, &types);
    return n ? n : is_standard(row);
}

/* Rounds a type of that operator, so that all its versions together have `cases`. */
static uint64_t rounds_of(const struct ox_schema *rows, size_t n_rows, const struct ox_schema *row,
                          uint64_t cases)
{
    uint64_t n_types = 0, least = RANDOM_PLAIN_ROUNDS * 2;
    for (size_t r = 0; r < n_rows; r++) {
        bool same =
            strcmp(rows[r].name, row->name) == 0 && strcmp(rows[r].domain, row->domain) == 0;
        n_types += same ? n_types_of(&rows[r]) : 0;
    }
    uint64_t n = n_types ? cases / n_types + 1 : 0;
    return n > least ? n : least;
}

struct tally {
    size_t n_types, n_ran_types, n_cases, n_ran;
    struct told_dims dims[2]; /* with sizes that have names; with elements too */
    struct ox_strbuf told;
};

/* Threads cost more than so small a node: most rounds go without. */
enum { ROUNDS_A_THREADED = 16 };

static void try_row(struct ox_env *const env[2], const struct ox_schema *row, uint64_t first,
                    uint64_t rounds, struct tally *tally)
{
    static const char *const none[] = {""};
    for (size_t c = 0; c < row->n_constraints || c == 0; c++) {
        const char *const *types = none;
        size_t n = row->n_constraints ? ox_type_set(row->constraints[c].allowed, &types) : 1;
        for (size_t t = 0; t < n; t++) {
            enum tried best = TRIED_NOTHING;
            for (uint64_t k = 0; k < rounds; k++) {
                struct random_node node = {row, c, types[t], first + k};
                size_t before = tally->told.len;
                enum tried tried =
                    try_node(env[k % ROUNDS_A_THREADED == 0], &node, tally->dims, &tally->told);
                if (before && tally->told.len > before) /* one a row is enough to read */
                    tally->told.data[tally->told.len = before] = '\0';
                best = tried > best ? tried : best;
                tally->n_cases++;
                tally->n_ran += tried == TRIED_RAN;
            }
            tally->n_types += best != TRIED_NOTHING;
            tally->n_ran_types += best == TRIED_RAN;
        }
    }
}

START_TEST(no_type_that_the_schema_allows_is_refused_and_values_are_those_of_double)
{
    const char *wish = getenv("OX_RANDOM_CASES"), *only = getenv("OX_RANDOM_OPERATOR");
    const char *seed =
        getenv("OX_RANDOM_SEED"); /* of other cases than 0's, at most a million each */
    uint64_t cases = wish ? strtoull(wish, NULL, 10) : 0;
    uint64_t first = seed ? strtoull(seed, NULL, 10) * 1000000 : 0;
    size_t n_rows;
    const struct ox_schema *rows = ox_schema_rows(&n_rows);
    struct ox_env *const env[2] = {ox_env_new(), ox_env_new()}; /* of one and of two threads */
    struct tally all = {0};
    for (unsigned k = 0; k < 2; k++) {
        ox_env_limits(env[k])->memory_bytes = 64 << 20;
        ox_env_set_threads(env[k], k + 1);
    }
    for (size_t r = (size_t)_i; r < n_rows; r += 16) {
        struct tally tally = {0};
        if (!is_standard(&rows[r]) || (only && strcmp(only, rows[r].name) != 0))
            continue;
        try_row(env, &rows[r], first, rounds_of(rows, n_rows, &rows[r], cases), &tally);
        if (getenv("OX_RANDOM_TELL"))
            fprintf(stderr,
                    "%s %d: %zu cases, %zu ran, %zu of %zu types; of symbols %zu sizes told, %zu "
                    "named; of elements "
                    "%zu told, %zu named\n",
                    rows[r].name, rows[r].since, tally.n_cases, tally.n_ran, tally.n_ran_types,
                    tally.n_types, tally.dims[0].n_known, tally.dims[0].n_named,
                    tally.dims[1].n_known, tally.dims[1].n_named);
        if (tally.told.len)
            ox_strbuf_printf(&all.told, "%s", tally.told.data);
        ox_strbuf_release(&tally.told);
        all.n_types += tally.n_types;
        all.n_ran_types += tally.n_ran_types;
    }
    /* Most run on something that can be drawn at random: the rest wants subgraphs, sequences or fitting shapes. */
    ck_assert(only || all.n_ran_types > all.n_types / 2);
    ck_assert_msg(!all.told.len, "%s", all.told.data);
    ox_strbuf_release(&all.told);
    ox_env_release(env[0]);
    ox_env_release(env[1]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("every type");
    TCase *tcase = tcase_create("every type");
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(
        tcase, no_type_that_the_schema_allows_is_refused_and_values_are_those_of_double, 0, 16);
    suite_add_tcase(s, tcase);
    return run_suite(s);
}
