/* Two models made one: the steps that the files of this folder share. Names are told apart first, then messages are put together
 * under these names and lifted. */
#ifndef OX_GRAPH_MERGER_H
#define OX_GRAPH_MERGER_H

#include "model/model.h"
#include "model/names.h"
#include "proto/onnx.pb-c.h"

enum { OX_MERGED = 2 };

/* One of the two. */
struct ox_merge_part {
    struct ox_merger *merger;
    struct ox_model *model;
    const char *prefix;                             /* "" for none */
    char letter;                                    /* of names that must be others: "a/..." */
    const char *auto_prefix;                        /* NULL: none was needed so far */
    struct ox_names values, nodes, dims, functions; /* functions: by "domain\nname\noverload" */
    const Onnx__GraphProto *graph;                  /* under the new names */
};

/* What feeds an input of the second model. */
struct ox_merge_feed {
    const struct ox_value
        *from; /* an output of the first, or the input that it shares; NULL: it stays an input */
};

struct ox_merger {
    const struct ox_merge_options *options;
    struct ox_merge_report *report;
    struct ox_merge_part parts[OX_MERGED];
    struct ox_merge_feed *feeds; /* by place among the second's inputs */
    bool *used; /* by place among the first's outputs: it is no output of the whole */
    struct ox_model *out;
    size_t n_problems;
    enum ox_status worst; /* of them */
    struct ox_error *err;
};

/* merge_report.c: what is told. */
enum ox_status ox_merge_no_room(const struct ox_merger *m);
/* A line among the problems; nothing is merged then. */
void ox_merge_problem(struct ox_merger *m, enum ox_status status, const char *format, ...)
    OX_PRINTF(3, 4);
/* A line among the notes. */
void ox_merge_note(struct ox_merger *m, const char *format, ...) OX_PRINTF(2, 3);

/* merge_ports.c: who feeds whom, and whether types agree. */
enum ox_status ox_merge_connect(struct ox_merger *m);
/* merge_names.c, merge_dims.c, merge_functions.c: what everything is called. */
enum ox_status ox_merge_name(struct ox_merger *m);
enum ox_status ox_merge_name_dims(struct ox_merger *m);
enum ox_status ox_merge_name_functions(struct ox_merger *m);
/* The name of a function, or of an operator that may be one, under the part's names; NULL: out of memory. */
const char *ox_merge_function(void *part, const char *domain, const char *name,
                              const char *overload);
/* The prefix that no name of either model begins with; NULL: out of memory. */
const char *ox_merge_auto_prefix(struct ox_merge_part *part);
/* merge_opsets.c: the versions that both can be read by. */
enum ox_status ox_merge_opsets(struct ox_merger *m, Onnx__ModelProto *whole);
/* merge_parts.c: the message of the whole. */
enum ox_status ox_merge_assemble(struct ox_merger *m);

#endif
