/* What changed between two rows. */
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "schema/schema.h"

struct ox_schema_changes {
    struct ox_arena arena;
    struct ox_schema_change *items;
    size_t n, capacity;
    bool failed;
    struct ox_strbuf text; /* scratch */
};

const char *ox_schema_part_name(enum ox_schema_part part)
{
    static const char *const names[] = {[OX_PART_OPERATOR] = "operator",
                                        [OX_PART_INPUT] = "input",
                                        [OX_PART_OUTPUT] = "output",
                                        [OX_PART_ATTRIBUTE] = "attribute",
                                        [OX_PART_TYPES] = "type constraint"};
    return (size_t)part < OX_COUNT(names) ? names[part] : "";
}

static void add(struct ox_schema_changes *c, enum ox_schema_part part, const char *name,
                const char *property, const char *before, const char *after)
{
    if (c->n == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 16;
        struct ox_schema_change *items = realloc(c->items, capacity * sizeof(*items));
        if (!items) {
            c->failed = true;
            return;
        }
        c->items = items;
        c->capacity = capacity;
    }
    c->items[c->n++] = (struct ox_schema_change){part, name, property, before, after};
}

/* What stands in the scratch buffer, kept; NULL when it is empty. */
static const char *keep(struct ox_schema_changes *c)
{
    if (c->text.failed)
        c->failed = true;
    const char *kept = NULL;
    if (c->text.len > 0) {
        kept = ox_arena_strndup(&c->arena, c->text.data, c->text.len);
        c->failed |= kept == NULL;
    }
    ox_strbuf_clear(&c->text);
    return kept;
}

static void add_flag(struct ox_schema_changes *c, enum ox_schema_part part, const char *name,
                     const char *property, bool before, bool after)
{
    if (before != after)
        add(c, part, name, property, before ? "true" : "false", after ? "true" : "false");
}

static void add_text(struct ox_schema_changes *c, enum ox_schema_part part, const char *name,
                     const char *property, const char *before, const char *after)
{
    bool same = before && after ? strcmp(before, after) == 0 : before == after;
    if (!same)
        add(c, part, name, property, before, after);
}

static const char *number(struct ox_schema_changes *c, size_t value)
{
    ox_strbuf_printf(&c->text, "%zu", value);
    return keep(c);
}

static void add_number(struct ox_schema_changes *c, enum ox_schema_part part, const char *name,
                       const char *property, size_t before, size_t after)
{
    if (before != after) {
        const char *old = number(c, before);
        add(c, part, name, property, old, number(c, after));
    }
}

/* ---- Types ---- */

static const char *types_without(struct ox_schema_changes *c, uint16_t set, const uint16_t *without)
{
    ox_schema_types_text(&c->text, set, without);
    return keep(c);
}

static void add_types(struct ox_schema_changes *c, enum ox_schema_part part, const char *name,
                      uint16_t before, uint16_t after)
{
    const char *lost = types_without(c, before, &after);
    const char *gained = types_without(c, after, &before);
    if (lost || gained)
        add(c, part, name, "types", lost, gained);
}

static const struct ox_schema_constraint *find_constraint(const struct ox_schema *row,
                                                          const char *name)
{
    for (size_t i = 0; i < row->n_constraints; i++) {
        if (strcmp(row->constraints[i].name, name) == 0)
            return &row->constraints[i];
    }
    return NULL;
}

static void compare_constraints(struct ox_schema_changes *c, const struct ox_schema *from,
                                const struct ox_schema *to)
{
    for (size_t i = 0; i < from->n_constraints; i++) {
        const struct ox_schema_constraint *old = &from->constraints[i];
        const struct ox_schema_constraint *new = find_constraint(to, old->name);
        if (new)
            add_types(c, OX_PART_TYPES, old->name, old->allowed, new->allowed);
        else
            add(c, OX_PART_TYPES, old->name, NULL, types_without(c, old->allowed, NULL), NULL);
    }
    for (size_t i = 0; i < to->n_constraints; i++) {
        const struct ox_schema_constraint *new = &to->constraints[i];
        if (!find_constraint(from, new->name))
            add(c, OX_PART_TYPES, new->name, NULL, NULL, types_without(c, new->allowed, NULL));
    }
}

/* ---- Inputs and outputs ---- */

struct params {
    const struct ox_schema_param *items;
    size_t n;
};

static const char *const option_names[] = {[OX_PARAM_SINGLE] = "required",
                                           [OX_PARAM_OPTIONAL] = "optional",
                                           [OX_PARAM_VARIADIC] = "variadic"};

static const struct ox_schema_param *find_param(struct params params, const char *name)
{
    for (size_t i = 0; i < params.n; i++) {
        if (strcmp(params.items[i].name, name) == 0)
            return &params.items[i];
    }
    return NULL;
}

/* The one in `others` that `params.items[i]` is: of that name, else the one in its place if its name is new too. */
static const struct ox_schema_param *counterpart(struct params params, size_t i,
                                                 struct params others)
{
    const struct ox_schema_param *same = find_param(others, params.items[i].name);
    if (!same && i < others.n && !find_param(params, others.items[i].name))
        same = &others.items[i];
    return same;
}

static const char *type_of(struct ox_schema_changes *c, const struct ox_schema_param *param)
{
    if (param->constraint >= 0)
        return param->type;
    ox_schema_type_text(&c->text, param->type);
    return keep(c);
}

