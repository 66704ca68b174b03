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
    if (prepared->lent) {
        ox_tensor_release(prepared->lent);
    } else {
        ox_pages_release(prepared->state, prepared->bytes);
        ox_budget_give(budget, prepared->bytes);
    }
    *prepared = (struct ox_prepared){0};
}
