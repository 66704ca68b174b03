/* The calibration table from JSON, read with suspicion; onnxruntime's cache of ranges too. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base64.h"
#include "common/file.h"
#include "common/json_reader.h"
#include "quant/calibrate.h"
#include "tensor/tensor_apart.h"

struct reader {
    struct ox_calibration *c;
    struct ox_json_reader json;
    bool own;      /* the schema was seen */
    bool has_data; /* of onnxruntime's cache */
};

/* The next token into *token. */
static enum ox_status next(struct reader *r, enum ox_json_token *token, struct ox_error *err)
{
    return ox_json_read_next(&r->json, token, err);
}

static enum ox_status expect(struct reader *r, enum ox_json_token wanted, const char *what,
                             struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(next(r, &token, err));
    return token == wanted ? OX_OK
                           : ox_json_read_fail(&r->json, err, "expected %s of the table", what);
}

/* The value of a member that nobody asked for. */
static enum ox_status skip_next(struct reader *r, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(next(r, &token, err));
    return ox_json_read_skip(&r->json, token, err);
}

static bool is_key(const struct reader *r, const char *key)
{
    return r->json.n == strlen(key) && memcmp(r->json.text, key, r->json.n) == 0;
}

/* The token's text as a number. */
static enum ox_status number(struct reader *r, double *value, struct ox_error *err)
{
    char text[64];
    if (r->json.n >= sizeof text)
        return ox_json_read_fail(&r->json, err, "a number of %zu characters", r->json.n);
    memcpy(text, r->json.text, r->json.n);
    text[r->json.n] = '\0';
    *value = strtod(text, NULL);
    return OX_OK;
}

static enum ox_status integer(struct reader *r, int64_t least, uint64_t most, uint64_t *value,
                              struct ox_error *err)
{
    char text[32];
    enum ox_json_token token;
    OX_TRY(next(r, &token, err));
    if (token != OX_JSON_NUMBER || r->json.n >= sizeof text)
        return ox_json_read_fail(&r->json, err, "expected a whole number");
    memcpy(text, r->json.text, r->json.n);
    text[r->json.n] = '\0';
    char *end;
    errno = 0;
    bool negative = text[0] == '-';
    *value = negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    bool inside = negative ? (int64_t)*value >= least : *value <= most;
    if (*end || errno || !inside)
        return ox_json_read_fail(&r->json, err, "the number %s is out of range", text);
    return OX_OK;
}

static enum ox_status read_float(struct reader *r, float *out, struct ox_error *err)
{
    enum ox_json_token token;
    double value = 0;
    OX_TRY(next(r, &token, err));
    if (token != OX_JSON_NUMBER)
        return ox_json_read_fail(&r->json, err, "expected a number");
    OX_TRY(number(r, &value, err));
    if (!isfinite((float)value))
        return ox_json_read_fail(&r->json, err, "a range that is not finite");
    *out = (float)value;
    return OX_OK;
}

static enum ox_status read_digits(struct reader *r, struct ox_exact_sum *sum, struct ox_error *err)
{
    OX_TRY(expect(r, OX_JSON_ARRAY, "the digits of a sum", err));
    for (size_t i = 0; i < OX_EXACT_DIGITS; i++) {
        uint64_t digit;
        OX_TRY(integer(r, -(INT64_C(1) << 62), UINT64_C(1) << 62, &digit, err));
        sum->digits[i] = (int64_t)digit;
    }
    return expect(r, OX_JSON_END_ARRAY, "the end of a sum", err);
}

static enum ox_status read_bins(struct reader *r, struct ox_stats *stats, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(expect(r, OX_JSON_ARRAY, "bins", err));
    for (;;) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_ARRAY)
            return OX_OK;
        if (token != OX_JSON_ARRAY)
            return ox_json_read_fail(&r->json, err, "expected a run of bins");
        if (!stats->bins)
            stats->bins = calloc((size_t)2 * OX_BINS + OX_SPARE_BINS, sizeof *stats->bins);
        if (!stats->bins)
            return ox_no_memory(err);
        uint64_t at;
        OX_TRY(integer(r, 0, 2 * OX_BINS - 1, &at, err));
        for (;; at++) {
            double count = 0;
            OX_TRY(next(r, &token, err));
            if (token == OX_JSON_END_ARRAY)
                break;
            OX_TRY(number(r, &count, err));
            if (token != OX_JSON_NUMBER || at >= 2 * OX_BINS || !(count >= 0 && count < 0x1p53))
                return ox_json_read_fail(&r->json, err, "bins that are none");
            stats->bins[at] = (uint64_t)count;
        }
    }
}

