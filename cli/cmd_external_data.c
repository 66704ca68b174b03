#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct args {
    const char *out;
    const char *location;
    uint64_t threshold, alignment, split;
    bool per_tensor, checksums, no_dedup, keep_old;
    int format;
};

#define FIELD(name) offsetof(struct args, name)

static const struct opt options[] = {
    {'o', "output", OPT_STRING, FIELD(out), "OUT", NULL,
     "write the model there; without it pack, unpack and gc replace it"},
    {0, "location", OPT_STRING, FIELD(location), "NAME", NULL,
     "name of the data file beside the model (OUT.data)"},
    {0, "threshold", OPT_SIZE, FIELD(threshold), "SIZE", NULL,
     "smaller tensors stay in the model (1K)"},
    {0, "alignment", OPT_SIZE, FIELD(alignment), "SIZE", NULL,
     "begin tensors at multiples of it (4K for tensors of a page and more, else 64)"},
    {0, "per-tensor", OPT_FLAG, FIELD(per_tensor), NULL, NULL, "a file a tensor"},
    {0, "split", OPT_SIZE, FIELD(split), "SIZE", NULL, "begin a new file beyond that size"},
    {0, "checksums", OPT_FLAG, FIELD(checksums), NULL, NULL,
     "write the SHA-1 of each file, which readers verify"},
    {0, "no-dedup", OPT_FLAG, FIELD(no_dedup), NULL, NULL,
     "store equal tensors as often as they come"},
    {0, "keep-old", OPT_FLAG, FIELD(keep_old), NULL, NULL,
     "gc and move: leave the files that are not used any more"},
    {'f', "format", OPT_CHOICE, FIELD(format), "FORMAT", "text|json", "form of verify's report"},
    OPT_END};

struct job {
    struct cli *cli;
    const struct args *args;
    const char *path;
    const char *to; /* move: where */
    struct ox_model *model;
};

/* ---- The files of a model ----------------------------------------------------------------------------------------- */

static char *beside(const char *model, const char *location)
{
    const char *slash = strrchr(model, '/');
    size_t dir = slash ? (size_t)(slash - model) + 1 : 0;
    char *path = malloc(dir + strlen(location) + 1);
    if (path) {
        memcpy(path, model, dir);
        strcpy(path + dir, location);
    }
    return path;
}

/* Whether a model at `path` (it may be gone) has a file of that name among those that it uses now. */
static bool uses_file(struct job *job, const char *path, const char *location)
{
    struct ox_model *model = NULL;
    struct ox_external_report *report = NULL;
    struct ox_error err;
    bool used = false;
    if (ox_model_open(&model, job->cli->env, path, &err) == OX_OK &&
        ox_external_inspect(&report, model, &err) == OX_OK) {
        for (size_t i = 0; i < ox_external_files(report); i++) {
            uint64_t bytes, in_use;
            used |= strcmp(ox_external_file_at(report, i, &bytes, &in_use), location) == 0;
        }
    }
    ox_external_report_release(report);
    ox_model_release(model);
    return used;
}

/* Removes the data files of the model as it was, once nothing refers to them; others are only named. */
static enum ox_status remove_old(struct job *job, const struct ox_external_report *before,
                                 const char *now, bool remove_them)
{
    for (size_t i = 0; i < ox_external_files(before); i++) {
        uint64_t bytes, used;
        const char *location = ox_external_file_at(before, i, &bytes, &used);
        char *path = beside(job->path, location);
        if (!path)
            return cli_fail(job->cli, OX_NO_MEMORY, "out of memory");
        struct stat info;
        bool there = lstat(path, &info) == 0 && S_ISREG(info.st_mode);
        if (there && !(now && uses_file(job, now, location))) {
            if (!remove_them)
                cli_note(job->cli, "%s: is not used by %s any more", path, job->path);
            else if (unlink(path) != 0)
                cli_warn(job->cli, "%s: could not be removed", path);
        }
        free(path);
    }
    return OX_OK;
}

/* ---- Verbs -------------------------------------------------------------------------------------------------------- */

static enum ox_status fail(struct job *job, const struct ox_error *err)
{
    return cli_error(job->cli, err);
}

