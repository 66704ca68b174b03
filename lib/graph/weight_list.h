/* The list of constants, as the files that fill it share it. */
#ifndef OX_GRAPH_WEIGHT_LIST_H
#define OX_GRAPH_WEIGHT_LIST_H

#include "common/arena.h"
#include "model/model.h"

/* One of saved data: in a file that reads it when it is asked for, or here. */
struct ox_saved_tensor {
    struct ox_tensor_file *file; /* NULL: `tensor` */
    size_t at;
    struct ox_tensor *tensor;
};

struct ox_weight_list {
    struct ox_env *env;
    const char *path; /* for messages; lives as long as the list */
    struct ox_arena arena;
    struct ox_weight *items; /* n of them */
    size_t n;
    struct ox_model *model; /* NULL: saved data */
    const struct ox_stored **stored;
    struct ox_saved_tensor *saved; /* NULL: of a model */
    struct ox_tensor_file **files; /* that `saved` names, n_files of them */
    size_t n_files, capacity;
};

#endif
