/* Several runs in step. Each is a thread, but only the one whose turn it is moves: whenever it has made a value that the others make
 * too it passes the turn on, to the one that is ahead of the others by the least bytes. So no run gets far ahead, and what waits for
 * its counterpart is little, however differently the files order their nodes. */
#include <stdlib.h>
#include <string.h>

#include "parity/causes.h"
#include "parity/noise.h"

/* Among the bits of roles that have made a value: A has dequantized it too. */
enum { DEQUANTIZED = 1u << OX_N_ROLES };

/* ---- Turns --------------------------------------------------------------------------------------------------------- */

static void await_turn(struct ox_walker *w)
{
    struct ox_parity *p = w->parity;
    pthread_mutex_lock(&p->lock);
    while (p->turn != (int)w->role)
        pthread_cond_wait(&p->moved, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void give_turn(struct ox_parity *p, const struct ox_walker *to)
{
    pthread_mutex_lock(&p->lock);
    p->turn = to ? (int)to->role : -1;
    pthread_cond_broadcast(&p->moved);
    pthread_mutex_unlock(&p->lock);
}

static bool at_work(const struct ox_walker *w)
{
    return w->started && !w->finished;
}

/* Lets the one move on that is behind the others, which may be the caller itself. */
static void hand_on(struct ox_walker *w)
{
    struct ox_parity *p = w->parity;
    struct ox_walker *next = at_work(w) ? w : NULL;
    for (int k = 1; k < OX_N_ROLES; k++) {
        struct ox_walker *other = &p->walkers[((int)w->role + k) % OX_N_ROLES];
        if (at_work(other) && (!next || other->ahead < next->ahead))
            next = other;
    }
    if (next == w)
        return;
    give_turn(p, next);
    if (!w->finished)
        await_turn(w);
}

/* Until B has made a value, or will not. */
static void await_theirs(struct ox_walker *w, const struct ox_pair *pair)
{
    struct ox_parity *p = w->parity;
    const struct ox_walker *b = &p->walkers[OX_ROLE_B];
    while (!(pair->have & 1u << OX_ROLE_B) && at_work(b)) {
        give_turn(p, b);
        await_turn(w);
    }
}

static void *walk(void *arg)
{
    struct ox_walker *w = arg;
    await_turn(w);
    if (w->parity->failed)
        w->status = ox_fail(&w->err, OX_CANCELLED, "another run failed");
    else
        w->status = ox_session_run(w->session, w->inputs, w->outputs, &w->err);
    w->finished = true;
    /* A node's own error is a luxury: its run may fail where B's values do not fit A's nodes. So is what noise does. */
    if (w->status != OX_OK && !ox_role_may_fail(w->role))
        w->parity->failed = true;
    hand_on(w);
    return NULL;
}

/* ---- Pairs --------------------------------------------------------------------------------------------------------- */

static enum ox_status measure(struct ox_parity *p, struct ox_meter **meter,
                              const struct ox_datum *a, const struct ox_datum *b,
                              struct ox_error *err)
{
    struct ox_metrics_options options = p->options.metrics;
    options.detail = false;
    if (!*meter)
        OX_TRY(ox_meter_new(meter, p->env, &options, err));
    return ox_meter_add(*meter, a, b, err);
}

static bool same_shape(const struct ox_datum *a, const struct ox_datum *b)
{
    return a->kind == b->kind &&
           (!a->tensor ||
            (a->tensor->rank == b->tensor->rank &&
             (!a->tensor->rank || memcmp(a->tensor->dims, b->tensor->dims,
                                         a->tensor->rank * sizeof *a->tensor->dims) == 0)));
}

/* Whether values that no name pairs are the same one in spite of their shapes: of an operator whose attributes make the sizes behind
 * batch and channels. Else the pair is a mistake. */
static bool sizes_differ(const struct ox_pair *pair, const struct ox_datum *a,
                         const struct ox_datum *b)
{
    static const char *const sizing[] = {"AveragePool", "Conv", "ConvTranspose", "LpPool",
                                         "MaxPool",     "Pad",  "Resize",        "Upsample"};
    const char *op_type = pair->b->producer->op_type;
    bool sizes = false;
    for (size_t i = 0; i < OX_COUNT(sizing); i++)
        sizes = sizes || strcmp(op_type, sizing[i]) == 0;
    if (!sizes || strcmp(pair->a->producer->op_type, op_type) != 0 || !a->tensor || !b->tensor)
        return false;
    const struct ox_tensor *x = a->tensor, *y = b->tensor;
    return x->rank == y->rank && x->rank > 2 && x->dims[0] == y->dims[0] &&
           x->dims[1] == y->dims[1];
}

/* Both are constant, or are paired. */
static bool is_same_input(const struct ox_parity *p, const struct ox_value *a,
                          const struct ox_value *b)
{
    const struct ox_strmap *pairs = &p->walkers[OX_ROLE_A].pair_of;
    if (!a || !b || (ox_explain_is_constant(a) && ox_explain_is_constant(b)))
        return !a == !b;
    if (!a->producer || !b->producer)
        return !a->producer && !b->producer && strcmp(a->name, b->name) == 0;
    const uint32_t at = ox_strmap_find(pairs, a->name, strlen(a->name));
    return at != OX_STRMAP_NONE && p->pairs[at].b == b && !p->pairs[at].mismatched_shape;
}

/* Whether one operator makes both of the same: then they are the same value, whatever its shape. */
static bool has_same_inputs(const struct ox_parity *p, const struct ox_pair *pair)
{
    const struct ox_node *a = pair->a->producer, *b = pair->b->producer;
    if (strcmp(a->op_type, b->op_type) != 0 || a->n_inputs != b->n_inputs || !a->n_inputs ||
        pair->a->output_index != pair->b->output_index)
        return false;
    for (size_t i = 0; i < a->n_inputs; i++)
        if (!is_same_input(p, a->inputs[i], b->inputs[i]))
            return false;
    return true;
}

/* Exporters shape a value one way or another before they compute, and meet again; other sizes of what is computed do not. */
static bool computes_otherwise(const struct ox_parity *p, const struct ox_pair *pair,
                               const struct ox_datum *a, const struct ox_datum *b)
{
    static const char *const shaping[] = {"Expand",  "Flatten",   "Reshape",  "Shape",
                                          "Squeeze", "Transpose", "Unsqueeze"};
    for (size_t i = 0; i < OX_COUNT(shaping); i++)
        if (strcmp(pair->b->producer->op_type, shaping[i]) == 0)
            return false;
    return a->tensor && b->tensor &&
           (a->tensor->n != b->tensor->n || a->tensor->rank == b->tensor->rank) &&
           has_same_inputs(p, pair);
}

/* Integers of a quantized operator have the name of the value that they stand for. */
static bool stand_for_other(const struct ox_datum *a, const struct ox_datum *b)
{
    const enum ox_dtype of_a = ox_datum_dtype(a), of_b = ox_datum_dtype(b);
    const enum ox_dtype codes = ox_dtype_is_float(of_a) ? of_b : of_a;
    return ox_dtype_is_float(of_a) != ox_dtype_is_float(of_b) &&
           (codes == OX_INT8 || codes == OX_UINT8 || codes == OX_INT16 || codes == OX_UINT16);
}

static bool is_mistaken(const struct ox_parity *p, const struct ox_pair *pair,
                        const struct ox_datum *a, const struct ox_datum *b)
{
    if (stand_for_other(a, b))
        return true;
    return pair->match != OX_MATCH_NAME && !same_shape(a, b) && !sizes_differ(pair, a, b) &&
           !computes_otherwise(p, pair, a, b);
}

/* What quantization makes of A's value, against the value itself and against B's. */
static enum ox_status measure_dequantized(struct ox_walker *w, struct ox_pair *pair,
                                          const struct ox_datum *value, struct ox_error *err)
{
    struct ox_parity *p = w->parity;
    await_theirs(w, pair);
    const struct ox_datum *before = pair->held[OX_ROLE_A], *theirs = pair->held[OX_ROLE_B];
    if (before && same_shape(before, value))
        OX_TRY(measure(p, &pair->qdq, value, before, err));
    if (theirs && same_shape(theirs, value))
        OX_TRY(measure(p, &pair->cross, value, theirs, err));
    return OX_OK;
}

/* Compares what is held and lets go of it. */
static enum ox_status settle(struct ox_parity *p, struct ox_pair *pair, struct ox_error *err)
{
    struct ox_datum *const *held = pair->held;
    const struct ox_datum *a = held[OX_ROLE_A], *b = held[OX_ROLE_B];
    enum ox_status status = OX_OK;
    if (a && b) {
        const bool mistaken = is_mistaken(p, pair, a, b);
        pair->mismatched_shape |= mistaken;
        pair->suspect |= mistaken && has_same_inputs(p, pair);
        if (!mistaken || pair->suspect)
            status = measure(p, &pair->meter, a, b, err);
    }
    if (status == OX_OK && a && held[OX_ROLE_A_DOUBLE])
        status = measure(p, &pair->a_truth, a, held[OX_ROLE_A_DOUBLE], err);
    if (status == OX_OK && b && held[OX_ROLE_B_DOUBLE])
        status = measure(p, &pair->b_truth, b, held[OX_ROLE_B_DOUBLE], err);
    if (status == OX_OK && b && held[OX_ROLE_SWAYED])
        status = measure(p, &pair->swayed, held[OX_ROLE_SWAYED], b, err);
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        ox_datum_release(pair->held[r]);
        pair->held[r] = NULL;
        if (pair->have & 1u << r && !(pair->awaited && r == OX_ROLE_A))
            p->walkers[r].ahead -= pair->bytes;
    }
    pair->bytes = 0;
    pair->awaited = false;
    return status;
}

static unsigned roles_at_work(const struct ox_parity *p)
{
    unsigned roles = 0;
    for (size_t r = 0; r < OX_N_ROLES; r++)
        if (at_work(&p->walkers[r]))
            roles |= 1u << r;
    return roles;
}

/* All have made it; what A quantizes is kept until it is dequantized. */
static enum ox_status settle_when_complete(struct ox_parity *p, struct ox_pair *pair,
                                           struct ox_error *err)
{
    unsigned needed = roles_at_work(p);
    if (pair->dequantized && needed & 1u << OX_ROLE_A)
        needed |= DEQUANTIZED;
    needed &= ~pair->have;
    if (needed == DEQUANTIZED && !pair->awaited) {
        p->walkers[OX_ROLE_A].ahead -= pair->bytes;
        pair->awaited = true;
    }
    return needed ? OX_OK : settle(p, pair, err);
}

/* A reference to the value, or that in another type of floats. */
static enum ox_status as_type(struct ox_parity *p, const struct ox_datum *value,
                              enum ox_dtype dtype, struct ox_datum **out, struct ox_error *err)
{
    const enum ox_dtype has = ox_datum_dtype(value);
    struct ox_datum *ref = ox_datum_ref(value);
    *out = ref;
    if (has == dtype || !ox_dtype_is_float(has) || !ox_dtype_is_float(dtype))
        return OX_OK;
    const enum ox_status status =
        ox_datum_convert(out, ox_env_budget(p->env), ref, OX_DTYPE_BIT(has), dtype, err);
    ox_datum_release(ref);
    return status;
}

/* What A's node makes of B's values, and B's value in its place for those that follow. */
static enum ox_status take_over(struct ox_walker *w, struct ox_pair *pair, struct ox_datum **value,
                                struct ox_error *err)
{
    struct ox_parity *p = w->parity;
    await_theirs(w, pair);
    const struct ox_datum *theirs = pair->held[OX_ROLE_B];
    if (!theirs || p->failed || is_mistaken(p, pair, *value, theirs))
        return OX_OK;
    OX_TRY(measure(p, &pair->own, *value, theirs, err));
    enum ox_dtype has = ox_datum_dtype(theirs), needs = ox_datum_dtype(*value);
    if (!same_shape(*value, theirs) ||
        (has != needs && (!ox_dtype_is_float(has) || !ox_dtype_is_float(needs))))
        return OX_OK;
    struct ox_datum *ours;
    OX_TRY(as_type(p, theirs, needs, &ours, err));
    ox_datum_release(*value);
    *value = ours;
    return OX_OK;
}

/* What B's node makes in double precision of values with noise, and B's value with noise in its place for those that follow. */
static enum ox_status take_noise(struct ox_walker *w, struct ox_pair *pair, uint64_t seed,
                                 struct ox_datum **value, struct ox_error *err)
{
    struct ox_parity *p = w->parity;
    struct ox_datum *exact, *noisy;
    await_theirs(w, pair);
    const struct ox_datum *theirs = pair->held[OX_ROLE_B];
    if (!theirs || p->failed || !same_shape(*value, theirs))
        return OX_OK;
    OX_TRY(measure(p, &pair->noisy, *value, theirs, err));
    OX_TRY(as_type(p, theirs, ox_datum_dtype(*value), &exact, err));
    const enum ox_status status = ox_noise_add(&noisy, p->env, exact, p->noise, seed, err);
    ox_datum_release(exact);
    OX_TRY(status);
    ox_datum_release(*value);
    *value = noisy;
    return OX_OK;
}

/* Where but one value is asked for. */
static enum ox_status keep_wanted(struct ox_walker *w, const struct ox_pair *pair,
                                  struct ox_datum *value)
{
    struct ox_parity *p = w->parity;
    struct ox_datum **found = &p->found[w->role == OX_ROLE_B];
    if (pair != p->wanted)
        return OX_OK;
    ox_datum_release(*found);
    *found = ox_datum_ref(value);
    p->failed = p->found[0] && p->found[1];
    w->ahead = 1;
    hand_on(w);
    return OX_OK;
}

/* Where a walker has made a value that others make too. */
static void note_made(struct ox_walker *w, struct ox_pair *pair, const struct ox_datum *value)
{
    const unsigned bit = 1u << w->role;
    if (!pair->bytes)
        pair->bytes = ox_datum_bytes(value) + 1;
    if (!(pair->have & bit))
        w->ahead += pair->bytes;
    pair->have |= bit;
}

/* `value`: what is compared, NULL: it is not known. `made`: what nodes to come are given. */
static enum ox_status step(struct ox_walker *w, const char *name, struct ox_datum *value,
                           struct ox_datum **made, struct ox_error *err)
{
    struct ox_parity *p = w->parity;
    uint32_t at = ox_strmap_find(&w->pair_of, name, strlen(name));
    if (p->wanted)
        return at == OX_STRMAP_NONE || !value ? OX_OK : keep_wanted(w, &p->pairs[at], value);
    if (at == OX_STRMAP_NONE) {
        at = ox_strmap_find(&w->dequantized_of, name, strlen(name));
        if (at == OX_STRMAP_NONE)
            return OX_OK;
        if (value)
            OX_TRY(measure_dequantized(w, &p->pairs[at], value, err));
        p->pairs[at].have |= DEQUANTIZED;
        return settle_when_complete(p, &p->pairs[at], err);
    }
    struct ox_pair *pair = &p->pairs[at];
    if (w->role == OX_ROLE_OWN) {
        OX_TRY(take_over(w, pair, made, err));
    } else if (w->role == OX_ROLE_NOISY) {
        OX_TRY(take_noise(w, pair, at, made, err));
    } else {
        ox_datum_release(pair->held[w->role]);
        pair->held[w->role] = value ? ox_datum_ref(value) : NULL;
    }
    note_made(w, pair, *made);
    OX_TRY(settle_when_complete(p, pair, err));
    hand_on(w);
    return OX_OK;
}

enum ox_status ox_step_value(void *arg, const char *name, struct ox_datum **value,
                             struct ox_error *err)
{
    struct ox_walker *w = arg;
    const struct ox_parity_options *options = &w->parity->options;
    const size_t side = w->role == OX_ROLE_B;
    if (w->parity->failed)
        return ox_fail(err, OX_CANCELLED, "another run failed");
    if ((w->role != OX_ROLE_A && w->role != OX_ROLE_B) || !options->recorded[side])
        return step(w, name, *value, value, err);
    struct ox_datum *recorded = NULL;
    OX_TRY(options->recorded[side](options->recorded_arg[side], name, &recorded, err));
    if (recorded && same_shape(recorded, *value) &&
        ox_datum_dtype(recorded) == ox_datum_dtype(*value)) {
        ox_datum_release(*value);
        *value = ox_datum_ref(recorded);
    }
    const enum ox_status status = step(w, name, recorded, value, err);
    ox_datum_release(recorded);
    return status;
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

static enum ox_status start_all(struct ox_parity *p, struct ox_error *err)
{
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        struct ox_walker *w = &p->walkers[r];
        w->started = w->finished = false;
        w->ahead = 0;
        w->status = OX_OK;
    }
    /* Nobody moves before all are there: the turn is nobody's. */
    p->turn = -1;
    p->failed = false;
    enum ox_status status = OX_OK;
    for (size_t r = 0; r < OX_N_ROLES && status == OX_OK; r++) {
        struct ox_walker *w = &p->walkers[r];
        if (!w->active || (p->wanted && r != OX_ROLE_A && r != OX_ROLE_B))
            continue;
        if (pthread_create(&w->thread, NULL, walk, w) != 0)
            status = ox_fail(err, OX_NO_MEMORY, "no thread can be made");
        else
            w->started = true;
    }
    p->failed = status != OX_OK;
    return status;
}

enum ox_status ox_walk_in_step(struct ox_parity *p, struct ox_error *err)
{
    for (size_t i = 0; i < p->n_pairs; i++) {
        p->pairs[i].have = 0;
        p->pairs[i].bytes = 0;
        p->pairs[i].awaited = false;
    }
    enum ox_status status = start_all(p, err);
    size_t first = 0;
    while (first < OX_N_ROLES && !p->walkers[first].started)
        first++;
    if (first < OX_N_ROLES)
        give_turn(p, &p->walkers[first]);
    const struct ox_walker *guilty = NULL;
    for (size_t r = 0; r < OX_N_ROLES; r++) {
        struct ox_walker *w = &p->walkers[r];
        if (!w->started)
            continue;
        pthread_join(w->thread, NULL);
        bool own_error = w->status != OX_OK && !ox_role_may_fail(w->role);
        if (own_error && (!guilty || guilty->status == OX_CANCELLED))
            guilty = w;
    }
    for (size_t r = 0; r < OX_N_ROLES; r++)
        p->walkers[r].started = false;
    if (guilty && status == OX_OK) {
        status = guilty->status;
        if (err)
            *err = guilty->err;
    }
    for (size_t i = 0; i < p->n_pairs; i++) {
        enum ox_status last = status == OX_OK ? settle(p, &p->pairs[i], err) : OX_OK;
        for (size_t r = 0; r < OX_N_ROLES; r++) {
            ox_datum_release(p->pairs[i].held[r]);
            p->pairs[i].held[r] = NULL;
        }
        status = status == OX_OK ? last : status;
    }
    ox_pool_trim(p->walkers[OX_ROLE_A].session->pool);
    return status;
}
