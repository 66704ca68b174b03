/* What lies behind the public struct ox_env. */
#ifndef OX_COMMON_ENV_H
#define OX_COMMON_ENV_H

#include <stdatomic.h>
#include <stdint.h>

#include "common/arena.h"
#include "common/error.h"
#include "onnxtool.h"

struct ox_operators;
struct ox_thread_pool;

struct ox_env {
    struct ox_limits limits;
    struct ox_budget
        budget; /* its limit follows limits.memory_bytes: read through ox_env_budget() */
    _Atomic unsigned n_threads;               /* 0: not yet counted */
    _Atomic(struct ox_thread_pool *) threads; /* made when first needed; see ox_parallel() */
    /* Short jobs in a row that no thread shared: ns of the first and the last. */
    _Atomic int64_t alone_from, alone_at;
    enum ox_external_mode external;
    char *external_root;
    _Atomic bool cancelled;
    struct ox_operators *operators; /* custom ones, of schema/operators.h; NULL */
    void (*operators_release)(struct ox_operators *operators);
};

/* NULL for NULL: no budget. */
struct ox_budget *ox_env_budget(struct ox_env *env);
/* The number asked for, or ox_cores(); 1 for NULL. */
/* OX_CANCELLED once ox_env_cancel() was called; to be asked in every loop whose length a file decides. */
enum ox_status ox_env_poll(const struct ox_env *env, struct ox_error *err);

#endif
