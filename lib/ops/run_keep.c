/* What prepare() leaves with a node. */
#include "ops/op.h"

#include "common/pages.h"

enum { KEEP_ALIGN = 64 };

void *ox_run_keep(struct ox_run *r, size_t bytes, struct ox_error *err)
{
    struct ox_prepared *prepared = r->prepared;
    size_t rounded;
    void *state = NULL;
    if (r->once && !prepared->state && bytes < INT64_MAX) {
        const int64_t dim = (int64_t)bytes + !bytes;
        if (ox_run_tensor(r, OX_UINT8, 1, &dim, &prepared->lent, err) != OX_OK)
            return NULL;
        prepared->bytes = (size_t)dim;
        return prepared->state = prepared->lent->data;
    }
    if (!prepared->state && !OX_ADD_OVERFLOWS(bytes, (size_t)KEEP_ALIGN, &rounded) &&
        ox_budget_take(ox_env_budget(r->env), rounded)) {
        state = ox_pages_new(rounded);
        if (!state)
            ox_budget_give(ox_env_budget(r->env), rounded);
    }
    if (!state) {
        ox_run_fail(r, err, OX_NO_MEMORY, "out of memory (%zu bytes of packed weights)", bytes);
        return NULL;
    }
    prepared->state = state;
    prepared->bytes = rounded;
    return state;
}

void *ox_run_keep_shared(struct ox_run *r, const void *key, size_t n, size_t bytes, bool *made,
                         struct ox_error *err)
{
    struct ox_prepared *prepared = r->prepared;
    struct ox_shared_state *kept =
        r->share && !r->once && !prepared->state ? r->share(r, key, n) : NULL;
    if (kept && kept->state && !kept->ready)
        kept = NULL; /* whoever made it has failed */
    *made = kept && kept->state;
    if (*made) {
        kept->refs++;
        prepared->shared = kept;
        prepared->bytes = kept->bytes;
        return prepared->state = kept->state;
    }
    void *state = ox_run_keep(r, bytes, err);
    if (state && kept) {
        *kept = (struct ox_shared_state){.state = state, .bytes = prepared->bytes, .refs = 1};
        prepared->shared = kept;
    }
    return state;
}

void ox_run_absorb(struct ox_run *r, size_t i)
{
    r->prepared->absorbed |= (uint64_t)1 << i;
}

void *ox_run_state(const struct ox_run *r)
{
    return r->prepared ? r->prepared->state : NULL;
}

void ox_prepared_release(struct ox_prepared *prepared, struct ox_budget *budget)
{
    if (!prepared->state)
        return;
    struct ox_shared_state *kept = prepared->shared;
    const bool last = !kept || --kept->refs == 0;
    if (kept && last)
        *kept = (struct ox_shared_state){0};
    if (prepared->lent) {
        ox_tensor_release(prepared->lent);
    } else if (last) {
        ox_pages_release(prepared->state, prepared->bytes);
        ox_budget_give(budget, prepared->bytes);
    }
    *prepared = (struct ox_prepared){0};
}
