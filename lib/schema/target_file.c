/* Targets as files: a line a fact, words parted by blanks, '#' starts a comment. See ox_target_print() for the form. */
#include <stdlib.h>
#include <string.h>

#include "common/file.h"
#include "schema/target_tables.h"

enum {
    MOST_BYTES = 64 << 20,
    MOST_LINES = 1000000,
    MOST_WORDS = 64,
    MOST_LIMITS = 64,
    MOST_NAMES = 60000
};

/* A table that grows as lines are read; all in the list's arena but the arrays that grow. */
struct reader {
    struct ox_targets *list;
    const char *path;
    struct ox_error *err;
    size_t line;
    struct ox_target *target;
    struct ox_target_limit *limits;
    struct ox_target_row *rows;
    uint64_t *masks;
    const char **names;
    struct ox_target_bound *bounds;
    struct ox_target_span *boxes, *types;
    size_t n_rows, n_bounds, n_boxes;
    size_t cap_rows, cap_bounds;
};

static enum ox_status fault(struct reader *r, const char *what, const char *word)
{
    char shown[OX_SHOWN_BYTES];
    return ox_fail(r->err, OX_INPUT, "%s:%zu: %s%s%s", r->path, r->line, what, word ? " " : "",
                   word ? ox_shown(shown, word, strlen(word)) : "");
}

static enum ox_status no_memory(struct reader *r)
{
    return ox_fail(r->err, OX_NO_MEMORY, "%s: out of memory", r->path);
}

static const char *keep(struct reader *r, const char *text)
{
    return ox_arena_strdup(&r->list->arena, text);
}

static bool read_number(const char *word, int64_t low, int64_t high, int64_t *out)
{
    char *end;
    long long value = strtoll(word, &end, 10);
    if (end == word || *end || value < low || value > high)
        return false;
    *out = value;
    return true;
}

static enum ox_status read_target(struct reader *r, char **words, size_t n)
{
    if (n < 3 || n > 4)
        return fault(r, "expected: target RUNTIME VERSION [PROVIDER]", NULL);
    struct ox_target *target = r->target;
    target->runtime = keep(r, words[1]);
    target->version = keep(r, words[2]);
    target->provider = keep(r, n > 3 ? words[3] : "cpu");
    target->name =
        ox_arena_printf(&r->list->arena, "%s=%s:%s", words[1], words[2], n > 3 ? words[3] : "cpu");
    return target->runtime && target->version && target->provider && target->name ? OX_OK
                                                                                  : no_memory(r);
}

static enum ox_status read_opset(struct reader *r, char **words, size_t n)
{
    int64_t newest;
    int64_t quiet = 1;
    if (n < 3 || n > 4 || !read_number(words[2], 1, 1000000, &newest) ||
        (n > 3 && !read_number(words[3], 1, newest, &quiet)))
        return fault(r, "expected: opset DOMAIN NEWEST [OLDEST]", NULL);
    if (r->target->n_limits == MOST_LIMITS)
        return fault(r, "too many domains", NULL);
    const char *domain = strcmp(words[1], "ai.onnx") == 0 ? "" : keep(r, words[1]);
    if (!domain)
        return no_memory(r);
    r->limits[r->target->n_limits++] = (struct ox_target_limit){domain, newest, quiet};
    return OX_OK;
}

static bool parse_type(const char *word, uint64_t *bit)
{
    enum ox_dtype dtype;
    size_t n = strlen(word);
    char inner[32];
    if (strcmp(word, "optional") == 0) {
        *bit = OX_TARGET_OPTIONAL;
    } else if (strcmp(word, "other") == 0) {
        *bit = OX_TARGET_OTHER;
    } else if (strncmp(word, "seq(", 4) == 0 && n > 5 && n - 5 < sizeof inner) {
        memcpy(inner, word + 4, n - 5);
        inner[n - 5] = '\0';
        if (word[n - 1] != ')' || !ox_dtype_parse(inner, &dtype))
            return false;
        *bit = (uint64_t)1 << (OX_TARGET_SEQUENCE_BIT + (unsigned)dtype);
    } else if (ox_dtype_parse(word, &dtype)) {
        *bit = (uint64_t)1 << (unsigned)dtype;
    } else {
        return false;
    }
    return true;
}

