/* onnxtool.h: the public interface of libonnxtool.
 *
 * Ownership, once for all: what a function named _new, _open or _load returns is the caller's and is given back with
 * the _release function of its type (NULL is fine). Strings and views reached through an object belong to
 * that object and live as long as it does. No function prints, exits or aborts because of its input.
 *
 * Errors: a function that can fail returns enum ox_status and takes a struct ox_error * last (it may be NULL). Results
 * are set only on OX_OK. The message in the error is complete: it names file, node, operator and tensor.
 *
 * Threads: an object may be used by one thread at a time; different objects by different threads. */
#ifndef ONNXTOOL_H
#define ONNXTOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OX_VERSION "0.1.0"

/* The release of the ONNX standard that schemas, types and limits are taken from. */
#define OX_ONNX_VERSION "1.23.2"
#define OX_ONNX_OPSET 28
#define OX_ONNX_IR_VERSION 14

#ifdef __GNUC__
#define OX_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define OX_PRINTF(format_index, first)
#endif

/* ---- Status ---------------------------------------------------------------------------------------------------- */

/* One list: enum, exit code of the program, text. */
#define OX_STATUS_LIST(X)                                                                          \
    X(OX_OK, 0, "ok")                                                                              \
    X(OX_NEGATIVE, 1, "the answer is no")                                                          \
    X(OX_USAGE, 2, "usage error")                                                                  \
    X(OX_INPUT, 3, "bad input")                                                                    \
    X(OX_UNSUPPORTED, 4, "unsupported")                                                            \
    X(OX_NO_MEMORY, 5, "out of memory")                                                            \
    X(OX_LIMIT, 5, "over a limit")                                                                 \
    X(OX_IO, 5, "input or output failed")                                                          \
    X(OX_CANCELLED, 5, "cancelled")                                                                \
    X(OX_INTERNAL, 70, "internal error")

enum ox_status {
#define OX_STATUS_ENUM(name, code, text) name,
    OX_STATUS_LIST(OX_STATUS_ENUM)
#undef OX_STATUS_ENUM
};

int ox_status_exit_code(enum ox_status status);
const char *ox_status_text(enum ox_status status);

enum { OX_ERROR_BYTES = 1024 };

/* Filled by the function that fails; fixed in size, so that running out of memory can be reported too. */
struct ox_error {
    enum ox_status status;
    char message[OX_ERROR_BYTES];
};

/* Makes *err (NULL is fine) "out of memory". Returns OX_NO_MEMORY. */
enum ox_status ox_no_memory(struct ox_error *err);

/* ---- Limits and environment ------------------------------------------------------------------------------------- */

/* name, default, meaning; 0 is no limit. Names are those of `--limit NAME=VALUE` with '_' for '-'. */
#define OX_LIMIT_LIST(X)                                                                           \
    X(message_bytes, 2147483647, "protobuf bytes of one message file")                             \
    X(nesting, 100, "nesting of protobuf messages")                                                \
    X(submessages, 20000000, "submessages in a file")                                              \
    X(memory_bytes, 8589934592, "memory for all that is held at a time")                           \
    X(functions, 10000, "model-local functions")                                                   \
    X(call_depth, 100, "depth of function calls")                                                  \
    X(expanded_nodes, 10000000, "nodes after expansion of functions")                              \
    X(rank_infer, 1024, "rank of a tensor when shapes are inferred")                               \
    X(rank_run, 64, "rank of a tensor when run")                                                   \
    X(loop_trips, 1000000000, "trips of a loop")                                                   \
    X(name_bytes, 256, "bytes of a name when printed")                                             \
    X(npy_header_bytes, 65536, "header of an .npy file")                                           \
    X(npz_members, 65535, "members of an .npz file")                                               \
    X(npz_ratio, 1100, "expansion of a deflated .npz member")                                      \
    X(json_depth, 100, "nesting of JSON")                                                          \
    X(safetensors_header_bytes, 100000000, "header of a .safetensors file")

struct ox_limits {
#define OX_LIMIT_FIELD(name, value, meaning) uint64_t name;
    OX_LIMIT_LIST(OX_LIMIT_FIELD)
#undef OX_LIMIT_FIELD
};

/* Sets the defaults; memory_bytes becomes the less of 8 GiB and 75 % of the machine's memory. */
void ox_limits_init(struct ox_limits *limits);
/* By name, '-' and '_' alike; false: there is no such limit. */
bool ox_limits_set(struct ox_limits *limits, const char *name, uint64_t value);
/* The names, for help: i < ox_limits_count(); meaning may be NULL. */
size_t ox_limits_count(void);
const char *ox_limits_name(size_t i, const char **meaning);

/* How external data may be reached. */
enum ox_external_mode {
    OX_EXTERNAL_CONTAIN, /* beneath the model's folder, without links (default) */
    OX_EXTERNAL_DENY,    /* none */
    OX_EXTERNAL_FOLLOW   /* links may be followed as long as they end within external_root */
};

/* What an open model, a session and their parts share: limits, the memory budget, the number of threads. Several models
 * may share one; it must outlive them. */
struct ox_env;

struct ox_env *ox_env_new(void); /* NULL when out of memory; limits at their defaults */
void ox_env_release(struct ox_env *env);
struct ox_limits *ox_env_limits(struct ox_env *env); /* change before anything is opened */
/* 0: the cores this process may use. Not while work is under way. */
void ox_env_set_threads(struct ox_env *env, unsigned n_threads);
void ox_env_set_external(struct ox_env *env, enum ox_external_mode mode, const char *root);
unsigned ox_env_threads(const struct ox_env *env);
void ox_env_cancel(
    struct ox_env *env); /* from any thread or signal handler: work ends with OX_CANCELLED */
uint64_t ox_env_memory_peak(const struct ox_env *env);
/* Whether the environment's ONNXTOOL_CPU, which keeps kernels to what a lesser processor has, may be that word: "c", "avx2",
 * "avx512", "vnni", "amx", "neon" or "dotprod". What is none of them limits nothing. */
bool ox_cpu_is_known(const char *word);
/* Whether this processor has what that word names. False for one that is not known. */
bool ox_cpu_is_here(const char *word);
/* The most that it has, as such a word. */
const char *ox_cpu_most(void);

/* ---- Byte strings and JSON out ---------------------------------------------------------------------------------- */

/* A growing string, always NUL-terminated once something was added. Failure is sticky: after an allocation failed
 * `failed` is set and additions do nothing, so that one test at the end is enough. */
struct ox_strbuf {
    char *data;
    size_t len;
    size_t cap;
    bool failed;
};

void ox_strbuf_init(struct ox_strbuf *buf);
void ox_strbuf_release(struct ox_strbuf *buf);
void ox_strbuf_clear(struct ox_strbuf *buf);
void ox_strbuf_add(struct ox_strbuf *buf, const void *bytes, size_t n);
void ox_strbuf_puts(struct ox_strbuf *buf, const char *text);
void ox_strbuf_putc(struct ox_strbuf *buf, char c);
void ox_strbuf_printf(struct ox_strbuf *buf, const char *format, ...) OX_PRINTF(2, 3);
/* What buf holds, "" when that is nothing, to become part of `into`, which fails when buf did (NULL: nothing does). */
const char *ox_strbuf_text(const struct ox_strbuf *buf, struct ox_strbuf *into);
/* A name from a file made safe to print: control characters, invalid UTF-8 and bidirectional overrides become \xNN,
 * and what is longer than max_bytes (0: no limit) ends in "...". */
void ox_strbuf_name(struct ox_strbuf *buf, const char *name, size_t max_bytes);
/* The same as text or attribute of HTML and XML 1.0: markup as entities, what XML cannot hold as \xNN too. */
void ox_strbuf_markup(struct ox_strbuf *buf, const char *text, size_t max_bytes);

/* A streaming JSON writer on a strbuf. Commas and quoting are its own; floats are written with the fewest digits that
 * read back the same, NaN and infinities as the strings "NaN", "Infinity", "-Infinity" (protobuf's JSON mapping). */
struct ox_json {
    struct ox_strbuf *out;
    unsigned depth;
    bool need_comma;
    bool pretty;
};

void ox_json_init(struct ox_json *json, struct ox_strbuf *out, bool pretty);
void ox_json_object(struct ox_json *json); /* { */
void ox_json_end_object(struct ox_json *json);
void ox_json_array(struct ox_json *json); /* [ */
void ox_json_end_array(struct ox_json *json);
void ox_json_key(struct ox_json *json, const char *key);
void ox_json_string(struct ox_json *json,
                    const char *text); /* NULL writes null; invalid UTF-8 becomes U+FFFD */
void ox_json_string_n(struct ox_json *json, const char *text, size_t n);
void ox_json_int(struct ox_json *json, int64_t value);
void ox_json_uint(struct ox_json *json, uint64_t value);
void ox_json_double(struct ox_json *json, double value);
void ox_json_float(struct ox_json *json, float value);
/* The member `key`: the number, or null where it is not finite. */
void ox_json_finite(struct ox_json *json, const char *key, double value);
void ox_json_bool(struct ox_json *json, bool value);
void ox_json_null(struct ox_json *json);

/* Numbers of a file that holds one JSON object: those of `keys` (n of them) in its member `object`, an object too; NaN where there is no
 * such number. OX_INPUT: no such file, or no JSON; OX_LIMIT, OX_NO_MEMORY. */
enum ox_status ox_json_file_numbers(struct ox_env *env, const char *path, const char *object,
                                    size_t n, const char *const *keys, double *values,
                                    struct ox_error *err);

/* Members of the JSON object that `text` is, by `keys` (n of them): values[i], which is initialized, becomes a string, or a number
 * as it is written; where there is no such member it stays. OX_INPUT: no object, or something follows it; OX_LIMIT: nested a hundred times;
 * OX_NO_MEMORY. */
enum ox_status ox_json_members(const char *text, size_t bytes, size_t n, const char *const *keys,
                               struct ox_strbuf *values, struct ox_error *err);

/* ---- Files out -------------------------------------------------------------------------------------------------- */

/* A file written beside its target and renamed onto it by _commit (fsync of file and folder). Until then the old file is
 * whole; _release without _commit removes the new one, and so do INT, TERM and HUP if the program calls
 * ox_outfile_cleanup() in its handler. "-" (standard output), devices and pipes are written when committed. A link
 * is replaced, not followed. Errors are OX_IO and name the path. */
struct ox_outfile;

enum ox_status ox_outfile_open(struct ox_outfile **out, const char *path, struct ox_error *err);
enum ox_status ox_outfile_write(struct ox_outfile *out, const void *bytes, size_t n,
                                struct ox_error *err);
uint64_t ox_outfile_position(const struct ox_outfile *out);
/* Writes at a place already passed (zip headers). */
enum ox_status ox_outfile_patch(struct ox_outfile *out, uint64_t at, const void *bytes, size_t n,
                                struct ox_error *err);
enum ox_status ox_outfile_commit(struct ox_outfile *out, struct ox_error *err);
void ox_outfile_release(struct ox_outfile *out);
/* Removes all temporary files that are open; async-signal-safe. */
void ox_outfile_cleanup(void);
/* Whole buffer to a file, atomically. */
enum ox_status ox_file_write(const char *path, const void *bytes, size_t n, struct ox_error *err);

/* Big input files are mapped. When another program cuts one short, reading it raises SIGBUS: a handler may ask which file
 * it was. The path, or NULL when the address is in no mapped file; async-signal-safe. */
const char *ox_mapping_at(const void *address);

/* ---- Element types ---------------------------------------------------------------------------------------------- */

/* Values are those of TensorProto.DataType; X(enum, value, bits, name, ONNX name): bits 0 is a string. */
#define OX_DTYPE_LIST(X)                                                                           \
    X(OX_UNDEFINED, 0, 0, "undefined", "UNDEFINED")                                                \
    X(OX_FLOAT32, 1, 32, "float32", "FLOAT")                                                       \
    X(OX_UINT8, 2, 8, "uint8", "UINT8")                                                            \
    X(OX_INT8, 3, 8, "int8", "INT8")                                                               \
    X(OX_UINT16, 4, 16, "uint16", "UINT16")                                                        \
    X(OX_INT16, 5, 16, "int16", "INT16")                                                           \
    X(OX_INT32, 6, 32, "int32", "INT32")                                                           \
    X(OX_INT64, 7, 64, "int64", "INT64")                                                           \
    X(OX_STRING, 8, 0, "string", "STRING")                                                         \
    X(OX_BOOL, 9, 8, "bool", "BOOL")                                                               \
    X(OX_FLOAT16, 10, 16, "float16", "FLOAT16")                                                    \
    X(OX_FLOAT64, 11, 64, "float64", "DOUBLE")                                                     \
    X(OX_UINT32, 12, 32, "uint32", "UINT32")                                                       \
    X(OX_UINT64, 13, 64, "uint64", "UINT64")                                                       \
    X(OX_COMPLEX64, 14, 64, "complex64", "COMPLEX64")                                              \
    X(OX_COMPLEX128, 15, 128, "complex128", "COMPLEX128")                                          \
    X(OX_BFLOAT16, 16, 16, "bfloat16", "BFLOAT16")                                                 \
    X(OX_FLOAT8E4M3FN, 17, 8, "float8e4m3fn", "FLOAT8E4M3FN")                                      \
    X(OX_FLOAT8E4M3FNUZ, 18, 8, "float8e4m3fnuz", "FLOAT8E4M3FNUZ")                                \
    X(OX_FLOAT8E5M2, 19, 8, "float8e5m2", "FLOAT8E5M2")                                            \
    X(OX_FLOAT8E5M2FNUZ, 20, 8, "float8e5m2fnuz", "FLOAT8E5M2FNUZ")                                \
    X(OX_UINT4, 21, 4, "uint4", "UINT4")                                                           \
    X(OX_INT4, 22, 4, "int4", "INT4")                                                              \
    X(OX_FLOAT4E2M1, 23, 4, "float4e2m1", "FLOAT4E2M1")                                            \
    X(OX_FLOAT8E8M0, 24, 8, "float8e8m0", "FLOAT8E8M0")                                            \
    X(OX_UINT2, 25, 2, "uint2", "UINT2")                                                           \
    X(OX_INT2, 26, 2, "int2", "INT2")                                                              \
    X(OX_FLOAT6E2M3, 27, 6, "float6e2m3", "FLOAT6E2M3")                                            \
    X(OX_FLOAT6E3M2, 28, 6, "float6e3m2", "FLOAT6E3M2")

