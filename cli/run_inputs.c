#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

void run_report_missing(void *arg, const struct ox_missing_op *op)
{
    struct run *run = arg;
    run->n_missing++;
    cli_fail(run->cli, OX_UNSUPPORTED,
             "%s: %s%s%s (opset %lld): %s; %zu node%s, the first is %s%s%s", run->model_path,
             op->domain, *op->domain ? "." : "", op->op_type, (long long)op->opset, op->reason,
             op->n_nodes, op->n_nodes == 1 ? "" : "s", op->graph, *op->graph ? "." : "", op->node);
}

void run_release_data(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; data && i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}

/* The index of the input of that name; n_inputs when there is none. */
static size_t find_input(const struct run *run, const char *name, size_t n)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        const char *candidate = ox_session_input_name(run->session, i);
        if (strlen(candidate) == n && memcmp(candidate, name, n) == 0)
            return i;
    }
    return run->n_inputs;
}

static enum ox_status unknown_input(struct run *run, const char *name, size_t n)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; i < run->n_inputs; i++)
        ox_strbuf_printf(&names, "%s%s", i ? ", " : "", ox_session_input_name(run->session, i));
    enum ox_status status =
        cli_fail(run->cli, OX_USAGE, "%s: has no input '%.*s'; its inputs: %s", run->model_path,
                 (int)n, name, names.data ? names.data : "none");
    ox_strbuf_release(&names);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Takes the value. */
static enum ox_status set_input(struct run *run, size_t at, struct ox_datum *value,
                                const char *path)
{
    if (run->inputs[at]) {
        ox_datum_release(value);
        return cli_fail(run->cli, OX_USAGE, "%s: input '%s' is given twice, again by %s",
                        run->model_path, ox_session_input_name(run->session, at), path);
    }
    run->inputs[at] = value;
    return OX_OK;
}

/* "1x3x224x224", "2,3" or "" for a scalar; ? and -1 are -1. */
static bool parse_dims(const char *text, int64_t *dims, unsigned *rank)
{
    for (*rank = 0; *text;) {
        char *end;
        if (*rank == 64 || (*text != '?' && (*text < '0' || *text > '9')))
            return false;
        dims[*rank] =
            *text == '?' ? (end = (char *)(uintptr_t)text + 1, -1) : strtoll(text, &end, 10);
        if (end == text || (*end && *end != 'x' && *end != ','))
            return false;
        ++*rank;
        text = end + (*end != '\0');
    }
    return true;
}

/* "FILE:DTYPE:DIMS" taken apart in place; false when it is not of that form. */
static bool split_raw(char *path, enum ox_dtype *dtype, int64_t *dims, unsigned *rank)
{
    char *last = strrchr(path, ':');
    if (!last || last == path || !parse_dims(last + 1, dims, rank))
        return false;
    *last = '\0';
    char *first = strrchr(path, ':');
    if (first && ox_dtype_parse(first + 1, dtype)) {
        *first = '\0';
        return true;
    }
    *last = ':';
    return false;
}

/* The numbers of "1,2.5,1/255" (at most 4 of them); false when it is none. */
static bool parse_numbers(const char *text, double *numbers, unsigned *n)
{
    for (*n = 0; *n < 4; ++*n) {
        char *end;
        numbers[*n] = strtod(text, &end);
        if (end == text)
            return false;
        if (*end == '/') {
            text = end + 1;
            double by = strtod(text, &end);
            if (end == text || by == 0)
                return false;
            numbers[*n] /= by;
        }
        if (!*end) {
            ++*n;
            return true;
        }
        if (*end != ',')
            return false;
        text = end + 1;
    }
    return false;
}

