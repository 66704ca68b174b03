#include "tests/read_suite.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static _Noreturn void die(const char *format, ...) OX_PRINTF(1, 2);

static void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

static void *must(void *p)
{
    if (!p)
        die("out of memory");
    return p;
}

static uint8_t *inflate_file(const char *path, size_t *n)
{
    gzFile file = gzopen(path, "rb");
    if (!file)
        die("%s cannot be opened", path);
    size_t cap = (size_t)1 << 22;
    uint8_t *data = must(malloc(cap));
    *n = 0;
    for (;;) {
        int got = gzread(file, data + *n, (unsigned)(cap - *n));
        if (got < 0)
            die("%s is damaged", path);
        if (got == 0)
            break;
        *n += (size_t)got;
        if (*n == cap)
            data = must(realloc(data, cap *= 2));
    }
    gzclose(file);
    return data;
}

static const uint8_t *take(const uint8_t **at, const uint8_t *end, size_t n)
{
    const uint8_t *p = *at;
    if ((size_t)(end - p) < n)
        die("a pack of the suite ends early");
    *at += n;
    return p;
}

static uint64_t take_number(const uint8_t **at, const uint8_t *end, size_t bytes)
{
    const uint8_t *p = take(at, end, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static double take_double(const uint8_t **at, const uint8_t *end)
{
    uint64_t bits = take_number(at, end, 8);
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

static struct ox_datum *take_value(const uint8_t **at, const uint8_t *end);

static struct ox_tensor *take_tensor(const uint8_t **at, const uint8_t *end)
{
    enum { MOST_RANK = 64 };
    int64_t dims[MOST_RANK];
    enum ox_dtype dtype = (enum ox_dtype)take_number(at, end, 1);
    unsigned rank = (unsigned)take_number(at, end, 1);
    for (unsigned d = 0; d < rank && d < MOST_RANK; d++)
        dims[d] = (int64_t)take_number(at, end, 8);
    struct ox_tensor *tensor;
    struct ox_error err;
    if (ox_tensor_new(&tensor, NULL, dtype, rank, dims, &err) != OX_OK)
        die("%s", err.message);
    for (size_t i = 0; dtype == OX_STRING && i < tensor->n; i++) {
        size_t n = (size_t)take_number(at, end, 4);
        if (ox_tensor_set_string(tensor, i, (const char *)take(at, end, n), n, &err) != OX_OK)
            die("%s", err.message);
    }
    if (dtype != OX_STRING && tensor->n) {
        size_t bytes = tensor->n * ox_dtype_size(dtype);
        memcpy(tensor->data, take(at, end, bytes), bytes);
    }
    return tensor;
}

static struct ox_datum *take_items(const uint8_t **at, const uint8_t *end, bool sequence)
{
    enum ox_dtype elem = (enum ox_dtype)take_number(at, end, 1);
    size_t n = (size_t)take_number(at, end, sequence ? 4 : 1);
    struct ox_datum **items = must(calloc(n + 1, sizeof(struct ox_datum *)));
    for (size_t i = 0; i < n; i++)
        items[i] = take_value(at, end);
    struct ox_datum *datum;
    enum ox_status status = sequence ? ox_datum_sequence(&datum, elem, items, n, NULL)
                                     : ox_datum_optional(&datum, elem, n ? items[0] : NULL, NULL);
    if (status != OX_OK)
        die("out of memory");
    for (size_t i = 0; i < n; i++)
        ox_datum_release(items[i]);
    free(items);
    return datum;
}

static struct ox_datum *take_map(const uint8_t **at, const uint8_t *end)
{
    take(at, end, 1); /* the keys' letter */
    struct ox_tensor *keys = take_tensor(at, end);
    struct ox_datum *values = take_value(at, end), *map;
    if (ox_datum_map(&map, keys, values, NULL) != OX_OK)
        die("out of memory");
    ox_tensor_release(keys);
    ox_datum_release(values);
    return map;
}

static struct ox_datum *take_value(const uint8_t **at, const uint8_t *end)
{
    switch ((char)*take(at, end, 1)) {
    case 'S':
        return take_items(at, end, true);
    case 'O':
        return take_items(at, end, false);
    case 'M':
        return take_map(at, end);
    case 'T': {
        struct ox_tensor *tensor = take_tensor(at, end);
        struct ox_datum *datum;
        if (ox_datum_of_tensor(&datum, tensor, NULL) != OX_OK)
            die("out of memory");
        ox_tensor_release(tensor);
        return datum;
    }
    default:
        die("a pack of the suite is damaged");
    }
}

size_t suite_values(const struct suite_case *of, const uint8_t **at, struct ox_datum **values,
                    size_t most)
{
    size_t n = (size_t)take_number(at, of->end, 2);
    if (n > most)
        die("%s: %zu values", of->name, n);
    for (size_t i = 0; i < n; i++)
        values[i] = take_value(at, of->end);
    return n;
}

/* ---- Cases ------------------------------------------------------------------------------------------------------ */

static void skip_value(const uint8_t **at, const uint8_t *end)
{
    ox_datum_release(take_value(at, end));
}

void suite_add(struct suite *suite, const char *path)
{
    size_t n;
    uint8_t *data = inflate_file(path, &n);
    suite->packs = must(realloc(suite->packs, (suite->n_packs + 1) * sizeof *suite->packs));
    suite->packs[suite->n_packs++] = data;
    const uint8_t *at = data, *end = data + n;
    if (memcmp(take(&at, end, 8), "OXSUITE1", 8) != 0)
        die("%s is no pack of the suite", path);
    while (at < end) {
        if (suite->n == suite->cap) {
            suite->cap = suite->cap ? suite->cap * 2 : 1024;
            suite->cases = must(realloc(suite->cases, suite->cap * sizeof *suite->cases));
        }
        struct suite_case *to = &suite->cases[suite->n++];
        *to = (struct suite_case){.end = end};
        size_t name_bytes = (size_t)take_number(&at, end, 2);
        if (name_bytes >= sizeof to->name)
            die("%s: a name of %zu bytes", path, name_bytes);
        memcpy(to->name, take(&at, end, name_bytes), name_bytes);
        to->rtol = take_double(&at, end);
        to->atol = take_double(&at, end);
        to->special = (enum suite_special)take_number(&at, end, 1);
        to->model_bytes = (size_t)take_number(&at, end, 4);
        to->model = take(&at, end, to->model_bytes);
        to->n_sets = (size_t)take_number(&at, end, 2);
        to->sets = at;
        for (size_t side = 0; side < 2 * to->n_sets; side++)
            for (size_t left = (size_t)take_number(&at, end, 2); left > 0; left--)
                skip_value(&at, end);
    }
}

void suite_release(struct suite *suite)
{
    for (size_t i = 0; i < suite->n_packs; i++)
        free(suite->packs[i]);
    free(suite->packs);
    free(suite->cases);
    *suite = (struct suite){0};
}
