/* The runtimes known, by name. */
#include <stdlib.h>
#include <string.h>

#include "schema/target_tables.h"

enum ox_status ox_targets_new(struct ox_targets **out, struct ox_env *env, struct ox_error *err)
{
    struct ox_targets *targets = calloc(1, sizeof *targets);
    if (!targets)
        return ox_no_memory(err);
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

enum ox_status ox_targets_append(struct ox_targets *targets, const struct ox_target *target,
                                 struct ox_error *err)
{
    if (targets->n == targets->cap) {
        size_t cap = targets->cap ? 2 * targets->cap : 8;
        const struct ox_target **items =
            realloc((void *)targets->items, cap * sizeof *targets->items);
        if (!items)
            return ox_no_memory(err);
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
        return ox_no_memory(err);
    return ox_targets_append(targets, target, err);
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

enum ox_status ox_targets_add_known(struct ox_targets *targets, const char *text,
                                    struct ox_error *err)
{
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