static enum ox_status image_options(struct run *run, struct ox_image_options *image)
{
    const struct run_args *args = run->args;
    double numbers[4];
    int64_t dims[64];
    unsigned n;
    const struct {
        const char *text, *name;
        int64_t *height, *width;
    } sizes[] = {{args->resize, "resize", &image->resize_height, &image->resize_width},
                 {args->crop, "crop", &image->crop_height, &image->crop_width}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!sizes[i].text)
            continue;
        if (!parse_dims(sizes[i].text, dims, &n) || n < 1 || n > 2 || dims[0] < 1 ||
            (n == 2 && dims[1] < 1))
            return cli_fail(run->cli, OX_USAGE, "%s: --%s takes N or HEIGHTxWIDTH, not '%s'",
                            run->cli->command->name, sizes[i].name, sizes[i].text);
        *sizes[i].height = dims[0];
        *sizes[i].width = n == 2 ? dims[1] : 0;
    }
    if ((args->mean && !parse_numbers(args->mean, image->mean, &image->n_mean)) ||
        (args->std && !parse_numbers(args->std, image->std, &image->n_std)))
        return cli_fail(run->cli, OX_USAGE,
                        "%s: --mean and --std take numbers with commas between them",
                        run->cli->command->name);
    if (args->scale && (!parse_numbers(args->scale, numbers, &n) || n != 1))
        return cli_fail(run->cli, OX_USAGE, "%s: --scale takes a number such as 1/255, not '%s'",
                        run->cli->command->name, args->scale);
    image->scale = args->scale ? numbers[0] : 1;
    image->nhwc = args->layout == RUN_NHWC;
    image->bgr = args->channels == RUN_BGR;
    image->gray = args->channels == RUN_GRAY;
    return OX_OK;
}

static enum ox_status load(struct run *run, size_t at, struct ox_tensor_file *file, size_t member,
                           const char *path)
{
    struct ox_error err = {0};
    struct ox_tensor *tensor = NULL;
    struct ox_datum *value = NULL;
    enum ox_status status = ox_tensor_file_load(&tensor, file, member, &err);
    if (status == OX_OK)
        status = ox_datum_of_tensor(&value, tensor, &err);
    ox_tensor_release(tensor);
    return status == OX_OK ? set_input(run, at, value, path) : cli_error(run->cli, &err);
}

/* The input that a member of a file belongs to: its name, or that of a sequence or map that it is a part of. */
static size_t input_of_member(const struct run *run, const char *member)
{
    size_t at = run->n_inputs;
    for (size_t n = strlen(member); n > 0 && at == run->n_inputs; n--)
        if (member[n] == '\0' || member[n] == '[' || member[n] == '.')
            at = find_input(run, member, n);
    return at;
}

