/* Generation operators of com.microsoft with decoders that are tables: which tokens follow can be told by hand. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "onnxtool.h"
#include "tests/run_suite.h"
#include "tests/run_text.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]> "
/* Of a token the scores of the next one: a row of t. */
#define TABLE                                                                                      \
    "d (int32[n, s] i, int32[n, s] p, int32[n, k] m) => (float[n, s, 4] l) { l = Gather(t, i) }"
#define GREEDY(settings, decoder, inputs)                                                          \
    HEAD "g (int32[b, c] ids, int32[1] most, float[4, 4] t, int32[1] least, float[1] rep, "        \
         "int32[4] vm, int32[b, 4] pm) => (int32[b, e] y) { "                                      \
         "y = com.microsoft.GreedySearch <eos_token_id = 3, pad_token_id = 0, " settings           \
         "decoder = " decoder "> (" inputs ") }"
#define BEAM(settings, inputs)                                                                     \
    HEAD "g (int32[b, c] ids, int32[1] most, float[4, 4] t, int32[1] beams, int32[1] back, "       \
         "float[1] lp) => (int32[b, e, f] y, float[b, e] s, float[h, b, e, v] a) { "               \
         "y, s, a = com.microsoft.BeamSearch <eos_token_id = 3, pad_token_id = 0, " settings       \
         "decoder = " TABLE "> (" inputs ") }"

/* 0 is followed by 1 or 2, 1 by 2, 2 by eos or 1. */
static const float table[] = {0, 4, 3, 1, 0, 1, 5, 2, 0, 5, 1, 6, 9, 9, 9, 9};

static void give(struct text_run *f, const int32_t *ids, int64_t batch, int64_t length,
                 int32_t most, const float *scores)
{
    text_give(f, OX_INT32, 2, (const int64_t[]){batch, length}, ids);
    text_give(f, OX_INT32, 1, (const int64_t[]){1}, &most);
    text_give(f, OX_FLOAT32, 2, (const int64_t[]){4, 4}, scores);
}

static void expect_ids(const struct text_run *f, size_t n, const int32_t *ids)
{
    const struct ox_tensor *y = f->out[0]->tensor;
    ck_assert_uint_eq(y->n, n);
    ck_assert_int_eq(y->dtype, OX_INT32);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(((const int32_t *)y->data)[i] == ids[i], "[%zu] is %d, not %d", i,
                      ((const int32_t *)y->data)[i], ids[i]);
}

struct greedy {
    const char *text;
    int32_t least;
    float repetition;
    int32_t vocabulary[4], first[8];
    int32_t expected[12];
};

static const struct greedy greedy_cases[] = {
    /* A row that met eos is padded. */
    {.text = GREEDY("", TABLE, "ids, most"), .expected = {0, 1, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0}},
    {.text = GREEDY("", TABLE, "ids, most, least"),
     .least = 5,
     .expected = {0, 1, 2, 1, 2, 0, 2, 1, 2, 1, 2, 0}},
    {.text = GREEDY("no_repeat_ngram_size = 2, ", TABLE, "ids, most, least"),
     .least = 6,
     .expected = {0, 1, 2, 1, 1, 0, 2, 1, 2, 2, 0, 1}},
    /* 6 / 3 is less than 5 from the second time on. */
    {.text = GREEDY("", TABLE, "ids, most, , rep"),
     .repetition = 3,
     .expected = {0, 1, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0}},
    {.text = GREEDY("", TABLE, "ids, most, , , vm"),
     .vocabulary = {1, 0, 1, 1},
     .expected = {0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0}},
    /* Of the first step alone, for each row. */
    {.text = GREEDY("", TABLE, "ids, most, , , , pm"),
     .first = {1, 0, 1, 1, 1, 1, 1, 0},
     .expected = {0, 2, 0, 0, 0, 0, 2, 1, 2, 0, 0, 0}},
};

START_TEST(the_best_token_follows)
{
    static const int32_t ids[] = {0, 2};
    for (int level = 0; level <= 2; level += 2) {
        const struct greedy *c = &greedy_cases[_i];
        const struct ox_run_options options = {.level = level};
        struct text_run f;
        text_must_plan(&f, c->text, &options);
        give(&f, ids, 2, 1, 6, table);
        text_give(&f, OX_INT32, 1, (const int64_t[]){1}, &c->least);
        text_give(&f, OX_FLOAT32, 1, (const int64_t[]){1}, &c->repetition);
        text_give(&f, OX_INT32, 1, (const int64_t[]){4}, c->vocabulary);
        text_give(&f, OX_INT32, 2, (const int64_t[]){2, 4}, c->first);
        text_must_run(&f);
        expect_ids(&f, 12, c->expected);
        text_close(&f);
    }
}
END_TEST