/* "T=float32,float16" */
static enum ox_status read_bound(struct reader *r, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return fault(r, "expected CONSTRAINT=TYPE,..., found", word);
    if (r->n_bounds == MOST_NAMES)
        return fault(r, "too many constraints", NULL);
    *equals = '\0';
    uint64_t mask = 0;
    for (char *at = equals + 1; at;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        uint64_t bit;
        if (!parse_type(at, &bit))
            return fault(r, "no type is called", at);
        mask |= bit;
        at = comma ? comma + 1 : NULL;
    }
    if (r->n_bounds == r->cap_bounds) {
        size_t cap = r->cap_bounds ? 2 * r->cap_bounds : 64;
        uint64_t *masks = realloc(r->masks, cap * sizeof *masks);
        if (!masks)
            return no_memory(r);
        r->masks = masks;
        const char **names = realloc((void *)r->names, cap * sizeof *names);
        if (!names)
            return no_memory(r);
        r->names = names;
        struct ox_target_bound *bounds = realloc(r->bounds, cap * sizeof *bounds);
        if (!bounds)
            return no_memory(r);
        r->bounds = bounds;
        r->cap_bounds = cap;
    }
    r->names[r->n_bounds] = keep(r, word);
    r->masks[r->n_bounds] = mask;
    r->bounds[r->n_bounds] = (struct ox_target_bound){(uint16_t)r->n_bounds, (uint16_t)r->n_bounds};
    return r->names[r->n_bounds++] ? OX_OK : no_memory(r);
}

/* "7-12", "13", "*" */
static bool read_versions(const char *word, struct ox_target_row *row)
{
    int64_t first = 1;
    int64_t last = UINT16_MAX;
    if (strcmp(word, "*") != 0) {
        char *end;
        first = strtol(word, &end, 10);
        last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (*end || first < 1 || last < first || last > UINT16_MAX)
            return false;
    }
    row->since = (uint16_t)first;
    row->until = (uint16_t)last;
    return true;
}

static enum ox_status read_op(struct reader *r, char **words, size_t n)
{
    if (n < 2)
        return fault(r, "expected: op [DOMAIN:]NAME [VERSIONS] [CONSTRAINT=TYPE,...]...", NULL);
    if (r->n_rows == MOST_NAMES)
        return fault(r, "too many operators", NULL);
    if (r->n_rows == r->cap_rows) {
        size_t cap = r->cap_rows ? 2 * r->cap_rows : 256;
        struct ox_target_row *rows = realloc(r->rows, cap * sizeof *rows);
        if (!rows)
            return no_memory(r);
        r->rows = rows;
        struct ox_target_span *boxes = realloc(r->boxes, cap * sizeof *boxes);
        if (!boxes)
            return no_memory(r);
        r->boxes = boxes;
        struct ox_target_span *types = realloc(r->types, cap * sizeof *types);
        if (!types)
            return no_memory(r);
        r->types = types;
        r->cap_rows = cap;
    }
    struct ox_target_row row = {
        .since = 1, .until = UINT16_MAX, .via = OX_VIA_KERNEL, .releases = 1};
    char *colon = strrchr(words[1], ':');
    if (colon)
        *colon = '\0';
    row.name = keep(r, colon ? colon + 1 : words[1]);
    row.domain = colon && strcmp(words[1], "ai.onnx") != 0 ? keep(r, words[1]) : "";
    if (!row.name || !row.domain)
        return no_memory(r);
    size_t first_bound = r->n_bounds;
    for (size_t i = 2; i < n; i++) {
        if (strcmp(words[i], "via=cast") == 0)
            row.via = OX_VIA_CAST;
        else if (strcmp(words[i], "via=body") == 0)
            row.via = OX_VIA_BODY;
        else if (strchr(words[i], '='))
            OX_TRY(read_bound(r, words[i]));
        else if (i > 2 || !read_versions(words[i], &row))
            return fault(r, "expected versions such as 7-12, 13 or *, found", words[i]);
    }
    row.types = (uint16_t)r->n_rows;
    r->boxes[r->n_rows] =
        (struct ox_target_span){(uint16_t)first_bound, (uint16_t)(r->n_bounds - first_bound)};
    r->types[r->n_rows] = (struct ox_target_span){(uint16_t)r->n_rows, 1};
    r->rows[r->n_rows++] = row;
    return OX_OK;
}

