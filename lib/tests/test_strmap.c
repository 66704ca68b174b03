#include <stdio.h>
#include <time.h>

#include "common/strmap.h"
#include "tests/run_suite.h"

enum { N = 20000, NAME = 32 };

START_TEST(what_was_added_is_found)
{
    static char names[N][NAME];
    struct ox_strmap map;
    ox_strmap_init(&map);
    ck_assert_uint_eq(ox_strmap_find(&map, "x", 1), OX_STRMAP_NONE);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(names[i], NAME, "node_%u", i);
        uint32_t value = i;
        bool is_new = false;
        ck_assert(ox_strmap_add(&map, names[i], strlen(names[i]), &value, &is_new));
        ck_assert(is_new);
    }
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(ox_strmap_find(&map, names[i], strlen(names[i])), i);
    ck_assert_uint_eq(ox_strmap_find(&map, "node_", 5), OX_STRMAP_NONE);
    ck_assert_uint_eq(map.n, N);
    ox_strmap_release(&map);
}
END_TEST

START_TEST(keys_that_there_is_room_for_move_nothing)
{
    static char names[N][NAME];
    struct ox_strmap map;
    ox_strmap_init(&map);
    ck_assert(ox_strmap_reserve(&map, N));
    const struct ox_strmap_entry *entries = map.entries;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t value = i;
        snprintf(names[i], NAME, "node_%u", i);
        ck_assert(ox_strmap_add(&map, names[i], strlen(names[i]), &value, NULL));
    }
    ck_assert_ptr_eq(map.entries, entries);
    ox_strmap_release(&map);
}
END_TEST

START_TEST(adding_a_present_key_gives_its_value)
{
    struct ox_strmap map;
    ox_strmap_init(&map);
    uint32_t value = 5;
    bool is_new;
    ck_assert(ox_strmap_add(&map, "key", 3, &value, NULL));
    value = 9;
    ck_assert(ox_strmap_add(&map, "key", 3, &value, &is_new));
    ck_assert(!is_new);
    ck_assert_uint_eq(value, 5);
    ox_strmap_release(&map);
}
END_TEST

START_TEST(keys_are_bytes_of_any_length)
{
    struct ox_strmap map;
    ox_strmap_init(&map);
    char bytes[40] = {0};
    for (uint32_t n = 0; n <= sizeof bytes; n++) {
        uint32_t value = n;
        bool is_new;
        ck_assert(ox_strmap_add(&map, bytes, n, &value, &is_new));
        ck_assert(is_new); /* runs of NULs of different lengths differ */
    }
    for (uint32_t n = 0; n <= sizeof bytes; n++)
        ck_assert_uint_eq(ox_strmap_find(&map, bytes, n), n);
    ox_strmap_release(&map);
}
END_TEST

START_TEST(removing_leaves_the_others_findable)
{
    static char names[N][NAME];
    struct ox_strmap map;
    ox_strmap_init(&map);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(names[i], NAME, "%u", i);
        uint32_t value = i;
        ck_assert(ox_strmap_add(&map, names[i], strlen(names[i]), &value, NULL));
    }
    for (uint32_t i = 0; i < N; i += 3)
        ox_strmap_remove(&map, names[i], strlen(names[i]));
    ox_strmap_remove(&map, "absent", 6);
    for (uint32_t i = 0; i < N; i++)
        ck_assert_uint_eq(ox_strmap_find(&map, names[i], strlen(names[i])),
                          i % 3 ? i : OX_STRMAP_NONE);
    ox_strmap_release(&map);
}
END_TEST

/* Flips that cancel in any hash of the form "xor the word in, multiply, fold": 2^14 names would share one slot. */
START_TEST(names_made_to_collide_do_not)
{
    enum { PAIRS = 14, MANY = 1 << PAIRS };
    char *names = calloc(MANY, PAIRS * 16);
    ck_assert_ptr_nonnull(names);
    struct ox_strmap map;
    ox_strmap_init(&map);
    clock_t start = clock();
    for (uint32_t i = 0; i < MANY; i++) {
        char *name = names + (size_t)i * PAIRS * 16;
        for (unsigned k = 0; k < PAIRS; k++) {
            uint64_t words[2] = {(uint64_t)(i >> k & 1) << 63, 0};
            words[1] = words[0] | words[0] >> 32;
            memcpy(name + (size_t)k * 16, words, sizeof words);
        }
        uint32_t value = i;
        bool is_new;
        ck_assert(ox_strmap_add(&map, name, PAIRS * 16, &value, &is_new));
        ck_assert(is_new);
    }
    ck_assert_double_lt((double)(clock() - start) / CLOCKS_PER_SEC, 0.5);
    ox_strmap_release(&map);
    free(names);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strmap");
    TCase *tests = tcase_create("strmap");
    tcase_add_test(tests, what_was_added_is_found);
    tcase_add_test(tests, keys_that_there_is_room_for_move_nothing);
    tcase_add_test(tests, adding_a_present_key_gives_its_value);
    tcase_add_test(tests, keys_are_bytes_of_any_length);
    tcase_add_test(tests, removing_leaves_the_others_findable);
    tcase_add_test(tests, names_made_to_collide_do_not);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
