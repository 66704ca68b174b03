/* Numbers as text, the same in every locale. */
#ifndef OX_COMMON_NUMBER_H
#define OX_COMMON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OX_NUMBER_BYTES = 32 };

/* The fewest digits that read back as the same value ("0.1", "1e+20", "-0", "nan", "inf", "-inf"); returns text. */
const char *ox_number_double(char text[OX_NUMBER_BYTES], double value);
const char *ox_number_float(char text[OX_NUMBER_BYTES], float value);

/* The whole of text[0..n) as a number in C's decimal notation (with "nan", "inf", "infinity" in any case and a sign; no
 * hexadecimal, no spaces), rounded once; false when it is none. What is too large becomes infinite. */
bool ox_number_parse(const char *text, size_t n, double *value);
bool ox_number_parse_float(const char *text, size_t n, float *value);
/* The whole of text[0..n) as a decimal integer; false when it is none or out of range. */
bool ox_number_parse_int(const char *text, size_t n, int64_t *value);
bool ox_number_parse_uint(const char *text, size_t n, uint64_t *value);
/* The whole of text[0..n), n from 1 to 8, as hexadecimal digits alone. */
bool ox_number_parse_hex(const char *text, size_t n, uint32_t *value);

#endif
