/* The parts of `run`. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli.h"
#include "render_trace.h"
#include "test_sets.h"

struct run_args {
    struct opt_strings inputs; /* [NAME=]FILE[:DTYPE:DIMS] */
    struct opt_strings test_data;
    bool test_sets;            /* those beside the model */
    const char *random;        /* seed; NULL: not asked */
    struct opt_strings shapes; /* NAME=1x3x224x224, for --random */
    struct opt_strings fills;  /* [NAME=]LOW:HIGH|NUMBER|count, for --random */
    struct opt_strings images; /* [NAME=]FILE */
    const char *resize, *crop, *mean, *std, *scale;
    int layout, channels;
    const char *output;         /* FILE.npz, DIR/ */
    const char *save_test_data; /* DIR */
    struct opt_strings select;  /* --outputs NAME,... */
    bool all;
    int format; /* enum run_format */
    int64_t level;
    bool oracle;
    double rtol, atol;
    int64_t repeat, warmup;
    double duration; /* seconds, in place of repeat; 0 */
    int64_t concurrency;
    const char *baseline; /* what -f json printed of an earlier run; NULL */
    double max_slower;    /* in percent of its median */
    int64_t top;
    const char *labels;
    const char *profile;
    int simulate; /* 1: sums of uint8 by int8 that saturate */
    bool trace;
};

enum run_layout { RUN_NCHW, RUN_NHWC };
enum run_channels { RUN_RGB, RUN_BGR, RUN_GRAY };

enum run_format { RUN_TEXT, RUN_JSON, RUN_NPZ };
#define RUN_FORMATS "text|json|npz"

/* Fewer runs say nothing about where the median lies: the least and the largest of 6 are its bounds with 97 %, of 5 with 94. */
enum { RUN_ENOUGH = 6 };

struct run_timing {
    double load_ms, first_ms;
    double *ms; /* n of them, in the order of the runs */
    size_t n, room;
    double wall_ms; /* of all that are in ms */
};

/* The times of an earlier run: the median, what it lies between with 95 %, threads (NaN where not told). */
struct run_baseline {
    double median, low, high, threads;
};

/* An output held against a file of --test-data. */
struct run_verdict {
    char *folder, *file; /* file: its name within the folder */
    size_t output;
    struct ox_comparison result;
};

/* One model being run. */
struct run {
    struct cli *cli;
    const struct run_args *args;
    const char *model_path;
    struct ox_model *model;
    struct ox_session *session;
    struct test_sets sets; /* --test-data */
    size_t n_inputs, n_outputs;
    size_t n_missing; /* operators reported as not available */
    uint64_t sample;  /* added to the seed of --random */
    size_t guessed;   /* 1 + an input that was drawn with 1 for an open dimension; 0: none was */
    struct ox_datum **inputs;     /* by session input; NULL: not given */
    struct ox_datum **outputs;    /* by session output */
    struct run_verdict *verdicts; /* n_verdicts of them, in the order of the sets */
    size_t n_verdicts;
    struct run_timing timing;
    unsigned load_threads;         /* of each of several runs at a time */
    struct run_baseline baseline;  /* --baseline */
    struct ox_trace *trace;        /* --trace-nonfinite; NULL */
    struct ox_node_event *fastest; /* --profile: each node's fastest of the repeated runs; NULL */
    size_t n_fastest;
};

/* ---- run_load.c ---- */

/* Whether runs are timed. */
static inline bool run_is_timed(const struct run_args *args)
{
    return args->repeat > 0 || args->duration > 0;
}

/* Fills run->outputs. Has reported errors. */
enum ox_status run_once(struct run *run, double *ms);
/* The runs that --repeat or --duration ask for, whose times come to run->timing; of --concurrency in processes that share what is
 * loaded. After a first run. */
enum ox_status run_load(struct run *run);

/* ---- run_inputs.c ---- */

/* Whether outputs are held against files of test data. */
static inline bool run_is_tested(const struct run_args *args)
{
    return args->test_data.n > 0 || args->test_sets;
}

/* For ox_run_options.on_missing; arg is the struct run. */
void run_report_missing(void *arg, const struct ox_missing_op *op);

/* Fills run->inputs, all NULL, from --input and --image. */
enum ox_status run_read_inputs(struct run *run);
/* Fills what is missing of run->inputs from the files input_K.pb of a folder. */
enum ox_status run_read_test_inputs(struct run *run, const char *dir);
/* Draws what is still missing, if --random asks for it. */
enum ox_status run_draw_inputs(struct run *run);
/* After OX_INPUT: says so where a drawn input's size may be why. */
void run_tell_guessed(const struct run *run);
/* OX_USAGE naming the required inputs that nothing gives. */
enum ox_status run_require_inputs(struct run *run);
void run_release_data(struct ox_datum **data, size_t n);

/* ---- run_profile.c ---- */

/* Takes in what the nodes took in the last run. */
enum ox_status run_note_events(struct run *run);
/* Whether the file's name says a form that run_write_profile() has. */
bool run_profile_form(const char *path);
/* Writes --profile: a Chrome trace (.json), a table (.txt) or folded stacks (.folded). */
enum ox_status run_write_profile(struct run *run);

/* ---- run_timing.c ---- */

/* Reads --baseline, if it is given. */
enum ox_status run_read_baseline(struct run *run);
/* The members "timing" and "baseline" of JSON, or lines. */
void run_timing_json(struct run *run, struct ox_json *json);
void run_timing_text(struct run *run, struct ox_strbuf *out);
/* OX_NEGATIVE, with a message, where the runs were slower than --baseline allows. */
enum ox_status run_judge_times(struct run *run);

/* ---- run_top.c ---- */

/* The --top largest elements of each row of the outputs, with --labels. */
enum ox_status run_print_top(struct run *run);

/* ---- run_compare.c ---- */

/* Holds run->outputs against the files output_K.pb of a folder, and notes the verdicts: OX_NEGATIVE when one departs. */
enum ox_status run_compare(struct run *run, const char *dir);
/* The member "test_data" of JSON, where outputs were compared: an object a folder. */
void run_verdicts_json(const struct run *run, char *const *names, struct ox_json *json);
/* A line: whether the outputs of all sets agree. */
void run_verdicts_text(const struct run *run, struct ox_strbuf *out);
void run_release_verdicts(struct run *run);

/* ---- run_outputs.c ---- */

/* Writes --save-test-data: input_K.pb and output_K.pb, as --test-data reads them. */
enum ox_status run_save_test_data(struct run *run);
/* OX_USAGE, with a message, where --output names nothing that outputs are written to. */
enum ox_status run_judge_output(struct cli *cli, const char *path);
/* Writes --output. */
enum ox_status run_write_outputs(struct run *run);
/* Values, timing and memory in the chosen form, to cli->out. */
enum ox_status run_print(struct run *run);

#endif
