#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commas.h"
#include "parity.h"

static const double RTOL = 1e-3, ATOL = 1e-5;

/* ---- --require, --tol ---------------------------------------------------------------------------------------------- */

/* "cosine>=0.999" of n characters. */
static bool parse_bound(const char *text, size_t n, struct parity_bound *bound)
{
    const struct ox_metrics none = {.agree = false};
    char copy[128], *end;
    double ignored;
    if (n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    size_t name = strcspn(copy, "<>");
    if (!copy[name] || copy[name + 1] != '=' || name >= sizeof bound->name)
        return false;
    bound->at_least = copy[name] == '>';
    bound->value = strtod(copy + name + 2, &end);
    if (end == copy + name + 2 || *end || isnan(bound->value))
        return false;
    memcpy(bound->name, copy, name);
    bound->name[name] = '\0';
    return ox_metrics_find(&none, bound->name, &ignored);
}

static enum ox_status bad_bound(struct parity *p, const char *text, size_t n)
{
    struct ox_strbuf names = {0};
    for (size_t i = 0; ox_metric_name(i); i++)
        ox_strbuf_printf(&names, "%s%s", i ? ", " : "", ox_metric_name(i));
    enum ox_status status = cli_fail(
        p->cli, OX_USAGE, "parity: --require takes METRIC>=X or METRIC<=X, not '%.*s'; metrics: %s",
        (int)n, text, ox_strbuf_text(&names, NULL));
    ox_strbuf_release(&names);
    return status;
}

/* "NAME=RTOL,ATOL"; the name may hold '=' itself. */
static bool parse_tolerance(const char *text, size_t *name, struct ox_tolerance *tolerance)
{
    const char *equals = strrchr(text, '=');
    char *end;
    if (!equals)
        return false;
    *name = (size_t)(equals - text);
    tolerance->rtol = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != ',')
        return false;
    const char *second = end + 1;
    tolerance->atol = strtod(second, &end);
    return end != second && !*end && tolerance->rtol >= 0 && tolerance->atol >= 0;
}

enum ox_status parity_read_bounds(struct parity *p)
{
    const struct parity_args *args = p->args;
    size_t n = 0, name;
    struct ox_tolerance tolerance;
    for (size_t i = 0; i < args->tolerances.n; i++)
        if (!parse_tolerance(args->tolerances.items[i], &name, &tolerance))
            return cli_fail(p->cli, OX_USAGE, "parity: --tol takes NAME=RTOL,ATOL, not '%s'",
                            args->tolerances.items[i]);
    for (size_t i = 0; i < args->require.n; i++)
        n += strlen(args->require.items[i]) / 2 + 1;
    const char *word;
    size_t length;
    p->bounds = calloc(n + 1, sizeof *p->bounds);
    if (!p->bounds)
        return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < args->require.n; i++)
        for (const char *at = args->require.items[i]; commas_next(&at, &word, &length);) {
            if (!parse_bound(word, length, &p->bounds[p->n_bounds]))
                return bad_bound(p, word, length);
            p->n_bounds++;
        }
    p->tolerance_counts =
        !p->n_bounds || !isnan(args->rtol) || !isnan(args->atol) || args->tolerances.n;
    return OX_OK;
}

void parity_options_for(const struct parity *p, const char *output,
                        struct ox_metrics_options *options)
{
    const struct parity_args *args = p->args;
    *options =
        (struct ox_metrics_options){.tolerance = {.rtol = isnan(args->rtol) ? RTOL : args->rtol,
                                                  .atol = isnan(args->atol) ? ATOL : args->atol,
                                                  .nan_agrees = args->nan_agrees},
                                    .agreement = (enum ox_agreement)args->agreement,
                                    .quantile = args->quantile};
    for (size_t i = 0; i < args->tolerances.n && output; i++) {
        size_t name = 0;
        struct ox_tolerance tolerance = options->tolerance;
        if (parse_tolerance(args->tolerances.items[i], &name, &tolerance) &&
            strlen(output) == name && memcmp(output, args->tolerances.items[i], name) == 0)
            options->tolerance = tolerance;
    }
}

/* ---- Names --------------------------------------------------------------------------------------------------------- */

const char *parity_other_name(const struct parity *p, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i < p->args->pairs.n; i++) {
        const char *pair = p->args->pairs.items[i];
        if (strncmp(pair, name, n) == 0 && pair[n] == '=')
            return pair + n + 1;
    }
    return name;
}

size_t parity_output_called(const struct parity *p, const char *other)
{
    const struct run *a = &p->sides[0].run;
    size_t i = 0;
    while (i < a->n_outputs &&
           strcmp(parity_other_name(p, ox_session_output_name(a->session, i)), other) != 0)
        i++;
    return i;
}

/* ---- Outputs ------------------------------------------------------------------------------------------------------- */

struct parity_output *parity_output_of(struct parity *p, const char *name, size_t side)
{
    for (size_t i = 0; i < p->n_outputs; i++)
        if (p->outputs[i].side == side && strcmp(p->outputs[i].name, name) == 0)
            return &p->outputs[i];
    struct parity_output *more = realloc(p->outputs, (p->n_outputs + 1) * sizeof *more);
    if (!more)
        return NULL;
    p->outputs = more;
    struct ox_metrics_options options;
    parity_options_for(p, name, &options);
    struct parity_output *output = &more[p->n_outputs];
    *output = (struct parity_output){.name = strdup(name), .side = side};
    options.detail = true;
    p->n_outputs++; /* released whatever becomes of it */
    if (!output->name || ox_meter_new(&output->meter, p->cli->env, &options, NULL) != OX_OK)
        return NULL;
    return output;
}

/* What is missing, in words; both sides of a bound must be numbers. */
static void require(struct parity *p, struct parity_output *output)
{
    for (size_t i = 0; i < p->n_bounds && !output->failed[0]; i++) {
        const struct parity_bound *bound = &p->bounds[i];
        double value = NAN;
        ox_metrics_find(&output->metrics, bound->name, &value);
        if (bound->at_least ? value >= bound->value : value <= bound->value)
            continue;
        /* Strings and empty tensors have no figures to hold against a bound. */
        if (isnan(value) && output->metrics.agree && !output->metrics.worst.found)
            continue;
        const char *relation = bound->at_least ? ">=" : "<=";
        if (isnan(value))
            snprintf(output->failed, sizeof output->failed, "it has no %s, required is %s %.6g",
                     bound->name, relation, bound->value);
        else
            snprintf(output->failed, sizeof output->failed, "%s is %.6g, required is %s %.6g",
                     bound->name, value, relation, bound->value);
    }
}

/* ---- All ----------------------------------------------------------------------------------------------------------- */

void parity_judge(struct parity *p)
{
    bool any = false, all = true;
    for (size_t i = 0; i < p->n_outputs; i++) {
        struct parity_output *output = &p->outputs[i];
        struct ox_metrics *m = &output->metrics;
        ox_meter_read(output->meter, m);
        require(p, output);
        if (!p->tolerance_counts && output->in_a && output->in_b)
            m->agree = !m->reason[0] || m->worst.found;
        m->agree = m->agree && !output->failed[0];
        any = any || (output->in_a && output->in_b);
        all = all && m->agree;
    }
    p->agree = all && any;
}

const char *parity_reference(const struct parity *p, size_t side)
{
    return side < p->n_sides ? p->sides[side].label : p->expected ? p->expected : "expected";
}
