#include "quant/kept.h"

#include <stdlib.h>
#include <string.h>

bool ox_kept_held_out(size_t i)
{
    return i % 2 == 0;
}

enum ox_status ox_kept_run(const struct ox_calibration *c, struct ox_session *session,
                           const struct ox_kept *kept, struct ox_datum **outputs,
                           struct ox_error *err)
{
    size_t n = ox_session_n_inputs(session);
    struct ox_datum **inputs = calloc(n + 1, sizeof *inputs);
    enum ox_status status = inputs ? OX_OK : ox_no_memory(err);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        for (size_t k = 0; k < c->n_inputs && !inputs[i]; k++) { /* a name may be listed again */
            if (kept->inputs[k] && strcmp(c->inputs[k], ox_session_input_name(session, i)) == 0)
                status = ox_datum_of_tensor(&inputs[i], kept->inputs[k], err);
        }
    }
    if (status == OX_OK)
        status = ox_session_run(session, inputs, outputs, err);
    for (size_t i = 0; inputs && i < n; i++)
        ox_datum_release(inputs[i]);
    free(inputs);
    return status;
}

void ox_kept_drop(struct ox_datum **data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ox_datum_release(data[i]);
        data[i] = NULL;
    }
}
