/* Rows of tables that com.microsoft's operators look up: the fast forms beside the plain ones, the same bits by two threads as by one. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/guarded.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

struct given {
    enum ox_dtype dtype;
    unsigned rank;
    int64_t dims[3];
    const void *data;
};

static void run_all(const char *text, const struct given *in, size_t n_in, size_t n_out)
{
    struct text_run runs[3];
    for (int i = 0; i < 3; i++) {
        text_open(&runs[i], text);
        ox_env_set_threads(runs[i].env, i == 2 ? 2 : 1);
        ck_assert_msg(text_plan(&runs[i], &(struct ox_run_options){.level = i ? 2 : 0}) == OX_OK,
                      "%s", runs[i].err.message);
        for (size_t k = 0; k < n_in; k++)
            text_give(&runs[i], in[k].dtype, in[k].rank, in[k].dims, in[k].data);
        text_must_run(&runs[i]);
    }
    for (size_t k = 0; k < n_out; k++) {
        const struct ox_tensor *a = ox_datum_get_tensor(runs[0].out[k]),
                               *b = ox_datum_get_tensor(runs[1].out[k]),
                               *c = ox_datum_get_tensor(runs[2].out[k]);
        ck_assert_uint_eq(a->n, b->n);
        ck_assert_uint_gt(a->n, 0);
        for (size_t i = 0; i < a->n; i++) {
            const double want = ox_tensor_get_double(a, i), got = ox_tensor_get_double(b, i);
            ck_assert(fabs(got - want) <= 2e-6 * (1 + fabs(want)));
            ck_assert(ox_tensor_get_double(c, i) == got);
        }
    }
    for (int i = 0; i < 3; i++)
        text_close(&runs[i]);
}

/* Bits of _i: segments; ids of places; a mask, with its counts; the sum. */
START_TEST(embedded_rows_are_those_of_plain_c)
{
    enum { BATCH = 3, LENGTH = 7, TOKENS = BATCH * LENGTH, WIDE = 40, WORDS = 11, PLACES = 9 };
    struct dice d = {(uint64_t)_i * 127 + 1};
    int32_t ids[TOKENS], segments[TOKENS], places[TOKENS], mask[TOKENS];
    for (int i = 0; i < TOKENS; i++) {
        ids[i] = (int32_t)dice_between(&d, 0, WORDS - 1);
        segments[i] = (int32_t)dice_between(&d, 0, 1);
        places[i] = (int32_t)dice_between(&d, 0, PLACES - 1);
        mask[i] = (int32_t)dice_between(&d, 0, 1);
    }
    struct guarded rows = guarded_new(&d, (WORDS + PLACES + 2 + 2) * WIDE, false);
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 19, \"com.microsoft\" : 1]> g (int32[3,7] ids, "
             "int32[3,7] s, int32[3,7] p, int32[3,7] m, float[11,40] words, float[9,40] places, "
             "float[2,40] segments, float[40] gamma, float[40] beta) => (float[3,7,40] y%s%s) { y, "
             "%s, %s = com.microsoft.EmbedLayerNormalization <epsilon = 0.001> (ids, %s, words, "
             "places, %s, gamma, beta, %s, %s) }",
             _i & 4 ? ", int32[3] counts" : "", _i & 8 ? ", float[3,7,40] sum" : "",
             _i & 4 ? "counts" : "", _i & 8 ? "sum" : "", _i & 1 ? "s" : "",
             _i & 1 ? "segments" : "", _i & 4 ? "m" : "", _i & 2 ? "p" : "");
    const float *at = rows.at;
    const struct given in[] = {
        {OX_INT32, 2, {BATCH, LENGTH}, ids},
        {OX_INT32, 2, {BATCH, LENGTH}, segments},
        {OX_INT32, 2, {BATCH, LENGTH}, places},
        {OX_INT32, 2, {BATCH, LENGTH}, mask},
        {OX_FLOAT32, 2, {WORDS, WIDE}, at},
        {OX_FLOAT32, 2, {PLACES, WIDE}, at + WORDS * WIDE},
        {OX_FLOAT32, 2, {2, WIDE}, at + (WORDS + PLACES) * WIDE},
        {OX_FLOAT32, 1, {WIDE}, at + (WORDS + PLACES + 2) * WIDE},
        {OX_FLOAT32, 1, {WIDE}, at + (WORDS + PLACES + 3) * WIDE},
    };
    run_all(text, in, OX_COUNT(in), 1 + !!(_i & 4) + !!(_i & 8));
    guarded_free(&rows);
}
END_TEST

