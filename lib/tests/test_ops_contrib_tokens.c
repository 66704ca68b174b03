/* MurmurHash3, NGramRepeatBlock, DynamicTimeWarping and MatMulBnb4 of com.microsoft. Expected values are onnxruntime's where they are
 * not plain to see. */
#include <math.h>

#include "tests/expect_op.h"
#include "tests/run_op.h"
#include "tests/run_suite.h"

static struct one_op *ms(const char *name)
{
    return one_op_new("com.microsoft", name, 1);
}

START_TEST(hashes_of_texts)
{
    static const char *const texts[] = {"abc", "", "hello world"};
    struct one_op *op = ms("MurmurHash3");
    one_op_in_strings(op, "3", texts, 3);
    one_op_int(op, "positive", 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "3", 0, -1277324294, 0, 1586663183);
    one_op_free(op);
}
END_TEST

START_TEST(hashes_of_numbers)
{
    static const struct {
        enum ox_dtype dtype;
        double value, expected;
        int64_t seed;
        bool oracle;
    } cases[] = {{OX_INT32, 3, 847579505, 0, false},
                 {OX_INT32, -5, 1637461840, 0, false},
                 {OX_INT64, 3, 4294967296 - 2020699886, 7, false},
                 {OX_FLOAT32, 1.5, 376679366, 0, false},
                 {OX_FLOAT64, 1.5, 1290763749, 42, false},
                 {OX_FLOAT32, 1.5, 376679366, 0, true}};
    struct one_op *op = ms("MurmurHash3");
    ONE_OP_IN(op, cases[_i].dtype, "1", cases[_i].value);
    one_op_int(op, "seed", cases[_i].seed);
    if (cases[_i].oracle)
        one_op_set_oracle(op);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_UINT32, "1", 0, cases[_i].expected);
    one_op_free(op);
}
END_TEST

static struct one_op *repeats(int64_t n, double token, const char *scores)
{
    struct one_op *op = ms("NGramRepeatBlock");
    ONE_OP_IN(op, OX_INT64, "1x5", 0, 1, token, 0, 1);
    ONE_OP_IN(op, OX_FLOAT32, scores, 1, 2, 3, 4);
    one_op_int(op, "ngram_size", n);
    return op;
}

START_TEST(what_would_repeat_is_blocked)
{
    struct one_op *op = repeats(3, 2, "1x4");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 0, 1, 2, -INFINITY, 4);
    one_op_free(op);
    op = repeats(6, 2, "1x4");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 0, 1, 2, 3, 4);
    one_op_free(op);
    op = repeats(1, 2, "1x4");
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "1x4", 0, -INFINITY, -INFINITY, -INFINITY, 4);
    one_op_free(op);
    RUN_FAILS(repeats(3, 4, "1x4"), 1, "token 4 at place 2 is outside of 4 scores");
    RUN_FAILS(repeats(3, -1, "1x4"), 1, "token -1");
    RUN_FAILS(repeats(0, 2, "1x4"), 1, "ngram_size is 0");
    RUN_FAILS(repeats(3, 2, "2x2"), 1, "a row for each batch");
}
END_TEST

START_TEST(the_cheapest_path_is_found)
{
    struct one_op *op = ms("DynamicTimeWarping");
    ONE_OP_IN(op, OX_FLOAT32, "1x3x3", 1, 2, 3, 1, 5, 1, 3, 3, 1);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "2x4", 0, 0, 0, 1, 2, 0, 1, 2, 2);
    one_op_free(op);
    op = ms("DynamicTimeWarping");
    ONE_OP_IN(op, OX_FLOAT32, "2x3", 0, 0, 0, 0, 0, 0);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_INT32, "2x4", 0, 0, 1, 1, 1, 0, 0, 1, 2);
    one_op_free(op);
    op = ms("DynamicTimeWarping");
    ONE_OP_IN(op, OX_FLOAT32, "2x2", NAN, NAN, NAN, NAN);
    RUN_OK(op, 1);
    one_op_free(op);
    op = ms("DynamicTimeWarping");
    ONE_OP_IN_EMPTY(op, OX_FLOAT32, "0x3");
    RUN_OK(op, 1);
    ONE_OP_OUT_EMPTY(op, 0, OX_INT32, "2x0");
    one_op_free(op);
    op = ms("DynamicTimeWarping");
    ONE_OP_IN(op, OX_FLOAT32, "2x1x1", 0, 0);
    RUN_FAILS(op, 1, "neither [M, N]");
}
END_TEST

/* A row of 16 weights, their codes from 0 on but for the order in pairs. */
static struct one_op *bnb4(int64_t type, int64_t n, int64_t block, bool turned)
{
    struct one_op *op = ms("MatMulBnb4");
    if (turned)
        ONE_OP_IN(op, OX_FLOAT32, "1x1", 2);
    else
        ONE_OP_IN(op, OX_FLOAT32, "2x16", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /**/
                  0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    ONE_OP_IN(op, OX_UINT8, "8", 0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe);
    ONE_OP_IN(op, OX_FLOAT32, "1", 3);
    one_op_int(op, "K", 16);
    one_op_int(op, "N", n);
    one_op_int(op, "block_size", block);
    one_op_int(op, "quant_type", type);
    one_op_int(op, "transB", !turned);
    return op;
}

START_TEST(codes_are_numbers_of_a_table)
{
    struct one_op *op = bnb4(0, 1, 16, false);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1", 1e-6, 3 * 0.0052083333, 2);
    one_op_free(op);
    op = bnb4(1, 1, 16, false);
    RUN_OK(op, 1);
    ONE_OP_OUT(op, 0, OX_FLOAT32, "2x1", 1e-6, -3 * 0.6961928, -3 * 0.52507305);
    one_op_free(op);
    op = bnb4(1, 1, 16, true);
    RUN_OK(op, 1);
    const struct ox_tensor *y = one_op_out(op, 0);
    ck_assert_uint_eq(y->n, 16);
    ck_assert(fabsf(((const float *)y->data)[1] + 6) < 1e-6f);
    one_op_free(op);
    RUN_FAILS(bnb4(1, 2, 16, false), 1, "too few elements for 2 x 16");
    RUN_FAILS(bnb4(2, 1, 16, false), 1, "quant_type 2");
    RUN_FAILS(bnb4(1, 1, 24, false), 1, "block_size is 24");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_contrib_tokens");
    TCase *tcase = tcase_create("tokens");
    tcase_add_test(tcase, hashes_of_texts);
    tcase_add_loop_test(tcase, hashes_of_numbers, 0, 6);
    tcase_add_test(tcase, what_would_repeat_is_blocked);
    tcase_add_test(tcase, the_cheapest_path_is_found);
    tcase_add_test(tcase, codes_are_numbers_of_a_table);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
