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
        enum ox_dtype has = ox_datum_dtype(inputs[at]);
        bool differs = port->dtype != OX_UNDEFINED && has != port->dtype;
        if (!differs || has == OX_STRING || port->dtype == OX_STRING) {
            out[i] = ox_datum_ref(inputs[at]);
            continue;
        }
        enum ox_status status = ox_datum_convert(&out[i], ox_env_budget(env), inputs[at],
                                                 OX_DTYPE_BIT(has), port->dtype, err);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}
