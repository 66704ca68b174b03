/* onnxtool_op.h: kernels of custom operators, version 1 of the interface between onnxtool and a shared object.
 *
 * A shared object that is given by name (`onnxtool run --op-library FILE`, ox_env_add_library()) exports
 *
 *     const struct onnxtool_op_v1 *onnxtool_ops_v1(size_t *n);
 *
 * which returns a table of its operators and how many there are; the table stays as long as the object is loaded. This
 * header needs nothing else of onnxtool and is all that such an object is compiled with. It never changes but by new members
 * at the ends of structs, which `bytes` tells; what is incompatible will be onnxtool_ops_v2() beside it. C and C++.
 *
 * The smallest example, y = x + 1:
 *
 *     static int run_inc(const struct onnxtool_host_v1 *host, struct onnxtool_call_v1 *call)
 *     {
 *         struct onnxtool_tensor_v1 x;
 *         if (!host->input(call, 0, &x) || x.type != ONNXTOOL_FLOAT)
 *             return host->fail(call, "x is not float");
 *         float *y = host->output(call, 0, x.type, x.rank, x.dims);
 *         for (uint64_t i = 0; y && i < x.count; i++)
 *             y[i] = ((const float *)x.data)[i] + 1;
 *         return y ? 0 : 1;
 *     }
 *     static const struct onnxtool_op_v1 ops[] = {{sizeof ops[0], "com.acme", "Inc", 1, run_inc}};
 *     const struct onnxtool_op_v1 *onnxtool_ops_v1(size_t *n) { *n = 1; return ops; }
 *
 * Built by `cc -shared -fPIC -o inc.so inc.c`. */
#ifndef ONNXTOOL_OP_H
#define ONNXTOOL_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types are the numbers of TensorProto.DataType: some of them. */
enum {
    ONNXTOOL_FLOAT = 1,
    ONNXTOOL_UINT8 = 2,
    ONNXTOOL_INT8 = 3,
    ONNXTOOL_INT32 = 6,
    ONNXTOOL_INT64 = 7,
    ONNXTOOL_BOOL = 9,
    ONNXTOOL_FLOAT16 = 10,
    ONNXTOOL_DOUBLE = 11,
    ONNXTOOL_BFLOAT16 = 16
};

/* Dense and row-major. Types of less than 8 bits take a byte an element. Strings are not passed. */
struct onnxtool_tensor_v1 {
    int32_t type;
    uint32_t rank;
    const int64_t *dims; /* rank of them */
    uint64_t count;      /* elements: the product of dims */
    const void *data;    /* aligned for its elements; valid until the kernel returns */
};

/* A node that is being run. */
struct onnxtool_call_v1;

/* What a kernel may ask. All functions are called from the thread that called the kernel. */
struct onnxtool_host_v1 {
    size_t bytes; /* of this struct, as this onnxtool has it */

    /* The node's name ("" when it has none) and the version of its domain that the model imports. */
    const char *(*node_name)(const struct onnxtool_call_v1 *call);
    int64_t (*version)(const struct onnxtool_call_v1 *call);

    uint32_t (*n_inputs)(const struct onnxtool_call_v1 *call);
    uint32_t (*n_outputs)(const struct onnxtool_call_v1 *call);
    /* Nonzero and *tensor filled when input i is there, 0 when it is omitted. */
    int (*input)(const struct onnxtool_call_v1 *call, uint32_t i,
                 struct onnxtool_tensor_v1 *tensor);
    /* Nonzero when somebody reads output i. One that nobody does need not be made; all others must be. */
    int (*wants)(const struct onnxtool_call_v1 *call, uint32_t i);
    /* Makes output i and returns where its elements go (not NULL, also when there are none); NULL when it cannot be made: then
     * return nonzero at once, the reason is told. Once an output. */
    void *(*output)(struct onnxtool_call_v1 *call, uint32_t i, int32_t type, uint32_t rank,
                    const int64_t *dims);

    /* Attributes of the node; where it has none, the defaults of the schema file, else what is given here. */
    int64_t (*attr_int)(const struct onnxtool_call_v1 *call, const char *name, int64_t fallback);
    float (*attr_float)(const struct onnxtool_call_v1 *call, const char *name, float fallback);
    const char *(*attr_string)(const struct onnxtool_call_v1 *call, const char *name,
                               const char *fallback);
    /* NULL and *n 0 when there is none. */
    const int64_t *(*attr_ints)(const struct onnxtool_call_v1 *call, const char *name, size_t *n);
    const float *(*attr_floats)(const struct onnxtool_call_v1 *call, const char *name, size_t *n);

    /* Says why the kernel cannot go on. Returns nonzero, so that a kernel can end in `return host->fail(...)`. */
    int (*fail)(struct onnxtool_call_v1 *call, const char *message);
};

struct onnxtool_op_v1 {
    size_t bytes; /* sizeof(struct onnxtool_op_v1) */
    const char *domain;
    const char *name;
    int64_t since; /* serves from that version of the domain to the next row of that name */
    /* 0: done. May be called by several threads at a time, for different nodes or models. */
    int (*run)(const struct onnxtool_host_v1 *host, struct onnxtool_call_v1 *call);
};

/* What the shared object exports. */
const struct onnxtool_op_v1 *onnxtool_ops_v1(size_t *n);

#ifdef __cplusplus
}
#endif

#endif
