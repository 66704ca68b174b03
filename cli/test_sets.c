#include "test_sets.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_test_set(const struct dirent *entry)
{
    return strncmp(entry->d_name, "test_data_set_", 14) == 0;
}

static bool add(struct test_sets *sets, const char *dir, const char *member)
{
    char **more = realloc(sets->dirs, (sets->n + 1) * sizeof *more);
    struct ox_strbuf path = {0};
    if (!more)
        return false;
    sets->dirs = more;
    ox_strbuf_printf(&path, "%s%s%s", dir, member ? "/" : "", member ? member : "");
    if (path.failed)
        return false;
    sets->dirs[sets->n++] = path.data;
    return true;
}

enum ox_status test_sets_add(struct cli *cli, struct test_sets *sets, const char *dir)
{
    struct stat info;
    if (stat(dir, &info) != 0 || !S_ISDIR(info.st_mode))
        return cli_fail(cli, OX_INPUT, "%s: is no folder with test data", dir);
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_test_set, versionsort);
    bool fits = true;
    for (int i = 0; i < n; i++) {
        fits = fits && add(sets, dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (n <= 0)
        fits = add(sets, dir, NULL);
    return fits ? OX_OK : cli_fail(cli, OX_NO_MEMORY, "out of memory");
}

void test_sets_release(struct test_sets *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        free(sets->dirs[i]);
    free(sets->dirs);
}
