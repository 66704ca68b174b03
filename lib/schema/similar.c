/* "Did you mean ...?": the operator whose name takes the fewest edits. */
#include <string.h>

#include "schema/schema_tables.h"

enum { MAX_NAME = 63 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits from a to b: insertion, deletion, substitution, exchange of neighbours (optimal string alignment), letter case
 * for free. */
static unsigned edits(const char *a, size_t n_a, const char *b, size_t n_b)
{
    unsigned rows[3][MAX_NAME + 1];
    unsigned *before = rows[0];
    unsigned *last = rows[1];
    unsigned *now = rows[2];
    for (size_t j = 0; j <= n_b; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n_b; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned best = last[j - 1] + !same;
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[n_b];
}

const char *ox_schema_similar(const char *domain, const char *name)
{
    size_t n_name = strlen(name);
    if (n_name == 0 || n_name > MAX_NAME)
        return NULL;
    domain = ox_schema_plain_domain(domain);
    const char *best = NULL;
    unsigned best_edits = (unsigned)(n_name / 3) + 1; /* further away is another word */
    for (size_t i = 0; i < ox_schema_table_n; i++) {
        const struct ox_schema *row = &ox_schema_table[i];
        size_t n_row = strlen(row->name);
        size_t difference = n_row > n_name ? n_row - n_name : n_name - n_row;
        if (row->until != 0 || n_row > MAX_NAME || difference >= best_edits ||
            strcmp(row->domain, domain) != 0 || strcmp(row->name, name) == 0)
            continue;
        unsigned distance = edits(name, n_name, row->name, n_row);
        if (distance < best_edits) {
            best_edits = distance;
            best = row->name;
        }
    }
    return best;
}
