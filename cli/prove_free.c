/* A model whose dimensions were made free: whether it runs at other sizes, which no inference of shapes can promise. */
#include <stdlib.h>
#include <string.h>

#include "prove.h"

enum { MOST_RANK = 64, MOST_TIMES = 3, SEED = 1 };

struct freed {
    struct cli *cli;
    const char *path;
    struct prove_side before, after;
    struct ox_datum **pieces[MOST_TIMES]; /* inputs of the model that was, for each run of it */
    struct ox_datum **made[MOST_TIMES];   /* and its outputs */
    bool batch;                           /* what is free are first dimensions alone */
    const char *symbol;                   /* a name that is free now, */
    int64_t size;                         /* and its size before */
};

/* Whether dimension k of the port had a number that is open now. */
static bool is_freed(const struct ox_port *before, const struct ox_port *after, unsigned k)
{
    return before->has_rank && after->has_rank && before->rank == after->rank &&
           before->dims[k] >= 0 && after->dims[k] < 0;
}

/* The input of the model that was with the name of the other's input i; NULL: there is none. */
static const struct ox_port *port_before(const struct freed *f, size_t i, size_t *at)
{
    const char *name = ox_session_input_name(f->after.session, i);
    for (*at = 0; *at < f->before.n_inputs; ++*at)
        if (strcmp(ox_session_input_name(f->before.session, *at), name) == 0)
            return ox_session_input(f->before.session, *at);
    return NULL;
}

static void find_freed(struct freed *f)
{
    f->batch = true;
    for (size_t i = 0; i < f->after.n_inputs; i++) {
        size_t at;
        const struct ox_port *after = ox_session_input(f->after.session, i);
        const struct ox_port *before = port_before(f, i, &at);
        for (unsigned k = 0; before && k < after->rank; k++) {
            if (!is_freed(before, after, k))
                continue;
            f->batch &= k == 0 && before->dtype != OX_STRING;
            if (!f->symbol && after->symbols[k]) {
                f->symbol = after->symbols[k];
                f->size = before->dims[k];
            }
        }
    }
}

/* The nth size that is tried: twice the old one; then three times, or half where it may have an upper bound. */
static int64_t nth_size(const struct freed *f, int64_t size, unsigned n)
{
    return f->batch || n == 2 ? size * n : (size + 1) / 2;
}

/* Arrays of one type, one after the other along the first dimension. */
static enum ox_status stack(struct ox_env *env, struct ox_datum ***lists, size_t at, unsigned n,
                            struct ox_datum **out, struct ox_error *err)
{
    const struct ox_tensor *first = ox_datum_get_tensor(lists[0][at]);
    struct ox_tensor *whole = NULL;
    int64_t dims[MOST_RANK];
    size_t bytes = first ? ox_dtype_size(ox_tensor_dtype(first)) * ox_tensor_count(first) : 0;
    if (!bytes || ox_tensor_rank(first) > MOST_RANK) {
        *err = (struct ox_error){OX_UNSUPPORTED, "arrays of this type are not put together here"};
        return OX_UNSUPPORTED;
    }
    char *data = malloc(bytes * n + 1);
    if (!data)
        return ox_no_memory(err);
    for (unsigned k = 0; k < n; k++)
        memcpy(data + k * bytes, ox_tensor_data(ox_datum_get_tensor(lists[k][at])), bytes);
    memcpy(dims, ox_tensor_dims(first), ox_tensor_rank(first) * sizeof *dims);
    dims[0] *= n;
    enum ox_status status = ox_tensor_from_data(&whole, env, ox_tensor_dtype(first),
                                                ox_tensor_rank(first), dims, data, err);
    free(data);
    if (status == OX_OK)
        status = ox_datum_of_tensor(out, whole, err);
    ox_tensor_release(whole);
    return status;
}

