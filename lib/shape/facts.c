/* Equalities between dimensions: learned where an operator needs two to be equal, used ever after. And the arithmetic
 * that rules do on dimensions. */
#include <string.h>

#include "common/grow.h"
#include "shape/infer_impl.h"

/* ---- Facts ------------------------------------------------------------------------------------------------------ */

/* In the order in which they were learned: the right side of one may hold a symbol that a later one replaces, never one
 * that an earlier one did. */
const struct ox_expr *ox_shapes_resolve(struct ox_shapes *s, const struct ox_expr *e)
{
    for (size_t i = 0; i < s->n_facts && e && !ox_expr_is_int(e, NULL); i++)
        e = ox_expr_replace(s->pool, e, s->facts[i].symbol, s->facts[i].is);
    return e;
}

const struct ox_origin *ox_shapes_origin(const struct ox_shapes *s, const char *symbol)
{
    uint32_t at = ox_strmap_find(&s->origins, symbol, strlen(symbol));
    return at == OX_STRMAP_NONE ? NULL : &s->origin_list[at];
}

static bool is_made_up(void *arg, const char *name)
{
    return ox_shapes_origin(arg, name) != NULL;
}

static bool is_passing(void *arg, const char *name)
{
    const struct ox_shapes *s = arg;
    const struct ox_origin *origin = ox_shapes_origin(s, name);
    return origin && origin->node && !ox_shapes_is_main(s, origin->node->graph);
}

bool ox_shapes_passing(const struct ox_shapes *s, const struct ox_expr *e)
{
    return s->n_origins && ox_expr_any_symbol(e, is_passing, (void *)(uintptr_t)s);
}

bool ox_shapes_is_main(const struct ox_shapes *s, const struct ox_graph *graph)
{
    return graph->model == s->model && !graph->parent && !graph->function;
}

bool ox_shapes_made_up(const struct ox_shapes *s, const struct ox_expr *e)
{
    return s->n_origins && ox_expr_any_symbol(e, is_made_up, (void *)(uintptr_t)s);
}

static const struct ox_expr *add_origin(struct ox_shapes *s, const struct ox_expr *symbol,
                                        const struct ox_origin *origin)
{
    const char *name;
    if (!ox_expr_is_symbol(symbol, &name))
        return NULL;
    void *list = s->origin_list;
    uint32_t at = (uint32_t)s->n_origins;
    if (!ox_grow(&list, &s->cap_origins, s->n_origins, sizeof *s->origin_list)) {
        s->failed = true;
        return NULL;
    }
    s->origin_list = list;
    if (!ox_strmap_add(&s->origins, name, strlen(name), &at, NULL)) {
        s->failed = true;
        return NULL;
    }
    s->origin_list[s->n_origins++] = *origin;
    return symbol;
}

const struct ox_expr *ox_shapes_symbol(struct ox_shapes *s, const char *prefix,
                                       const struct ox_origin *origin)
{
    return add_origin(s, ox_expr_fresh(s->pool, prefix), origin);
}

const struct ox_expr *ox_shapes_signed_symbol(struct ox_shapes *s, const char *prefix,
                                              const struct ox_origin *origin)
{
    return add_origin(s, ox_expr_fresh_signed(s->pool, prefix), origin);
}

bool ox_shapes_keep_symbol(struct ox_shapes *s, const char *key, const struct ox_expr *symbol)
{
    size_t n = strlen(key);
    void *symbols = (void *)s->data_symbols;
    uint32_t at = (uint32_t)s->n_data_symbols;
    char *copy = ox_arena_strndup(&s->arena, key, n);
    if (copy &&
        ox_grow(&symbols, &s->cap_data_symbols, s->n_data_symbols, sizeof(*s->data_symbols))) {
        s->data_symbols = symbols;
        if (ox_strmap_add(&s->data_dims, copy, n, &at, NULL)) {
            s->data_symbols[s->n_data_symbols++] = symbol;
            return true;
        }
    }
    s->failed = true;
    return false;
}

static bool add_fact(struct ox_shapes *s, const struct ox_expr *symbol, const struct ox_expr *is)
{
    if (!s->keep_names && s->n_facts < OX_SHAPE_FACTS && !ox_expr_mentions(is, symbol))
        s->facts[s->n_facts++] = (struct ox_fact){symbol, is};
    return true;
}

