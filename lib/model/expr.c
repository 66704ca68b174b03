#include "model/expr_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

/* ---- Interning -------------------------------------------------------------------------------------------------- */

static uint32_t mix(uint32_t hash, uint64_t word)
{
    uint64_t h = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

static bool intern_grow(struct ox_intern *set, uint32_t (*hash_of)(const void *))
{
    size_t cap = set->cap ? set->cap * 2 : 64;
    const void **slots = calloc(cap, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < set->cap; i++) {
        if (!set->slots[i])
            continue;
        size_t at = hash_of(set->slots[i]) & (cap - 1);
        while (slots[at])
            at = (at + 1) & (cap - 1);
        slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->cap = cap;
    return true;
}

/* Out of memory. */
static void *fail(struct ox_exprs *pool)
{
    pool->failed = true;
    return NULL;
}

/* The slot of what same() accepts, or the free one where it belongs; NULL when out of memory. */
static const void **intern_slot(struct ox_exprs *pool, struct ox_intern *set, uint32_t hash,
                                uint32_t (*hash_of)(const void *),
                                bool (*same)(const void *item, const void *wanted),
                                const void *wanted)
{
    if (set->n >= set->cap / 2 && !intern_grow(set, hash_of))
        return fail(pool);
    size_t at = hash & (set->cap - 1);
    while (set->slots[at] && !(hash_of(set->slots[at]) == hash && same(set->slots[at], wanted)))
        at = (at + 1) & (set->cap - 1);
    return &set->slots[at];
}

static uint32_t hash_of_atom(const void *item)
{
    return ((const struct ox_atom *)item)->hash;
}

static uint32_t hash_of_monomial(const void *item)
{
    return ((const struct ox_monomial *)item)->hash;
}

static uint32_t hash_of_expr(const void *item)
{
    return ((const struct ox_expr *)item)->hash;
}

struct wanted_atom {
    enum ox_atom_kind kind;
    unsigned n;
    const struct ox_expr *const *args;
};

static bool same_atom(const void *item, const void *wanted)
{
    const struct ox_atom *atom = item;
    const struct wanted_atom *w = wanted;
    return atom->kind == w->kind && atom->n == w->n &&
           memcmp(atom->args, w->args, w->n * sizeof(atom->args[0])) == 0;
}

struct wanted_list {
    size_t n;
    const void *items;
};

static bool same_monomial(const void *item, const void *wanted)
{
    const struct ox_monomial *mono = item;
    const struct wanted_list *w = wanted;
    return mono->degree == w->n && memcmp(mono->atoms, w->items, w->n * sizeof mono->atoms[0]) == 0;
}

static bool same_expr(const void *item, const void *wanted)
{
    const struct ox_expr *e = item;
    const struct wanted_list *w = wanted;
    const struct ox_term *terms = w->items;
    if (e->n != w->n)
        return false;
    for (size_t i = 0; i < w->n; i++) {
        if (e->terms[i].coef != terms[i].coef || e->terms[i].mono != terms[i].mono)
            return false;
    }
    return true;
}

/* ---- The pool --------------------------------------------------------------------------------------------------- */

struct ox_exprs *ox_exprs_new(struct ox_budget *budget)
{
    struct ox_exprs *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->budget = budget;
    ox_arena_init(&pool->arena, budget);
    ox_strmap_init(&pool->symbols);
    ox_strmap_init(&pool->prefixes);
    struct ox_monomial *one = ox_arena_alloc(&pool->arena, sizeof *one);
    if (!one) {
        ox_exprs_release(pool);
        return NULL;
    }
    pool->one = one;
    return pool;
}

void ox_exprs_release(struct ox_exprs *pool)
{
    if (!pool)
        return;
    ox_strmap_release(&pool->symbols);
    ox_strmap_release(&pool->prefixes);
    free(pool->by_name);
    free(pool->next_suffix);
    free(pool->atoms.slots);
    free(pool->monomials.slots);
    free(pool->exprs.slots);
    ox_arena_release(&pool->arena);
    free(pool);
}

bool ox_exprs_failed(const struct ox_exprs *pool)
{
    return pool->failed;
}

const struct ox_expr *ox_expr_of_terms(struct ox_exprs *pool, const struct ox_term *terms, size_t n)
{
    uint32_t hash = (uint32_t)n;
    unsigned weight = n ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        hash = mix(mix(hash, (uint64_t)terms[i].coef), terms[i].mono->hash);
        weight += 1 + terms[i].mono->weight;
    }
    if (n > OX_EXPR_MAX_TERMS || weight > OX_EXPR_MAX_WEIGHT) {
        pool->n_refused++;
        return NULL;
    }
    struct wanted_list wanted = {n, terms};
    const void **slot = intern_slot(pool, &pool->exprs, hash, hash_of_expr, same_expr, &wanted);
    if (!slot)
        return NULL;
    if (!*slot) {
        struct ox_expr *e = ox_arena_alloc(&pool->arena, sizeof *e + n * sizeof e->terms[0]);
        if (!e)
            return fail(pool);
        e->id = pool->next_expr++;
        e->hash = hash;
        e->n = (unsigned)n;
        e->weight = weight;
        e->bounds = ox_bounds_sum(terms, n);
        if (n)
            memcpy(e->terms, terms, n * sizeof e->terms[0]);
        *slot = e;
        pool->exprs.n++;
    }
    return *slot;
}

size_t ox_exprs_n_refused(const struct ox_exprs *pool)
{
    return pool->n_refused;
}

static const struct ox_monomial *monomial_get(struct ox_exprs *pool,
                                              const struct ox_atom *const *atoms, unsigned degree)
{
    if (degree == 0)
        return pool->one;
    if (degree > OX_EXPR_MAX_DEGREE)
        return NULL;
    uint32_t hash = degree;
    unsigned weight = 0;
    for (unsigned i = 0; i < degree; i++) {
        hash = mix(hash, atoms[i]->id);
        weight += atoms[i]->weight;
    }
    struct wanted_list wanted = {degree, atoms};
    const void **slot =
        intern_slot(pool, &pool->monomials, hash, hash_of_monomial, same_monomial, &wanted);
    if (!slot)
        return NULL;
    if (!*slot) {
        struct ox_monomial *mono =
            ox_arena_alloc(&pool->arena, sizeof *mono + degree * sizeof mono->atoms[0]);
        if (!mono)
            return fail(pool);
        mono->hash = hash;
        mono->degree = degree;
        mono->weight = weight;
        memcpy(mono->atoms, atoms, degree * sizeof atoms[0]);
        *slot = mono;
        pool->monomials.n++;
    }
    return *slot;
}

const struct ox_atom *ox_atom_get(struct ox_exprs *pool, enum ox_atom_kind kind,
                                  const struct ox_expr *const *args, unsigned n)
{
    uint32_t hash = (uint32_t)kind * 31 + n;
    unsigned weight = 1;
    for (unsigned i = 0; i < n; i++) {
        hash = mix(hash, args[i]->id);
        weight += args[i]->weight;
    }
    if (weight > OX_EXPR_MAX_WEIGHT) {
        pool->n_refused++;
        return NULL;
    }
    struct wanted_atom wanted = {kind, n, args};
    const void **slot = intern_slot(pool, &pool->atoms, hash, hash_of_atom, same_atom, &wanted);
    if (!slot)
        return NULL;
    if (!*slot) {
        struct ox_atom *atom =
            ox_arena_alloc(&pool->arena, sizeof *atom + n * sizeof(atom->args[0]));
        if (!atom)
            return fail(pool);
        atom->id = pool->next_atom++;
        atom->hash = hash;
        atom->kind = kind;
        atom->weight = weight;
        atom->n = n;
        memcpy(atom->args, args, n * sizeof(args[0]));
        atom->bounds = ox_atom_bounds(kind, args, n);
        *slot = atom;
        pool->atoms.n++;
    }
    return *slot;
}

const struct ox_expr *ox_expr_of_atom(struct ox_exprs *pool, const struct ox_atom *atom)
{
    if (!atom)
        return NULL;
    const struct ox_monomial *mono = monomial_get(pool, &atom, 1);
    return mono ? ox_expr_of_terms(pool, &(struct ox_term){1, mono}, 1) : NULL;
}

const struct ox_expr *ox_expr_int(struct ox_exprs *pool, int64_t value)
{
    return ox_expr_of_terms(pool, &(struct ox_term){value, pool->one}, value != 0);
}

/* ---- Symbols ---------------------------------------------------------------------------------------------------- */

static const struct ox_atom *symbol_atom(struct ox_exprs *pool, const char *name)
{
    size_t n = strlen(name);
    uint32_t index = ox_strmap_find(&pool->symbols, name, n);
    if (index != OX_STRMAP_NONE)
        return pool->by_name[index];
    void *items = pool->by_name;
    if (!ox_grow(&items, &pool->cap_symbols, pool->n_symbols, sizeof *pool->by_name))
        return fail(pool);
    pool->by_name = items;
    char *copy = ox_arena_strndup(&pool->arena, name, n);
    struct ox_atom *atom = ox_arena_alloc(&pool->arena, sizeof *atom);
    index = (uint32_t)pool->n_symbols;
    if (!copy || !atom || !ox_strmap_add(&pool->symbols, copy, n, &index, NULL))
        return fail(pool);
    atom->id = pool->next_atom++;
    atom->hash = mix(0x51u, atom->id);
    atom->kind = OX_ATOM_SYMBOL;
    atom->weight = 1;
    atom->bounds = (struct ox_bounds){.has_lo = true};
    atom->name = copy;
    pool->by_name[pool->n_symbols++] = atom;
    return atom;
}

const struct ox_expr *ox_expr_symbol(struct ox_exprs *pool, const char *name)
{
    return ox_expr_of_atom(pool, symbol_atom(pool, name));
}

/* What was made of it before keeps its wider bounds, which hold all the same. */
void ox_expr_assume_positive(struct ox_exprs *pool, const struct ox_expr *symbol)
{
    const struct ox_atom *atom = ox_expr_atom(symbol);
    if (!atom || atom->kind != OX_ATOM_SYMBOL || atom->bounds.lo >= 1 || atom->is_signed)
        return;
    ((struct ox_atom *)(uintptr_t)atom)->bounds.lo = 1; /* ours: the pool's */
    ((struct ox_expr *)(uintptr_t)symbol)->bounds.lo = 1;
    pool->assumed = true;
}

static void renew_bounds(const struct ox_expr *e)
{
    ((struct ox_expr *)(uintptr_t)e)->bounds = ox_bounds_sum(e->terms, e->n);
}

bool ox_exprs_assume_nothing(struct ox_exprs *pool)
{
    if (!pool->assumed)
        return true;
    struct ox_atom **by_id = calloc((size_t)pool->next_atom + 1, sizeof(struct ox_atom *));
    if (!by_id)
        return false;
    for (size_t i = 0; i < pool->n_symbols; i++)
        ((struct ox_atom *)(uintptr_t)pool->by_name[i])->bounds =
            (struct ox_bounds){.has_lo = !pool->by_name[i]->is_signed};
    for (size_t i = 0; i < pool->atoms.cap; i++) {
        struct ox_atom *atom = (struct ox_atom *)(uintptr_t)pool->atoms.slots[i];
        if (atom)
            by_id[atom->id] = atom;
    }
    /* An atom is made after all that is in it. */
    for (uint32_t id = 0; id < pool->next_atom; id++) {
        struct ox_atom *atom = by_id[id];
        for (unsigned i = 0; atom && i < atom->n; i++)
            renew_bounds(atom->args[i]);
        if (atom)
            atom->bounds = ox_atom_bounds(atom->kind, atom->args, atom->n);
    }
    for (size_t i = 0; i < pool->exprs.cap; i++) {
        if (pool->exprs.slots[i])
            renew_bounds(pool->exprs.slots[i]);
    }
    free(by_id);
    pool->assumed = false;
    return true;
}

const struct ox_expr *ox_expr_fresh(struct ox_exprs *pool, const char *prefix)
{
    size_t n = strlen(prefix);
    if (ox_strmap_find(&pool->symbols, prefix, n) == OX_STRMAP_NONE)
        return ox_expr_symbol(pool, prefix);
    void *items = pool->next_suffix;
    if (!ox_grow(&items, &pool->cap_prefixes, pool->n_prefixes, sizeof *pool->next_suffix))
        return fail(pool);
    pool->next_suffix = items;
    uint32_t at = (uint32_t)pool->n_prefixes;
    bool is_new;
    char *copy = ox_arena_strndup(&pool->arena, prefix, n);
    if (!copy || !ox_strmap_add(&pool->prefixes, copy, n, &at, &is_new))
        return fail(pool);
    if (is_new) {
        pool->next_suffix[at] = 1;
        pool->n_prefixes++;
    }
    for (;;) {
        char *name = ox_arena_printf(&pool->arena, "%s_%u", prefix, pool->next_suffix[at]++);
        if (!name)
            return fail(pool);
        if (ox_strmap_find(&pool->symbols, name, strlen(name)) == OX_STRMAP_NONE)
            return ox_expr_symbol(pool, name);
    }
}

const struct ox_expr *ox_expr_fresh_signed(struct ox_exprs *pool, const char *prefix)
{
    const struct ox_expr *symbol = ox_expr_fresh(pool, prefix);
    const struct ox_atom *atom = ox_expr_atom(symbol);
    if (!atom)
        return NULL;
    ((struct ox_atom *)(uintptr_t)atom)->is_signed = true; /* ours: nothing was made of it yet */
    ((struct ox_atom *)(uintptr_t)atom)->bounds = (struct ox_bounds){0};
    renew_bounds(symbol);
    return symbol;
}

/* ---- Monomials -------------------------------------------------------------------------------------------------- */

/* Graded lexicographic: positive when a stands before b in a sum. */
static int mono_compare(const struct ox_monomial *a, const struct ox_monomial *b)
{
    if (a == b)
        return 0;
    if (a->degree != b->degree)
        return a->degree > b->degree ? 1 : -1;
    for (unsigned i = 0; i < a->degree; i++) {
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i]->id < b->atoms[i]->id ? 1 : -1;
    }
    return 0;
}

