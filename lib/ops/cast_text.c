#include "ops/cast_text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/number.h"

enum { TEXT = 64 };

/* ---- To text ------------------------------------------------------------------------------------------------------ */

/* Digits and decimal exponent (of the first digit) from "d.ddde+xx". */
struct decimal {
    char digits[24];
    int n, exponent;
    bool negative;
};

static void split_decimal(const char *text, struct decimal *d)
{
    int point = -1, exponent = 0;
    *d = (struct decimal){.negative = *text == '-'};
    for (text += *text == '-'; *text && *text != 'e'; text++) {
        if (*text == '.')
            point = d->n;
        else if ((size_t)d->n < sizeof d->digits)
            d->digits[d->n++] = *text;
    }
    if (*text == 'e') {
        bool minus = text[1] == '-';
        for (text += 1 + (text[1] == '-' || text[1] == '+'); *text; text++)
            exponent = exponent * 10 + (*text - '0');
        exponent = minus ? -exponent : exponent;
    }
    exponent += (point < 0 ? d->n : point) - 1;
    int leading = 0;
    while (leading < d->n - 1 && d->digits[leading] == '0')
        leading++;
    memmove(d->digits, d->digits + leading, (size_t)(d->n - leading));
    d->n -= leading;
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
    d->exponent = d->digits[0] == '0' ? 0 : exponent - leading;
}

static void put_decimal(const struct decimal *d, char out[TEXT])
{
    const char *start = out;
    if (d->negative)
        *out++ = '-';
    if (d->exponent < -4 || d->exponent >= 16) {
        *out++ = d->digits[0];
        if (d->n > 1)
            *out++ = '.';
        for (int i = 1; i < d->n; i++)
            *out++ = d->digits[i];
        snprintf(out, TEXT - (size_t)(out - start), "e%c%02d", d->exponent < 0 ? '-' : '+',
                 abs(d->exponent));
        return;
    }
    int first = d->exponent < 0 ? d->exponent : 0;
    int last = d->n - 1 > d->exponent + 1 ? d->n - 1 : d->exponent + 1;
    for (int i = first; i <= last; i++) {
        *out++ = i >= 0 && i < d->n ? d->digits[i] : '0';
        if (i == d->exponent)
            *out++ = '.';
    }
    *out = '\0';
}

/* The fewest digits that come back to the same code of a narrow type. */
static void shortest_narrow(enum ox_dtype dtype, const void *code, double value, char text[TEXT])
{
    size_t bytes = ox_dtype_size(dtype);
    for (int digits = 0; digits < 9; digits++) {
        double back;
        uint16_t again = 0;
        snprintf(text, TEXT, "%.*e", digits, value);
        if (!ox_number_parse(text, strlen(text), &back))
            continue;
        ox_elements_convert(dtype, &again, OX_FLOAT64, &back, 1, true);
        if (memcmp(&again, code, bytes) == 0)
            return;
    }
}

static void float_text(const struct ox_tensor *in, size_t i, char text[TEXT])
{
    double value = ox_tensor_get_double(in, i);
    if (isnan(value) || isinf(value)) {
        snprintf(text, TEXT, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char raw[TEXT];
    struct decimal d;
    if (in->dtype == OX_FLOAT64 ||
        ox_dtype_bits(in->dtype) <= 8) /* the small types' values are short */
        ox_number_double(raw, value);
    else if (in->dtype == OX_FLOAT32)
        ox_number_float(raw, (float)value);
    else
        shortest_narrow(in->dtype, (const char *)in->data + i * ox_dtype_size(in->dtype), value,
                        raw);
    split_decimal(raw, &d);
    put_decimal(&d, text);
}

/* In decimal before `end`, the last byte that there is room for; gives where it begins. */
static char *whole_text(uint64_t magnitude, bool negative, char *end)
{
    char *at = end;
    *at = '\0';
    do {
        *--at = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude);
    if (negative)
        *--at = '-';
    return at;
}

enum ox_status ox_cast_to_text(const struct ox_tensor *in, struct ox_tensor *out,
                               struct ox_error *err)
{
    char text[TEXT];
    for (size_t i = 0; i < in->n; i++) {
        const char *from = text;
        if (in->dtype == OX_BOOL) {
            from = ((const uint8_t *)in->data)[i] ? "True" : "False";
        } else if (in->dtype == OX_UINT64) {
            from = whole_text(((const uint64_t *)in->data)[i], false, &text[TEXT - 1]);
        } else if (ox_dtype_is_integer(in->dtype)) {
            const int64_t value = ox_tensor_get_int(in, i);
            from = whole_text(value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0,
                              &text[TEXT - 1]);
        } else {
            float_text(in, i, text);
        }
        OX_TRY(ox_tensor_set_string(out, i, from, strlen(from), err));
    }
    return OX_OK;
}

/* ---- From text ---------------------------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct ox_str trimmed(struct ox_str s)
{
    while (s.n && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static bool is_word(struct ox_str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* To integers and bool exactly where the text is an integer, else by way of double. */
static bool parse_element(struct ox_str s, struct ox_tensor *out, size_t i, bool saturate)
{
    char *at = (char *)out->data + i * ox_dtype_size(out->dtype);
    double real;
    int64_t whole;
    uint64_t natural;
    if (!s.n)
        return false;
    bool exact = ox_dtype_is_integer(out->dtype) || out->dtype == OX_BOOL;
    if (exact && (is_word(s, "true") || is_word(s, "false"))) {
        whole = is_word(s, "true");
        ox_elements_convert(out->dtype, at, OX_INT64, &whole, 1, saturate);
    } else if (exact && ox_number_parse_int(s.p, s.n, &whole)) {
        ox_elements_convert(out->dtype, at, OX_INT64, &whole, 1, saturate);
    } else if (exact && ox_number_parse_uint(s.p, s.n, &natural)) {
        ox_elements_convert(out->dtype, at, OX_UINT64, &natural, 1, saturate);
    } else if (out->dtype == OX_FLOAT32) {
        return ox_number_parse_float(s.p, s.n, (float *)(void *)at);
    } else if (ox_number_parse(s.p, s.n, &real)) {
        ox_elements_convert(out->dtype, at, OX_FLOAT64, &real, 1, saturate);
    } else {
        return false;
    }
    return true;
}

enum ox_status ox_cast_from_text(struct ox_run *r, const struct ox_tensor *in,
                                 struct ox_tensor *out, bool saturate, struct ox_error *err)
{
    const struct ox_str *strings = in->data;
    for (size_t i = 0; i < in->n; i++) {
        if (parse_element(trimmed(strings[i]), out, i, saturate))
            continue;
        struct ox_strbuf text;
        ox_strbuf_init(&text);
        char name[TEXT];
        size_t n = strings[i].n < sizeof name - 1 ? strings[i].n : sizeof name - 1;
        if (n)
            memcpy(name, strings[i].p, n);
        name[n] = '\0';
        ox_strbuf_name(&text, name, sizeof name);
        enum ox_status status =
            ox_run_fail(r, err, OX_INPUT, "element %zu of the input, '%s', is no number", i,
                        ox_strbuf_text(&text, NULL));
        ox_strbuf_release(&text);
        return status;
    }
    return OX_OK;
}