/* Least ones, then greatest; null: they differ. Infinities are channels of NaN alone. */
static enum ox_status read_channels(struct reader *r, struct ox_stats *stats, struct ox_error *err)
{
    enum ox_json_token token;
    size_t n = 0, cap = 0;
    OX_TRY(next(r, &token, err));
    stats->channels_differ = token == OX_JSON_NULL;
    if (stats->channels_differ)
        return OX_OK;
    if (token != OX_JSON_ARRAY || stats->channels)
        return ox_json_read_fail(&r->json, err, "expected channels");
    for (;; n++) {
        double value = 0;
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_ARRAY)
            break;
        if ((token != OX_JSON_NUMBER && token != OX_JSON_STRING) || n >= 2 * OX_MOST_CHANNELS)
            return ox_json_read_fail(&r->json, err, "channels that are none");
        OX_TRY(number(r, &value, err));
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            float *grown = realloc(stats->channels, cap * sizeof *grown);
            if (!grown)
                return ox_no_memory(err);
            stats->channels = grown;
        }
        stats->channels[n] = (float)value;
    }
    stats->n_channels = n / 2;
    return n % 2 == 0 ? OX_OK : ox_json_read_fail(&r->json, err, "channels that are none");
}

static enum ox_status read_string(struct reader *r, char **out, struct ox_error *err)
{
    OX_TRY(expect(r, OX_JSON_STRING, "a string", err));
    *out = strndup(r->json.text, r->json.n);
    return *out ? OX_OK : ox_no_memory(err);
}

/* One member of a tensor's object. */
static enum ox_status read_member(struct reader *r, char **name, struct ox_stats *stats,
                                  struct ox_error *err)
{
    const struct {
        const char *key;
        uint64_t *n;
    } counts[] = {{"samples", &stats->n_samples},
                  {"values", &stats->n_values},
                  {"zeros", &stats->n_zero},
                  {"nan", &stats->n_nan},
                  {"inf", &stats->n_inf}};
    for (size_t i = 0; i < OX_COUNT(counts); i++) {
        if (is_key(r, counts[i].key))
            return integer(r, 0, UINT64_C(1) << 60, counts[i].n, err);
    }
    if (is_key(r, "name")) {
        free(*name);
        *name = NULL;
        return read_string(r, name, err);
    }
    if (is_key(r, "min"))
        return read_float(r, &stats->least, err);
    if (is_key(r, "max"))
        return read_float(r, &stats->most, err);
    if (is_key(r, "sum_min"))
        return read_digits(r, &stats->sum_least, err);
    if (is_key(r, "sum_max"))
        return read_digits(r, &stats->sum_most, err);
    if (is_key(r, "bins"))
        return read_bins(r, stats, err);
    if (is_key(r, "channels"))
        return read_channels(r, stats, err);
    enum ox_json_token token;
    if (is_key(r, "exponent")) {
        uint64_t exponent;
        OX_TRY(integer(r, -100, 128, &exponent, err));
        stats->exponent = (int)(int64_t)exponent;
        return OX_OK;
    }
    OX_TRY(next(r, &token, err));
    return ox_json_read_skip(&r->json, token, err);
}