/* Runs the model that was n times; what has no batch is the same in each run. */
static enum ox_status run_pieces(struct freed *f, unsigned n, int64_t open, struct ox_error *err)
{
    for (unsigned k = 0; k < n; k++) {
        prove_release(f->made[k], f->before.n_outputs);
        enum ox_status status =
            prove_draw(f->before.session, SEED + 1000 * k, open, f->pieces[k], err);
        for (size_t i = 0; i < f->after.n_inputs && status == OX_OK && k > 0; i++) {
            size_t at;
            const struct ox_port *before = port_before(f, i, &at);
            if (!before || is_freed(before, ox_session_input(f->after.session, i), 0))
                continue;
            ox_datum_release(f->pieces[k][at]);
            f->pieces[k][at] = f->pieces[0][at] ? ox_datum_ref(f->pieces[0][at]) : NULL;
        }
        if (status == OX_OK)
            status = ox_session_run(f->before.session, f->pieces[k], f->made[k], err);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

/* Inputs of the freed model: batches put together, other dimensions drawn n times as large. */
static enum ox_status make_inputs(struct freed *f, unsigned n, int64_t open, struct ox_error *err)
{
    enum ox_status status = OX_OK;
    for (size_t i = 0; i < f->after.n_inputs && status == OX_OK; i++) {
        size_t at;
        int64_t dims[MOST_RANK];
        const struct ox_port *after = ox_session_input(f->after.session, i);
        const struct ox_port *before = port_before(f, i, &at);
        ox_datum_release(f->after.inputs[i]);
        f->after.inputs[i] = NULL;
        if (!before || !after->required)
            continue;
        if (f->batch && after->rank && is_freed(before, after, 0)) {
            status = stack(f->cli->env, f->pieces, at, n, &f->after.inputs[i], err);
            continue;
        }
        for (unsigned k = 0; k < after->rank && k < MOST_RANK; k++)
            dims[k] = is_freed(before, after, k) ? nth_size(f, before->dims[k], n)
                      : after->dims[k] < 0       ? open
                                                 : after->dims[k];
        if (f->batch && f->pieces[0][at])
            f->after.inputs[i] = ox_datum_ref(f->pieces[0][at]);
        else
            status = ox_session_random_input(f->after.session, i, SEED + i, dims,
                                             &f->after.inputs[i], err);
    }
    return status;
}

/* Whether rows of an output are those of the single runs; the first that are not are told. */
static enum ox_status compare_rows(struct freed *f, unsigned n, struct ox_error *err)
{
    const struct ox_tolerance tolerance = {.rtol = 1e-3, .atol = 1e-4, .nan_agrees = true};
    for (size_t i = 0; i < f->after.n_outputs && i < f->before.n_outputs; i++) {
        const struct ox_port *before = ox_session_output(f->before.session, i);
        const struct ox_port *after = ox_session_output(f->after.session, i);
        struct ox_datum *expected = NULL;
        struct ox_comparison result = {.agree = true};
        if (!before->rank || !f->made[0][i] || !is_freed(before, after, 0))
            continue;
        enum ox_status status = stack(f->cli->env, f->made, i, n, &expected, err);
        if (status == OX_OK)
            status = ox_compare(f->after.outputs[i], expected, &tolerance, &result, err);
        ox_datum_release(expected);
        if (status != OX_OK)
            return status == OX_UNSUPPORTED ? OX_OK : status;
        if (result.agree)
            continue;
        struct ox_strbuf name = {0};
        ox_strbuf_name(&name, ox_session_output_name(f->after.session, i), 256);
        cli_warn(f->cli, "%s: warning: with %s = %lld, output '%s' is not what %u runs give: %s",
                 f->path, f->symbol, (long long)nth_size(f, f->size, n),
                 ox_strbuf_text(&name, NULL), n, result.reason);
        ox_strbuf_release(&name);
        break;
    }
    return OX_OK;
}

/* At the nth sizes. *ran false: the model that was does not run either, with such sizes of what was open before. */
static enum ox_status run_larger(struct freed *f, unsigned n, int64_t open, bool *ran,
                                 struct ox_error *err)
{
    enum ox_status status = run_pieces(f, f->batch ? n : 1, open, err);
    *ran = status == OX_OK;
    if (status == OX_OK)
        status = make_inputs(f, n, open, err);
    if (status == OX_OK)
        status = ox_session_run(f->after.session, f->after.inputs, f->after.outputs, err);
    if (status == OX_OK && f->batch)
        status = compare_rows(f, n, err);
    prove_release(f->after.outputs, f->after.n_outputs);
    return status;
}

/* Windows and strides may need more than small sizes of what was open before. */
static enum ox_status run_at(struct freed *f, unsigned n, struct ox_error *err)
{
    static const int64_t opens[] = {2, 16, 64};
    bool ran = false;
    enum ox_status status = OX_OK;
    for (size_t k = 0; k < sizeof opens / sizeof *opens && !ran; k++) {
        status = run_larger(f, n, opens[k], &ran, err);
        if (!ran && status != OX_INPUT)
            return status;
    }
    return ran ? status : OX_OK;
}

static enum ox_status open_freed(struct freed *f, struct ox_model *before, struct ox_model *after,
                                 struct ox_error *err)
{
    enum ox_status status = prove_open(&f->before, before, err);
    if (status == OX_OK)
        status = prove_open(&f->after, after, err);
    for (unsigned k = 0; k < MOST_TIMES && status == OX_OK; k++) {
        f->pieces[k] = calloc(f->before.n_inputs + 1, sizeof(struct ox_datum *));
        f->made[k] = calloc(f->before.n_outputs + 1, sizeof(struct ox_datum *));
        status = f->pieces[k] && f->made[k] ? OX_OK : ox_no_memory(err);
    }
    return status;
}

static void release(struct freed *f)
{
    for (unsigned k = 0; k < MOST_TIMES; k++) {
        prove_release(f->pieces[k], f->before.n_inputs);
        prove_release(f->made[k], f->before.n_outputs);
        free(f->pieces[k]);
        free(f->made[k]);
    }
    prove_close(&f->after, true);
    prove_close(&f->before, false);
}

/* A batch must do at both sizes, of others one is enough: longer sequences than a model has positions for are no fault of ours. */
static enum ox_status run_freed(struct freed *f, struct ox_model *before, struct ox_model *after)
{
    struct ox_error err, first = {0};
    bool failed[MOST_TIMES + 1] = {false};
    enum ox_status status = open_freed(f, before, after, &err);
    if (status != OX_OK)
        return cli_error(f->cli, &err);
    find_freed(f);
    if (!f->symbol)
        return OX_OK;
    for (unsigned n = 2; n <= MOST_TIMES && (n == 2 || f->batch || failed[2]); n++) {
        status = run_at(f, n, &err);
        failed[n] = status == OX_INPUT;
        if (status == OX_UNSUPPORTED || status == OX_LIMIT) {
            cli_warn(f->cli, "%s: warning: not verified with %s = %lld: %s", f->path, f->symbol,
                     (long long)nth_size(f, f->size, n), cli_unnamed(err.message, f->path));
            return OX_OK;
        }
        if (status != OX_OK && status != OX_INPUT)
            return cli_error(f->cli, &err);
        if (failed[n] && !first.status)
            first = err;
    }
    unsigned n = failed[2] ? 2 : 3;
    if (!first.status)
        return OX_OK;
    if (!f->batch && !failed[3]) {
        cli_warn(f->cli, "%s: warning: with %s = %lld it does not run: %s", f->path, f->symbol,
                 (long long)nth_size(f, f->size, n), cli_unnamed(first.message, f->path));
        return OX_OK;
    }
    return cli_fail(f->cli, OX_NEGATIVE, "%s: cannot be freed: with %s = %lld: %s", f->path,
                    f->symbol, (long long)nth_size(f, f->size, n),
                    cli_unnamed(first.message, f->path));
}

static enum ox_status prove_sorted(struct freed *f, struct ox_model *before, struct ox_model *after)
{
    const struct proof_options how = {.samples = 1,
                                      .seed = SEED,
                                      .env = f->cli->env,
                                      .path = f->path,
                                      .tolerance = {1e-3, 1e-5, true}};
    struct proof proof;
    struct ox_error err;
    bool changed;
    enum ox_status status = ox_model_sort(before, &changed, &err);
    if (status == OX_OK)
        status = ox_model_sort(after, &changed, &err);
    if (status == OX_OK)
        status = prove_equal(&proof, before, after, &how, &err);
    if (status != OX_OK)
        return cli_error(f->cli, &err);
    if (!proof.agree)
        return cli_fail(f->cli, OX_NEGATIVE, "%s: cannot be freed: at its old sizes %s", f->path,
                        proof.reason);
    if (proof.samples)
        return run_freed(f, before, after);
    cli_warn(f->cli, "%s: warning: the result was not verified: %s", f->path, proof.reason);
    return OX_OK;
}

enum ox_status prove_freed(struct cli *cli, const char *path, struct ox_model *before,
                           struct ox_model *after)
{
    struct freed f = {.cli = cli, .path = path};
    struct ox_model *copies[2] = {0};
    struct ox_error err;
    enum ox_status status = ox_model_copy(&copies[0], before, &err);
    if (status == OX_OK)
        status = ox_model_copy(&copies[1], after, &err);
    status = status == OX_OK ? prove_sorted(&f, copies[0], copies[1]) : cli_error(cli, &err);
    release(&f);
    ox_model_release(copies[1]);
    ox_model_release(copies[0]);
    return status;
}