static const struct ox_monomial *mono_mul(struct ox_exprs *pool, const struct ox_monomial *a,
                                          const struct ox_monomial *b)
{
    const struct ox_atom *atoms[2 * OX_EXPR_MAX_DEGREE];
    unsigned n = 0, i = 0, j = 0;
    if (a->degree == 0 || b->degree == 0)
        return a->degree == 0 ? b : a;
    while (i < a->degree || j < b->degree) {
        bool from_a = j == b->degree || (i < a->degree && a->atoms[i]->id <= b->atoms[j]->id);
        atoms[n++] = from_a ? a->atoms[i++] : b->atoms[j++];
    }
    return monomial_get(pool, atoms, n);
}

const struct ox_monomial *ox_mono_div(struct ox_exprs *pool, const struct ox_monomial *a,
                                      const struct ox_monomial *b)
{
    const struct ox_atom *atoms[OX_EXPR_MAX_DEGREE];
    unsigned n = 0, j = 0;
    if (b->degree > a->degree)
        return NULL;
    for (unsigned i = 0; i < a->degree; i++) {
        if (j < b->degree && a->atoms[i] == b->atoms[j])
            j++;
        else
            atoms[n++] = a->atoms[i];
    }
    return j == b->degree ? monomial_get(pool, atoms, n) : NULL;
}

