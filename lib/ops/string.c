/* StringConcat, StringSplit, StringNormalizer. */
#include <inttypes.h>
#include <locale.h>
#include <string.h>
#include <wctype.h>

#include "common/strmap.h"
#include "common/utf8.h"
#include "ops/carry.h"

/* ---- UTF-8 ------------------------------------------------------------------------------------------------------------ */

static size_t utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00U >> n & 0xF0) | c);
    return n;
}

/* ---- StringConcat ----------------------------------------------------------------------------------------------------- */

static void infer_string_concat(struct ox_infer *c)
{
    const struct ox_expr *const *dims;
    unsigned rank;

    ox_infer_set_dtype(c, 0, OX_STRING);
    if (ox_infer_broadcast(c, 0, 2, &rank, &dims))
        ox_infer_set_shape(c, 0, rank, dims);
}

/* Dims of the broadcast, and each input's stride an axis (0 where it repeats). */
static enum ox_status concat_shape(const struct ox_run *r, const struct ox_tensor *const in[2],
                                   unsigned *rank, int64_t *dims, int64_t strides[2][OX_MOVE_RANK],
                                   struct ox_error *err)
{
    *rank = in[0]->rank > in[1]->rank ? in[0]->rank : in[1]->rank;
    OX_TRY(ox_move_rank(r, *rank, err));
    for (unsigned i = 0; i < *rank; i++)
        dims[i] = 1;
    for (unsigned k = 0; k < 2; k++) {
        int64_t own[OX_MOVE_RANK];
        unsigned shift = *rank - in[k]->rank;

        ox_move_strides(in[k]->rank, in[k]->dims, own);
        for (unsigned i = 0; i < *rank; i++) {
            int64_t dim = i < shift ? 1 : in[k]->dims[i - shift];

            if (dims[i] != 1 && dim != 1 && dim != dims[i])
                return ox_run_fail(r, err, OX_INPUT,
                                   "axis %u has %" PRId64 " and %" PRId64 " elements", i, dims[i],
                                   dim);
            if (dims[i] == 1)
                dims[i] = dim;
            strides[k][i] = dim == 1 ? 0 : own[i - shift];
        }
    }
    return OX_OK;
}

static enum ox_status run_string_concat(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *const in[2] = {ox_run_in(r, 0), ox_run_in(r, 1)};
    int64_t dims[OX_MOVE_RANK], strides[2][OX_MOVE_RANK] = {{0}}, at[OX_MOVE_RANK] = {0},
                                place[2] = {0, 0};
    struct ox_tensor *out;
    struct ox_strbuf joined;
    enum ox_status status = OX_OK;
    unsigned rank = 0;

    OX_TRY(concat_shape(r, in, &rank, dims, strides, err));
    OX_TRY(ox_run_out(r, 0, OX_STRING, rank, dims, &out, err));
    ox_strbuf_init(&joined);
    for (size_t i = 0; i < out->n && status == OX_OK; i++) {
        ox_strbuf_clear(&joined);
        for (unsigned k = 0; k < 2; k++) {
            const struct ox_str *s = (const struct ox_str *)in[k]->data + place[k];

            if (s->n > 0)
                ox_strbuf_add(&joined, s->p, s->n);
        }
        status = joined.failed ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory")
                               : ox_tensor_set_string(out, i, joined.data, joined.len, err);
        for (unsigned k = rank; k-- > 0;) {
            place[0] += strides[0][k];
            place[1] += strides[1][k];
            if (++at[k] < dims[k])
                break;
            place[0] -= strides[0][k] * dims[k];
            place[1] -= strides[1][k] * dims[k];
            at[k] = 0;
        }
    }
    ox_strbuf_release(&joined);
    return status;
}

/* ---- StringSplit ------------------------------------------------------------------------------------------------------ */