static enum ox_status read_tensor(struct reader *r, struct ox_error *err)
{
    struct ox_stats stats = {0};
    char *name = NULL;
    enum ox_json_token token;
    enum ox_status status;
    for (;;) {
        OX_TRY_CLEANUP(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        OX_TRY_CLEANUP(read_member(r, &name, &stats, err));
    }
    if (!name || stats.least > stats.most) {
        status = ox_json_read_fail(&r->json, err, "a tensor without name or range");
        goto cleanup;
    }
    struct ox_calibrated *into = ox_calibration_tensor_of(r->c, name, strlen(name));
    if (!into || !ox_stats_merge(&into->stats, &stats))
        status = ox_no_memory(err);
cleanup:
    free(name);
    ox_stats_release(&stats);
    return status;
}

/* {"input", "type", "dims", "data"} */
static enum ox_status read_kept_input(struct reader *r, struct ox_kept *kept, struct ox_error *err)
{
    enum { MOST_RANK = 16 };
    int64_t dims[MOST_RANK];
    uint64_t input = UINT64_MAX, dim;
    unsigned rank = 0;
    enum ox_dtype dtype = OX_UNDEFINED;
    uint8_t *bytes = NULL;
    size_t n_bytes = 0, count;
    enum ox_json_token token;
    enum ox_status status;
    for (;;) {
        OX_TRY_CLEANUP(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        if (is_key(r, "input")) {
            OX_TRY_CLEANUP(integer(r, 0, r->c->n_inputs, &input, err));
        } else if (is_key(r, "type")) {
            char *type = NULL;
            OX_TRY_CLEANUP(read_string(r, &type, err));
            if (!ox_dtype_parse(type, &dtype))
                dtype = OX_UNDEFINED;
            free(type);
        } else if (is_key(r, "dims")) {
            OX_TRY_CLEANUP(expect(r, OX_JSON_ARRAY, "dims", err));
            for (rank = 0; rank < MOST_RANK; rank++) {
                OX_TRY_CLEANUP(next(r, &token, err));
                if (token == OX_JSON_END_ARRAY)
                    break;
                double value = 0;
                OX_TRY_CLEANUP(number(r, &value, err));
                dim = value >= 0 && value < 0x1p40 ? (uint64_t)value : 0;
                dims[rank] = (int64_t)dim;
            }
        } else if (is_key(r, "data")) {
            OX_TRY_CLEANUP(expect(r, OX_JSON_STRING, "data", err));
            free(bytes);
            bytes = malloc(r->json.n / 4 * 3 + 3);
            if (!bytes || !ox_base64_decode(r->json.text, r->json.n, bytes, &n_bytes)) {
                status = ox_json_read_fail(&r->json, err, "a sample that cannot be read");
                goto cleanup;
            }
        } else {
            OX_TRY_CLEANUP(skip_next(r, err));
        }
    }
    if (input >= r->c->n_inputs || !ox_dtype_size(dtype) || dtype == OX_STRING ||
        !ox_dims_count(rank, dims, &count) || n_bytes / ox_dtype_size(dtype) != count ||
        kept->inputs[input]) {
        status = ox_json_read_fail(&r->json, err, "a sample that cannot be read");
        goto cleanup;
    }
    kept->bytes += n_bytes;
    status = ox_tensor_copy_apart(&kept->inputs[input], ox_env_budget(r->c->env), dtype, rank, dims,
                                  bytes, err);
cleanup:
    free(bytes);
    return status;
}

static enum ox_status read_kept(struct reader *r, struct ox_error *err)
{
    struct ox_kept kept = {.inputs = calloc(r->c->n_inputs + 1, sizeof *kept.inputs)};
    uint64_t label;
    enum ox_json_token token;
    enum ox_status status = OX_OK;
    if (!kept.inputs)
        return ox_no_memory(err);
    for (;;) {
        OX_TRY_CLEANUP(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        if (is_key(r, "hash")) {
            OX_TRY_CLEANUP(integer(r, 0, UINT64_MAX, &kept.hash, err));
            continue;
        }
        if (is_key(r, "label")) {
            OX_TRY_CLEANUP(integer(r, 0, INT64_MAX, &label, err));
            kept.has_label = true;
            kept.label = (int64_t)label;
            continue;
        }
        OX_TRY_CLEANUP(expect(r, OX_JSON_ARRAY, "the inputs of a sample", err));
        for (;;) {
            OX_TRY_CLEANUP(next(r, &token, err));
            if (token == OX_JSON_END_ARRAY)
                break;
            OX_TRY_CLEANUP(read_kept_input(r, &kept, err));
        }
    }
    return ox_calibration_keep(r->c, kept, err);
cleanup:
    ox_kept_release(&kept, r->c->n_inputs);
    return status;
}

static enum ox_status read_inputs(struct reader *r, struct ox_error *err)
{
    enum ox_json_token token;
    size_t n = 0;
    bool known = r->c->inputs != NULL;
    OX_TRY(expect(r, OX_JSON_ARRAY, "the inputs", err));
    for (;; n++) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_ARRAY)
            break;
        if (known) {
            if (n >= r->c->n_inputs || !is_key(r, r->c->inputs[n]))
                return ox_json_read_fail(&r->json, err, "it is of a model with other inputs");
            continue;
        }
        char **grown = realloc(r->c->inputs, (n + 2) * sizeof *grown);
        if (!grown)
            return ox_no_memory(err);
        r->c->inputs = grown;
        grown[n] = strndup(r->json.text, r->json.n);
        if (!grown[n])
            return ox_no_memory(err);
        r->c->n_inputs = n + 1;
    }
    return n == r->c->n_inputs
               ? OX_OK
               : ox_json_read_fail(&r->json, err, "it is of a model with other inputs");
}

static enum ox_status take_bound(struct reader *r, float *out, bool *found, struct ox_error *err)
{
    double value = 0;
    OX_TRY(number(r, &value, err));
    *out = (float)value;
    *found = true;
    return OX_OK;
}

/* [number]: the opening bracket was read. */
static enum ox_status read_only_bound(struct reader *r, float *out, bool *found,
                                      struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(next(r, &token, err));
    if (token == OX_JSON_NUMBER) {
        OX_TRY(take_bound(r, out, found, err));
        OX_TRY(next(r, &token, err));
    }
    return token == OX_JSON_END_ARRAY
               ? OX_OK
               : ox_json_read_fail(&r->json, err, "a range for each channel is not read");
}

/* A number, or {"CLS": "numpy.array", "data": number or [number], ...}. */
static enum ox_status read_bound(struct reader *r, float *out, bool *found, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(next(r, &token, err));
    if (token == OX_JSON_NUMBER)
        return take_bound(r, out, found, err);
    if (token != OX_JSON_OBJECT)
        return ox_json_read_skip(&r->json, token, err);
    for (;;) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return OX_OK;
        bool data = is_key(r, "data");
        OX_TRY(next(r, &token, err));
        if (data && token == OX_JSON_ARRAY)
            OX_TRY(read_only_bound(r, out, found, err));
        else if (data && token == OX_JSON_NUMBER)
            OX_TRY(take_bound(r, out, found, err));
        else
            OX_TRY(ox_json_read_skip(&r->json, token, err));
    }
}

