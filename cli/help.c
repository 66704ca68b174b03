/* --help and the manual pages, from the same tables that options are read by. */
#include <string.h>

#include "common_options.h"

enum { HELP_INDENT = 26 };

/* Calls `each` for every paragraph of a description; verbatim ones start with two blanks. */
static void paragraphs(struct ox_strbuf *out, const char *text,
                       void (*each)(struct ox_strbuf *out, const char *text, size_t n,
                                    bool verbatim))
{
    while (*text) {
        const char *gap = strstr(text, "\n\n");
        size_t n = gap ? (size_t)(gap - text) : strlen(text);
        each(out, text, n, strncmp(text, "  ", 2) == 0);
        text += n;
        while (*text == '\n')
            text++;
    }
}

static void help_paragraph(struct ox_strbuf *out, const char *text, size_t n, bool verbatim)
{
    ox_strbuf_putc(out, '\n');
    if (!verbatim) {
        cli_wrap(out, text, n, 0, 0);
        return;
    }
    ox_strbuf_add(out, text, n);
    ox_strbuf_putc(out, '\n');
}

/* "text, json or sarif" */
static void list_choices(struct ox_strbuf *out, const char *choices)
{
    for (const char *at = choices;;) {
        size_t n = strcspn(at, "|");
        ox_strbuf_add(out, at, n);
        if (!at[n])
            return;
        at += n + 1;
        ox_strbuf_puts(out, strchr(at, '|') ? ", " : " or ");
    }
}

static void option_text(struct ox_strbuf *out, const struct opt *opt)
{
    ox_strbuf_clear(out);
    ox_strbuf_puts(out, opt->help);
    if (opt->type == OPT_CHOICE) {
        ox_strbuf_puts(out, " (");
        list_choices(out, opt->choices);
        ox_strbuf_putc(out, ')');
    }
}

static void help_options(struct ox_strbuf *out, const struct opt *opt)
{
    struct ox_strbuf text = {0};
    for (; opt && !opt_is_end(opt); opt++) {
        if (opt->type == OPT_SECTION) {
            ox_strbuf_printf(out, "\n%s:\n", opt->help);
            continue;
        }
        char head[128];
        char letter[8] = "    ";
        if (opt->letter)
            snprintf(letter, sizeof letter, "-%c, ", opt->letter);
        int n = snprintf(head, sizeof head, "  %s--%s%s%s", letter, opt->name, opt->arg ? " " : "",
                         opt->arg ? opt->arg : "");
        ox_strbuf_puts(out, head);
        if (n >= HELP_INDENT)
            ox_strbuf_printf(out, "\n%*s", HELP_INDENT, "");
        else
            ox_strbuf_printf(out, "%*s", HELP_INDENT - n, "");
        option_text(&text, opt);
        cli_wrap(out, ox_strbuf_text(&text, out), text.len, HELP_INDENT, HELP_INDENT);
    }
    ox_strbuf_release(&text);
}

static const char folders[] = "A folder stands for what lies beneath it and is called .onnx, "
                              ".onnxtxt, .onnxtext or .onnxjson.";

static void help_program(struct ox_strbuf *out)
{
    ox_strbuf_puts(out, "usage: onnxtool COMMAND [OPTIONS] MODEL...\n\n"
                        "Checks ONNX models, infers their shapes, shows what is in them and runs "
                        "them.\n\nCommands:\n");
    for (size_t i = 0; commands[i]; i++)
        ox_strbuf_printf(out, "  %-18s %s\n", commands[i]->name, commands[i]->summary);
    ox_strbuf_puts(out, "\n'onnxtool COMMAND --help' tells more of one. 'onnxtool --version' "
                        "prints the version.\n");
}

void help_print(struct ox_strbuf *out, const struct command *command)
{
    if (!command) {
        help_program(out);
        return;
    }
    ox_strbuf_printf(out, "usage: onnxtool %s [OPTIONS] %s\n\n%s.\n", command->name,
                     command->operands, command->summary);
    paragraphs(out, command->description, help_paragraph);
    if (command->several)
        paragraphs(out, folders, help_paragraph);
    if (command->options && !opt_is_end(command->options))
        ox_strbuf_puts(out, "\nOptions:\n");
    help_options(out, command->options);
    help_options(out, cli_common_options(command));
    if (command->examples)
        ox_strbuf_printf(out, "\nExamples:\n%s", command->examples);
}

/* ---- Manual pages: man(7) macros --------------------------------------------------------------------------------- */

/* Text with what roff would take for its own escaped. */
static void roff(struct ox_strbuf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\''))
            ox_strbuf_puts(out, "\\&");
        if (text[i] == '\\')
            ox_strbuf_puts(out, "\\e");
        else if (text[i] == '-')
            ox_strbuf_puts(out, "\\-");
        else
            ox_strbuf_putc(out, text[i]);
    }
}

