#include "common/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

bool ox_base64_decode(const char *text, size_t n, uint8_t *out, size_t *n_out)
{
    for (int padding = 0; padding < 2 && n && text[n - 1] == '='; padding++)
        n--;
    uint32_t bits = 0;
    unsigned n_bits = 0;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        int value = digit(text[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[at++] = (uint8_t)(bits >> n_bits);
        }
    }
    *n_out = at;
    return n % 4 != 1;
}

void ox_base64_encode(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (i + 1 < n)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < n)
            bits |= bytes[i + 2];
        for (int k = 0; k < 4; k++)
            *out++ = alphabet[bits >> (18 - 6 * k) & 63];
        if (i + 2 >= n)
            out[-1] = '=';
        if (i + 1 >= n)
            out[-2] = '=';
    }
}
