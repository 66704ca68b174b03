/* What a file is that is no model, and what may have become of one that is damaged. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/utf8.h"
#include "model/format.h"
#include "model/wire.h"
#include "proto/onnx.pb-c.h"

/* ---- By the first bytes ------------------------------------------------------------------------------------------ */

/* In any case. */
static bool begins_with(const uint8_t *bytes, size_t n, const char *word)
{
    size_t i = 0;
    while (i < n && word[i] && (bytes[i] | (word[i] >= 'a' ? 0x20 : 0)) == word[i])
        i++;
    return !word[i];
}

/* Pages and messages of servers, which may begin with blank lines. */
static const char *markup(const uint8_t *bytes, size_t n)
{
    enum { HEAD = 512 };
    while (n && (*bytes == ' ' || *bytes == '\t' || *bytes == '\r' || *bytes == '\n'))
        bytes++, n--;
    if (!n || *bytes != '<')
        return NULL;
    static const char *const pages[] = {"<!doctype html", "<html", "<head", "<body"};
    for (size_t i = 0; i < OX_COUNT(pages); i++)
        if (begins_with(bytes, n, pages[i]))
            return "an HTML page, perhaps of a download that failed";
    if (!begins_with(bytes, n, "<?xml"))
        return NULL;
    const size_t head = n < HEAD ? n : HEAD;
    if (memmem(bytes, head, "<net ", 5))
        return "an XML file, perhaps of an OpenVINO model";
    return memmem(bytes, head, "<Error>", 7) ? "an error message of the server that it came from"
                                             : "an XML file";
}

/* A node of TensorFlow: the name, then the operator. */
static bool is_tensorflow_graph(const uint8_t *bytes, size_t n)
{
    const uint8_t *at = bytes, *end = bytes + n, *inner;
    struct ox_record node, field;
    const char *why;
    if (!ox_record_read(&node, &at, end, &why) || node.number != 1 || node.type != OX_WIRE_BYTES)
        return false;
    inner = node.bytes.p;
    for (uint32_t number = 1; number <= 2; number++)
        if (!ox_record_read(&field, &inner, node.bytes.p + node.bytes.n, &why) ||
            field.number != number || field.type != OX_WIRE_BYTES || !field.bytes.n)
            return false;
    return field.bytes.p[0] >= 'A' && field.bytes.p[0] <= 'Z';
}

const char *ox_format_foreign(const uint8_t *bytes, size_t n)
{
    static const struct {
        const char *magic;
        size_t n, at;
        const char *what;
    } rows[] = {
        {"PK\3\4", 4, 0, "a zip archive, perhaps of a PyTorch model"},
        {"\x1F\x8B", 2, 0, "compressed by gzip"},
        {"\x28\xB5\x2F\xFD", 4, 0, "compressed by zstd"},
        {"\xFD"
         "7zXZ",
         5, 0, "compressed by xz"},
        {"1AY&SY", 6, 4, "compressed by bzip2"},
        {"7z\xBC\xAF", 4, 0, "a 7z archive"},
        {"ustar", 5, 257, "a tar archive"},
        {"version https://git-lfs", 23, 0, "a Git LFS pointer, not yet the file (git lfs pull)"},
        {"\x93NUMPY", 6, 0, "a numpy array"},
        {"\x89HDF", 4, 0, "an HDF5 file, perhaps a Keras model"},
        {"\x80\x02", 2, 0, "a Python pickle, perhaps a PyTorch model"},
        {"\x80\x03", 2, 0, "a Python pickle, perhaps of a fitted estimator"},
        {"\x80\x04\x95", 3, 0, "a Python pickle, perhaps of a fitted estimator"},
        {"\x80\x05\x95", 3, 0, "a Python pickle, perhaps of a fitted estimator"},
        {"TFL3", 4, 4, "a TensorFlow Lite model"},
        {"ORTM", 4, 4, "a model in onnxruntime's own format"},
        {"GGUF", 4, 0, "a GGUF model"},
        {"ftrt", 4, 0, "a TensorRT engine"},
        {"7767517\n", 8, 0, "an ncnn model"},
        {"\x7F"
         "ELF",
         4, 0, "a program or a shared library"},
        {"\x89PNG", 4, 0, "a picture"},
        {"\xFF\xD8\xFF", 3, 0, "a picture"},
        {"%PDF-", 5, 0, "a PDF file"},
        {"\xFF\xFE", 2, 0, "text in UTF-16, where UTF-8 is read"},
        {"\xFE\xFF", 2, 0, "text in UTF-16, where UTF-8 is read"},
        {"\0\0\0{\"", 5, 5, "a safetensors file: tensors without a graph"},
    };
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
        if (n >= rows[i].at + rows[i].n &&
            memcmp(bytes + rows[i].at, rows[i].magic, rows[i].n) == 0)
            return rows[i].what;
    }
    const char *page = markup(bytes, n);
    return page || !is_tensorflow_graph(bytes, n) ? page : "a TensorFlow graph";
}

