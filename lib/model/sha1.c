#include <string.h>

#include "model/external.h"

enum { BLOCK = 64 };

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void add_block(uint32_t state[5], const uint8_t *p)
{
    uint32_t w[80];
    for (unsigned i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        static const uint32_t k[4] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
        uint32_t next = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void ox_sha1_init(struct ox_sha1 *sum)
{
    static const uint32_t start[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    memcpy(sum->state, start, sizeof start);
    sum->bytes = 0;
}

void ox_sha1_add(struct ox_sha1 *sum, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    size_t held = sum->bytes % BLOCK;
    sum->bytes += n;
    if (held && n >= BLOCK - held) {
        memcpy(sum->held + held, p, BLOCK - held);
        add_block(sum->state, sum->held);
        p += BLOCK - held;
        n -= BLOCK - held;
        held = 0;
    }
    for (; !held && n >= BLOCK; n -= BLOCK, p += BLOCK)
        add_block(sum->state, p);
    if (n)
        memcpy(sum->held + held, p, n);
}

void ox_sha1_end(struct ox_sha1 *sum, uint8_t digest[20])
{
    uint64_t bits = sum->bytes * 8;
    uint8_t last[2 * BLOCK] = {0};
    size_t n = sum->bytes % BLOCK;
    memcpy(last, sum->held, n);
    last[n] = 0x80;
    size_t padded = n + 9 <= BLOCK ? BLOCK : 2 * BLOCK;
    for (unsigned i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < padded; at += BLOCK)
        add_block(sum->state, last + at);
    for (unsigned i = 0; i < 20; i++)
        digest[i] = (uint8_t)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}

void ox_sha1(const void *bytes, size_t n, uint8_t digest[20])
{
    struct ox_sha1 sum;
    ox_sha1_init(&sum);
    ox_sha1_add(&sum, bytes, n);
    ox_sha1_end(&sum, digest);
}