static void fill_rest(struct text_run *f)
{
    text_give(f, OX_INT32, 1, (const int64_t[]){1}, (const int32_t[]){0});
    text_give(f, OX_FLOAT32, 1, (const int64_t[]){1}, (const float[]){1});
    text_give(f, OX_INT32, 1, (const int64_t[]){4}, (const int32_t[]){1, 1, 1, 1});
    text_give(f, OX_INT32, 2, (const int64_t[]){1, 4}, (const int32_t[]){1, 1, 1, 1});
}

/* The past sums up places; a token's score is the sum that stands at its number. */
#define COUNTING                                                                                   \
    "d (int32[n, s] i, int32[n, s] p, int32[n, k] m, float[2, n, 1, q, 1] past) => "               \
    "(float[n, s, 4] l, float[2, n, 1, r, 1] present) { "                                          \
    "pf = Cast <to = 1> (p) sh = Constant <value = int64[5] {1, 0, 1, -1, 1}> () "                 \
    "ns = Shape <start = 0, end = 1> (p) one = Constant <value = int64[1] {1}> () "                \
    "minus = Constant <value = int64[1] {-1}> () "                                                 \
    "to = Concat <axis = 0> (one, ns, one, minus, one) new = Reshape (pf, to) "                    \
    "two = Concat <axis = 0> (new, new) present = Concat <axis = 3> (past, two) "                  \
    "ax = Constant <value = int64[4] {0, 2, 3, 4}> () all = ReduceSum <keepdims = 0> (present, "   \
    "ax) "                                                                                         \
    "half = Constant <value = float {0.5}> () sum = Mul (all, half) "                              \
    "un = Constant <value = int64[2] {1, 2}> () s3 = Unsqueeze (sum, un) "                         \
    "row = Constant <value = float[4] {0, 1, 2, 3}> () d1 = Sub (row, s3) d2 = Abs (d1) "          \
    "d3 = Neg (d2) sp = Shape <start = 1, end = 2> (i) "                                           \
    "ex = Concat <axis = 0> (one, sp, one) l = Expand (d3, ex) }"

START_TEST(pasts_and_places_are_carried)
{
    /* Places 0, 0, 1 (padding has 0), 2, ...: sums 1, 3. */
    static const int32_t ids[] = {0, 1, 2}, expected[] = {0, 1, 2, 1, 0};
    struct text_run f;
    text_must_plan(&f, GREEDY("", COUNTING, "ids, most"), NULL);
    give(&f, ids, 1, 3, 5, table);
    fill_rest(&f);
    text_must_run(&f);
    expect_ids(&f, 5, expected);
    text_close(&f);
}
END_TEST

#define SAMPLING(settings, inputs)                                                                 \
    HEAD "g (int32[b, c] ids, int32[1] most, float[4, 4] t, int32[1] seed, int32[1, 4] seen) => "  \
         "(int32[b, e] y, "                                                                        \
         "float[b, v] left) { y, left = com.microsoft.Sampling <eos_token_id = 3, pad_token_id = " \
         "0, " settings "decoder = " TABLE "> (" inputs ") }"

/* The engine's first numbers of seed 1 are known: 0.1315, 0.4587, 0.2190, 0.6789. */
START_TEST(tokens_come_by_chance)
{
    static const float even[16] = {0}, uneven[] = {0, 2, 3, 1, 0, 2, 3, 1, 0, 2, 3, 1, 0, 2, 3, 1};
    static const int32_t first[] = {0}, one[] = {1}, all[] = {0, 0, 1, 0, 2};
    static const int32_t seen[] = {0, 1, 2, 0};
    static const float left[] = {-9, 4, 6, -9};
    struct text_run f;
    text_must_plan(&f, SAMPLING("top_p = 1.0, ", "ids, most, , , , , , , seed"), NULL);
    give(&f, first, 1, 1, 5, even);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, one);
    text_give(&f, OX_INT32, 2, (const int64_t[]){1, 4}, seen);
    text_must_run(&f);
    expect_ids(&f, 5, all);
    text_close(&f);
    /* Of 0.002, 0.117, 0.865 and 0.016 in the order of their size the first two are less than 0.1 together. */
    text_must_plan(&f,
                   SAMPLING("top_p = 0.9, temperature = 0.5, filter_value = -9.0, ",
                            "ids, most, , , , , , , seed"),
                   NULL);
    give(&f, first, 1, 1, 5, uneven);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, (const int32_t[]){3});
    text_give(&f, OX_INT32, 2, (const int64_t[]){1, 4}, seen);
    text_must_run(&f);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq((double)((const float *)f.out[1]->tensor->data)[i], (double)left[i]);
    text_close(&f);
    /* Seen once and twice: those two lose 1.5 and 3. */
    text_must_plan(
        &f, SAMPLING("top_p = 1.0, presence_penalty = 1.5, ", "ids, most, , , , , , seen, seed"),
        NULL);
    give(&f, first, 1, 1, 2, uneven);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, one);
    text_give(&f, OX_INT32, 2, (const int64_t[]){1, 4}, seen);
    text_must_run(&f);
    for (size_t i = 0; i < 4; i++)
        ck_assert_double_eq((double)((const float *)f.out[1]->tensor->data)[i],
                            (double)uneven[i] - 1.5 * seen[i]);
    text_close(&f);
}
END_TEST

