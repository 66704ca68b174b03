#include "common/strmap.h"

#include <stdlib.h>
#include <string.h>

struct ox_strmap_entry {
    const char *key; /* NULL: free */
    size_t n;
    uint64_t hash;
    uint32_t value;
};

/* Multiply and fold, 8 bytes at a time (the construction of wyhash); quick on the short keys that names are. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b;
    a *= 0x9E3779B97F4A7C15u;
    return a ^ a >> 32;
}

static uint64_t hash_key(const char *key, size_t n, uint64_t seed)
{
    uint64_t hash = mix(seed, n);
    for (; n >= 8; n -= 8, key += 8) {
        uint64_t word;
        memcpy(&word, key, 8);
        hash = mix(hash, word);
    }
    uint64_t last = 0;
    if (n)
        memcpy(&last, key, n);
    return mix(mix(hash, last), 0xD6E8FEB86659FD93u);
}

void ox_strmap_init(struct ox_strmap *map)
{
    *map = (struct ox_strmap){.seed = mix((uint64_t)(uintptr_t)map, 0xA0761D6478BD642Fu)};
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

static bool grow(struct ox_strmap *map)
{
    struct ox_strmap bigger = {.capacity = map->capacity ? map->capacity * 2 : 16, .seed = map->seed};
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

uint32_t ox_strmap_find(const struct ox_strmap *map, const char *key, size_t n)
{
    if (!map->n)
        return OX_STRMAP_NONE;
    const struct ox_strmap_entry *entry =
        &map->entries[slot_of(map, key, n, hash_key(key, n, map->seed))];
    return entry->key ? entry->value : OX_STRMAP_NONE;
}

bool ox_strmap_add(struct ox_strmap *map, const char *key, size_t n, uint32_t *value, bool *is_new)
{
    if (map->n >= map->capacity / 2 && !grow(map))
        return false;
    uint64_t hash = hash_key(key, n, map->seed);
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
    size_t hole = slot_of(map, key, n, hash_key(key, n, map->seed));
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
