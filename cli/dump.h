/* What the files of `dump` share. */
#ifndef CLI_DUMP_H
#define CLI_DUMP_H

#include "cli.h"

struct dump_args {
    int format;
    int weights;
    bool json;
    bool data;
    bool values;
    bool histogram;
    struct opt_strings inputs;
    const char *graph;
    const char *node;
    const char *tensor;
    const char *extract;
    const char *output;
};

enum dump_format {
    DUMP_SUMMARY,
    DUMP_TEXT,
    DUMP_JSON,
    DUMP_TEXTPROTO,
    DUMP_NODES,
    DUMP_TENSORS,
    DUMP_DOT,
    DUMP_SVG,
    DUMP_HTML
};
#define DUMP_FORMATS "summary|text|json|textproto|nodes|tensors|dot|svg|html"

/* A model with what was inferred of it, or saved tensors. */
struct dumped {
    struct cli *cli;
    const struct dump_args *args;
    const char *path;
    struct ox_model *model;       /* NULL: saved tensors */
    struct ox_weight_list *saved; /* NULL: a model */
    struct ox_shapes *shapes;
    struct ox_costs *costs;
    struct ox_outfile *file; /* -o; NULL: standard output */
};

/* Writes out what has gathered in cli->out, to the file or to standard output. */
enum ox_status dump_flush(void *dumped, struct ox_strbuf *buf, struct ox_error *err);
/* dump_flush() when much has gathered; reports errors. */
enum ox_status dump_flush_some(struct dumped *d);

/* ---- render_summary.c ---- */
enum ox_status dump_summary(struct dumped *d);

/* ---- render_nodes.c ---- */
enum ox_status dump_nodes(struct dumped *d);
/* OX_USAGE when there is no such node. */
enum ox_status dump_node(struct dumped *d);

/* ---- render_tensors.c ---- */
enum ox_status dump_tensors(struct dumped *d);
enum ox_status dump_tensor(struct dumped *d);

/* Whether --graph asks for that path, or for none. */
bool dump_wants(const struct dumped *d, const char *graph);

#endif
