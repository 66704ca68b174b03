/* Zip archives, as far as .npz uses them: stored and deflated members, zip64. */
#ifndef OX_TENSOR_IO_ZIP_H
#define OX_TENSOR_IO_ZIP_H

#define ZLIB_CONST
#include <zlib.h>

#include "tensor/io/tensor_file.h"

/* The archive's directory, checked: every member lies within the file, and together they are no larger than it. The
 * entries are in the file's arena. */
enum ox_status ox_zip_list(struct ox_tensor_file *file, struct ox_zip_entry **entries, size_t *n,
                           struct ox_error *err);

enum { OX_ZIP_WINDOW = 1 << 14 };

/* A member's bytes, in order. */
struct ox_zip_stream {
    const struct ox_tensor_file *file;
    const struct ox_zip_entry *entry;
    uint64_t passed; /* bytes already given */
    uint64_t next;   /* packed byte that zlib has not seen */
    uint32_t crc;
    bool inflating;
    z_stream z;
    int fd;                        /* the file once more, to be read instead of the map; -1 */
    uint8_t window[OX_ZIP_WINDOW]; /* packed bytes read from it */
};

enum ox_status ox_zip_start(struct ox_zip_stream *stream, const struct ox_tensor_file *file,
                            const struct ox_zip_entry *entry, struct ox_error *err);
/* n bytes to `to`; OX_INPUT when the member has fewer or does not inflate. */
enum ox_status ox_zip_read(struct ox_zip_stream *stream, void *to, uint64_t n,
                           struct ox_error *err);
/* At its end: OX_INPUT when there is more, or its checksum is another. */
enum ox_status ox_zip_finish(struct ox_zip_stream *stream, struct ox_error *err);
void ox_zip_stop(struct ox_zip_stream *stream);

#endif