/* "rest onnxruntime=1.16:cpu": another target takes what this provider does not. It is one that is known: the tables of another file
 * would go with its list. */
static enum ox_status read_rest(struct reader *r, const char *spec)
{
    struct ox_targets *other;
    OX_TRY(ox_targets_new(&other, r->list->env, r->err));
    enum ox_status status = OX_OK;
    struct ox_error err = {0};
    if (ox_targets_add_known(other, spec, &err) != OX_OK || other->n != 1)
        status = fault(r, "rest: no single runtime is called", spec);
    else {
        r->target->rest = other->items[0]->own;
        r->target->rest_bit = other->items[0]->own_bit;
    }
    ox_targets_release(other);
    return status;
}

static enum ox_status read_line(struct reader *r, char *line)
{
    char *words[MOST_WORDS];
    size_t n = 0;
    if (strncmp(line, "origin ", 7) == 0) {
        r->target->origin = keep(r, line + 7);
        return r->target->origin ? OX_OK : no_memory(r);
    }
    line[strcspn(line, "#")] = '\0';
    char *state = NULL;
    for (char *word = strtok_r(line, " \t\r", &state); word;
         word = strtok_r(NULL, " \t\r", &state)) {
        if (n == MOST_WORDS)
            return fault(r, "too many words", NULL);
        words[n++] = word;
    }
    if (n == 0)
        return OX_OK;
    if (strcmp(words[0], "target") == 0)
        return read_target(r, words, n);
    if (strcmp(words[0], "opset") == 0)
        return read_opset(r, words, n);
    if (strcmp(words[0], "op") == 0)
        return read_op(r, words, n);
    if (strcmp(words[0], "rest") == 0 && n == 2)
        return read_rest(r, words[1]);
    if (strcmp(words[0], "functions") == 0 && n == 1) {
        r->target->functions = true;
        return OX_OK;
    }
    if (strcmp(words[0], "ir") == 0 && n == 2 && read_number(words[1], 1, 1000, &r->target->ir))
        return OX_OK;
    return fault(r, "expected target, origin, ir, opset, functions, rest or op, found", words[0]);
}

static int by_key(const void *a_, const void *b_)
{
    const struct ox_target_row *a = a_;
    const struct ox_target_row *b = b_;
    int order = strcmp(a->domain, b->domain);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : (a->types > b->types) - (a->types < b->types);
}

/* Moves what was read into the arena. */
static enum ox_status finish(struct reader *r)
{
    if (!r->target->name)
        return ox_fail(r->err, OX_INPUT, "%s: no line says 'target RUNTIME VERSION [PROVIDER]'",
                       r->path);
    if (r->n_rows == 0)
        return ox_fail(r->err, OX_INPUT, "%s: no line says 'op NAME ...'", r->path);
    qsort(r->rows, r->n_rows, sizeof *r->rows, by_key);
    struct ox_arena *arena = &r->list->arena;
    struct ox_target_pool *pool = ox_arena_alloc(arena, sizeof *pool);
    if (!pool)
        return no_memory(r);
    pool->masks = ox_arena_copy(arena, r->masks, r->n_bounds * sizeof *r->masks);
    pool->names = ox_arena_copy(arena, r->names, r->n_bounds * sizeof *r->names);
    pool->bounds = ox_arena_copy(arena, r->bounds, r->n_bounds * sizeof *r->bounds);
    pool->boxes = ox_arena_copy(arena, r->boxes, r->n_rows * sizeof *r->boxes);
    pool->types = ox_arena_copy(arena, r->types, r->n_rows * sizeof *r->types);
    const void *rows = ox_arena_copy(arena, r->rows, r->n_rows * sizeof *r->rows);
    if (!rows || !pool->boxes || !pool->types ||
        (r->n_bounds > 0 && (!pool->masks || !pool->names || !pool->bounds)))
        return no_memory(r);
    r->target->own = (struct ox_target_table){rows, r->n_rows, pool};
    return OX_OK;
}

static enum ox_status read_lines(struct reader *r, char *text)
{
    for (char *line = text; line; r->line++) {
        if (r->line > MOST_LINES)
            return fault(r, "too many lines", NULL);
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        OX_TRY(read_line(r, line));
        line = end ? end + 1 : NULL;
    }
    return finish(r);
}

