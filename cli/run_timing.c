/* What the repeated runs took, and whether that is more than it was. */
#include <math.h>
#include <stdlib.h>

#include "run.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct summary {
    double min, median, p90, p95, p99, p999, mean, per_second;
    double low, high; /* between which the median lies with 95 %; NaN of fewer than RUN_ENOUGH */
};

/* Sorts the times. Percentiles by nearest rank; the bounds of the median are the order statistics that a binomial of one half
 * gives (Conover, Practical Nonparametric Statistics, 3.2), which supposes nothing of how times are distributed. */
static struct summary summarize(struct run *run)
{
    const struct run_timing *timing = &run->timing;
    struct summary s = {0};
    double *ms = timing->ms;
    const size_t n = timing->n;
    if (!n)
        return s;
    qsort(ms, n, sizeof *ms, by_value);
    for (size_t i = 0; i < n; i++)
        s.mean += ms[i] / (double)n;
    const double half = (double)n / 2, spread = 0.98 * sqrt((double)n);
    s.per_second = run->args->concurrency > 1 ? 1e3 * (double)n / timing->wall_ms : 1e3 / s.mean;
    s.min = ms[0];
    s.median = n % 2 ? ms[n / 2] : (ms[n / 2 - 1] + ms[n / 2]) / 2;
    s.low = n < RUN_ENOUGH ? NAN : ms[half - spread < 1 ? 0 : (size_t)(half - spread) - 1];
    s.high = n < RUN_ENOUGH
                 ? NAN
                 : ms[half + spread + 1 > (double)n ? n - 1 : (size_t)ceil(half + spread)];
    s.p90 = ms[(n * 90 + 99) / 100 - 1];
    s.p95 = ms[(n * 95 + 99) / 100 - 1];
    s.p99 = ms[(n * 99 + 99) / 100 - 1];
    s.p999 = ms[(n * 999 + 999) / 1000 - 1];
    return s;
}

/* ---- An earlier run ------------------------------------------------------------------------------------------------ */

enum ox_status run_read_baseline(struct run *run)
{
    static const char *const keys[] = {"median_ms", "median_low_ms", "median_high_ms", "threads"};
    const char *path = run->args->baseline;
    struct run_baseline *old = &run->baseline;
    struct ox_error err = {0};
    double numbers[4];
    if (!path)
        return OX_OK;
    if (ox_json_file_numbers(run->cli->env, path, "timing", 4, keys, numbers, &err) != OX_OK)
        return cli_error(run->cli, &err);
    *old = (struct run_baseline){numbers[0], numbers[1], numbers[2], numbers[3]};
    if (old->low > 0 && old->median >= old->low && old->high >= old->median && isfinite(old->high))
        return OX_OK;
    return cli_fail(run->cli, OX_INPUT,
                    "%s: is not what 'run --repeat N -f json' printed with N of %d or more", path,
                    RUN_ENOUGH);
}

struct change {
    double ratio, low,
        high; /* of the medians: ours over the baseline's, and its bounds with 95 % */
    bool slower;
};

/* The bounds of a ratio from those of its terms: MOVER on logarithms (Zou and Donner 2008). Slower is what goes beyond the
 * allowance and is no accident of these runs: all of the interval lies above 1. */
static struct change change_of(const struct run *run, const struct summary *s)
{
    const struct run_baseline *old = &run->baseline;
    struct change c = {.ratio = s->median / old->median};
    const double at = log(c.ratio);
    c.low = exp(at - hypot(log(s->median / s->low), log(old->high / old->median)));
    c.high = exp(at + hypot(log(s->high / s->median), log(old->median / old->low)));
    c.slower = c.ratio > 1 + run->args->max_slower / 100 && c.low > 1;
    return c;
}

/* Runs of a time may be too few. */
static bool is_compared(const struct run *run)
{
    return run->args->baseline && run->timing.n >= RUN_ENOUGH;
}

/* Of each run. */
static unsigned threads_of(const struct run *run)
{
    return run->args->concurrency > 1 ? run->load_threads : ox_env_threads(run->cli->env);
}

/* ---- Printing ------------------------------------------------------------------------------------------------------ */

static void print_members(struct ox_json *json, const char *key, size_t n, const char *const *keys,
                          const double *values)
{
    ox_json_key(json, key);
    ox_json_object(json);
    for (size_t i = 0; i < n; i++)
        ox_json_finite(json, keys[i], values[i]);
}