enum ox_dtype {
#define OX_DTYPE_ENUM(name, value, bits, text, onnx_name) name = value,
    OX_DTYPE_LIST(OX_DTYPE_ENUM)
#undef OX_DTYPE_ENUM
        OX_N_DTYPES
};

const char *
ox_dtype_name(enum ox_dtype dtype); /* "float32"; "undefined" for anything that is no type */
/* Accepts the names of this list, ONNX's ("FLOAT"), and numpy's ("f4", "<i8"); false when it is none. */
bool ox_dtype_parse(const char *name, enum ox_dtype *dtype);
/* Bytes an element takes in memory (1 for sub-byte types, sizeof(struct ox_str) for strings); 0 for undefined. */
size_t ox_dtype_size(enum ox_dtype dtype);

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Dense, row-major, immutable, counted. Sub-byte types take a byte an element in memory. */
struct ox_tensor;

/* Copies `data` (packed as in memory; not for strings). */
enum ox_status ox_tensor_from_data(struct ox_tensor **out, struct ox_env *env, enum ox_dtype dtype,
                                   unsigned rank, const int64_t *dims, const void *data,
                                   struct ox_error *err);
enum ox_status ox_tensor_from_strings(struct ox_tensor **out, struct ox_env *env, unsigned rank,
                                      const int64_t *dims, const char *const *strings,
                                      struct ox_error *err);
void ox_tensor_release(struct ox_tensor *tensor);
enum ox_dtype ox_tensor_dtype(const struct ox_tensor *tensor);
unsigned ox_tensor_rank(const struct ox_tensor *tensor);
const int64_t *ox_tensor_dims(const struct ox_tensor *tensor);
size_t ox_tensor_count(const struct ox_tensor *tensor);
const void *ox_tensor_data(const struct ox_tensor *tensor);
/* Element i of a string tensor: not NUL-terminated. */
const char *ox_tensor_string(const struct ox_tensor *tensor, size_t i, size_t *n);

/* ---- Tensor files ----------------------------------------------------------------------------------------------- */

enum ox_tensor_format {
    OX_TENSORS_AUTO, /* by content, then by extension; raw when dims are given */
    OX_TENSORS_NPY,
    OX_TENSORS_NPZ,
    OX_TENSORS_JSON,
    OX_TENSORS_CSV,
    OX_TENSORS_RAW,
    OX_TENSORS_SAFETENSORS,
    OX_TENSORS_IMAGE,
    OX_TENSORS_PB /* recognised, not read here: protobuf is for the functions that take a model's data */
};

/* From a picture to a tensor: [1, channels, height, width] of float32, or uint8 where dtype says so. The arithmetic of
 * each step is Pillow's and torchvision's. */
struct ox_image_options {
    int64_t resize_height; /* antialiased bilinear; 0: as it is */
    int64_t
        resize_width; /* 0 while the height is not: the shorter side becomes that, and the ratio is kept */
    int64_t crop_height; /* from the middle, what is missing is black; 0: all */
    int64_t crop_width;  /* 0: as the height */
    double scale;        /* a value v of 0 to 255 becomes (v * scale - mean) / std; 0: 1 */
    double mean[4];
    double std[4];
    unsigned n_mean; /* 0: none; 1: for all channels; else one a channel */
    unsigned n_std;
    bool nhwc; /* [1, height, width, channels] */
    bool bgr;
    bool gray; /* one channel */
};

/* All zero is a good default. */
struct ox_tensor_options {
    enum ox_tensor_format format;
    /* The element type of what says nothing of its own: raw bytes, tables, plain JSON, numpy's void; of pictures. */
    enum ox_dtype dtype;
    unsigned rank; /* raw: the shape; one dimension may be -1 and is what fits the file */
    const int64_t *dims;
    bool
        columns; /* a table with a line of names: a tensor [rows, 1] a column instead of one [rows, columns] */
    struct ox_image_options image;
};

/* A file of tensors: all are listed when it is opened, each is read when it is asked for. */
struct ox_tensor_file;

/* path "-" is standard input. options may be NULL; they are not needed after the call. OX_INPUT: missing, or not what it
 * should be, with the byte offset; OX_UNSUPPORTED: a form or an element type that is not read; OX_LIMIT. */
enum ox_status ox_tensor_file_open(struct ox_tensor_file **out, struct ox_env *env,
                                   const char *path, const struct ox_tensor_options *options,
                                   struct ox_error *err);
/* The same for bytes that outlive the file and its tensors; name stands for the path. */
enum ox_status ox_tensor_file_open_memory(struct ox_tensor_file **out, struct ox_env *env,
                                          const char *name, const void *bytes, size_t n,
                                          const struct ox_tensor_options *options,
                                          struct ox_error *err);
/* Tensors that were loaded stay valid. */
void ox_tensor_file_release(struct ox_tensor_file *file);
enum ox_tensor_format ox_tensor_file_format(const struct ox_tensor_file *file);
size_t ox_tensor_file_count(const struct ox_tensor_file *file);
/* "" where the form has no names (.npy, raw, pictures, tables). */
const char *ox_tensor_file_name(const struct ox_tensor_file *file, size_t i);
/* false: no such name. */
bool ox_tensor_file_find(const struct ox_tensor_file *file, const char *name, size_t *i);
enum ox_dtype ox_tensor_file_dtype(const struct ox_tensor_file *file, size_t i);
unsigned ox_tensor_file_rank(const struct ox_tensor_file *file, size_t i);
const int64_t *ox_tensor_file_dims(const struct ox_tensor_file *file, size_t i);
enum ox_status ox_tensor_file_load(struct ox_tensor **out, struct ox_tensor_file *file, size_t i,
                                   struct ox_error *err);

/* The form that a path's extension asks for; OX_TENSORS_AUTO when it asks for none. */
enum ox_tensor_format ox_tensor_format_of(const char *path);
/* Writes n tensors in the form of the path's extension: .npz, .json and .safetensors hold any number, .npy, .csv and .bin
 * one; "-" is an .npz on standard output. 2- and 4-bit integers become 8-bit ones in .npy and .npz, bfloat16 and the 4- to
 * 8-bit floats numpy's void, as ml_dtypes has it. OX_UNSUPPORTED: a type that the form cannot hold. */
enum ox_status ox_tensors_write(const char *path, size_t n, const char *const *names,
                                const struct ox_tensor *const *tensors, struct ox_error *err);

/* An .npz written one tensor after the other, so that one at a time need be held. */
struct ox_npz_writer;
enum ox_status ox_npz_writer_open(struct ox_npz_writer **out, const char *path, bool deflate,
                                  struct ox_error *err);
/* OX_INPUT: the name is there already, or cannot be one. */
enum ox_status ox_npz_writer_add(struct ox_npz_writer *writer, const char *name,
                                 const struct ox_tensor *tensor, struct ox_error *err);
enum ox_status ox_npz_writer_commit(struct ox_npz_writer *writer, struct ox_error *err);
void ox_npz_writer_release(struct ox_npz_writer *writer); /* without commit nothing was written */

/* The elements as nested arrays: numbers, true and false, strings; complex numbers as pairs. */
void ox_json_elements(struct ox_json *json, const struct ox_tensor *tensor);

/* Element i as a number; of complex numbers the real part. Not for strings. */
double ox_tensor_element(const struct ox_tensor *tensor, size_t i);

/* Whatever flows along an edge: tensor, sparse tensor, sequence, optional, map. */
struct ox_datum;

enum ox_status ox_datum_of_tensor(struct ox_datum **out, const struct ox_tensor *tensor,
                                  struct ox_error *err);
void ox_datum_release(struct ox_datum *datum);
/* The same datum once more, to be released once more. */
struct ox_datum *ox_datum_ref(const struct ox_datum *datum);
const struct ox_tensor *
ox_datum_get_tensor(const struct ox_datum *datum); /* NULL when it is no tensor */

/* Values of any kind as arrays of a file that holds several by name (.npz, .json, .safetensors). A tensor is the array NAME; a
 * sequence NAME[0], NAME[1] and so on, or NAME[] without elements; a map NAME.keys and NAME.values; an optional NAME.some, or
 * NAME.none without elements. Kinds nest: NAME[0].keys. OX_UNSUPPORTED: a sparse tensor, or what ox_tensors_write() refuses. */
enum ox_status ox_values_write(const char *path, size_t n, const char *const *names,
                               struct ox_datum *const *values, struct ox_error *err);
/* The value of that name, of whichever kind its arrays make; *out is NULL where the file has none. */
enum ox_status ox_tensor_file_value(struct ox_datum **out, struct ox_tensor_file *file,
                                    const char *name, struct ox_error *err);

/* Type, shape and values for people: "float32[2] [1, 2]"; of large tensors the edges only, as numpy prints them. */
void ox_datum_print(struct ox_strbuf *out, const struct ox_datum *datum);
/* The members "type", "shape" and, if asked, "data" (nested arrays) into the object that is open. Sequences and
 * optionals have an array of such objects as "data"; sparse tensors and maps their parts under their names. */
void ox_datum_json(struct ox_json *json, const struct ox_datum *datum, bool with_data);

/* How near is near: |actual - expected| <= atol + rtol |expected|, infinities only when equal. */
struct ox_tolerance {
    double rtol, atol;
    bool nan_agrees; /* NaN with NaN */
};

struct ox_comparison {
    bool agree;
    uint64_t n_elements, n_mismatched;
    double max_abs, max_rel; /* over finite pairs; max_rel where expected is not 0 */
    double
        sqnr_db; /* 20 log10(|expected| / |actual - expected|); NaN: not of real floats alone, or NaN or infinite on one side */
    double largest; /* |expected| of those floats */
    char
        reason[512]; /* of the first disagreement: kind, type, shape, or element with both values */
};

/* Kinds, element types and shapes must be equal; bfloat16 is never held tighter than rtol 2^-6. OX_NO_MEMORY. */
enum ox_status ox_compare(const struct ox_datum *actual, const struct ox_datum *expected,
                          const struct ox_tolerance *tolerance, struct ox_comparison *result,
                          struct ox_error *err);

/* ---- Models ----------------------------------------------------------------------------------------------------- */

struct ox_model;
struct ox_graph;
struct ox_node;
struct ox_value;

/* Reads a model in any form recognised by content: protobuf, ONNX text, protobuf's JSON and text format. "-" is standard input. OX_INPUT: it
 * is no model; a model that breaks rules opens all the same (ox_check tells). */
enum ox_status ox_model_open(struct ox_model **out, struct ox_env *env, const char *path,
                             struct ox_error *err);
/* The bytes must outlive the model; external data is looked for beneath dir (NULL: there is none). */
enum ox_status ox_model_open_memory(struct ox_model **out, struct ox_env *env, const void *bytes,
                                    size_t n, const char *dir, struct ox_error *err);
void ox_model_release(struct ox_model *model);

/* Puts nodes behind those whose values they take, in all graphs, as some runtimes do when they load a model: the standard
 * wants files in that order, tools leave others. *changed (may be NULL) says whether one was not. What is in a cycle stays.
 * OX_NO_MEMORY. Not while sessions use the model. */
enum ox_status ox_model_sort(struct ox_model *model, bool *changed, struct ox_error *err);

/* TEXT is the standard's own syntax, TEXTPROTO protobuf's text format. */
enum ox_format {
    OX_FORMAT_AUTO,
    OX_FORMAT_PROTOBUF,
    OX_FORMAT_TEXT,
    OX_FORMAT_JSON,
    OX_FORMAT_TEXTPROTO
};

struct ox_save_options {
    enum ox_format format; /* AUTO: by the target's name */
    const char *
        external_location; /* write big tensors to this file beside the target; NULL: as they are, by reference */
    uint64_t external_threshold; /* bytes; 1024 */
    bool inline_external;        /* pull external data into the file */
};

/* Atomic: external data first, the model last. For a target in another folder the external files that it still names are
 * copied there; one that is there with other content is not overwritten (OX_IO). What was not changed is written as it
 * was: a file in protobuf's canonical order byte for byte, any other the same message field for field, unknown fields too.
 * OX_LIMIT when the message would pass 2^31 - 1 bytes. options may be NULL. */
enum ox_status ox_model_save(struct ox_model *model, const char *path,
                             const struct ox_save_options *options, struct ox_error *err);

/* A second model of the same graphs, which may be changed while the first stays as it is. Constant data, messages and
 * expressions are the first one's, which must outlive the copy. */
enum ox_status ox_model_copy(struct ox_model **out, const struct ox_model *model,
                             struct ox_error *err);

int64_t ox_model_ir_version(const struct ox_model *model);
/* Domain ("ai.onnx" for the default one) and version of opset import i. */
size_t ox_model_n_opsets(const struct ox_model *model);
const char *ox_model_opset(const struct ox_model *model, size_t i, int64_t *version);
/* Imports version 1 of com.microsoft where nodes are of that domain and the model does not name it, as onnxruntime does;
 * *assumed: it did. */
enum ox_status ox_model_assume_contrib(struct ox_model *model, bool *assumed, struct ox_error *err);

struct ox_model_size {
    uint64_t file_bytes;    /* of the model file */
    uint64_t payload_bytes; /* of them tensor data that was left in the file unread */
};
void ox_model_size(const struct ox_model *model, struct ox_model_size *size);

/* ---- Registry --------------------------------------------------------------------------------------------------- */

/* Every operator of the standard at every version, and onnxruntime's own: constant data. */

enum ox_param_option { OX_PARAM_SINGLE, OX_PARAM_OPTIONAL, OX_PARAM_VARIADIC };

struct ox_own_types;

