/* Type sets: by name, and by masks of element types for the questions that checkers ask of every node. */
#include <string.h>

#include "schema/schema_tables.h"

static const struct ox_type_set_row *set_row(uint16_t set, const char *const **names)
{
    for (size_t t = OX_N_TYPE_TABLES; t-- > 0;) {
        const struct ox_type_table *table = &ox_type_tables[t];
        if (set >= table->base && (size_t)(set - table->base) < table->n_sets) {
            const struct ox_type_set_row *row = &table->sets[set - table->base];
            *names = table->names + row->first;
            return row;
        }
    }
    return NULL;
}

size_t ox_type_set(uint16_t set, const char *const **types)
{
    const struct ox_type_set_row *row = set_row(set, types);
    return row ? row->n : 0;
}

static bool masks_have(const uint32_t masks[OX_N_MASKS], char kind, enum ox_dtype elem)
{
    static const char kinds[OX_N_MASKS] = {'t', 's', 'o', 'q', 'p'};
    const char *at = kind != '\0' ? memchr(kinds, kind, sizeof(kinds)) : NULL;
    return at && (unsigned)elem < 32 && (masks[at - kinds] >> elem & 1) != 0;
}

bool ox_type_set_has(uint16_t set, char kind, enum ox_dtype elem)
{
    const char *const *names = NULL;
    const struct ox_type_set_row *row = set_row(set, &names);
    return row && masks_have(row->masks, kind, elem);
}

bool ox_param_takes(const struct ox_schema_param *param, char kind, enum ox_dtype elem)
{
    return param->own ? masks_have(param->own->masks, kind, elem)
                      : ox_type_set_has(param->allowed, kind, elem);
}

size_t ox_param_types(const struct ox_schema_param *param, const char *const **types)
{
    if (!param->own)
        return ox_type_set(param->allowed, types);
    *types = param->own->names;
    return param->own->n;
}

bool ox_type_set_has_name(uint16_t set, const char *type)
{
    const char *const *names = NULL;
    const struct ox_type_set_row *row = set_row(set, &names);
    size_t low = 0;
    size_t high = row ? row->n : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(names[middle], type);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}
