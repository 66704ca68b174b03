#include "extract_option.h"

#include <stdlib.h>
#include <string.h>

/* Names parted by commas; their number, SIZE_MAX when out of memory. *text owns them. */
static size_t split_names(const char *list, size_t n, const char ***names, char **text)
{
    size_t count = 0, most = 1;
    for (size_t i = 0; i < n; i++)
        most += list[i] == ',';
    *text = strndup(list, n);
    *names = calloc(most, sizeof **names);
    if (!*text || !*names)
        return SIZE_MAX;
    for (char *at = *text; *at;) {
        size_t len = strcspn(at, ",");
        bool more = at[len] == ',';
        at[len] = '\0';
        if (len)
            (*names)[count++] = at;
        at += len + more;
    }
    return count;
}

/* Names may hold colons ("onnx::Conv_629"): one that stands alone is most likely the one that parts them. */
static const char *likely_colon(const char *spec)
{
    const char *found = NULL;
    for (const char *at = spec; *at; at++)
        if (*at == ':' && at[1] != ':' && (at == spec || at[-1] != ':'))
            found = at;
    return found ? found : strchr(spec, ':');
}

/* OX_USAGE leaves the model as it was. */
static enum ox_status extract_at(const char *command, const char *spec, const char *colon,
                                 struct ox_model *model, const struct ox_shapes *shapes,
                                 struct ox_error *err)
{
    const char **ins = NULL, **outs = NULL;
    char *in_text = NULL, *out_text = NULL;
    size_t n_in = split_names(spec, (size_t)(colon - spec), &ins, &in_text);
    size_t n_out = split_names(colon + 1, strlen(colon + 1), &outs, &out_text);
    enum ox_status status;
    if (n_in == SIZE_MAX || n_out == SIZE_MAX) {
        status = ox_no_memory(err);
    } else if (n_out == 0) {
        err->status = status = OX_USAGE;
        snprintf(err->message, sizeof err->message, "%s: --extract names no output", command);
    } else {
        status = ox_extract(model, shapes, ins, n_in, outs, n_out, err);
    }
    free((void *)ins);
    free((void *)outs);
    free(in_text);
    free(out_text);
    return status;
}

enum ox_status extract_part(const char *command, const char *spec, struct ox_model *model,
                            const struct ox_shapes *shapes, struct ox_error *err)
{
    const char *likely = likely_colon(spec);
    struct ox_error ignored;
    if (!likely) {
        err->status = OX_USAGE;
        snprintf(err->message, sizeof err->message,
                 "%s: --extract '%s': IN,...:OUT,... is asked for", command, spec);
        return OX_USAGE;
    }
    enum ox_status status = extract_at(command, spec, likely, model, shapes, err);
    for (const char *at = strchr(spec, ':'); at && status == OX_USAGE; at = strchr(at + 1, ':'))
        if (at != likely && extract_at(command, spec, at, model, shapes, &ignored) == OX_OK)
            status = OX_OK;
    return status;
}