START_TEST(no_batch_has_no_sequences)
{
    struct text_run f;
    text_must_plan(&f, GREEDY("", TABLE, "ids, most"), NULL);
    give(&f, NULL, 0, 2, 5, table);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, (const int32_t[]){0});
    text_give(&f, OX_FLOAT32, 1, (const int64_t[]){1}, (const float[]){1});
    text_give(&f, OX_INT32, 1, (const int64_t[]){4}, (const int32_t[]){1, 1, 1, 1});
    text_give(&f, OX_INT32, 2, (const int64_t[]){0, 4}, NULL);
    text_must_run(&f);
    expect_ids(&f, 0, NULL);
    text_close(&f);
}
END_TEST

static void fails(const char *text, int32_t most, enum ox_status status, const char *message)
{
    static const int32_t ids[] = {0, 2};
    struct text_run f;
    text_must_plan(&f, text, NULL);
    give(&f, ids, 1, 2, most, table);
    fill_rest(&f);
    ck_assert_int_eq(text_run_once(&f), status);
    ck_assert_msg(strstr(f.err.message, message), "'%s' has no '%s'", f.err.message, message);
    text_close(&f);
}

START_TEST(what_cannot_be_searched_is_refused)
{
    fails(GREEDY("", TABLE, "ids, most"), 2, OX_INPUT, "max_length is 2, the prompt has 2 already");
    fails(GREEDY("vocab_size = 5, ", TABLE, "ids, most"), 4, OX_INPUT,
          "made no scores [1, tokens, at least 5]");
    fails(GREEDY("", "d (int32[n, s] i, int32[n, s] p) => (float[n, s, 4] l) { l = Gather(t, i) }",
                 "ids, most"),
          4, OX_UNSUPPORTED, "a decoder of 2 inputs and 1 outputs");
    fails(GREEDY("model_type = 7, ", TABLE, "ids, most"), 4, OX_UNSUPPORTED,
          "model_type 7 is not served");
}
END_TEST

/* ---- BeamSearch --------------------------------------------------------------------------------------------------- */

static struct text_run beam(const char *text, int32_t most, float penalty)
{
    static const float chances[] = {.01F, .58F, .4F,  .01F, .01F, .45F, .19F, .35F,
                                    .03F, .04F, .03F, .9F,  .25F, .25F, .25F, .25F};
    static const int32_t ids[] = {0}, two[] = {2};
    float logits[16];
    struct text_run f;
    for (size_t i = 0; i < 16; i++)
        logits[i] = logf(chances[i]) + (float)(i / 4);
    text_must_plan(&f, text, NULL);
    give(&f, ids, 1, 1, most, logits);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, two);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, two);
    text_give(&f, OX_FLOAT32, 1, (const int64_t[]){1}, &penalty);
    text_must_run(&f);
    return f;
}

static void expect_numbers(const struct text_run *f, size_t i, size_t n, const double *values)
{
    const struct ox_tensor *t = f->out[i]->tensor;
    ck_assert_int_eq(t->dtype, OX_FLOAT32);
    ck_assert_uint_eq(t->n, n);
    for (size_t k = 0; k < n; k++)
        ck_assert_double_eq_tol((double)((const float *)t->data)[k], values[k], 1e-5);
}

#define INPUTS "ids, most, , beams, back, lp"

/* After the first step 1 (0.58) and 2 (0.4) go on. Then 2, eos (0.36) is kept; 1, 1 (0.261) goes on, 1, eos (0.203) comes after as many as there
 * are beams, 1, 2 (0.1102) goes on and is the worse one of two at the end. */