struct ox_schema_param {
    const char *name;
    const char *type; /* "T", a constraint's name, or a concrete type: "tensor(int64)" */
    enum ox_param_option option;
    bool homogeneous;               /* of a variadic one: all of one type */
    unsigned min_arity;             /* of a variadic one */
    int16_t constraint;             /* index into constraints, -1 when `type` is concrete */
    uint16_t allowed;               /* index into the table of type sets: what may stand here */
    const struct ox_own_types *own; /* of an operator from a file: instead of `allowed`; NULL */
};

enum ox_default_kind {
    OX_DEFAULT_NONE,
    OX_DEFAULT_INT,
    OX_DEFAULT_FLOAT,
    OX_DEFAULT_STRING,
    OX_DEFAULT_INTS,
    OX_DEFAULT_FLOATS,
    OX_DEFAULT_STRINGS
};

struct ox_schema_attr {
    const char *name;
    unsigned char type; /* enum ox_attr_type, AttributeProto.AttributeType */
    bool required;
    enum ox_default_kind default_kind;
    int64_t i;
    float f;
    const char *s;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    size_t n;
};

struct ox_schema_constraint {
    const char *name;
    uint16_t allowed; /* index into the table of type sets */
};

/* A function body of the standard, serialized FunctionProto. */
struct ox_schema_body {
    const unsigned char *data;
    size_t bytes;
    int opset; /* the version of the operator's domain that it imports */
};

struct ox_schema {
    const char *domain; /* "" for ai.onnx */
    const char *name;
    int since;
    int until; /* the last version it serves before the next row of that name; 0: still current */
    bool deprecated;
    bool non_deterministic;
    bool has_function; /* the standard defines it by others, perhaps depending on its types */
    unsigned min_inputs, max_inputs, min_outputs, max_outputs; /* max UINT_MAX: any number */
    const struct ox_schema_param *inputs;
    size_t n_inputs;
    const struct ox_schema_param *outputs;
    size_t n_outputs;
    const struct ox_schema_attr *attrs; /* sorted by name */
    size_t n_attrs;
    const struct ox_schema_constraint *constraints;
    size_t n_constraints;
    const unsigned char *body; /* FunctionProto, serialized; NULL where it depends on the node */
    size_t body_bytes;
    int body_opset;                      /* of its import; may be newer than `since` */
    const struct ox_schema_body *bodies; /* all of them, oldest first; `body` is the first */
    size_t n_bodies;
};

/* What the operator means under that version of its domain; NULL: there is none (never was, not yet). Deprecated rows are
 * returned. */
const struct ox_schema *ox_schema_find(const char *domain, const char *name, int64_t opset);
/* The row that onnxruntime adds to a domain of the standard (SimplifiedLayerNormalization, LayerNormalization 1, ...): files
 * that it wrote have them, the standard does not. NULL: none. */
const struct ox_schema *ox_schema_find_foreign(const char *domain, const char *name, int64_t opset);
/* The row of exactly that version. */
const struct ox_schema *ox_schema_at(const char *domain, const char *name, int since);
/* All rows, sorted by domain, name, since. */
const struct ox_schema *ox_schema_rows(size_t *n);
/* Newest version known of a domain; 0: the domain is not known at all. */
int ox_schema_newest(const char *domain);
/* The first release of the standard that knew version `opset` of the domain ("1.12.0"); NULL: none does, or the domain has
 * no column in the standard's table of releases. */
const char *ox_schema_release_for_opset(const char *domain, int64_t opset);
const struct ox_schema_attr *ox_schema_attr(const struct ox_schema *schema, const char *name);
/* The name that is most alike, for "did you mean"; NULL. */
const char *ox_schema_similar(const char *domain, const char *name);

/* Type sets: sorted arrays of type strings as in the standard ("tensor(float)", "seq(tensor(int64))"). */
size_t ox_type_set(uint16_t set, const char *const **types);

/* A type as this program writes it: "tensor(float)" is float32, "seq(tensor(int64))" is seq(int64). */
void ox_schema_type_text(struct ox_strbuf *out, const char *type);
/* The types of a set as a list for people: one entry for all tensors in sequences, "seq(float32, int64)". Those that are in
 * `without` too are left out (NULL: none). */
void ox_schema_types_text(struct ox_strbuf *out, uint16_t set, const uint16_t *without);
const char *ox_schema_attr_type(const struct ox_schema_attr *attr); /* "INTS" */
/* Number, string or list; null when there is no default. */
void ox_schema_default_json(struct ox_json *json, const struct ox_schema_attr *attr);

enum ox_schema_part {
    OX_PART_OPERATOR,
    OX_PART_INPUT,
    OX_PART_OUTPUT,
    OX_PART_ATTRIBUTE,
    OX_PART_TYPES
};
const char *
ox_schema_part_name(enum ox_schema_part part); /* "input"; OX_PART_TYPES: "type constraint" */

struct ox_schema_change {
    enum ox_schema_part part;
    const char *name;     /* of the input, the attribute, ...; NULL: the operator itself */
    const char *property; /* "default", "option", ...; NULL: the whole was added or removed */
    const char *before;   /* as text; NULL: it was not there */
    const char *
        after; /* NULL: it is gone. Of property "types" these are the types lost and those gained */
};

/* What this program does with an operator's version. Checking is by the row itself; a capability is of all its types. */
struct ox_coverage {
    bool infer;     /* a shape rule, or the standard's body */
    bool reference; /* runs at -O0 ... */
    bool by_body;   /* ... as the standard's body */
    bool oracle;    /* runs in double precision */
    bool fast;      /* has a form of its own for -O2 */
};
void ox_schema_coverage(const struct ox_schema *schema, struct ox_coverage *coverage);

/* What differs between two rows, in the order of the enum. */
struct ox_schema_changes;

enum ox_status ox_schema_changes_new(struct ox_schema_changes **out, const struct ox_schema *from,
                                     const struct ox_schema *to, struct ox_error *err);
void ox_schema_changes_release(struct ox_schema_changes *changes);
size_t ox_schema_changes_count(const struct ox_schema_changes *changes);
const struct ox_schema_change *ox_schema_changes_at(const struct ox_schema_changes *changes,
                                                    size_t i);

/* ---- Custom operators -------------------------------------------------------------------------------------------- */

/* Operators that no standard has, read from a text file (its form: manual page onnxtool(1), "SCHEMA FILES"): what is done
 * with models of this environment takes their signatures and shape formulas as if they were the standard's. Files may
 * be added until the first model is opened. OX_INPUT names line and column, and refuses operators that are known. */
enum ox_status ox_env_add_schemas(struct ox_env *env, const char *path, struct ox_error *err);

enum ox_library_mode {
    OX_LIBRARY_APART, /* each call in a process of its own: a crash is an error that names the node (default) */
    OX_LIBRARY_INSIDE /* in this process: faster, and as safe as the library */
};

/* Kernels for custom operators from a shared object that exports onnxtool_ops_v1() (onnxtool_op.h). It is code, and runs with
 * all rights of this process: nothing in a model can name one. OX_INPUT: no such file, no such symbol, another version. */
enum ox_status ox_env_add_library(struct ox_env *env, const char *path, enum ox_library_mode mode,
                                  struct ox_error *err);

/* ---- Tensor protobuf files -------------------------------------------------------------------------------------- */

/* Test data as ONNX keeps it: a file holds one TensorProto, SequenceProto, OptionalProto, MapProto or SparseTensorProto
 * and does not say which. `type` does: how ox_port.type spells it ("float32[2]", "seq(float32)", "optional(...)",
 * "map(int64,float32)", "sparse(...)"; NULL and "?" are a tensor). */
enum ox_status ox_datum_read_pb(struct ox_datum **out, struct ox_env *env, const char *path,
                                const char *type, struct ox_error *err);
/* The message that fits the datum, under that name (NULL: without), whole or not at all. */
enum ox_status ox_datum_write_pb(const struct ox_datum *datum, const char *name, const char *path,
                                 struct ox_error *err);

/* ---- Printing models -------------------------------------------------------------------------------------------- */

enum ox_weights { OX_WEIGHTS_FULL, OX_WEIGHTS_SAMPLE, OX_WEIGHTS_NONE };

struct ox_model_print_options {
    enum ox_format format; /* OX_FORMAT_TEXT, OX_FORMAT_JSON or OX_FORMAT_TEXTPROTO */
    enum ox_weights
        weights; /* all values; of more than 16 only some at each end; or none of them */
    bool pretty; /* JSON in lines */
    /* Takes what has gathered and clears the buffer, so that it stays small; NULL: everything stays in it. */
    enum ox_status (*flush)(void *arg, struct ox_strbuf *buf, struct ox_error *err);
    void *flush_arg;
};

/* The model in the standard's textual syntax, protobuf's canonical JSON mapping or its text format, which ox_model_open() reads back if
 * all weights are in it. OX_NO_MEMORY, or what flush returns. */
enum ox_status ox_model_print(struct ox_strbuf *out, const struct ox_model *model,
                              const struct ox_model_print_options *options, struct ox_error *err);

/* ---- Checking --------------------------------------------------------------------------------------------------- */

enum ox_severity { OX_ERROR, OX_WARNING, OX_INFO };
const char *ox_severity_name(enum ox_severity severity);

struct ox_finding {
    const char *id; /* "node.unknown-op": stable */
    enum ox_severity severity;
    const char *message;                             /* one line, with the values at fault */
    const char *hint;                                /* what to do; NULL */
    const char *graph;                               /* path; "" is the main graph */
    const char *node, *op_type, *tensor, *attribute; /* NULL where it does not apply */
};

struct ox_check_options {
    bool full; /* types and shapes in strict mode too */
    bool lint; /* advice */
};

struct ox_findings;

/* Everything wrong, in one pass. OX_OK also for an invalid model: count the errors. */
enum ox_status ox_check(struct ox_findings **out, struct ox_model *model,
                        const struct ox_check_options *options, struct ox_error *err);
void ox_findings_release(struct ox_findings *findings);
size_t ox_findings_count(const struct ox_findings *findings);
const struct ox_finding *ox_findings_at(const struct ox_findings *findings, size_t i);
size_t ox_findings_errors(const struct ox_findings *findings);

/* A kind of finding: what `check --explain ID` prints and the manual lists. */
struct ox_finding_kind {
    const char *id;
    enum ox_severity severity;
    const char *title;
    const char *explanation;
};
const struct ox_finding_kind *ox_finding_kinds(size_t *n);

/* ---- Shapes ----------------------------------------------------------------------------------------------------- */

struct ox_shapes_options {
    bool strict;            /* contradictions are errors, not warnings */
    bool ignore_value_info; /* trust nothing stored but inputs' types */
    bool keep_names;        /* a dimension that must equal another stays under its own name */
    bool
        may_be_empty; /* open dimensions of inputs may be 0; else they are taken to be at least 1 */
    /* Dimensions of inputs, given: n_overrides names of inputs (NULL: the only one) or of their dimensions ("batch") ... */
    const char *const *input_names;
    /* ... and their dims: "1x3xHxW", with "?" for one that stays open; for a dimension its size, "8" */
    const char *const *input_dims;
    size_t n_overrides;
    /* Names of the inputs' dimensions, and of elements of short integer inputs ("size[0]", "k.value" of a scalar), that get a
     * number: n_symbols ... */
    const char *const *symbols;
    const int64_t *sizes; /* ... and those, at least 0 */
    size_t n_symbols;
};

/* Types and shapes of all values of a model, its subgraphs and functions. The model must outlive it and not be
 * changed. */
struct ox_shapes;

/* Contradictions go to findings (NULL: kept in the result). Fails only for lack of resources, or with OX_USAGE for dims that
 * fit no input. options may be NULL. */
enum ox_status ox_shapes_infer(struct ox_shapes **out, struct ox_model *model,
                               const struct ox_shapes_options *options,
                               struct ox_findings *findings, struct ox_error *err);
void ox_shapes_release(struct ox_shapes *shapes);
/* Those that were kept; NULL when the caller gave a list. */
const struct ox_findings *ox_shapes_findings(const struct ox_shapes *shapes);

struct ox_shape_entry {
    const char *graph; /* path; "" is the main graph, functions are "function domain:name" */
    const char *name;
    const char *type; /* "float32", "seq(float32)", ...; NULL: unknown */
    bool has_shape;   /* a tensor whose rank is known */
    unsigned rank;
    const int64_t *dims; /* -1: no number */
    const char *const
        *symbols;         /* "batch", "2*seq+1"; NULL where it is a number, or nothing is known */
    const char *producer; /* the node that makes it, its name or "#12"; NULL: input or constant */
    const char *op_type;  /* of the producer; NULL */
    bool is_input, is_constant;
    bool known;         /* type, rank and every dimension, be it as an expression */
    const char *reason; /* why not; NULL */
};

/* Main graph first, then subgraphs and functions; in each the inputs, constants, and what its nodes make, in order. */
size_t ox_shapes_count(const struct ox_shapes *shapes);
/* Entry i; its strings live until the next call. false: out of memory. */
bool ox_shapes_at(struct ox_shapes *shapes, size_t i, struct ox_shape_entry *entry);
size_t ox_shapes_unknown(const struct ox_shapes *shapes); /* how many are not known */

/* A value on the way back from one that is not known in full, or by a made-up name alone, to the cause. Strings live until
 * the callback returns. */
struct ox_shape_step {
    const char *graph, *name;
    const char *type;               /* "float32[batch,Loop_3.dim1]"; NULL: unknown */
    const char *producer, *op_type; /* NULL: an input or a constant */
    const char *rule; /* of the operator, by the opset that it is from: "Reshape-14"; NULL */
    bool is_input;
    const char *reason; /* why it is not known; NULL: it is, but for the names in it */
    const struct ox_shape_origin {
        const char *symbol, *text;
    } * origins; /* where names in its type, that no step before had, are from */
    size_t n_origins;
};

/* Calls on_step for each value of that name (main graph first), then for the one that it has its unknown or
 * made-up dimensions from, and so on, the cause last. OX_USAGE: there is no such value. */
