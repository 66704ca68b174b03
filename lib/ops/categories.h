/* Places of strings or numbers in a list of them. */
#ifndef OX_OPS_CATEGORIES_H
#define OX_OPS_CATEGORIES_H

#include "ops/op.h"

#define OX_NO_CATEGORY UINT32_MAX

/* Numbers are kept by eight bytes each, floats as doubles with one zero and one NaN. */
struct ox_categories {
    size_t n;
    const struct ox_str *strings; /* the list's; NULL: numbers */
    uint64_t *bits;
    bool floats, last;
    bool in_a_row; /* too few are looked up to be worth a table: the list is searched */
    uint32_t *
        slots; /* place + 1 of what hashes there or to a slot before; 0: free. By number from `least` on: `direct` */
    size_t n_slots; /* a power of two, unless direct */
    unsigned shift;
    uint64_t seed[5];
    bool direct;
    int64_t least;
};

/* Of what is listed twice the first place counts, or the last one: onnxruntime does the former where the standard pairs keys and
 * values, the latter elsewhere. The list must outlive the result, which lies in the kernel's scratch. */
enum ox_status ox_categories(struct ox_run *r, const struct ox_tensor *list, size_t n_searches,
                             bool last, struct ox_categories *out, struct ox_error *err);
/* The same in the caller's memory, of ox_categories_bytes(list) bytes at an address for uint64_t, for any number of searches. The list's
 * numbers need not outlive it, strings must. False: there are too many keys. */
size_t ox_categories_bytes(const struct ox_tensor *list);
bool ox_categories_in(void *block, const struct ox_tensor *list, bool last,
                      struct ox_categories *out);
/* Numbers that a file cannot know, for ox_hash_word(). */
void ox_hash_seeds(uint64_t *seeds, size_t n);
/* Of which the upper bits are the good ones. Products of pairs of 32-bit halves with secret numbers added: no two words collide under
 * more seeds than chance has it, so that a file cannot be built to collide (Thorup, "High speed hashing for integers and strings",
 * 2020, 3.5). */
static inline uint64_t ox_hash_word(uint64_t word, const uint64_t seeds[2])
{
    return (seeds[0] + (uint32_t)word) * (seeds[1] + (word >> 32));
}
/* The places of elements [at, at + n) of x, which are strings where the list is; OX_NO_CATEGORY. */
void ox_categories_find(const struct ox_categories *c, const struct ox_tensor *x, size_t at,
                        size_t n, uint32_t *places);

#endif
