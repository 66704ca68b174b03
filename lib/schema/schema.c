/* Finding rows. */
#include "schema/schema.h"

#include <string.h>

#include "common/text_order.h"
#include "schema/schema_tables.h"

static int compare_key(const struct ox_schema *row, const char *domain, const char *name,
                       int64_t since)
{
    int order = ox_text_order(row->domain, domain);
    if (order == 0)
        order = ox_text_order(row->name, name);
    if (order == 0)
        order = (row->since > since) - (row->since < since);
    return order;
}

/* The last row whose key is not greater; NULL: all are. */
static const struct ox_schema *last_not_after(const struct ox_schema *rows, size_t n,
                                              const char *domain, const char *name, int64_t since)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_key(&rows[middle], domain, name, since) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &rows[low - 1] : NULL;
}

static const struct ox_schema *find_in(const struct ox_schema *rows, size_t n, const char *domain,
                                       const char *name, int64_t opset)
{
    domain = ox_schema_plain_domain(domain);
    const struct ox_schema *row = last_not_after(rows, n, domain, name, opset);
    if (!row || strcmp(row->name, name) != 0 || strcmp(row->domain, domain) != 0)
        return NULL;
    return row;
}

const struct ox_schema *ox_schema_find(const char *domain, const char *name, int64_t opset)
{
    return find_in(ox_schema_table, ox_schema_table_n, domain, name, opset);
}

const struct ox_schema *ox_schema_find_foreign(const char *domain, const char *name, int64_t opset)
{
    return find_in(ox_schema_foreign, ox_schema_foreign_n, domain, name, opset);
}

const struct ox_schema *ox_schema_at(const char *domain, const char *name, int since)
{
    const struct ox_schema *row = ox_schema_find(domain, name, since);
    return row && row->since == since ? row : NULL;
}

const struct ox_schema *ox_schema_rows(size_t *n)
{
    *n = ox_schema_table_n;
    return ox_schema_table;
}

const struct ox_schema_attr *ox_schema_attr(const struct ox_schema *schema, const char *name)
{
    size_t low = 0;
    size_t high = schema->n_attrs;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(schema->attrs[middle].name, name);
        if (order == 0)
            return &schema->attrs[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct ox_schema_body *ox_schema_body_at(const struct ox_schema *schema, int64_t opset)
{
    size_t i = schema->n_bodies;
    while (i > 0 && schema->bodies[i - 1].opset > opset)
        i--;
    return i > 0 ? &schema->bodies[i - 1] : NULL;
}
