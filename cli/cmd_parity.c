#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "parity.h"

#define FIELD(name) offsetof(struct parity_args, name)

static const struct opt options[] = {
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "What A is held against"},
    {0, "expected", OPT_STRING, FIELD(expected), "FILE|DIR", NULL,
     "outputs by name in an .npz, .npy, .json or .safetensors file, or a folder of output_K.pb"},
    {'O', "optimize", OPT_STRINGS, FIELD(levels), "LEVEL", NULL,
     "level of A and, given again, of B: -O0 -O2 holds one model's levels against each other "
     "(default 2; 0 with --layers and --bisect of two sides, unless --simulate is given)"},
    {0, "cpu", OPT_STRINGS, FIELD(cpus), "LEVEL", NULL,
     "A as the processor's kernels of that level compute it (" CLI_CPU_WORDS "; an error where it "
     "has less); given again: B"},
    {0, "simulate", OPT_CHOICE, FIELD(run.simulate), "WHAT", "nothing|avx2-saturating",
     "our sides as onnxruntime computes on processors without VNNI: sums of uint8 by int8 that "
     "saturate in pairs at 16 bits, for every operator but ConvInteger (-O2)"},
    {0, "against-seed", OPT_STRING, FIELD(other_seed), "SEED", NULL,
     "A itself on other inputs, drawn from that seed: an output that agrees does not depend on "
     "what is drawn"},
    {0, "engine", OPT_STRINGS, FIELD(engines), "NAME", NULL,
     "run by the program onnxtool-engine-NAME: with one model it is the reference; with two it "
     "runs both, or given twice each runs one"},
    {0, "engine-options", OPT_STRING, FIELD(engine_options), "JSON", NULL, "handed to engines"},
    {0, "engine-timeout", OPT_DOUBLE, FIELD(engine_timeout), "SECONDS", NULL,
     "time allowed to one run of an engine (default 600)"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Inputs"},
    {'i', "input", OPT_STRINGS, FIELD(run.inputs), "[NAME=]FILE", NULL,
     "feed an input, as run does; in an array with one more dimension than the input the first "
     "one counts samples"},
    {0, "random", OPT_STRING, FIELD(run.random), "SEED", NULL,
     "draw the inputs that are not given: sample k from SEED + k"},
    {0, "shape", OPT_NAMED, FIELD(run.shapes), "NAME=DIMS", NULL,
     "shape of a drawn input, 1x3x224x224 (default: 1 where open)"},
    {0, "fill", OPT_STRINGS, FIELD(run.fills), "[NAME=]HOW", NULL,
     "numbers of a drawn input: LOW:HIGH (evenly between, integers with both), NUMBER, or count "
     "(0, 1, 2 ... along each row); without NAME of all that are floats"},
    {0, "test-data", OPT_STRINGS, FIELD(run.test_data), "DIR", NULL,
     "a sample from the files input_K.pb of a folder, or of each test_data_set_* in it; its "
     "output_K.pb are expected when nothing else is"},
    {0, "samples", OPT_INT, FIELD(samples), "N", NULL,
     "samples to draw, or to take of those given"},
    {0, "image", OPT_STRINGS, FIELD(run.images), "[NAME=]FILE", NULL,
     "feed a picture (PNG, JPEG, PNM, BMP, WebP, TIFF, JPEG 2000)"},
    {0, "resize", OPT_STRING, FIELD(run.resize), "N|HxW", NULL, "as run does"},
    {0, "crop", OPT_STRING, FIELD(run.crop), "N|HxW", NULL, "as run does"},
    {0, "scale", OPT_STRING, FIELD(run.scale), "X", NULL, "as run does"},
    {0, "mean", OPT_STRING, FIELD(run.mean), "A,B,C", NULL, "as run does"},
    {0, "std", OPT_STRING, FIELD(run.std), "A,B,C", NULL, "as run does"},
    {0, "layout", OPT_CHOICE, FIELD(run.layout), "LAYOUT", "nchw|nhwc", "order of the dimensions"},
    {0, "channels", OPT_CHOICE, FIELD(run.channels), "ORDER", "rgb|bgr|gray",
     "channels of the picture"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Verdict"},
    {0, "rtol", OPT_DOUBLE, FIELD(rtol), "X", NULL, "relative tolerance (default 1e-3)"},
    {0, "atol", OPT_DOUBLE, FIELD(atol), "X", NULL, "absolute tolerance (default 1e-5)"},
    {0, "tol", OPT_NAMED, FIELD(tolerances), "NAME=RTOL,ATOL", NULL, "of one output"},
    {0, "agreement", OPT_CHOICE, FIELD(agreement), "RULE",
     "allclose|elementwise|max|mean|median|quantile",
     "allclose: |a - b| <= atol + rtol |b|; the others are Polygraphy's: an output departs when "
     "both tolerances are passed, by an element, by the largest differences, by the means, the "
     "medians, the --error-quantile of them"},
    {0, "error-quantile", OPT_DOUBLE, FIELD(quantile), "SHARE", NULL,
     "of --agreement quantile (default 0.99)"},
    {0, "pair", OPT_NAMED, FIELD(pairs), "A=B", NULL,
     "hold A's output of that name against the one that the other side calls B"},
    {0, "equal-nan", OPT_FLAG, FIELD(nan_agrees), NULL, NULL, "NaN agrees with NaN"},
    {0, "require", OPT_STRINGS, FIELD(require), "METRIC>=X,...", NULL,
     "bounds on metrics, cosine>=0.999,sqnr>=30,max_abs<=0.1; they replace the tolerances unless "
     "those are given too"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Looking closer"},
    {0, "metric", OPT_FLAG, FIELD(metric), NULL, NULL,
     "every metric of every output, ULPs, top-1, top-5 and the histogram of differences too"},
    {0, "layers", OPT_FLAG, FIELD(layers), NULL, NULL,
     "compare every value that both models have: with all errors before it, and its node's own"},
    {0, "perturb", OPT_FLAG, FIELD(perturb), NULL, NULL,
     "--layers, and how much each node amplifies a change of its inputs by a few units in the last "
     "place, which tells what is wrong from what is ill-conditioned; of one model alone too"},
    {0, "bisect", OPT_FLAG, FIELD(bisect), NULL, NULL,
     "name the first node whose output departs, and why it may; with --expected, what would make "
     "A's outputs agree"},
    {0, "oracle", OPT_FLAG, FIELD(oracle), NULL, NULL,
     "which side is nearer to double precision, and whether float32 allows the difference; what "
     "is expected is held against A in double precision"},
    {0, "trace-nonfinite", OPT_FLAG, FIELD(run.trace), NULL, NULL,
     "the first NaN, infinity and flood of denormals in A, and which values would not fit "
     "16-bit floats"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Outputs"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", PARITY_FORMATS, "form of what is printed"},
    {'o', "output", OPT_STRING, FIELD(output), "FILE", NULL, "write it there"},
    OPT_END};

static void defaults(void *args_)
{
    struct parity_args *args = args_;
    args->rtol = args->atol = NAN;
    args->engine_timeout = 600;
    args->quantile = 0.99;
}

/* ---- Samples ------------------------------------------------------------------------------------------------------- */

/* Outputs of A against those of another side, by name. */
static enum ox_status compare_sides(struct parity *p, size_t side)
{
    const struct run *a = &p->sides[0].run, *b = &p->sides[side].run;
    struct ox_error err = {0};
    for (size_t i = 0; i < a->n_outputs; i++) {
        const char *name = ox_session_output_name(a->session, i);
        const char *other = parity_other_name(p, name);
        size_t j = 0;
        while (j < b->n_outputs && strcmp(ox_session_output_name(b->session, j), other) != 0)
            j++;
        struct parity_output *output = parity_output_of(p, name, side);
        if (!output)
            return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
        output->in_a = true;
        output->in_b = j < b->n_outputs;
        if (ox_meter_add(output->meter, a->outputs[i], output->in_b ? b->outputs[j] : NULL, &err) !=
            OX_OK)
            return cli_error(p->cli, &err);
    }
    for (size_t j = 0; j < b->n_outputs; j++) {
        const char *name = ox_session_output_name(b->session, j);
        if (parity_output_called(p, name) < a->n_outputs)
            continue;
        struct parity_output *output = parity_output_of(p, name, side);
        if (!output)
            return cli_fail(p->cli, OX_NO_MEMORY, "out of memory");
        output->in_b = true;
        if (ox_meter_add(output->meter, NULL, b->outputs[j], &err) != OX_OK)
            return cli_error(p->cli, &err);
    }
    return OX_OK;
}

/* Outputs that options name must be there. */
static enum ox_status check_names(struct parity *p)
{
    const struct opt_strings *lists[] = {&p->args->pairs, &p->args->tolerances};
    static const char *const named[] = {"pair", "tol"};
    const struct run *a = &p->sides[0].run;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            const char *text = lists[k]->items[i];
            bool found = false;
            for (size_t j = 0; j < a->n_outputs && !found; j++) {
                const char *name = ox_session_output_name(a->session, j);
                size_t n = strlen(name);
                found = strncmp(text, name, n) == 0 && text[n] == '=';
            }
            if (!found)
                return cli_fail(p->cli, OX_USAGE, "%s: --%s %s: there is no output of that name",
                                p->sides[0].model_path, named[k], text);
        }
    return OX_OK;
}

static enum ox_status run_samples(struct parity *p)
{
    for (uint64_t i = 0; i < p->n_samples; i++) {
        enum ox_status status = parity_load_sample(p, i);
        if (status == OX_OK)
            status = parity_run_sample(p);
        for (size_t side = 1; side < p->n_sides && status == OX_OK; side++)
            status = compare_sides(p, side);
        if (status == OX_OK && p->args->oracle)
            status = parity_measure_truth(p);
        if (status == OX_OK)
            status = parity_measure_products(p);
        if (status == OX_OK && p->n_sides == 1)
            status = parity_take_expected(p, i, NULL);
        if (status != OX_OK)
            return status;
    }
    return OX_OK;
}

/* ---- The command --------------------------------------------------------------------------------------------------- */

static enum ox_status print(struct parity *p)
{
    static void (*const forms[])(struct parity *, struct ox_strbuf *) = {
        parity_print_text, parity_print_json, parity_print_html, parity_print_junit};
    struct ox_error err = {0};
    if (!p->args->output) {
        if (p->args->format != PARITY_TEXT || !p->cli->common.quiet)
            forms[p->args->format](p, &p->cli->out);
        return OX_OK;
    }
    struct ox_strbuf text = {0};
    forms[p->args->format](p, &text);
    enum ox_status status = text.failed ? cli_fail(p->cli, OX_NO_MEMORY, "out of memory")
                                        : ox_file_write(p->args->output, text.data, text.len, &err);
    if (status != OX_OK && err.status != OX_OK)
        cli_error(p->cli, &err);
    ox_strbuf_release(&text);
    return status;
}

/* The line on standard error that every exit but 0 owes. */
static void tell_disagreement(struct parity *p)
{
    size_t n = 0;
    const struct parity_output *first = NULL;
    for (size_t i = 0; i < p->n_outputs; i++)
        if (!p->outputs[i].metrics.agree) {
            first = first ? first : &p->outputs[i];
            n++;
        }
    if (!first) {
        cli_fail(p->cli, OX_NEGATIVE, "%s: nothing to compare with %s", p->sides[0].model_path,
                 parity_reference(p, 1));
        return;
    }
    char others[64] = "";
    if (n > 1)
        snprintf(others, sizeof others, " (%zu of %zu outputs depart)", n, p->n_outputs);
    cli_fail(p->cli, OX_NEGATIVE, "%s: '%s' departs from %s: %s%s%s", p->sides[0].model_path,
             first->name, parity_reference(p, first->side),
             first->failed[0] ? first->failed : first->metrics.reason, others,
             first->products[0] ? "; its 8-bit products saturate" : "");
}

static enum ox_status compare(struct parity *p, const char *const *operands, size_t n_operands)
{
    const struct opt_strings *test_data = &p->args->run.test_data;
    enum ox_status status = parity_read_bounds(p);
    for (size_t i = 0; i < test_data->n && status == OX_OK; i++)
        status = test_sets_add(p->cli, &p->sets, test_data->items[i]);
    if (status == OX_OK)
        status = parity_open_sides(p, operands, n_operands);
    if (status == OX_OK)
        status = check_names(p);
    if (status == OX_OK)
        status = parity_read_inputs(p);
    if (status == OX_OK)
        status = run_samples(p);
    if (status == OX_OK)
        status = parity_explain(p);
    if (status != OX_OK)
        return status;
    parity_judge(p);
    status = parity_judge_truth(p);
    if (status != OX_OK)
        return status;
    status = print(p);
    if (!p->agree) {
        tell_disagreement(p);
        status = cli_worse(status, OX_NEGATIVE);
    }
    return status;
}

static enum ox_status check_args(struct cli *cli, const struct parity_args *args,
                                 const char *const *operands, size_t n_operands)
{
    if (!n_operands || n_operands > 2)
        return cli_fail(cli, OX_USAGE, "parity: takes one or two models, not %zu", n_operands);
    if (!(args->quantile >= 0 && args->quantile <= 1))
        return cli_fail(cli, OX_USAGE, "parity: --error-quantile takes a share from 0 to 1");
    bool something = n_operands == 2 || args->expected || args->engines.n || args->cpus.n ||
                     args->levels.n > 1 || args->run.test_data.n || args->other_seed ||
                     args->perturb;
    if (!something)
        return cli_fail(cli, OX_USAGE,
                        "%s: nothing to hold it against: give a second model, --expected, "
                        "--engine, --cpu or two levels (-O0 -O2)",
                        operands[0]);
    if (args->expected && n_operands == 2)
        return cli_fail(cli, OX_USAGE, "parity: --expected and a second model exclude each other");
    if (args->other_seed &&
        (n_operands == 2 || args->expected || args->engines.n || args->cpus.n ||
         args->levels.n > 1 || args->layers || args->bisect || !args->run.random))
        return cli_fail(cli, OX_USAGE,
                        "parity: --against-seed holds one model against itself, needs --random, "
                        "and excludes other references, --layers and --bisect");
    if (args->levels.n > 2 || args->cpus.n > 2)
        return cli_fail(cli, OX_USAGE, "parity: -O and --cpu are given at most twice");
    for (size_t i = 0; i < args->cpus.n; i++)
        if (!ox_cpu_is_known(args->cpus.items[i]))
            return cli_fail(cli, OX_USAGE, "parity: --cpu is " CLI_CPU_WORDS ", not '%s'",
                            args->cpus.items[i]);
        else if (!ox_cpu_is_here(args->cpus.items[i]))
            return cli_fail(cli, OX_UNSUPPORTED, "parity: --cpu %s: this processor has %s at most",
                            args->cpus.items[i], ox_cpu_most());
    if (args->rtol < 0 || args->atol < 0)
        return cli_fail(cli, OX_USAGE, "parity: tolerances are not negative");
    if (args->samples < 0 || args->samples > 100000000)
        return cli_fail(cli, OX_USAGE, "parity: --samples takes a number from 1 to 100000000");
    if (!(args->engine_timeout > 0))
        return cli_fail(cli, OX_USAGE, "parity: --engine-timeout takes seconds over 0");
    return OX_OK;
}

/* Walkers are threads that move in turns, and weights come and go. From one heap memory is what is live; else each thread's would
 * stay as large as it ever was. */
static void share_heap(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
    cli_give_back_large();
}

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    struct parity_args *args = args_;
    args->layers |= args->perturb;
    enum ox_status status = check_args(cli, args, operands, n_operands);
    if (status != OX_OK)
        return status;
    cli_start_timer(cli, operands[0]);
    share_heap();
    struct parity p = {.cli = cli, .args = args, .first = SIZE_MAX};
    status = compare(&p, operands, n_operands);
    if (status == OX_INPUT)
        run_tell_guessed(&p.sides[0].run);
    for (size_t i = 0; i < p.n_outputs; i++) {
        free(p.outputs[i].name);
        ox_meter_release(p.outputs[i].meter);
        ox_meter_release(p.outputs[i].a_truth);
        ox_meter_release(p.outputs[i].b_truth);
        ox_meter_release(p.outputs[i].truths);
        ox_meter_release(p.outputs[i].tipped);
        ox_meter_release(p.outputs[i].saturated);
        ox_meter_release(p.outputs[i].exact);
    }
    parity_release_prefixes(&p);
    free(p.outputs);
    free(p.bounds);
    parity_release_inputs(&p);
    parity_release_sides(&p);
    return status;
}