static void man_paragraph(struct ox_strbuf *out, const char *text, size_t n, bool verbatim)
{
    ox_strbuf_puts(out, verbatim ? ".PP\n.nf\n" : ".PP\n");
    roff(out, text, n);
    ox_strbuf_puts(out, verbatim ? "\n.fi\n" : "\n");
}

static void man_options(struct ox_strbuf *out, const struct opt *opt)
{
    struct ox_strbuf text = {0};
    for (; opt && !opt_is_end(opt); opt++) {
        if (opt->type == OPT_SECTION) {
            ox_strbuf_printf(out, ".SS %s\n", opt->help);
            continue;
        }
        ox_strbuf_puts(out, ".TP\n");
        if (opt->letter)
            ox_strbuf_printf(out, "\\fB\\-%c\\fR, ", opt->letter);
        ox_strbuf_puts(out, "\\fB\\-\\-");
        roff(out, opt->name, strlen(opt->name));
        ox_strbuf_puts(out, "\\fR");
        if (opt->arg)
            ox_strbuf_printf(out, " \\fI%s\\fR", opt->arg);
        ox_strbuf_putc(out, '\n');
        option_text(&text, opt);
        roff(out, ox_strbuf_text(&text, out), text.len);
        ox_strbuf_puts(out, ".\n");
    }
    ox_strbuf_release(&text);
}