void run_timing_json(struct run *run, struct ox_json *json)
{
    static const char *const keys[] = {"load_ms",       "first_ms",       "min_ms",  "median_ms",
                                       "median_low_ms", "median_high_ms", "p90_ms",  "p95_ms",
                                       "p99_ms",        "p999_ms",        "mean_ms", "per_second"};
    const struct run_timing *timing = &run->timing;
    const struct summary s = summarize(run);
    const double values[] = {timing->load_ms, timing->first_ms, s.min,  s.median,
                             s.low,           s.high,           s.p90,  s.p95,
                             s.p99,           s.p999,           s.mean, s.per_second};
    print_members(json, "timing", sizeof keys / sizeof *keys, keys, values);
    cli_json_uint(json, "repeat", timing->n);
    cli_json_uint(json, "concurrency", (uint64_t)run->args->concurrency);
    cli_json_uint(json, "threads", threads_of(run));
    ox_json_end_object(json);
    if (!is_compared(run))
        return;
    static const char *const changed[] = {"median_ms", "ratio", "ratio_low", "ratio_high"};
    const struct change c = change_of(run, &s);
    const double ratios[] = {run->baseline.median, c.ratio, c.low, c.high};
    print_members(json, "baseline", 4, changed, ratios);
    cli_json_double(json, "allowed", 1 + run->args->max_slower / 100);
    cli_json_bool(json, "slower", c.slower);
    cli_json_string(json, "file", run->args->baseline);
    ox_json_end_object(json);
}

void run_timing_text(struct run *run, struct ox_strbuf *out)
{
    const struct run_timing *timing = &run->timing;
    const struct summary s = summarize(run);
    ox_strbuf_printf(out, "load %.2f ms, first run %.2f ms; %zu runs", timing->load_ms,
                     timing->first_ms, timing->n);
    if (run->args->concurrency > 1)
        ox_strbuf_printf(out, ", %lld at a time", (long long)run->args->concurrency);
    ox_strbuf_printf(out,
                     ": min %.3f, median %.3f, p90 %.3f, p95 %.3f, p99 %.3f, p99.9 %.3f, mean %.3f "
                     "ms, %.1f a second; peak memory %.1f MB\n",
                     s.min, s.median, s.p90, s.p95, s.p99, s.p999, s.mean, s.per_second,
                     (double)cli_peak_resident() / 1e6);
    if (!is_compared(run))
        return;
    const struct change c = change_of(run, &s);
    ox_strbuf_puts(out, "against ");
    ox_strbuf_name(out, run->args->baseline, 0);
    ox_strbuf_printf(out,
                     ": median %.3f (%.3f to %.3f), was %.3f (%.3f to %.3f) ms: %.3f of it (%.3f "
                     "to %.3f), 95 %% sure\n",
                     s.median, s.low, s.high, run->baseline.median, run->baseline.low,
                     run->baseline.high, c.ratio, c.low, c.high);
}

/* ---- The verdict --------------------------------------------------------------------------------------------------- */

enum ox_status run_judge_times(struct run *run)
{
    const struct run_args *args = run->args;
    if (!args->baseline)
        return OX_OK;
    if (run->timing.n < RUN_ENOUGH)
        return cli_fail(run->cli, OX_USAGE,
                        "%s: %zu runs in that time are too few to be held against --baseline",
                        run->model_path, run->timing.n);
    const struct summary s = summarize(run);
    const struct change c = change_of(run, &s);
    const unsigned threads = threads_of(run);
    if (run->baseline.threads > 0 && (unsigned)run->baseline.threads != threads)
        cli_warn(run->cli, "%s: warning: %s was run with -t %.0f, this with -t %u", run->model_path,
                 args->baseline, run->baseline.threads, threads);
    if (c.slower)
        return cli_fail(run->cli, OX_NEGATIVE,
                        "%s: slower than %s: the median is %.3f ms, %.3f of what it was (%.3f to "
                        "%.3f); %.3f is allowed",
                        run->model_path, args->baseline, s.median, c.ratio, c.low, c.high,
                        1 + args->max_slower / 100);
    if (c.ratio > 1 + args->max_slower / 100)
        cli_warn(run->cli,
                 "%s: warning: the median is %.3f of what it was, but may be anything from %.3f to "
                 "%.3f: more runs (--repeat) would tell",
                 run->model_path, c.ratio, c.low, c.high);
    return OX_OK;
}
