/* UTF-8 as untrusted input: what is valid, and what may be shown to a person. */
#ifndef OX_COMMON_UTF8_H
#define OX_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at p (1 to 4) and its code point; 0 when the n bytes there begin no valid character (overlong,
 * surrogate, above U+10FFFF, cut off, or n is 0). */
size_t ox_utf8_next(const char *p, size_t n, uint32_t *code);
/* How many of the n bytes in front are known to be ASCII and not NUL: all but the last few where all are. */
size_t ox_utf8_plain(const char *p, size_t n);
/* The bytes of a code point; how many. What is no character becomes U+FFFD. */
size_t ox_utf8_encode(uint32_t code, char bytes[4]);
bool ox_utf8_valid(const char *p, size_t n);
/* True for what must not reach a terminal as it is: C0 and C1 controls, DEL, line and paragraph separators, and marks
 * that change the direction of text. */
bool ox_utf8_hidden(uint32_t code);

#endif
