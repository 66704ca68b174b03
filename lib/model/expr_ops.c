/* Symbolic dimensions asked about their symbols, with something put for one, and evaluated. */
#include "model/expr_impl.h"

/* The same kind of atom over other operands, simplified. */
static const struct ox_expr *rebuild(struct ox_exprs *pool, enum ox_atom_kind kind,
                                     const struct ox_expr *const *args, unsigned n)
{
    int64_t by;
    if (kind == OX_ATOM_RATIO)
        return ox_expr_is_int(args[1], &by) ? ox_expr_ratio(pool, args[0], by) : NULL;
    return kind == OX_ATOM_FLOORDIV ? ox_expr_floordiv(pool, args[0], args[1])
                                    : ox_expr_extremum(pool, kind, args, n);
}

static bool any_symbol(const struct ox_expr *e,
                       bool (*test)(void *arg, const struct ox_atom *symbol), void *arg)
{
    for (unsigned i = 0; i < e->n; i++) {
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            const struct ox_atom *atom = e->terms[i].mono->atoms[j];
            if (atom->kind == OX_ATOM_SYMBOL && test(arg, atom))
                return true;
            for (unsigned k = 0; k < atom->n; k++) {
                if (any_symbol(atom->args[k], test, arg))
                    return true;
            }
        }
    }
    return false;
}

/* A test of names, as any_symbol() takes one. */
struct name_test {
    bool (*test)(void *arg, const char *symbol);
    void *arg;
};

static bool test_name(void *arg, const struct ox_atom *symbol)
{
    const struct name_test *names = arg;
    return names->test(names->arg, symbol->name);
}

bool ox_expr_any_symbol(const struct ox_expr *e, bool (*test)(void *arg, const char *symbol),
                        void *arg)
{
    return e && any_symbol(e, test_name, &(struct name_test){test, arg});
}

static bool is_signed(void *arg, const struct ox_atom *symbol)
{
    (void)arg;
    return symbol->is_signed;
}

bool ox_expr_has_signed(const struct ox_expr *e)
{
    return e && any_symbol(e, is_signed, NULL);
}

bool ox_expr_linear(struct ox_exprs *pool, const struct ox_expr *e, const struct ox_expr **symbol,
                    int64_t *factor, int64_t *constant)
{
    if (!e || e->n == 0 || e->n > 2 || e->terms[0].mono->degree != 1 ||
        (e->n == 2 && e->terms[1].mono->degree) ||
        e->terms[0].mono->atoms[0]->kind != OX_ATOM_SYMBOL)
        return false;
    *symbol = ox_expr_of_atom(pool, e->terms[0].mono->atoms[0]);
    *factor = e->terms[0].coef;
    *constant = ox_expr_constant(e);
    return *symbol != NULL;
}

static bool atom_mentions(const struct ox_atom *in, const struct ox_atom *symbol);

bool ox_expr_mentions(const struct ox_expr *e, const struct ox_expr *symbol)
{
    const struct ox_atom *atom = ox_expr_atom(symbol);
    for (unsigned i = 0; e && i < e->n; i++) {
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            if (atom_mentions(e->terms[i].mono->atoms[j], atom))
                return true;
        }
    }
    return false;
}

static bool atom_mentions(const struct ox_atom *in, const struct ox_atom *symbol)
{
    bool found = in == symbol;
    for (unsigned i = 0; i < in->n && !found; i++) {
        for (unsigned t = 0; t < in->args[i]->n && !found; t++) {
            const struct ox_monomial *mono = in->args[i]->terms[t].mono;
            for (unsigned j = 0; j < mono->degree && !found; j++)
                found = atom_mentions(mono->atoms[j], symbol);
        }
    }
    return found;
}

static const struct ox_expr *replace_atom(struct ox_exprs *pool, const struct ox_atom *atom,
                                          const struct ox_expr *symbol, const struct ox_expr *by)
{
    const struct ox_expr *args[OX_EXPR_MAX_ARGS + 1];
    if (atom == ox_expr_atom(symbol))
        return by;
    if (atom->kind == OX_ATOM_SYMBOL)
        return ox_expr_of_atom(pool, atom);
    for (unsigned i = 0; i < atom->n; i++)
        args[i] = ox_expr_replace(pool, atom->args[i], symbol, by);
    return rebuild(pool, atom->kind, args, atom->n);
}

const struct ox_expr *ox_expr_replace(struct ox_exprs *pool, const struct ox_expr *in,
                                      const struct ox_expr *symbol, const struct ox_expr *by)
{
    if (!in || !symbol || !by)
        return NULL;
    if (!ox_expr_mentions(in, symbol))
        return in;
    const struct ox_expr *sum = ox_expr_int(pool, 0);
    for (unsigned i = 0; i < in->n; i++) {
        const struct ox_monomial *mono = in->terms[i].mono;
        const struct ox_expr *product = ox_expr_int(pool, in->terms[i].coef);
        for (unsigned j = 0; j < mono->degree; j++)
            product = ox_expr_mul(pool, product, replace_atom(pool, mono->atoms[j], symbol, by));
        sum = ox_expr_add(pool, sum, product);
    }
    return sum;
}

struct lookup {
    bool (*find)(void *arg, const char *symbol, int64_t *value);
    void *arg;
};

static bool eval_sum(const struct ox_expr *e, const struct lookup *lookup, int64_t *value);

static bool eval_atom(const struct ox_atom *atom, const struct lookup *lookup, int64_t *value)
{
    int64_t v[OX_EXPR_MAX_ARGS + 1] = {0};
    if (atom->kind == OX_ATOM_SYMBOL)
        return lookup->find(lookup->arg, atom->name, value);
    for (unsigned i = 0; i < atom->n; i++) {
        if (!eval_sum(atom->args[i], lookup, &v[i]))
            return false;
    }
    if (atom->kind == OX_ATOM_FLOORDIV) {
        if (v[1] == 0 || v[1] == INT64_MIN || v[0] == INT64_MIN)
            return false;
        *value = v[1] > 0 ? ox_floor_div(v[0], v[1]) : ox_floor_div(-v[0], -v[1]);
        return true;
    }
    if (atom->kind == OX_ATOM_RATIO) {
        *value = v[0] / v[1];
        return v[0] % v[1] == 0;
    }
    int64_t least = v[0], greatest = v[0];
    for (unsigned i = 1; i < atom->n; i++) {
        least = v[i] < least ? v[i] : least;
        greatest = v[i] > greatest ? v[i] : greatest;
    }
    *value = atom->kind == OX_ATOM_MIN ? least : greatest;
    return true;
}

static bool eval_sum(const struct ox_expr *e, const struct lookup *lookup, int64_t *value)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < e->n; i++) {
        int64_t product = e->terms[i].coef, factor;
        for (unsigned j = 0; j < e->terms[i].mono->degree; j++) {
            if (!eval_atom(e->terms[i].mono->atoms[j], lookup, &factor) ||
                OX_MUL_OVERFLOWS(product, factor, &product))
                return false;
        }
        if (OX_ADD_OVERFLOWS(sum, product, &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool ox_expr_eval(const struct ox_expr *e,
                  bool (*lookup)(void *arg, const char *symbol, int64_t *value), void *arg,
                  int64_t *value)
{
    struct lookup with = {lookup, arg};
    return e && eval_sum(e, &with, value);
}