/* e = value where e is a multiple of one symbol plus a number. */
static bool learn_number(struct ox_shapes *s, const struct ox_expr *e, const struct ox_expr *number)
{
    int64_t value, constant, factor;
    const struct ox_expr *symbol;
    ox_expr_is_int(number, &value);
    if (!ox_expr_linear(s->pool, e, &symbol, &factor, &constant) ||
        OX_SUB_OVERFLOWS(value, constant, &value))
        return true;
    if (factor == 0 || value % factor || (value / factor < 0 && !ox_expr_has_signed(symbol)))
        return false;
    return add_fact(s, symbol, ox_expr_int(s->pool, value / factor));
}

bool ox_shapes_learn(struct ox_shapes *s, const struct ox_expr *a, const struct ox_expr *b)
{
    a = ox_shapes_resolve(s, a);
    b = ox_shapes_resolve(s, b);
    if (!a || !b || a == b)
        return true;
    if (ox_expr_differ(s->pool, a, b))
        return false;
    if (ox_expr_is_int(b, NULL))
        return learn_number(s, a, b);
    if (ox_expr_is_int(a, NULL))
        return learn_number(s, b, a);
    /* What we made up gives way to what the user named, and a bare symbol to anything. */
    bool a_symbol = ox_expr_is_symbol(a, NULL), b_symbol = ox_expr_is_symbol(b, NULL);
    if (b_symbol && (!a_symbol || !ox_shapes_made_up(s, a) || ox_shapes_made_up(s, b)))
        return add_fact(s, b, a);
    if (a_symbol)
        return add_fact(s, a, b);
    return true;
}

/* ---- Arithmetic ------------------------------------------------------------------------------------------------- */

const struct ox_expr *ox_infer_num(struct ox_infer *c, int64_t value)
{
    return ox_expr_int(c->s->pool, value);
}