/* A value for each input that the file has arrays for; what fits no input is an error. */
static enum ox_status load_named(struct run *run, struct ox_tensor_file *file, const char *path,
                                 bool *found)
{
    struct ox_error err = {0};
    for (size_t i = 0; i < ox_tensor_file_count(file); i++) {
        const char *name = ox_tensor_file_name(file, i);
        size_t at = input_of_member(run, name);
        struct ox_datum *value = NULL;
        if (!*name)
            return cli_fail(run->cli, OX_USAGE, "%s: has %zu inputs: say --input NAME=%s",
                            run->model_path, run->n_inputs, path);
        if (at == run->n_inputs)
            return cli_fail(run->cli, OX_USAGE, "%s: '%s' is no input of %s", path, name,
                            run->model_path);
        if (found[at]) /* a further part of it */
            continue;
        found[at] = true;
        if (ox_tensor_file_value(&value, file, ox_session_input_name(run->session, at), &err) !=
            OX_OK)
            return cli_error(run->cli, &err);
        if (!value)
            return cli_fail(run->cli, OX_INPUT, "%s: '%s' alone makes no value for '%s'", path,
                            name, ox_session_input_name(run->session, at));
        enum ox_status status = set_input(run, at, value, path);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

/* at == n_inputs: by the names in the file. */
static enum ox_status read_tensors(struct run *run, size_t at, const char *path,
                                   const struct ox_tensor_options *options)
{
    struct ox_error err = {0};
    struct ox_tensor_file *file;
    enum ox_status status = ox_tensor_file_open(&file, run->cli->env, path, options, &err);
    if (status != OX_OK)
        return cli_error(run->cli, &err);
    size_t member = 0;
    if (at == run->n_inputs) {
        bool *found = calloc(run->n_inputs + 1, sizeof *found);
        status = found ? load_named(run, file, path, found)
                       : cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", path);
        free(found);
    } else {
        bool several = ox_tensor_file_count(file) != 1;
        const char *name = ox_session_input_name(run->session, at);
        if (several && !ox_tensor_file_find(file, name, &member))
            status = cli_fail(run->cli, OX_INPUT, "%s: holds %zu tensors, none called '%s'", path,
                              ox_tensor_file_count(file), name);
        else
            status = load(run, at, file, member, path);
    }
    ox_tensor_file_release(file);
    return status;
}

static enum ox_status read_pb(struct run *run, size_t at, const char *path)
{
    struct ox_error err = {0};
    struct ox_datum *value;
    const struct ox_port *port = ox_session_input(run->session, at);
    enum ox_status status = ox_datum_read_pb(&value, run->cli->env, path, port->type, &err);
    if (status != OX_OK)
        return cli_error(run->cli, &err);
    return set_input(run, at, value, path);
}

static enum ox_status read_value(struct run *run, size_t at, const char *path, bool is_image)
{
    int64_t dims[64];
    struct ox_tensor_options options = {.format = is_image ? OX_TENSORS_IMAGE : OX_TENSORS_AUTO};
    if (at < run->n_inputs && ends_with(path, ".pb"))
        return read_pb(run, at, path);
    if (at < run->n_inputs)
        options.dtype = ox_session_input(run->session, at)->dtype;
    enum ox_status status = image_options(run, &options.image);
    char *copy = status == OX_OK ? strdup(path) : NULL;
    if (status == OX_OK && !copy)
        status = cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", path);
    if (status != OX_OK)
        return status;
    if (access(copy, F_OK) != 0 && split_raw(copy, &options.dtype, dims, &options.rank)) {
        options.format = OX_TENSORS_RAW;
        options.dims = dims;
    }
    status = read_tensors(run, at, copy, &options);
    free(copy);
    return status;
}

/* "NAME=FILE"; "FILE" alone where the model has one input that must be given, or where the file names its tensors. A name may
 * hold '=' itself, so the longest one that is an input counts. */
static enum ox_status read_input(struct run *run, const char *setting, bool is_image)
{
    size_t at = run->n_inputs;
    const char *path = setting;
    for (const char *p = strchr(setting, '='); p; p = strchr(p + 1, '=')) {
        size_t found = find_input(run, setting, (size_t)(p - setting));
        if (found < run->n_inputs) {
            at = found;
            path = p + 1;
        }
    }
    if (at < run->n_inputs)
        return read_value(run, at, path, is_image);
    const char *equals = strchr(setting, '=');
    if (equals && access(setting, F_OK) != 0)
        return unknown_input(run, setting, (size_t)(equals - setting));
    size_t n_required = 0, first = 0;
    for (size_t i = run->n_inputs; i-- > 0;)
        if (ox_session_input_required(run->session, i)) {
            n_required++;
            first = i;
        }
    bool names_them = ends_with(setting, ".npz") || ends_with(setting, ".safetensors") ||
                      ends_with(setting, ".json");
    if (n_required == 1 || run->n_inputs == 1)
        return read_value(run, first, setting, is_image);
    if (names_them)
        return read_value(run, run->n_inputs, setting, false);
    return cli_fail(run->cli, OX_USAGE, "%s: has %zu inputs: say --input NAME=%s", run->model_path,
                    run->n_inputs, setting);
}

enum ox_status run_read_inputs(struct run *run)
{
    const struct {
        const struct opt_strings *list;
        bool is_image;
    } kinds[] = {{&run->args->inputs, false}, {&run->args->images, true}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < kinds[k].list->n; i++) {
            enum ox_status status = read_input(run, kinds[k].list->items[i], kinds[k].is_image);
            if (status != OX_OK)
                return status;
        }
    return OX_OK;
}

/* Dims that --shape gives input `at`; *found says whether it does. */
static enum ox_status given_shape(struct run *run, size_t at, int64_t *dims, unsigned *dims_rank,
                                  bool *found)
{
    const struct ox_port *port = ox_session_input(run->session, at);
    size_t n = strlen(port->name);
    *found = false;
    for (size_t i = 0; i < run->args->shapes.n; i++) {
        const char *setting = run->args->shapes.items[i];
        unsigned rank;
        if (strncmp(setting, port->name, n) != 0 || setting[n] != '=')
            continue;
        if (!parse_dims(setting + n + 1, dims, &rank) || (port->has_rank && rank != port->rank))
            return cli_fail(run->cli, OX_USAGE, "%s: --shape %s does not fit %s",
                            run->cli->command->name, setting, port->type);
        for (unsigned k = 0; k < rank; k++)
            dims[k] = dims[k] >= 0                           ? dims[k]
                      : port->has_rank && port->dims[k] >= 0 ? port->dims[k]
                                                             : 1;
        *dims_rank = rank;
        *found = true;
    }
    return OX_OK;
}

static enum ox_status verify_shapes(struct run *run)
{
    for (size_t i = 0; i < run->args->shapes.n; i++) {
        const char *setting = run->args->shapes.items[i];
        const char *equals = strrchr(setting, '=');
        size_t n = equals ? (size_t)(equals - setting) : 0;
        if (!equals)
            return cli_fail(run->cli, OX_USAGE, "%s: --shape takes NAME=1x3x224x224, not '%s'",
                            run->cli->command->name, setting);
        if (find_input(run, setting, n) == run->n_inputs)
            return unknown_input(run, setting, n);
    }
    return OX_OK;
}

/* Sizes of symbols, as given inputs and shapes fix them; inputs that are drawn follow. */
struct sizes {
    const char *names[256];
    int64_t values[256];
    size_t n;
};

static void bind(struct sizes *sizes, const struct ox_port *port, unsigned rank,
                 const int64_t *dims)
{
    for (unsigned k = 0; port->has_rank && k < port->rank && k < rank; k++)
        if (port->dims[k] < 0 && port->symbols[k] &&
            sizes->n < sizeof sizes->names / sizeof *sizes->names) {
            sizes->names[sizes->n] = port->symbols[k];
            sizes->values[sizes->n++] = dims[k];
        }
}

/* What is not given: the declared number, the symbol's size, or 1. Whether the last was taken. */
static bool declared_dims(const struct sizes *sizes, const struct ox_port *port, int64_t *dims)
{
    bool guessed = false;
    for (unsigned k = 0; port->has_rank && k < port->rank && k < 64; k++) {
        bool known = port->dims[k] >= 0;
        dims[k] = known ? port->dims[k] : 1;
        for (size_t i = 0; port->dims[k] < 0 && port->symbols[k] && i < sizes->n; i++)
            if (strcmp(sizes->names[i], port->symbols[k]) == 0) {
                dims[k] = sizes->values[i];
                known = true;
            }
        guessed |= !known;
    }
    return guessed;
}

static enum ox_status bind_given(struct run *run, struct sizes *sizes)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        int64_t dims[64];
        unsigned rank;
        bool found;
        const struct ox_port *port = ox_session_input(run->session, i);
        const struct ox_tensor *tensor =
            run->inputs[i] ? ox_datum_get_tensor(run->inputs[i]) : NULL;
        enum ox_status status = given_shape(run, i, dims, &rank, &found);
        if (status != OX_OK)
            return status;
        if (tensor)
            bind(sizes, port, ox_tensor_rank(tensor), ox_tensor_dims(tensor));
        else if (found)
            bind(sizes, port, rank, dims);
    }
    return OX_OK;
}