/* Bits of _i: segments; signed codes; a mask, with its counts. */
START_TEST(embedded_codes_are_those_of_plain_c)
{
    enum {
        LENGTH = 6,
        TOKENS = 2 * LENGTH,
        WIDE = 41,
        WORDS = 10,
        ALL = (WORDS + 7 + 2 + 2) * WIDE
    };
    struct dice d = {(uint64_t)_i * 137 + 3};
    const enum ox_dtype dtype = _i & 2 ? OX_INT8 : OX_UINT8;
    int32_t ids[TOKENS], segments[TOKENS], mask[TOKENS];
    uint8_t codes[ALL], zeros[3];
    float scales[5];
    for (int i = 0; i < TOKENS; i++) {
        ids[i] = (int32_t)dice_between(&d, 0, WORDS - 1);
        segments[i] = (int32_t)dice_between(&d, 0, 1);
        mask[i] = (int32_t)dice_between(&d, 0, 1);
    }
    for (int i = 0; i < ALL; i++)
        codes[i] = (uint8_t)dice_between(&d, 0, 255);
    for (int i = 0; i < 5; i++)
        scales[i] = (float)(i + 1) / 64;
    for (int i = 0; i < 3; i++)
        zeros[i] = (uint8_t)dice_between(&d, 0, 255);
    const char *type = _i & 2 ? "int8" : "uint8";
    char text[2048];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 19, \"com.microsoft\" : 1]> g (int32[2,6] ids, "
             "int32[2,6] s, int32[2,6] m, %s[10,41] words, %s[7,41] places, %s[2,41] segments, "
             "%s[41] gamma, %s[41] beta, float s1, float s2, float s3, float s4, float s5, %s z1, "
             "%s z2, %s z3) => (float[2,6,41] y, int32[2] counts) { y, counts = "
             "com.microsoft.QEmbedLayerNormalization <epsilon = 0.001> (ids, %s, words, places, "
             "%s, gamma, beta, %s, s1, s2, %s, s4, s5, z1, z2, %s, z1, z2) }",
             type, type, type, type, type, type, type, type, _i & 1 ? "s" : "",
             _i & 1 ? "segments" : "", _i & 4 ? "m" : "", _i & 1 ? "s3" : "", _i & 1 ? "z3" : "");
    struct given in[16] = {{OX_INT32, 2, {2, LENGTH}, ids},
                           {OX_INT32, 2, {2, LENGTH}, segments},
                           {OX_INT32, 2, {2, LENGTH}, mask},
                           {dtype, 2, {WORDS, WIDE}, codes},
                           {dtype, 2, {7, WIDE}, codes + WORDS * WIDE},
                           {dtype, 2, {2, WIDE}, codes + (WORDS + 7) * WIDE},
                           {dtype, 1, {WIDE}, codes + (WORDS + 9) * WIDE},
                           {dtype, 1, {WIDE}, codes + (WORDS + 10) * WIDE}};
    for (int i = 0; i < 5; i++)
        in[8 + i] = (struct given){OX_FLOAT32, 0, {0}, scales + i};
    for (int i = 0; i < 3; i++)
        in[13 + i] = (struct given){dtype, 0, {0}, zeros + i};
    run_all(text, in, OX_COUNT(in), 2);
}
END_TEST

/* Codes of 2, 4 and 8 bits, with and without zeros, in blocks that vectors fill and others, the last of them part of a block. */
START_TEST(gathered_blocks_are_those_of_plain_c)
{
    enum { ROWS = 9, INDICES = 6, MOST = 144 };
    struct dice d = {(uint64_t)_i * 131 + 2};
    const int bits = 2 << _i % 3, block = 16 << _i / 3 % 2, blocks = 3;
    const int width = block * blocks + (_i / 12 ? 0 : -8), zero_bytes = (blocks * bits + 7) / 8;
    uint8_t codes[ROWS * MOST], zeros[ROWS * 3];
    int64_t indices[INDICES];
    for (size_t i = 0; i < sizeof codes; i++)
        codes[i] = (uint8_t)dice_between(&d, 0, 255);
    for (size_t i = 0; i < sizeof zeros; i++)
        zeros[i] = (uint8_t)dice_between(&d, 0, 255);
    for (int i = 0; i < INDICES; i++)
        indices[i] = (int64_t)dice_between(&d, 0, 2 * ROWS - 1) - ROWS;
    struct guarded scales = guarded_new(&d, ROWS * blocks, false);
    char text[1024];
    snprintf(text, sizeof text,
             "<ir_version: 9, opset_import: [\"\" : 19, \"com.microsoft\" : 1]> g (uint8[9,%d] c, "
             "int64[2,3] i, float[9,3] s, uint8[9,%d] z) => (float[2,3,%d] y) { y = "
             "com.microsoft.GatherBlockQuantized <bits = %d, block_size = %d, quantize_axis = %d> "
             "(c, i, s%s) }",
             width * bits / 8, zero_bytes, width, bits, block, _i % 2 ? 1 : -1,
             _i / 6 % 2 ? ", z" : "");
    const struct given in[] = {
        {OX_UINT8, 2, {ROWS, width * bits / 8}, codes},
        {OX_INT64, 2, {2, 3}, indices},
        {OX_FLOAT32, 2, {ROWS, blocks}, scales.at},
        {OX_UINT8, 2, {ROWS, zero_bytes}, zeros},
    };
    run_all(text, in, OX_COUNT(in), 1);
    guarded_free(&scales);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fast_lookups");
    TCase *tcase = tcase_create("fast_lookups");
    tcase_add_loop_test(tcase, embedded_rows_are_those_of_plain_c, 0, 16);
    tcase_add_loop_test(tcase, embedded_codes_are_those_of_plain_c, 0, 8);
    tcase_add_loop_test(tcase, gathered_blocks_are_those_of_plain_c, 0, 24);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