/* ---- By what is wrong with it ------------------------------------------------------------------------------------ */

enum { LOOKED_AT = 1 << 16, ZEROS = 64 };

/* What can be told of the first bytes of a file as text. */
struct looks {
    bool is_utf8;
    size_t controls, wide, lines, dos_lines; /* wide: characters beyond ASCII */
};

static struct looks look(const uint8_t *bytes, size_t n)
{
    struct looks l = {.is_utf8 = true};
    const size_t most = n < LOOKED_AT ? n : LOOKED_AT;
    for (size_t at = 0; at < most;) {
        uint32_t code;
        const size_t length = ox_utf8_next((const char *)bytes + at, n - at, &code);
        if (!length) {
            l.is_utf8 = false;
            at++;
            continue;
        }
        l.wide += length > 1;
        l.controls += code < 0x20 && code != '\t' && code != '\r' && code != '\n';
        l.lines += code == '\n';
        l.dos_lines += code == '\n' && at && bytes[at - 1] == '\r';
        at += length;
    }
    return l;
}

/* The field of the model that does not end within the file, and how much of it is there; NULL: there is none. */
static const char *field_cut_off(const uint8_t *bytes, size_t n, size_t *there, uint64_t *needed)
{
    const uint8_t *at = bytes, *end = bytes + n;
    struct ox_record record = {0};
    const char *why;
    while (ox_record_read(&record, &at, end, &why))
        continue;
    const bool is_bytes = at == record.body && record.type == OX_WIRE_BYTES;
    if (!is_bytes || !ox_varint_read(needed, &at, end, &why) || *needed > INT32_MAX)
        return NULL;
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&onnx__model_proto__descriptor, record.number);
    *there = (size_t)(end - at);
    return field && at < end ? field->name : NULL;
}

static size_t zeros_at_the_end(const uint8_t *bytes, size_t n)
{
    size_t zeros = 0;
    while (zeros < n && !bytes[n - 1 - zeros])
        zeros++;
    return zeros;
}

static void add_cause(struct ox_error *err, const char *format, ...) OX_PRINTF(2, 3);

static void add_cause(struct ox_error *err, const char *format, ...)
{
    if (!err)
        return;
    const size_t used = strlen(err->message);
    va_list args;
    va_start(args, format);
    vsnprintf(err->message + used, sizeof err->message - used, format, args);
    va_end(args);
}

/* "its first words" of text that is no model's. */
static enum ox_status is_other_text(const char *path, const uint8_t *bytes, size_t n,
                                    struct ox_error *err)
{
    char shown[OX_SHOWN_BYTES];
    size_t line = 0;
    while (line < n && line < 60 && bytes[line] != '\n' && bytes[line] != '\r')
        line++;
    return ox_fail(err, OX_INPUT, "%s: is no ONNX model but text, which begins \"%s\"", path,
                   ox_shown(shown, (const char *)bytes, line));
}

enum ox_status ox_format_explain(const char *path, const uint8_t *bytes, size_t n,
                                 struct ox_error *err)
{
    const struct looks l = look(bytes, n);
    const size_t zeros = zeros_at_the_end(bytes, n);
    size_t there;
    uint64_t needed;
    const char *field;
    if (l.is_utf8 && !l.controls)
        return is_other_text(path, bytes, n, err);
    if (zeros == n)
        return ox_fail(err, OX_INPUT, "%s: is no ONNX model but %zu bytes of zeros", path, n);
    if (zeros >= ZEROS)
        add_cause(err, "; the last %zu of %zu bytes are zeros, as if not all had been written",
                  zeros, n);
    else if (l.is_utf8 && l.wide >= 16)
        add_cause(err, "; the bytes were taken for text and written as UTF-8");
    else if (l.lines >= 8 && l.lines == l.dos_lines)
        add_cause(err, "; a carriage return stands before each byte 10, as if line ends of text "
                       "had been converted");
    else if ((field = field_cut_off(bytes, n, &there, &needed)))
        add_cause(err, "; of %s %zu bytes are there, %llu are needed: the file is cut off", field,
                  there, (unsigned long long)needed);
    return OX_INPUT;
}