const struct ox_monomial *ox_mono_gcd(struct ox_exprs *pool, const struct ox_monomial *a,
                                      const struct ox_monomial *b)
{
    const struct ox_atom *atoms[OX_EXPR_MAX_DEGREE];
    unsigned n = 0;
    for (unsigned i = 0, j = 0; i < a->degree && j < b->degree;) {
        if (a->atoms[i] == b->atoms[j]) {
            atoms[n++] = a->atoms[i];
            i++, j++;
        } else if (a->atoms[i]->id < b->atoms[j]->id) {
            i++;
        } else {
            j++;
        }
    }
    return monomial_get(pool, atoms, n);
}

/* ---- Sums and products ------------------------------------------------------------------------------------------ */

const struct ox_expr *ox_expr_add_scaled(struct ox_exprs *pool, const struct ox_expr *a,
                                         const struct ox_expr *b, int64_t factor)
{
    struct ox_term terms[2 * OX_EXPR_MAX_TERMS];
    size_t n = 0;
    unsigned i = 0, j = 0;
    if (!a || !b)
        return NULL;
    if (factor == 0)
        return a;
    while (i < a->n || j < b->n) {
        int order = j == b->n   ? 1
                    : i == a->n ? -1
                                : mono_compare(a->terms[i].mono, b->terms[j].mono);
        struct ox_term term = order >= 0 ? a->terms[i] : (struct ox_term){0, b->terms[j].mono};
        if (order <= 0) {
            int64_t scaled;
            if (OX_MUL_OVERFLOWS(b->terms[j].coef, factor, &scaled) ||
                OX_ADD_OVERFLOWS(term.coef, scaled, &term.coef))
                return NULL;
            j++;
        }
        i += order >= 0;
        if (term.coef)
            terms[n++] = term;
    }
    return ox_expr_of_terms(pool, terms, n);
}

