/* Two models, layer against layer: opening, running, reading. */
#include "parity/causes.h"
#include "parity/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum ox_status open_walker(struct ox_parity *p, enum ox_role role, struct ox_error *err)
{
    struct ox_walker *w = &p->walkers[role];
    bool is_a = ox_role_is_of_a(role);
    bool is_double = ox_role_is_double(role);
    struct ox_run_options options = {.level = is_double ? 0
                                              : is_a    ? p->options.a_level
                                                        : p->options.b_level,
                                     .oracle = is_double,
                                     .seed = p->options.seed,
                                     .saturating = p->options.saturating && !is_double,
                                     .lean = true,
                                     .once = true, /* packed weights of three runs would add up */
                                     .on_replace = ox_step_value,
                                     .replace_arg = w};
    w->parity = p;
    w->role = role;
    w->active = true;
    ox_strmap_init(&w->pair_of);
    ox_strmap_init(&w->dequantized_of);
    OX_TRY(ox_session_new(&w->session, p->models[is_a ? 0 : 1], &options, err));
    if (role != OX_ROLE_A)
        ox_session_share_memory(w->session, p->walkers[OX_ROLE_A].session);
    return OX_OK;
}

/* The node's name, or "#12". */
static const char *label(struct ox_parity *p, const struct ox_node *node)
{
    struct ox_strbuf text = {0};
    if (*node->name)
        return node->name;
    ox_node_label(&text, node);
    const char *kept = ox_arena_text(&p->labels, &text);
    ox_strbuf_release(&text);
    return kept;
}

static enum ox_status index_pairs(struct ox_parity *p, struct ox_error *err)
{
    ox_match_clipped(p->walkers[OX_ROLE_A].session, p->pairs, p->n_pairs);
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        struct ox_walker *w = &p->walkers[r];
        bool is_b = !ox_role_is_of_a((enum ox_role)r);
        for (size_t i = 0; w->active && i < p->n_pairs; i++) {
            const struct ox_value *value = is_b ? p->pairs[i].b : p->pairs[i].a;
            uint32_t at = (uint32_t)i;
            if (!ox_strmap_add(&w->pair_of, value->name, strlen(value->name), &at, NULL))
                return ox_no_memory(err);
        }
    }
    struct ox_walker *a = &p->walkers[OX_ROLE_A];
    ox_match_dequantized(a->session, p->pairs, p->n_pairs, &a->pair_of);
    for (size_t i = 0; i < p->n_pairs; i++) {
        struct ox_pair *pair = &p->pairs[i];
        uint32_t at = (uint32_t)i;
        if (pair->dequantized && !ox_strmap_add(&a->dequantized_of, pair->dequantized->name,
                                                strlen(pair->dequantized->name), &at, NULL))
            return ox_no_memory(err);
        pair->a_node = label(p, pair->a->producer);
        pair->b_node = label(p, pair->b->producer);
        if (!pair->a_node || !pair->b_node)
            return ox_no_memory(err);
    }
    return OX_OK;
}

enum ox_status ox_parity_new(struct ox_parity **out, struct ox_model *a, struct ox_model *b,
                             const struct ox_parity_options *options, struct ox_error *err)
{
    struct ox_parity *p = calloc(1, sizeof *p);
    if (!p)
        return ox_no_memory(err);
    p->env = a->env;
    p->models[0] = a;
    p->models[1] = b;
    p->options = *options;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->moved, NULL);
    ox_arena_init(&p->labels, ox_env_budget(p->env));
    enum ox_status status;
    OX_TRY_CLEANUP(open_walker(p, OX_ROLE_A, err));
    OX_TRY_CLEANUP(open_walker(p, OX_ROLE_B, err));
    if (options->own)
        OX_TRY_CLEANUP(open_walker(p, OX_ROLE_OWN, err));
    if (options->oracle) {
        OX_TRY_CLEANUP(open_walker(p, OX_ROLE_A_DOUBLE, err));
        OX_TRY_CLEANUP(open_walker(p, OX_ROLE_B_DOUBLE, err));
    }
    if (options->perturb) {
        p->noise = ox_noise_share(a, b);
        OX_TRY_CLEANUP(open_walker(p, OX_ROLE_NOISY, err));
        OX_TRY_CLEANUP(open_walker(p, OX_ROLE_SWAYED, err));
    }
    OX_TRY_CLEANUP(ox_match_sessions(p->walkers[OX_ROLE_A].session, p->walkers[OX_ROLE_B].session,
                                     &p->pairs, &p->n_pairs, err));
    p->compared = calloc(p->n_pairs + 1, sizeof *p->compared);
    p->users = calloc(p->n_pairs + 1, sizeof *p->users);
    status = p->compared && p->users ? index_pairs(p, err) : ox_no_memory(err);
