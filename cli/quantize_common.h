/* What quantize-dynamic and quantize-static share. */
#ifndef CLI_QUANTIZE_COMMON_H
#define CLI_QUANTIZE_COMMON_H

#include "progress.h"

/* Options of both. */
struct quantize_args {
    const char *out;
    int weight_type; /* index into QUANTIZE_TYPES */
    bool per_channel, reduce_range, symmetric_weights;
    struct opt_strings op_types, nodes, exclude;
    int processor; /* enum ox_quant_processor */
    int compat;    /* 1: ort */
    bool contrib;
    bool dry_run;
    const char *report;
    int format; /* enum quantize_output */
};

enum quantize_output { QUANTIZE_TEXT, QUANTIZE_JSON };

#define QUANTIZE_FORMATS "text|json"
#define QUANTIZE_COMPATS "none|ort"
#define QUANTIZE_PROCESSORS "any|exact|avx2-saturating"
#define QUANTIZE_PROCESSOR_HELP                                                                    \
    "what adds 8-bit products: exactly (VNNI, ARM), in pairs that saturate at 16 bits (x86 "       \
    "without VNNI), which larger scales of int8 weights then keep from happening, or either: "     \
    "by activations such as the model has they do not (default any)"

/* Fills the options from what both commands have; lists[] are to be freed after use. */
enum { QUANTIZE_LISTS = 3 };
enum ox_status quantize_options(struct cli *cli, const struct quantize_args *args,
                                struct ox_quant_options *options,
                                const char **lists[QUANTIZE_LISTS]);

/* The error of a node's first value: signal to noise in dB, 200: none, NaN: not measured. */
struct quantize_error {
    const char *node, *op_type, *value; /* of the float model */
    double own_db;                      /* of the node, fed with what float has */
    double rounded_db;                  /* of Q and DQ of the value */
    double gathered_db;                 /* with all that went wrong before */
};

struct quantize_errors {
    struct ox_parity *parity;
    struct ox_model *original, *quantized;
    struct quantize_error *rows; /* in the float model's order */
    size_t n;
    double original_s,
        quantized_s; /* a run on this machine, the quickest of some; 0: not measured */
};

/* ---- quantize_errors.c ---- */

/* Runs both models over at most so many of the samples (0: all). Release it also after a failure; zeroed, it has no rows. */
enum ox_status quantize_errors_find(struct quantize_errors *errors, struct cli *cli,
                                    const char *quantized, const char *original,
                                    const struct opt_strings *samples, uint64_t most,
                                    struct ox_error *err);
void quantize_errors_release(struct quantize_errors *errors);
/* The node with the largest error of its own; NULL. */
const struct quantize_error *quantize_errors_worst(const struct quantize_errors *errors);
/* graph: path. NULL: not measured. */
const struct quantize_error *quantize_error_of(const struct quantize_errors *errors,
                                               const char *graph, const char *node);
void quantize_errors_text(struct ox_strbuf *out, const struct quantize_errors *errors);
void quantize_errors_json(struct ox_json *json, const struct quantize_errors *errors);

/* ---- quantize_progress.c ---- */

struct quantize_progress {
    struct progress bar;
    bool
        partial; /* Ctrl-C ends the calibration between two samples, and the program only if it comes again */
};
void quantize_progress_begin(struct quantize_progress *progress, struct cli *cli, bool partial);
/* What ox_calibration_run() reports to: the bar with what is left. */
void quantize_progress_show(void *progress, uint64_t done, uint64_t total);
/* Whether Ctrl-C came. */
bool quantize_progress_end(const struct quantize_progress *progress);

/* ---- quantize_html.c ---- */

enum ox_status quantize_html(struct ox_strbuf *out, const char *model_path,
                             const struct ox_quant_report *report, struct quantize_errors *errors,
                             struct ox_error *err);

/* Table or JSON to standard output, and --report. samples: what errors are measured with for the report; NULL: they are not. */
enum ox_status quantize_report(struct cli *cli, const struct quantize_args *args, const char *model,
                               const struct opt_strings *samples,
                               const struct ox_quant_report *report);

/* Writes the model to --output, with its big tensors beside it where a message cannot hold them. */
enum ox_status quantize_save(struct cli *cli, const struct quantize_args *args,
                             struct ox_model *model);

#endif