enum ox_status ox_shapes_explain(struct ox_shapes *shapes, const char *name,
                                 enum ox_status (*on_step)(void *arg,
                                                           const struct ox_shape_step *step),
                                 void *arg, struct ox_error *err);

/* Declares in the model what was inferred, for ox_model_save(): value_info of every value that nodes make, and the shapes of
 * outputs. A stored entry that contradicts stays unless overwrite is set. */
enum ox_status ox_shapes_store(const struct ox_shapes *shapes, struct ox_model *model,
                               bool overwrite, struct ox_error *err);
/* Declares main inputs as they were inferred with, which must be numbers all, and the rest as ox_shapes_store() with overwrite.
 * OX_USAGE names an input's dimension that is still open. */
enum ox_status ox_shapes_freeze(const struct ox_shapes *shapes, struct ox_model *model,
                                struct ox_error *err);
/* Makes dimensions of inputs dynamic: dims as in ox_shapes_options, in which what was a number may be a name; a name alone is the
 * first dimension. Targets of Reshape and Expand that were written down for the old size are put right, declared types are
 * those inferred anew. OX_NEGATIVE: a constant elsewhere needs the old size, or a value would get another shape at the old size;
 * the model is then of no use. */
enum ox_status ox_shapes_free_dims(struct ox_model *model, const char *const *inputs,
                                   const char *const *dims, size_t n, struct ox_error *err);

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* An operator that a model needs and that is not available here. */
struct ox_missing_op {
    const char *domain; /* "" is ai.onnx */
    const char *op_type;
    int64_t opset;
    const char *reason; /* "unknown operator", "no kernel", "deprecated since opset 10", ... */
    const char *graph;  /* where it comes first: path ... */
    const char *node;   /* ... and label */
    size_t n_nodes;
};

/* All members may be 0. Strings and arrays need not outlive ox_session_new(). */
struct ox_run_options {
    int level;       /* 0: each node by its reference kernel; 1: folded; 2: fused and fast */
    bool oracle;     /* all floating arithmetic in double precision; outputs stay float64 ... */
    bool narrow;     /* ... unless this is set: then they are rounded to their declared types */
    bool all_values; /* every intermediate is an output too, after the graph's own */
    bool profile;    /* keep an event a node: ox_session_events() */
    /* Products of uint8 by int8 as onnxruntime has them on x86 processors without VNNI: pairs of them are added in 16 bits that
     * saturate. ConvInteger and int8 by int8 stay exact. Q/DQ around an operator is computed on integers at level 2 only. */
    bool saturating;
    bool once;     /* it will be run but once: pack only what pays within that run */
    uint64_t seed; /* for random operators without a seed of their own */
    const char *const *
        outputs; /* names of values to compute instead of the graph's outputs; what they do not need is */
    size_t n_outputs; /* not run. 0: the graph's outputs */
    /* Called for each operator that is missing, before OX_UNSUPPORTED is returned; NULL. */
    void (*on_missing)(void *arg, const struct ox_missing_op *op);
    void *missing_arg;
    /* Called with each value that a node of the main graph makes, as soon as it is made; anything but OX_OK ends the run. The
     * value may be kept with a reference. NULL. */
    enum ox_status (*on_value)(void *arg, const char *name, const struct ox_datum *value,
                               struct ox_error *err);
    /* The same (and with value_arg too) for what bodies of If, Loop and Scan are given and make, each time they run, where the
     * model runs as it stands. graph: the body's path. NULL. */
    enum ox_status (*on_body_value)(void *arg, const char *graph, const char *name,
                                    const struct ox_datum *value, struct ox_error *err);
    void *value_arg;
    /* The same, but before any node sees it: *value may be replaced by another of its type and shape (release the one, put
     * a reference to the other). NULL. */
    enum ox_status (*on_replace)(void *arg, const char *name, struct ox_datum **value,
                                 struct ox_error *err);
    void *replace_arg;
    bool
        lean; /* large constants are given back after each use: less memory, slower when run again */
    /* With on_value at level 1 and 2: values that it must see, as the model has them; what lies between may be fused away. 0: the
     * model runs as it stands. */
    const char *const *watched;
    size_t n_watched;
};

struct ox_session;

/* Plans the model's main graph; OX_UNSUPPORTED names every operator that is not available. The model must outlive the
 * session and not be changed. options may be NULL. */
enum ox_status ox_session_new(struct ox_session **out, struct ox_model *model,
                              const struct ox_run_options *options, struct ox_error *err);
void ox_session_release(struct ox_session *session);

/* An input or output as the model declares it. */
struct ox_port {
    const char *name;
    const char *type;    /* "float32[batch,3,224,224]", "seq(float32)"; "?" when not declared */
    bool required;       /* an input without a default */
    enum ox_dtype dtype; /* of a tensor; OX_UNDEFINED: no tensor, or not declared */
    bool has_rank;
    unsigned rank;
    const int64_t *dims;        /* -1: open */
    const char *const *symbols; /* names of the open ones; NULL elements */
};

/* Inputs that must be given come first (no initializer), those with a default after, each in the graph's order. */
size_t ox_session_n_inputs(const struct ox_session *session);
const struct ox_port *ox_session_input(const struct ox_session *session, size_t i);
const char *ox_session_input_name(const struct ox_session *session, size_t i);
bool ox_session_input_required(const struct ox_session *session, size_t i);
size_t ox_session_n_outputs(const struct ox_session *session);
const struct ox_port *ox_session_output(const struct ox_session *session, size_t i);
const char *ox_session_output_name(const struct ox_session *session, size_t i);

/* inputs: one for each session input, NULL for a default. outputs: filled with a datum for each output, each the
 * caller's to release (NULL: an intermediate, asked for by all_values, that was not made). OX_INPUT: an input's type or
 * shape does not fit, or a node failed on these values. */
enum ox_status ox_session_run(struct ox_session *session, struct ox_datum *const *inputs,
                              struct ox_datum **outputs, struct ox_error *err);

/* Input i drawn at random, the same for the same seed on every machine: real numbers standard normal, integers within what
 * they index where the model uses them so, masks 0 or 1. dims: one for each dimension; NULL: as declared, 1 where open.
 * OX_INPUT: an input that is no tensor or whose rank is not declared. */
enum ox_status ox_session_random_input(struct ox_session *session, size_t i, uint64_t seed,
                                       const int64_t *dims, struct ox_datum **out,
                                       struct ox_error *err);

enum ox_fill {
    OX_FILL_FIT, /* what the model can take, as ox_session_random_input() has it */
    OX_FILL_BETWEEN, /* numbers evenly between low and high, of integers both included; low == high: that number */
    OX_FILL_COUNT /* 0, 1, 2 ... along each row */
};

struct ox_draw {
    uint64_t seed;
    const int64_t *dims; /* rank of them, 64 at most; NULL: as declared, 1 where open */
    unsigned rank;
    enum ox_fill fill;
    double low, high;
};

/* The same as asked for. Of an optional its tensor, of a sequence two tensors. OX_INPUT: an input of another kind, or without dims
 * whose rank is not declared; OX_USAGE: dims of another rank than declared, and numbers that the input's type does not hold. */
enum ox_status ox_session_draw_input(struct ox_session *session, size_t i,
                                     const struct ox_draw *how, struct ox_datum **out,
                                     struct ox_error *err);

/* What the last run has to say of inputs that it took all the same, NULL: nothing. They may give a name of the model's dimensions
 * two sizes, which its names forbid, but not its operators. The session's, until the next run. */
const char *ox_session_warning(const struct ox_session *session);

struct ox_session_stats {
    uint64_t arena_bytes;   /* most that values between nodes took at a time, over all runs */
    uint64_t weights_bytes; /* constants loaded so far, mapped ones too */
    uint64_t n_nodes;       /* planned, functions and subgraphs expanded */
};
void ox_session_stats(const struct ox_session *session, struct ox_session_stats *stats);

/* What the last run spent on each node, in the order of their ends, if `profile` was asked; at most a million. */
struct ox_node_event {
    const char *graph; /* path; "" is the main graph */
    const char *node;  /* name, or "#12" */
    const char *op_type, *domain;
    uint64_t start_ns; /* since the run began */
    uint64_t ns;       /* what it holds of nested nodes included */
    uint64_t bytes;    /* of its outputs */
    uint64_t in_bytes; /* of its inputs, packed weights too */
    uint64_t macs;     /* multiply-adds of a product or convolution; 0: none, or not known */
    unsigned depth;    /* 0: main graph; one more for each call and subgraph */
};
const struct ox_node_event *ox_session_events(const struct ox_session *session, size_t *n);
/* Operations a second (a multiply-add is two) that one core reaches in registers alone in float32, tried in the next ten milliseconds. */
double ox_session_peak(void);

/* ---- Costs ------------------------------------------------------------------------------------------------------ */

/* What a node takes, all that it calls and holds included. A number that is not known in full counts what is known: at
 * least so much. */
struct ox_cost {
    uint64_t macs;       /* multiply-adds of products, convolutions, attention, recurrences */
    uint64_t parameters; /* elements of its constants; int64, bool and strings (shapes) left out */
    uint64_t output_bytes; /* of its outputs in memory, those of nested nodes left out */
    bool macs_known, output_known;
};

/* Of the main graph. Of an If the larger branch counts, a Loop as often as its trip count says. */
struct ox_cost_total {
    uint64_t macs;
    uint64_t parameters;   /* of all constants, each once */
    uint64_t weight_bytes; /* of all constants in the file, shapes too */
    uint64_t
        activation_bytes; /* most that inputs and values between nodes take at a time, in the file's order, nothing in
                                  place; what follows from constants alone is free */
    const char *activation_at; /* the node at which that is; NULL: none */
    bool macs_known, activation_known;
    uint64_t n_guessed; /* loops counted as one trip, for their number is not known */
};

/* A value at a node. */
struct ox_edge {
    const char *param; /* what the schema calls it; NULL: no schema */
    const char *name;  /* NULL: omitted */
    const char *type;  /* "float32[1,3,H,W]"; "?" where nothing is known */
    bool is_constant;
};

struct ox_attr_entry {
    const char *name, *type, *text; /* "kernel_shape", "ints", "[3, 3]"; strings in quotes */
};

struct ox_node_entry {
    const char *graph; /* path; "" is the main graph, functions are "function domain:name" */
    const char *label; /* name, or "#12" */
    uint64_t place;    /* in its graph, that 12 */
    const char *op_type;
    const char *domain; /* "" is ai.onnx */
    const char *doc;
    int64_t opset;
    const struct ox_edge *inputs, *outputs;
    size_t n_inputs, n_outputs;
    const struct ox_attr_entry *attrs;
    size_t n_attrs;
    struct ox_cost cost;
};

struct ox_costs;

/* Costs of all nodes by the shapes inferred. Model and shapes must outlive it. No weight is read. */
enum ox_status ox_costs_new(struct ox_costs **out, struct ox_model *model,
                            const struct ox_shapes *shapes, struct ox_error *err);
void ox_costs_release(struct ox_costs *costs);
const struct ox_cost_total *ox_costs_total(const struct ox_costs *costs);
/* All nodes: those of the main graph first, then subgraphs and functions. */
size_t ox_costs_count(const struct ox_costs *costs);
/* Node i; what it points to lives until the next call. Of lists in attributes at most `most` elements are shown; 0: no
 * attributes at all. false: out of memory. */
bool ox_costs_node(struct ox_costs *costs, size_t i, size_t most, struct ox_node_entry *entry);

/* ---- Weights ---------------------------------------------------------------------------------------------------- */

/* A constant tensor of the file: an initializer, or the value of a Constant node. Or one of saved data. */
struct ox_weight {
    const char *graph; /* path; of a folder of saved data the file's name */
    const char *name;
    const char *node; /* the Constant that holds it; NULL: an initializer */
    enum ox_dtype dtype;
    unsigned rank;
    const int64_t *dims;  /* as in the file: may be negative */
    uint64_t n, bytes;    /* elements; bytes when packed. 0 where dims or type make no sense */
    const char *part;     /* of a sparse one: "values", "indices"; NULL */
    const char *location; /* of external data; NULL */
    uint64_t offset;      /* in it */
};

/* Of numbers: over all that are neither NaN nor infinite. */
struct ox_weight_stats {
    bool numeric; /* false: strings, complex numbers; nothing else is set */
    uint64_t n, n_zeros, n_nans, n_infs;
    double min, max, mean, std;
};

/* Bits of what the model quantizes as it runs, 8 (or fewer) or 16, where it is several the least; 0: it does not. */
unsigned ox_model_code_bits(const struct ox_model *model);

struct ox_weight_list;
enum ox_status ox_weight_list_new(struct ox_weight_list **out, struct ox_model *model,
                                  struct ox_error *err);
/* The tensors of saved data: of a tensor file, of a .pb file as of ox_datum_read_pb(), whose kind is told by its content, or of
 * all such files in a folder. What has no name is called as its file; parts of sequences and maps as ox_values_write() has it, of sparse
 * tensors NAME.values and NAME.indices. Unless `surely`, *out is NULL where the path may be a model's. OX_INPUT, OX_LIMIT: damaged. */
enum ox_status ox_weight_list_of_data(struct ox_weight_list **out, struct ox_env *env,
                                      const char *path, bool surely, struct ox_error *err);
void ox_weight_list_release(struct ox_weight_list *weights);
size_t ox_weight_list_count(const struct ox_weight_list *weights);
const struct ox_weight *ox_weight_list_at(const struct ox_weight_list *weights, size_t i);
enum ox_status ox_weight_list_load(struct ox_tensor **out, const struct ox_weight_list *weights,
                                   size_t i, struct ox_error *err);
/* Read through once, or twice for a histogram: n_bins of equal width from min to max (bins NULL: none). What a tensor
 * takes is held only where its data can be no view of the file. */
enum ox_status ox_weight_list_stats(struct ox_weight_stats *stats,
                                    const struct ox_weight_list *weights, size_t i, uint64_t *bins,
                                    size_t n_bins, struct ox_error *err);

