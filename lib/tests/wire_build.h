/* Protobuf bytes written by hand, for tests. */
#ifndef OX_TESTS_WIRE_BUILD_H
#define OX_TESTS_WIRE_BUILD_H

#include <stddef.h>
#include <stdint.h>

struct wire {
    uint8_t *data;
    size_t n, cap;
    size_t open[128]; /* starts of the messages begun */
    size_t depth;
};

void wire_release(struct wire *w);
void wire_raw(struct wire *w, const void *bytes, size_t n);
void wire_varint(struct wire *w, uint64_t value);
void wire_tag(struct wire *w, uint32_t field, unsigned type);
void wire_int(struct wire *w, uint32_t field, uint64_t value);
void wire_bytes(struct wire *w, uint32_t field, const void *bytes, size_t n);
void wire_text(struct wire *w, uint32_t field, const char *text);
void wire_float(struct wire *w, uint32_t field, float value);
/* A submessage: what is written until wire_end() is in it. */
void wire_begin(struct wire *w, uint32_t field);
void wire_end(struct wire *w);

/* A node: names separated by spaces, "_" is omitted. Left open: add attributes and call wire_end(). */
void wire_begin_node(struct wire *w, const char *op_type, const char *inputs, const char *outputs);
/* ValueInfo of a float tensor with these dims, as field 11 (input), 12 (output) or 13. */
void wire_value(struct wire *w, uint32_t field, const char *name, size_t rank, const int64_t *dims);
/* A float initializer in raw_data. */
void wire_init(struct wire *w, const char *name, size_t n, const float *values);
/* ir_version, opset import; then the main graph is begun. */
void wire_begin_model(struct wire *w);

/* x -> Relu -> h -> Add(h, w) -> y, with float w[2]; everything closed. */
void wire_small_model(struct wire *w);
/* local.f <alpha> (a) => (b) { b = Relu(a) }, for a begun model; overload may be NULL. */
void wire_function(struct wire *w, const char *overload);

#endif