/* Bytes of white space (Unicode's) at p; 0: there is none. */
static size_t space_at(const char *p, size_t n)
{
    uint32_t c = 0;
    size_t length = ox_utf8_next(p, n, &c);
    bool space = (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
                 (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
                 c == 0x205F || c == 0x3000;

    return space ? length : 0;
}

/* A string on its way to be split; most < 0: no limit. */
struct splitter {
    struct ox_str rest;
    struct ox_str delimiter; /* n 0: white space */
    int64_t most;
    bool done;
};

static struct ox_str str_from(struct ox_str s, size_t at)
{
    return (struct ox_str){s.p + at, s.n - at};
}

static bool next_by_space(struct splitter *s, struct ox_str *part)
{
    size_t n, at = 0;

    while (s->rest.n > 0 && (n = space_at(s->rest.p, s->rest.n)) > 0)
        s->rest = str_from(s->rest, n);
    if (s->rest.n == 0)
        return false;
    *part = s->rest;
    if (s->most == 0) {
        s->rest.n = 0;
        return true;
    }
    while (at < s->rest.n && space_at(s->rest.p + at, s->rest.n - at) == 0)
        at++;
    part->n = at;
    s->rest = str_from(s->rest, at);
    s->most -= s->most > 0;
    return true;
}

static bool next_by_delimiter(struct splitter *s, struct ox_str *part)
{
    if (s->done)
        return false;
    const char *found = s->most == 0 || s->rest.n == 0
                            ? NULL
                            : memmem(s->rest.p, s->rest.n, s->delimiter.p, s->delimiter.n);

    *part = s->rest;
    s->done = !found;
    if (!found)
        return true;
    part->n = (size_t)(found - s->rest.p);
    s->rest = str_from(s->rest, part->n + s->delimiter.n);
    s->most -= s->most > 0;
    return true;
}

static bool next_part(struct splitter *s, struct ox_str *part)
{
    return s->delimiter.n > 0 ? next_by_delimiter(s, part) : next_by_space(s, part);
}

static void infer_string_split(struct ox_infer *c)
{
    const struct ox_expr *const *in, **out;
    unsigned rank;

    ox_infer_set_dtype(c, 0, OX_STRING);
    ox_infer_set_dtype(c, 1, OX_INT64);
    if (!ox_infer_shape(c, 0, &rank, &in))
        return;
    out = ox_infer_dims(c, rank + 1);
    if (!out)
        return;
    memcpy(out, in, rank * sizeof(out[0]));
    out[rank] = ox_infer_data_dim(c, "parts");
    ox_infer_set_shape(c, 0, rank + 1, out);
    ox_infer_set_shape(c, 1, rank, in);
}

static enum ox_status run_string_split(struct ox_run *r, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const struct ox_attr *most = ox_run_attr(r, "maxsplit"),
                         *delimiter = ox_run_attr(r, "delimiter");
    struct splitter start = {.most = most ? most->i : -1};
    const struct ox_str *strings = in->data;
    int64_t dims[OX_MOVE_RANK + 1];
    struct ox_tensor *parts, *counts;
    struct ox_str part;

    OX_TRY(ox_move_rank(r, in->rank, err));
    if (delimiter)
        start.delimiter = delimiter->s;
    memcpy(dims, in->dims, in->rank * sizeof(dims[0]));
    dims[in->rank] = 0;
    int64_t *n_parts = ox_run_scratch(r, in->n + 1, sizeof(*n_parts), err);

    if (!n_parts)
        return OX_NO_MEMORY;
    for (size_t i = 0; i < in->n; i++) {
        struct splitter s = start;

        for (s.rest = strings[i]; next_part(&s, &part);)
            n_parts[i]++;
        dims[in->rank] = n_parts[i] > dims[in->rank] ? n_parts[i] : dims[in->rank];
    }
    OX_TRY(ox_run_out(r, 0, OX_STRING, in->rank + 1, dims, &parts, err));
    for (size_t i = 0; i < in->n; i++) {
        struct splitter s = start;
        size_t at = i * (size_t)dims[in->rank];

        for (s.rest = strings[i]; next_part(&s, &part); at++)
            OX_TRY(ox_tensor_set_string(parts, at, part.p, part.n, err));
    }
    if (!ox_run_wants(r, 1))
        return OX_OK;
    OX_TRY(ox_run_out(r, 1, OX_INT64, in->rank, in->dims, &counts, err));
    if (in->n > 0)
        memcpy(counts->data, n_parts, in->n * sizeof(*n_parts));
    return OX_OK;
}

/* ---- StringNormalizer -------------------------------------------------------------------------------------------------- */

enum case_action { CASE_NONE, CASE_LOWER, CASE_UPPER };

/* Case mapping is Unicode's simple one, as the C library's own C.UTF-8 locale has it: the same on every machine whatever its
 * environment says. Of the languages whose rules depart, `locale` selects Turkish and Azeri. */
struct caser {
    locale_t locale; /* opened when there is more than ASCII: that takes longer than a short text */
    bool turkic;
};

static uint32_t map_case(const struct caser *k, uint32_t c, enum case_action action)
{
    if (k->turkic && action == CASE_LOWER && (c == 'I' || c == 0x130))
        return c == 'I' ? 0x131 : 'i';
    if (k->turkic && action == CASE_UPPER && (c == 'i' || c == 0x131))
        return c == 'i' ? 0x130 : 'I';
    if (c < 0x80)
        return action == CASE_LOWER ? c + (c - 'A' < 26) * 32 : c - (c - 'a' < 26) * 32;
    return (uint32_t)(action == CASE_LOWER ? towlower_l((wint_t)c, k->locale)
                                           : towupper_l((wint_t)c, k->locale));
}

static bool is_ascii(const struct ox_str *strings, size_t n)
{
    unsigned char any = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < strings[i].n; j++)
            any |= (unsigned char)strings[i].p[j];
    }
    return any < 0x80;
}

