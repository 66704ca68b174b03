#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parity.h"

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

void parity_release_wants(struct parity_wants *wants)
{
    for (size_t i = 0; i < wants->n; i++) {
        free((void *)(uintptr_t)wants->items[i].name);
        ox_datum_release(wants->items[i].value);
    }
    free(wants->items);
}

static enum ox_status keep(struct parity *p, struct parity_wants *wants, const char *name,
                           const struct ox_datum *expected)
{
    struct ox_expected *more = realloc(wants->items, (wants->n + 1) * sizeof *more);
    char *kept = strdup(name);
    if (more)
        wants->items = more;
    if (!more || !kept) {
        free(kept);
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    }
    more[wants->n] = (struct ox_expected){.name = kept, .value = ox_datum_ref(expected)};
    parity_options_for(p, name, &more[wants->n++].metrics);
    return OX_OK;
}

/* Compares, or only keeps what is expected. */
static enum ox_status add(struct parity *p, struct parity_wants *wants, const char *name,
                          const struct ox_datum *a, const struct ox_datum *b, bool in_a, bool in_b)
{
    struct ox_error err = {0};
    if (wants)
        return b ? keep(p, wants, name, b) : OX_OK;
    struct parity_output *output = parity_output_of(p, name, p->n_sides);
    if (!output)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    output->in_a = in_a;
    output->in_b = in_b;
    if (ox_meter_add(output->meter, a, b, &err) != OX_OK)
        return cli_error(p->cli, &err);
    return p->args->oracle && in_a && in_b ? parity_measure_expected(p, output, b) : OX_OK;
}

/* ---- A folder of output_K.pb --------------------------------------------------------------------------------------- */

static enum ox_status take_folder(struct parity *p, struct parity_wants *wants, const char *dir)
{
    struct run *a = &p->sides[0].run;
    size_t n = 0;
    for (size_t i = 0; i < a->n_outputs; i++) {
        struct ox_strbuf path = {0};
        struct ox_error err = {0};
        struct ox_datum *expected = NULL;
        const struct ox_port *port = ox_session_output(a->session, i);
        ox_strbuf_printf(&path, "%s/output_%zu.pb", dir, i);
        if (path.failed || access(path.data, F_OK) != 0) {
            ox_strbuf_release(&path);
            continue;
        }
        n++;
        enum ox_status status =
            ox_datum_read_pb(&expected, p->cli->env, path.data, port->type, &err);
        ox_strbuf_release(&path);
        if (status != OX_OK)
            return cli_error(p->cli, &err);
        status = add(p, wants, port->name, a->outputs[i], expected, true, true);
        ox_datum_release(expected);
        if (status != OX_OK)
            return status;
    }
    return n ? OX_OK : cli_fail(p->cli, OX_INPUT, "%s: holds no output_K.pb", dir);
}

/* ---- A file of arrays ---------------------------------------------------------------------------------------------- */

/* An output as it is expected of sample i: a slice of its array when that has a dimension of samples in front. *out is NULL where
 * the file has nothing of that name. */
static enum ox_status load(struct parity *p, struct ox_tensor_file *file, const char *name,
                           uint64_t i, const struct ox_datum *actual, struct ox_datum **out)
{
    struct ox_error err = {0};
    struct ox_datum *all = NULL;
    if (ox_tensor_file_value(&all, file, name, &err) != OX_OK)
        return cli_error(p->cli, &err);
    const struct ox_tensor *tensor = all ? ox_datum_get_tensor(all) : NULL;
    const struct ox_tensor *is = ox_datum_get_tensor(actual);
    *out = all;
    bool sampled = tensor && is && ox_tensor_rank(tensor) == ox_tensor_rank(is) + 1 &&
                   i < (uint64_t)ox_tensor_dims(tensor)[0] && p->n_samples > 1;
    if (!sampled)
        return OX_OK;
    enum ox_status status = parity_slice(p->cli->env, all, i, out, &err);
    ox_datum_release(all);
    return status == OX_OK ? OX_OK : cli_error(p->cli, &err);
}

/* "[0].keys" and the like: what ox_values_write() puts behind the name of a value that is no tensor. */
static bool is_part(const char *rest)
{
    static const char *const parts[] = {".keys", ".values", ".some", ".none"};
    while (*rest) {
        size_t n = 0;
        if (*rest == '[') {
            n = 1 + strspn(rest + 1, "0123456789");
            n = rest[n] == ']' ? n + 1 : 0;
        }
        for (size_t k = 0; k < sizeof parts / sizeof *parts && !n; k++)
            n = strncmp(rest, parts[k], strlen(parts[k])) == 0 ? strlen(parts[k]) : 0;
        if (!n)
            return false;
        rest += n;
    }
    return true;
}

/* Whether an array of the file is an output, or a part of one, that A has. */
static bool is_known(const struct parity *p, const char *member)
{
    const struct run *a = &p->sides[0].run;
    for (size_t k = 0; k < a->n_outputs; k++) {
        const char *name = parity_other_name(p, ox_session_output_name(a->session, k));
        size_t n = strlen(name);
        if (strncmp(member, name, n) == 0 && is_part(member + n))
            return true;
    }
    return false;
}

static enum ox_status take_members(struct parity *p, struct parity_wants *wants,
                                   struct ox_tensor_file *file, uint64_t i)
{
    const struct run *a = &p->sides[0].run;
    size_t n = ox_tensor_file_count(file);
    bool nameless = n == 1 && !*ox_tensor_file_name(file, 0) && a->n_outputs == 1;
    for (size_t k = 0; k < a->n_outputs; k++) {
        const char *name = ox_session_output_name(a->session, k);
        const char *other = nameless ? "" : parity_other_name(p, name);
        struct ox_datum *expected = NULL;
        enum ox_status status = load(p, file, other, i, a->outputs[k], &expected);
        if (status == OX_OK)
            status = add(p, wants, name, a->outputs[k], expected, true, expected != NULL);
        ox_datum_release(expected);
        if (status != OX_OK)
            return status;
    }
    for (size_t k = 0; k < n && !nameless; k++) {
        const char *member = ox_tensor_file_name(file, k);
        struct ox_datum *expected = NULL;
        struct ox_error err = {0};
        if (is_known(p, member))
            continue;
        if (ox_tensor_file_value(&expected, file, member, &err) != OX_OK)
            return cli_error(p->cli, &err);
        enum ox_status status = add(p, wants, member, NULL, expected, false, true);
        ox_datum_release(expected);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

enum ox_status parity_take_expected(struct parity *p, uint64_t i, struct parity_wants *wants)
{
    const char *path = p->args->expected;
    struct ox_error err = {0};
    if (!path)
        return take_folder(p, wants, p->sets.dirs[i]);
    if (is_folder(path))
        return take_folder(p, wants, path);
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".pb") == 0) {
        struct run *a = &p->sides[0].run;
        struct ox_datum *expected = NULL;
        if (ox_datum_read_pb(&expected, p->cli->env, path, ox_session_output(a->session, 0)->type,
                             &err) != OX_OK)
            return cli_error(p->cli, &err);
        enum ox_status status = add(p, wants, ox_session_output_name(a->session, 0), a->outputs[0],
                                    expected, true, true);
        ox_datum_release(expected);
        return status;
    }
    struct ox_tensor_file *file = NULL;
    if (ox_tensor_file_open(&file, p->cli->env, path, NULL, &err) != OX_OK)
        return cli_error(p->cli, &err);
    enum ox_status status = take_members(p, wants, file, i);
    ox_tensor_file_release(file);
    return status;
}
