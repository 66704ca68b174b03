/* Which value of one model is which of the other: by name, then by what it is computed from, then by its place in
 * the wiring. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "parity/pairs.h"

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
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
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

/* ---- By name ------------------------------------------------------------------------------------------------------- */

/* "123", "onnx::Conv_123": exporters count, and a change at the top renames all that follows. */
static bool is_counted(const char *name)
{
    size_t n = strlen(name);
    while (n && isdigit((unsigned char)name[n - 1]))
        n--;
    return name[n] && (!n || strncmp(name, "onnx::", 6) == 0);
}

static bool name_tells(const struct ox_value *a, const struct ox_value *b)
{
    return !is_counted(a->name) || strcmp(a->producer->op_type, b->producer->op_type) == 0;
}

static enum ox_status match_names(struct made *a, struct made *b, const struct ox_value **partner,
                                  struct ox_error *err)
{
    struct ox_strmap names;
    bool fits = true;
    ox_strmap_init(&names);
    for (size_t i = 0; i < a->n && fits; i++) {
        uint32_t at = (uint32_t)i;
        fits = ox_strmap_add(&names, a->values[i]->name, strlen(a->values[i]->name), &at, NULL);
    }
    for (size_t i = 0; i < b->n && fits; i++) {
        const char *name = b->values[i]->name;
        uint32_t at = ox_strmap_find(&names, name, strlen(name));
        if (at == OX_STRMAP_NONE || !name_tells(a->values[at], b->values[i]))
            continue;
        partner[i] = a->values[at];
        a->taken[at] = b->taken[i] = true;
    }
    ox_strmap_release(&names);
    return fits ? OX_OK : ox_fail(err, OX_NO_MEMORY, "out of memory");
}

/* ---- By fingerprint ------------------------------------------------------------------------------------------------ */

struct print {
    uint64_t print;
    size_t at;
};

static int by_print(const void *x, const void *y)
{
    const struct print *a = x, *b = y;
    if (a->print != b->print)
        return a->print < b->print ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Those that are not matched yet and say something, by fingerprint. */
static size_t list_prints(const struct made *made, const struct ox_prints *prints,
                          const uint64_t *of, struct print *out)
{
    size_t n = 0;
    for (size_t i = 0; i < made->n; i++) {
        uint32_t id = made->values[i]->id;
        if (!made->taken[i] && of[id] && !prints->constant[id] && !prints->passed_on[id])
            out[n++] = (struct print){of[id], i};
    }
    qsort(out, n, sizeof *out, by_print);
    return n;
}

static size_t run_length(const struct print *prints, size_t at, size_t n)
{
    size_t end = at;
    while (end < n && prints[end].print == prints[at].print)
        end++;
    return end - at;
}

/* The k-th with a fingerprint on one side is the k-th on the other, if there are as many. */
static enum ox_status match_prints(struct made *a, const struct ox_prints *pa, struct made *b,
                                   const struct ox_prints *pb, bool strong, size_t *how,
                                   const struct ox_value **partner, struct ox_error *err)
{
    struct print *x = calloc(a->n + 1, sizeof *x), *y = calloc(b->n + 1, sizeof *y);
    if (!x || !y) {
        free(x);
        free(y);
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
    }
    size_t n = list_prints(a, pa, strong ? pa->strong : pa->weak, x);
    size_t m = list_prints(b, pb, strong ? pb->strong : pb->weak, y);
    for (size_t i = 0, j = 0; i < n && j < m;) {
        size_t p = run_length(x, i, n), q = run_length(y, j, m);
        if (x[i].print != y[j].print) {
            if (x[i].print < y[j].print)
                i += p;
            else
                j += q;
            continue;
        }
        for (size_t k = 0; k < p && p == q; k++) {
            partner[y[j + k].at] = a->values[x[i + k].at];
            how[y[j + k].at] = strong ? OX_MATCH_STRUCTURE : OX_MATCH_PLACE;
            a->taken[x[i + k].at] = b->taken[y[j + k].at] = true;
        }
        i += p;
        j += q;
    }
    free(x);
    free(y);
    return OX_OK;
}

static bool all_taken(const struct made *made)
{
    for (size_t i = 0; i < made->n; i++)
        if (!made->taken[i])
            return false;
    return true;
}

/* Only where names leave something over: reading all weights is not free. */
static enum ox_status match_structure(struct made *a, const struct ox_session *session_a,
                                      struct made *b, const struct ox_session *session_b,
                                      size_t *how, const struct ox_value **partner,
                                      struct ox_error *err)
{
    struct ox_prints pa = {NULL}, pb = {NULL};
    enum ox_status status;
    if (all_taken(a) || all_taken(b))
        return OX_OK;
    OX_TRY_CLEANUP(ox_prints_make(&pa, session_a, err));
    OX_TRY_CLEANUP(ox_prints_make(&pb, session_b, err));
    OX_TRY_CLEANUP(match_prints(a, &pa, b, &pb, true, how, partner, err));
    status = match_prints(a, &pa, b, &pb, false, how, partner, err);
cleanup:
    ox_prints_release(&pa);
    ox_prints_release(&pb);
    return status;
}

enum ox_status ox_match_sessions(const struct ox_session *session_a,
                                 const struct ox_session *session_b, struct ox_pair **out,
                                 size_t *n, struct ox_error *err)
{
    struct made a = {NULL}, b = {NULL};
    const struct ox_value **partner = NULL;
    size_t *how = NULL;
    enum ox_status status;
    OX_TRY_CLEANUP(list_made(&a, session_a, err));
    OX_TRY_CLEANUP(list_made(&b, session_b, err));
    partner = calloc(b.n + 1, sizeof *partner);
    how = calloc(b.n + 1, sizeof *how);
    *out = calloc(b.n + 1, sizeof **out);
    if (!partner || !how || !*out) {
        status = ox_fail(err, OX_NO_MEMORY, "out of memory");
        goto cleanup;
    }
    OX_TRY_CLEANUP(match_names(&a, &b, partner, err));
    OX_TRY_CLEANUP(match_structure(&a, session_a, &b, session_b, how, partner, err));
    *n = 0;
    for (size_t i = 0; i < b.n; i++)
        if (partner[i])
            (*out)[(*n)++] =
                (struct ox_pair){.a = partner[i], .b = b.values[i], .match = (enum ox_match)how[i]};
cleanup:
    release_made(&a);
    release_made(&b);
    free(partner);
    free(how);
    if (status != OX_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

void ox_match_dequantized(const struct ox_session *a, struct ox_pair *pairs, size_t n,
                          const struct ox_strmap *pair_of)
{
    const struct ox_plan *plan = a->main;
    for (size_t i = 0; i < plan->n_steps && n; i++) {
        const struct ox_node *dq = plan->steps[i].node;
        const struct ox_value *codes = dq->n_inputs ? dq->inputs[0] : NULL;
        const struct ox_node *q = codes ? codes->producer : NULL;
        if (strcmp(dq->op_type, "DequantizeLinear") != 0 || !q ||
            strcmp(q->op_type, "QuantizeLinear") != 0 || !q->inputs[0] || !dq->outputs[0])
            continue;
        const char *name = q->inputs[0]->name;
        uint32_t at = ox_strmap_find(pair_of, name, strlen(name));
        const char *own = dq->outputs[0]->name;
        bool paired = ox_strmap_find(pair_of, own, strlen(own)) != OX_STRMAP_NONE;
        if (at != OX_STRMAP_NONE && !paired && !pairs[at].dequantized)
            pairs[at].dequantized = dq->outputs[0];
    }
}
