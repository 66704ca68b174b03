#include "optimize.h"

#include <math.h>

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void print_half(struct ox_strbuf *out, const struct ox_half_report *half, const char *type,
                       size_t n_wide)
{
    ox_strbuf_printf(out,
                     "%zu of %zu nodes in %s, %zu cast%s, %zu weight%s narrowed, %zu value%s too "
                     "large",
                     half->n_half, half->n_nodes, type, half->n_casts, plural(half->n_casts),
                     half->n_weights, plural(half->n_weights), n_wide, plural(n_wide));
    if (half->n_refused)
        ox_strbuf_printf(out, ", %zu node%s without kernels in that type", half->n_refused,
                         plural(half->n_refused));
    ox_strbuf_putc(out, '\n');
}

void optimize_print_text(const struct optimize_job *job)
{
    struct ox_strbuf *out = &job->cli->out;
    if (job->inlined)
        ox_strbuf_printf(out, "%zu call%s inlined\n", job->inlined, plural(job->inlined));
    if (job->shared)
        ox_strbuf_printf(out, "%zu equal weight%s shared\n", job->shared, plural(job->shared));
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct optimize_step *step = &job->steps[i];
        if (step->changes || step->rolled_back)
            ox_strbuf_printf(out, "%-24s %zu change%s%s\n", step->name, step->changes,
                             plural(step->changes), step->rolled_back ? ", rolled back" : "");
    }
    if (job->half.n_nodes)
        print_half(out, &job->half, job->args->fp16 ? "float16" : "bfloat16", job->n_wide);
    if (job->narrowed)
        ox_strbuf_puts(out, "inputs and outputs narrowed\n");
    ox_strbuf_printf(out, "%zu node%s, before %zu\n", job->nodes_after, plural(job->nodes_after),
                     job->nodes_before);
    if (!job->proven || !job->proof.samples)
        return;
    ox_strbuf_printf(out, "verified on %u inputs: largest difference %.3g, relative %.3g",
                     job->proof.samples, job->proof.max_abs, job->proof.max_rel);
    if (isfinite(job->proof.least_db))
        ox_strbuf_printf(out, ", SQNR %.1f dB", job->proof.least_db);
    ox_strbuf_putc(out, '\n');
}

void optimize_print_json(const struct optimize_job *job)
{
    struct ox_json json;
    ox_json_init(&json, &job->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.optimize/1");
    cli_json_string(&json, "model", job->path);
    cli_json_uint(&json, "nodes_before", job->nodes_before);
    cli_json_uint(&json, "nodes_after", job->nodes_after);
    cli_json_uint(&json, "inlined", job->inlined);
    cli_json_uint(&json, "shared", job->shared);
    ox_json_key(&json, "passes");
    ox_json_array(&json);
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct optimize_step *step = &job->steps[i];
        ox_json_object(&json);
        cli_json_string(&json, "name", step->name);
        cli_json_uint(&json, "changes", step->changes);
        cli_json_bool(&json, "rolled_back", step->rolled_back);
        cli_json_string(&json, "reason", step->rolled_back ? step->reason : NULL);
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    ox_json_key(&json, "half");
    if (job->half.n_nodes) {
        ox_json_object(&json);
        cli_json_string(&json, "type", job->args->fp16 ? "float16" : "bfloat16");
        cli_json_uint(&json, "nodes", job->half.n_half);
        cli_json_uint(&json, "of", job->half.n_nodes);
        cli_json_uint(&json, "casts", job->half.n_casts);
        cli_json_uint(&json, "weights", job->half.n_weights);
        cli_json_uint(&json, "too_large", job->n_wide);
        cli_json_uint(&json, "without_kernels", job->half.n_refused);
        ox_json_end_object(&json);
    } else {
        ox_json_null(&json);
    }
    ox_json_key(&json, "verified");
    if (job->proven) {
        ox_json_object(&json);
        cli_json_uint(&json, "samples", job->proof.samples);
        cli_json_bool(&json, "agree", job->proof.agree);
        cli_json_double(&json, "max_abs", job->proof.max_abs);
        cli_json_double(&json, "max_rel", job->proof.max_rel);
        if (isfinite(job->proof.least_db))
            cli_json_double(&json, "sqnr_db", job->proof.least_db);
        ox_json_end_object(&json);
    } else {
        ox_json_null(&json);
    }
    ox_json_end_object(&json);
    ox_strbuf_putc(&job->cli->out, '\n');
}