const struct ox_expr *ox_expr_add(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return ox_expr_add_scaled(pool, a, b, 1);
}

const struct ox_expr *ox_expr_sub(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    return ox_expr_add_scaled(pool, a, b, -1);
}

/* e times one term: the order is kept. */
static const struct ox_expr *mul_term(struct ox_exprs *pool, const struct ox_expr *e,
                                      const struct ox_term *by)
{
    struct ox_term terms[OX_EXPR_MAX_TERMS];
    for (unsigned i = 0; i < e->n; i++) {
        terms[i].mono = mono_mul(pool, e->terms[i].mono, by->mono);
        if (!terms[i].mono || OX_MUL_OVERFLOWS(e->terms[i].coef, by->coef, &terms[i].coef))
            return NULL;
    }
    return ox_expr_of_terms(pool, terms, e->n);
}

const struct ox_expr *ox_expr_mul(struct ox_exprs *pool, const struct ox_expr *a,
                                  const struct ox_expr *b)
{
    if (!a || !b)
        return NULL;
    const struct ox_expr *many = a->n >= b->n ? a : b, *few = many == a ? b : a;
    if (few->n == 0)
        return few;
    const struct ox_expr *sum = mul_term(pool, many, &few->terms[0]);
    for (unsigned i = 1; i < few->n; i++)
        sum = ox_expr_add(pool, sum, mul_term(pool, many, &few->terms[i]));
    return sum;
}