/* The member "data" of onnxruntime's cache. */
static enum ox_status read_ranges(struct reader *r, struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(expect(r, OX_JSON_OBJECT, "the tensors", err));
    for (;;) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            return OX_OK;
        struct ox_calibrated *tensor = ox_calibration_tensor_of(r->c, r->json.text, r->json.n);
        if (!tensor)
            return ox_no_memory(err);
        bool low = false, high = false;
        float rmin = 0, rmax = 0;
        OX_TRY(expect(r, OX_JSON_OBJECT, "a tensor", err));
        for (;;) {
            OX_TRY(next(r, &token, err));
            if (token == OX_JSON_END_OBJECT)
                break;
            if (is_key(r, "lowest")) {
                OX_TRY(read_bound(r, &rmin, &low, err));
            } else if (is_key(r, "highest")) {
                OX_TRY(read_bound(r, &rmax, &high, err));
            } else {
                OX_TRY(skip_next(r, err));
            }
        }
        if (!low || !high || !isfinite(rmin) || !isfinite(rmax))
            return ox_json_read_fail(&r->json, err, "a tensor without a finite range");
        tensor->given = true;
        tensor->rmin = rmin;
        tensor->rmax = rmax;
    }
}

static enum ox_status read_list(struct reader *r,
                                enum ox_status (*one)(struct reader *r, struct ox_error *err),
                                struct ox_error *err)
{
    enum ox_json_token token;
    OX_TRY(expect(r, OX_JSON_ARRAY, "a list", err));
    for (;;) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_ARRAY)
            return OX_OK;
        if (token != OX_JSON_OBJECT)
            return ox_json_read_fail(&r->json, err, "expected an object");
        OX_TRY(one(r, err));
    }
}

static enum ox_status read_table(struct reader *r, struct ox_error *err)
{
    enum ox_json_token token;
    uint64_t n;
    OX_TRY(expect(r, OX_JSON_OBJECT, "an object", err));
    for (;;) {
        OX_TRY(next(r, &token, err));
        if (token == OX_JSON_END_OBJECT)
            break;
        if (is_key(r, "schema")) {
            OX_TRY(expect(r, OX_JSON_STRING, "the schema", err));
            r->own = is_key(r, OX_CALIBRATION_SCHEMA);
        } else if (r->own && is_key(r, "samples")) {
            OX_TRY(integer(r, 0, UINT64_C(1) << 60, &n, err));
            r->c->n_samples += n;
        } else if (r->own && is_key(r, "inputs")) {
            OX_TRY(read_inputs(r, err));
        } else if (r->own && is_key(r, "tensors")) {
            OX_TRY(read_list(r, read_tensor, err));
        } else if (r->own && is_key(r, "kept")) {
            OX_TRY(read_list(r, read_kept, err));
        } else if (!r->own && is_key(r, "data")) {
            r->has_data = true;
            OX_TRY(read_ranges(r, err));
        } else {
            OX_TRY(skip_next(r, err));
        }
    }
    return r->own || r->has_data ? OX_OK
                                 : ox_json_read_fail(&r->json, err, "it is no calibration table");
}

enum ox_status ox_calibration_read(struct ox_calibration *c, const char *path, struct ox_error *err)
{
    struct ox_mapping map;
    struct reader r = {.c = c};
    OX_TRY(ox_mapping_open(&map, c->env, path, 0, err));
    ox_json_read_init(&r.json, path, map.data, map.bytes, c->env->limits.json_depth);
    enum ox_status status = read_table(&r, err);
    ox_json_read_release(&r.json);
    ox_mapping_release(&map);
    return status;
}
