/* The models that a command line names: operands, lines of --files-from, what lies in folders; of these a shard. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "batch.h"
#include "lines.h"

enum { FOLDERS_DEEP = 64 };

enum ox_status cli_read_shard(struct cli *cli, const char *text, size_t *first, size_t *n)
{
    unsigned i = 1, of = 1;
    int end = 0;
    if (text && (strspn(text, "0123456789/") != strlen(text) ||
                 sscanf(text, "%9u/%9u%n", &i, &of, &end) != 2 || text[end] || i < 1 || i > of))
        return cli_fail(cli, OX_USAGE, "--shard takes I/N, as 1/8 to 8/8, not '%s'", text);
    *first = i - 1;
    *n = of;
    return OX_OK;
}

static bool add(struct batch_names *names, const char *name)
{
    if (names->n == names->cap) {
        const size_t cap = names->cap ? 2 * names->cap : 16;
        char **grown = realloc(names->items, cap * sizeof *grown);
        if (!grown)
            return false;
        names->items = grown;
        names->cap = cap;
    }
    names->items[names->n] = strdup(name);
    names->n += names->items[names->n] != NULL;
    return names->n && names->items[names->n - 1];
}

/* ---- Folders ----------------------------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Other endings that a model may have stand for much else. */
static bool is_called_a_model(const char *name)
{
    static const char *const endings[] = {".onnx", ".onnxtxt", ".onnxtext", ".onnxjson"};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_link(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

static bool add_folder(struct batch_names *names, const char *folder, int depth);

/* Links to folders are not followed: they may lead in circles. */
static bool add_entry(struct batch_names *names, const char *folder, const char *entry, int depth)
{
    struct ox_strbuf path = {0};
    const size_t n = strlen(folder);
    ox_strbuf_printf(&path, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", entry);
    bool good = !path.failed;
    if (good && is_folder(path.data))
        good = depth == 0 || is_link(path.data) || add_folder(names, path.data, depth - 1);
    else if (good && is_called_a_model(entry))
        good = add(names, path.data);
    ox_strbuf_release(&path);
    return good;
}

static bool add_folder(struct batch_names *names, const char *folder, int depth)
{
    struct dirent **entries;
    const int n = scandir(folder, &entries, is_visible, versionsort);
    bool good = true;
    for (int i = 0; i < n; i++) {
        good = good && add_entry(names, folder, entries[i]->d_name, depth);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return good;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* A folder stands for the models in it; one without any for itself, so that it is told. */
static bool add_name(struct batch_names *names, const char *name)
{
    const size_t before = names->n;
    if (!is_folder(name))
        return add(names, name);
    names->several = true;
    return add_folder(names, name, FOLDERS_DEEP) && (names->n > before || add(names, name));
}

static void keep_shard(struct batch_names *names, size_t first, size_t step)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->n; i++) {
        if (i % step == first)
            names->items[kept++] = names->items[i];
        else
            free(names->items[i]);
    }
    names->n = kept;
}

enum ox_status batch_names_list(struct cli *cli, const char *const *operands, size_t n,
                                struct batch_names *names)
{
    const char *from = cli->common.files_from;
    size_t first = 0, step = 1;
    struct lines lines = {0};
    *names = (struct batch_names){0};
    enum ox_status status = cli_read_shard(cli, cli->common.shard, &first, &step);
    if (status == OX_OK && from)
        status = lines_read(cli, from, &lines);
    bool good = true;
    for (size_t i = 0; i < n && status == OX_OK && good; i++)
        good = add_name(names, operands[i]);
    for (size_t i = 0; i < lines.n && status == OX_OK && good; i++)
        good = !*lines.items[i] || add_name(names, lines.items[i]);
    lines_release(&lines);
    if (!good)
        status = cli_fail(cli, OX_NO_MEMORY, "out of memory");
    if (status == OX_OK && names->n == 0 && !from)
        status = cli_fail(cli, OX_USAGE, "%s: a model is needed ('onnxtool %s --help' tells more)",
                          cli->command->name, cli->command->name);
    names->several |= names->n > 1;
    keep_shard(names, first, step);
    return status;
}

void batch_names_release(struct batch_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct batch_names){0};
}
