/* The generated tables, as schema.c, typeset.c and versions.c see them. */
#ifndef OX_SCHEMA_SCHEMA_TABLES_H
#define OX_SCHEMA_SCHEMA_TABLES_H

#include "schema/schema.h"

/* Masks of element types, 1 << enum ox_dtype, one a kind of type. */
enum ox_type_kind_mask {
    OX_MASK_TENSOR,
    OX_MASK_SEQUENCE,
    OX_MASK_OPTIONAL,
    OX_MASK_OPTIONAL_SEQUENCE,
    OX_MASK_SPARSE,
    OX_N_MASKS
};

struct ox_type_set_row {
    uint16_t first; /* into the names of its source */
    uint16_t n;
    uint32_t masks[OX_N_MASKS];
};

/* What a parameter of an operator from a file takes. */
struct ox_own_types {
    const char *const *names; /* sorted */
    size_t n;
    uint32_t masks[OX_N_MASKS];
};

/* Type sets of one source; numbers in schemas start at `base`. */
struct ox_type_table {
    uint16_t base;
    const struct ox_type_set_row *sets;
    size_t n_sets;
    const char *const *names;
};

enum { OX_N_TYPE_TABLES = 2 };
extern const struct ox_type_table ox_type_tables[OX_N_TYPE_TABLES];

/* "" for "ai.onnx", which files may spell out. */
const char *ox_schema_plain_domain(const char *domain);

/* Sorted by domain, name, since. */
extern const struct ox_schema ox_schema_table[];
extern const size_t ox_schema_table_n;
/* What onnxruntime adds to the domain of the standard; sorted alike. */
extern const struct ox_schema ox_schema_foreign[];
extern const size_t ox_schema_foreign_n;

#endif