START_TEST(the_best_sums_go_on)
{
    static const int32_t short_first[] = {0, 2, 0, 0, 1, 1}, long_first[] = {0, 1, 1, 0, 2, 0};
    struct text_run f = beam(BEAM("", INPUTS), 3, 0);
    expect_ids(&f, 6, short_first);
    expect_numbers(&f, 1, 2, (const double[]){log(.36), log(.261)});
    text_close(&f);
    f = beam(BEAM("", INPUTS), 3, 1);
    expect_ids(&f, 6, long_first);
    expect_numbers(&f, 1, 2, (const double[]){log(.261) / 3, log(.36) / 2});
    const float *steps = f.out[2]->tensor->data;
    ck_assert_uint_eq(f.out[2]->tensor->n, 16);
    ck_assert_double_eq_tol((double)steps[1], log(.58), 1e-5);
    ck_assert_double_eq((double)steps[4], -1e9);
    ck_assert_double_eq_tol((double)steps[8 + 3], log(.58 * .35), 1e-5);
    ck_assert_double_eq_tol((double)steps[12 + 3], log(.36), 1e-5);
    text_close(&f);
}
END_TEST

/* 1, 1, eos (0.09135) is the second kept, of length 3, with which the batch is done; without early stopping 1, 1, 1, eos comes too late. */
START_TEST(a_batch_ends_early)
{
    struct text_run f = beam(BEAM("early_stopping = 1, ", INPUTS), 9, 0);
    const int32_t ids[] = {0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0};
    expect_ids(&f, 18, ids);
    expect_numbers(&f, 1, 2, (const double[]){log(.36), log(.58 * .19 * .9)});
    const float *steps = f.out[2]->tensor->data;
    ck_assert_uint_eq(f.out[2]->tensor->n, 64);
    for (size_t i = 24; i < 64; i++)
        ck_assert_double_eq((double)steps[i], 0);
    text_close(&f);
}
END_TEST

/* ---- Behind an encoder -------------------------------------------------------------------------------------------- */

/* An encoder's keys are its mask; the row of t is the last token and how many the mask leaves. */
#define KEYS                                                                                       \
    "mf = Cast <to = 1> (encoder_attention_mask) "                                                 \
    "ax = Constant <value = int64[2] {1, 3}> () present_key_cross_0 = Unsqueeze (mf, ax) "         \
    "present_value_cross_0 = Identity (present_key_cross_0) "
#define ENCODER                                                                                    \
    "e (int32[n, s] encoder_input_ids, int32[n, s] encoder_attention_mask) => "                    \
    "(float[n, 1, s, 1] present_key_cross_0, float[n, 1, s, 1] present_value_cross_0) { " KEYS "}"
#define SCORES                                                                                     \
    "at = Constant <value = int64[3] {1, 2, 3}> () "                                               \
    "sum = ReduceSum <keepdims = 0> (past_value_cross_0, at) how = Cast <to = 6> (sum) "           \
    "one = Constant <value = int64[1] {1}> () many = Unsqueeze (how, one) "                        \
    "j = Add (input_ids, many) four = Constant <value = int32 {4}> () k = Mod (j, four) "          \
    "logits = Gather (t, k) "
#define DECODER                                                                                    \
    "d (int32[n, 1] input_ids, int32[n, s] encoder_attention_mask, float[n, 1, p, 1] "             \
    "past_key_self_0, float[n, 1, p, 1] past_value_self_0, float[n, 1, s, 1] past_key_cross_0, "   \
    "float[n, 1, s, 1] past_value_cross_0) => (float[n, 1, 4] logits, float[n, 1, q, 1] "          \
    "present_key_self_0, float[n, 1, q, 1] present_value_self_0) { " SCORES                        \
    "idf = Cast <to = 1> (input_ids) to = Constant <value = int64[2] {1, 2}> () "                  \
    "new = Unsqueeze (idf, to) present_key_self_0 = Concat <axis = 2> (past_key_self_0, new) "     \
    "present_value_self_0 = Concat <axis = 2> (past_value_self_0, new) }"
#define ENCODED(op, settings, encoder, inputs)                                                     \
    HEAD "g (int32[b, c] ids, int32[1] most, float[4, 4] t, int32[1] beams, int32[b, l] start) "   \
         "=> (int32[b, e, f] y) { one = Constant <value = int32[1] {1}> () "                       \
         "flip = Constant <value = float[4, 4] {1, 9, 0, 0, 1, 0, 9, 0, 0, 1, 9, 0, 9, 1, 0, 0}> " \
         "() "                                                                                     \
         "other = Identity (flip) y = com.microsoft." op " <eos_token_id = 9, pad_token_id = 0, "  \
         "decoder_start_token_id = 1, " settings "encoder = " encoder ", decoder = " DECODER       \
         "> (" inputs ") }"

