/* Which value of one model is which of the other: by name, then by what it is computed from, then by its place in
 * the wiring. */
#include <stdlib.h>
#include <string.h>

#include "parity/pairing.h"

/* What a session makes, in the order of its main graph's file. */
struct made {
    const struct ox_value **values;
    size_t n;
    bool *taken;
};

static int by_place(const void *x, const void *y)
{
    const struct ox_value *a = *(const struct ox_value *const *)x;
    const struct ox_value *b = *(const struct ox_value *const *)y;
    if (a->producer->index != b->producer->index)
        return a->producer->index < b->producer->index ? -1 : 1;
    return a->output_index < b->output_index ? -1 : a->output_index > b->output_index;
}

static enum ox_status list_made(struct made *made, const struct ox_session *session,
                                struct ox_error *err)
{
    const struct ox_plan *plan = session->main;
    size_t most = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        most += plan->steps[i].node->n_outputs;
    made->values = calloc(most + 1, sizeof *made->values);
    made->taken = calloc(most + 1, sizeof *made->taken);
    if (!made->values || !made->taken)
        return ox_no_memory(err);
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct ox_node *node = plan->steps[i].node;
        for (size_t k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] && node->outputs[k]->producer == node)
                made->values[made->n++] = node->outputs[k];
    }
    qsort(made->values, made->n, sizeof *made->values, by_place);
    return OX_OK;
}

static void release_made(struct made *made)
{
    free(made->values);
    free(made->taken);
}

struct print {
    uint64_t print;
    size_t at;
};

/* One side. */
struct side {
    const struct ox_session *session;
    struct made made;
    struct ox_prints prints;
    uint64_t *matched;   /* by value id: the print that a pair is known by; 0: none */
    struct print *list;  /* scratch */
    const uint64_t *key; /* the prints that are held against each other */
    bool *needed;        /* scratch, by node */
};

/* Places whose prints are the same. */
struct found {
    size_t at_a, at_b;
    bool crosses;
};

/* Pairs are kept by B's places. */
struct matching {
    struct side a, b;
    const struct ox_value **partner;
    size_t *how;
    size_t n_pairs;
    struct found *found; /* scratch */
};

static void pair_up(struct matching *m, size_t at_a, size_t at_b, enum ox_match how)
{
    const struct ox_value *a = m->a.made.values[at_a], *b = m->b.made.values[at_b];
    m->partner[at_b] = a;
    m->how[at_b] = how;
    m->a.made.taken[at_a] = m->b.made.taken[at_b] = true;
    /* Any number that no fingerprint is likely to be. */
    m->a.matched[a->id] = m->b.matched[b->id] = 0xA5A5000000000001u + 2 * m->n_pairs++;
}

/* ---- By name ------------------------------------------------------------------------------------------------------- */

