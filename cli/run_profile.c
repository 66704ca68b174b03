#include <stdlib.h>
#include <string.h>

#include "run.h"

static double gflops(const struct ox_node_event *e)
{
    return e->ns ? 2.0 * (double)e->macs / (double)e->ns : 0;
}

static void chrome_trace(struct ox_strbuf *out, const struct ox_node_event *events, size_t n,
                         double peak)
{
    struct ox_json json;
    ox_json_init(&json, out, false);
    ox_json_object(&json);
    ox_json_key(&json, "traceEvents");
    ox_json_array(&json);
    for (size_t i = 0; i < n; i++) {
        const struct ox_node_event *e = &events[i];
        ox_json_object(&json);
        cli_json_string(&json, "name", e->node);
        cli_json_string(&json, "cat", e->op_type);
        cli_json_string(&json, "ph", "X");
        cli_json_double(&json, "ts", (double)e->start_ns / 1e3);
        cli_json_double(&json, "dur", (double)e->ns / 1e3);
        cli_json_int(&json, "pid", 1);
        cli_json_int(&json, "tid", 1);
        ox_json_key(&json, "args");
        ox_json_object(&json);
        cli_json_string(&json, "graph", e->graph);
        cli_json_string(&json, "op_type", e->op_type);
        cli_json_uint(&json, "bytes", e->bytes);
        cli_json_uint(&json, "in_bytes", e->in_bytes);
        if (e->macs) {
            cli_json_double(&json, "gflops", gflops(e));
            cli_json_double(&json, "share_of_peak", peak > 0 ? gflops(e) * 1e9 / peak : 0);
        }
        ox_json_end_object(&json);
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    ox_json_end_object(&json);
    ox_strbuf_putc(out, '\n');
}

/* One line a node, a semicolon a level, microseconds behind: what flame graphs are drawn from. */
static void folded(struct ox_strbuf *out, const struct ox_node_event *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct ox_node_event *e = &events[i];
        if (*e->graph) {
            ox_strbuf_name(out, e->graph, 0);
            ox_strbuf_putc(out, ';');
        }
        ox_strbuf_name(out, e->op_type, 0);
        ox_strbuf_putc(out, ';');
        ox_strbuf_name(out, e->node, 0);
        ox_strbuf_printf(out, " %llu\n", (unsigned long long)(e->ns / 1000));
    }
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct ox_node_event *)a)->ns, y = ((const struct ox_node_event *)b)->ns;
    return (x < y) - (x > y);
}

/* Share of what one core reaches in registers; several threads may pass 100. GB/s: inputs and outputs. */
static bool table(struct ox_strbuf *out, const struct ox_node_event *events, size_t n, double peak)
{
    struct ox_node_event *sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += events[i].depth == 0 ? events[i].ns : 0;
    if (n)
        memcpy(sorted, events, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_time);
    ox_strbuf_puts(
        out, "        us  share  GFLOP/s   peak    GB/s       bytes  operator             node\n");
    for (size_t i = 0; i < n; i++) {
        const struct ox_node_event *e = &sorted[i];
        ox_strbuf_printf(out, "%10.1f %5.1f%% ", (double)e->ns / 1e3,
                         total ? 100.0 * (double)e->ns / (double)total : 0.0);
        if (e->macs && peak > 0)
            ox_strbuf_printf(out, "%8.1f %5.1f%%", gflops(e), 100 * gflops(e) * 1e9 / peak);
        else
            ox_strbuf_printf(out, "%8s %6s", "-", "-");
        ox_strbuf_printf(out, " %7.1f %11llu  %-20s ",
                         e->ns ? (double)(e->bytes + e->in_bytes) / (double)e->ns : 0.0,
                         (unsigned long long)e->bytes, e->op_type);
        if (*e->graph) {
            ox_strbuf_name(out, e->graph, 0);
            ox_strbuf_putc(out, '.');
        }
        ox_strbuf_name(out, e->node, 0);
        ox_strbuf_putc(out, '\n');
    }
    free(sorted);
    return true;
}

enum ox_status run_note_events(struct run *run)
{
    size_t n;
    const struct ox_node_event *events = ox_session_events(run->session, &n);
    if (!run->fastest) {
        run->fastest = calloc(n + 1, sizeof *run->fastest);
        if (!run->fastest)
            return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
        if (n)
            memcpy(run->fastest, events, n * sizeof *events);
        run->n_fastest = n;
    }
    /* Other runs may take other branches: what stands at another place is another node. */
    for (size_t i = 0; i < n && i < run->n_fastest; i++)
        if (events[i].node == run->fastest[i].node && events[i].ns < run->fastest[i].ns)
            run->fastest[i] = events[i];
    return OX_OK;
}

bool run_profile_form(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot &&
           (strcmp(dot, ".json") == 0 || strcmp(dot, ".txt") == 0 || strcmp(dot, ".folded") == 0);
}

enum ox_status run_write_profile(struct run *run)
{
    const char *path = run->args->profile, *dot = strrchr(path, '.');
    struct ox_strbuf text = {0};
    struct ox_error err = {0};
    size_t n;
    const struct ox_node_event *events = ox_session_events(run->session, &n);
    if (run->fastest) {
        events = run->fastest;
        n = run->n_fastest;
    }
    double peak = ox_session_peak();
    bool done = true;
    if (dot && strcmp(dot, ".json") == 0)
        chrome_trace(&text, events, n, peak);
    else if (dot && strcmp(dot, ".folded") == 0)
        folded(&text, events, n);
    else
        done = table(&text, events, n, peak);
    enum ox_status status = done && !text.failed
                                ? ox_file_write(path, text.data, text.len, &err)
                                : cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", path);
    if (status != OX_OK && *err.message)
        cli_error(run->cli, &err);
    ox_strbuf_release(&text);
    return status;
}
