/* Base64 (RFC 4648), as protobuf's JSON mapping has it. */
#ifndef OX_COMMON_BASE64_H
#define OX_COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The standard and the URL alphabet, padding optional. out has room for n / 4 * 3 + 3 bytes. false: it is no base64. */
bool ox_base64_decode(const char *text, size_t n, uint8_t *out, size_t *n_out);
/* The standard alphabet, padded: (n + 2) / 3 * 4 characters, not terminated. */
void ox_base64_encode(const uint8_t *bytes, size_t n, char *out);

#endif
