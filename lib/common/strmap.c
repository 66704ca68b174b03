#include "common/strmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct ox_strmap_entry {
    const char *key; /* NULL: free */
    size_t n;
    uint64_t hash;
    uint32_t value;
};

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson and Bernstein): names come from files that may be made to collide, and simple multiplying hashes
 * have pairs of keys that collide under every seed. */
uint64_t ox_strmap_hash(const char *key, size_t n, uint64_t seed)
{
    uint64_t second = rotate(seed, 32) * 0x9E3779B97F4A7C15u;
    uint64_t v[4] = {seed ^ 0x736F6D6570736575u, second ^ 0x646F72616E646F6Du,
                     seed ^ 0x6C7967656E657261u, second ^ 0x7465646279746573u};
    uint64_t word;
    uint64_t last = (uint64_t)n << 56;
    for (; n >= 8; n -= 8, key += 8) {
        memcpy(&word, key, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = 0;
    if (n)
        memcpy(&word, key, n);
    last |= word;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xFF;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The kernel hands every process 16 random bytes at its start: no system call a map. */
static uint64_t random_seed(void)
{
    uint64_t words[2] = {0, 0};
    const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    if (random)
        memcpy(words, random, sizeof words);
    return words[0] ^ rotate(words[1], 29);
}

void ox_strmap_init(struct ox_strmap *map)
{
    *map = (struct ox_strmap){.seed = random_seed() ^ (uint64_t)(uintptr_t)map};
}

void ox_strmap_release(struct ox_strmap *map)
{
    free(map->entries);
    map->entries = NULL;
    map->n = map->capacity = 0;
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t slot_of(const struct ox_strmap *map, const char *key, size_t n, uint64_t hash)
{
    size_t at = hash & (map->capacity - 1);
    for (;; at = (at + 1) & (map->capacity - 1)) {
        const struct ox_strmap_entry *entry = &map->entries[at];
        if (!entry->key)
            return at;
        if (entry->hash == hash && entry->n == n && memcmp(entry->key, key, n) == 0)
            return at;
    }
}

/* Runs of neighbours stay short up to there. */
static size_t most_at(size_t capacity)
{
    return capacity / 4 * 3;
}

static bool grow(struct ox_strmap *map, size_t capacity)
{
    struct ox_strmap bigger = {.capacity = capacity, .seed = map->seed};
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries)
        return false;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct ox_strmap_entry *entry = &map->entries[i];
        if (entry->key)
            bigger.entries[slot_of(&bigger, entry->key, entry->n, entry->hash)] = *entry;
    }
    bigger.n = map->n;
    free(map->entries);
    *map = bigger;
    return true;
}

bool ox_strmap_reserve(struct ox_strmap *map, size_t n)
{
    size_t capacity = map->capacity ? map->capacity : 16;
    while (most_at(capacity) < n && capacity <= SIZE_MAX / 4)
        capacity *= 2;
    return capacity == map->capacity || grow(map, capacity);
}

uint32_t ox_strmap_find(const struct ox_strmap *map, const char *key, size_t n)
{
    if (!map->n)
        return OX_STRMAP_NONE;
    const struct ox_strmap_entry *entry =
        &map->entries[slot_of(map, key, n, ox_strmap_hash(key, n, map->seed))];
    return entry->key ? entry->value : OX_STRMAP_NONE;
}

bool ox_strmap_add(struct ox_strmap *map, const char *key, size_t n, uint32_t *value, bool *is_new)
{
    if (map->n >= most_at(map->capacity) && !grow(map, map->capacity ? map->capacity * 2 : 16))
        return false;
    uint64_t hash = ox_strmap_hash(key, n, map->seed);
    struct ox_strmap_entry *entry = &map->entries[slot_of(map, key, n, hash)];
    bool fresh = !entry->key;
    if (fresh) {
        *entry = (struct ox_strmap_entry){key, n, hash, *value};
        map->n++;
    }
    *value = entry->value;
    if (is_new)
        *is_new = fresh;
    return true;
}

void ox_strmap_remove(struct ox_strmap *map, const char *key, size_t n)
{
    if (!map->n)
        return;
    size_t mask = map->capacity - 1;
    size_t hole = slot_of(map, key, n, ox_strmap_hash(key, n, map->seed));
    if (!map->entries[hole].key)
        return;
    /* Knuth 6.4 R: close the hole with later entries of the same run instead of leaving a tombstone. */
    for (size_t at = (hole + 1) & mask; map->entries[at].key; at = (at + 1) & mask) {
        size_t home = map->entries[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole].key = NULL;
    map->n--;
}