const struct ox_expr *ox_infer_add(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    return ox_expr_add(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_sub(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    return ox_expr_sub(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_mul(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    int64_t value;
    int64_t by;
    bool a_known = ox_expr_is_int(a, &value), b_known = ox_expr_is_int(b, &by);
    if ((a_known && value == 0) || (b_known && by == 0))
        return ox_expr_int(c->s->pool, 0);
    if (a_known && b_known && OX_MUL_OVERFLOWS(value, by, &(int64_t){0})) {
        ox_infer_conflict(c, "sizes %lld and %lld multiply to more than 64 bits hold",
                          (long long)value, (long long)by);
        return NULL;
    }
    return ox_expr_mul(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_floordiv(struct ox_infer *c, const struct ox_expr *a,
                                        const struct ox_expr *b)
{
    return ox_expr_floordiv(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_ceildiv(struct ox_infer *c, const struct ox_expr *a,
                                       const struct ox_expr *b)
{
    return ox_expr_ceildiv(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_mod(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    return ox_expr_mod(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_min(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    return ox_expr_min(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_max(struct ox_infer *c, const struct ox_expr *a,
                                   const struct ox_expr *b)
{
    return ox_expr_max(c->s->pool, a, b);
}

const struct ox_expr *ox_infer_ratio(struct ox_infer *c, const struct ox_expr *e, int64_t by)
{
    return ox_expr_ratio(c->s->pool, e, by);
}

bool ox_infer_is_num(const struct ox_expr *e, int64_t *value)
{
    return ox_expr_is_int(e, value);
}

/* The first input of the node, past `other`, that has a dimension of that size; the number of inputs: none. */
static size_t input_of_size(const struct ox_infer *c, const struct ox_expr *size, size_t other)
{
    size_t n = ox_infer_n_in(c);
    for (size_t i = 0; i < n; i++) {
        const struct ox_type *type = i == other ? NULL : ox_infer_type(c, i);
        for (unsigned d = 0; type && type->has_rank && d < type->rank; d++) {
            if (type->dims[d] == size)
                return i;
        }
    }
    return n;
}

/* "8 (of 'h', which Relu makes)": a size and where it is from. */
static void print_size(struct ox_strbuf *out, const struct ox_infer *c, const struct ox_expr *size,
                       size_t input)
{
    ox_expr_print(out, size);
    const struct ox_value *value = input < ox_infer_n_in(c) ? c->node->inputs[input] : NULL;
    if (!value)
        return;
    while (value->outer)
        value = value->outer;
    ox_strbuf_printf(out, " (of %s'%.80s'", value->is_input ? "input " : "", value->name);
    if (value->producer) {
        ox_strbuf_printf(out, ", which %.80s ", value->producer->op_type);
        ox_node_label(out, value->producer);
        ox_strbuf_puts(out, " makes");
    }
    ox_strbuf_putc(out, ')');
}

static unsigned rank_of(const struct ox_infer *c, size_t input)
{
    unsigned rank = 0;
    ox_infer_shape(c, input, &rank, NULL);
    return rank;
}

/* Reports that two sizes do not agree, and where they are from. */
static void report_sizes(struct ox_infer *c, const struct ox_expr *a, const struct ox_expr *b,
                         const char *what, bool broadcast)
{
    struct ox_strbuf x, y;
    ox_strbuf_init(&x);
    ox_strbuf_init(&y);
    size_t none = ox_infer_n_in(c), from = input_of_size(c, a, SIZE_MAX);
    size_t to = input_of_size(c, b, from);
    if (!broadcast && ox_expr_is_int(b, NULL) && rank_of(c, from) == 1)
        from = to =
            none; /* the length of a list against a number that the rule wants, which is of no input */
    print_size(&x, c, a, from);
    print_size(&y, c, b, to);
    if (x.data && y.data)
        ox_infer_conflict(c, "%s: %.300s and %.300s", what, x.data, y.data);
    ox_strbuf_release(&x);
    ox_strbuf_release(&y);
}

const struct ox_expr *ox_infer_equal(struct ox_infer *c, const struct ox_expr *a,
                                     const struct ox_expr *b, const char *what)
{
    if (!a || !b || a == b)
        return a ? a : b;
    if (!ox_shapes_learn(c->s, a, b)) {
        report_sizes(c, a, b, what, false);
        return ox_expr_is_int(b, NULL) && !ox_expr_is_int(a, NULL) ? b : a;
    }
    const struct ox_expr *x = ox_shapes_resolve(c->s, a), *y = ox_shapes_resolve(c->s, b);
    if (ox_expr_is_int(y, NULL) ||
        (!ox_expr_is_int(x, NULL) && ox_shapes_made_up(c->s, x) && !ox_shapes_made_up(c->s, y)))
        return y;
    return x;
}

/* n is what the size that is known says; other must be that or 1. */
static const struct ox_expr *broadcast_number(struct ox_infer *c, const struct ox_expr *known,
                                              int64_t n, const struct ox_expr *other)
{
    if (n == 1)
        return other;
    const struct ox_expr *one = ox_expr_int(c->s->pool, 1);
    if (other && ox_expr_differ(c->s->pool, other, known) && ox_expr_differ(c->s->pool, other, one))
        report_sizes(c, known, other, "sizes that do not broadcast", true);
    return known;
}

const struct ox_expr *ox_infer_broadcast_dim(struct ox_infer *c, const struct ox_expr *a,
                                             const struct ox_expr *b)
{
    int64_t n, least;
    if (a == b)
        return a;
    if (ox_expr_is_int(a, &n) && (n != 1 || !ox_expr_is_int(b, NULL)))
        return broadcast_number(c, a, n, b);
    if (ox_expr_is_int(b, &n))
        return broadcast_number(c, b, n, a);
    if (a && ox_expr_least(a, &least) && least >= 2)
        return a;
    if (b && ox_expr_least(b, &least) && least >= 2)
        return b;
    return ox_expr_broadcast(c->s->pool, a, b);
}

bool ox_infer_broadcast(struct ox_infer *c, size_t first, size_t n, unsigned *rank,
                        const struct ox_expr *const **dims)
{
    unsigned widest = 0;
    for (size_t i = first; i < first + n; i++) {
        unsigned own;
        if (!ox_infer_shape(c, i, &own, NULL)) {
            ox_infer_unknown(c, 0, "the rank of input %zu is unknown", i);
            return false;
        }
        widest = own > widest ? own : widest;
    }
    const struct ox_expr **result = ox_infer_dims(c, widest);
    if (!result)
        return false;
    for (unsigned axis = 0; axis < widest; axis++)
        result[axis] = ox_infer_num(c, 1);
    for (size_t i = first; i < first + n; i++) {
        unsigned own = 0;
        const struct ox_expr *const *in = NULL;
        ox_infer_shape(c, i, &own, &in);
        for (unsigned axis = 0; axis < own; axis++)
            result[widest - own + axis] =
                ox_infer_broadcast_dim(c, result[widest - own + axis], in[axis]);
    }
    *rank = widest;
    *dims = result;
    return true;
}
