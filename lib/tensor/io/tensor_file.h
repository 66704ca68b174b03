/* What the forms of tensor files share: an open file lists its tensors; a form says how one of them is loaded. */
#ifndef OX_TENSOR_IO_TENSOR_FILE_H
#define OX_TENSOR_IO_TENSOR_FILE_H

#include "common/env.h"
#include "common/file.h"
#include "tensor/tensor.h"

struct ox_strmap;

enum { OX_NPY_MAX_RANK = 64 };

/* The bytes of a file; tensors that point into them hold a reference. */
struct ox_tensor_source {
    _Atomic uint32_t refs;
    struct ox_mapping mapping;
    bool borrowed; /* somebody else's bytes: no mapping */
};
/* NULL is nothing; the last one closes the mapping. */
void ox_tensor_source_unref(struct ox_tensor_source *source);

/* What an .npy header says. */
struct ox_npy_header {
    size_t bytes;      /* of magic, length and dictionary: where the elements begin */
    char kind;         /* numpy's letter: b i u f c U S V M m */
    size_t item_bytes; /* bytes of an element in the file */
    bool swapped;      /* not in this machine's byte order */
    bool fortran_order;
    enum ox_dtype dtype; /* that it is read as */
    unsigned rank;
    int64_t dims[OX_NPY_MAX_RANK];
    uint64_t payload_bytes;
};

/* Numpy's layout of the elements, as far as loading needs it. */
struct ox_npy_layout {
    size_t header_bytes;
    size_t item_bytes;
    uint64_t payload_bytes;
    char kind;
    bool swapped;
    bool fortran_order;
};

struct ox_zip_entry {
    const char *name; /* in the file, not NUL-terminated */
    size_t n_name;
    uint64_t at; /* where its data begin */
    uint64_t packed_bytes;
    uint64_t bytes;
    uint32_t crc;
    uint16_t method; /* 0 stored, 8 deflated */
};

struct ox_tensor_member {
    const char *name;
    enum ox_dtype dtype;
    unsigned rank;
    const int64_t *dims;
    struct ox_npy_layout npy;
    struct ox_zip_entry zip;
    uint64_t at;              /* raw, safetensors: where its bytes begin */
    struct ox_tensor *tensor; /* of a form that is read at once */
};

struct ox_tensor_file {
    struct ox_env *env;
    const char *path; /* for messages */
    struct ox_tensor_source *source;
    const uint8_t *data;
    size_t bytes;
    enum ox_tensor_format format;
    struct ox_arena arena; /* names, dims, members */
    size_t n;
    size_t capacity;
    struct ox_tensor_member *members;
    struct ox_strmap *names;
    enum ox_status (*load)(struct ox_tensor **out, struct ox_tensor_file *file,
                           const struct ox_tensor_member *member, struct ox_error *err);
};

/* Adds a member named name[0..n) (copied; OX_INPUT when there is one of that name); the pointer is good until the next. */
enum ox_status ox_tensor_file_add(struct ox_tensor_file *file, const char *name, size_t n,
                                  struct ox_tensor_member **member, struct ox_error *err);
enum ox_status ox_tensor_file_set_shape(struct ox_tensor_file *file,
                                        struct ox_tensor_member *member, enum ox_dtype dtype,
                                        unsigned rank, const int64_t *dims, struct ox_error *err);
/* A tensor over the file's own bytes. */
enum ox_status ox_tensor_file_borrow(struct ox_tensor **out, struct ox_tensor_file *file,
                                     const struct ox_tensor_member *member, uint64_t at,
                                     struct ox_error *err);
/* A tensor of elements packed as in raw_data from member->at on: over the file's own bytes where they can be used as they are. */
enum ox_status ox_tensor_file_packed(struct ox_tensor **out, struct ox_tensor_file *file,
                                     const struct ox_tensor_member *member, struct ox_error *err);
enum ox_status ox_tensor_file_no_memory(const struct ox_tensor_file *file, struct ox_error *err);
/* OX_INPUT: path, "at byte N", and the text. */
enum ox_status ox_tensor_file_fault(const struct ox_tensor_file *file, uint64_t at,
                                    struct ox_error *err, const char *format, ...) OX_PRINTF(4, 5);

/* Each fills the members of a file whose bytes are there, and sets load. */
enum ox_status ox_npy_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err);
enum ox_status ox_npz_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err);
enum ox_status ox_raw_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err);
enum ox_status ox_csv_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                           struct ox_error *err);
enum ox_status ox_json_tensors_open(struct ox_tensor_file *file,
                                    const struct ox_tensor_options *options, struct ox_error *err);
enum ox_status ox_safetensors_open(struct ox_tensor_file *file,
                                   const struct ox_tensor_options *options, struct ox_error *err);
enum ox_status ox_image_open(struct ox_tensor_file *file, const struct ox_tensor_options *options,
                             struct ox_error *err);

/* A number in text to one element; false when it is none or out of the range of an integer type. */
bool ox_element_parse(enum ox_dtype dtype, void *to, const char *text, size_t n);
/* The name of an element type in .safetensors, or NULL. */
const char *ox_safetensors_type(enum ox_dtype dtype);

#endif