/* The beginning that is ASCII, whose letters are those of every language but the Turkic ones; its length. */
static size_t add_ascii(const struct caser *k, struct ox_strbuf *out, struct ox_str s,
                        enum case_action action)
{
    enum { MOST = 128 };
    char bytes[MOST];
    size_t n = 0;
    if (k->turkic)
        return 0;
    for (; n < s.n && n < MOST && (unsigned char)s.p[n] < 0x80; n++) {
        const char c = s.p[n];
        const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
        const bool turns = action == CASE_LOWER ? upper : action == CASE_UPPER && lower;
        bytes[n] = (char)(turns ? c ^ ('a' ^ 'A') : c);
    }
    if (n)
        ox_strbuf_add(out, bytes, n);
    return n;
}

static void add_cased(const struct caser *k, struct ox_strbuf *out, struct ox_str s,
                      enum case_action action)
{
    for (size_t i = add_ascii(k, out, s, action), length; i < s.n; i += length) {
        uint32_t c = 0;
        char bytes[4];

        length = ox_utf8_next(s.p + i, s.n - i, &c);
        if (length > 0 && action != CASE_NONE) {
            ox_strbuf_add(out, bytes, utf8_encode(map_case(k, c, action), bytes));
        } else {
            length = length > 0 ? length : 1; /* a byte that is no UTF-8 stays */
            ox_strbuf_add(out, s.p + i, length);
        }
    }
}

/* The stop words as keys, in lower case unless case counts. Keys live in scratch. */
static enum ox_status stop_words(struct ox_run *r, const struct caser *k, enum case_action fold,
                                 struct ox_strmap *map, struct ox_error *err)
{
    size_t n;
    const struct ox_str *words = ox_run_strings(r, "stopwords", &n);
    enum ox_status status = OX_OK;
    struct ox_strbuf word;

    ox_strbuf_init(&word);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        uint32_t value = 0;

        ox_strbuf_clear(&word);
        add_cased(k, &word, words[i], fold);
        char *key = ox_arena_text(r->scratch, &word);

        if (!key || !ox_strmap_add(map, key, word.len, &value, NULL))
            status = ox_run_fail(r, err, OX_NO_MEMORY, "out of memory");
    }
    ox_strbuf_release(&word);
    return status;
}

static enum ox_status normalize(struct ox_run *r, const struct caser *k,
                                const struct ox_strmap *stops, enum case_action fold,
                                enum case_action action, struct ox_error *err)
{
    const struct ox_tensor *in = ox_run_in(r, 0);
    const struct ox_str *strings = in->data;
    size_t *kept = ox_run_scratch(r, in->n + 1, sizeof(*kept), err), n = 0;
    enum ox_status status = OX_OK;
    struct ox_strbuf text;
    struct ox_tensor *out;

