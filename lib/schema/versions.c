/* Domains, and which release of the standard knew which operator set first. */
#include <string.h>

#include "schema/schema_tables.h"

struct ox_domain_row {
    const char *domain;
    int first, newest;
};

/* A release that raised a domain's version; in the order of release. */
struct ox_release_row {
    const char *domain;
    int opset;
    int ir;
    const char *release;
};

#include "schema/versions.inc"

/* onnxruntime's own domains: always version 1. */
static const struct ox_domain_row own_domains[] = {
    {"com.microsoft", 1, 1},
    {"com.microsoft.nchwc", 1, 1},
};

const char *ox_schema_plain_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static int newest_in(const struct ox_domain_row *rows, size_t n, const char *domain)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].domain, domain) == 0)
            return rows[i].newest;
    }
    return 0;
}

int ox_schema_newest(const char *domain)
{
    domain = ox_schema_plain_domain(domain);
    int newest = newest_in(domains, OX_COUNT(domains), domain);
    return newest ? newest : newest_in(own_domains, OX_COUNT(own_domains), domain);
}

bool ox_schema_domain_known(const char *domain)
{
    return ox_schema_newest(domain) != 0;
}

static const struct ox_release_row *first_release(const char *domain, int64_t opset)
{
    domain = ox_schema_plain_domain(domain);
    if (opset < 1)
        return NULL;
    for (size_t i = 0; i < OX_COUNT(releases); i++) {
        if (releases[i].opset >= opset && strcmp(releases[i].domain, domain) == 0)
            return &releases[i];
    }
    return NULL;
}

int ox_schema_ir_for_opset(const char *domain, int64_t opset)
{
    const struct ox_release_row *row = first_release(domain, opset);
    return row ? row->ir : 0;
}

const char *ox_schema_release_for_opset(const char *domain, int64_t opset)
{
    const struct ox_release_row *row = first_release(domain, opset);
    return row ? row->release : NULL;
}
