/* RegexFullMatch, whose language is RE2's.
 *
 * RE2 is C++ and so out of reach. PCRE2 serves, through its DFA matcher: like RE2 it follows all ways at once, so that
 * no pattern takes exponential time, and it needs none of what RE2 lacks. The pattern is translated first: what RE2 does not
 * have (back-references, look-around, possessive and atomic groups, verbs, recursion, comments) is refused, what both spell alike but
 * read otherwise (\v, \s, \123, scripts, `$`, `{,n}`) is written out.
 *
 * Where it departs from RE2: \C is refused; a string that is no UTF-8 matches nothing; a pattern whose compiled form
 * is over PCRE2's 64 KiB is refused (RE2 limits its programs too, elsewhere); Unicode properties are of PCRE2's Unicode version. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/utf8.h"
#include "ops/carry.h"
#include "ops/regex.h"

enum { REGEX_REPEAT = 1000, REGEX_NESTING = 1000, REGEX_WORKSPACE_MOST = 1 << 22 };

/* ---- Translation -------------------------------------------------------------------------------------------------------- */

struct translator {
    const char *p, *end;
    struct ox_strbuf *out;
    const char *wrong; /* what RE2 does not have; NULL while all is well */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool looking_at(const struct translator *t, const char *text)
{
    size_t n = strlen(text);

    return (size_t)(t->end - t->p) >= n && memcmp(t->p, text, n) == 0;
}

static void put_code(struct translator *t, unsigned code)
{
    ox_strbuf_printf(t->out, "\\x{%x}", code);
}

/* \p or \P, whose letter was read. Scripts are told from general categories by their length. */
static void put_property(struct translator *t, char letter)
{
    const char *name = t->p, *close;
    size_t n = 1;
    bool negated = false;

    if (t->p < t->end && *t->p == '{') {
        close = memchr(t->p, '}', (size_t)(t->end - t->p));
        if (!close) {
            t->wrong = "a property without '}'";
            return;
        }
        name = t->p + 1;
        negated = *name == '^';
        name += negated;
        n = (size_t)(close - name);
        t->p = close + 1;
    } else if (t->p < t->end) {
        t->p++;
    } else {
        n = 0;
    }
    bool valid = n > 0 && n < 64;

    for (size_t i = 0; i < n && valid; i++)
        valid = is_letter(name[i]) || name[i] == '_';
    if (!valid) {
        t->wrong = "a property without a name";
        return;
    }
    bool category = n <= 2 || (n == 3 && memcmp(name, "Any", 3) == 0);

    ox_strbuf_printf(t->out, "\\%c{%s%s%.*s}", letter, negated ? "^" : "",
                     category ? "" : "sc:", (int)n, name);
}

/* \x7f, \x{10ffff}; \x was read. */
static void put_hex(struct translator *t)
{
    unsigned code = 0;
    size_t digits = 0;
    bool braces = t->p < t->end && *t->p == '{';

    t->p += braces;
    for (; t->p < t->end && hex_value(*t->p) >= 0 && (braces || digits < 2) && code <= 0x10FFFF;
         digits++)
        code = code * 16 + (unsigned)hex_value(*t->p++);
    if (braces && t->p < t->end && *t->p == '}')
        t->p++;
    else if (braces)
        digits = 0;
    if (code > 0x10FFFF || digits == 0 || (!braces && digits != 2))
        t->wrong = "a malformed \\x";
    else
        put_code(t, code);
}

static void put_octal(struct translator *t, char first)
{
    unsigned code = (unsigned)(first - '0');

    if (first != '0' && !(t->p < t->end && *t->p >= '0' && *t->p <= '7')) {
        t->wrong = "a back-reference";
        return;
    }
    for (int i = 0; i < 2 && t->p < t->end && *t->p >= '0' && *t->p <= '7'; i++)
        code = code * 8 + (unsigned)(*t->p++ - '0');
    put_code(t, code);
}

/* \Q...\E: all of it stands for itself. */
static void put_quoted(struct translator *t)
{
    while (t->p < t->end && !looking_at(t, "\\E")) {
        unsigned char c = (unsigned char)*t->p++;

        if (c < 0x80)
            put_code(t, c);
        else
            ox_strbuf_putc(t->out, (char)c);
    }
    t->p += t->p < t->end ? 2 : 0;
}

/* An escape, after the backslash. */
static void put_escape(struct translator *t, bool in_class)
{
    static const char controls[] = "a\7f\fn\nr\rt\tv\v";
    char c = t->p < t->end ? *t->p++ : '\0';
    const char *control = is_letter(c) ? strchr(controls, c) : NULL;

    if (c == '\0')
        t->wrong = "a backslash at the end";
    else if (control && (control - controls) % 2 == 0)
        put_code(t, (unsigned char)control[1]);
    else if (strchr("dDwW", c))
        ox_strbuf_printf(t->out, "\\%c", c);
    else if (c == 's')
        ox_strbuf_puts(t->out, in_class ? "\\t\\n\\f\\r " : "[\\t\\n\\f\\r ]");
    else if (c == 'S')
        ox_strbuf_puts(t->out, in_class ? "\\S\\x{b}" : "[^\\t\\n\\f\\r ]");
    else if (c == 'p' || c == 'P')
        put_property(t, c);
    else if (c == 'x')
        put_hex(t);
    else if (c >= '0' && c <= '7')
        put_octal(t, c);
    else if (!in_class && strchr("bBAz", c))
        ox_strbuf_printf(t->out, "\\%c", c);
    else if (!in_class && c == 'Q')
        put_quoted(t);
    else if ((unsigned char)c < 0x80 && !is_letter(c) && !is_digit(c) && c != '_')
        put_code(t, (unsigned char)c);
    else
        t->wrong = "an escape";
}

/* A class, after its '['. */
static void put_class(struct translator *t)
{
    bool first = true;

    ox_strbuf_putc(t->out, '[');
    if (t->p < t->end && *t->p == '^')
        ox_strbuf_putc(t->out, *t->p++);
    for (; t->p < t->end && !t->wrong; first = false) {
        char c = *t->p++;

        if (c == ']' && !first) {
            ox_strbuf_putc(t->out, c);
            return;
        }
        if (c == '[' && t->p < t->end && *t->p == ':') {
            const char *close = memmem(t->p, (size_t)(t->end - t->p), ":]", 2);

            if (close) {
                ox_strbuf_add(t->out, t->p - 1, (size_t)(close + 2 - t->p) + 1);
                t->p = close + 2;
                continue;
            }
        }
        if (c == '\\')
            put_escape(t, true);
        else if (c == '[' || c == ']')
            put_code(t, (unsigned char)c);
        else
            ox_strbuf_putc(t->out, c);
    }
    if (!t->wrong)
        t->wrong = "a class without ']'";
}

/* A group, after its '('. */
static void put_group(struct translator *t)
{
    const char *q;

    ox_strbuf_putc(t->out, '(');
    if (looking_at(t, "*")) {
        t->wrong = "a verb";
        return;
    }
    if (!looking_at(t, "?"))
        return;
    if (looking_at(t, "?P<") ||
        (looking_at(t, "?<") && !looking_at(t, "?<=") && !looking_at(t, "?<!"))) {
        ox_strbuf_puts(t->out, "?<");
        t->p += looking_at(t, "?P<") ? 3 : 2;
        return;
    }
    for (q = t->p + 1; q < t->end && strchr("imsU-", *q) && *q != '\0'; q++)
        ;
    if (q < t->end && (*q == ':' || (*q == ')' && q > t->p + 1))) {
        ox_strbuf_add(t->out, t->p, (size_t)(q - t->p));
        t->p = q;
        if (*q == ':')
            ox_strbuf_putc(t->out, *t->p++);
        return;
    }
    t->wrong = "such a group";
}

/* The number at *p; -1: none, or over what RE2 repeats. */
static int64_t repeat_number(const char **p, const char *end)
{
    int64_t number = -1;

    for (; *p < end && is_digit(**p); (*p)++) {
        number = (number < 0 ? 0 : number * 10) + (**p - '0');
        if (number > REGEX_REPEAT)
            number = REGEX_REPEAT + 1;
    }
    return number;
}

/* A repetition or what only looks like one: {n}, {n,}, {n,m} repeat, other braces stand for themselves. */
static void put_repeat(struct translator *t, char c)
{
    const char *q = t->p;

    if (c == '{') {
        int64_t least = repeat_number(&q, t->end), most = least;
        bool range = least >= 0 && q < t->end && *q == ',';

        if (range) {
            q++;
            most = repeat_number(&q, t->end);
        }
        if (least < 0 || q >= t->end || *q != '}') {
            put_code(t, '{');
            return;
        }
        if (least > REGEX_REPEAT || most > REGEX_REPEAT) {
            t->wrong = "a repetition of more than 1000";
            return;
        }
        ox_strbuf_add(t->out, t->p - 1, (size_t)(q + 1 - t->p) + 1);
        t->p = q + 1;
    } else {
        ox_strbuf_putc(t->out, c);
    }
    if (t->p < t->end && *t->p == '?')
        ox_strbuf_putc(t->out, *t->p++);
    if (t->p < t->end && (*t->p == '+' || *t->p == '*' || *t->p == '?'))
        t->wrong = "a repetition of a repetition";
}

/* From RE2's language to PCRE2's; NULL, or what is not of RE2's language. */
static const char *translate(const char *pattern, size_t n, struct ox_strbuf *out)
{
    struct translator t = {pattern, pattern + n, out, NULL};

    while (t.p < t.end && !t.wrong) {
        char c = *t.p++;

        if (c == '\\')
            put_escape(&t, false);
        else if (c == '[')
            put_class(&t);
        else if (c == '(')
            put_group(&t);
        else if (c == '*' || c == '+' || c == '?' || c == '{')
            put_repeat(&t, c);
        else
            ox_strbuf_putc(out, c);
    }
    return t.wrong;
}

/* ---- Matching ------------------------------------------------------------------------------------------------------------ */

/* What PCRE2 allocates is counted; the size stands before the memory. */
union regex_block {
    size_t bytes;
    max_align_t align;
};

static void *regex_malloc(size_t bytes, void *budget)
{
    if (bytes > SIZE_MAX / 2 || !ox_budget_take(budget, bytes + sizeof(union regex_block)))
        return NULL;
    union regex_block *block = malloc(bytes + sizeof(*block));

    if (!block) {
        ox_budget_give(budget, bytes + sizeof(*block));
        return NULL;
    }
    block->bytes = bytes;
    return block + 1;
}

static void regex_free(void *memory, void *budget)
{
    union regex_block *block = memory;

    if (!block)
        return;
    block--;
    ox_budget_give(budget, block->bytes + sizeof(*block));
    free(block);
}

struct ox_regex {
    pcre2_general_context *general;
    pcre2_compile_context *compile;
    pcre2_match_context *match;
    pcre2_match_data *data;
    pcre2_code *code;
    int *workspace;
    size_t n_workspace;
};

static void regex_release(struct ox_regex *x)
{
    pcre2_code_free(x->code);
    pcre2_match_data_free(x->data);
    pcre2_match_context_free(x->match);
    pcre2_compile_context_free(x->compile);
    pcre2_general_context_free(x->general);
}

static enum ox_status regex_build(struct ox_run *r, struct ox_regex *x, const char *shown,
                                  const struct ox_strbuf *pattern, bool whole, struct ox_error *err)
{
    const char *text = ox_strbuf_text(pattern, NULL);
    PCRE2_SIZE at;
    int code;

    x->general = pcre2_general_context_create(regex_malloc, regex_free, ox_env_budget(r->env));
    x->compile = x->general ? pcre2_compile_context_create(x->general) : NULL;
    x->match = x->general ? pcre2_match_context_create(x->general) : NULL;
    x->data = x->general ? pcre2_match_data_create(1, x->general) : NULL;
    if (!x->compile || !x->match || !x->data)
        return ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    pcre2_set_newline(x->compile, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(x->compile, REGEX_NESTING);
    pcre2_set_heap_limit(x->match, 64 * 1024);
    x->code = pcre2_compile((PCRE2_SPTR)text, pattern->len,
                            PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX |
                                PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_POSSESS |
                                (whole ? PCRE2_ANCHORED : 0u),
                            &code, &at, x->compile);
    if (!x->code) {
        PCRE2_UCHAR reason[128] = "";

        pcre2_get_error_message(code, reason, sizeof(reason));
        return ox_run_fail(r, err, code == PCRE2_ERROR_NOMEMORY ? OX_NO_MEMORY : OX_INPUT,
                           "pattern '%s': %s", shown, (const char *)reason);
    }
    return OX_OK;
}

/* From RE2's language, for whole strings or for searching. */
static enum ox_status regex_compile(struct ox_run *r, struct ox_regex *x, const char *pattern,
                                    bool whole, struct ox_error *err)
{
    struct ox_strbuf translated;
    enum ox_status status;

    if (!ox_utf8_valid(pattern, strlen(pattern)))
        return ox_run_fail(r, err, OX_INPUT, "the pattern is no UTF-8");
    ox_strbuf_init(&translated);
    const char *wrong = translate(pattern, strlen(pattern), &translated);
    if (wrong)
        status =
            ox_run_fail(r, err, OX_INPUT, "pattern '%s': RE2 does not take %s", pattern, wrong);
    else if (translated.failed)
        status = ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    else
        status = regex_build(r, x, pattern, &translated, whole, err);
    ox_strbuf_release(&translated);
    return status;
}

/* The match's bounds are in x->data when *found. */
static enum ox_status regex_match(struct ox_run *r, struct ox_regex *x, struct ox_str s,
                                  size_t from, bool *found, struct ox_error *err)
{
    int code;

    *found = false;
    for (;;) {
        if (x->workspace) {
            code = pcre2_dfa_match(x->code, (PCRE2_SPTR)(s.n > 0 ? s.p : ""), s.n, from,
                                   PCRE2_NO_UTF_CHECK, x->data, x->match, x->workspace,
                                   x->n_workspace);
            if (code != PCRE2_ERROR_DFA_WSSIZE || x->n_workspace >= REGEX_WORKSPACE_MOST)
                break;
        }
        x->n_workspace = x->n_workspace ? 4 * x->n_workspace : 4096;
        x->workspace = ox_run_scratch(r, x->n_workspace, sizeof(*x->workspace), err);
        if (!x->workspace)
            return OX_NO_MEMORY;
    }
    *found = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return OX_OK;
    PCRE2_UCHAR reason[128] = "";

    pcre2_get_error_message(code, reason, sizeof(reason));
    return ox_run_fail(r, err, OX_LIMIT, "matching '%.*s': %s", (int)(s.n < 64 ? s.n : 64),
                       s.p ? s.p : "", (const char *)reason);
}

enum ox_status ox_regex_compile(struct ox_run *r, const char *pattern, struct ox_regex **out,
                                struct ox_error *err)
{
    struct ox_regex *x = ox_run_scratch(r, 1, sizeof *x, err);

    *out = NULL;
    if (!x)
        return OX_NO_MEMORY;
    enum ox_status status = regex_compile(r, x, pattern, false, err);
    if (status == OX_OK)
        *out = x;
    else
        regex_release(x);
    return status;
}

void ox_regex_release(struct ox_regex *x)
{
    if (x)
        regex_release(x);
}

enum ox_status ox_regex_find(struct ox_run *r, struct ox_regex *x, struct ox_str s, size_t from,
                             size_t *begin, size_t *end, bool *found, struct ox_error *err)
{
    OX_TRY(regex_match(r, x, s, from, found, err));
    if (*found) {
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(x->data);
        *begin = bounds[0];
        *end = bounds[1];
    }
    return OX_OK;
}

static void infer_regex(struct ox_infer *c)
{
    ox_infer_set_dtype(c, 0, OX_BOOL);
    ox_infer_same_shape(c, 0, 0);
}

static enum ox_status run_regex(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const struct ox_str *strings = in->data;
    const char *pattern = ox_run_string(r, "pattern");
    struct ox_regex x = {.n_workspace = 0};
    struct ox_tensor *out;

    if (!pattern)
        return ox_run_fail(r, err, OX_INPUT, "attribute 'pattern' is missing");
    OX_TRY(ox_run_out(r, 0, OX_BOOL, in->rank, in->dims, &out, err));
    enum ox_status status = regex_compile(r, &x, pattern, true, err);
    for (size_t i = 0; i < in->n && status == OX_OK; i++) {
        bool found = false;
        if (ox_utf8_valid(strings[i].p, strings[i].n))
            status = regex_match(r, &x, strings[i], 0, &found, err);
        /* The longest match comes first. PCRE2_ENDANCHORED took shorter ones for whole behind ".*" (10.42). */
        if (found)
            found = pcre2_get_ovector_pointer(x.data)[1] == strings[i].n;
        ((uint8_t *)out->data)[i] = found;
        if (status == OX_OK)
            status = ox_env_poll(r->env, err);
    }
    regex_release(&x);
    return status;
}

const struct ox_op ox_ops_regex[] = {
    {"", "RegexFullMatch", 20, 0, .infer = infer_regex, .run = run_regex}, {0}};
