#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "run.h"

/* Index of the largest of n that `taken` does not hold; NaN is never it. */
static size_t largest(const double *values, const bool *taken, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (!taken[i] && values[i] == values[i] && (best == n || values[i] > values[best]))
            best = i;
    return best;
}

static void print_row(struct run *run, const struct lines *labels, const double *values,
                      bool *taken, size_t n)
{
    struct ox_strbuf *out = &run->cli->out;
    memset(taken, 0, n * sizeof *taken);
    for (int64_t k = 0; k < run->args->top; k++) {
        size_t at = largest(values, taken, n);
        if (at == n)
            return;
        taken[at] = true;
        ox_strbuf_printf(out, "%8zu  %12.6g", at, values[at]);
        if (at < labels->n) {
            ox_strbuf_puts(out, "  ");
            ox_strbuf_name(out, labels->items[at], 256);
        }
        ox_strbuf_putc(out, '\n');
    }
}

static enum ox_status print_output(struct run *run, const struct lines *labels, size_t at)
{
    const struct ox_tensor *t = run->outputs[at] ? ox_datum_get_tensor(run->outputs[at]) : NULL;
    unsigned rank = t ? ox_tensor_rank(t) : 0;
    if (!t || ox_tensor_dtype(t) == OX_STRING || rank == 0 || ox_tensor_count(t) == 0)
        return OX_OK;
    size_t n = (size_t)ox_tensor_dims(t)[rank - 1], rows = ox_tensor_count(t) / n;
    double *values = calloc(n, sizeof *values);
    bool *taken = calloc(n, sizeof *taken);
    if (!values || !taken) {
        free(values);
        free(taken);
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    }
    for (size_t row = 0; row < rows; row++) {
        ox_strbuf_name(&run->cli->out, ox_session_output_name(run->session, at), 256);
        if (rows > 1)
            ox_strbuf_printf(&run->cli->out, " row %zu", row);
        ox_strbuf_puts(&run->cli->out, ":\n");
        for (size_t i = 0; i < n; i++)
            values[i] = ox_tensor_element(t, row * n + i);
        print_row(run, labels, values, taken, n);
    }
    free(values);
    free(taken);
    return OX_OK;
}

enum ox_status run_print_top(struct run *run)
{
    struct lines labels = {0};
    enum ox_status status =
        run->args->labels ? lines_read(run->cli, run->args->labels, &labels) : OX_OK;
    for (size_t i = 0; i < run->n_outputs && status == OX_OK; i++)
        status = print_output(run, &labels, i);
    lines_release(&labels);
    return status;
}