/* ---- Questions -------------------------------------------------------------------------------------------------- */

const struct ox_atom *ox_expr_atom(const struct ox_expr *e)
{
    return e && e->n == 1 && e->terms[0].coef == 1 && e->terms[0].mono->degree == 1
               ? e->terms[0].mono->atoms[0]
               : NULL;
}

int64_t ox_expr_constant(const struct ox_expr *e)
{
    return e->n && e->terms[e->n - 1].mono->degree == 0 ? e->terms[e->n - 1].coef : 0;
}

bool ox_expr_is_int(const struct ox_expr *e, int64_t *value)
{
    if (!e || e->n > 1 || (e->n == 1 && e->terms[0].mono->degree))
        return false;
    if (value)
        *value = e->n ? e->terms[0].coef : 0;
    return true;
}

bool ox_expr_is_symbol(const struct ox_expr *e, const char **name)
{
    const struct ox_atom *atom = ox_expr_atom(e);
    if (!atom || atom->kind != OX_ATOM_SYMBOL)
        return false;
    if (name)
        *name = atom->name;
    return true;
}

bool ox_expr_least(const struct ox_expr *e, int64_t *least)
{
    if (!e || !e->bounds.has_lo)
        return false;
    *least = e->bounds.lo;
    return true;
}

bool ox_expr_greatest(const struct ox_expr *e, int64_t *greatest)
{
    if (!e || !e->bounds.has_hi)
        return false;
    *greatest = e->bounds.hi;
    return true;
}
