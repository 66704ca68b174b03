/* A hash map from byte strings to 32-bit numbers (indices). Keys are not copied: they must outlive the map. The hash is
 * seeded per map, so that a file cannot be built to collide. */
#ifndef OX_COMMON_STRMAP_H
#define OX_COMMON_STRMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ox_strmap_entry;

struct ox_strmap {
    struct ox_strmap_entry *entries;
    size_t n;
    size_t capacity; /* a power of two, or 0 */
    uint64_t seed;
};

#define OX_STRMAP_NONE UINT32_MAX

/* The hash itself: SipHash-1-3 of n bytes. */
uint64_t ox_strmap_hash(const char *key, size_t n, uint64_t seed);

void ox_strmap_init(struct ox_strmap *map);
void ox_strmap_release(struct ox_strmap *map);
/* Makes room for n keys in all, so that adding them moves nothing. false: out of memory. */
bool ox_strmap_reserve(struct ox_strmap *map, size_t n);
/* The value of the key, or OX_STRMAP_NONE. */
uint32_t ox_strmap_find(const struct ox_strmap *map, const char *key, size_t n);
/* Sets *value to the key's value: the present one if there is one, else *value is stored. false: out of memory;
 * *is_new (may be NULL) says which. */
bool ox_strmap_add(struct ox_strmap *map, const char *key, size_t n, uint32_t *value, bool *is_new);
void ox_strmap_remove(struct ox_strmap *map, const char *key, size_t n);

#endif