/* The target that a file describes; in the list's arena. */
static enum ox_status read_described(struct ox_target **out, struct ox_targets *list,
                                     const char *path, struct ox_error *err)
{
    struct ox_mapping map;
    OX_TRY(ox_mapping_open(&map, list->env, path, MOST_BYTES, err));
    struct reader r = {.list = list, .path = path, .err = err, .line = 1};
    enum ox_status status = OX_OK;
    char *text = ox_arena_strndup(&list->arena, (const char *)map.data, map.bytes);
    r.target = ox_arena_alloc(&list->arena, sizeof *r.target);
    r.limits = ox_arena_array(&list->arena, MOST_LIMITS, sizeof *r.limits);
    if (!text || !r.target || !r.limits) {
        status = no_memory(&r);
    } else if (strlen(text) != map.bytes) {
        status = ox_fail(err, OX_INPUT, "%s: not a text file", path);
    } else {
        *r.target = (struct ox_target){.sure = OX_SURE_STATED,
                                       .own_bit = 1,
                                       .limits = r.limits,
                                       .origin = ox_arena_strdup(&list->arena, path)};
        status = read_lines(&r, text);
    }
    ox_mapping_release(&map);
    free(r.rows);
    free(r.masks);
    free((void *)r.names);
    free(r.bounds);
    free(r.boxes);
    free(r.types);
    if (status == OX_OK)
        *out = r.target;
    return status;
}

/* ---- Writing ---- */

static void print_row(struct ox_strbuf *out, const struct ox_target_row *row,
                      const struct ox_target_pool *pool)
{
    static const char *const ways[] = {"", " via=body", " via=cast", ""};
    const struct ox_target_span boxes = pool->types[row->types];
    for (size_t i = 0; i < boxes.n; i++) {
        const struct ox_target_span box = pool->boxes[boxes.first + i];
        ox_strbuf_printf(out, "op %s%s%s ", row->domain, *row->domain ? ":" : "", row->name);
        if (row->until == UINT16_MAX && row->since <= 1)
            ox_strbuf_putc(out, '*');
        else
            ox_strbuf_printf(out, row->since == row->until ? "%u" : "%u-%u", row->since,
                             row->until);
        for (size_t k = 0; k < box.n; k++) {
            const struct ox_target_bound *bound = &pool->bounds[box.first + k];
            ox_strbuf_printf(out, " %s=", pool->names[bound->name]);
            ox_target_types_print(out, pool->masks[bound->mask], ",");
        }
        ox_strbuf_printf(out, "%s\n", ways[row->via]);
    }
}

void ox_target_print(struct ox_strbuf *out, const struct ox_target *target)
{
    ox_strbuf_printf(out, "target %s %s %s\n", target->runtime, target->version, target->provider);
    ox_strbuf_printf(out, "origin %s\n", target->origin);
    if (target->ir)
        ox_strbuf_printf(out, "ir %lld\n", (long long)target->ir);
    for (size_t i = 0; i < target->n_limits; i++) {
        const struct ox_target_limit *limit = &target->limits[i];
        ox_strbuf_printf(out, "opset %s %lld %lld\n", *limit->domain ? limit->domain : "ai.onnx",
                         (long long)limit->newest, (long long)limit->quiet);
    }
    if (target->functions)
        ox_strbuf_puts(out, "functions\n");
    if (target->rest.rows)
        ox_strbuf_printf(out, "rest onnxruntime=%s:cpu\n", target->version);
    for (size_t i = 0; i < target->own.n; i++)
        if (target->own.rows[i].releases & target->own_bit)
            print_row(out, &target->own.rows[i], target->own.pool);
}

static bool is_file(const char *spec)
{
    size_t n = strlen(spec);
    static const char ending[] = ".target";
    return strchr(spec, '/') ||
           (n > sizeof ending && strcmp(spec + n - (sizeof ending - 1), ending) == 0);
}

enum ox_status ox_targets_add(struct ox_targets *targets, const char *text, struct ox_error *err)
{
    struct ox_target *target;
    if (!is_file(text))
        return ox_targets_add_known(targets, text, err);
    OX_TRY(read_described(&target, targets, text, err));
    return ox_targets_append(targets, target, err);
}
