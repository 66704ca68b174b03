/* Custom operators: the list that an environment holds, and looking into it. */
#include "schema/operators.h"

#include <stdlib.h>
#include <string.h>

#include "common/file.h"

static void release(struct ox_operators *operators)
{
    if (operators->libraries)
        operators->libraries_release(operators->libraries);
    ox_arena_release(&operators->arena);
    free(operators);
}

struct ox_operators *ox_operators_of(struct ox_env *env)
{
    if (env->operators)
        return env->operators;
    struct ox_operators *operators = calloc(1, sizeof *operators);
    if (!operators)
        return NULL;
    ox_arena_init(&operators->arena, NULL); /* the budget is the models' */
    env->operators = operators;
    env->operators_release = release;
    return operators;
}

enum ox_status ox_env_add_schemas(struct ox_env *env, const char *path, struct ox_error *err)
{
    enum { MOST_BYTES = 16 << 20 };
    struct ox_mapping map;
    struct ox_operators *operators = ox_operators_of(env);
    if (!operators)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    OX_TRY(ox_mapping_open(&map, env, path, MOST_BYTES, err));
    /* What a mapped file says could change between its reading and its use: strings are copied from a copy. */
    char *text = ox_arena_strndup(&operators->arena, (const char *)map.data, map.bytes);
    size_t n = map.bytes;
    ox_mapping_release(&map);
    if (!text)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    return ox_operators_read(operators, text, n, path, err);
}

const struct ox_operator *ox_operators_find(const struct ox_env *env, const char *domain,
                                            const char *name, int64_t opset)
{
    const struct ox_operator *best = NULL;
    if (!env || !env->operators)
        return NULL;
    for (size_t i = 0; i < env->operators->n_items; i++) {
        const struct ox_operator *item = env->operators->items[i];
        if (item->schema.since <= opset && (!best || item->schema.since > best->schema.since) &&
            strcmp(item->schema.name, name) == 0 && strcmp(item->schema.domain, domain) == 0)
            best = item;
    }
    return best;
}

bool ox_operators_has_domain(const struct ox_env *env, const char *domain)
{
    if (!env || !env->operators)
        return false;
    for (size_t i = 0; i < env->operators->n_items; i++)
        if (strcmp(env->operators->items[i]->schema.domain, domain) == 0)
            return true;
    return false;
}

const struct ox_schema *ox_operators_first(const struct ox_env *env, const char *domain,
                                           const char *name)
{
    const struct ox_schema *first = NULL;
    for (size_t i = 0; env && env->operators && i < env->operators->n_items; i++) {
        const struct ox_schema *row = &env->operators->items[i]->schema;
        if (strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0 &&
            (!first || row->since < first->since))
            first = row;
    }
    return first;
}

const struct ox_operator *ox_operators_owner(const struct ox_env *env,
                                             const struct ox_schema *schema)
{
    for (size_t i = 0; schema && env && env->operators && i < env->operators->n_items; i++)
        if (&env->operators->items[i]->schema == schema)
            return env->operators->items[i];
    return NULL;
}

const struct ox_schema *ox_schema_lookup(const struct ox_env *env, const char *domain,
                                         const char *name, int64_t opset)
{
    const struct ox_schema *schema = ox_schema_find(domain, name, opset);
    if (schema)
        return schema;
    const struct ox_operator *custom = ox_operators_find(env, domain, name, opset);
    return custom ? &custom->schema : NULL;
}

const struct ox_schema *ox_schema_lookup_any(const struct ox_env *env, const char *domain,
                                             const char *name, int64_t opset)
{
    const struct ox_schema *schema = ox_schema_lookup(env, domain, name, opset);
    return schema ? schema : ox_schema_find_foreign(domain, name, opset);
}