/* Axes along which two of each four neighbours are zeros (2:4 sparsity, as sparse tensor cores take weights), a bit each, of tensors of
 * numbers; 0: none, or its size is no multiple of four. `stats` are of ox_weight_list_stats(). */
enum ox_status ox_weight_list_sparse_axes(uint64_t *axes, const struct ox_weight_list *weights,
                                          size_t i, const struct ox_weight_stats *stats,
                                          struct ox_error *err);

struct ox_pruned {
    size_t n_weights; /* that are so sparse now, or were */
    size_t n_left;    /* whose size is no multiple of `of`, or that are summed along several axes */
    uint64_t n_zeroed; /* elements */
};

/* Of the weights of convolutions and products of floats, initializers, along the axis that is summed over, the `keep` largest of each
 * `of` neighbours stay (the first of equal ones) and the others become zeros. 0 < keep < of <= 64. */
enum ox_status ox_prune_weights(struct ox_model *model, unsigned keep, unsigned of,
                                struct ox_pruned *told, struct ox_error *err);
/* Initializers of which at least `share` is zeros (+0) and that are smaller so become sparse ones; n of them. OX_USAGE: the model's IR
 * version has none. */
enum ox_status ox_sparsify_initializers(struct ox_model *model, double share, size_t *n,
                                        struct ox_error *err);
/* ... and back, all. OX_INPUT: damaged. */
enum ox_status ox_densify_initializers(struct ox_model *model, size_t *n, struct ox_error *err);

/* ---- Summaries -------------------------------------------------------------------------------------------------- */

struct ox_summary_port {
    const char *name, *type; /* "float32[batch,3,224,224]" */
    bool has_default;        /* an input with an initializer */
};

struct ox_summary_op {
    const char *domain, *op_type;
    uint64_t n; /* in all graphs and functions */
};

struct ox_summary_graph {
    const char *path; /* "loop_1.body" */
    size_t n_nodes, n_inputs, n_outputs;
};

struct ox_summary_function {
    const char *domain, *name, *overload;
    size_t n_nodes;
    uint64_t n_calls; /* nodes that call it */
};

struct ox_summary_file {
    const char *location;
    uint64_t n_tensors, bytes; /* that lie in it */
    bool found;
    uint64_t file_bytes;
    const char *fault; /* why it is not found; NULL */
};

struct ox_summary_type {
    enum ox_dtype dtype;
    uint64_t n_tensors, n, bytes;
};

struct ox_summary_prop {
    const char *key, *value;
};

struct ox_summary_opset {
    const char *domain; /* "ai.onnx" for the default one */
    int64_t version;
};

struct ox_summary {
    const char *path;
    uint64_t file_bytes;
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc, *graph_name; /* "" where not set */
    const struct ox_summary_opset *opsets;
    const struct ox_summary_port *inputs, *outputs;
    const struct ox_summary_op *ops; /* the most frequent first */
    const struct ox_summary_graph *subgraphs;
    const struct ox_summary_function *functions;
    const struct ox_summary_file *files;   /* external data */
    const struct ox_summary_type *weights; /* constants by element type, the largest first */
    const struct ox_summary_prop *props;   /* metadata */
    size_t n_opsets, n_inputs, n_outputs, n_ops, n_subgraphs, n_functions, n_files, n_weights,
        n_props;
    uint64_t n_nodes;                  /* of the main graph */
    uint64_t n_nodes_all;              /* of subgraphs and functions too */
    uint64_t n_quantize, n_dequantize; /* QuantizeLinear, DequantizeLinear */
    uint64_t n_integer_ops; /* operators that compute in 8 bits: QLinearConv, MatMulInteger, ... */
    uint64_t n_annotations; /* quantization_annotation entries */
    uint64_t n_training;    /* training_info entries */
    struct ox_cost_total cost;
    uint64_t n_values, n_unknown; /* values, and those whose shape is not known in full */
};

/* Freed by ox_summary_release(). Model, shapes and costs must outlive it. No weight is read. */
enum ox_status ox_summary_new(struct ox_summary **out, struct ox_model *model,
                              struct ox_shapes *shapes, const struct ox_costs *costs,
                              struct ox_error *err);
void ox_summary_release(struct ox_summary *summary);

/* ---- Drawing ---------------------------------------------------------------------------------------------------- */

enum ox_drawing { OX_DRAW_DOT, OX_DRAW_SVG, OX_DRAW_HTML };

struct ox_draw_options {
    enum ox_drawing form;
    const char *graph; /* path of the one to draw; NULL: the main graph. HTML has them all */
    bool no_weights;   /* HTML: leave out what weights must be read for */
    /* The colour of a node's box as 0xRRGGBB, by the path of its graph and its label; negative: that of its type. NULL. */
    long (*tint)(void *arg, const char *graph, const char *node);
    void *tint_arg;
    /* As in ox_model_print_options. */
    enum ox_status (*flush)(void *arg, struct ox_strbuf *buf, struct ox_error *err);
    void *flush_arg;
};

/* The graph for Graphviz, as a picture, or as one page that needs nothing else. No text of the model can become markup
 * or script. OX_USAGE: there is no such graph. */
enum ox_status ox_draw(struct ox_strbuf *out, struct ox_model *model, struct ox_shapes *shapes,
                       struct ox_costs *costs, const struct ox_draw_options *options,
                       struct ox_error *err);

/* ---- Extracting ------------------------------------------------------------------------------------------------- */

/* Cuts the model down to the nodes of its main graph that `outputs` need when `inputs` are given: names of values, which
 * become inputs and outputs of the graph. Functions and opset imports stay where they are used, weights where they are:
 * ox_model_save() streams them. shapes (of the whole model, as it was; not to be used any more) give the types of what
 * had none. n_inputs 0: the graph's own inputs, as far as they are needed. OX_USAGE: there is no such value, it is needed
 * but cut off, or one is given that no output needs. */
enum ox_status ox_extract(struct ox_model *model, const struct ox_shapes *shapes,
                          const char *const *inputs, size_t n_inputs, const char *const *outputs,
                          size_t n_outputs, struct ox_error *err);

/* ---- Reducing --------------------------------------------------------------------------------------------------- */

enum ox_reduce_verdict {
    OX_PASSES, /* what is looked for does not show */
    OX_FAILS,  /* it does */
    OX_STOP    /* that is enough: the smallest so far is the result */
};

struct ox_reduce_options {
    /* What a part of the model does. It may be saved, but neither changed nor kept. Any status but OX_OK ends the search. */
    enum ox_status (*check)(void *arg, struct ox_model *part, enum ox_reduce_verdict *verdict,
                            struct ox_error *err);
    /* Fills `values` (of names of the main graph, NULL before) with what one run of that model makes of them, as far as it can: each
     * the caller's to release. NULL: what is cut off becomes inputs alone. */
    enum ox_status (*record)(void *arg, struct ox_model *model, const char *const *names, size_t n,
                             struct ox_datum **values, struct ox_error *err);
    void *arg;
    bool constants_alone; /* the model's own inputs are all: what is cut off becomes constants */
};

struct ox_reduced {
    size_t n_checks;                /* that were made */
    size_t n_spared;                /* parts that were known, or are no valid model */
    size_t n_nodes_before, n_nodes; /* those in subgraphs and functions included, constants not */
    size_t n_constants;             /* values that were recorded */
    bool whole;                     /* nothing stopped it: no single node can go */
};

struct ox_reduction;
/* The smallest part of a model that still fails, found by halving where that leads on, else step by step: of its outputs those that
 * are needed, up to the first value that fails; then from where; then without any nodes in between; functions and the bodies of If, Loop and
 * Scan put where they are used. What enters a part becomes an input, where that will not do a constant. Parts are valid models, if the
 * whole is one, and the same question is asked but once. The model is sorted (ox_model_sort()), stays as it is and must outlive the result.
 * OX_NEGATIVE: the whole does not fail. *told is set in any case. */
enum ox_status ox_reduce(struct ox_reduction **out, struct ox_model *model,
                         const struct ox_reduce_options *options, struct ox_reduced *told,
                         struct ox_error *err);

/* Good until the release. */
struct ox_model *ox_reduction_model(const struct ox_reduction *reduction);
void ox_reduction_release(struct ox_reduction *reduction);

/* ---- Merging ---------------------------------------------------------------------------------------------------- */

/* An output of the first model, and the input of the second that it becomes. */
struct ox_name_pair {
    const char *from, *to;
};

struct ox_merge_options {
    const struct ox_name_pair
        *pairs; /* n_pairs 0 and not apart: outputs and inputs of the same name, or the only two */
    size_t n_pairs;
    bool apart;                /* connect nothing but `pairs` */
    const char *const *shared; /* inputs that both models have and that become one */
    size_t n_shared;
    const char *prefixes
        [2]; /* put before all names of values and nodes of the first and of the second model; NULL */
};

struct ox_merge_report {
    size_t n_connected, n_shared;
    size_t n_renamed_values, n_renamed_nodes,
        n_renamed_functions;          /* because both models have the name */
    bool external;                    /* a model has external data */
    struct ox_strbuf notes, problems; /* a line each */
};
void ox_merge_report_release(struct ox_merge_report *report);

/* One model of two: outputs of `a` feed inputs of `b`; the other inputs and outputs of both are the whole's, under their names (and prefixes).
 * What else is called alike is renamed in one of the two; names of dimensions too, unless a connection says that they are the
 * same. Types of what is connected must agree, and one version of each operator set must mean the same to both. Models as they were
 * opened, which must outlive the result: it has their data, external data as views of the files, and is for ox_model_save() or
 * ox_external_pack(). `report` is zeroed before and is to be released in any case. OX_USAGE, OX_NEGATIVE: report->problems, all of them. */
enum ox_status ox_merge(struct ox_model **out, struct ox_model *a, struct ox_model *b,
                        const struct ox_merge_options *options, struct ox_merge_report *report,
                        struct ox_error *err);

/* ---- Editing ---------------------------------------------------------------------------------------------------- */

struct ox_relabel_options {
    const char *
        prefix; /* before the names of all values and nodes that `values` and `nodes` do not name; NULL */
    const struct ox_name_pair *values, *nodes, *dims; /* old names and new ones */
    size_t n_values, n_nodes, n_dims;
    const struct ox_name_pair *metadata; /* keys and values; an empty one takes the key out */
    size_t n_metadata;
    int64_t ir_version;  /* 0: as it is */
    bool free_constants; /* initializers are no inputs: IR versions before 4 asked for that */
};

struct ox_relabeled {
    size_t n_values, n_nodes, n_dims; /* names that are others; texts of dimensions */
    size_t n_inputs;                  /* that were constants */
};

/* The model as it was opened under other names, in all graphs but functions' bodies; it must outlive the result, whose data it has. OX_USAGE:
 * a name is not there, or two would be the same. */
enum ox_status ox_relabel(struct ox_model **out, struct ox_model *model,
                          const struct ox_relabel_options *options, struct ox_relabeled *told,
                          struct ox_error *err);

/* Puts operators behind a value of the main graph, for all that take it: an operator of one input, "Cast<to = 10>", or a graph in the textual
 * syntax, "(x) => (y) { y = Neg(x) }", read by the versions that the model imports. An input and a constant keep their names, else what
 * comes out has the value's. OX_USAGE: there is no such value, or the text is neither; OX_NEGATIVE: an output's type is not known then;
 * OX_UNSUPPORTED: a subgraph takes the input. After a failure the model is good for nothing. */
enum ox_status ox_insert(struct ox_model *model, const char *value, const char *text,
                         struct ox_error *err);

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

/* What is told of a pair of values: X(field, name, unit), each a double. Of differences d = |a - b| against the reference b, in
 * double precision, of 64-bit integers exactly. NaN where it means nothing (no elements, no numbers). */
#define OX_METRIC_LIST(X)                                                                          \
    X(max_abs, "max_abs", "") /* NaN and infinite as the differences are */                        \
    X(mean_abs, "mean_abs", "")                                                                    \
    X(max_rel, "max_rel", "") /* d / |b| where b is not 0 */                                       \
    X(mean_rel, "mean_rel", "")                                                                    \
    X(rmse, "rmse", "")                                                                            \
    X(cosine, "cosine", "")                                                                        \
    X(sqnr_db, "sqnr_db", "dB")     /* 20 log10(|b| / |a - b|) */                                  \
    X(psnr_db, "psnr_db", "dB")     /* against the largest |b| */                                  \
    X(mismatched, "mismatched", "") /* share of elements that depart */                            \
    X(ulp_p50, "ulp_p50", "ULP")    /* of the coarser of both types; within 1/16 */                \
    X(ulp_p90, "ulp_p90", "ULP")                                                                   \
    X(ulp_p99, "ulp_p99", "ULP")                                                                   \
    X(ulp_max, "ulp_max", "ULP")                                                                   \
    X(top1, "top1", "") /* share of rows (last axis) whose largest element is the same */          \
    X(top5, "top5", "") /* share of the five largest of each row that are the same */

/* How a verdict comes about. d is held against atol and d / |b| against rtol; all but ALLCLOSE are Polygraphy's
 * rules: it departs when both are passed, by an element, by the largest ones, their means, medians or `quantile`s (of complex numbers and
 * where one side alone is NaN or infinite by an element). */
enum ox_agreement {
    OX_AGREE_ALLCLOSE, /* d <= atol + rtol |b| for each element */
    OX_AGREE_ELEMENT,
    OX_AGREE_MAX,
    OX_AGREE_MEAN,
    OX_AGREE_MEDIAN,
    OX_AGREE_QUANTILE
};

struct ox_metrics_options {
    struct ox_tolerance tolerance;
    enum ox_agreement agreement;
    double quantile; /* of OX_AGREE_QUANTILE: a share, 0.99 */
    bool detail;     /* also ULPs, top-1, top-5 and the histogram, which cost more than the rest */
};

enum { OX_ERROR_BINS = 24, OX_WORST_RANK = 16, OX_VALUE_TEXT = 64 };