static size_t place_of(const struct made *made, const struct ox_value *value)
{
    size_t low = 0, high = made->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (by_place(&made->values[middle], &value) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < made->n && made->values[low] == value ? low : SIZE_MAX;
}

static enum ox_status match_names(struct matching *m, struct ox_error *err)
{
    const struct made *b = &m->b.made;
    const struct ox_value **named = NULL;
    OX_TRY(ox_match_names(m->a.session->main->graph, m->b.session->main->graph, &named, err));
    for (size_t i = 0; i < b->n; i++) {
        const struct ox_value *a = named[b->values[i]->id];
        size_t at = a ? place_of(&m->a.made, a) : SIZE_MAX;
        if (at != SIZE_MAX)
            pair_up(m, at, i, OX_MATCH_NAME);
    }
    free(named);
    return OX_OK;
}

/* ---- By fingerprint ------------------------------------------------------------------------------------------------ */

static int by_print(const void *x, const void *y)
{
    const struct print *a = x, *b = y;
    if (a->print != b->print)
        return a->print < b->print ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Those that are not matched yet and say something, by fingerprint. */
static size_t list_prints(struct side *side)
{
    const struct ox_prints *prints = &side->prints;
    size_t n = 0;
    for (size_t i = 0; i < side->made.n; i++) {
        uint32_t id = side->made.values[i]->id;
        if (!side->made.taken[i] && side->key[id] && !prints->constant[id] &&
            !prints->passed_on[id])
            side->list[n++] = (struct print){side->key[id], i};
    }
    qsort(side->list, n, sizeof *side->list, by_print);
    return n;
}

static size_t run_length(const struct print *prints, size_t at, size_t n)
{
    size_t end = at;
    while (end < n && prints[end].print == prints[at].print)
        end++;
    return end - at;
}

static int by_place_of_b(const void *x, const void *y)
{
    const struct found *a = x, *b = y;
    return a->at_b < b->at_b ? -1 : a->at_b > b->at_b;
}

/* Whether a value is computed from an earlier one. */
static bool depends(struct side *side, size_t later, size_t earlier)
{
    const struct ox_value *from = side->made.values[earlier], *value = side->made.values[later];
    const struct ox_graph *graph = from->producer->graph;
    bool *needed = side->needed;
    memset(needed, 0, graph->n_nodes * sizeof *needed);
    needed[value->producer->index] = true;
    for (size_t i = value->producer->index + 1; i-- > from->producer->index;) {
        const struct ox_node *node = graph->nodes[i];
        for (size_t k = 0; k < node->n_inputs && needed[i]; k++) {
            const struct ox_value *in = node->inputs[k];
            if (in == from)
                return true;
            if (in && in->producer && in->producer->graph == graph)
                needed[in->producer->index] = true;
        }
    }
    return false;
}

static bool take_same(const struct side *side, size_t x, size_t y)
{
    const struct ox_value *from = ox_prints_source(&side->prints, side->made.values[x]);
    return from && from == ox_prints_source(&side->prints, side->made.values[y]);
}

/* Layers beside each other, of which one side does with each what the other side does with the other one. */
static bool are_exchanged(const struct matching *m, const struct found *x, const struct found *y)
{
    enum { STEPS = 6 };
    const struct found *const both[2] = {x, y};
    uint64_t a[2], b[2];
    if (!take_same(&m->a, x->at_a, y->at_a) || !take_same(&m->b, x->at_b, y->at_b))
        return false;
    for (size_t k = 0; k < 2; k++) {
        a[k] = ox_match_context(&m->a.prints, m->a.made.values[both[k]->at_a], STEPS);
        b[k] = ox_match_context(&m->b.prints, m->b.made.values[both[k]->at_b], STEPS);
    }
    return a[0] == b[1] && a[1] == b[0] && a[0] != b[0];
}

/* A layer cannot stand before another on one side and behind it on the other: there weights have changed places. */
static void drop_crossings(struct matching *m, size_t n)
{
    enum { MOST = 64 };
    struct found *found = m->found;
    size_t asked = 0;
    qsort(found, n, sizeof *found, by_place_of_b);
    for (size_t i = 0; i + 1 < n && asked < MOST; i++) {
        struct found *x = &found[i], *y = &found[i + 1];
        if (x->at_a < y->at_a)
            continue;
        asked++;
        if (are_exchanged(m, x, y) ||
            (depends(&m->a, x->at_a, y->at_a) && depends(&m->b, y->at_b, x->at_b)))
            x->crosses = y->crosses = true;
    }
}

/* The k-th with a fingerprint on one side is the k-th on the other, if there are as many. */
static void match_prints(struct matching *m, const uint64_t *key_a, const uint64_t *key_b,
                         enum ox_match how)
{
    const struct print *x = m->a.list, *y = m->b.list;
    m->a.key = key_a;
    m->b.key = key_b;
    size_t n = list_prints(&m->a), n_b = list_prints(&m->b), n_found = 0;
    for (size_t i = 0, j = 0; i < n && j < n_b;) {
        size_t p = run_length(x, i, n), q = run_length(y, j, n_b);
        if (x[i].print != y[j].print) {
            if (x[i].print < y[j].print)
                i += p;
            else
                j += q;
            continue;
        }
        for (size_t k = 0; k < p && p == q; k++)
            m->found[n_found++] = (struct found){.at_a = x[i + k].at, .at_b = y[j + k].at};
        i += p;
        j += q;
    }
    if (key_a == m->a.prints.anchor)
        drop_crossings(m, n_found);
    for (size_t i = 0; i < n_found; i++)
        if (!m->found[i].crosses)
            pair_up(m, m->found[i].at_a, m->found[i].at_b, how);
}

/* What enters layers of the same weights should be the same, however each side has made it. */
static void match_sources(struct matching *m)
{
    for (size_t j = 0; j < m->b.made.n; j++) {
        const struct ox_value *a = m->partner[j], *b = m->b.made.values[j];
        uint64_t anchor = m->b.prints.anchor[b->id];
        if (!a || !anchor || m->a.prints.anchor[a->id] != anchor)
            continue;
        a = ox_prints_source(&m->a.prints, a);
        b = ox_prints_source(&m->b.prints, b);
        if (!a || !b || !a->producer || !b->producer)
            continue;
        size_t at_a = place_of(&m->a.made, a), at_b = place_of(&m->b.made, b);
        if (at_a != SIZE_MAX && at_b != SIZE_MAX && !m->a.made.taken[at_a] &&
            !m->b.made.taken[at_b])
            pair_up(m, at_a, at_b, OX_MATCH_PLACE);
    }
}

/* Those that both sides have between pairs, in the same places. */
static void match_gaps(struct matching *m)
{
    const struct ox_gap_side a = {&m->a.prints, m->a.matched}, b = {&m->b.prints, m->b.matched};
    struct ox_gap_pair between[OX_MOST_GAP];
    for (size_t j = 0; j < m->b.made.n; j++) {
        if (!m->partner[j])
            continue;
        size_t n = ox_match_gap(&a, &b, m->partner[j], m->b.made.values[j], between);
        for (size_t i = 0; i < n; i++) {
            size_t at_a = place_of(&m->a.made, between[i].a);
            size_t at_b = place_of(&m->b.made, between[i].b);
            if (at_a != SIZE_MAX && at_b != SIZE_MAX)
                pair_up(m, at_a, at_b, OX_MATCH_PLACE);
        }
    }
}

static bool all_taken(const struct made *made)
{
    for (size_t i = 0; i < made->n; i++)
        if (!made->taken[i])
            return false;
    return true;
}

static enum ox_status wire_both(struct matching *m, struct ox_error *err)
{
    OX_TRY(ox_prints_wire(&m->a.prints, m->a.session, m->a.matched, err));
    return ox_prints_wire(&m->b.prints, m->b.session, m->b.matched, err);
}

/* Only where names leave something over: reading all weights is not free. What was matched stands for itself in the next
 * round, so that a stretch which the sides compute differently ends at the next layer whose weights both have. */
static enum ox_status match_structure(struct matching *m, struct ox_error *err)
{
    enum { MOST_ROUNDS = 16 };
    struct ox_prints *a = &m->a.prints, *b = &m->b.prints;
    if (all_taken(&m->a.made) || all_taken(&m->b.made))
        return OX_OK;
    OX_TRY(ox_prints_make(a, m->a.session, err));
    OX_TRY(ox_prints_make(b, m->b.session, err));
    for (size_t round = 0, before = SIZE_MAX; round < MOST_ROUNDS && before != m->n_pairs;
         round++) {
        before = m->n_pairs;
        OX_TRY(wire_both(m, err));
        match_prints(m, a->strong, b->strong, OX_MATCH_STRUCTURE);
        match_prints(m, a->anchor, b->anchor, OX_MATCH_STRUCTURE);
        if (before != m->n_pairs)
            continue;
        match_prints(m, a->weak, b->weak, OX_MATCH_PLACE);
        match_sources(m);
    }
    match_gaps(m);
    return OX_OK;
}

static enum ox_status open_side(struct side *side, const struct ox_session *session,
                                struct ox_error *err)
{
    side->session = session;
    OX_TRY(list_made(&side->made, session, err));
    side->matched = calloc(session->main->graph->n_values + 1, sizeof *side->matched);
    side->list = calloc(side->made.n + 1, sizeof *side->list);
    side->needed = calloc(session->main->graph->n_nodes + 1, sizeof *side->needed);
    return side->matched && side->list && side->needed ? OX_OK : ox_no_memory(err);
}

static void release_side(struct side *side)
{
    release_made(&side->made);
    ox_prints_release(&side->prints);
    free(side->matched);
    free(side->list);
    free(side->needed);
}

enum ox_status ox_match_sessions(const struct ox_session *session_a,
                                 const struct ox_session *session_b, struct ox_pair **out,
                                 size_t *n, struct ox_error *err)
{
    struct matching m = {.n_pairs = 0};
    enum ox_status status;
    OX_TRY_CLEANUP(open_side(&m.a, session_a, err));
    OX_TRY_CLEANUP(open_side(&m.b, session_b, err));
    size_t most = m.b.made.n + 1;
    m.partner = calloc(most, sizeof *m.partner);
    m.how = calloc(most, sizeof *m.how);
    m.found = calloc(most, sizeof *m.found);
    *out = calloc(most, sizeof **out);
    if (!m.partner || !m.how || !m.found || !*out) {
        status = ox_no_memory(err);
        goto cleanup;
    }
    OX_TRY_CLEANUP(match_names(&m, err));
    OX_TRY_CLEANUP(match_structure(&m, err));
    *n = 0;
    for (size_t i = 0; i < m.b.made.n; i++)
        if (m.partner[i])
            (*out)[(*n)++] = (struct ox_pair){
                .a = m.partner[i], .b = m.b.made.values[i], .match = (enum ox_match)m.how[i]};
cleanup:
    release_side(&m.a);
    release_side(&m.b);
    free(m.partner);
    free(m.how);
    free(m.found);
    if (status != OX_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

/* What goes through Q and then this DQ; NULL: the node is none. */
static const struct ox_value *rounded_by(const struct ox_node *dq)
{
    const struct ox_value *codes = dq->n_inputs ? dq->inputs[0] : NULL;
    const struct ox_node *q = codes ? codes->producer : NULL;
    if (strcmp(dq->op_type, "DequantizeLinear") != 0 || !q ||
        strcmp(q->op_type, "QuantizeLinear") != 0 || !dq->outputs[0])
        return NULL;
    return q->inputs[0];
}

static bool clips(const struct ox_node *node)
{
    return strcmp(node->op_type, "Relu") == 0 || strcmp(node->op_type, "Clip") == 0;
}

void ox_match_clipped(const struct ox_session *a, struct ox_pair *pairs, size_t n)
{
    const struct ox_plan *plan = a->main;
    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct ox_node *dq = plan->steps[i].node;
        const struct ox_value *before = rounded_by(dq);
        struct ox_pair *clipped = NULL;
        bool taken = false;
        for (size_t k = 0; before && k < n; k++) {
            taken |= pairs[k].a == dq->outputs[0];
            if (pairs[k].a == before && clips(pairs[k].b->producer) && !clips(before->producer))
                clipped = &pairs[k];
        }
        if (clipped && !taken)
            clipped->a = dq->outputs[0];
    }
}

void ox_match_dequantized(const struct ox_session *a, struct ox_pair *pairs, size_t n,
                          const struct ox_strmap *pair_of)
{
    const struct ox_plan *plan = a->main;
    for (size_t i = 0; i < plan->n_steps && n; i++) {
        const struct ox_node *dq = plan->steps[i].node;
        const struct ox_value *before = rounded_by(dq);
        if (!before)
            continue;
        uint32_t at = ox_strmap_find(pair_of, before->name, strlen(before->name));
        const char *own = dq->outputs[0]->name;
        bool paired = ox_strmap_find(pair_of, own, strlen(own)) != OX_STRMAP_NONE;
        if (at != OX_STRMAP_NONE && !paired && !pairs[at].dequantized)
            pairs[at].dequantized = dq->outputs[0];
    }
}