static void tell_packed(struct job *job, const char *path, const struct ox_external_packed *packed)
{
    struct ox_strbuf *out = &job->cli->out;
    if (job->cli->common.quiet)
        return;
    ox_strbuf_name(out, path, 0);
    ox_strbuf_printf(out, ": %zu tensor%s in %zu file%s, %llu bytes", packed->n_tensors,
                     packed->n_tensors == 1 ? "" : "s", packed->n_files,
                     packed->n_files == 1 ? "" : "s", (unsigned long long)packed->bytes);
    if (packed->n_shared)
        ox_strbuf_printf(out, "; %zu shared, %llu bytes saved", packed->n_shared,
                         (unsigned long long)packed->shared_bytes);
    ox_strbuf_putc(out, '\n');
}

static enum ox_status pack(struct job *job, const char *path, bool only_external, bool remove_them)
{
    const struct args *args = job->args;
    struct ox_external_pack_options with = {.location = args->location,
                                            .file_a_tensor = args->per_tensor,
                                            .max_file = args->split,
                                            .threshold = args->threshold,
                                            .alignment = args->alignment,
                                            .checksums = args->checksums,
                                            .no_dedup = args->no_dedup,
                                            .only_external = only_external};
    struct ox_external_packed packed;
    struct ox_external_report *before = NULL;
    struct ox_error err;
    enum ox_status status = ox_external_inspect(&before, job->model, &err);
    if (status == OX_OK)
        status = ox_external_pack(job->model, path, &with, &packed, &err);
    if (status != OX_OK) {
        ox_external_report_release(before);
        return fail(job, &err);
    }
    tell_packed(job, path, &packed);
    if (strcmp(path, job->path) == 0 || remove_them)
        status = remove_old(job, before, path, remove_them);
    ox_external_report_release(before);
    return status;
}

static enum ox_status run_pack(struct job *job)
{
    return pack(job, job->args->out ? job->args->out : job->path, false, false);
}

static enum ox_status run_unpack(struct job *job)
{
    const char *path = job->args->out ? job->args->out : job->path;
    struct ox_external_report *before = NULL;
    struct ox_error err;
    enum ox_status status = ox_external_inspect(&before, job->model, &err);
    if (status == OX_OK)
        status = cli_save_model(job->cli, job->model, path,
                                &(struct ox_save_options){.inline_external = true});
    else
        fail(job, &err);
    if (status == OX_OK && strcmp(path, job->path) == 0)
        status = remove_old(job, before, path, false);
    ox_external_report_release(before);
    return status;
}

/* Into another file alone: what goes is lost. */
static enum ox_status run_strip(struct job *job)
{
    struct ox_stripped told;
    struct ox_error err;
    if (!job->args->out)
        return cli_fail(job->cli, OX_USAGE, "external-data strip: -o OUT is needed");
    if (ox_strip_weights(job->model, job->args->threshold, &told, &err) != OX_OK)
        return fail(job, &err);
    const enum ox_status status = cli_save_model(
        job->cli, job->model, job->args->out, &(struct ox_save_options){.inline_external = true});
    if (status != OX_OK || job->cli->common.quiet)
        return status;
    ox_strbuf_name(&job->cli->out, job->args->out, 0);
    ox_strbuf_printf(&job->cli->out, ": without %llu tensor%s of %llu bytes",
                     (unsigned long long)told.n, told.n == 1 ? "" : "s",
                     (unsigned long long)told.bytes);
    if (told.n_left)
        ox_strbuf_printf(&job->cli->out, "; %llu of %llu bytes could not go",
                         (unsigned long long)told.n_left, (unsigned long long)told.bytes_left);
    ox_strbuf_putc(&job->cli->out, '\n');
    return OX_OK;
}

/* Whether there is anything that packing again would save. */
static bool has_waste(const struct ox_external_report *report)
{
    for (size_t i = 0; i < ox_external_problems(report); i++) {
        if (!ox_external_problem_at(report, i)->error)
            return true;
    }
    return false;
}

static bool has_errors(const struct ox_external_report *report)
{
    for (size_t i = 0; i < ox_external_problems(report); i++) {
        if (ox_external_problem_at(report, i)->error)
            return true;
    }
    return false;
}

static enum ox_status run_gc(struct job *job)
{
    struct ox_external_report *report;
    struct ox_error err;
    const char *path = job->args->out ? job->args->out : job->path;
    enum ox_status status = ox_external_inspect(&report, job->model, &err);
    if (status != OX_OK)
        return fail(job, &err);
    bool waste = has_waste(report);
    ox_external_report_release(report);
    if (!waste && !job->args->out) {
        if (!job->cli->common.quiet) {
            ox_strbuf_name(&job->cli->out, job->path, 0);
            ox_strbuf_puts(&job->cli->out, ": nothing to collect\n");
        }
        return OX_OK;
    }
    return pack(job, path, true, strcmp(path, job->path) == 0 && !job->args->keep_old);
}

