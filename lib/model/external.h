/* External data: the one place that resolves it, for every TensorProto wherever it stands. */
#ifndef OX_MODEL_EXTERNAL_H
#define OX_MODEL_EXTERNAL_H

#include "model/model.h"

struct ox_external_keys {
    const char *location; /* NULL: missing */
    uint64_t offset, length;
    bool has_offset, has_length;
    const char *checksum; /* SHA-1 of the file, 40 hexadecimal digits; NULL */
};

/* The entries of external_data. What can be read is set in any case. OX_INPUT: a key that is unknown or comes twice, a number
 * that is no canonical decimal, no location; the message names neither file nor tensor. err may be NULL. */
enum ox_status ox_external_keys(struct ox_external_keys *keys,
                                const struct Onnx__TensorProto *proto, struct ox_error *err);

/* The bytes of the file at `location` beneath the model's folder, opened under the rules of the environment and kept
 * until the model is released. */
enum ox_status ox_external_open(struct ox_model *model, const char *location,
                                const struct ox_mapping **map, struct ox_error *err);

/* As much as `need` bytes of a tensor's external data: its keys, the file, its length, its checksum. OX_INPUT. */
enum ox_status ox_external_find(struct ox_model *model, const struct ox_stored *stored,
                                uint64_t need, const uint8_t **bytes, struct ox_error *err);

void ox_externals_release(struct ox_externals *externals);

/* SHA-1 (FIPS 180-4), which the standard names for checksums of external data. */
void ox_sha1(const void *bytes, size_t n, uint8_t digest[20]);
/* The same a part at a time. */
struct ox_sha1 {
    uint32_t state[5];
    uint64_t bytes;
    uint8_t held[64];
};
void ox_sha1_init(struct ox_sha1 *sum);
void ox_sha1_add(struct ox_sha1 *sum, const void *bytes, size_t n);
void ox_sha1_end(struct ox_sha1 *sum, uint8_t digest[20]);

#endif