/* One --fill: "[NAME=]count", "[NAME=]LOW:HIGH" or "[NAME=]NUMBER". *name bytes are the name; false: it is none of these. */
static bool parse_fill(const char *setting, size_t *name, struct ox_draw *how)
{
    const char *equals = strrchr(setting, '=');
    const char *value = equals ? equals + 1 : setting;
    char *end;
    *name = equals ? (size_t)(equals - setting) : 0;
    how->fill = OX_FILL_COUNT;
    if (strcmp(value, "count") == 0)
        return true;
    how->fill = OX_FILL_BETWEEN;
    how->low = how->high = strtod(value, &end);
    if (end != value && *end == ':') {
        value = end + 1;
        how->high = strtod(value, &end);
    }
    return end != value && !*end && equals != setting && isfinite(how->high - how->low) &&
           how->high >= how->low;
}

static enum ox_status verify_fills(struct run *run)
{
    for (size_t i = 0; i < run->args->fills.n; i++) {
        const char *setting = run->args->fills.items[i];
        struct ox_draw how;
        size_t n;
        if (!parse_fill(setting, &n, &how))
            return cli_fail(
                run->cli, OX_USAGE,
                "%s: --fill takes [NAME=]LOW:HIGH, [NAME=]NUMBER or [NAME=]count, not '%s'",
                run->cli->command->name, setting);
        const size_t at = n ? find_input(run, setting, n) : 0;
        if (n && at == run->n_inputs)
            return unknown_input(run, setting, n);
        if (n && run->inputs[at])
            return cli_fail(run->cli, OX_USAGE, "%s: --fill %s: that input is given already",
                            run->cli->command->name, setting);
    }
    return OX_OK;
}