/* The element with the largest difference, or the first that is NaN or infinite on one side. */
struct ox_worst {
    bool found; /* something differs */
    bool bad;   /* NaN or infinite */
    uint64_t sample;
    unsigned rank;
    int64_t index[OX_WORST_RANK]; /* of ranks up to OX_WORST_RANK */
    double a, b;
    char a_text[OX_VALUE_TEXT], b_text[OX_VALUE_TEXT]; /* all digits; strings cut */
};

struct ox_metrics {
    bool agree;
    char reason[512]; /* of the first disagreement, in words; "" */
    char note[128];   /* what is worth a word though it agrees: other element types; "" */
    enum ox_dtype a_dtype, b_dtype;
    uint64_t n_samples, n_elements, n_mismatched;
    uint64_t a_nan, b_nan, a_inf, b_inf;
    double a_min, a_max, b_min, b_max; /* of finite elements */
#define OX_METRIC_FIELD(field, name, unit) double field;
    OX_METRIC_LIST(OX_METRIC_FIELD)
#undef OX_METRIC_FIELD
    struct ox_worst worst;
    /* Elements by their difference: bin 0 equal, bin k from 10^(k-15) to ten times that; the first also below, the last above. */
    uint64_t histogram[OX_ERROR_BINS];
};

/* The value of a metric by its name ("sqnr" and "psnr" too); false: there is none. */
bool ox_metrics_find(const struct ox_metrics *metrics, const char *name, double *value);
/* Metric i as it stands in OX_METRIC_LIST; NULL past the last. */
const char *ox_metric_name(size_t i);

/* Gathers over any number of pairs (samples) in one pass each. */
struct ox_meter;

enum ox_status ox_meter_new(struct ox_meter **out, struct ox_env *env,
                            const struct ox_metrics_options *options, struct ox_error *err);
void ox_meter_release(struct ox_meter *meter);
/* Kinds and shapes must be equal; other element types are compared by value. Either may be NULL: there is none, which is
 * a disagreement. OX_NO_MEMORY. */
enum ox_status ox_meter_add(struct ox_meter *meter, const struct ox_datum *a,
                            const struct ox_datum *b, struct ox_error *err);
/* Of all that was added so far; of the last pair alone. */
void ox_meter_read(const struct ox_meter *meter, struct ox_metrics *metrics);
void ox_meter_read_last(const struct ox_meter *meter, struct ox_metrics *metrics);

/* ---- Rewriting -------------------------------------------------------------------------------------------------- */

/* A pass: what `optimize` lists. */
struct ox_pass_info {
    const char *name; /* "fold-constants" */
    const char *help; /* one line */
    int level;        /* 1 or 2: the least that runs it */
    bool standard;    /* what it makes is standard ONNX: ox_optimize() runs no other */
};
const struct ox_pass_info *ox_passes(size_t *n);

/* All members may be 0. */
struct ox_optimize_options {
    int level;                 /* 0 is 2: all standard passes */
    const char *const *passes; /* names of the passes to run; NULL: those of the level */
    size_t n_passes;
    const char *const
        *keep; /* values of the main graph that stay as they are, beside its outputs */
    size_t n_keep;
    uint64_t
        fold_bytes; /* most that folded constants may add to the model; 0: 16 MiB, or a tenth of its constants if that is more */
    bool may_be_empty; /* as of ox_shapes_options */
};

struct ox_pass_count {
    const char *pass;
    size_t changes;
};
struct ox_optimize_report {
    size_t nodes_before, nodes_after; /* all graphs but functions */
    size_t n_passes;
    const struct ox_pass_count *passes; /* that changed something; lives as long as the model */
};

/* Rewrites the model in place to one that computes the same by standard operators alone. What callers may replace (initializers
 * that are inputs, from IR 4) is not taken as constant. report may be NULL. OX_USAGE: there is no such pass. */
enum ox_status ox_optimize(struct ox_model *model, const struct ox_optimize_options *options,
                           struct ox_optimize_report *report, struct ox_error *err);

/* Puts the bodies of the model's functions where they are called, in graphs and subgraphs, brought to the model's opsets, and
 * drops the functions. OX_UNSUPPORTED: a body cannot be brought there; OX_LIMIT: calls without end. After a failure the
 * model is good for nothing. */
enum ox_status ox_inline_functions(struct ox_model *model, size_t *n_calls, struct ox_error *err);
/* The same of these alone, or (except) of all functions of the model but these: "Name" or "domain:Name" of functions, and, unless except,
 * of operators that the standard defines by others, HardSwish. OX_USAGE: a name is none's; OX_UNSUPPORTED: also an operator
 * without a body that holds for all nodes of it at the model's opset. */
enum ox_status ox_inline_named(struct ox_model *model, const char *const *names, size_t n,
                               bool except, size_t *n_calls, struct ox_error *err);
struct ox_stripped {
    uint64_t n, bytes; /* constants that went */
    uint64_t n_left,
        bytes_left; /* that may not: inputs too, sparse, or of a type that ConstantOfShape does not make */
};
/* Constants of `threshold` bytes (0: 1024) and more, initializers and nodes, in all graphs, become ConstantOfShape of their means, int64, bool and strings left out, so that the
 * model can be shown without them: structure, shapes and types stay. Those whose data is missing or wrong are OX_INPUT;
 * OX_NO_MEMORY. After a failure the model is good for nothing. */
enum ox_status ox_strip_weights(struct ox_model *model, uint64_t threshold,
                                struct ox_stripped *told, struct ox_error *err);
/* Initializers of the main graph that are equal in type, shape and data become one. */
enum ox_status ox_share_weights(struct ox_model *model, size_t *n_shared, struct ox_error *err);

struct ox_targets;
struct ox_half_options {
    enum ox_dtype dtype; /* OX_FLOAT16 or OX_BFLOAT16 */
    const char *const *
        wide; /* values of the main graph that do not fit: nodes that make or use them stay in float32 */
    size_t n_wide;
    /* Nodes that one of them has no kernel for in halves, or whose provider would leave them to another, stay in float32. NULL:
     * whatever the standard allows. */
    const struct ox_targets *targets;
};
struct ox_half_report {
    size_t n_nodes, n_half; /* of the main graph as it was; of them those that compute in halves */
    size_t n_refused;       /* those that targets keep in float32 */
    size_t n_weights, n_casts; /* narrowed, added */
};
/* Makes float32 nodes of the main graph compute in a 16-bit type, with casts around what stays in float32: operators that do not
 * take it, graphs within nodes, weights beyond its range, inputs and outputs. Larger weights of nodes that stay in float32 are
 * narrowed too, and cast. Values keep their names for their float32 form. report may be NULL. OX_UNSUPPORTED: the model's opset or a
 * target has no casts to the type. */
enum ox_status ox_to_half(struct ox_model *model, const struct ox_half_options *options,
                          struct ox_half_report *report, struct ox_error *err);

/* ---- Converting opsets ------------------------------------------------------------------------------------------ */

struct ox_opset_goal {
    const char *domain; /* "" or "ai.onnx"; "ai.onnx.ml"; ... */
    int64_t version;
};

/* A node that cannot be converted. */
struct ox_convert_note {
    bool blocked;
    const char *graph; /* path; "" is the main graph */
    const char *node;  /* name, or "#12" */
    const char *op_type, *domain;
    int64_t from, to; /* the step that it does not take */
    const char *reason;
};

struct ox_conversion;

/* Makes the model mean the same under other versions of its domains: graphs, subgraphs, functions, training graphs. Nodes that
 * cannot be converted are all listed; if there is one, the model is neither what it was nor good for anything. The IR version
 * follows: up to what the opset needs, down to what it and the model's types and functions need. Domains that the model does
 * not import are passed over. OX_USAGE: a domain or version that is not known. */
enum ox_status ox_convert_opset(struct ox_conversion **out, struct ox_model *model,
                                const struct ox_opset_goal *goals, size_t n_goals,
                                struct ox_error *err);
void ox_conversion_release(struct ox_conversion *conversion);
size_t ox_conversion_count(const struct ox_conversion *conversion);
const struct ox_convert_note *ox_conversion_at(const struct ox_conversion *conversion, size_t i);
size_t ox_conversion_blocked(const struct ox_conversion *conversion);
/* Nodes that became others, or got others beside them. */
size_t ox_conversion_changed(const struct ox_conversion *conversion);
int64_t ox_conversion_ir(const struct ox_conversion *conversion, int64_t *before);

/* ---- Targets ---------------------------------------------------------------------------------------------------- */

/* A runtime at a version with a provider: what `check --target` asks about. */
struct ox_target;
struct ox_targets;

struct ox_target_info {
    const char *name; /* "onnxruntime=1.16.3:cuda" */
    const char *runtime, *version, *provider;
    const char *origin; /* where its table is from */
    const char *sure; /* how it is known: "measured", "listed", "published", "derived", "stated" */
    const char *sure_meaning; /* the same as a sentence */
    int64_t ir;               /* newest IR version accepted; 0: any */
    int64_t opset, ml_opset;  /* newest version of ai.onnx and ai.onnx.ml accepted; 0: any */
    const char *rest;         /* the provider that takes what this one does not; NULL: none */
    size_t n_operators;
};

enum ox_status ox_targets_new(struct ox_targets **out, struct ox_env *env, struct ox_error *err);
void ox_targets_release(struct ox_targets *targets);
/* Adds what spec names: RUNTIME[=VERSION][:PROVIDER] (VERSION: the newest; "1.16" is any patch of it), RUNTIME>=VERSION[:PROVIDER]
 * and RUNTIME>=VERSION,<=VERSION (each release), or a file that describes a target, which has a '/' or a '.target' in its name.
 * OX_USAGE: there is none of that name; OX_INPUT: the file is not one. */
enum ox_status ox_targets_add(struct ox_targets *targets, const char *spec, struct ox_error *err);
/* Adds all that are known, by runtime, provider and version. */
enum ox_status ox_targets_add_all(struct ox_targets *targets, struct ox_error *err);
size_t ox_targets_count(const struct ox_targets *targets);
const struct ox_target *ox_targets_at(const struct ox_targets *targets, size_t i);
void ox_target_info(const struct ox_target *target, struct ox_target_info *info);
/* In the form of such files. */
void ox_target_print(struct ox_strbuf *out, const struct ox_target *target);

enum ox_target_cause {
    OX_CAUSE_IR,
    OX_CAUSE_OPSET,
    OX_CAUSE_DOMAIN,
    OX_CAUSE_OPERATOR, /* no kernel at any version */
    OX_CAUSE_VERSION,  /* kernels for other versions of the operator only */
    OX_CAUSE_TYPE,     /* kernels for other types only */
    OX_CAUSE_FUNCTION, /* functions in the model */
    OX_CAUSE_ATTRIBUTE,
    OX_CAUSE_SHAPE /* its inputs do not go together: it runs nowhere */
};
const char *ox_target_cause_name(enum ox_target_cause cause); /* "operator" */

/* Why a model does not load (node NULL: the model as a whole), or a node is not the provider's. */
struct ox_target_problem {
    enum ox_target_cause cause;
    bool fatal; /* does not load; else another provider takes the node */
    const char *graph, *node, *op_type, *domain;
    const char *reason;
};

struct ox_target_verdict {
    const char *target; /* its name */
    const char *sure;
    bool loads;
    int64_t ir_max, opset_max; /* 0: any */
    const struct ox_target_problem *problems;
    size_t n_problems;
    size_t n_nodes;      /* of graph, subgraphs and functions that are called; constants left out */
    size_t n_taken;      /* by the provider: kernel, casts or function body */
    size_t n_cast;       /* of them those with casts around */
    size_t n_body;       /* of them those by their function body */
    size_t n_fallback;   /* by the provider behind it */
    size_t n_impossible; /* by none */
    size_t n_partitions; /* connected pieces of work of the provider, at the least */
    size_t n_copies;     /* values that cross between providers inside the graph */
    uint64_t macs, fallback_macs; /* of those whose shapes are known */
    const char *largest;          /* fallback by MACs: its node; NULL: none is known */
    const char *largest_op;
    uint64_t largest_macs;
    const char *note; /* a warning of the runtime, NULL */
    const char *
        fix; /* the smallest change that makes it load, in words; NULL: it loads, or there is none */
    const char *command; /* that makes it; %s stands for the model; NULL */
};

/* What judging needs of a model, gathered once for all targets. Model and shapes must outlive it; costs may be NULL: no MACs. */
struct ox_target_survey;
enum ox_status ox_target_survey_new(struct ox_target_survey **out, struct ox_model *model,
                                    const struct ox_shapes *shapes, const struct ox_costs *costs,
                                    struct ox_error *err);
void ox_target_survey_release(struct ox_target_survey *survey);
/* The verdict lives as long as the survey. */
enum ox_status ox_target_judge(const struct ox_target_verdict **out,
                               struct ox_target_survey *survey, const struct ox_target *target,
                               struct ox_error *err);
/* Adds the advice that follows from a verdict: an opset or IR version that only keeps the model from loading. */
void ox_target_advise(struct ox_findings *findings, const struct ox_target_verdict *verdict);

/* ---- Differences ------------------------------------------------------------------------------------------------ */

/* What a difference is about: name, word for `--ignore`. */
#define OX_DIFF_LIST(X)                                                                            \
    X(OX_DIFF_MODEL, "model")          /* IR version, domain, model version */                     \
    X(OX_DIFF_OPSET, "opsets")         /* versions that are imported */                            \
    X(OX_DIFF_METADATA, "metadata")    /* producer, metadata, annotations */                       \
    X(OX_DIFF_DOC, "docs")             /* doc strings */                                           \
    X(OX_DIFF_NAME, "names")           /* of nodes, values, graphs, dimensions */                  \
    X(OX_DIFF_PORT, "io")              /* inputs and outputs of graphs and functions */            \
    X(OX_DIFF_TYPE, "types")           /* declared types of what is neither */                     \
    X(OX_DIFF_NODE, "nodes")           /* added, removed, another operator, connected otherwise */ \
    X(OX_DIFF_ATTRIBUTE, "attributes") /* of nodes */                                              \
    X(OX_DIFF_WEIGHT, "weights")       /* initializers and constant tensors */                     \
    X(OX_DIFF_FUNCTION, "functions")   /* added, removed */

