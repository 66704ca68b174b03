/* Whisper's tokens that tell times: 4 to 7 here, text below 3, which ends; what follows a token stands in its row of a table. */
#include <check.h>
#include <string.h>

#include "onnxtool.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define ENCODER                                                                                    \
    "e (int32[n, s] encoder_input_ids, int32[n, l] decoder_input_ids) => "                         \
    "(float[n, l, 8] logits, float[n, 1, l, 1] present_key_self_0) { "                             \
    "logits = Gather (t, decoder_input_ids) idf = Cast <to = 1> (decoder_input_ids) "              \
    "both = Constant <value = int64[2] {1, 3}> () present_key_self_0 = Unsqueeze (idf, both) }"
#define DECODER                                                                                    \
    "d (int32[n, 1] input_ids, float[n, 1, p, 1] past_key_self_0) => (float[n, 1, 8] logits, "     \
    "float[n, 1, q, 1] present_key_self_0) { logits = Gather (t, input_ids) "                      \
    "present_key_self_0 = Identity (past_key_self_0) }"
#define WHISPER(first)                                                                             \
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "                           \
    "g (int32[1, 1] ids, float[8, 8] t, int32[1] how) => (int32[1, 1, 6] y) { "                    \
    "one = Constant <value = int32[1] {1}> () most = Constant <value = int32[1] {6}> () "          \
    "extra = Constant <value = int32[1, 2] {5, 6}> () "                                            \
    "y = com.microsoft.WhisperBeamSearch <model_type = 2, eos_token_id = 3, pad_token_id = 3, "    \
    "decoder_start_token_id = 0, no_timestamps_token_id = 2, beginning_timestamp_token_id "        \
    "= " first ", encoder = " ENCODER ", decoder = " DECODER                                       \
    "> (ids, most, , one, one, , , , , , , how, , extra) }"

static enum ox_status search(struct text_run *f, const char *text, int32_t processor)
{
    static const float table[8][8] = {
        {5, 4, 9, 1, 4.5F, 4.4F, -9, -9}, {0, 0, 0, 0, 9, 8, 0, 0}, {0}, {0},
        {0, 4, 10, 0, 0, 9, 0, 0},        {9, 0, 0, 6, 8, 7, 0, 0}, {0}, {0}};
    text_must_plan(f, text, NULL);
    text_give(f, OX_INT32, 2, (const int64_t[]){1, 1}, (const int32_t[]){0});
    text_give(f, OX_FLOAT32, 2, (const int64_t[]){8, 8}, table);
    text_give(f, OX_INT32, 1, (const int64_t[]){1}, &processor);
    return text_run_once(f);
}

/* 4, as times together are likelier than 0, the best text but for 2; then no second time, though 5 is likelier; 5, as 4 would go back; 5
 * again or the end, as text comes in between two times; then no third one, nor 0, which only starts. */
START_TEST(times_come_in_pairs_and_do_not_go_back)
{
    static const int32_t free_ones[] = {0, 2, 0, 2, 0, 2}, ruled[] = {0, 4, 1, 5, 5, 3};
    for (int32_t processor = 0; processor < 2; processor++) {
        struct text_run f;
        ck_assert_int_eq(search(&f, WHISPER("4"), processor), OX_OK);
        const struct ox_tensor *y = f.out[0]->tensor;
        ck_assert_uint_eq(y->n, 6);
        ck_assert_mem_eq(y->data, processor ? ruled : free_ones, sizeof ruled);
        text_close(&f);
    }
}
END_TEST

START_TEST(rules_need_times_and_are_known)
{
    struct text_run f;
    ck_assert_int_eq(search(&f, WHISPER("8"), 1), OX_INPUT);
    ck_assert_msg(strstr(f.err.message, "beginning_timestamp_token_id is 8 of 8 tokens"), "%s",
                  f.err.message);
    text_close(&f);
    ck_assert_int_eq(search(&f, WHISPER("4"), 2), OX_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.message, "logits_processor 2 is not served: 0 and 1 are"), "%s",
                  f.err.message);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_timestamps");
    TCase *tcase = tcase_create("timestamps");
    tcase_add_test(tcase, times_come_in_pairs_and_do_not_go_back);
    tcase_add_test(tcase, rules_need_times_and_are_known);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
