/* Which commands there are. */
#include <string.h>

#include "cli.h"

#define OX_COMMAND(symbol, name) extern const struct command command_##symbol;
#include "commands.def"
#undef OX_COMMAND

const struct command *const commands[] = {
#define OX_COMMAND(symbol, name) &command_##symbol,
#include "commands.def"
#undef OX_COMMAND
    NULL};

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* What other programs call it. */
static const char *by_another_word(const char *word)
{
    static const char *const rows[][2] = {{"validate", "check"},
                                          {"verify", "check"},
                                          {"lint", "check"},
                                          {"inspect", "dump"},
                                          {"info", "dump"},
                                          {"show", "dump"},
                                          {"print", "dump"},
                                          {"view", "dump"},
                                          {"extract", "dump"},
                                          {"simplify", "optimize"},
                                          {"fold", "optimize"},
                                          {"fuse", "optimize"},
                                          {"fp16", "optimize"},
                                          {"compare", "parity"},
                                          {"debug", "parity"},
                                          {"bench", "run"},
                                          {"benchmark", "run"},
                                          {"profile", "run"},
                                          {"test", "run"},
                                          {"exec", "run"},
                                          {"rename", "edit"},
                                          {"compose", "merge"},
                                          {"concat", "merge"},
                                          {"version", "convert-opset"},
                                          {"upgrade", "convert-opset"},
                                          {"calibrate", "quantize-static"},
                                          {"pack", "external-data"},
                                          {"unpack", "external-data"},
                                          {"strip", "external-data"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], word) == 0)
            return rows[i][1];
    return NULL;
}

/* The name most alike, or that the word is a part of; NULL: none is near. */
static const char *nearest(const char *word)
{
    enum { MOST = sizeof commands / sizeof *commands, A_PART = 4 };
    const char *names[MOST] = {0};
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    const char *like = by_another_word(word);
    like = like ? like : opt_nearest(word, names, MOST);
    for (size_t i = 0; commands[i] && !like && strlen(word) >= A_PART; i++)
        like = strstr(names[i], word) ? names[i] : NULL;
    return like;
}

enum ox_status command_unknown(struct cli *cli, const char *word)
{
    const char *like = nearest(word);
    return like ? cli_fail(cli, OX_USAGE, "'%s' is no command; did you mean '%s'?", word, like)
                : cli_fail(cli, OX_USAGE, "'%s' is no command; 'onnxtool help' lists them", word);
}
