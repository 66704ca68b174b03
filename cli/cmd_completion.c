#include <string.h>

#include "common_options.h"

/* ---- Words -------------------------------------------------------------------------------------------------------- */

/* "text|json" with blanks between. */
static void put_choices(struct ox_strbuf *out, const char *choices)
{
    for (; *choices; choices++)
        ox_strbuf_putc(out, *choices == '|' ? ' ' : *choices);
}

static bool names_file(const struct opt *opt)
{
    return opt->arg && (strstr(opt->arg, "FILE") || strstr(opt->arg, "OUT") ||
                        strstr(opt->arg, "DIR") || strstr(opt->arg, "DATA"));
}

/* Calls `put` for all options of a command and the common ones. */
static void each_option(struct ox_strbuf *out, const struct command *command,
                        void (*put)(struct ox_strbuf *out, const struct command *command,
                                    const struct opt *opt))
{
    const struct opt *const tables[] = {command->options, cli_common_options(command)};
    for (size_t i = 0; i < 2; i++)
        for (const struct opt *opt = tables[i]; opt && !opt_is_end(opt); opt++)
            if (opt->type != OPT_SECTION)
                put(out, command, opt);
}

/* ---- bash --------------------------------------------------------------------------------------------------------- */

static void bash_word(struct ox_strbuf *out, const struct command *command, const struct opt *opt)
{
    (void)command;
    ox_strbuf_printf(out, " --%s", opt->name);
    if (opt->letter)
        ox_strbuf_printf(out, " -%c", opt->letter);
}

/* What may follow an option that takes a value; files where nothing else is known. */
static void bash_values(struct ox_strbuf *out, const struct command *command, const struct opt *opt)
{
    (void)command;
    if (opt->type == OPT_FLAG)
        return;
    ox_strbuf_printf(out, "        --%s", opt->name);
    if (opt->letter)
        ox_strbuf_printf(out, "|-%c", opt->letter);
    ox_strbuf_puts(out, ") values='");
    if (opt->choices)
        put_choices(out, opt->choices);
    ox_strbuf_puts(out,
                   opt->choices || !names_file(opt) ? "'; kind=words ;;\n" : "'; kind=files ;;\n");
}

static void bash(struct ox_strbuf *out)
{
    ox_strbuf_puts(out, "# bash completion for onnxtool: source it, or put it in "
                        "/usr/share/bash-completion/completions/onnxtool\n"
                        "_onnxtool() {\n"
                        "    local cur=${COMP_WORDS[COMP_CWORD]} prev= command= words= values= "
                        "kind= i\n"
                        "    ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                        "    # --format=json is three words: readline parts them at '='.\n"
                        "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then "
                        "prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
                        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                        "        case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; "
                        "break ;; esac\n"
                        "    done\n"
                        "    COMPREPLY=()\n"
                        "    case $command in\n"
                        "    '') mapfile -t COMPREPLY < <(compgen -W '--version --help");
    for (size_t i = 0; commands[i]; i++)
        ox_strbuf_printf(out, " %s", commands[i]->name);
    ox_strbuf_puts(out, "' -- \"$cur\"); return ;;\n");
    for (size_t i = 0; commands[i]; i++) {
        ox_strbuf_printf(out, "    %s)\n        words='", commands[i]->name);
        each_option(out, commands[i], bash_word);
        ox_strbuf_puts(out, "'\n        case $prev in\n");
        each_option(out, commands[i], bash_values);
        ox_strbuf_puts(out, "        esac ;;\n");
    }
    ox_strbuf_puts(out, "    esac\n"
                        "    if [[ $kind == words ]]; then\n"
                        "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\")\n"
                        "    elif [[ -z $kind && $cur == -* ]]; then\n"
                        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                        "    elif [[ $command == help ]]; then\n"
                        "        mapfile -t COMPREPLY < <(compgen -W '");
    for (size_t i = 0; commands[i]; i++)
        ox_strbuf_printf(out, " %s", commands[i]->name);
    ox_strbuf_puts(out, "' -- \"$cur\")\n"
                        "    else\n"
                        "        compopt -o filenames 2>/dev/null\n"
                        "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                        "    fi\n"
                        "}\n"
                        "complete -F _onnxtool onnxtool\n");
}

/* ---- zsh ---------------------------------------------------------------------------------------------------------- */

/* Help between brackets of _arguments. */
static void zsh_help(struct ox_strbuf *out, const char *text)
{
    struct ox_strbuf escaped = {0};
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            ox_strbuf_putc(&escaped, '\\');
        ox_strbuf_putc(&escaped, *text);
    }
    cli_put_quoted(out, ox_strbuf_text(&escaped, out));
    ox_strbuf_release(&escaped);
}