/* The model and its data go elsewhere; the old files are removed when the new ones are complete. */
static enum ox_status run_move(struct job *job)
{
    struct ox_error err;
    struct ox_external_report *before = NULL;
    struct stat there;
    const bool is_special = stat(job->to, &there) == 0 && !S_ISREG(there.st_mode) &&
                            !S_ISDIR(there.st_mode); /* a folder is told as it is written to */
    if (strcmp(job->path, "-") == 0 || strcmp(job->to, "-") == 0 || is_special)
        return cli_fail(job->cli, OX_USAGE, "external-data move: moves from a file to a file");
    enum ox_status status = ox_external_inspect(&before, job->model, &err);
    if (status == OX_OK && job->args->location)
        status = pack(job, job->to, true, false);
    else if (status == OX_OK)
        status = ox_model_save(job->model, job->to, NULL, &err);
    if (status != OX_OK) {
        ox_external_report_release(before);
        return job->args->location ? status : fail(job, &err);
    }
    struct stat from, to;
    bool same = stat(job->path, &from) == 0 && stat(job->to, &to) == 0 &&
                from.st_dev == to.st_dev && from.st_ino == to.st_ino;
    if (!job->args->keep_old && !same) {
        const char *slash_a = strrchr(job->path, '/'), *slash_b = strrchr(job->to, '/');
        size_t n_a = slash_a ? (size_t)(slash_a - job->path) : 0;
        size_t n_b = slash_b ? (size_t)(slash_b - job->to) : 0;
        bool same_folder = n_a == n_b && memcmp(job->path, job->to, n_a) == 0;
        if (unlink(job->path) != 0)
            cli_warn(job->cli, "%s: could not be removed", job->path);
        status = remove_old(job, before, same_folder ? job->to : NULL, true);
    }
    ox_external_report_release(before);
    return status;
}

/* ---- verify ------------------------------------------------------------------------------------------------------- */

static void print_report(struct job *job, const struct ox_external_report *report)
{
    struct ox_strbuf *out = &job->cli->out;
    const bool quiet = job->cli->common.quiet;
    uint64_t bytes, used;
    for (size_t i = 0; !quiet && i < ox_external_files(report); i++) {
        ox_strbuf_name(out, ox_external_file_at(report, i, &bytes, &used), 256);
        ox_strbuf_printf(out, ": %llu bytes, %llu used\n", (unsigned long long)bytes,
                         (unsigned long long)used);
    }
    for (size_t i = 0; i < ox_external_problems(report); i++) {
        const struct ox_external_problem *problem = ox_external_problem_at(report, i);
        if (quiet && !problem->error)
            continue;
        ox_strbuf_puts(out, problem->error ? "error: " : "warning: ");
        if (problem->tensor) {
            ox_strbuf_puts(out, "tensor '");
            ox_strbuf_name(out, problem->tensor, 256);
            ox_strbuf_puts(out, "': ");
        } else if (problem->location) {
            ox_strbuf_name(out, problem->location, 256);
            ox_strbuf_puts(out, ": ");
        }
        ox_strbuf_name(out, problem->message, 1024);
        ox_strbuf_putc(out, '\n');
    }
    if (quiet)
        return;
    size_t n_files = ox_external_files(report);
    ox_strbuf_printf(out, "%zu tensor%s in %zu file%s\n", ox_external_entries(report),
                     ox_external_entries(report) == 1 ? "" : "s", n_files, n_files == 1 ? "" : "s");
}

static void json_report(struct job *job, const struct ox_external_report *report)
{
    struct ox_json json;
    ox_json_init(&json, &job->cli->out, true);
    ox_json_object(&json);
    cli_json_string(&json, "schema", "onnxtool.external-data/1");
    cli_json_string(&json, "model", job->path);
    ox_json_key(&json, "files");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_external_files(report); i++) {
        uint64_t bytes, used;
        const char *location = ox_external_file_at(report, i, &bytes, &used);
        ox_json_object(&json);
        cli_json_string(&json, "location", location);
        cli_json_uint(&json, "bytes", bytes);
        cli_json_uint(&json, "used", used);
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    ox_json_key(&json, "tensors");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_external_entries(report); i++) {
        const struct ox_external_entry *entry = ox_external_entry_at(report, i);
        ox_json_object(&json);
        cli_json_string(&json, "graph", entry->graph);
        cli_json_string(&json, "tensor", entry->tensor);
        cli_json_string(&json, "location", entry->location);
        cli_json_uint(&json, "offset", entry->offset);
        cli_json_uint(&json, "bytes", entry->bytes);
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    ox_json_key(&json, "problems");
    ox_json_array(&json);
    for (size_t i = 0; i < ox_external_problems(report); i++) {
        const struct ox_external_problem *problem = ox_external_problem_at(report, i);
        ox_json_object(&json);
        cli_json_string(&json, "severity", problem->error ? "error" : "warning");
        cli_json_string(&json, "location", problem->location);
        cli_json_string(&json, "tensor", problem->tensor);
        cli_json_string(&json, "message", problem->message);
        ox_json_end_object(&json);
    }
    ox_json_end_array(&json);
    ox_json_end_object(&json);
    ox_strbuf_putc(&job->cli->out, '\n');
}