/* How --fill asks for input `at`: what names it goes before what is for all inputs of floats. Returns whether it is named. */
static bool given_fill(const struct run *run, size_t at, struct ox_draw *how)
{
    const struct ox_port *port = ox_session_input(run->session, at);
    bool by_name = false;
    for (size_t i = 0; i < run->args->fills.n; i++) {
        const char *setting = run->args->fills.items[i];
        struct ox_draw asked = *how;
        size_t n;
        parse_fill(setting, &n, &asked);
        const bool names = n && find_input(run, setting, n) == at;
        if (names || (!n && !by_name && strstr(ox_dtype_name(port->dtype), "float")))
            *how = asked;
        by_name |= names;
    }
    return by_name;
}

static enum ox_status draw_input(struct run *run, const struct sizes *sizes, size_t i,
                                 uint64_t seed)
{
    struct ox_error err = {0};
    const struct ox_port *port = ox_session_input(run->session, i);
    int64_t dims[64];
    struct ox_draw how = {.seed = seed};
    bool found;
    enum ox_status status = given_shape(run, i, dims, &how.rank, &found);
    if (status != OX_OK)
        return status;
    if (!found && port->has_rank && port->rank <= sizeof dims / sizeof *dims) {
        if (declared_dims(sizes, port, dims) && !run->guessed)
            run->guessed = i + 1;
        how.rank = port->rank;
        found = true;
    }
    how.dims = found ? dims : NULL;
    given_fill(run, i, &how);
    status = ox_session_draw_input(run->session, i, &how, &run->inputs[i], &err);
    return status == OX_OK ? OX_OK : cli_error(run->cli, &err);
}

enum ox_status run_draw_inputs(struct run *run)
{
    struct sizes sizes = {.n = 0};
    if (!run->args->random && !run->args->fills.n)
        return OX_OK;
    if (!run->args->random)
        return cli_fail(run->cli, OX_USAGE, "%s: --fill goes with --random",
                        run->cli->command->name);
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(run->args->random, &end, 10);
    if (*run->args->random < '0' || *run->args->random > '9' || *end || errno == ERANGE)
        return cli_fail(run->cli, OX_USAGE, "%s: --random takes a number as seed, not '%s'",
                        run->cli->command->name, run->args->random);
    enum ox_status status = verify_shapes(run);
    if (status == OX_OK)
        status = verify_fills(run);
    if (status == OX_OK)
        status = bind_given(run, &sizes);
    for (size_t i = 0; i < run->n_inputs && status == OX_OK; i++) {
        struct ox_draw unused = {0};
        if (!run->inputs[i] &&
            (ox_session_input_required(run->session, i) || given_fill(run, i, &unused)))
            status = draw_input(run, &sizes, i, seed + run->sample);
    }
    return status;
}

void run_tell_guessed(const struct run *run)
{
    if (!run->guessed)
        return;
    struct ox_strbuf name = {0};
    const size_t i = run->guessed - 1;
    ox_strbuf_name(&name, ox_session_input_name(run->session, i), 256);
    if (!name.failed)
        cli_fail(run->cli, OX_INPUT,
                 "%s: input '%s', %s, was drawn with 1 for each open dimension (--shape %s=DIMS "
                 "gives sizes)",
                 run->model_path, name.data, ox_session_input(run->session, i)->type, name.data);
    ox_strbuf_release(&name);
}

enum ox_status run_read_test_inputs(struct run *run, const char *dir)
{
    for (size_t i = 0; i < run->n_inputs; i++) {
        struct ox_strbuf path = {0};
        ox_strbuf_printf(&path, "%s/input_%zu.pb", dir, i);
        enum ox_status status =
            path.failed ? cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", dir) : OX_OK;
        bool there = status == OX_OK && !run->inputs[i] && access(path.data, F_OK) == 0;
        if (there)
            status = read_pb(run, i, path.data);
        ox_strbuf_release(&path);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

enum ox_status run_require_inputs(struct run *run)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; i < run->n_inputs; i++)
        if (!run->inputs[i] && ox_session_input_required(run->session, i))
            ox_strbuf_printf(&names, "%s%s: %s", names.len ? ", " : "",
                             ox_session_input_name(run->session, i),
                             ox_session_input(run->session, i)->type);
    enum ox_status status = OX_OK;
    if (names.len)
        status = cli_fail(run->cli, OX_USAGE, "%s: inputs are missing (--input NAME=FILE): %s",
                          run->model_path, names.data);
    ox_strbuf_release(&names);
    return status;
}