static void zsh_spec(struct ox_strbuf *out, const struct opt *opt, const char *dashes,
                     const char *name, const char *ends)
{
    ox_strbuf_printf(out, " \\\n            '%s%s%s%s[", opt_is_list(opt) ? "*" : "", dashes, name,
                     opt->type == OPT_FLAG ? "" : ends);
    zsh_help(out, opt->help);
    ox_strbuf_putc(out, ']');
    if (opt->type != OPT_FLAG) {
        ox_strbuf_putc(out, ':');
        zsh_help(out, opt->arg ? opt->arg : "value");
        if (opt->choices) {
            ox_strbuf_puts(out, ":(");
            put_choices(out, opt->choices);
            ox_strbuf_putc(out, ')');
        } else {
            ox_strbuf_puts(out, names_file(opt) ? ":_files" : ": ");
        }
    }
    ox_strbuf_putc(out, '\'');
}

static void zsh_option(struct ox_strbuf *out, const struct command *command, const struct opt *opt)
{
    (void)command;
    zsh_spec(out, opt, "--", opt->name, "=");
    if (opt->letter)
        zsh_spec(out, opt, "-", (const char[]){opt->letter, '\0'}, "+");
}

static void zsh(struct ox_strbuf *out)
{
    ox_strbuf_puts(out, "#compdef onnxtool\n"
                        "# zsh completion for onnxtool: put it as _onnxtool into a folder of "
                        "$fpath\n"
                        "_onnxtool() {\n"
                        "    local -a commands\n"
                        "    commands=(");
    for (size_t i = 0; commands[i]; i++) {
        ox_strbuf_printf(out, "\n        '%s:", commands[i]->name);
        zsh_help(out, commands[i]->summary);
        ox_strbuf_putc(out, '\'');
    }
    ox_strbuf_puts(out, ")\n"
                        "    if ((CURRENT == 2)); then\n"
                        "        _describe command commands\n"
                        "        return\n"
                        "    fi\n"
                        "    local command=$words[2]\n"
                        "    shift words\n"
                        "    ((CURRENT--))\n"
                        "    case $command in\n");
    for (size_t i = 0; commands[i]; i++) {
        ox_strbuf_printf(out, "    %s)\n        _arguments -s", commands[i]->name);
        each_option(out, commands[i], zsh_option);
        ox_strbuf_puts(out,
                       strcmp(commands[i]->name, "help") == 0
                           ? " \\\n            '1:command:->command'\n"
                             "        [[ $state == command ]] && _describe command commands ;;\n"
                           : " \\\n            '*:file:_files' ;;\n");
    }
    ox_strbuf_puts(out, "    esac\n}\n_onnxtool \"$@\"\n");
}

/* ---- fish --------------------------------------------------------------------------------------------------------- */

/* Inside single quotes of fish. */
static void fish_quoted(struct ox_strbuf *out, const char *text)
{
    ox_strbuf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            ox_strbuf_putc(out, '\\');
        ox_strbuf_putc(out, *text);
    }
    ox_strbuf_putc(out, '\'');
}

static void fish_option(struct ox_strbuf *out, const struct command *command, const struct opt *opt)
{
    ox_strbuf_printf(out, "complete -c onnxtool -n '__fish_seen_subcommand_from %s' -l %s",
                     command->name, opt->name);
    if (opt->letter)
        ox_strbuf_printf(out, " -s %c", opt->letter);
    if (opt->choices) {
        ox_strbuf_puts(out, " -x -a '");
        put_choices(out, opt->choices);
        ox_strbuf_putc(out, '\'');
    } else if (opt->type != OPT_FLAG) {
        ox_strbuf_puts(out, names_file(opt) ? " -r" : " -x");
    }
    ox_strbuf_puts(out, " -d ");
    fish_quoted(out, opt->help);
    ox_strbuf_putc(out, '\n');
}

static void fish(struct ox_strbuf *out)
{
    ox_strbuf_puts(out, "# fish completion for onnxtool: put it as onnxtool.fish into "
                        "~/.config/fish/completions\n");
    for (size_t i = 0; commands[i]; i++) {
        ox_strbuf_printf(out, "complete -c onnxtool -n __fish_use_subcommand -f -a %s -d ",
                         commands[i]->name);
        fish_quoted(out, commands[i]->summary);
        ox_strbuf_putc(out, '\n');
    }
    for (size_t i = 0; commands[i]; i++)
        each_option(out, commands[i], fish_option);
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static enum ox_status run(struct cli *cli, void *args, const char *const *operands,
                          size_t n_operands)
{
    static const struct {
        const char *name;
        void (*write)(struct ox_strbuf *out);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    (void)args;
    for (size_t i = 0; n_operands == 1 && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(operands[0], shells[i].name) == 0) {
            shells[i].write(&cli->out);
            return OX_OK;
        }
    return cli_fail(cli, OX_USAGE, "completion: one of bash, zsh and fish is asked for");
}

static const struct opt options[] = {OPT_END};

const struct command command_completion = {
    .name = "completion",
    .summary = "Print a script that completes command lines",
    .operands = "bash|zsh|fish",
    .description = "The script is made of the tables that parse the options, so it knows all "
                   "commands, options and choices of this very program.",
    .examples = "  . <(onnxtool completion bash)\n"
                "  onnxtool completion zsh > ~/.zfunc/_onnxtool\n"
                "  onnxtool completion fish > ~/.config/fish/completions/onnxtool.fish\n",
    .options = options,
    .run = run,
};