/* Best is the token after the row's number. */
static const float after[] = {0, 9, 1, 2, 1, 0, 9, 2, 0, 1, 2, 9, 9, 2, 1, 0};

static struct text_run encoded(const char *text, int32_t beams)
{
    /* The mask leaves out padding before the first token: 3 and 1 are left. */
    static const int32_t ids[] = {0, 5, 0, 6, 0, 0, 0, 6}, start[] = {2, 3, 3, 2};
    struct text_run f;
    text_must_plan(&f, text, NULL);
    give(&f, ids, 2, 4, 5, after);
    text_give(&f, OX_INT32, 1, (const int64_t[]){1}, &beams);
    text_give(&f, OX_INT32, 2, (const int64_t[]){2, 2}, start);
    return f;
}

START_TEST(a_decoder_goes_on_from_an_encoder)
{
    static const int32_t expected[] = {1, 1, 1, 1, 1, 1, 3, 1, 3, 1};
    for (int32_t beams = 1; beams <= 3; beams++) {
        struct text_run f = encoded(
            ENCODED("BeamSearch", "model_type = 1, ", ENCODER, "ids, most, , beams, one"), beams);
        text_must_run(&f);
        expect_ids(&f, 10, expected);
        text_close(&f);
    }
}
END_TEST

/* An encoder that scores the first tokens itself: 0 after 3, and 2 after 2. */
#define INIT                                                                                       \
    "e (int32[n, s] encoder_input_ids, int32[n, s] encoder_attention_mask, int32[n, l] "           \
    "decoder_input_ids) => (float[n, l, 4] logits, float[n, 1, l, 1] present_key_self_0, "         \
    "float[n, 1, l, 1] present_value_self_0, float[n, 1, s, 1] present_key_cross_0, "              \
    "float[n, 1, s, 1] present_value_cross_0) { " KEYS                                             \
    "logits = Gather (other, decoder_input_ids) "                                                  \
    "idf = Cast <to = 1> (decoder_input_ids) both = Constant <value = int64[2] {1, 3}> () "        \
    "present_key_self_0 = Unsqueeze (idf, both) "                                                  \
    "present_value_self_0 = Identity (present_key_self_0) }"

START_TEST(an_encoder_may_make_the_first_step)
{
    static const int32_t expected[] = {2, 3, 0, 0, 0, 3, 2, 2, 0, 2};
    struct text_run f = encoded(ENCODED("WhisperBeamSearch", "model_type = 2, ", INIT,
                                        "ids, most, , beams, one, , , , , , start"),
                                2);
    text_must_run(&f);
    expect_ids(&f, 10, expected);
    text_close(&f);
}
END_TEST

START_TEST(what_is_not_served_behind_an_encoder_is_said)
{
    struct text_run f =
        encoded(ENCODED("WhisperBeamSearch", "model_type = 2, decoder_output_cross_qk = 1, ", INIT,
                        "ids, most, , beams, one, , , , , , start"),
                2);
    ck_assert_int_eq(text_run_once(&f), OX_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.message, "output cross_qk is not served"), "%s", f.err.message);
    text_close(&f);
    f = encoded(ENCODED("BeamSearch", "model_type = 1, ",
                        "e (int32[n, s] tokens) => (float[n, s] present_key_cross_0) { "
                        "present_key_cross_0 = Cast <to = 1> (tokens) }",
                        "ids, most, , beams, one"),
                2);
    ck_assert_int_eq(text_run_once(&f), OX_UNSUPPORTED);
    ck_assert_msg(strstr(f.err.message, "input 'tokens' of its encoder is none that is known"),
                  "%s", f.err.message);
    text_close(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ops_generate");
    TCase *tcase = tcase_create("generate");
    tcase_add_loop_test(tcase, the_best_token_follows, 0,
                        sizeof greedy_cases / sizeof *greedy_cases);
    tcase_add_test(tcase, pasts_and_places_are_carried);
    tcase_add_test(tcase, tokens_come_by_chance);
    tcase_add_test(tcase, no_batch_has_no_sequences);
    tcase_add_test(tcase, what_cannot_be_searched_is_refused);
    tcase_add_test(tcase, the_best_sums_go_on);
    tcase_add_test(tcase, a_batch_ends_early);
    tcase_add_test(tcase, a_decoder_goes_on_from_an_encoder);
    tcase_add_test(tcase, an_encoder_may_make_the_first_step);
    tcase_add_test(tcase, what_is_not_served_behind_an_encoder_is_said);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
