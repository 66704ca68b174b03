/* Damaged models through all that check, shape-infer, dump and run do: each must end with a status that a file can be the cause
 * of, in time and within its memory, and give back all of it. In processes of their own, a batch each, so that what ends one
 * is told by the number of its mutant.
 *
 * OX_FUZZ_COUNT: how many (2000); OX_FUZZ_SEED: which (1); OX_FUZZ_ONLY: the mutant "damaged:17" alone, in this process, for a debugger;
 * OX_FUZZ_KEEP: a folder for those that fail. */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/damage.h"
#include "tests/run_suite.h"

enum {
    BATCH = 256,
    SMALL = 16 << 10, /* bytes of a model that is taken */
    TIMEOUT_SECONDS = 5,
    HANG_SECONDS = 25,
    MOST_FAULTS = 20,
    N_TRUNCATED = 20,
    MEMORY = 64 << 20
};

static struct suite suite;
static size_t *small; /* cases with small models, n_small of them */
static size_t n_small;

/* What a batch tells the process that waits for it. */
struct progress {
    _Atomic uint64_t at; /* the mutant at hand */
    char why[512];       /* of its failure, if it could say */
    uint64_t reached[DAMAGE_STAGES];
};

static const char *const stage_names[] = {"opened", "planned", "run"};

static struct progress *progress;
static struct ox_env *env; /* of the mutant at hand, for the alarm */

static uint64_t number(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

/* ---- Mutants ---------------------------------------------------------------------------------------------------- */

struct mutant {
    const struct suite_case *from;
    uint8_t *bytes;
    size_t n;
    uint64_t choice;
};

/* A model as it is, or in one of its other three forms; the caller frees it. */
static uint8_t *in_some_form(const struct suite_case *from, uint64_t form, size_t *n)
{
    struct ox_strbuf out;
    struct ox_env *own = ox_env_new();
    struct ox_model *model = NULL;
    ox_strbuf_init(&out);
    if (form < 3 && own &&
        ox_model_open_memory(&model, own, from->model, from->model_bytes, NULL, NULL) == OX_OK) {
        struct ox_model_print_options how = {.format = (enum ox_format)(OX_FORMAT_TEXT + form)};
        if (ox_model_print(&out, model, &how, NULL) != OX_OK || out.len > 4 * SMALL)
            ox_strbuf_clear(&out);
    }
    ox_model_release(model);
    ox_env_release(own);
    bool printed = !out.failed && out.len > 0;
    *n = printed ? out.len : from->model_bytes;
    uint8_t *bytes = malloc(*n + DAMAGE_GROWTH);
    if (bytes)
        memcpy(bytes, printed ? (const void *)out.data : from->model, *n);
    ox_strbuf_release(&out);
    return bytes;
}

static struct mutant make_damaged(uint64_t i)
{
    uint64_t state = number("OX_FUZZ_SEED", 1) * 0x2545F4914F6CDD1Du + i;
    struct mutant m = {.from = &suite.cases[small[i % n_small]]};
    m.bytes = in_some_form(m.from, damage_next(&state) % 8, &m.n);
    m.choice = damage_next(&state);
    if (m.bytes)
        m.n = damage_bytes(m.bytes, m.n, &state);
    return m;
}

/* Mutant i of all prefixes of some models, one after another. */
static struct mutant make_truncated(uint64_t i)
{
    struct mutant m = {.choice = i};
    for (size_t k = 0; k < N_TRUNCATED; k++) {
        m.from = &suite.cases[small[k * n_small / N_TRUNCATED]];
        m.n = i;
        if (i < m.from->model_bytes)
            break;
        i -= m.from->model_bytes;
    }
    m.bytes = malloc(m.n + 1);
    if (m.bytes)
        memcpy(m.bytes, m.from->model, m.n);
    return m;
}

static uint64_t n_truncated(void)
{
    uint64_t n = 0;
    for (size_t k = 0; k < N_TRUNCATED; k++)
        n += suite.cases[small[k * n_small / N_TRUNCATED]].model_bytes;
    return n;
}

enum kind { DAMAGED, TRUNCATED };

static const char *const kind_names[] = {"damaged", "truncated"};

static struct mutant make(enum kind kind, uint64_t i)
{
    return kind == DAMAGED ? make_damaged(i) : make_truncated(i);
}

static void keep(const struct mutant *m, enum kind kind, uint64_t i)
{
    const char *folder = getenv("OX_FUZZ_KEEP");
    char path[4096];
    if (!folder)
        return;
    snprintf(path, sizeof path, "%s/%s-%llu.onnx", folder, kind_names[kind], (unsigned long long)i);
    FILE *file = fopen(path, "wb");
    if (file) {
        fwrite(m->bytes, 1, m->n, file);
        fclose(file);
    }
}

/* ---- A process with a batch ------------------------------------------------------------------------------------- */

/* What --timeout does. */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    if (env)
        ox_env_cancel(env);
}

