/* Folders with test data, as --test-data names them. */
#ifndef CLI_TEST_SETS_H
#define CLI_TEST_SETS_H

#include "cli.h"

struct test_sets {
    char **dirs;
    size_t n;
};

/* Adds the folders called test_data_set_* in `dir`, in the order of their numbers; `dir` itself where there are none. OX_INPUT with a
 * message: it is no folder. */
enum ox_status test_sets_add(struct cli *cli, struct test_sets *sets, const char *dir);
void test_sets_release(struct test_sets *sets);

#endif
