/* Copies of wholes, parts and strided arrays: what many threads copy is what one does, and a plain loop. */
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "ops/move.h"
#include "ops/parts.h"
#include "tests/guarded.h"
#include "tests/run_suite.h"

enum { CASES = 60, MOST_PARTS = 5 };

static struct ox_env *threads(unsigned n)
{
    struct ox_env *env = ox_env_new();
    ck_assert_ptr_nonnull(env);
    ox_env_set_threads(env, n);
    return env;
}

static char *random_bytes(struct dice *d, size_t n)
{
    char *bytes = malloc(n + 1);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)dice_next(d);
    return bytes;
}

/* Few rows long enough to be cut, or many short ones; some parts are empty. */
static size_t part_bytes(struct dice *d, bool is_long)
{
    static const size_t shorts[] = {0, 1, 4, 8, 15, 16, 17, 324, 512, 513};
    return is_long ? dice_between(d, 0, 400000) : shorts[dice_between(d, 0, 9)];
}

START_TEST(parts_are_joined_and_split)
{
    struct dice d = {(uint64_t)_i * 77 + 5};
    const bool is_long = _i % 3 == 0;
    const size_t n = dice_between(&d, 1, MOST_PARTS), rows = dice_between(&d, 0, is_long ? 3 : 900);
    struct ox_part parts[MOST_PARTS], back[MOST_PARTS];
    size_t row = 0;
    for (size_t i = 0; i < n; i++) {
        parts[i].bytes = back[i].bytes = part_bytes(&d, is_long);
        parts[i].data = random_bytes(&d, rows * parts[i].bytes);
        back[i].data = random_bytes(&d, rows * parts[i].bytes);
        row += parts[i].bytes;
    }
    char *whole = random_bytes(&d, rows * row), after = whole[rows * row] = 'x';
    struct ox_env *env = threads(1 + (unsigned)_i % 3);
    ox_parts_join(env, rows, n, parts, whole);
    ck_assert_int_eq(whole[rows * row], after);
    const char *at = whole;
    for (size_t k = 0; k < rows; k++) {
        for (size_t i = 0; i < n; at += parts[i].bytes, i++)
            ck_assert_int_eq(memcmp(at, parts[i].data + k * parts[i].bytes, parts[i].bytes), 0);
    }
    ox_parts_split(env, rows, n, back, whole);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(memcmp(back[i].data, parts[i].data, rows * parts[i].bytes), 0);
        free(parts[i].data);
        free(back[i].data);
    }
    free(whole);
    ox_env_release(env);
}
END_TEST

/* A transpose by a random permutation. */
static struct ox_move turn(struct dice *d, unsigned rank, const int64_t *dims)
{
    unsigned perm[4] = {0, 1, 2, 3};
    int64_t from[4], to[4], out[4];
    struct ox_move m = {0};
    for (unsigned i = rank; i-- > 1;) {
        const unsigned k = (unsigned)dice_between(d, 0, i), kept = perm[i];
        perm[i] = perm[k];
        perm[k] = kept;
    }
    for (unsigned i = 0; i < rank; i++)
        out[i] = dims[perm[i]];
    ox_move_strides(rank, dims, from);
    ox_move_strides(rank, out, to);
    for (unsigned i = 0; i < rank; i++)
        ox_move_axis(&m, out[i], to[i], from[perm[i]]);
    return m;
}

START_TEST(threads_move_what_one_moves)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16};
    struct dice d = {(uint64_t)_i * 31 + 3};
    const size_t size = sizes[_i % 5];
    const unsigned rank = (unsigned)dice_between(&d, 0, 4);
    int64_t dims[4];
    size_t n = 1;
    for (unsigned i = 0; i < rank; i++) {
        dims[i] = (int64_t)dice_between(&d, _i % 7 == 0 ? 0 : 1, 48);
        n *= (size_t)dims[i];
    }
    struct ox_move m = turn(&d, rank, dims), same = m;
    char *src = random_bytes(&d, n * size), *one = random_bytes(&d, n * size),
         *many = random_bytes(&d, n * size);
    struct ox_env *env = threads(1 + (unsigned)_i % 4);
    ox_move_run(&same, size, one, src);
    ox_move_spread(env, &m, size, many, src);
    ck_assert_int_eq(n ? memcmp(one, many, n * size) : 0, 0);
    free(src);
    free(one);
    free(many);
    ox_env_release(env);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("parts");
    TCase *tc = tcase_create("parts");
    tcase_add_loop_test(tc, parts_are_joined_and_split, 0, CASES);
    tcase_add_loop_test(tc, threads_move_what_one_moves, 0, 10 * CASES);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
