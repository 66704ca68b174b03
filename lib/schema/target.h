/* Runtimes as tables: what a release accepts, and which nodes its providers have kernels for. */
#ifndef OX_SCHEMA_TARGET_H
#define OX_SCHEMA_TARGET_H

#include "common/env.h"
#include "common/error.h"

/* How a runtime takes a node, the better the larger. */
enum ox_target_via {
    OX_VIA_NONE,
    OX_VIA_BODY, /* by the function body that the standard has for it */
    OX_VIA_CAST, /* by a kernel of another type, with casts around it */
    OX_VIA_KERNEL
};

/* How a table is known, the surest first. */
#define OX_SURE_LIST(X)                                                                            \
    X(OX_SURE_MEASURED, "measured", "models of one node each were loaded in the released package") \
    X(OX_SURE_LISTED, "listed", "the released package's own list of kernels")                      \
    X(OX_SURE_PUBLISHED, "published", "documentation of the release, not held against it")         \
    X(OX_SURE_DERIVED, "derived", "follows from the tables of other releases or builds")           \
    X(OX_SURE_STATED, "stated", "a file of yours says so")

enum ox_target_sure {
#define OX_SURE_ENUM(name, word, meaning) name,
    OX_SURE_LIST(OX_SURE_ENUM)
#undef OX_SURE_ENUM
};

/* A constraint of a schema ("T"), or an input or output by name, that must be of one of these types. */
struct ox_target_bound {
    uint16_t name; /* index into names */
    uint16_t mask; /* index into masks */
};

struct ox_target_span {
    uint16_t first, n;
};

/* An operator at the schema versions since to until. */
struct ox_target_row {
    const char *domain, *name; /* domain "" is ai.onnx */
    uint16_t since, until;
    uint8_t via; /* enum ox_target_via */
    uint16_t
        types; /* index into types: a span of boxes, one of which must hold; a box is a span of bounds, all of them */
    uint32_t releases; /* bit i: the runtime's release i has it */
};

struct ox_target_pool {
    const uint64_t *masks; /* bits: ox_target_type_bit() */
    const char *const *names;
    const struct ox_target_bound *bounds;
    const struct ox_target_span *boxes;
    const struct ox_target_span *types;
};

struct ox_target_table {
    const struct ox_target_row *rows; /* sorted by domain, name, since; best via first */
    size_t n;
    const struct ox_target_pool *pool;
};

/* A domain's operator sets that are accepted; from below `quiet` on with a warning. */
struct ox_target_limit {
    const char *domain;
    int64_t newest, quiet;
};

struct ox_target {
    const char *name; /* "onnxruntime=1.16.3:cuda" */
    const char *runtime, *version, *provider;
    const char *origin;
    enum ox_target_sure sure;
    int64_t ir; /* newest accepted; 0: any */
    const struct ox_target_limit *limits;
    size_t n_limits;
    struct ox_target_table own; /* of the provider */
    uint32_t own_bit;
    struct ox_target_table
        rest; /* of the provider that takes what `own` does not; rows NULL: none does */
    uint32_t rest_bit;
    bool functions;  /* functions of the model are expanded */
    bool only_quiet; /* what is older than `quiet` is refused, not warned about */
};

struct ox_targets {
    struct ox_env *env;
    struct ox_arena arena;
    const struct ox_target **items;
    size_t n, cap;
};

/* The type that an input, output or constraint of a node has: OX_TARGET_ANY where it is not known. */
struct ox_target_binding {
    const char *param, *constraint; /* names in the schema; constraint may be a concrete type */
    uint64_t bit;
    bool has_allowed; /* the schema knows the place, and which types may stand there: */
    uint16_t allowed; /* index into the table of type sets */
};

enum { OX_TARGET_SEQUENCE_BIT = 32 };
#define OX_TARGET_OPTIONAL ((uint64_t)1 << 32)
#define OX_TARGET_OTHER ((uint64_t)1) /* maps, sparse tensors */

/* What a table has for an operator. */
struct ox_target_answer {
    enum ox_target_via via;
    bool has_op, has_version;
    /* Where only the types are wrong: what binds, and what it may be. */
    const char *bound;
    uint64_t found, allowed;
};

void ox_target_ask(struct ox_target_answer *answer, const struct ox_target_table *table,
                   uint32_t bit, const char *domain, const char *name, int since,
                   const struct ox_target_binding *bindings, size_t n);
/* Whether a table has any operator of the domain. */
bool ox_target_has_domain(const struct ox_target_table *table, const char *domain);
/* NULL: the domain is not limited. */
const struct ox_target_limit *ox_target_limit(const struct ox_target *target, const char *domain);
/* Compares versions by their numbers, as far as `wanted` gives them: 1.16.3 and 1.16 are equal. */
int ox_target_compare_versions(const char *version, const char *wanted);
/* "float32, float16, seq(int64)" */
void ox_target_types_print(struct ox_strbuf *out, uint64_t mask, const char *separator);

/* ---- target_known.c ---- */

/* ox_targets_add() of what is no file. */
enum ox_status ox_targets_add_known(struct ox_targets *targets, const char *text,
                                    struct ox_error *err);
/* The target lives as long as the list. */
enum ox_status ox_targets_append(struct ox_targets *targets, const struct ox_target *target,
                                 struct ox_error *err);

/* ---- target_file.c ---- */

#endif
