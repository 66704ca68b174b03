/* What `shape-infer` prints of a model's inferred shapes. */
#ifndef CLI_RENDER_SHAPES_H
#define CLI_RENDER_SHAPES_H

#include "cli.h"

/* A row a value. The message of a failure is out. */
enum ox_status render_shapes_table(struct cli *cli, struct ox_shapes *shapes, const char *model);
/* False: out of memory. */
bool render_shapes_json(struct cli *cli, struct ox_shapes *shapes, const char *model);

/* The steps from each of these values back to the cause; the worst status of them, with its message out. */
enum ox_status render_shapes_explained(struct cli *cli, struct ox_shapes *shapes,
                                       const struct opt_strings *names, bool as_json,
                                       const char *model);

#endif