static enum ox_status run_verify(struct job *job)
{
    struct ox_external_report *report;
    struct ox_error err;
    enum ox_status status = ox_external_inspect(&report, job->model, &err);
    if (status != OX_OK)
        return fail(job, &err);
    if (job->args->format == FORMAT_JSON)
        json_report(job, report);
    else
        print_report(job, report);
    if (has_errors(report))
        status = cli_fail(job->cli, OX_NEGATIVE, "%s: external data is not as the model says",
                          job->path);
    ox_external_report_release(report);
    return status;
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

struct verb {
    const char *name;
    enum ox_status (*run)(struct job *job);
    size_t n_operands;
};

static const struct verb verbs[] = {{"pack", run_pack, 2}, {"unpack", run_unpack, 2},
                                    {"move", run_move, 3}, {"verify", run_verify, 2},
                                    {"gc", run_gc, 2},     {"strip", run_strip, 2}};

static enum ox_status run(struct cli *cli, void *args_, const char *const *operands,
                          size_t n_operands)
{
    const struct verb *verb = NULL;
    struct ox_error err;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && n_operands; i++) {
        if (strcmp(operands[0], verbs[i].name) == 0)
            verb = &verbs[i];
    }
    if (!verb)
        return cli_fail(
            cli, OX_USAGE,
            "external-data: says first what to do: pack, unpack, move, verify, gc or strip");
    if (n_operands != verb->n_operands)
        return cli_fail(cli, OX_USAGE, "external-data %s: takes %s", verb->name,
                        verb->n_operands == 3 ? "a model and where it goes" : "one model");
    struct job job = {.cli = cli,
                      .args = args_,
                      .path = operands[1],
                      .to = verb->n_operands == 3 ? operands[2] : NULL};
    if (job.args->out && (verb->run == run_move || verb->run == run_verify))
        return cli_fail(cli, OX_USAGE, "external-data %s: -o is of no use", verb->name);
    cli_start_timer(cli, job.path);
    enum ox_status status = ox_model_open(&job.model, cli->env, job.path, &err);
    status = status == OX_OK ? verb->run(&job) : cli_error(cli, &err);
    ox_model_release(job.model);
    return status;
}

const struct command command_external_data = {
    .name = "external-data",
    .summary = "Pack, unpack, move and verify weights in files of their own",
    .operands = "pack|unpack|move|verify|gc|strip MODEL [TO]",
    .description =
        "pack puts the big tensors of a model into a file beside it: aligned so that they can be "
        "mapped, equal ones once. unpack puts them back into the model. move takes a model and its "
        "data elsewhere. verify tells what is missing, too short, overlapping, unaligned, or not "
        "what "
        "its checksum says, and how many bytes of a file no tensor uses. gc writes the data again "
        "without these.\n\n"
        "strip writes a model that can be shown to others without its weights: each tensor of "
        "--threshold and more that is not int64 or bool, as shapes and indices are, becomes "
        "ConstantOfShape of its mean. Structure, types, shapes, names and attributes "
        "(forests have their numbers there) stay.\n\n"
        "Data is copied from file to file in bounded memory, by sharing blocks where the file "
        "system "
        "can. A data file that is there already is never overwritten: the model may be in use. New "
        "files are complete before the model is put in place, so that a run that is stopped leaves "
        "the "
        "model as it was.",
    .examples = "  onnxtool external-data pack model.onnx -o packed.onnx --checksums\n"
                "  onnxtool external-data pack big.onnx --split 2G -o shards/big.onnx\n"
                "  onnxtool external-data strip secret.onnx -o for-the-bug-report.onnx\n"
                "  onnxtool external-data verify packed.onnx\n"
                "  onnxtool external-data move packed.onnx /models/packed.onnx\n",
    .options = options,
    .args_bytes = sizeof(struct args),
    .run = run,
};
