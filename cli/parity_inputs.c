#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "parity.h"

/* ---- Folders of test data ------------------------------------------------------------------------------------------ */

static int is_test_set(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_data_set_", 14) == 0;
}

static bool add_folder(struct parity *p, const char *dir, const char *member)
{
    const char **more = realloc(p->folders, (p->n_folders + 1) * sizeof *more);
    struct ox_strbuf path = {0};
    if (!more)
        return false;
    p->folders = more;
    ox_strbuf_printf(&path, "%s%s%s", dir, member ? "/" : "", member ? member : "");
    if (path.failed)
        return false;
    p->folders[p->n_folders++] = path.data;
    return true;
}

/* A folder of inputs, or those in it. */
static enum ox_status list_folders(struct parity *p, const char *dir)
{
    struct stat info;
    if (stat(dir, &info) != 0 || !S_ISDIR(info.st_mode))
        return cli_fail(p->cli, OX_INPUT, "%s: is no folder with test data", dir);
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_test_set, versionsort);
    bool fits = true;
    for (int i = 0; i < n; i++) {
        fits = fits && add_folder(p, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (n <= 0)
        fits = add_folder(p, dir, NULL);
    return fits ? OX_OK : cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
}

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
    for (size_t i = 0; i < p->args->run.test_data.n; i++) {
        enum ox_status status = list_folders(p, p->args->run.test_data.items[i]);
        if (status != OX_OK)
            return status;
    }
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
    if (p->n_folders)
        given = p->n_folders;
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
    if (p->n_folders)
        status = run_read_test_inputs(a, p->folders[sample]);
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
    for (size_t i = 0; i < p->n_folders; i++)
        free((void *)(uintptr_t)p->folders[i]);
    free(p->folders);
}
