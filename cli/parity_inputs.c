#include <stdlib.h>
#include <string.h>

#include "parity.h"

/* ---- Samples in one array ------------------------------------------------------------------------------------------ */

/* Samples that the given value of input i holds; 0: it is one for all. */
static uint64_t samples_in(const struct parity *p, size_t i)
{
    const struct ox_port *port = ox_session_input(p->sides[0].run.session, i);
    const struct ox_tensor *tensor = p->given[i] ? ox_datum_get_tensor(p->given[i]) : NULL;
    if (!tensor || !port->has_rank || ox_tensor_rank(tensor) != port->rank + 1)
        return 0;
    return (uint64_t)ox_tensor_dims(tensor)[0];
}

enum ox_status parity_slice(struct ox_env *env, const struct ox_datum *all, uint64_t i,
                            struct ox_datum **out, struct ox_error *err)
{
    const struct ox_tensor *tensor = ox_datum_get_tensor(all);
    const int64_t *dims = ox_tensor_dims(tensor);
    size_t n = ox_tensor_count(tensor) / (size_t)dims[0], begin = n * (size_t)i;
    struct ox_tensor *one = NULL;
    enum ox_status status;
    if (ox_tensor_dtype(tensor) == OX_STRING) {
        const char **strings = calloc(n + 1, sizeof *strings);
        char **owned = calloc(n + 1, sizeof *owned);
        status = strings && owned ? OX_OK : ox_no_memory(err);
        for (size_t k = 0; k < n && status == OX_OK; k++) {
            size_t len;
            const char *text = ox_tensor_string(tensor, begin + k, &len);
            strings[k] = owned[k] = strndup(text ? text : "", len);
            status = owned[k] ? OX_OK : ox_no_memory(err);
        }
        if (status == OX_OK)
            status = ox_tensor_from_strings(&one, env, ox_tensor_rank(tensor) - 1, dims + 1,
                                            strings, err);
        for (size_t k = 0; owned && k < n; k++)
            free(owned[k]);
        free(owned);
        free(strings);
    } else {
        size_t size = ox_dtype_size(ox_tensor_dtype(tensor));
        status =
            ox_tensor_from_data(&one, env, ox_tensor_dtype(tensor), ox_tensor_rank(tensor) - 1,
                                dims + 1, (const char *)ox_tensor_data(tensor) + begin * size, err);
    }
    if (status == OX_OK)
        status = ox_datum_of_tensor(out, one, err);
    ox_tensor_release(one);
    return status;
}

/* ---- Reading ------------------------------------------------------------------------------------------------------- */

/* One value for each sample, or one for all; *n is how many samples there are. */
static enum ox_status count_given(struct parity *p, uint64_t *n)
{
    struct run *a = &p->sides[0].run;
    *n = 0;
    for (size_t i = 0; i < a->n_inputs; i++) {
        uint64_t here = samples_in(p, i);
        if (here && *n && here != *n)
            return cli_fail(p->cli, OX_USAGE, "%s: '%s' has %llu samples, another input %llu",
                            a->model_path, ox_session_input_name(a->session, i),
                            (unsigned long long)here, (unsigned long long)*n);
        *n = here ? here : *n;
    }
    return OX_OK;
}

enum ox_status parity_read_inputs(struct parity *p)
{
    struct run *a = &p->sides[0].run;
    uint64_t given = 0, asked = (uint64_t)p->args->samples;
    enum ox_status status = run_read_inputs(a);
    if (status != OX_OK)
        return status;
    p->given = calloc(a->n_inputs + 1, sizeof *p->given);
    p->wide = calloc(a->n_inputs + 1, sizeof *p->wide);
    if (!p->given || !p->wide)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    memcpy(p->given, a->inputs, a->n_inputs * sizeof *p->given);
    memset(a->inputs, 0, a->n_inputs * sizeof *a->inputs);
    status = count_given(p, &given);
    if (p->sets.n)
        given = p->sets.n;
    if (status == OX_OK && given && asked > given)
        status = cli_fail(p->cli, OX_USAGE, "parity: %llu samples are asked for, %llu are given",
                          (unsigned long long)asked, (unsigned long long)given);
    if (status == OX_OK && asked > 1 && !given && !p->args->run.random)
        status = cli_fail(p->cli, OX_USAGE,
                          "parity: --samples needs --random SEED, or inputs with a leading "
                          "dimension of samples");
    p->n_samples = asked ? asked : given ? given : 1;
    return status;
}

enum ox_status parity_load_sample(struct parity *p, uint64_t sample)
{
    struct run *a = &p->sides[0].run;
    struct ox_error err = {0};
    enum ox_status status = OX_OK;
    run_release_data(a->inputs, a->n_inputs);
    run_release_data(p->wide, a->n_inputs);
    a->sample = sample;
    for (size_t i = 0; i < a->n_inputs; i++) {
        if (!p->given[i])
            continue;
        if (samples_in(p, i))
            status = parity_slice(p->cli->env, p->given[i], sample, &a->inputs[i], &err);
        else
            a->inputs[i] = ox_datum_ref(p->given[i]);
        if (status != OX_OK)
            return cli_error(p->cli, &err);
    }
    if (p->sets.n)
        status = run_read_test_inputs(a, p->sets.dirs[sample]);
    if (status == OX_OK)
        status = run_draw_inputs(a);
    if (status == OX_OK)
        status = run_require_inputs(a);
    if (status != OX_OK)
        return status;
    memcpy(p->wide, a->inputs, a->n_inputs * sizeof *p->wide);
    memset(a->inputs, 0, a->n_inputs * sizeof *a->inputs);
    if (ox_parity_feed_floats(p->cli->env, a->session, p->wide, a->inputs, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return OX_OK;
}

void parity_release_inputs(struct parity *p)
{
    const size_t n = p->given ? p->sides[0].run.n_inputs : 0;
    run_release_data(p->given, n);
    run_release_data(p->wide, n);
    free(p->given);
    free(p->wide);
    test_sets_release(&p->sets);
}