    if (!kept)
        return OX_NO_MEMORY;
    ox_strbuf_init(&text);
    for (size_t i = 0; i < in->n; i++) {
        if (!stops->n) {
            kept[n++] = i;
            continue;
        }
        ox_strbuf_clear(&text);
        add_cased(k, &text, strings[i], fold);
        if (ox_strmap_find(stops, ox_strbuf_text(&text, NULL), text.len) == OX_STRMAP_NONE)
            kept[n++] = i;
    }
    int64_t dims[2] = {1, n > 0 ? (int64_t)n : 1};

    status = ox_run_out(r, 0, OX_STRING, in->rank, in->rank == 2 ? dims : dims + 1, &out, err);
    for (size_t i = 0; i < n && status == OX_OK; i++) {
        ox_strbuf_clear(&text);
        add_cased(k, &text, strings[kept[i]], action);
        status = text.failed ? ox_run_fail(r, err, OX_NO_MEMORY, "out of memory")
                             : ox_tensor_set_string(out, i, text.data, text.len, err);
    }
    ox_strbuf_release(&text);
    return status;
}

static void infer_string_normalizer(struct ox_infer *c)
{
    const struct ox_expr *dims[2];
    unsigned rank;

    ox_infer_set_dtype(c, 0, OX_STRING);
    if (!ox_infer_shape(c, 0, &rank, NULL))
        return;
    if (rank < 1 || rank > 2) {
        ox_infer_conflict(c, "the input has rank %u, neither 1 nor 2", rank);
        return;
    }
    dims[0] = ox_infer_num(c, 1);
    /* Of two dimensions the first must be known to be 1: the standard's inference refuses what may be. */
    if (rank == 2 && ox_infer_dim(c, 0, 0) != dims[0])
        ox_infer_conflict(c, "the first of the input's two dimensions is not declared to be 1");
    const struct ox_attr *words = ox_infer_attr(c, "stopwords");
    const struct ox_expr *all = ox_infer_dim(c, 0, rank - 1);
    int64_t least;
    bool stay = (!words || !words->n) && ox_expr_least(all, &least) && least >= 1;
    dims[1] = stay ? all : ox_infer_data_dim(c, "count");
    ox_infer_set_shape(c, 0, rank, rank == 2 ? dims : dims + 1);
}

static enum ox_status run_string_normalizer(struct ox_run *r, struct ox_error *err)
{
    static const char *const actions[] = {"NONE", "LOWER", "UPPER"};
    const struct ox_tensor *in = ox_run_in(r, 0);
    const char *name = ox_run_string(r, "case_change_action"), *locale = ox_run_string(r, "locale");
    int action = name ? -1 : CASE_NONE;
    enum case_action fold = ox_run_int(r, "is_case_sensitive", 0) ? CASE_NONE : CASE_LOWER;
    struct caser k = {.turkic = locale &&
                                (strncmp(locale, "tr", 2) == 0 || strncmp(locale, "az", 2) == 0)};
    const struct ox_str *words;
    struct ox_strmap stops;
    enum ox_status status;
    size_t n_words;

    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, actions[i]) == 0)
            action = i;
    }
    if (action < 0)
        return ox_run_fail(r, err, OX_INPUT,
                           "case_change_action '%s' is none of NONE, LOWER, UPPER", name);
    if (in->rank != 1 && (in->rank != 2 || in->dims[0] != 1))
        return ox_run_fail(r, err, OX_INPUT, "the input is neither [C] nor [1, C]");
    words = ox_run_strings(r, "stopwords", &n_words);
    if (!is_ascii(in->data, in->n) || !is_ascii(words, n_words)) {
        k.locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
        if (!k.locale)
            return ox_run_fail(r, err, OX_UNSUPPORTED,
                               "this machine has no locale C.UTF-8, which case mapping needs");
    }
    ox_strmap_init(&stops);
    status = stop_words(r, &k, fold, &stops, err);
    if (status == OX_OK)
        status = normalize(r, &k, &stops, fold, (enum case_action)action, err);
    ox_strmap_release(&stops);
    if (k.locale)
        freelocale(k.locale);
    return status;
}

const struct ox_op ox_ops_string[] = {
    {"", "StringConcat", 20, 0, .infer = infer_string_concat, .run = run_string_concat},
    {"", "StringSplit", 20, 0, .infer = infer_string_split, .run = run_string_split},
    {"", "StringNormalizer", 10, 0, .infer = infer_string_normalizer, .run = run_string_normalizer},
    {0}};
