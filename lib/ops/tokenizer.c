/* Tokenizer (com.microsoft): strings cut into tokens, by characters, by what separates them, or by what they look like. */
#include <inttypes.h>
#include <string.h>

#include "common/utf8.h"
#include "ops/infer.h"
#include "ops/op.h"
#include "ops/regex.h"

/* The tokens of all strings, in order. */
struct tokens {
    struct ox_run *r;
    struct ox_str *all;
    size_t n, capacity;
    size_t *start; /* tokens of string i: [start[i], start[i + 1]) */
    int64_t least; /* characters of a token */
    /* One of: by characters, separators, or the expression. */
    struct ox_regex **separators;
    size_t n_separators;
    struct ox_regex *expression;
};

static enum ox_status add_token(struct tokens *t, struct ox_str token, struct ox_error *err)
{
    int64_t characters = 0;
    for (size_t i = 0; i < token.n; i++)
        characters += ((unsigned char)token.p[i] & 0xc0) != 0x80;
    if (characters < t->least || token.n == 0)
        return OX_OK;
    if (t->n == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct ox_str *all = ox_run_scratch(t->r, capacity, sizeof *all, err);
        if (!all)
            return OX_NO_MEMORY;
        if (t->n)
            memcpy(all, t->all, t->n * sizeof *all);
        t->all = all;
        t->capacity = capacity;
    }
    t->all[t->n++] = token;
    return OX_OK;
}

