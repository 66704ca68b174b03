/* Questions to the tables of runtimes. */
#include "schema/target.h"

#include <stdlib.h>
#include <string.h>

#include "common/text_order.h"
#include "schema/schema.h"
#include "schema/target_tables.h"

static int compare_key(const struct ox_target_row *row, const char *domain, const char *name)
{
    int order = ox_text_order(row->domain, domain);
    return order ? order : ox_text_order(row->name, name);
}

/* The first row of that operator, or where it would stand. */
static size_t first_row(const struct ox_target_table *table, const char *domain, const char *name)
{
    size_t low = 0;
    size_t high = table->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_key(&table->rows[middle], domain, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The type of what a bound names, 0 where the node has none or it is not known. */
static uint64_t bound_bit(const char *name, const struct ox_target_binding *bindings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bindings[i].bit && strcmp(bindings[i].constraint, name) == 0)
            return bindings[i].bit;
    for (size_t i = 0; i < n; i++)
        if (bindings[i].bit && strcmp(bindings[i].param, name) == 0)
            return bindings[i].bit;
    return 0;
}

/* Whether a box of the row holds; else what stood against the last one. */
static bool types_fit(struct ox_target_answer *answer, const struct ox_target_pool *pool,
                      const struct ox_target_row *row, const struct ox_target_binding *bindings,
                      size_t n)
{
    const struct ox_target_span boxes = pool->types[row->types];
    for (size_t i = 0; i < boxes.n; i++) {
        const struct ox_target_span box = pool->boxes[boxes.first + i];
        const struct ox_target_bound *bounds = &pool->bounds[box.first];
        bool fits = true;
        for (size_t k = 0; k < box.n && fits; k++) {
            const char *name = pool->names[bounds[k].name];
            uint64_t bit = bound_bit(name, bindings, n);
            uint64_t mask = pool->masks[bounds[k].mask];
            fits = !bit || (bit & mask);
            if (!fits && (!answer->bound || strcmp(answer->bound, name) == 0)) {
                answer->allowed = (answer->bound ? answer->allowed : 0) | mask;
                answer->bound = name;
                answer->found = bit;
            }
        }
        if (fits)
            return true;
    }
    return false;
}

void ox_target_ask(struct ox_target_answer *answer, const struct ox_target_table *table,
                   uint32_t bit, const char *domain, const char *name, int since,
                   const struct ox_target_binding *bindings, size_t n)
{
    *answer = (struct ox_target_answer){0};
    for (size_t i = first_row(table, domain, name);
         i < table->n && compare_key(&table->rows[i], domain, name) == 0; i++) {
        const struct ox_target_row *row = &table->rows[i];
        if (!(row->releases & bit))
            continue;
        answer->has_op = true;
        if (since < row->since || since > row->until)
            continue;
        answer->has_version = true;
        if (row->via > answer->via && types_fit(answer, table->pool, row, bindings, n))
            answer->via = row->via;
    }
}

bool ox_target_has_domain(const struct ox_target_table *table, const char *domain)
{
    size_t at = first_row(table, domain, "");
    return at < table->n && strcmp(table->rows[at].domain, domain) == 0;
}

const struct ox_target_limit *ox_target_limit(const struct ox_target *target, const char *domain)
{
    for (size_t i = 0; i < target->n_limits; i++)
        if (strcmp(target->limits[i].domain, domain) == 0)
            return &target->limits[i];
    return NULL;
}

void ox_target_types_print(struct ox_strbuf *out, uint64_t mask, const char *separator)
{
    const char *before = "";
    for (unsigned i = 1; i < 64; i++) {
        if (!(mask >> i & 1) || i == OX_TARGET_SEQUENCE_BIT)
            continue;
        bool sequence = i > OX_TARGET_SEQUENCE_BIT;
        const char *name = ox_dtype_name((enum ox_dtype)(i % OX_TARGET_SEQUENCE_BIT));
        ox_strbuf_printf(out, sequence ? "%sseq(%s)" : "%s%s", before, name);
        before = separator;
    }
    if (mask & OX_TARGET_OPTIONAL) {
        ox_strbuf_printf(out, "%soptional", before);
        before = separator;
    }
    if (mask & OX_TARGET_OTHER)
        ox_strbuf_printf(out, "%sother", before);
}

static size_t count_operators(const struct ox_target *target)
{
    size_t n = 0;
    const struct ox_target_row *last = NULL;
    for (size_t i = 0; i < target->own.n; i++) {
        const struct ox_target_row *row = &target->own.rows[i];
        if (!(row->releases & target->own_bit))
            continue;
        n += !last || compare_key(last, row->domain, row->name) != 0;
        last = row;
    }
    return n;
}

void ox_target_info(const struct ox_target *target, struct ox_target_info *info)
{
    static const char *const words[][2] = {
#define OX_SURE_WORD(name, word, meaning) {word, meaning},
        OX_SURE_LIST(OX_SURE_WORD)
#undef OX_SURE_WORD
    };
    const struct ox_target_limit *main = ox_target_limit(target, "");
    const struct ox_target_limit *ml = ox_target_limit(target, "ai.onnx.ml");
    *info = (struct ox_target_info){
        .name = target->name,
        .runtime = target->runtime,
        .version = target->version,
        .provider = target->provider,
        .origin = target->origin,
        .sure = words[target->sure][0],
        .sure_meaning = words[target->sure][1],
        .ir = target->ir,
        .opset = main ? main->newest : 0,
        .ml_opset = ml ? ml->newest : 0,
        .rest = target->rest.rows ? "cpu" : NULL,
        .n_operators = count_operators(target),
    };
}

/* ---- Lists of targets ---- */

int ox_target_compare_versions(const char *version, const char *wanted)
{
    for (;;) {
        char *version_end;
        char *wanted_end;
        long a = strtol(version, &version_end, 10);
        long b = strtol(wanted, &wanted_end, 10);
        if (a != b)
            return a < b ? -1 : 1;
        if (*wanted_end != '.' || *version_end != '.')
            return 0;
        version = version_end + 1;
        wanted = wanted_end + 1;
    }
}