enum ox_diff_kind {
#define OX_DIFF_ENUM(name, word) name,
    OX_DIFF_LIST(OX_DIFF_ENUM)
#undef OX_DIFF_ENUM
        OX_N_DIFF_KINDS
};
const char *ox_diff_kind_word(enum ox_diff_kind kind);

struct ox_difference {
    enum ox_diff_kind kind;
    const char *graph;    /* path in the first model, or in the second where it is only there */
    const char *subject;  /* "Conv 'conv1'", "weight 'w'", "input 'x'", "" for the model */
    const char *property; /* "strides", "type", "input 1"; NULL: the subject itself */
    const char *before;   /* NULL: it was not there */
    const char *after;    /* NULL: it is gone */
    bool values;          /* the rest is set: values of two tensors of one type and shape differ */
    uint64_t n_elements, n_differ;
    double max_abs, max_rel; /* over finite pairs; relative to the first */
    double
        sqnr_db; /* of the second, taken as the first with noise; infinite without a finite difference */
};

struct ox_diff_options {
    bool ignore[OX_N_DIFF_KINDS];
    double
        weights_below; /* differences of weights up to this largest absolute difference do not count */
};

struct ox_diff;

/* What differs from model a to model b. Nodes are matched by their names and those of their outputs, then by what they compute
 * from and for; if names are ignored, the other way round. Where weights are stored and the order of nodes make no difference.
 * OX_INPUT: the data of a tensor cannot be read. options may be NULL. */
enum ox_status ox_diff_models(struct ox_diff **out, struct ox_model *a, struct ox_model *b,
                              const struct ox_diff_options *options, struct ox_error *err);
void ox_diff_release(struct ox_diff *diff);
size_t ox_diff_count(const struct ox_diff *diff);
const struct ox_difference *ox_diff_at(const struct ox_diff *diff, size_t i);

/* ---- External data ---------------------------------------------------------------------------------------------- */

/* A tensor of a model whose data is in a file of its own. */
struct ox_external_entry {
    const char *tensor; /* name; "" when it has none */
    const char *graph;  /* path */
    const char *location;
    uint64_t offset, bytes;
    bool checked; /* a checksum is given */
};

struct ox_external_problem {
    bool error;                    /* else a warning */
    const char *location, *tensor; /* NULL where it does not apply */
    const char *message;
};

/* What a model keeps in other files, and what is wrong with it. */
struct ox_external_report;

/* Files are measured, and read where a checksum is given. Files beneath the model's folder that look like weights and that it
 * does not name are not looked for. Problems: a file or a part of it missing, a checksum that does not fit (errors); tensors that
 * overlap without being the same, unaligned ones (over 4 KiB and not at a multiple of 64), bytes that no tensor uses (warnings). */
enum ox_status ox_external_inspect(struct ox_external_report **out, struct ox_model *model,
                                   struct ox_error *err);
void ox_external_report_release(struct ox_external_report *report);
size_t ox_external_entries(const struct ox_external_report *report);
const struct ox_external_entry *ox_external_entry_at(const struct ox_external_report *report,
                                                     size_t i);
size_t ox_external_problems(const struct ox_external_report *report);
const struct ox_external_problem *ox_external_problem_at(const struct ox_external_report *report,
                                                         size_t i);
/* Files, the bytes in them and those of them that tensors use. */
size_t ox_external_files(const struct ox_external_report *report);
const char *ox_external_file_at(const struct ox_external_report *report, size_t i, uint64_t *bytes,
                                uint64_t *used);

/* All may be 0. */
struct ox_external_pack_options {
    const char *location; /* of the file beside the target; NULL: the target's name and ".data" */
    bool file_a_tensor;   /* each in a file of its own, named by `location`, '.' and a number */
    uint64_t max_file;    /* begin a new file beyond so many bytes; 0: one file */
    uint64_t threshold;   /* smaller tensors stay in the model; 0: 1024 */
    uint64_t alignment;   /* a power of two; 0: 4096 for tensors of a page and more, else 64 */
    bool checksums;       /* write the SHA-1 of each file */
    bool no_dedup;        /* store equal tensors as often as they come */
    bool only_external;   /* leave in the model what is in it */
};

struct ox_external_packed {
    size_t n_tensors, n_shared, n_files;
    uint64_t bytes, shared_bytes; /* in the files; saved by sharing */
};

/* Writes the model to `path` with its big tensors in files beside it: those of initializers in all graphs. Data flows from file to
 * file a block at a time, by reflink where file system and alignment allow. New files are complete before any is put in place,
 * the model last. packed may be NULL. */
enum ox_status ox_external_pack(struct ox_model *model, const char *path,
                                const struct ox_external_pack_options *options,
                                struct ox_external_packed *packed, struct ox_error *err);

/* ---- Quantizing ------------------------------------------------------------------------------------------------- */

enum ox_quant_format { OX_QUANT_QDQ, OX_QUANT_QOPERATOR };

/* How a range is chosen from what calibration saw. */
enum ox_quant_method {
    OX_QUANT_MINMAX,
    OX_QUANT_MOVING_AVERAGE, /* mean of the samples' least and greatest values */
    OX_QUANT_PERCENTILE,
    OX_QUANT_ENTROPY,
    OX_QUANT_MSE,
    OX_QUANT_AUTO, /* a tensor at a time, what costs least error */
    OX_N_QUANT_METHODS
};
const char *ox_quant_method_name(enum ox_quant_method method); /* "minmax", "moving-average", ... */

enum ox_quant_accuracy {
    OX_QUANT_DEFAULT, /* repairs that a held-out part of the samples shows to gain */
    OX_QUANT_BEST,    /* all there are, at the cost of time */
    OX_QUANT_PLAIN    /* none */
};

/* How the processors that a model is for add products of uint8 by int8. */
enum ox_quant_processor {
    /* Either way: scales of int8 weights become larger where it takes that for no pair to saturate by activations such as the
     * samples showed, or, where no samples show them, such as what makes them gives. */
    OX_QUANT_ANY,
    OX_QUANT_EXACT, /* as they are: x86 with VNNI, ARM */
    /* In pairs of 16 bits that saturate, as x86 without VNNI: scales of int8 weights become as much larger as it takes that no
     * pair can. */
    OX_QUANT_AVX2_SATURATING
};

/* How weights alone are rounded, a scale for each block of them. */
enum ox_weight_method {
    OX_WEIGHT_RTN, /* to nearest, by the scale of least squared error */
    OX_WEIGHT_HQQ, /* the same where outliers count less */
    OX_WEIGHT_GPTQ, /* errors of one row made up for by those that follow, as samples show how inputs go together */
    OX_WEIGHT_K_QUANT, /* to nearest, by the scale of least squared error where larger values count more, as in llama.cpp */
    OX_WEIGHT_AWQ /* what meets large inputs is scaled up before it is rounded, as samples show */
};

/* What --max-drop bounds, on samples held out. */
enum ox_quant_metric {
    OX_QUANT_SQNR,   /* at least so many dB */
    OX_QUANT_COSINE, /* 1 - cosine of the outputs at most that */
    OX_QUANT_TOP1 /* at most that share of rows of the first output whose largest element is another */
};

/* All zero is ox_quant_options_init()'s default but for the types. Selectors of nodes: a name, a name with * ? [ ], "re:" and
 * a regular expression, "op:TYPE", "after:NAME", "before:NAME" (what depends on the node, what it depends on; itself
 * included), "graph:PATH", "shape:DIMS", "shape:in:DIMS", "shape:out:DIMS" (a constant that it takes, a value that it takes or makes is of that
 * shape: "64x>=3x*x*", "..." at the end for any dimensions). */
struct ox_quant_options {
    bool compat_ort; /* onnxruntime.quantization 1.31, bit for bit, its known defects included */
    bool contrib;    /* operators of com.microsoft may be written */
    enum ox_dtype weight_type;     /* OX_INT8, OX_UINT8; static QDQ: OX_INT4, OX_INT16, ... too */
    enum ox_dtype activation_type; /* static only */
    bool per_channel;
    /* With per_channel, static only: a matrix whose channels have fewer than 32 weights has one scale, unless the range of one is
     * less than a quarter of another's. */
    bool one_scale_if_short;
    bool reduce_range;
    enum ox_quant_processor processor; /* OX_QUANT_EXACT with compat_ort or reduce_range */
    bool symmetric_weights;            /* unsigned ones too; signed weights are always */
    bool symmetric_activation;
    enum ox_quant_format format;
    enum ox_quant_method method;
    double percentile; /* 99.999 */
    size_t shard,
        n_shards; /* ox_calibration_run(): every n_shards-th sample alone, from that one on; n_shards 0: all */
    enum ox_quant_accuracy accuracy;
    bool bias_correction; /* keep the mean of each channel */
    bool equalize;        /* even out channels between layers, and before normalizations */
    bool has_budget;      /* leave the fewest nodes in float that max_drop needs */
    double max_drop;
    enum ox_quant_metric metric;
    const int64_t *
        labels; /* with OX_QUANT_TOP1: what each sample is, in their order; NULL: what float says */
    size_t n_labels;
    bool smooth; /* SmoothQuant: outliers of activations move into weights */
    size_t
        bins; /* of the histograms that ranges are chosen from; 0: as fine as they were gathered */
    bool weight_only;  /* ox_quantize_weights(): weight_type is int8, uint8, int4 or uint4 */
    size_t block_size; /* of weights alone: a power of two from 16 to 1024 */
    enum ox_weight_method weight_method;
    bool wide_scales; /* of blocks: float32, also where float16 behind a Cast would serve */
    const char *const *op_types;
    size_t n_op_types; /* 0: all that can be quantized */
    const char *const *nodes;
    size_t n_nodes; /* 0: all */
    const char *const *exclude;
    size_t n_exclude;
};
void ox_quant_options_init(struct ox_quant_options *options);

/* What was done with a node that could have been quantized, or was asked for. */
struct ox_quant_node {
    const char *graph; /* path; "" is the main graph */
    const char *name;  /* in the model as it was given, or "#12" */
    const char *op_type;
    bool quantized;
    const char *reason; /* why it stayed in float; NULL */
};

/* A tensor that was quantized. */
struct ox_quant_tensor {
    const char *name;
    const char *kind; /* "weight", "bias", "activation" */
    enum ox_dtype type;
    int axis;          /* -1: one scale for all */
    size_t n;          /* scales */
    double rmin, rmax; /* least and greatest real value seen */
    double scale;      /* the first one */
    int64_t zero_point;
    double sqnr_db;       /* its own error; NaN: not measured */
    double clipped_share; /* of the values seen, outside of what the scale spans; NaN: not known */
    uint64_t bytes_before, bytes_after; /* of constants */
    double
        accumulated_db; /* of an activation, with the error of all that leads to it; NaN: not measured */
    bool saturates; /* a weight: its products may, on x86 processors without VNNI */
    double
        widened; /* a weight whose products would: by how much its scales are larger at most; 0 */
    const uint64_t *histogram; /* of what was seen, from rmin to rmax; NULL */
    size_t n_histogram;
};

/* A value between QuantizeLinear and DequantizeLinear with a node that onnxruntime runs in float on it all the same. */
struct ox_quant_pair {
    const char *tensor, *node, *op_type, *reason;
};

/* What it comes to. */
struct ox_quant_summary {
    size_t n_quantized, n_float;                /* nodes */
    uint64_t constants_before, constants_after; /* bytes of what was quantized */
    uint64_t model_before, model_after; /* bytes of the constants of the model; 0: not known */
    double integer_share; /* of the multiplications, those that run on integers; NaN: not known */
    double speedup;       /* what that may make of the whole on processors with VNNI; NaN */
    size_t n_saturating;  /* weights whose products may saturate on x86 processors without VNNI */
    size_t n_widened;     /* ... and those that have larger scales so that they cannot ... */
    double most_widened;  /* ... at most by that factor; 0: there are none */
    double held_out_db;   /* signal to noise of the outputs on samples held out; NaN: not judged */
};

struct ox_quant_report;

void ox_quant_report_release(struct ox_quant_report *report);
size_t ox_quant_report_n_nodes(const struct ox_quant_report *report);
const struct ox_quant_node *ox_quant_report_node(const struct ox_quant_report *report, size_t i);
size_t ox_quant_report_n_tensors(const struct ox_quant_report *report);
const struct ox_quant_tensor *ox_quant_report_tensor(const struct ox_quant_report *report,
                                                     size_t i);
size_t ox_quant_report_n_unfused(const struct ox_quant_report *report);
const struct ox_quant_pair *ox_quant_report_unfused(const struct ox_quant_report *report, size_t i);
/* Remarks: what was repaired, what a runtime may not like. */
size_t ox_quant_report_n_notes(const struct ox_quant_report *report);
const char *ox_quant_report_note(const struct ox_quant_report *report, size_t i);
void ox_quant_report_summary(const struct ox_quant_report *report,
                             struct ox_quant_summary *summary);
/* The members "nodes", "tensors", "unfused", "notes" and "summary" into the object that is open. */
void ox_quant_report_json(struct ox_json *json, const struct ox_quant_report *report);

/* Changes the model: products and convolutions with constant weights run on integers, their inputs are quantized as they come.
 * OX_USAGE: a selector that matches nothing. On failure the model is to be thrown away. */
enum ox_status ox_quantize_dynamic(struct ox_model *model, const struct ox_quant_options *options,
                                   struct ox_quant_report **report, struct ox_error *err);

/* Changes the model: constant matrices of products become integers with a scale for each block of rows of a column, behind
 * DequantizeLinear, or with options->contrib in MatMulNBits of com.microsoft; tables that Gather reads become int8. samples, as for
 * ox_calibration_run(), are for the method gptq alone. */
enum ox_status ox_quantize_weights(struct ox_model *model, const char *const *samples,
                                   size_t n_samples, const struct ox_quant_options *options,
                                   struct ox_quant_report **report, struct ox_error *err);

