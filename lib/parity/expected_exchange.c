/* Outputs under each other's names. */
#include <stdlib.h>
#include <string.h>

#include "parity/expected.h"

enum { MOST_OUTPUTS = 32 };

/* Who may be whose, and who is: an assignment by augmenting paths. */
struct matching {
    bool fits[MOST_OUTPUTS][MOST_OUTPUTS]; /* pair, output */
    size_t owner[MOST_OUTPUTS];            /* of an output: the pair; SIZE_MAX: none */
    bool seen[MOST_OUTPUTS];
};

static bool assign(struct matching *m, size_t pair, size_t n_outputs)
{
    for (size_t i = 0; i < n_outputs; i++) {
        if (!m->fits[pair][i] || m->seen[i])
            continue;
        m->seen[i] = true;
        if (m->owner[i] == SIZE_MAX || assign(m, m->owner[i], n_outputs)) {
            m->owner[i] = pair;
            return true;
        }
    }
    return false;
}

static void tell(struct ox_expecting *e, const struct matching *m)
{
    char text[OX_READING_TEXT] = "";
    size_t at = 0;
    for (size_t i = 0; i < e->n_outputs && at < sizeof text; i++) {
        const struct ox_expected_pair *pair =
            m->owner[i] == SIZE_MAX ? NULL : &e->pairs[m->owner[i]];
        if (pair && pair->output != i)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "%s'%.80s' of A is what is expected as '%.80s'", at ? ", " : "",
                                   ox_session_output_name(e->session, i), pair->name);
    }
    ox_cause_add(e->causes, 92, "outputs-exchanged", "%s: so all agree (--pair A=B holds them so)",
                 text);
    e->n_agree++;
}

enum ox_status ox_expecting_exchange(struct ox_expecting *e, struct ox_error *err)
{
    struct matching m = {.owner = {0}};
    bool all = true;
    if (e->n_outputs < 2 || e->n_outputs > MOST_OUTPUTS || e->n_pairs > MOST_OUTPUTS)
        return OX_OK;
    e->n_readings++;
    for (size_t i = 0; i < e->n_outputs; i++)
        m.owner[i] = SIZE_MAX;
    for (size_t k = 0; k < e->n_pairs; k++)
        for (size_t i = 0; i < e->n_outputs; i++) {
            struct ox_metrics metrics;
            OX_TRY(ox_expecting_compare(e, &e->pairs[k], e->outputs[i], e->pairs[k].expected,
                                        &metrics, err));
            m.fits[k][i] = metrics.agree;
        }
    for (size_t k = 0; k < e->n_pairs && all; k++) {
        memset(m.seen, 0, sizeof m.seen);
        all = assign(&m, k, e->n_outputs);
    }
    if (all)
        tell(e, &m);
    return OX_OK;
}
