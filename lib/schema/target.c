/* The runtimes known, and questions to their tables. */
#include "schema/target.h"

#include <stdlib.h>
#include <string.h>

#include "common/text_order.h"
#include "schema/schema.h"
#include "schema/target_tables.h"

static int compare_key(const struct ox_target_row *row, const char *domain, const char *name)
{
    int order = ox_text_order(row->domain, domain);
    return order ? order : ox_text_order(row->name, name);
}

/* The first row of that operator, or where it would stand. */
static size_t first_row(const struct ox_target_table *table, const char *domain, const char *name)
{
    size_t low = 0;
    size_t high = table->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_key(&table->rows[middle], domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The type of what a bound names, 0 where the node has none or it is not known. */
static uint64_t bound_bit(const char *name, const struct ox_target_binding *bindings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bindings[i].bit && strcmp(bindings[i].constraint, name) == 0)
            return bindings[i].bit;
    for (size_t i = 0; i < n; i++)
        if (bindings[i].bit && strcmp(bindings[i].param, name) == 0)
            return bindings[i].bit;
    return 0;
}

/* Whether a box of the row holds; else what stood against the last one. */
static bool types_fit(struct ox_target_answer *answer, const struct ox_target_pool *pool,
                      const struct ox_target_row *row, const struct ox_target_binding *bindings,
                      size_t n)
{
    const struct ox_target_span boxes = pool->types[row->types];
    for (size_t i = 0; i < boxes.n; i++) {
        const struct ox_target_span box = pool->boxes[boxes.first + i];
        const struct ox_target_bound *bounds = &pool->bounds[box.first];
        bool fits = true;
        for (size_t k = 0; k < box.n && fits; k++) {
            const char *name = pool->names[bounds[k].name];
            uint64_t bit = bound_bit(name, bindings, n);
            uint64_t mask = pool->masks[bounds[k].mask];
            fits = !bit || (bit & mask);
            if (!fits && (!answer->bound || strcmp(answer->bound, name) == 0)) {
                answer->allowed = (answer->bound ? answer->allowed : 0) | mask;
                answer->bound = name;
                answer->found = bit;
            }
        }
        if (fits)
            return true;
    }
    return false;
}

void ox_target_ask(struct ox_target_answer *answer, const struct ox_target_table *table,
                   uint32_t bit, const char *domain, const char *name, int since,
                   const struct ox_target_binding *bindings, size_t n)
{
    *answer = (struct ox_target_answer){0};
    for (size_t i = first_row(table, domain, name);
         i < table->n && compare_key(&table->rows[i], domain, name) == 0; i++) {
        const struct ox_target_row *row = &table->rows[i];
        if (!(row->releases & bit))
            continue;
        answer->has_op = true;
        if (since < row->since || since > row->until)
            continue;
        answer->has_version = true;
        if (row->via > answer->via && types_fit(answer, table->pool, row, bindings, n))
            answer->via = row->via;
    }
}

bool ox_target_has_domain(const struct ox_target_table *table, const char *domain)
{
    size_t at = first_row(table, domain, "");
    return at < table->n && strcmp(table->rows[at].domain, domain) == 0;
}

const struct ox_target_limit *ox_target_limit(const struct ox_target *target, const char *domain)
{
    for (size_t i = 0; i < target->n_limits; i++)
        if (strcmp(target->limits[i].domain, domain) == 0)
            return &target->limits[i];
    return NULL;
}

void ox_target_types_print(struct ox_strbuf *out, uint64_t mask, const char *separator)
{
    const char *before = "";
    for (unsigned i = 1; i < 64; i++) {
        if (!(mask >> i & 1) || i == OX_TARGET_SEQUENCE_BIT)
            continue;
        bool sequence = i > OX_TARGET_SEQUENCE_BIT;
        const char *name = ox_dtype_name((enum ox_dtype)(i % OX_TARGET_SEQUENCE_BIT));
        ox_strbuf_printf(out, sequence ? "%sseq(%s)" : "%s%s", before, name);
        before = separator;
    }
    if (mask & OX_TARGET_OPTIONAL) {
        ox_strbuf_printf(out, "%soptional", before);
        before = separator;
    }
    if (mask & OX_TARGET_OTHER)
        ox_strbuf_printf(out, "%sother", before);
}

static size_t count_operators(const struct ox_target *target)
{
    size_t n = 0;
    const struct ox_target_row *last = NULL;
    for (size_t i = 0; i < target->own.n; i++) {
        const struct ox_target_row *row = &target->own.rows[i];
        if (!(row->releases & target->own_bit))
            continue;
        n += !last || compare_key(last, row->domain, row->name) != 0;
        last = row;
    }
    return n;
}

void ox_target_info(const struct ox_target *target, struct ox_target_info *info)
{
    static const char *const words[][2] = {
#define OX_SURE_WORD(name, word, meaning) {word, meaning},
        OX_SURE_LIST(OX_SURE_WORD)
#undef OX_SURE_WORD
    };
    const struct ox_target_limit *main = ox_target_limit(target, "");
    const struct ox_target_limit *ml = ox_target_limit(target, "ai.onnx.ml");
    *info = (struct ox_target_info){
        .name = target->name,
        .runtime = target->runtime,
        .version = target->version,
        .provider = target->provider,
        .origin = target->origin,
        .sure = words[target->sure][0],
        .sure_meaning = words[target->sure][1],
        .ir = target->ir,
        .opset = main ? main->newest : 0,
        .ml_opset = ml ? ml->newest : 0,
        .rest = target->rest.rows ? "cpu" : NULL,
        .n_operators = count_operators(target),
    };
}

/* ---- Lists of targets ---- */

enum ox_status ox_targets_new(struct ox_targets **out, struct ox_env *env, struct ox_error *err)
{
    struct ox_targets *targets = calloc(1, sizeof *targets);
    if (!targets)
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
    targets->env = env;
    ox_arena_init(&targets->arena, ox_env_budget(env));
    *out = targets;
    return OX_OK;
}

void ox_targets_release(struct ox_targets *targets)
{
    if (!targets)
        return;
    ox_arena_release(&targets->arena);
    free(targets->items);
    free(targets);
}

size_t ox_targets_count(const struct ox_targets *targets)
{
    return targets->n;
}

const struct ox_target *ox_targets_at(const struct ox_targets *targets, size_t i)
{
    return targets->items[i];
}

static enum ox_status append(struct ox_targets *targets, const struct ox_target *target,
                             struct ox_error *err)
{
    if (targets->n == targets->cap) {
        size_t cap = targets->cap ? 2 * targets->cap : 8;
        const struct ox_target **items =
            realloc((void *)targets->items, cap * sizeof *targets->items);
        if (!items)
            return ox_fail(err, OX_NO_MEMORY, "out of memory");
        targets->items = items;
        targets->cap = cap;
    }
    targets->items[targets->n++] = target;
    return OX_OK;
}

/* The target that release `release` of a family is; NULL: out of memory. */
static struct ox_target *make(struct ox_targets *targets, const struct ox_target_family *family,
                              unsigned release)
{
    struct ox_target *target = ox_arena_alloc(&targets->arena, sizeof *target);
    struct ox_target_limit *limits = ox_arena_array(&targets->arena, 2, sizeof *limits);
    if (!target || !limits)
        return NULL;
    const struct ox_target_release *facts = &family->releases[release];
    *target = (struct ox_target){
        .runtime = family->runtime,
        .version = facts->version,
        .provider = family->provider,
        .name = ox_arena_printf(&targets->arena, "%s=%s:%s", family->runtime, facts->version,
                                family->provider),
        .origin = family->origin,
        .sure = family->sures ? (enum ox_target_sure)family->sures[release] : family->sure,
        .ir = facts->ir,
        .limits = limits,
        .own = {family->rows, family->n_rows, &ox_target_pool},
        .own_bit = family->by_release ? (uint32_t)1 << release : 1,
        .functions = family->functions_from >= 0 && release >= (unsigned)family->functions_from,
        .only_quiet = family->only_quiet,
    };
    if (family->rest)
        target->rest = (struct ox_target_table){family->rest, family->n_rest, &ox_target_pool};
    target->rest_bit = (uint32_t)1 << release;
    if (facts->opset)
        limits[target->n_limits++] = (struct ox_target_limit){"", facts->opset, facts->quiet};
    if (facts->ml)
        limits[target->n_limits++] = (struct ox_target_limit){"ai.onnx.ml", facts->ml, 1};
    return target->name ? target : NULL;
}

static enum ox_status add_release(struct ox_targets *targets, const struct ox_target_family *family,
                                  unsigned release, struct ox_error *err)
{
    const struct ox_target *target = make(targets, family, release);
    if (!target)
        return ox_fail(err, OX_NO_MEMORY, "out of memory");
    return append(targets, target, err);
}

enum ox_status ox_targets_add_all(struct ox_targets *targets, struct ox_error *err)
{
    for (size_t i = 0; i < ox_target_n_families; i++) {
        const struct ox_target_family *family = &ox_target_families[i];
        for (unsigned r = 0; r < family->n_releases; r++)
            OX_TRY(add_release(targets, family, r, err));
    }
    return OX_OK;
}

/* ---- "onnxruntime>=1.14:cuda" ---- */

struct spec {
    char runtime[64], low[32], high[32], provider[32]; /* "" where not given */
    bool range;
};

static bool copy_part(char *to, size_t size, const char *from, size_t n)
{
    if (n == 0 || n >= size)
        return false;
    memcpy(to, from, n);
    to[n] = '\0';
    return true;
}

/* Numbers with dots between. */
static bool is_version(const char *text)
{
    for (;; text++) {
        size_t n = strspn(text, "0123456789");
        text += n;
        if (n == 0 || n > 9 || *text != '.')
            return n != 0 && n <= 9 && !*text;
    }
}

static bool split_spec(struct spec *spec, const char *text)
{
    *spec = (struct spec){0};
    size_t n = strcspn(text, "=<>:");
    if (!copy_part(spec->runtime, sizeof spec->runtime, text, n))
        return false;
    text += n;
    while (*text && *text != ':') {
        bool low = text[0] == '>' && text[1] == '=';
        bool high = text[0] == '<' && text[1] == '=';
        if (!low && !high && *text != '=')
            return false;
        text += low || high ? 2 : 1;
        n = strcspn(text, ",:<>=");
        char *to = high ? spec->high : spec->low;
        if (*to || !copy_part(to, sizeof spec->low, text, n) || !is_version(to))
            return false;
        spec->range |= low || high;
        text += n + (text[n] == ',');
    }
    return !*text || copy_part(spec->provider, sizeof spec->provider, text + 1, strlen(text + 1));
}

int ox_target_compare_versions(const char *version, const char *wanted)
{
    for (;;) {
        char *version_end;
        char *wanted_end;
        long a = strtol(version, &version_end, 10);
        long b = strtol(wanted, &wanted_end, 10);
        if (a != b)
            return a < b ? -1 : 1;
        if (*wanted_end != '.' || *version_end != '.')
            return 0;
        version = version_end + 1;
        wanted = wanted_end + 1;
    }
}

/* Patches of a release differ in little that matters here: 1.16.1 is answered by 1.16.3. */
static bool same_minor(const char *version, const char *wanted)
{
    char minor[32];
    const char *dot = strchr(wanted, '.');
    const char *second = dot ? strchr(dot + 1, '.') : NULL;
    if (!second || !copy_part(minor, sizeof minor, wanted, (size_t)(second - wanted)))
        return false;
    return ox_target_compare_versions(version, minor) == 0;
}

static bool release_wanted(const struct spec *spec, const struct ox_target_family *family,
                           unsigned release)
{
    const char *version = family->releases[release].version;
    if (spec->range)
        return (!*spec->low || ox_target_compare_versions(version, spec->low) >= 0) &&
               (!*spec->high || ox_target_compare_versions(version, spec->high) <= 0);
    if (!*spec->low)
        return release + 1 == family->n_releases;
    return ox_target_compare_versions(version, spec->low) == 0 || same_minor(version, spec->low);
}

static enum ox_status unknown(const struct spec *spec, const char *text, struct ox_error *err)
{
    const struct ox_target_family *of_runtime = NULL;
    for (size_t i = 0; i < ox_target_n_families; i++) {
        const struct ox_target_family *family = &ox_target_families[i];
        if (strcmp(family->runtime, spec->runtime) != 0)
            continue;
        of_runtime = family;
        if (*spec->provider && strcmp(family->provider, spec->provider) != 0)
            continue;
        return ox_fail(err, OX_USAGE, "target '%s': versions %s to %s of %s are known", text,
                       family->releases[0].version,
                       family->releases[family->n_releases - 1].version, family->runtime);
    }
    if (of_runtime)
        return ox_fail(err, OX_USAGE,
                       "target '%s': %s has no provider '%s'; --target list prints them", text,
                       of_runtime->runtime, spec->provider);
    for (size_t i = 0; i < ox_target_n_families; i++)
        if (strcmp(ox_target_families[i].provider, spec->runtime) == 0)
            return ox_fail(err, OX_USAGE,
                           "target '%s': no runtime is called '%s', but %s has a provider of that "
                           "name: %s:%s",
                           text, spec->runtime, ox_target_families[i].runtime,
                           ox_target_families[i].runtime, spec->runtime);
    return ox_fail(err, OX_USAGE,
                   "target '%s': no runtime is called '%s'; --target list prints them", text,
                   spec->runtime);
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
    if (is_file(text)) {
        struct ox_target *target;
        OX_TRY(ox_target_read(&target, targets, text, err));
        return append(targets, target, err);
    }
    struct spec spec;
    if (!split_spec(&spec, text))
        return ox_fail(err, OX_USAGE,
                       "target '%s': expected RUNTIME[=VERSION][:PROVIDER], "
                       "RUNTIME>=VERSION[,<=VERSION] or a file",
                       text);
    size_t before = targets->n;
    for (size_t i = 0; i < ox_target_n_families; i++) {
        const struct ox_target_family *family = &ox_target_families[i];
        if (strcmp(family->runtime, spec.runtime) != 0 ||
            (*spec.provider ? strcmp(family->provider, spec.provider) != 0 : !family->is_default))
            continue;
        for (unsigned r = 0; r < family->n_releases; r++)
            if (release_wanted(&spec, family, r))
                OX_TRY(add_release(targets, family, r, err));
    }
    return targets->n > before ? OX_OK : unknown(&spec, text, err);
}