const struct command command_parity = {
    .name = "parity",
    .summary = "Compare a model's outputs with another's, an engine's, or expected ones",
    .operands = "A [B]",
    .description =
        "Computes the outputs of A and of what it is held against on the same inputs and says, an "
        "output at a time, whether they agree and by how much they differ. B, or what is "
        "expected, is the reference.\n\n"
        "Outputs are matched by name. Other element types are compared by value; other shapes "
        "never agree. Exit status 1 when an output departs or one side lacks it.\n\n"
        "With --layers and --bisect both models walk in step, and every value that both have is "
        "compared as it is made: values are matched by name, then by what they are computed from. "
        "'own' is the error of A's node fed with B's values. For the first value that departs the "
        "evidence is listed: attributes, opsets, inputs and constants that differ and how (a "
        "transposed weight, another order of channels or gates), narrowed or saturated values, "
        "overflow, operators that were put in or left out.\n\n"
        "With --perturb B is walked twice more, with each number a few units in the last place of "
        "the narrowest floats larger or smaller. Once what enters each node is changed so, and the "
        "node computed in double precision: 'amplifies' is how far its value is from B's, over "
        "that change, each as the root mean square of its share, so that rounding within the node "
        "counts too. Once the inputs of the model alone are: 'from input' is the same from there "
        "on. A node of A that departs by itself is then called ill-conditioned where roundings may "
        "cost as much (128 of them, times what it amplifies), else wrong.\n\n"
        "An engine is a program onnxtool-engine-NAME, on PATH or in libexec:\n\n"
        "  onnxtool-engine-NAME MODEL IN.npz OUT.npz [--outputs NAMES] [--options JSON]\n\n"
        "NAMES are the values to write, parted by line ends; sequences and maps are arrays as run "
        "-o "
        "FILE.npz names them; exit statuses are those of onnxtool, "
        "and --version prints a line. It runs in a process of its own, so that it may crash. With "
        "--layers it is asked for every value, so that it fuses little; 'own' is then what our "
        "reference kernels make of B's values. --bisect alone leaves the model as it is: it cuts "
        "prefixes out and runs them, and the evidence is what the values show, and whether a node "
        "departs alone or only "
        "where the engine computes it as one with nodes before it. So are two levels of one model "
        "held against each other. Of --expected (and of output_K.pb) outputs alone are known: "
        "there "
        "--bisect runs A with other readings, 200 at most, and names those under which all that is "
        "expected agrees, simplest first: outputs exchanged, transposed, scaled, with softmax and "
        "the like left out or done twice; inputs exchanged, with channels turned, values in other "
        "ranges or normalized, in another order of dimensions, masks inverted; attributes that "
        "frameworks set apart (Resize, Gelu, epsilon, padding, axis of Softmax). "
        "Where an engine departs, A is also computed with products of "
        "uint8 by int8 that saturate, and told if that is what the engine does; the verdict stays: "
        "an engine runs as it runs for its users. onnxruntime computes such products exactly with "
        "--engine-options '{\"config\": {\"session.x64quantprecision\": \"1\"}}'. "
        "onnxruntime, openvino, reference (onnx's evaluator) and tensorrt (untested) ship as "
        "Python scripts; ONNXTOOL_PYTHON names the interpreter that has their packages.\n\n"
        "--layers of a quantized A against its float model B also tells the SQNR over each "
        "quantizer, before against after (qdq) and B's value against after (xmodel), as "
        "onnxruntime's qdq_loss_debug defines them. Both walks round on their own: where a value "
        "lies near a tie of a quantizer the codes differ, and models of many quantizers amplify "
        "that, to tenths of a decibel between two engines that are both right. With --engine "
        "onnxruntime --engine-options '{\"optimization\": \"disable\"}' the values are those that "
        "qdq_loss_debug judges, and so are the figures.",
    .examples = "  onnxtool parity model.onnx fused.onnx --random 1 --samples 8\n"
                "  onnxtool parity model.onnx --expected outputs.npz -i inputs.npz\n"
                "  onnxtool parity model.onnx --expected outputs.npz -i inputs.npz --bisect\n"
                "  onnxtool parity model.onnx quantized.onnx -i x=x.npy --require 'sqnr>=30'\n"
                "  onnxtool parity model.onnx --engine onnxruntime --random 1\n"
                "  onnxtool parity exported.onnx converted.onnx -i inputs.npz --bisect\n"
                "  onnxtool parity model.onnx --perturb --random 1\n",
    .options = options,
    .args_bytes = sizeof(struct parity_args),
    .defaults = defaults,
    .run = run,
};