cleanup:
    if (status != OX_OK) {
        ox_parity_release(p);
        return status;
    }
    *out = p;
    return OX_OK;
}

void ox_parity_release(struct ox_parity *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_pairs; i++) {
        ox_meter_release(p->pairs[i].meter);
        ox_meter_release(p->pairs[i].own);
        ox_meter_release(p->pairs[i].a_truth);
        ox_meter_release(p->pairs[i].b_truth);
        ox_meter_release(p->pairs[i].qdq);
        ox_meter_release(p->pairs[i].cross);
        ox_meter_release(p->pairs[i].noisy);
        ox_meter_release(p->pairs[i].swayed);
    }
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        ox_session_release(p->walkers[r].session);
        ox_strmap_release(&p->walkers[r].pair_of);
        ox_strmap_release(&p->walkers[r].dequantized_of);
    }
    ox_arena_release(&p->labels);
    pthread_cond_destroy(&p->moved);
    pthread_mutex_destroy(&p->lock);
    free(p->pairs);
    free(p->compared);
    free(p->users);
    free(p);
}

const struct ox_session *ox_parity_session(const struct ox_parity *p, size_t side)
{
    return p->walkers[side ? OX_ROLE_B : OX_ROLE_A].session;
}

size_t ox_parity_names(const struct ox_parity *p, size_t side, const char **names, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_pairs; i++) {
        const struct ox_value *asked[] = {side ? p->pairs[i].b : p->pairs[i].a,
                                          side ? NULL : p->pairs[i].dequantized};
        for (size_t k = 0; k < OX_COUNT(asked); k++)
            if (asked[k] && strcmp(asked[k]->producer->op_type, "Constant") != 0 && n++ < most)
                names[n - 1] = asked[k]->name;
    }
    return n;
}

/* ---- Running ------------------------------------------------------------------------------------------------------- */

static enum ox_status make_noisy(struct ox_parity *p, struct ox_datum *const *inputs,
                                 struct ox_datum ***out, struct ox_error *err)
{
    const size_t n = p->walkers[OX_ROLE_B].session->n_inputs;
    struct ox_datum **noisy = calloc(n + 1, sizeof(*noisy));
    enum ox_status status = noisy ? OX_OK : ox_no_memory(err);
    *out = noisy;
    /* Seeds apart from those of pairs. */
    for (size_t i = 0; i < n && status == OX_OK; i++)
        if (inputs[i])
            status = ox_noise_add(&noisy[i], p->env, inputs[i], p->noise, ~(uint64_t)i, err);
    return status;
}

/* a_outputs, b_outputs: NULL where they are not asked for. */
static enum ox_status run_walkers(struct ox_parity *p, struct ox_datum *const *a_inputs,
                                  struct ox_datum *const *b_inputs, struct ox_datum **a_outputs,
                                  struct ox_datum **b_outputs, struct ox_error *err)
{
    struct ox_datum **spare[OX_N_ROLES] = {NULL}, **noisy = NULL;
    enum ox_status status =
        p->options.perturb && !p->wanted ? make_noisy(p, b_inputs, &noisy, err) : OX_OK;
    for (size_t r = 0; r < OX_N_ROLES && status == OX_OK; r++) {
        struct ox_walker *w = &p->walkers[r];
        if (!w->active)
            continue;
        w->inputs = ox_role_is_of_a(w->role) ? a_inputs : b_inputs;
        if (noisy && (r == OX_ROLE_NOISY || r == OX_ROLE_SWAYED))
            w->inputs = noisy;
        w->outputs = r == OX_ROLE_A ? a_outputs : r == OX_ROLE_B ? b_outputs : NULL;
        if (w->outputs)
            continue;
        w->outputs = spare[r] = calloc(w->session->n_outputs + 1, sizeof *spare[r]);
        if (!spare[r])
            status = ox_no_memory(err);
    }
    if (status == OX_OK)
        status = ox_walk_in_step(p, err);
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        for (size_t i = 0; spare[r] && i < p->walkers[r].session->n_outputs; i++)
            ox_datum_release(spare[r][i]);
        free(spare[r]);
    }
    for (size_t i = 0; noisy && i < p->walkers[OX_ROLE_B].session->n_inputs; i++)
        ox_datum_release(noisy[i]);
    free(noisy);
    return status;
}

