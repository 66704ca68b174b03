/* Evidence in integer products: processors without VNNI add pairs of uint8 by int8 in 16 bits, and those saturate. */
#include <math.h>

#include "parity/causes.h"

/* Our fast engine's value, its products exact or as such processors have them. */
static enum ox_status compute(struct ox_explaining *e, bool saturating, struct ox_datum **out,
                              struct ox_error *err)
{
    const struct ox_run_options options = {.level = 2,
                                           .saturating = saturating,
                                           .seed = e->parity->options.seed,
                                           .outputs = &e->pair->b->name,
                                           .n_outputs = 1};
    struct ox_session *session = NULL;
    OX_TRY(ox_session_new(&session, e->parity->models[1], &options, err));
    enum ox_status status = ox_session_run(session, e->b_inputs, out, err);
    ox_session_release(session);
    return status;
}

bool ox_parity_saturates(double exact_db, double saturating_db)
{
    static const double NEARER_DB = 3;
    return saturating_db > exact_db && saturating_db >= exact_db + NEARER_DB;
}

/* Whether a side's value is what saturating products give. */
static enum ox_status hold_against(struct ox_explaining *e, struct ox_datum *const *ours,
                                   const struct ox_datum *side, const char *name,
                                   struct ox_error *err)
{
    struct ox_metrics exact, saturating;
    OX_TRY(ox_explain_distance(e, ours[0], side, &exact, err));
    OX_TRY(ox_explain_distance(e, ours[1], side, &saturating, err));
    if (!ox_parity_saturates(exact.sqnr_db, saturating.sqnr_db))
        return OX_OK;
    if (isinf(saturating.sqnr_db))
        ox_cause_add(e->causes, 98, "saturating-products",
                     "%s adds products of uint8 by int8 in pairs of 16 bits that saturate, as "
                     "processors without VNNI do: computed so, our value equals it, and %llu of "
                     "%llu elements differ where sums are exact",
                     name, (unsigned long long)exact.n_mismatched,
                     (unsigned long long)exact.n_elements);
    else
        ox_cause_add(e->causes, 98, "saturating-products",
                     "%s adds products of uint8 by int8 in pairs of 16 bits that saturate, as "
                     "processors without VNNI do: computed so, our value is %.2f dB from it, with "
                     "exact sums %.2f dB",
                     name, saturating.sqnr_db, exact.sqnr_db);
    return OX_OK;
}

enum ox_status ox_explain_products(struct ox_explaining *e, struct ox_error *err)
{
    struct ox_datum *ours[2] = {NULL, NULL};
    struct ox_metrics apart;
    enum ox_status status = OX_OK;
    /* This is evidence on top: where the fast engine has no answer there is none. */
    if (compute(e, false, &ours[0], NULL) != OX_OK || compute(e, true, &ours[1], NULL) != OX_OK)
        goto cleanup;
    OX_TRY_CLEANUP(ox_explain_distance(e, ours[1], ours[0], &apart, err));
    if (apart.n_mismatched) {
        OX_TRY_CLEANUP(hold_against(e, ours, e->a_out, "A", err));
        OX_TRY_CLEANUP(hold_against(e, ours, e->b_out, "B", err));
    }
cleanup:
    ox_datum_release(ours[0]);
    ox_datum_release(ours[1]);
    return status;
}
