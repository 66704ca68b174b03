/* The generated tables of runtimes, as target.c sees them. */
#ifndef OX_SCHEMA_TARGET_TABLES_H
#define OX_SCHEMA_TARGET_TABLES_H

#include "schema/target.h"

struct ox_target_release {
    const char *version;
    int ir, opset, quiet,
        ml; /* newest IR; newest ai.onnx, oldest one without a warning; newest ai.onnx.ml; 0: no limit */
};

/* A provider of a runtime through the releases. */
struct ox_target_family {
    const char *runtime, *provider;
    bool is_default; /* the one meant when none is named */
    const struct ox_target_release *releases;
    size_t n_releases;
    const struct ox_target_row *rows;
    size_t n_rows;
    bool by_release; /* rows have a bit a release; else one for all */
    const struct ox_target_row *rest;
    size_t n_rest;
    enum ox_target_sure sure;
    const unsigned char *sures; /* by release; NULL: `sure` for all */
    const char *origin;
    int functions_from; /* the first release that expands functions of models; -1: none */
    bool only_quiet;
};

extern const struct ox_target_family ox_target_families[];
extern const size_t ox_target_n_families;
extern const struct ox_target_pool ox_target_pool;

#endif
