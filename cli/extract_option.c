#include "extract_option.h"

#include <stdlib.h>
#include <string.h>

#include "commas.h"

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
    char *before = strndup(spec, (size_t)(colon - spec));
    size_t n_in = 0, n_out = 0;
    const char *sides[2] = {before, colon + 1};
    const char **ins = before ? commas_split(&(struct opt_strings){&sides[0], 1}, &n_in) : NULL;
    const char **outs = commas_split(&(struct opt_strings){&sides[1], 1}, &n_out);
    enum ox_status status;
    if (!ins || !outs) {
        status = ox_no_memory(err);
    } else if (n_out == 0) {
        err->status = status = OX_USAGE;
        snprintf(err->message, sizeof err->message, "%s: --extract names no output", command);
    } else {
        status = ox_extract(model, shapes, ins, n_in, outs, n_out, err);
    }
    free((void *)ins);
    free((void *)outs);
    free(before);
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
