#include "common/env.h"

#include <stdlib.h>
#include <string.h>

#include "common/machine.h"
#include "common/thread_pool.h"

void ox_limits_init(struct ox_limits *limits)
{
    *limits = (struct ox_limits){
#define LIMIT_DEFAULT(name, value, meaning) .name = (value),
        OX_LIMIT_LIST(LIMIT_DEFAULT)
#undef LIMIT_DEFAULT
    };
    uint64_t memory = ox_machine_memory() / 4 * 3;
    if (memory && memory < limits->memory_bytes)
        limits->memory_bytes = memory;
}

static const struct limit_row {
    const char *name;
    size_t at;
    const char *meaning;
} limit_rows[] = {
#define LIMIT_ROW(name, value, meaning) {#name, offsetof(struct ox_limits, name), meaning},
    OX_LIMIT_LIST(LIMIT_ROW)
#undef LIMIT_ROW
};

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char ca = *a == '-' ? '_' : *a;
        char cb = *b == '-' ? '_' : *b;
        if (ca != cb)
            return false;
    }
    return *a == *b;
}

bool ox_limits_set(struct ox_limits *limits, const char *name, uint64_t value)
{
    for (size_t i = 0; i < OX_COUNT(limit_rows); i++) {
        if (same_name(name, limit_rows[i].name)) {
            memcpy((char *)limits + limit_rows[i].at, &value, sizeof value);
            return true;
        }
    }
    return false;
}

size_t ox_limits_count(void)
{
    return OX_COUNT(limit_rows);
}

const char *ox_limits_name(size_t i, const char **meaning)
{
    if (meaning)
        *meaning = limit_rows[i].meaning;
    return limit_rows[i].name;
}

struct ox_env *ox_env_new(void)
{
    struct ox_env *env = calloc(1, sizeof *env);
    if (!env)
        return NULL;
    ox_limits_init(&env->limits);
    env->budget.limit = env->limits.memory_bytes;
    return env;
}

void ox_env_release(struct ox_env *env)
{
    if (!env)
        return;
    ox_thread_pool_release(atomic_load(&env->threads));
    if (env->operators)
        env->operators_release(env->operators);
    free(env->external_root);
    free(env);
}

struct ox_limits *ox_env_limits(struct ox_env *env)
{
    return &env->limits;
}

struct ox_budget *ox_env_budget(struct ox_env *env)
{
    if (!env)
        return NULL;
    if (env->budget.limit != env->limits.memory_bytes)
        env->budget.limit = env->limits.memory_bytes;
    return &env->budget;
}

void ox_env_set_threads(struct ox_env *env, unsigned n_threads)
{
    ox_thread_pool_release(atomic_exchange(&env->threads, NULL));
    atomic_store(&env->n_threads, n_threads);
}

unsigned ox_env_threads(const struct ox_env *env)
{
    if (!env)
        return 1;
    unsigned n_threads = atomic_load(&env->n_threads);
    return n_threads ? n_threads : ox_cores();
}

void ox_env_set_external(struct ox_env *env, enum ox_external_mode mode, const char *root)
{
    free(env->external_root);
    env->external_root = root ? strdup(root) : NULL;
    /* Without a root nothing lies within it: no memory for its name must not open more than was asked for. */
    env->external = root && !env->external_root ? OX_EXTERNAL_DENY : mode;
}

void ox_env_cancel(struct ox_env *env)
{
    atomic_store(&env->cancelled, true);
}

uint64_t ox_env_memory_peak(const struct ox_env *env)
{
    return atomic_load(&env->budget.peak);
}

enum ox_status ox_env_poll(const struct ox_env *env, struct ox_error *err)
{
    if (env && OX_UNLIKELY(atomic_load_explicit(&env->cancelled, memory_order_relaxed)))
        return ox_fail(err, OX_CANCELLED, "cancelled");
    return OX_OK;
}