enum ox_status ox_parity_run(struct ox_parity *p, struct ox_datum *const *a_inputs,
                             struct ox_datum *const *b_inputs, struct ox_datum **a_outputs,
                             struct ox_datum **b_outputs, struct ox_error *err)
{
    enum ox_status status = run_walkers(p, a_inputs, b_inputs, a_outputs, b_outputs, err);
    p->n_compared = 0;
    /* Where a side could not go on, a shape that differs may be why. */
    for (size_t i = 0; i < p->n_pairs; i++)
        if (p->pairs[i].meter &&
            (!p->pairs[i].mismatched_shape || (status == OX_INPUT && p->pairs[i].suspect)))
            p->compared[p->n_compared++] = i;
    return status;
}

enum ox_status ox_parity_fetch(struct ox_parity *p, const struct ox_pair *pair,
                               struct ox_datum *const *a_inputs, struct ox_datum *const *b_inputs,
                               struct ox_datum **a, struct ox_datum **b, struct ox_error *err)
{
    p->wanted = pair;
    enum ox_status status = run_walkers(p, a_inputs, b_inputs, NULL, NULL, err);
    p->wanted = NULL;
    /* Cancelled because there was no more to do. */
    if (p->found[0] && p->found[1])
        status = OX_OK;
    *a = p->found[0];
    *b = p->found[1];
    p->found[0] = p->found[1] = NULL;
    return status;
}

/* ---- Reading ------------------------------------------------------------------------------------------------------- */

size_t ox_parity_n_layers(const struct ox_parity *p)
{
    return p ? p->n_compared : 0;
}

static double share_of(double sqnr_db)
{
    return pow(10, -sqnr_db / 20);
}

/* What noise does to a value, and whether what its node departs by is no more than roundings of what enters it may come to. */
static void read_noise(const struct ox_parity *p, const struct ox_pair *pair,
                       struct ox_parity_layer *layer)
{
    /* One way to compute it may round many times more than the other. */
    static const double ROUNDINGS = 128;
    struct ox_metrics noisy, swayed;
    layer->has_noise = pair->noisy && pair->swayed;
    if (!layer->has_noise)
        return;
    ox_meter_read(pair->noisy, &noisy);
    ox_meter_read(pair->swayed, &swayed);
    layer->noise = p->noise;
    layer->amplifies = share_of(noisy.sqnr_db) / p->noise;
    layer->swayed = share_of(swayed.sqnr_db) / p->noise;
    if (!layer->has_own || layer->own.agree)
        return;
    const double unit =
        fmax(ox_noise_roundoff(layer->own.a_dtype), ox_noise_roundoff(layer->own.b_dtype));
    const bool rounding =
        share_of(layer->own.sqnr_db) <= ROUNDINGS * unit * fmax(layer->amplifies, 1);
    layer->nature = rounding ? "ill-conditioned" : "wrong";
}

