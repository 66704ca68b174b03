/* The generated tables as constant data. */
#include <limits.h>

#include "model/model.h"
#include "schema/schema_tables.h"

enum { OX_ROW_DEPRECATED = 1, OX_ROW_RANDOM = 2, OX_ROW_FUNCTION = 4 };

#define OX_PARAM(name, type, option, homogeneous, min_arity, constraint, allowed)                  \
    {                                                                                              \
        name, type, option, homogeneous, min_arity, constraint, allowed, NULL                      \
    }

#define OX_ATTR(name, type, required)                                                              \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_NONE, 0, 0, NULL, NULL, NULL, NULL, 0           \
    }
#define OX_ATTR_I(name, type, required, value)                                                     \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_INT, value, 0, NULL, NULL, NULL, NULL, 1        \
    }
#define OX_ATTR_F(name, type, required, value)                                                     \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_FLOAT, 0, value, NULL, NULL, NULL, NULL, 1      \
    }
#define OX_ATTR_S(name, type, required, value)                                                     \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_STRING, 0, 0, value, NULL, NULL, NULL, 1        \
    }
#define OX_ATTR_INTS(name, type, required, n, ...)                                                 \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_INTS, 0, 0, NULL,                               \
            (const int64_t[]){__VA_ARGS__}, NULL, NULL, n                                          \
    }
#define OX_ATTR_FLOATS(name, type, required, n, ...)                                               \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_FLOATS, 0, 0, NULL, NULL,                       \
            (const float[]){__VA_ARGS__}, NULL, n                                                  \
    }
#define OX_ATTR_STRINGS(name, type, required, n, ...)                                              \
    {                                                                                              \
        name, OX_ATTR_##type, required, OX_DEFAULT_STRINGS, 0, 0, NULL, NULL, NULL,                \
            (const char *const[]){__VA_ARGS__}, n                                                  \
    }

#include "schema/microsoft.inc"
#include "schema/standard.inc"

/* clang-format off */
#define OX_ROW(domain, name, since, until, flags, min_in, max_in, min_out, max_out, inputs, n_in,  \
               outputs, n_out, attrs, n_attrs, constraints, n_constraints, body, body_bytes,       \
               body_opset, bodies, n_bodies)                                                       \
    {domain, name, since, until, ((flags) & OX_ROW_DEPRECATED) != 0, ((flags) & OX_ROW_RANDOM) != 0, \
     ((flags) & OX_ROW_FUNCTION) != 0, min_in, max_in, min_out, max_out, inputs, n_in, outputs, n_out, \
     attrs, n_attrs, constraints, n_constraints, body, body_bytes, body_opset, bodies, n_bodies},
/* clang-format on */

const struct ox_schema ox_schema_table[] = {
#include "schema/standard_rows.inc"

#include "schema/microsoft_rows.inc"
};
const size_t ox_schema_table_n = OX_COUNT(ox_schema_table);

const struct ox_schema ox_schema_foreign[] = {
#include "schema/foreign_rows.inc"
};
const size_t ox_schema_foreign_n = OX_COUNT(ox_schema_foreign);

const struct ox_type_table ox_type_tables[OX_N_TYPE_TABLES] = {
    {0, standard_type_sets, OX_COUNT(standard_type_sets), standard_type_names},
    {0x4000, microsoft_type_sets, OX_COUNT(microsoft_type_sets), microsoft_type_names},
};
