#include "common/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* printf and strtod know the decimal point of the program's locale only. */
static char decimal_point(void)
{
    const struct lconv *conventions = localeconv();
    char point = conventions ? conventions->decimal_point[0] : '.';
    return point ? point : '.';
}

static const char *not_finite(char text[OX_NUMBER_BYTES], double value)
{
    return strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static bool same(const char *text, double value, bool single)
{
    return single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

/* Just below a power of two the gap between numbers halves, and the nearest decimal of that length may read back as the
 * neighbour although the next one up would do. */
static bool next_decimal(char text[OX_NUMBER_BYTES], double value, int digits, bool single)
{
    snprintf(text, OX_NUMBER_BYTES, "%.*e", digits - 1, value);
    char *exponent = strchr(text, 'e');
    if (!exponent)
        return false;
    char *last = exponent - 1;
    if (*last == '9')
        return false;
    ++*last;
    return same(text, value, single);
}

/* A decimal of DIG digits or fewer that reads back as a normal number is what %.DIGg prints, its zeros cut; so the
 * search starts there. Subnormal numbers have fewer digits to offer: from one. */
static const char *shortest(char text[OX_NUMBER_BYTES], double value, bool single)
{
    double smallest = single ? (double)FLT_MIN : DBL_MIN;
    int most = single ? 9 : 17;
    int digits = fabs(value) < smallest ? 1 : single ? FLT_DIG : DBL_DIG;
    int exponent;
    bool power = fabs(frexp(value, &exponent)) == 0.5;
    for (; digits < most; digits++) {
        if (snprintf(text, OX_NUMBER_BYTES, "%.*g", digits, value) >= OX_NUMBER_BYTES)
            break; /* it fits: 17 digits and an exponent are no more than 24 characters */
        if (same(text, value, single) || (power && next_decimal(text, value, digits, single)))
            break;
    }
    if (digits == most)
        snprintf(text, OX_NUMBER_BYTES, "%.*g", most, value);
    char *point = strchr(text, decimal_point());
    if (point)
        *point = '.';
    return text;
}

/* N / 10^k, its zeros cut. */
static void put_decimal(char text[OX_NUMBER_BYTES], bool negative, uint64_t n, unsigned k)
{
    char digits[OX_NUMBER_BYTES];
    unsigned count = 0, zeros = 0;
    for (; zeros < k && n % 10 == 0; zeros++)
        n /= 10;
    for (k -= zeros; n || (k && count < k + 2); n /= 10) {
        digits[count++] = (char)('0' + n % 10);
        if (count == k)
            digits[count++] = '.';
    }
    if (negative)
        *text++ = '-';
    while (count)
        *text++ = digits[--count];
    *text = '\0';
}

/* What shortest() finds for most floats. A float by a power of ten up to 10^12 is exact in double, as is half the gap between floats
 * by it, so that whether a decimal reads back is seen without reading it. False: it takes longer. */
static bool shortest_float(char text[OX_NUMBER_BYTES], float value)
{
    enum { LEAST = -4, MOST = 5 }; /* powers of ten that %g writes without an exponent */
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    const double size = fabs((double)value);
    int exponent, power = LEAST;
    if (!(size >= 1e-4 && size < 1e6) || frexp(size, &exponent) == 0.5)
        return false;
    while (power < MOST && size * tens[-LEAST] >= tens[power + 1 - LEAST])
        power++;
    for (int digits = FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
        const int k = digits - 1 - power;
        const double exact = size * tens[k], nearest = nearbyint(exact);
        const double half_gap = ldexp(tens[k], exponent - FLT_MANT_DIG - 1);
        if (fabs(nearest - exact) == half_gap)
            return false;
        if (fabs(nearest - exact) < half_gap) {
            put_decimal(text, value < 0, (uint64_t)nearest, (unsigned)k);
            return true;
        }
    }
    return false;
}

static const char *whole(char text[OX_NUMBER_BYTES], double value)
{
    snprintf(text, OX_NUMBER_BYTES, "%s%lld", value == 0 && signbit(value) ? "-" : "",
             (long long)value);
    return text;
}

const char *ox_number_double(char text[OX_NUMBER_BYTES], double value)
{
    if (!isfinite(value))
        return not_finite(text, value);
    if (fabs(value) < 1e15 && value == trunc(value))
        return whole(text, value);
    return shortest(text, value, false);
}

const char *ox_number_float(char text[OX_NUMBER_BYTES], float value)
{
    if (!isfinite(value))
        return not_finite(text, (double)value);
    if (fabsf(value) < 1e6f && value == truncf(value))
        return whole(text, (double)value);
    return shortest_float(text, value) ? text : shortest(text, (double)value, true);
}

static bool special_value(const char *text, size_t n, double *value)
{
    bool negative = n > 0 && text[0] == '-';
    if (n > 0 && (text[0] == '-' || text[0] == '+')) {
        text++;
        n--;
    }
    double found = 0;
    if (n == 3 && strncasecmp(text, "nan", 3) == 0)
        found = (double)NAN;
    else if ((n == 3 && strncasecmp(text, "inf", 3) == 0) ||
             (n == 8 && strncasecmp(text, "infinity", 8) == 0))
        found = (double)INFINITY;
    else
        return false;
    *value = negative ? -found : found;
    return true;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit on one side of the point at least. */
static bool is_decimal(const char *text, size_t n)
{
    size_t at = 0;
    size_t digits = 0;
    if (at < n && (text[at] == '-' || text[at] == '+'))
        at++;
    for (; at < n && text[at] >= '0' && text[at] <= '9'; at++)
        digits++;
    if (at < n && text[at] == '.')
        for (at++; at < n && text[at] >= '0' && text[at] <= '9'; at++)
            digits++;
    if (digits == 0)
        return false;
    if (at < n && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        if (at < n && (text[at] == '-' || text[at] == '+'))
            at++;
        size_t first = at;
        while (at < n && text[at] >= '0' && text[at] <= '9')
            at++;
        if (at == first)
            return false;
    }
    return at == n;
}

static bool parse(const char *text, size_t n, double *value, float *single)
{
    double special;
    if (special_value(text, n, &special)) {
        if (single)
            *single = (float)special;
        else
            *value = special;
        return true;
    }
    if (!is_decimal(text, n))
        return false;
    char small[128];
    char *copy = n < sizeof small ? small : malloc(n + 1);
    if (!copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    char *point = strchr(copy, '.');
    if (point)
        *point = decimal_point();
    if (single)
        *single = strtof(copy, NULL);
    else
        *value = strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return true;
}

bool ox_number_parse(const char *text, size_t n, double *value)
{
    return parse(text, n, value, NULL);
}

bool ox_number_parse_float(const char *text, size_t n, float *value)
{
    return parse(text, n, NULL, value);
}

bool ox_number_parse_uint(const char *text, size_t n, uint64_t *value)
{
    if (n > 0 && text[0] == '+') {
        text++;
        n--;
    }
    if (n == 0)
        return false;
    uint64_t result = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (result > (UINT64_MAX - digit) / 10)
            return false;
        result = result * 10 + digit;
    }
    *value = result;
    return true;
}

bool ox_number_parse_int(const char *text, size_t n, int64_t *value)
{
    bool negative = n > 0 && text[0] == '-';
    uint64_t magnitude;
    if (negative && n > 1 && text[1] == '+')
        return false;
    if (!ox_number_parse_uint(text + negative, n - negative, &magnitude))
        return false;
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool ox_number_parse_hex(const char *text, size_t n, uint32_t *value)
{
    static const char digits[] = "0123456789abcdef";
    uint32_t result = 0;
    for (size_t i = 0; i < n; i++) {
        const char lower = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] | 32) : text[i];
        const char *digit = lower ? strchr(digits, lower) : NULL;
        if (!digit)
            return false;
        result = result << 4 | (uint32_t)(digit - digits);
    }
    *value = result;
    return n > 0;
}
