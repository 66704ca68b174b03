/* The .npy form, of which an .npz has one a member. */
#ifndef OX_TENSOR_IO_NPY_H
#define OX_TENSOR_IO_NPY_H

#include "tensor/io/tensor_file.h"

/* Magic, version and the length of the dictionary: how many bytes the whole header has. n >= 12 or all there is. */
enum ox_status ox_npy_header_bytes(const char *name, const uint8_t *bytes, size_t n,
                                   const struct ox_limits *limits, size_t *header_bytes,
                                   struct ox_error *err);
/* The header of that many bytes. assume: the type of numpy's void elements (OX_UNDEFINED: two bytes are bfloat16, one is
 * uint8). */
enum ox_status ox_npy_parse(struct ox_npy_header *header, const char *name, const uint8_t *bytes,
                            size_t n, enum ox_dtype assume, struct ox_error *err);
struct ox_npy_layout ox_npy_layout(const struct ox_npy_header *header);
/* True when the elements in the file are those of memory, but for bool, whose bytes may be any. */
bool ox_npy_is_plain(const struct ox_npy_layout *layout, unsigned rank);
/* Elements that are not plain, in raw (layout->payload_bytes, changed), to the tensor. */
enum ox_status ox_npy_decode(struct ox_tensor *tensor, const struct ox_npy_layout *layout,
                             uint8_t *raw, const char *name, struct ox_error *err);

/* Where bytes go. */
struct ox_sink {
    enum ox_status (*put)(void *to, const void *bytes, size_t n, struct ox_error *err);
    void *to;
};

/* The header that is written for a tensor, and its elements in pieces to the sink. OX_INPUT: strings too long. */
enum ox_status ox_npy_write_header(struct ox_strbuf *out, const struct ox_tensor *tensor,
                                   size_t *item_bytes, struct ox_error *err);
enum ox_status ox_npy_write_elements(const struct ox_tensor *tensor, size_t item_bytes,
                                     const struct ox_sink *sink, struct ox_error *err);

#endif