/* On a copy of exactly that size, so that a byte read past it is seen by the sanitizer. */
static bool survive(const struct mutant *m)
{
    struct damage_context c = {.from = m->from, .choice = m->choice};
    struct itimerval limit = {.it_value.tv_sec = TIMEOUT_SECONDS}, none = {{0, 0}, {0, 0}};
    uint8_t *exact = malloc(m->n ? m->n : 1);
    c.env = ox_env_new();
    if (!c.env || !exact)
        return false;
    memcpy(exact, m->bytes, m->n);
    ox_env_limits(c.env)->memory_bytes = MEMORY;
    ox_env_set_threads(c.env, 1);
    env = c.env;
    setitimer(ITIMER_REAL, &limit, NULL);
    bool good = damage_survive(&c, exact, m->n);
    setitimer(ITIMER_REAL, &none, NULL);
    env = NULL;
    free(exact);
    if (good && ox_env_budget(c.env)->used) {
        good = false;
        snprintf(c.why, sizeof c.why, "%llu bytes are kept",
                 (unsigned long long)ox_env_budget(c.env)->used);
    }
    ox_env_release(c.env);
    for (int i = 0; i < DAMAGE_STAGES; i++)
        progress->reached[i] += c.reached[i];
    if (!good)
        memcpy(progress->why, c.why, sizeof c.why);
    return good;
}

static bool try_mutant(enum kind kind, uint64_t i)
{
    struct mutant m = make(kind, i);
    bool good = m.bytes && survive(&m);
    free(m.bytes);
    return good;
}

static _Noreturn void batch_process(enum kind kind, uint64_t first, uint64_t n)
{
    for (uint64_t i = first; i < first + n; i++) {
        progress->at = i;
        if (!try_mutant(kind, i))
            _exit(1);
    }
    progress->at = first + n;
    exit(0); /* not _exit(): leaks are looked for on the way out */
}

/* ---- The process that waits ------------------------------------------------------------------------------------- */

/* How the child ended; kills it when a mutant takes too long. */
static int wait_for(pid_t child)
{
    struct timespec pause = {.tv_nsec = 5000000};
    uint64_t at = progress->at;
    time_t since = time(NULL);
    int status;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            return status;
        ck_assert_msg(ended == 0 || errno == EINTR, "waitpid fails");
        if (progress->at != at) {
            at = progress->at;
            since = time(NULL);
        } else if (time(NULL) - since > HANG_SECONDS) {
            snprintf(progress->why, sizeof progress->why, "it takes over %d s", HANG_SECONDS);
            kill(child, SIGKILL);
        }
        nanosleep(&pause, NULL);
    }
}

static bool batch_ends_well(enum kind kind, uint64_t first, uint64_t n, int *status)
{
    progress->why[0] = '\0';
    progress->at = first;
    pid_t child = fork();
    ck_assert_msg(child >= 0, "fork fails");
    if (child == 0)
        batch_process(kind, first, n);
    *status = wait_for(child);
    return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

static void tell(enum kind kind, uint64_t i, int status)
{
    char how[64];
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "signal %d", WTERMSIG(status));
    else
        snprintf(how, sizeof how, "exit %d", WEXITSTATUS(status));
    struct mutant m = make(kind, i);
    fprintf(stderr, "%s mutant %llu of %s: %s %s\n", kind_names[kind], (unsigned long long)i,
            m.from->name, how, progress->why);
    keep(&m, kind, i);
    free(m.bytes);
}

