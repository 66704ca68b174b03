/* The calibration table as JSON: one form for each content. */
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/file.h"
#include "quant/calibrate.h"

static void write_digits(struct ox_json *json, const char *key, const struct ox_exact_sum *sum)
{
    struct ox_exact_sum settled = *sum;
    ox_exact_settle(&settled);
    ox_json_key(json, key);
    ox_json_array(json);
    for (size_t i = 0; i < OX_EXACT_DIGITS; i++)
        ox_json_int(json, settled.digits[i]);
    ox_json_end_array(json);
}

/* Runs of bins: [first, count, count, ...]; up to three empty ones do not end a run. */
static void write_bins(struct ox_json *json, const struct ox_stats *stats)
{
    enum { GAP = 4 };
    ox_json_key(json, "bins");
    ox_json_array(json);
    for (size_t i = 0; stats->bins && i < 2 * OX_BINS; i++) {
        if (!stats->bins[i])
            continue;
        ox_json_array(json);
        ox_json_uint(json, i);
        for (size_t empty = 0; i < 2 * OX_BINS && empty < GAP; i++) {
            size_t ahead = 0;
            while (i + ahead < 2 * OX_BINS && !stats->bins[i + ahead])
                ahead++;
            if (ahead >= GAP || i + ahead == 2 * OX_BINS)
                break;
            ox_json_uint(json, stats->bins[i]);
        }
        ox_json_end_array(json);
    }
    ox_json_end_array(json);
}

static void write_tensor(struct ox_json *json, const struct ox_calibrated *tensor)
{
    const struct ox_stats *stats = &tensor->stats;
    const struct {
        const char *key;
        uint64_t n;
    } counts[] = {{"samples", stats->n_samples},
                  {"values", stats->n_values},
                  {"zeros", stats->n_zero},
                  {"nan", stats->n_nan},
                  {"inf", stats->n_inf}};
    ox_json_object(json);
    ox_json_key(json, "name");
    ox_json_string(json, tensor->name);
    for (size_t i = 0; i < OX_COUNT(counts); i++) {
        ox_json_key(json, counts[i].key);
        ox_json_uint(json, counts[i].n);
    }
    ox_json_key(json, "min");
    ox_json_float(json, stats->least);
    ox_json_key(json, "max");
    ox_json_float(json, stats->most);
    write_digits(json, "sum_min", &stats->sum_least);
    write_digits(json, "sum_max", &stats->sum_most);
    ox_json_key(json, "exponent");
    ox_json_int(json, stats->exponent);
    write_bins(json, stats);
    ox_json_key(json, "channels");
    if (stats->channels_differ) {
        ox_json_null(json);
    } else {
        ox_json_array(json);
        for (size_t i = 0; i < 2 * stats->n_channels; i++)
            ox_json_float(json, stats->channels[i]);
        ox_json_end_array(json);
    }
    ox_json_end_object(json);
}

static void write_kept(struct ox_json *json, const struct ox_calibration *c,
                       const struct ox_kept *kept)
{
    ox_json_object(json);
    ox_json_key(json, "hash");
    ox_json_uint(json, kept->hash);
    if (kept->has_label) {
        ox_json_key(json, "label");
        ox_json_int(json, kept->label);
    }
    ox_json_key(json, "inputs");
    ox_json_array(json);
    for (size_t i = 0; i < c->n_inputs; i++) {
        const struct ox_tensor *in = kept->inputs[i];
        if (!in)
            continue;
        size_t bytes = in->n * ox_dtype_size(in->dtype), n = (bytes + 2) / 3 * 4;
        char *text = malloc(n + 1);
        if (!text) {
            json->out->failed = true;
            return;
        }
        ox_base64_encode(in->data, bytes, text);
        ox_json_object(json);
        ox_json_key(json, "input");
        ox_json_uint(json, i);
        ox_json_key(json, "type");
        ox_json_string(json, ox_dtype_name(in->dtype));
        ox_json_key(json, "dims");
        ox_json_array(json);
        for (unsigned k = 0; k < in->rank; k++)
            ox_json_int(json, in->dims[k]);
        ox_json_end_array(json);
        ox_json_key(json, "data");
        ox_json_string_n(json, text, n);
        ox_json_end_object(json);
        free(text);
    }
    ox_json_end_array(json);
    ox_json_end_object(json);
}

static int by_name(const void *a, const void *b)
{
    const struct ox_calibrated *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

enum ox_status ox_calibration_write(const struct ox_calibration *c, const char *path,
                                    struct ox_error *err)
{
    struct ox_strbuf text = {0};
    struct ox_json json;
    const struct ox_calibrated **order = calloc(c->n_tensors + 1, sizeof *order);
    if (!order)
        return ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; i < c->n_tensors; i++)
        order[i] = &c->tensors[i];
    qsort(order, c->n_tensors, sizeof *order, by_name);
    ox_json_init(&json, &text, false);
    ox_json_object(&json);
    ox_json_key(&json, "schema");
    ox_json_string(&json, OX_CALIBRATION_SCHEMA);
    ox_json_key(&json, "samples");
    ox_json_uint(&json, c->n_samples);
    ox_json_key(&json, "inputs");
    ox_json_array(&json);
    for (size_t i = 0; i < c->n_inputs; i++)
        ox_json_string(&json, c->inputs[i]);
    ox_json_end_array(&json);
    ox_json_key(&json, "tensors");
    ox_json_array(&json);
    for (size_t i = 0; i < c->n_tensors; i++) {
        ox_strbuf_putc(&text, '\n');
        write_tensor(&json, order[i]);
    }
    ox_json_end_array(&json);
    ox_json_key(&json, "kept");
    ox_json_array(&json);
    for (size_t i = 0; i < c->n_kept; i++) {
        ox_strbuf_putc(&text, '\n');
        write_kept(&json, c, &c->kept[i]);
    }
    ox_json_end_array(&json);
    ox_json_end_object(&json);
    ox_strbuf_putc(&text, '\n');
    enum ox_status status = text.failed ? ox_fail(err, OX_NO_MEMORY, "%s: out of memory", path)
                                        : ox_file_write(path, text.data, text.len, err);
    ox_strbuf_release(&text);
    free(order);
    return status;
}
