#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"

enum ox_status temp_folder_make(struct cli *cli, char *path)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(path, TEMP_FOLDER_BYTES, "%.4000s/onnxtool-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (mkdtemp(path))
        return OX_OK;
    enum ox_status status = cli_fail(cli, OX_IO, "%s: %s", path, strerror(errno));
    path[0] = '\0';
    return status;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void temp_folder_remove(const char *path)
{
    enum { OPEN_FOLDERS = 16 };
    if (path[0])
        nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}