static size_t character_bytes(const struct ox_str *s, size_t at)
{
    size_t n = 1;
    while (at + n < s->n && ((unsigned char)s->p[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

static enum ox_status cut_characters(struct tokens *t, struct ox_str s, struct ox_error *err)
{
    for (size_t at = 0; at < s.n;) {
        size_t n = character_bytes(&s, at);
        OX_TRY(add_token(t, (struct ox_str){s.p + at, n}, err));
        at += n;
    }
    return OX_OK;
}

/* Each match that is not empty is a token. */
static enum ox_status cut_expression(struct tokens *t, struct ox_str s, struct ox_error *err)
{
    for (size_t at = 0; at < s.n;) {
        size_t begin = 0, end = 0;
        bool found;
        OX_TRY(ox_regex_find(t->r, t->expression, s, at, &begin, &end, &found, err));
        if (!found)
            break;
        OX_TRY(add_token(t, (struct ox_str){s.p + begin, end - begin}, err));
        at = end > begin ? end : begin < s.n ? begin + character_bytes(&s, begin) : s.n;
    }
    return OX_OK;
}

/* The pieces that the first separator leaves are cut by the second, and so on. */
static enum ox_status cut_separators(struct tokens *t, struct ox_str s, size_t which,
                                     struct ox_error *err)
{
    if (s.n == 0)
        return OX_OK;
    if (which == t->n_separators)
        return add_token(t, s, err);
    size_t piece = 0;
    for (size_t at = 0; at < s.n;) {
        size_t begin = 0, end = 0;
        bool found;
        OX_TRY(ox_regex_find(t->r, t->separators[which], s, at, &begin, &end, &found, err));
        if (!found)
            break;
        if (end == begin) {
            at = begin < s.n ? begin + character_bytes(&s, begin) : s.n;
            continue;
        }
        OX_TRY(cut_separators(t, (struct ox_str){s.p + piece, begin - piece}, which + 1, err));
        at = piece = end;
    }
    return cut_separators(t, (struct ox_str){s.p + piece, s.n - piece}, which + 1, err);
}

static enum ox_status cut_all(struct tokens *t, const struct ox_tensor *x, struct ox_error *err)
{
    const struct ox_str *strings = x->data;
    for (size_t i = 0; i < x->n; i++) {
        if (!ox_utf8_valid(strings[i].p, strings[i].n))
            return ox_run_fail(t->r, err, OX_INPUT, "X[%zu] is no UTF-8", i);
        t->start[i] = t->n;
        if (t->expression)
            OX_TRY(cut_expression(t, strings[i], err));
        else if (t->n_separators)
            OX_TRY(cut_separators(t, strings[i], 0, err));
        else
            OX_TRY(cut_characters(t, strings[i], err));
        OX_TRY(ox_env_poll(t->r->env, err));
    }
    t->start[x->n] = t->n;
    return OX_OK;
}

enum { MOST_SEPARATORS = 100 };

static enum ox_status compile(struct tokens *t, struct ox_error *err)
{
    struct ox_run *r = t->r;
    size_t n;
    const struct ox_str *separators = ox_run_strings(r, "separators", &n);
    const char *expression = ox_run_string(r, "tokenexp");
    if (n == 0 && (!expression || !*expression))
        return ox_run_fail(r, err, OX_INPUT, "there are neither separators nor a tokenexp");
    if (n > MOST_SEPARATORS)
        return ox_run_fail(r, err, OX_LIMIT, "%zu separators are too many", n);
    if (n == 0)
        return ox_regex_compile(r, expression, &t->expression, err);
    if (n == 1 && separators[0].n == 0)
        return OX_OK;
    t->separators = ox_run_scratch(r, n, sizeof(struct ox_regex *), err);
    if (!t->separators)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        char *pattern =
            ox_arena_strndup(r->scratch, separators[i].p ? separators[i].p : "", separators[i].n);
        if (!pattern)
            return ox_no_memory(err);
        OX_TRY(ox_regex_compile(r, pattern, &t->separators[i], err));
        t->n_separators++;
    }
    return OX_OK;
}

static enum ox_status set_text(struct ox_tensor *y, size_t i, const char *text,
                               struct ox_error *err)
{
    return ox_tensor_set_string(y, i, text, strlen(text), err);
}

/* Rows as long as the longest, filled up; a mark before and behind the tokens of each. */
static enum ox_status give_tokens(struct tokens *t, const struct ox_tensor *x, struct ox_error *err)
{
    struct ox_run *r = t->r;
    const char *pad = ox_run_string(r, "pad_value");
    bool mark = ox_run_int(r, "mark", 0) != 0, by_characters = !t->expression && !t->separators;
    size_t width = 0;
    for (size_t i = 0; i < x->n; i++)
        width = t->start[i + 1] - t->start[i] > width ? t->start[i + 1] - t->start[i] : width;
    if (mark && (width || (by_characters && x->n)))
        width += 2;
    int64_t dims[3] = {0};
    for (unsigned d = 0; d < x->rank; d++)
        dims[d] = x->dims[d];
    dims[x->rank] = (int64_t)width;
    struct ox_tensor *y;
    OX_TRY(ox_run_out(r, 0, OX_STRING, x->n ? x->rank + 1 : x->rank, dims, &y, err));
    for (size_t i = 0; width && i < x->n; i++) {
        size_t at = i * width, end = at + width;
        if (mark)
            OX_TRY(set_text(y, at++, "\x02", err));
        for (size_t k = t->start[i]; k < t->start[i + 1]; k++, at++)
            OX_TRY(ox_tensor_set_string(y, at, t->all[k].p, t->all[k].n, err));
        if (mark)
            OX_TRY(set_text(y, at++, "\x03", err));
        while (at < end)
            OX_TRY(set_text(y, at++, pad ? pad : "", err));
    }
    return OX_OK;
}

static enum ox_status run_tokenizer(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *x = ox_run_in(r, 0);
    struct tokens t = {.r = r, .least = ox_run_int(r, "mincharnum", 1)};
    if (x->rank < 1 || x->rank > 2)
        return ox_run_fail(r, err, OX_INPUT, "X has rank %u: neither a list nor a matrix", x->rank);
    if (t.least < 1)
        return ox_run_fail(r, err, OX_INPUT, "attribute mincharnum is %" PRId64, t.least);
    t.start = ox_run_scratch(r, x->n + 1, sizeof *t.start, err);
    if (!t.start)
        return OX_NO_MEMORY;
    enum ox_status status = compile(&t, err);
    if (status == OX_OK)
        status = cut_all(&t, x, err);
    if (status == OX_OK)
        status = give_tokens(&t, x, err);
    for (size_t i = 0; i < t.n_separators; i++)
        ox_regex_release(t.separators[i]);
    ox_regex_release(t.expression);
    return status;
}

static void infer_tokenizer(struct ox_infer *c)
{
    unsigned rank;
    const struct ox_expr *const *x;
    const struct ox_expr *dims[3] = {NULL};
    ox_infer_set_dtype(c, 0, OX_STRING);
    if (!ox_infer_shape(c, 0, &rank, &x) || rank < 1 || rank > 2)
        return;
    for (unsigned d = 0; d < rank; d++)
        dims[d] = x[d];
    dims[rank] = ox_infer_data_dim(c, "tokens");
    ox_infer_set_shape(c, 0, rank + 1, dims);
}

const struct ox_op ox_ops_tokenizer[] = {
    {"com.microsoft", "Tokenizer", 1, .infer = infer_tokenizer, .run = run_tokenizer}, {0}};
