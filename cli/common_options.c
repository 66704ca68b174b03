/* The options that all commands take, and what they set. */
#include "common_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FIELD(name) offsetof(struct common, name)

static const struct opt common_options[] = {
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Several models"},
    {0, "files-from", OPT_STRING, FIELD(files_from), "FILE", NULL,
     "read names of models, or folders of them, from FILE too, one a line; - is standard input"},
    {0, "shard", OPT_STRING, FIELD(shard), "I/N", NULL,
     "take every N-th model alone, from the I-th on: one of N machines' part"},
    {0, "log", OPT_STRING, FIELD(log), "FILE", NULL,
     "add a line of JSON to FILE as each model is done: its results, messages, exit status and "
     "time"},
    {0, "resume", OPT_FLAG, FIELD(resume), NULL, NULL,
     "print what --log has of a model instead of doing it again, unless the model or the options "
     "changed, or a limit or a fault ended it"},
    {0, NULL, OPT_SECTION, 0, NULL, NULL, "Common options"},
    {'h', "help", OPT_FLAG, FIELD(help), NULL, NULL, "print this help and exit"},
    {'q', "quiet", OPT_FLAG, FIELD(quiet), NULL, NULL, "print errors only"},
    {'v', "verbose", OPT_FLAG, FIELD(verbose), NULL, NULL, "say more on standard error"},
    {0, "color", OPT_CHOICE, FIELD(color), "WHEN", "auto|always|never",
     "colour the output; auto: on a terminal, unless NO_COLOR is set"},
    {0, "progress", OPT_CHOICE, FIELD(progress), "WHEN", "auto|always|never",
     "show progress; auto: on a terminal, for work over a second"},
    {'j', "jobs", OPT_INT, FIELD(jobs), "N", NULL, "models at a time (default 1)"},
    {'t', "threads", OPT_INT, FIELD(threads), "N", NULL,
     "threads within a model (default, and at most: the cores this process may use)"},
    {0, "max-memory", OPT_SIZE, FIELD(max_memory), "SIZE", NULL,
     "memory to use at the most, 0: any (default: the less of 8G and 75 % of the machine's)"},
    {0, "max-file", OPT_SIZE, FIELD(max_file), "SIZE", NULL,
     "refuse larger model files, 0: none (default 2G - 1, what protobuf allows)"},
    {0, "timeout", OPT_DOUBLE, FIELD(timeout), "SECONDS", NULL,
     "give up on a model after that time"},
    {0, "limit", OPT_STRINGS, FIELD(limits), "NAME=VALUE", NULL,
     "set a limit, 0 is none; --limit help names them all"},
    {0, "external-data", OPT_CHOICE, FIELD(external_data), "HOW", "contain|deny|follow-within",
     "external data: beneath the model's folder without links, not at all, or through links that "
     "end within "
     "--external-root"},
    {0, "external-root", OPT_STRING, FIELD(external_root), "DIR", NULL,
     "the folder of --external-data=follow-within"},
    {0, "schema", OPT_STRINGS, FIELD(schemas), "FILE", NULL,
     "know the custom operators that FILE describes (SCHEMA FILES in onnxtool(1))"},
    {0, "op-library", OPT_STRINGS, FIELD(op_libraries), "FILE", NULL,
     "run custom operators by the kernels in that shared object: it is code, and runs with your "
     "rights"},
    {0, "op-inside", OPT_FLAG, FIELD(op_inside), NULL, NULL,
     "call them in this process instead of one of their own for each: faster, and a crash is ours"},
    OPT_END};

const struct opt *cli_common_options(const struct command *command)
{
    const struct opt *behind = common_options + 1; /* the first section */
    while (behind->type != OPT_SECTION)
        behind++;
    return command && !command->several ? behind : common_options;
}

bool cli_decides_results(const struct opt *opt)
{
    static const char *const ways[] = {"jobs", "threads", "progress", "files-from", "shard",
                                       "log",  "resume",  "timeout",  "max-memory"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(opt->name, ways[i]) == 0)
            return false;
    return true;
}

bool cli_asks_for_limits(const struct common *common)
{
    for (size_t i = 0; i < common->limits.n; i++)
        if (strcmp(common->limits.items[i], "help") == 0)
            return true;
    return false;
}

void cli_print_limits(struct cli *cli)
{
    const struct ox_limits *limits = ox_env_limits(cli->env);
#define LIMIT_LINE(field, initial, meaning)                                                        \
    ox_strbuf_printf(&cli->out, "%-24s  %11llu  %s\n", #field, (unsigned long long)limits->field,  \
                     meaning);
    OX_LIMIT_LIST(LIMIT_LINE)
#undef LIMIT_LINE
}

