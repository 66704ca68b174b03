/* The suite's models with bytes changed: opening, planning and running them must end with a status, within memory and time, and give back
 * all memory. OX_DAMAGE_ROUNDS sets how often each is damaged (1), OX_DAMAGE_SEED where the sequence begins. */
#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/env.h"
#include "tests/read_suite.h"
#include "tests/run_suite.h"

enum { MOST_VALUES = 64, PART = 32 };

static struct suite suite;

static uint64_t next(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    uint64_t x = (*state ^ *state >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* One to three bytes become another, a small number, an extreme one, or lose a bit. */
static void damage(uint8_t *bytes, size_t n, uint64_t *state)
{
    static const uint8_t extremes[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 0x7F, 0x80, 0xFF};
    for (uint64_t left = 1 + next(state) % 3; left > 0; left--) {
        uint8_t *at = &bytes[next(state) % n];
        switch (next(state) % 3) {
        case 0:
            *at ^= (uint8_t)(1u << next(state) % 8);
            break;
        case 1:
            *at = extremes[next(state) % sizeof extremes];
            break;
        default:
            *at = (uint8_t)next(state);
        }
    }
}

/* Changes a dimension or an element of an input now and then. */
static void run_damaged(const struct suite_case *c, struct ox_session *session)
{
    struct ox_datum *in[MOST_VALUES] = {0};
    struct ox_error err;
    const uint8_t *at = c->sets;
    suite_values(c, &at, in, MOST_VALUES);
    if (ox_session_n_inputs(session) > MOST_VALUES)
        return;
    struct ox_datum **out = calloc(ox_session_n_outputs(session) + 1, sizeof(struct ox_datum *));
    ck_assert_ptr_nonnull(out);
    if (ox_session_run(session, in, out, &err) == OX_OK)
        for (size_t i = 0; i < ox_session_n_outputs(session); i++)
            ox_datum_release(out[i]);
    free(out);
    for (size_t i = 0; i < MOST_VALUES; i++)
        ox_datum_release(in[i]);
}

static void survive(const struct suite_case *c, uint64_t *state)
{
    struct ox_error err;
    struct ox_env *env = ox_env_new();
    uint8_t *bytes = malloc(c->model_bytes + 1);
    ck_assert(env && bytes);
    memcpy(bytes, c->model, c->model_bytes);
    damage(bytes, c->model_bytes, state);
    ox_env_limits(env)->memory_bytes = 64 << 20;
    ox_env_limits(env)->loop_trips = 1000;
    struct ox_model *model = NULL;
    struct ox_session *session = NULL;
    if (ox_model_open_memory(&model, env, bytes, c->model_bytes, NULL, &err) == OX_OK &&
        ox_session_new(&session, model, NULL, &err) == OX_OK)
        run_damaged(c, session);
    ox_session_release(session);
    ox_model_release(model);
    free(bytes);
    ck_assert_msg(ox_env_budget(env)->used == 0, "%s keeps memory", c->name);
    ox_env_release(env);
}

static uint64_t number(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

START_TEST(damaged_models_are_survived)
{
    uint64_t rounds = number("OX_DAMAGE_ROUNDS", 1), seed = number("OX_DAMAGE_SEED", 1);
    for (size_t i = (size_t)_i * PART; i < suite.n && i < ((size_t)_i + 1) * PART; i++) {
        for (uint64_t round = 0; round < rounds; round++) {
            uint64_t state = (seed + round) * 0x2545F4914F6CDD1Du + i;
            if (getenv("OX_DAMAGE_VERBOSE"))
                fprintf(stderr, "%zu %s %llu\n", i, suite.cases[i].name,
                        (unsigned long long)(seed + round));
            survive(&suite.cases[i], &state);
        }
    }
}
END_TEST

int main(void)
{
    const char *testdata = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/suite/*.gz", testdata);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            suite_add(&suite, found.gl_pathv[i]);
    globfree(&found);
    Suite *s = suite_create("suite_damaged");
    TCase *tcase = tcase_create("damaged");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, damaged_models_are_survived, 0, (int)((suite.n + PART - 1) / PART));
    suite_add_tcase(s, tcase);
    int code = run_suite(s);
    suite_release(&suite);
    return code;
}
