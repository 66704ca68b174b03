#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commas.h"
#include "run.h"

#define FIELD(name) offsetof(struct run_args, name)

static const struct opt options[] = {
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Inputs"},
    {'i', "input", OPT_STRINGS, FIELD(inputs), "[NAME=]FILE", NULL,
     "feed an input from an .npy, .npz, .pb, .json, .csv, .safetensors, image or raw file "
     "(FILE:DTYPE:DIMS); the name may be "
     "left out when only one is needed or the file names its tensors"},
    {0, "random", OPT_STRING, FIELD(random), "SEED", NULL,
     "draw the inputs that are not given: indices within range, masks 0 or 1"},
    {0, "shape", OPT_NAMED, FIELD(shapes), "NAME=DIMS", NULL,
     "shape of a drawn input, 1x3x224x224 (default: 1 where open)"},
    {0, "fill", OPT_STRINGS, FIELD(fills), "[NAME=]HOW", NULL,
     "numbers of a drawn input: LOW:HIGH (evenly between, integers with both), NUMBER, or count "
     "(0, 1, 2 ... along each row); without NAME of all that are floats"},
    {0, "test-data", OPT_STRINGS, FIELD(test_data), "DIR", NULL,
     "feed the files input_K.pb of a folder and compare with its output_K.pb; a folder of "
     "test_data_set_* folders "
     "stands for all of them"},
    {0, "test-sets", OPT_FLAG, FIELD(test_sets), NULL, NULL,
     "the same of the test_data_set_* folders beside each model, with a line a model"},
    {0, "rtol", OPT_DOUBLE, FIELD(rtol), "X", NULL,
     "relative tolerance of --test-data (default 1e-3)"},
    {0, "atol", OPT_DOUBLE, FIELD(atol), "X", NULL,
     "absolute tolerance of --test-data (default 1e-7)"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Images"},
    {0, "image", OPT_STRINGS, FIELD(images), "[NAME=]FILE", NULL,
     "feed a picture (PNG, JPEG, PNM, BMP, WebP, TIFF, JPEG 2000)"},
    {0, "resize", OPT_STRING, FIELD(resize), "N|HxW", NULL,
     "resize it first, antialiased; N is for the shorter side, the ratio is kept"},
    {0, "crop", OPT_STRING, FIELD(crop), "N|HxW", NULL, "then cut that out of the middle"},
    {0, "scale", OPT_STRING, FIELD(scale), "X", NULL,
     "then multiply the values, 0 to 255, by X (1/255)"},
    {0, "mean", OPT_STRING, FIELD(mean), "A,B,C", NULL, "then subtract, a channel or all"},
    {0, "std", OPT_STRING, FIELD(std), "A,B,C", NULL, "then divide"},
    {0, "layout", OPT_CHOICE, FIELD(layout), "LAYOUT", "nchw|nhwc", "order of the dimensions"},
    {0, "channels", OPT_CHOICE, FIELD(channels), "ORDER", "rgb|bgr|gray",
     "channels of the picture"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Outputs"},
    {'o', "output", OPT_STRING, FIELD(output), "FILE", NULL,
     "write the outputs: to an .npz, .json or .safetensors file by name; to an .npy, .csv, .bin or "
     ".pb "
     "file if there is one; or to a folder (DIR/) as output_K.pb in the graph's order"},
    {0, "save-test-data", OPT_STRING, FIELD(save_test_data), "DIR", NULL,
     "write inputs and outputs of this run as input_K.pb and output_K.pb, for --test-data"},
    {0, "outputs", OPT_STRINGS, FIELD(select), "NAME,...", NULL,
     "compute these values, intermediate ones too, and nothing that they do not need"},
    {0, "all", OPT_FLAG, FIELD(all), NULL, NULL, "every intermediate value is an output too"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", RUN_FORMATS,
     "form of what is printed; npz: the outputs alone, by name"},
    {0, "top", OPT_INT, FIELD(top), "K", NULL,
     "print the K largest elements of each row of the outputs"},
    {0, "labels", OPT_STRING, FIELD(labels), "FILE", NULL, "with --top: a line a class"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Engine"},
    {'O', "optimize", OPT_INT, FIELD(level), "LEVEL", NULL,
     "0: each node by its reference kernel; 1: constants folded, what is not needed left out; "
     "2 (default): fused operators and fast kernels, whose products by constant weights take "
     "what is below 2^-126 for zeros"},
    {0, "oracle", OPT_FLAG, FIELD(oracle), NULL, NULL, "compute everything in double precision"},
    {0, "simulate", OPT_CHOICE, FIELD(simulate), "WHAT", "nothing|avx2-saturating",
     "give what other processors give: sums of uint8 by int8 that saturate in pairs at 16 bits, "
     "as AVX2 without VNNI adds them (-O2)"},
    {0, "repeat", OPT_INT, FIELD(repeat), "N", NULL, "run N times and report the times"},
    {0, "duration", OPT_DOUBLE, FIELD(duration), "SECONDS", NULL,
     "run for that long and report the times"},
    {0, "concurrency", OPT_INT, FIELD(concurrency), "N", NULL,
     "with --repeat or --duration: N runs at a time, in processes that share the weights; -t is "
     "for "
     "each of them (default: their part of the cores)"},
    {0, "warmup", OPT_INT, FIELD(warmup), "N", NULL,
     "runs before that which do not count (default 1)"},
    {0, "baseline", OPT_STRING, FIELD(baseline), "FILE", NULL,
     "with --repeat or --duration: hold the median against that of an earlier run, whose -f json "
     "FILE is; exit "
     "status 1 when it is slower"},
    {0, "max-slower", OPT_DOUBLE, FIELD(max_slower), "PERCENT", NULL,
     "of --baseline: by how much the median may grow (default 5)"},
    {0, "trace-nonfinite", OPT_FLAG, FIELD(trace), NULL, NULL,
     "tell the first NaN, infinity and flood of denormals, and which values would not fit 16-bit "
     "floats and 8-bit integers"},
    {0, "profile", OPT_STRING, FIELD(profile), "FILE", NULL,
     "write what each node took (of --repeat runs its fastest): a Chrome trace (.json), a table "
     "(.txt) or folded stacks (.folded)"},
    OPT_END};

static void defaults(void *args_)
{
    struct run_args *args = args_;
    args->rtol = 1e-3;
    args->atol = 1e-7;
    args->level = 2;
    args->warmup = 1;
    args->concurrency = 1;
    args->max_slower = 5;
}

static enum ox_status open_session(struct run *run)
{
    struct ox_error err = {0};
    const double start = cli_seconds();
    enum ox_status status = cli_open_sorted(run->cli, &run->model, run->model_path, &err);
    if (status != OX_OK)
        return cli_error(run->cli, &err);
    struct ox_run_options chosen = {
        .level = (int)run->args->level,
        .oracle = run->args->oracle,
        .narrow = run_is_tested(run->args),
        .all_values = run->args->all,
        .profile = run->args->profile != NULL,
        .saturating = run->args->simulate != 0,
        .once = !run_is_timed(run->args) && run->sets.n < 2,
        .seed = run->args->random ? strtoull(run->args->random, NULL, 10) : 0,
        .on_missing = run_report_missing,
        .missing_arg = run};
    if (run->args->trace) {
        if (ox_trace_new(&run->trace, run->model, &err) != OX_OK)
            return cli_error(run->cli, &err);
        chosen.on_value = ox_trace_value;
        chosen.value_arg = run->trace;
    }
    const char **names = commas_split(&run->args->select, &chosen.n_outputs);
    if (!names)
        return cli_fail(run->cli, OX_NO_MEMORY, "out of memory");
    if (run->args->select.n && !chosen.n_outputs) {
        status = cli_fail(run->cli, OX_USAGE, "run: --outputs names no value");
    } else {
        chosen.outputs = names;
        status = ox_session_new(&run->session, run->model, &chosen, &err);
        if (status != OX_OK && !run->n_missing)
            cli_error(run->cli, &err);
    }
    free(names);
    if (status != OX_OK)
        return status;
    run->timing.load_ms = (cli_seconds() - start) * 1e3;
    run->n_inputs = ox_session_n_inputs(run->session);
    run->n_outputs = ox_session_n_outputs(run->session);
    run->inputs = calloc(run->n_inputs + 1, sizeof *run->inputs);
    run->outputs = calloc(run->n_outputs + 1, sizeof *run->outputs);
    if (!run->inputs || !run->outputs)
        return cli_fail(run->cli, OX_NO_MEMORY, "%s: out of memory", run->model_path);
    return OX_OK;
}

/* The first run, warm-up, and those that count, which come to those of the sets of test data before. */
static enum ox_status run_all(struct run *run)
{
    struct run_timing *timing = &run->timing;
    double ms;
    enum ox_status status = run_once(run, &ms);
    const char *warning = ox_session_warning(run->session);
    timing->first_ms = timing->first_ms > 0 ? timing->first_ms : ms;
    if (status == OX_OK && warning)
        cli_warn(run->cli, "%s: warning: %s; run as if its dimensions had no names",
                 run->model_path, warning);
    if (!run_is_timed(run->args))
        return status;
    for (int64_t i = 1; i < run->args->warmup && status == OX_OK; i++)
        status = run_once(run, &ms);
    return status == OX_OK ? run_load(run) : status;
}

static enum ox_status run_test_set(struct run *run, const char *dir)
{
    run_release_data(run->inputs, run->n_inputs);
    enum ox_status status = run_read_inputs(run);
    if (status == OX_OK)
        status = run_read_test_inputs(run, dir);
    if (status == OX_OK)
        status = run_require_inputs(run);
    if (status == OX_OK)
        status = run_all(run);
    if (status != OX_OK)
        return status;
    /* Of values that were chosen nobody knows the place among the files. */
    if (!run->args->select.n)
        status = run_compare(run, dir);
    return cli_worse(status, run_write_outputs(run));
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static unsigned threads_of_each(const struct cli *cli, const struct run_args *args)
{
    const unsigned cores = ox_env_threads(cli->env), n = (unsigned)args->concurrency;
    return cli->common.threads ? cores : cores > n ? cores / n : 1;
}

static enum ox_status run_model(struct cli *cli, void *args_, const char *path)
{
    const struct run_args *args = args_;
    struct run run = {.cli = cli, .args = args, .model_path = path};
    run.load_threads = threads_of_each(cli, args);
    if (args->concurrency > 1) /* processes that share what is loaded have none of its threads */
        ox_env_set_threads(cli->env, 1);
    enum ox_status status = run_read_baseline(&run);
    enum ox_status listed = OX_OK;
    for (size_t i = 0; i < args->test_data.n && status == OX_OK; i++)
        listed = cli_worse(listed, test_sets_add(cli, &run.sets, args->test_data.items[i]));
    if (args->test_sets && status == OX_OK)
        listed = cli_worse(listed, test_sets_add_beside(cli, &run.sets, path));
    if (status == OX_OK)
        status = open_session(&run);
    if (status == OX_OK && run_is_tested(args)) {
        for (size_t i = 0; i < run.sets.n; i++)
            status = cli_worse(status, run_test_set(&run, run.sets.dirs[i]));
        status = cli_worse(status, listed);
    } else if (status == OX_OK) {
        status = run_read_inputs(&run);
        if (status == OX_OK)
            status = run_draw_inputs(&run);
        if (status == OX_OK)
            status = run_require_inputs(&run);
        if (status == OX_OK)
            status = run_all(&run);
        if (status == OX_INPUT)
            run_tell_guessed(&run);
        if (status == OX_OK)
            status = run_write_outputs(&run);
        if (status == OX_OK)
            status = run_save_test_data(&run);
    }
    if (run.session && (status == OX_OK || status == OX_NEGATIVE))
        status = cli_worse(status, run_print(&run));
    if (run.session && args->profile && (status == OX_OK || status == OX_NEGATIVE))
        status = cli_worse(status, run_write_profile(&run));
    run_release_data(run.inputs, run.n_inputs);
    run_release_data(run.outputs, run.n_outputs);
    free(run.fastest);
    free(run.inputs);
    free(run.outputs);
    free(run.timing.ms);
    run_release_verdicts(&run);
    test_sets_release(&run.sets);
    ox_session_release(run.session);
    ox_trace_release(run.trace);
    ox_model_release(run.model);
    return status;
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct run_args *args = args_;
    if (args->level < 0 || args->level > 2)
        return cli_fail(cli, OX_USAGE, "run: there is no level -O%lld; levels are 0, 1 and 2",
                        (long long)args->level);
    if (args->simulate && (args->level < 2 || args->oracle || args->all || args->trace))
        return cli_fail(cli, OX_USAGE,
                        "run: --simulate is of -O2, and does not go with --oracle, --all and "
                        "--trace-nonfinite");
    if (args->repeat < 0 || args->repeat > 100000000 || args->warmup < 0)
        return cli_fail(cli, OX_USAGE,
                        "run: --repeat takes a number from 0 to 100000000, --warmup one from 0");
    if (!(args->duration >= 0) || (args->duration > 0 && args->repeat))
        return cli_fail(cli, OX_USAGE,
                        "run: --duration takes a number of seconds over 0, and no --repeat");
    enum { MOST_STREAMS = 1024 };
    if (args->concurrency < 1 || args->concurrency > MOST_STREAMS ||
        (args->concurrency > 1 && (!run_is_timed(args) || args->profile || args->trace)))
        return cli_fail(cli, OX_USAGE,
                        "run: --concurrency takes a number from 1 to %d, goes with --repeat or "
                        "--duration and excludes --profile and --trace-nonfinite",
                        MOST_STREAMS);
    if (args->concurrency > 1 && cli->common.op_libraries.n && !cli->common.op_inside)
        return cli_fail(cli, OX_USAGE,
                        "run: --concurrency runs kernels of --op-library with --op-inside only");
    if (!(args->max_slower >= 0) ||
        (args->baseline && args->repeat < RUN_ENOUGH && !(args->duration > 0)))
        return cli_fail(cli, OX_USAGE,
                        "run: --baseline goes with --duration or a --repeat of %d or more, and "
                        "--max-slower "
                        "takes a number of percent from 0",
                        RUN_ENOUGH);
    if (args->top < 0 || (args->labels && !args->top))
        return cli_fail(cli, OX_USAGE,
                        "run: --top takes a number over 0, and --labels goes with it");
    if (args->profile && !run_profile_form(args->profile))
        return cli_fail(cli, OX_USAGE, "%s: --profile takes a .json, .txt or .folded file",
                        args->profile);
    if (args->output && run_judge_output(cli, args->output) != OX_OK)
        return OX_USAGE;
    if (args->format == RUN_NPZ &&
        (args->output || run_is_tested(args) || args->top || run_is_timed(args) || args->trace))
        return cli_fail(cli, OX_USAGE,
                        "run: -f npz prints the outputs and nothing else; it excludes --output, "
                        "--test-data, --top, --repeat, --duration and --trace-nonfinite");
    if (!(args->rtol >= 0) || !(args->atol >= 0))
        return cli_fail(cli, OX_USAGE, "run: tolerances are not negative");
    if (args->save_test_data && (run_is_tested(args) || args->select.n || args->all))
        return cli_fail(cli, OX_USAGE,
                        "run: --save-test-data saves the graph's own outputs; it excludes "
                        "--test-data, --outputs and --all");
    if (args->test_sets && args->select.n)
        return cli_fail(cli, OX_USAGE, "run: --test-sets and --outputs exclude each other");
    const struct common *common = &cli->common;
    const bool many = n_operands != 1 || common->files_from || common->shard || common->log ||
                      common->resume || is_folder(operands[0]);
    if (many && (args->output || args->save_test_data || args->profile || args->baseline ||
                 args->format == RUN_NPZ))
        return cli_fail(cli, OX_USAGE,
                        "run: --output, --save-test-data, --profile, --baseline and -f npz are of "
                        "one model");
    cli_give_back_large();
    if (many)
        return cli_each_model(cli, args_, operands, n_operands, run_model);
    enum ox_status status = cli_one_model(cli, operands, n_operands);
    return status == OX_OK ? run_model(cli, args_, operands[0]) : status;
}

const struct command command_run = {
    .name = "run",
    .summary = "Run a model on given inputs",
    .operands = "MODEL|FOLDER...",
    .several = true,
    .description =
        "Computes a model's outputs. Every operator that is not available is reported "
        "by name before anything runs.\n\n"
        "In files of arrays a tensor is the array NAME; a sequence NAME[0], NAME[1] and so "
        "on, or NAME[] without elements; a map NAME.keys and NAME.values; an optional "
        "NAME.some, or NAME.none without elements.\n\n"
        "With --test-data the outputs are held against expected ones: exit status 1 "
        "when one departs, 3 when there are none and nothing else is asked of the run; -f json has "
        "the verdicts as test_data. With --outputs too the folder only feeds. --test-sets does it "
        "for "
        "models that lie beside their test data, as those of ONNX do: with a folder of many, -j "
        "and --timeout it is what onnx_test_runner is for.\n\n"
        "Of several models each is run by a process of its own. A folder stands for what lies "
        "beneath it and is called .onnx, .onnxtxt, .onnxtext or .onnxjson.\n\n"
        "With --baseline an earlier run's times are a gate: exit status 1 when the median of "
        "--repeat runs is over --max-slower percent above the earlier one and the spread of both "
        "does not explain it (the interval of their ratio, with 95 %, is above 1). What a machine "
        "does to all runs of a process is in no spread: compare on one that is quiet, and by the "
        "same -t.",
    .examples = "  onnxtool run model.onnx -i x=x.pb -o out/\n"
                "  onnxtool run model.onnx --test-data test_data_set_0\n"
                "  onnxtool run --test-sets -j 8 --timeout 60 --log done.jsonl "
                "onnx/backend/test/data/node\n"
                "  onnxtool run model.onnx --random 1 --shape x=8x3x224x224 --repeat 100 -f json\n"
                "  onnxtool run model.onnx --random 1 --repeat 100 -t 1 --baseline old.json "
                "--max-slower 5\n"
                "  onnxtool run classifier.onnx --image cat.jpg --resize 256 --crop 224 --scale "
                "1/255 --top 5\n",
    .options = options,
    .args_bytes = sizeof(struct run_args),
    .defaults = defaults,
    .run = run,
};