/* Those that fail are told on standard error; their number. */
static unsigned campaign(enum kind kind, uint64_t n)
{
    unsigned n_faults = 0;
    int status;
    for (uint64_t first = 0; first < n && n_faults < MOST_FAULTS;) {
        uint64_t end = n - first < BATCH ? n : first + BATCH;
        if (batch_ends_well(kind, first, end - first, &status)) {
            first = end;
            continue;
        }
        uint64_t at = progress->at;
        if (at < end) {
            tell(kind, at, status);
            n_faults++;
            first = at + 1;
            continue;
        }
        /* It came to its end and leaks: each by itself. */
        unsigned before = n_faults;
        for (uint64_t i = first; i < end && n_faults < MOST_FAULTS; i++) {
            if (batch_ends_well(kind, i, 1, &status))
                continue;
            tell(kind, i, status);
            n_faults++;
        }
        ck_assert_msg(n_faults > before, "mutants %llu to %llu fail together alone",
                      (unsigned long long)first, (unsigned long long)end);
        first = end;
    }
    return n_faults;
}

/* "damaged:17": that one, in this process. */
static bool only_one(enum kind kind)
{
    const char *only = getenv("OX_FUZZ_ONLY");
    size_t n = strlen(kind_names[kind]);
    if (only && strncmp(only, kind_names[kind], n) == 0 && only[n] == ':')
        ck_assert_msg(try_mutant(kind, strtoull(only + n + 1, NULL, 10)), "%s", progress->why);
    return only;
}

static void fuzz(enum kind kind, uint64_t n)
{
    if (only_one(kind))
        return;
    ck_assert_uint_eq(campaign(kind, n), 0);
    if (!getenv("OX_FUZZ_COUNT"))
        return;
    fprintf(stderr, "%llu %s models:", (unsigned long long)n, kind_names[kind]);
    for (int i = 0; i < DAMAGE_STAGES; i++)
        fprintf(stderr, " %llu %s%s", (unsigned long long)progress->reached[i], stage_names[i],
                i + 1 < DAMAGE_STAGES ? "," : "\n");
    memset((void *)(uintptr_t)progress->reached, 0, sizeof progress->reached);
}

START_TEST(damaged_models_are_survived)
{
    fuzz(DAMAGED, number("OX_FUZZ_COUNT", 2000));
}
END_TEST

START_TEST(prefixes_of_models_are_survived)
{
    /* All of them where much is asked for, else some thousands. */
    uint64_t n = n_truncated(), most = 2 * number("OX_FUZZ_COUNT", 2000);
    fuzz(TRUNCATED, n < most ? n : most);
}
END_TEST

static void read_packs(void)
{
    const char *testdata = getenv("TESTDATA") ? getenv("TESTDATA") : "testdata";
    char pattern[4096];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/suite/*.gz", testdata);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            suite_add(&suite, found.gl_pathv[i]);
    globfree(&found);
    small = calloc(suite.n + 1, sizeof *small);
    for (size_t i = 0; small && i < suite.n; i++)
        if (suite.cases[i].model_bytes <= SMALL)
            small[n_small++] = i;
}

int main(void)
{
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    read_packs();
    if (progress == MAP_FAILED || n_small == 0) {
        fputs("there is no suite to damage\n", stderr);
        return EXIT_FAILURE;
    }
    signal(SIGALRM, on_alarm);
    /* Batches have processes of their own, and Check cannot tell the time of a test that takes half an hour. */
    setenv("CK_FORK", "no", 1);
    Suite *s = suite_create("fuzz");
    TCase *tcase = tcase_create("damaged");
    tcase_set_timeout(tcase, 0);
    tcase_add_test(tcase, damaged_models_are_survived);
    tcase_add_test(tcase, prefixes_of_models_are_survived);
    suite_add_tcase(s, tcase);
    int code = run_suite(s);
    free(small);
    suite_release(&suite);
    return code;
}