static const char exit_codes[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone; the model is good, the outputs agree.\n"
    ".TP\n1\nthe answer is no: the model is invalid, outputs differ.\n"
    ".TP\n2\nusage: unknown option, missing operand, contradictory options.\n"
    ".TP\n3\ninput: a file is missing, unreadable, truncated, or not what it should be.\n"
    ".TP\n4\nunsupported: an operator, type or engine that is not available; named.\n"
    ".TP\n5\nresources: out of memory, disk full, over a limit, out of time.\n"
    ".TP\n70\na bug in onnxtool.\n"
    ".PP\nWith several models the largest one counts.\n";

static const char environment[] =
    ".SH ENVIRONMENT\n"
    ".TP\n\\fBONNXTOOL_CPU\\fR\n"
    "keeps \\fBrun\\fR and all that runs models to the kernels of a lesser processor: c (plain C), "
    "avx2, avxvnni, avx512, vnni or amx; on 64-bit ARM c, neon or dotprod. Without it the best "
    "that the "
    "processor has serve.\n"
    ".TP\n\\fBNO_COLOR\\fR\nwhen set to anything, no colour unless \\fB\\-\\-color\\fR asks for "
    "it.\n"
    ".TP\n\\fBPATH\\fR\nwhere engines of \\fBparity\\fR are looked for, before libexec/onnxtool "
    "beside "
    "the program's folder: programs onnxtool\\-engine\\-NAME.\n"
    ".TP\n\\fBTMPDIR\\fR\nwhere engines exchange files with us, and what goes to a pipe is "
    "collected; /tmp without it.\n";

/* The form that lib/schema/operators_read.c reads. */
static const char schema_files[] =
    ".SH SCHEMA FILES\n"
    "\\fB\\-\\-schema\\fR \\fIFILE\\fR describes operators that no standard has. The checker then "
    "holds nodes against "
    "their signatures, and shapes are inferred by their formulas, with symbols where dimensions "
    "are symbols.\n"
    ".PP\n.nf\n"
    "<domain: \"com.acme\", version: 1>\n"
    "# Blurs, then crops to size; the border is in pixels.\n"
    "Crop <border: ints = [0, 0], mode: string, seed: int?>\n"
    "    (T[N, C, H, W] image, int64[2] size?, T[*S] others...)\n"
    "    => (T[N, C, size[0], size[1]] cropped, int64[K] kept?, T[N, P] rows?)\n"
    "    where T: float, float16, double; P = (H + 2 * border[0]) // 2\n"
    ".fi\n"
    ".PP\nA header stands before the operators of a domain; \\fBversion\\fR is the first one that "
    "they serve, and a second header "
    "may change them from a later version on. Words for types and comments are those of ONNX's "
    "textual syntax.\n"
    ".TP\nAttributes\n\\fBname: type\\fR is required, \\fBname: type?\\fR may be left out, "
    "\\fBname: type = "
    "value\\fR has a default. Types: int, float, string, ints, floats, strings, tensor, graph, "
    "...\n"
    ".TP\nInputs and outputs\nA type, its dimensions, a name. \\fBx?\\fR may be left out, "
    "\\fBx...\\fR are one or more, "
    "\\fBx...?\\fR any number; no brackets: nothing is said of the shape. Beside tensors: "
    "\\fBseq(float[N])\\fR, "
    "\\fBoptional(T)\\fR, \\fBoptional(seq(T))\\fR, \\fBsparse(float)\\fR. Any other word is a "
    "type variable, of all element "
    "types unless \\fBwhere\\fR lists some.\n"
    ".TP\nDimensions\n\\fB?\\fR is any size. \\fBN\\fR is bound by the first input that has it, "
    "and all others must equal it. "
    "\\fB*S\\fR is any number of dimensions, and \\fB*broadcast(S, R)\\fR what two such runs "
    "broadcast to. Else a formula: "
    "integers, + \\- * // %, min(a, b), max(a, b), ceil(a / b), parentheses; names of dimensions, "
    "attributes (an element of a list is "
    "\\fBborder[0]\\fR), integer inputs (\\fBsize[1]\\fR; their values, where they can be known), "
    "\\fBrank(image)\\fR. A name in an "
    "output that nothing binds is a size that only the data tell.\n"
    ".TP\nwhere\nParted by semicolons: the types of a variable, or a name for a formula.\n"
    ".PP\n\\fB\\-\\-op\\-library\\fR \\fIFILE\\fR runs them: a shared object with kernels for the "
    "interface in "
    "\\fIonnxtool_op.h\\fR, which has an example. It is loaded because you name it; nothing in a "
    "model can. Each call "
    "is a process of its own, so that a crash is an error that names the node, unless "
    "\\fB\\-\\-op\\-inside\\fR is given.\n";

static void man_program(struct ox_strbuf *out)
{
    ox_strbuf_puts(out,
                   ".TH ONNXTOOL 1 \"\" \"onnxtool " OX_VERSION "\" \"onnxtool\"\n"
                   ".SH NAME\nonnxtool \\- check, infer, show and run ONNX models\n"
                   ".SH SYNOPSIS\n.B onnxtool\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] \\fIMODEL\\fR...\n"
                   ".SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++)
        ox_strbuf_printf(out, ".TP\n\\fB%s\\fR\n%s.\n", commands[i]->name, commands[i]->summary);
    ox_strbuf_puts(
        out, ".SH OPTIONS\nEvery command takes these besides its own; those for several models, "
             "commands that take any number.\n");
    man_options(out, cli_common_options(NULL));
    ox_strbuf_puts(out, schema_files);
    ox_strbuf_puts(out, exit_codes);
    ox_strbuf_puts(out, environment);
    ox_strbuf_puts(out, ".SH SEE ALSO\n");
    for (size_t i = 0; commands[i]; i++)
        ox_strbuf_printf(out, "\\fBonnxtool\\-%s\\fR(1)%s\n", commands[i]->name,
                         commands[i + 1] ? "," : "");
}

static void man_list(struct ox_strbuf *out, const struct command *command)
{
    const char *term, *text;
    if (!command->list_title)
        return;
    ox_strbuf_printf(out, ".SH %s\n", command->list_title);
    for (size_t i = 0; command->list_entry(i, &term, &text); i++) {
        ox_strbuf_puts(out, ".TP\n\\fB");
        roff(out, term, strlen(term));
        ox_strbuf_puts(out, "\\fR\n");
        roff(out, text, strlen(text));
        ox_strbuf_puts(out, ".\n");
    }
}

void help_man(struct ox_strbuf *out, const struct command *command)
{
    if (!command) {
        man_program(out);
        return;
    }
    ox_strbuf_printf(out, ".TH ONNXTOOL\\-%s 1 \"\" \"onnxtool " OX_VERSION "\" \"onnxtool\"\n",
                     command->name);
    ox_strbuf_printf(out, ".SH NAME\nonnxtool\\-%s \\- ", command->name);
    roff(out, command->summary, strlen(command->summary));
    ox_strbuf_printf(out, "\n.SH SYNOPSIS\n.B onnxtool %s\n[\\fIOPTIONS\\fR] ", command->name);
    roff(out, command->operands, strlen(command->operands));
    ox_strbuf_puts(out, "\n.SH DESCRIPTION\n");
    paragraphs(out, command->description, man_paragraph);
    if (command->several)
        paragraphs(out, folders, man_paragraph);
    ox_strbuf_puts(out, ".SH OPTIONS\n");
    man_options(out, command->options);
    man_options(out, cli_common_options(command));
    man_list(out, command);
    ox_strbuf_puts(out, exit_codes);
    if (command->examples) {
        ox_strbuf_puts(out, ".SH EXAMPLES\n.nf\n");
        roff(out, command->examples, strlen(command->examples));
        ox_strbuf_puts(out, ".fi\n");
    }
    ox_strbuf_puts(out, ".SH SEE ALSO\n\\fBonnxtool\\fR(1)\n");
}