bool ox_parity_layer(const struct ox_parity *p, size_t i, struct ox_parity_layer *layer)
{
    static const char *const matches[] = {"name", "structure", "place"};
    if (i >= ox_parity_n_layers(p))
        return false;
    const struct ox_pair *pair = &p->pairs[p->compared[i]];
    *layer = (struct ox_parity_layer){.a_name = pair->a->name,
                                      .b_name = pair->b->name,
                                      .a_node = pair->a_node,
                                      .b_node = pair->b_node,
                                      .a_op = pair->a->producer->op_type,
                                      .b_op = pair->b->producer->op_type,
                                      .match = matches[pair->match],
                                      .has_own = pair->own != NULL,
                                      .has_oracle = pair->a_truth && pair->b_truth};
    ox_meter_read(pair->meter, &layer->metrics);
    if (layer->has_own)
        ox_meter_read(pair->own, &layer->own);
    layer->has_qdq = pair->qdq && pair->cross;
    if (layer->has_qdq) {
        ox_meter_read(pair->qdq, &layer->qdq);
        ox_meter_read(pair->cross, &layer->cross);
    }
    read_noise(p, pair, layer);
    if (layer->has_oracle) {
        ox_meter_read(pair->a_truth, &layer->a_error);
        ox_meter_read(pair->b_truth, &layer->b_error);
    }
    return true;
}

/* Whether two ways that had parted meet again between a value and what is computed from it: there they agree, and not only because
 * what is left of the difference is small against the tolerance. */
static bool meets_again(const struct ox_layer_users *value, const struct ox_layer_users *user)
{
    static const double CLEARER_DB = 20;
    return !user->at_fault && !(user->sqnr_db < value->sqnr_db + CLEARER_DB);
}

/* Where one side computes in 16 bits and the other does not, nearly everything departs a little. Values whose nodes do no more than
 * that when fed the same are passed by, unless nothing else is at fault. */
static void pass_rounding_by(struct ox_parity *p)
{
    /* Of 16-bit floats with 8 bits of precision; sums of such products stay above. */
    static const double ROUNDED_DB = 30;
    bool *passed = calloc(p->n_compared + 1, sizeof *passed);
    bool narrow = false, other_fault = false;
    for (size_t i = 0; i < p->n_compared && passed; i++) {
        const struct ox_pair *pair = &p->pairs[p->compared[i]];
        struct ox_metrics all, own = {.agree = false};
        ox_meter_read(pair->meter, &all);
        narrow = narrow || ox_dtype_is_half(all.a_dtype) != ox_dtype_is_half(all.b_dtype);
        if (!p->users[i].at_fault)
            continue;
        if (narrow && pair->own)
            ox_meter_read(pair->own, &own);
        passed[i] = narrow && pair->own && (own.agree || own.sqnr_db >= ROUNDED_DB);
        other_fault = other_fault || !passed[i];
    }
    p->n_rounded = 0;
    for (size_t i = 0; i < p->n_compared && other_fault; i++)
        if (passed[i]) {
            p->users[i].at_fault = false;
            p->rounded = p->n_rounded++ ? p->rounded : i;
        }
    free(passed);
}

/* Values that only their places pair may be two steps on such ways, as where one side scales before a product and the other behind
 * it: then they are at no fault. Users come later, so one way back tells. */
static void find_faults(struct ox_parity *p)
{
    enum { MOST = OX_MOST_REGION };
    size_t sources[MOST];
    for (size_t i = 0; i < p->n_compared; i++) {
        struct ox_metrics metrics;
        ox_meter_read(p->pairs[p->compared[i]].meter, &metrics);
        p->users[i] =
            (struct ox_layer_users){.at_fault = !metrics.agree, .sqnr_db = metrics.sqnr_db};
    }
    for (size_t i = p->n_compared; i-- > 0;) {
        struct ox_layer_users *user = &p->users[i];
        if (p->pairs[p->compared[i]].match == OX_MATCH_PLACE && user->n && !user->n_apart)
            user->at_fault = false;
        size_t n = ox_parity_sources(p, i, sources, MOST);
        for (size_t k = 0; k < n && k < MOST; k++) {
            struct ox_layer_users *value = &p->users[sources[k]];
            value->n++;
            value->n_apart += !meets_again(value, user);
        }
    }
}

size_t ox_parity_first(struct ox_parity *p)
{
    find_faults(p);
    pass_rounding_by(p);
    for (size_t i = 0; i < p->n_compared; i++)
        if (p->users[i].at_fault)
            return i;
    return SIZE_MAX;
}