static const char *describe_param(struct ox_schema_changes *c, const struct ox_schema_param *param)
{
    if (param->constraint >= 0)
        ox_strbuf_puts(&c->text, param->type);
    else
        ox_schema_type_text(&c->text, param->type);
    ox_strbuf_printf(&c->text, ", %s", option_names[param->option]);
    return keep(c);
}

static void compare_param(struct ox_schema_changes *c, enum ox_schema_part part,
                          const struct ox_schema_param *old, const struct ox_schema_param *new)
{
    add_text(c, part, new->name, "name", old->name, new->name);
    const char *old_type = type_of(c, old);
    add_text(c, part, new->name, "type", old_type, type_of(c, new));
    /* Of one constraint's name the constraint tells. */
    if (strcmp(old->type, new->type) != 0)
        add_types(c, part, new->name, old->allowed, new->allowed);
    add_text(c, part, new->name, "option", option_names[old->option], option_names[new->option]);
    if (old->option != OX_PARAM_VARIADIC || new->option != OX_PARAM_VARIADIC)
        return;
    add_flag(c, part, new->name, "homogeneous", old->homogeneous, new->homogeneous);
    add_number(c, part, new->name, "min_arity", old->min_arity, new->min_arity);
}

static void compare_params(struct ox_schema_changes *c, enum ox_schema_part part,
                           struct params from, struct params to)
{
    for (size_t i = 0; i < from.n; i++) {
        const struct ox_schema_param *new = counterpart(from, i, to);
        if (!new) {
            add(c, part, from.items[i].name, NULL, describe_param(c, &from.items[i]), NULL);
            continue;
        }
        compare_param(c, part, &from.items[i], new);
        add_number(c, part, new->name, "position", i, (size_t)(new - to.items));
    }
    for (size_t i = 0; i < to.n; i++) {
        if (!counterpart(to, i, from))
            add(c, part, to.items[i].name, NULL, NULL, describe_param(c, &to.items[i]));
    }
}

/* ---- Attributes ---- */

static const char *default_of(struct ox_schema_changes *c, const struct ox_schema_attr *attr)
{
    if (attr->default_kind == OX_DEFAULT_NONE)
        return NULL;
    struct ox_json json;
    ox_json_init(&json, &c->text, false);
    ox_schema_default_json(&json, attr);
    return keep(c);
}

static const char *describe_attr(struct ox_schema_changes *c, const struct ox_schema_attr *attr)
{
    const char *value = default_of(c, attr);
    ox_strbuf_puts(&c->text, ox_schema_attr_type(attr));
    if (attr->required)
        ox_strbuf_puts(&c->text, ", required");
    if (value)
        ox_strbuf_printf(&c->text, ", default %s", value);
    return keep(c);
}

static void compare_attrs(struct ox_schema_changes *c, const struct ox_schema *from,
                          const struct ox_schema *to)
{
    for (size_t i = 0; i < from->n_attrs; i++) {
        const struct ox_schema_attr *old = &from->attrs[i];
        const struct ox_schema_attr *new = ox_schema_attr(to, old->name);
        if (!new) {
            add(c, OX_PART_ATTRIBUTE, old->name, NULL, describe_attr(c, old), NULL);
            continue;
        }
        add_text(c, OX_PART_ATTRIBUTE, old->name, "type", ox_schema_attr_type(old),
                 ox_schema_attr_type(new));
        add_flag(c, OX_PART_ATTRIBUTE, old->name, "required", old->required, new->required);
        const char *old_default = default_of(c, old);
        add_text(c, OX_PART_ATTRIBUTE, old->name, "default", old_default, default_of(c, new));
    }
    for (size_t i = 0; i < to->n_attrs; i++) {
        const struct ox_schema_attr *new = &to->attrs[i];
        if (!ox_schema_attr(from, new->name))
            add(c, OX_PART_ATTRIBUTE, new->name, NULL, NULL, describe_attr(c, new));
    }
}

enum ox_status ox_schema_changes_new(struct ox_schema_changes **out, const struct ox_schema *from,
                                     const struct ox_schema *to, struct ox_error *err)
{
    struct ox_schema_changes *c = calloc(1, sizeof(*c));
    if (!c)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", to->name);
    ox_arena_init(&c->arena, NULL);
    ox_strbuf_init(&c->text);
    add_flag(c, OX_PART_OPERATOR, NULL, "deprecated", from->deprecated, to->deprecated);
    add_flag(c, OX_PART_OPERATOR, NULL, "non_deterministic", from->non_deterministic,
             to->non_deterministic);
    add_flag(c, OX_PART_OPERATOR, NULL, "function", from->has_function, to->has_function);
    compare_params(c, OX_PART_INPUT, (struct params){from->inputs, from->n_inputs},
                   (struct params){to->inputs, to->n_inputs});
    compare_params(c, OX_PART_OUTPUT, (struct params){from->outputs, from->n_outputs},
                   (struct params){to->outputs, to->n_outputs});
    compare_attrs(c, from, to);
    compare_constraints(c, from, to);
    ox_strbuf_release(&c->text);
    if (c->failed) {
        ox_schema_changes_release(c);
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", to->name);
    }
    *out = c;
    return OX_OK;
}

void ox_schema_changes_release(struct ox_schema_changes *changes)
{
    if (!changes)
        return;
    ox_arena_release(&changes->arena);
    free(changes->items);
    free(changes);
}

size_t ox_schema_changes_count(const struct ox_schema_changes *changes)
{
    return changes->n;
}

const struct ox_schema_change *ox_schema_changes_at(const struct ox_schema_changes *changes,
                                                    size_t i)
{
    return &changes->items[i];
}