/* What is done first, before calibration too: constants are folded, batch normalization is fused into convolutions; nothing with
 * options->compat_ort. Names of nodes stay. OX_USAGE: a selector that matches nothing. */
enum ox_status ox_quantize_prepare(struct ox_model *model, const struct ox_quant_options *options,
                                   struct ox_error *err);

/* From here on kernels are taken that give the same bits on every processor that has them (AVX2): for programs that calibrate, before
 * work begins, so that tables do not depend on the machine. */
void ox_quant_steady_kernels(void);

/* What samples showed of every tensor of a model. Statistics merge exactly: any division of the samples into parts, in any
 * order, gives the same. */
struct ox_calibration;

enum ox_status ox_calibration_new(struct ox_calibration **out, struct ox_env *env,
                                  struct ox_error *err);
void ox_calibration_release(struct ox_calibration *calibration);
/* Runs the model on every sample in the files and folders: .npz whose leading dimension is samples, folders of .npz, .npy or of
 * input_N.pb. The samples are kept by reference for repairs. progress may be NULL. */
enum ox_status ox_calibration_run(struct ox_calibration *calibration, struct ox_model *model,
                                  const char *const *paths, size_t n_paths,
                                  const struct ox_quant_options *options,
                                  void (*progress)(void *arg, uint64_t done, uint64_t total),
                                  void *progress_arg, struct ox_error *err);
/* Adds a table from ox_calibration_write(), or onnxruntime's calibration cache. */
enum ox_status ox_calibration_read(struct ox_calibration *calibration, const char *path,
                                   struct ox_error *err);
enum ox_status ox_calibration_write(const struct ox_calibration *calibration, const char *path,
                                    struct ox_error *err);
uint64_t ox_calibration_samples(const struct ox_calibration *calibration);
/* Names an input whose rows ox_calibration_run() took for samples though they may as well be steps of one sequence: its first two
 * dimensions are open, and nothing tells which is time. NULL: there is none. */
const char *ox_calibration_guessed(const struct ox_calibration *calibration);
size_t ox_calibration_n_tensors(const struct ox_calibration *calibration);
const char *ox_calibration_tensor(const struct ox_calibration *calibration, size_t i);
/* What a method makes of tensor i. false: nothing was seen of it. */
bool ox_calibration_range(const struct ox_calibration *calibration, size_t i,
                          enum ox_quant_method method, const struct ox_quant_options *options,
                          double *least, double *most);

enum ox_status ox_quantize_static(struct ox_model *model, struct ox_calibration *calibration,
                                  const struct ox_quant_options *options,
                                  struct ox_quant_report **report, struct ox_error *err);

struct ox_parity;

/* Walks both models in step over samples, as for ox_calibration_run(), at most `most` of them (0: all). Layers of the result
 * have the error that has gathered (metrics), that of the node itself (own), and that of Q and DQ (qdq). Both models must outlive
 * it. */
enum ox_status ox_quant_debug(struct ox_parity **out, struct ox_model *quantized,
                              struct ox_model *original, const char *const *samples,
                              size_t n_samples, uint64_t most, struct ox_error *err);

/* ---- Parity ----------------------------------------------------------------------------------------------------- */

/* The inputs of one session as another takes them: by name, or by place where both need the same number and no name
 * fits; element types are converted. out: filled with a new reference for each input of `to` (NULL: not given). */
enum ox_status ox_parity_feed(struct ox_env *env, const struct ox_session *from,
                              struct ox_datum *const *inputs, const struct ox_session *to,
                              struct ox_datum **out, struct ox_error *err);

/* Inputs meant for a model of other precision: floats of another width than the session takes are converted, what else differs
 * is left for ox_session_run() to refuse. out: filled as above. */
enum ox_status ox_parity_feed_floats(struct ox_env *env, const struct ox_session *session,
                                     struct ox_datum *const *inputs, struct ox_datum **out,
                                     struct ox_error *err);

/* ---- Ties ------------------------------------------------------------------------------------------------------- */

/* Codes that a model's QuantizeLinear rounds within float32's rounding of a half. The model outlives it. */
struct ox_ties;
enum ox_status ox_ties_new(struct ox_ties **out, struct ox_model *model, struct ox_error *err);
void ox_ties_release(struct ox_ties *ties);
/* For ox_run_options.on_value of a run in double precision; arg is the struct ox_ties, which counts over all runs. */
enum ox_status ox_ties_value(void *arg, const char *name, const struct ox_datum *datum,
                             struct ox_error *err);
/* For ox_run_options.on_replace of such a run: all of them fall to the other side. */
enum ox_status ox_ties_tip(void *arg, const char *name, struct ox_datum **value,
                           struct ox_error *err);
struct ox_tie {
    const char *node; /* the first with such codes: its name, or what it makes */
    uint64_t n_near, n;
};
/* False: there are none; ties may be NULL. */
bool ox_ties_first(const struct ox_ties *ties, struct ox_tie *out);

/* What numbers flow through a model. */
struct ox_trace;

/* A value that a node of the main graph makes, over all runs; integers and strings count as nothing. */
struct ox_trace_entry {
    const char *name;
    const char *node, *op_type; /* "" where the model does not say */
    enum ox_dtype dtype;
    uint64_t n_elements, n_nonzero, n_nan, n_inf;
    uint64_t n_denormal;      /* below the least normal number of their type */
    uint64_t n_half_denormal; /* of float16 */
    double largest, smallest; /* |x| of finite ones other than 0; 0: there are none */
    double sum_squares;
    double half_bits; /* octaves from the largest to the end of float16; negative: it overflows */
    double bfloat16_bits; /* of bfloat16 */
    double int8_db;       /* SQNR that one symmetric range of 8 bits would leave */
};

enum ox_status ox_trace_new(struct ox_trace **out, struct ox_model *model, struct ox_error *err);
void ox_trace_release(struct ox_trace *trace);
/* For ox_run_options.on_value; arg is the trace. */
enum ox_status ox_trace_value(void *arg, const char *name, const struct ox_datum *value,
                              struct ox_error *err);
/* In the order in which they were first made. */
size_t ox_trace_count(const struct ox_trace *trace);
const struct ox_trace_entry *ox_trace_at(const struct ox_trace *trace, size_t i);
/* So many denormals that they slow a processor down: one in a hundred. */
bool ox_trace_is_flood(const struct ox_trace_entry *entry);

/* Two models walked in step, value by value. Memory is bounded by what is live in both. */
struct ox_parity;

struct ox_parity_options {
    struct ox_metrics_options metrics;
    int a_level, b_level; /* as ox_run_options.level */
    uint64_t seed;
    bool own;    /* A once more, each node fed what B has: its node's own error */
    bool oracle; /* both models in double precision too */
    bool
        perturb; /* B twice more, with noise: in what enters each node, and in the model's inputs alone */
    bool saturating; /* as in ox_run_options, of both */
    /* A's (0) or B's (1) values as somebody else computed them, who is compared instead of our own run: *out is a reference to the
     * value of that name, NULL when it is not known, and then not compared. Asked for those of ox_parity_names(). NULL. */
    enum ox_status (*recorded[2])(void *arg, const char *name, struct ox_datum **out,
                                  struct ox_error *err);
    void *recorded_arg[2];
};

/* A value that both have. */
struct ox_parity_layer {
    const char *a_name, *b_name;
    const char *a_node, *b_node; /* who makes it: name, or "#12" */
    const char *a_op, *b_op;
    const char *match; /* how they were found to be the same: "name", "structure", "place" */
    struct ox_metrics metrics; /* with all that went wrong before */
    bool has_own;
    struct ox_metrics own;
    bool has_oracle;
    struct ox_metrics a_error, b_error; /* of each side against its own model in double precision */
    bool has_noise;                     /* B's inputs were changed by that share of themselves: */
    double noise;
    double amplifies,
        swayed; /* the change of the value over that, from what enters its node, and from the model's inputs */
    const char *
        nature; /* where A's node departs by itself: "ill-conditioned", by no more than roundings of its inputs may come to; else "wrong"; NULL */
    bool has_qdq;                 /* A quantizes and dequantizes it: */
    struct ox_metrics qdq, cross; /* what comes out against what went in, and against B's value */
};

/* The models, which may be one, must outlive it and not be changed. */
enum ox_status ox_parity_new(struct ox_parity **out, struct ox_model *a, struct ox_model *b,
                             const struct ox_parity_options *options, struct ox_error *err);
void ox_parity_release(struct ox_parity *parity);
/* Sessions of A (0) and B (1), for their ports. */
const struct ox_session *ox_parity_session(const struct ox_parity *parity, size_t side);
/* The values of A (0) or B (1) that are compared and computed, in any order; at most `most` are written, the number is returned. */
size_t ox_parity_names(const struct ox_parity *parity, size_t side, const char **names,
                       size_t most);
/* One sample: inputs and outputs as of ox_session_run(). Figures gather over samples. */
enum ox_status ox_parity_run(struct ox_parity *parity, struct ox_datum *const *a_inputs,
                             struct ox_datum *const *b_inputs, struct ox_datum **a_outputs,
                             struct ox_datum **b_outputs, struct ox_error *err);
/* The values compared so far, in B's order. false: no such layer. */
size_t ox_parity_n_layers(const struct ox_parity *parity);
bool ox_parity_layer(const struct ox_parity *parity, size_t i, struct ox_parity_layer *layer);
/* The layers that layer i is computed from in B, nearest ones; at most `most` are written, the number is returned. */
size_t ox_parity_sources(const struct ox_parity *parity, size_t i, size_t *sources, size_t most);
/* The first that departs; SIZE_MAX: none. */
size_t ox_parity_first(struct ox_parity *parity);

struct ox_parity_suspect {
    const char *op_type, *value; /* of B; NULL: nothing could be found */
    char node[256];              /* name, or "#12" */
    size_t n_runs;
};

/* probe says whether a value departs, by running what leads to it.
 * The node whose value departs while all that enters it agrees, found by halving: for runs whose inside can't be seen. Values
 * are those that both models have under one name and `output`, which departs, needs. */
enum ox_status ox_parity_bisect(struct ox_model *a, struct ox_model *b, const char *output,
                                enum ox_status (*probe)(void *arg, const char *value, bool *departs,
                                                        struct ox_error *err),
                                void *arg, struct ox_parity_suspect *out, struct ox_error *err);

/* Why a layer may depart: the evidence, strongest first. */
struct ox_parity_cause {
    const char *id; /* "attribute", "constant-transposed", "saturation", ...: stable */
    const char *text;
};
struct ox_parity_causes;

/* Runs what layer i needs of both models once more, on a sample's inputs. */
enum ox_status ox_parity_explain(struct ox_parity_causes **out, struct ox_parity *parity, size_t i,
                                 struct ox_datum *const *a_inputs, struct ox_datum *const *b_inputs,
                                 struct ox_error *err);
/* The same where a run's inside can't be seen: what A and B made of a value of one model, from `inputs` of it. Attributes and
 * constants are the same on both sides, so the values alone speak. OX_USAGE: the main graph makes no such value. */
enum ox_status ox_parity_explain_value(struct ox_parity_causes **out, struct ox_model *model,
                                       const char *value, const struct ox_datum *a,
                                       const struct ox_datum *b, struct ox_datum *const *inputs,
                                       const struct ox_parity_options *options,
                                       struct ox_error *err);
/* Runs a part of a model on both sides, fed what the reference makes of `inputs` (none: the model's own inputs), and says whether
 * outputs[0] departs. */
struct ox_parity_parts {
    enum ox_status (*probe)(void *arg, const char *const *inputs, size_t n_inputs,
                            const char *const *outputs, size_t n_outputs, bool *departs,
                            struct ox_error *err);
    void *arg;
    const char *who; /* the side that may compute several nodes as one: "B" */
};
/* Adds to the causes of a value that departs whether its node departs alone, or only when it is computed together with nodes
 * before it. */
enum ox_status ox_parity_explain_fusion(struct ox_parity_causes *causes, struct ox_model *model,
                                        const char *value, const struct ox_parity_parts *parts,
                                        struct ox_error *err);
/* OX_FLOAT16 or OX_BFLOAT16 where some node computes in it, by declared types, constants and casts; OX_UNDEFINED: none. */
enum ox_dtype ox_parity_half(const struct ox_model *model);
/* An operator that draws random numbers (Dropout: that drops) and that an output of the main graph depends on; NULL: none. */
enum ox_status ox_parity_chance(struct ox_model *model, const char *output, const char **op_type,
                                struct ox_error *err);
/* Whether another engine's products of uint8 by int8 saturate: ours are that many decibels from it when they are exact, and
 * when they are computed so (ox_run_options.saturating). */
bool ox_parity_saturates(double exact_db, double saturating_db);
void ox_parity_causes_release(struct ox_parity_causes *causes);
size_t ox_parity_causes_count(const struct ox_parity_causes *causes); /* 0 for NULL */
const struct ox_parity_cause *ox_parity_causes_at(const struct ox_parity_causes *causes, size_t i);

/* ---- Expected outputs ------------------------------------------------------------------------------------------- */

/* What an output should be, by the name that the model gives it, or by one of its own where the model has none such. */
struct ox_expected {
    const char *name;
    struct ox_datum *value;
    struct ox_metrics_options metrics;
};

/* Why the model's outputs are not those expected of one sample, where nothing is known of how these were computed: readings of
 * inputs (channels, numbers, order, masks), outputs (exchanged, another function or layout) and nodes (attributes, conventions) are
 * tried, 200 runs at most, and those are causes under which all that is expected agrees, simplest first. If there is none: what came
 * nearest, if it is tenfold nearer ("nearer"), and how many were tried ("unexplained"). No causes: nothing departs. Of options
 * a_level, seed and saturating are used. */
enum ox_status ox_parity_explain_expected(struct ox_parity_causes **out, struct ox_model *model,
                                          struct ox_datum *const *inputs,
                                          const struct ox_expected *expected, size_t n_expected,
                                          const struct ox_parity_options *options, size_t *n_runs,
                                          struct ox_error *err);

#endif
