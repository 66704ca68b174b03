/* What quantize-dynamic and quantize-static share. */
#ifndef CLI_QUANTIZE_COMMON_H
#define CLI_QUANTIZE_COMMON_H

#include "cli.h"

/* Options of both. */
struct quantize_args {
    const char *out;
    int weight_type; /* index into QUANTIZE_TYPES */
    bool per_channel, reduce_range, symmetric_weights;
    struct opt_strings op_types, nodes, exclude;
    int compat; /* 1: ort */
    bool contrib;
    bool dry_run;
    const char *report;
    int format; /* enum quantize_output */
};

enum quantize_output { QUANTIZE_TEXT, QUANTIZE_JSON };

#define QUANTIZE_FORMATS "text|json"
#define QUANTIZE_COMPATS "none|ort"

/* Strings cut at commas; one allocation for text and pointers, to be freed. */
const char **quantize_split(const struct opt_strings *strings, size_t *n);

/* Fills the options from what both commands have; lists[] are to be freed after use. */
enum { QUANTIZE_LISTS = 3 };
enum ox_status quantize_options(struct cli *cli, const struct quantize_args *args,
                                struct ox_quant_options *options,
                                const char **lists[QUANTIZE_LISTS]);

/* Table or JSON to standard output, and --report. */
enum ox_status quantize_report(struct cli *cli, const struct quantize_args *args, const char *model,
                               const struct ox_quant_report *report);

/* Writes the model to --output, with its big tensors beside it where a message cannot hold them. */
enum ox_status quantize_save(struct cli *cli, const struct quantize_args *args,
                             struct ox_model *model);

#endif
