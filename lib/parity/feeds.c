/* What one model is fed, for another that names or types its inputs differently. */
#include <string.h>

#include "common/env.h"
#include "runtime/runtime.h"

static size_t count_required(const struct ox_session *session)
{
    size_t n = 0;
    while (n < session->n_inputs && session->input_ports[n].required)
        n++;
    return n;
}

static size_t find(const struct ox_session *session, const char *name)
{
    size_t i = 0;
    while (i < session->n_inputs && strcmp(session->input_ports[i].name, name) != 0)
        i++;
    return i;
}

/* By place only where no name of either is known to the other. */
static bool names_fit(const struct ox_session *from, const struct ox_session *to)
{
    for (size_t i = 0; i < from->n_inputs; i++)
        if (find(to, from->input_ports[i].name) < to->n_inputs)
            return true;
    return false;
}

/* The value as the port types it: the same one where that is nothing to convert. */
static enum ox_status as_port(struct ox_env *env, const struct ox_port *port,
                              struct ox_datum *value, struct ox_datum **out, struct ox_error *err)
{
    enum ox_dtype has = ox_datum_dtype(value);
    bool differs = port->dtype != OX_UNDEFINED && has != port->dtype;
    if (differs && has != OX_STRING && port->dtype != OX_STRING)
        return ox_datum_convert(out, ox_env_budget(env), value, OX_DTYPE_BIT(has), port->dtype,
                                err);
    *out = ox_datum_ref(value);
    return OX_OK;
}

enum ox_status ox_parity_feed(struct ox_env *env, const struct ox_session *from,
                              struct ox_datum *const *inputs, const struct ox_session *to,
                              struct ox_datum **out, struct ox_error *err)
{
    bool by_name = names_fit(from, to) || count_required(from) != count_required(to);
    for (size_t i = 0; i < to->n_inputs; i++) {
        const struct ox_port *port = &to->input_ports[i];
        size_t at = by_name ? find(from, port->name) : i;
        out[i] = NULL;
        if (at >= from->n_inputs || !inputs[at])
            continue;
        OX_TRY(as_port(env, port, inputs[at], &out[i], err));
    }
    return OX_OK;
}

enum ox_status ox_parity_feed_floats(struct ox_env *env, const struct ox_session *session,
                                     struct ox_datum *const *inputs, struct ox_datum **out,
                                     struct ox_error *err)
{
    for (size_t i = 0; i < session->n_inputs; i++) {
        const struct ox_port *port = &session->input_ports[i];
        out[i] = NULL;
        if (inputs[i] && ox_dtype_is_float(port->dtype) &&
            ox_dtype_is_float(ox_datum_dtype(inputs[i])))
            OX_TRY(as_port(env, port, inputs[i], &out[i], err));
        else if (inputs[i])
            out[i] = ox_datum_ref(inputs[i]);
    }
    return OX_OK;
}
