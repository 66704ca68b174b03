/* Golden files of tensors for the tests: testdata/golden/tensors. */
#ifndef OX_TESTS_GOLDEN_H
#define OX_TESTS_GOLDEN_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor/tensor.h"

static inline void golden_path(char path[512], const char *name)
{
    const char *testdata = getenv("TESTDATA");
    snprintf(path, 512, "%s/golden/tensors/%s", testdata ? testdata : "testdata", name);
}

/* The tensor `member` of a golden file; its failure fails the test. */
static inline struct ox_tensor *golden_load(struct ox_env *env, const char *name,
                                            const struct ox_tensor_options *options,
                                            const char *member)
{
    char path[512];
    struct ox_error err;
    struct ox_tensor_file *file = NULL;
    struct ox_tensor *tensor = NULL;
    size_t i;
    golden_path(path, name);
    ck_assert_msg(ox_tensor_file_open(&file, env, path, options, &err) == OX_OK, "%s", err.message);
    ck_assert(ox_tensor_file_find(file, member, &i));
    ck_assert_msg(ox_tensor_file_load(&tensor, file, i, &err) == OX_OK, "%s", err.message);
    ox_tensor_file_release(file);
    return tensor;
}

/* Opens and loads all; the worst that is said. */
static inline enum ox_status load_all(struct ox_env *env, const char *name, const void *bytes,
                                      size_t n, const struct ox_tensor_options *options,
                                      struct ox_error *err)
{
    struct ox_tensor_file *file;
    enum ox_status worst = ox_tensor_file_open_memory(&file, env, name, bytes, n, options, err);
    if (worst != OX_OK)
        return worst;
    for (size_t i = 0; i < ox_tensor_file_count(file); i++) {
        struct ox_tensor *tensor;
        enum ox_status status = ox_tensor_file_load(&tensor, file, i, err);
        if (status == OX_OK)
            ox_tensor_release(tensor);
        else
            worst = status;
    }
    ox_tensor_file_release(file);
    return worst;
}

#endif
