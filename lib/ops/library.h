/* Between the files that call kernels of shared objects. */
#ifndef OX_OPS_LIBRARY_H
#define OX_OPS_LIBRARY_H

#include "onnxtool_op.h"
#include "ops/op.h"

struct onnxtool_call_v1 {
    struct ox_run *r;
    const struct onnxtool_op_v1 *kernel;
    const char *path; /* of the library */
    enum ox_status status;
    struct ox_error err; /* when status is not OX_OK */
};

/* Runs the kernel here; what came of it is in call->status and the run's outputs. */
void ox_library_call(struct onnxtool_call_v1 *call);
/* The same in a process of its own: a kernel that crashes, or never ends while the environment is cancelled, is an error. */
void ox_library_call_apart(struct onnxtool_call_v1 *call);

#endif