/* Beyond the library's own accounting the kernel refuses what goes far over the limit, so that no library below us can eat
 * the machine. Twice the limit: what is freed and not given back to the system counts here too. Sanitizers reserve address space that would count too. */
static void limit_process_memory(uint64_t bytes)
{
#ifndef OX_SANITIZE
    struct rlimit limit;
    uint64_t slack = 32u << 20;
    if (bytes && bytes < UINT64_MAX / 2 - slack && getrlimit(RLIMIT_DATA, &limit) == 0 &&
        (limit.rlim_max == RLIM_INFINITY || 2 * bytes + slack < limit.rlim_max)) {
        limit.rlim_cur = 2 * bytes + slack;
        setrlimit(RLIMIT_DATA, &limit);
    }
#else
    (void)bytes;
#endif
}

static enum ox_status apply_limit(struct cli *cli, const char *setting)
{
    const size_t n = strcspn(setting, "=");
    uint64_t value;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, setting);
    if (n < sizeof name && setting[n] && opt_parse_size(setting + n + 1, &value) &&
        ox_limits_set(ox_env_limits(cli->env), name, value))
        return OX_OK;
    return cli_fail(cli, OX_USAGE,
                    "--limit takes NAME=VALUE, not '%s'; --limit help names them all", setting);
}

static enum ox_status apply_settings(struct cli *cli)
{
    const struct common *common = &cli->common;
    if (common->jobs < 1 || common->jobs > 4096)
        return cli_fail(cli, OX_USAGE, "--jobs takes a number from 1 to 4096");
    if (common->threads < 0 || common->threads > 4096)
        return cli_fail(cli, OX_USAGE, "--threads takes a number from 1 to 4096");
    const char *cpu = getenv("ONNXTOOL_CPU");
    if (cpu && *cpu && !ox_cpu_is_known(cpu))
        return cli_fail(cli, OX_USAGE,
                        "the environment's ONNXTOOL_CPU is " CLI_CPU_WORDS ", not '%s'", cpu);
    if (!(common->timeout >= 0))
        return cli_fail(cli, OX_USAGE, "--timeout takes a number of seconds over 0");
    cli->color =
        common->color == WHEN_ALWAYS || (common->color == WHEN_AUTO && isatty(1) && !common->log &&
                                         !(getenv("NO_COLOR") && *getenv("NO_COLOR")));
    struct ox_limits *limits = ox_env_limits(cli->env);
    if (common->max_memory != CLI_NOT_GIVEN)
        limits->memory_bytes = common->max_memory;
    if (common->max_file != CLI_NOT_GIVEN)
        limits->message_bytes = common->max_file;
    for (size_t i = 0; i < common->limits.n; i++) {
        enum ox_status status = apply_limit(cli, common->limits.items[i]);
        if (status != OX_OK)
            return status;
    }
    limit_process_memory(limits->memory_bytes);
    /* More would wait for each other: every part of a node ends before the next begins. */
    const unsigned cores = ox_env_threads(cli->env);
    ox_env_set_threads(cli->env, common->threads < cores ? (unsigned)common->threads : cores);
    if (common->external_data == OX_EXTERNAL_FOLLOW && !common->external_root)
        return cli_fail(cli, OX_USAGE, "--external-data=follow-within needs --external-root DIR");
    ox_env_set_external(cli->env, (enum ox_external_mode)common->external_data,
                        common->external_root);
    return OX_OK;
}

static enum ox_status add_operators(struct cli *cli)
{
    const struct common *common = &cli->common;
    enum ox_library_mode mode = common->op_inside ? OX_LIBRARY_INSIDE : OX_LIBRARY_APART;
    struct ox_error err;
    for (size_t i = 0; i < common->schemas.n; i++)
        if (ox_env_add_schemas(cli->env, common->schemas.items[i], &err) != OX_OK)
            return cli_error(cli, &err);
    for (size_t i = 0; i < common->op_libraries.n; i++)
        if (ox_env_add_library(cli->env, common->op_libraries.items[i], mode, &err) != OX_OK)
            return cli_error(cli, &err);
    return OX_OK;
}

enum ox_status cli_apply_common(struct cli *cli)
{
    const enum ox_status status = apply_settings(cli);
    return status == OX_OK ? add_operators(cli) : status;
}
