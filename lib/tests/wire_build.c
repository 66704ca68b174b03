#include "wire_build.h"

#include <stdlib.h>
#include <string.h>

void wire_release(struct wire *w)
{
    free(w->data);
    *w = (struct wire){0};
}

void wire_raw(struct wire *w, const void *bytes, size_t n)
{
    if (w->n + n > w->cap) {
        w->cap = (w->n + n) * 2 + 64;
        w->data = realloc(w->data, w->cap);
        if (!w->data)
            abort();
    }
    if (n)
        memcpy(w->data + w->n, bytes, n);
    w->n += n;
}

static size_t put_varint(uint8_t out[10], uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        out[n++] = (uint8_t)(value | 0x80);
    out[n++] = (uint8_t)value;
    return n;
}

void wire_varint(struct wire *w, uint64_t value)
{
    uint8_t bytes[10];
    wire_raw(w, bytes, put_varint(bytes, value));
}

void wire_tag(struct wire *w, uint32_t field, unsigned type)
{
    wire_varint(w, (uint64_t)field << 3 | type);
}

void wire_int(struct wire *w, uint32_t field, uint64_t value)
{
    wire_tag(w, field, 0);
    wire_varint(w, value);
}

void wire_bytes(struct wire *w, uint32_t field, const void *bytes, size_t n)
{
    wire_tag(w, field, 2);
    wire_varint(w, n);
    wire_raw(w, bytes, n);
}

void wire_text(struct wire *w, uint32_t field, const char *text)
{
    wire_bytes(w, field, text, strlen(text));
}

void wire_float(struct wire *w, uint32_t field, float value)
{
    wire_tag(w, field, 5);
    wire_raw(w, &value, 4);
}

void wire_begin(struct wire *w, uint32_t field)
{
    wire_tag(w, field, 2);
    w->open[w->depth++] = w->n;
}

void wire_end(struct wire *w)
{
    size_t start = w->open[--w->depth], n = w->n - start;
    uint8_t length[10];
    size_t n_length = put_varint(length, n);
    wire_raw(w, length, n_length);
    memmove(w->data + start + n_length, w->data + start, n);
    memcpy(w->data + start, length, n_length);
}

static void put_names(struct wire *w, uint32_t field, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        wire_bytes(w, field, names, n == 1 && *names == '_' ? 0 : n);
        names += n + (names[n] == ' ');
    }
}

void wire_begin_node(struct wire *w, const char *op_type, const char *inputs, const char *outputs)
{
    wire_begin(w, 1);
    put_names(w, 1, inputs);
    put_names(w, 2, outputs);
    wire_text(w, 4, op_type);
}

void wire_value(struct wire *w, uint32_t field, const char *name, size_t rank, const int64_t *dims)
{
    wire_begin(w, field);
    wire_text(w, 1, name);
    wire_begin(w, 2);
    wire_begin(w, 1);
    wire_int(w, 1, 1);
    wire_begin(w, 2);
    for (size_t i = 0; i < rank; i++) {
        wire_begin(w, 1);
        wire_int(w, 1, (uint64_t)dims[i]);
        wire_end(w);
    }
    wire_end(w);
    wire_end(w);
    wire_end(w);
    wire_end(w);
}

void wire_init(struct wire *w, const char *name, size_t n, const float *values)
{
    wire_begin(w, 5);
    wire_int(w, 1, n);
    wire_int(w, 2, 1);
    wire_text(w, 8, name);
    wire_bytes(w, 9, values, n * sizeof *values);
    wire_end(w);
}

void wire_begin_model(struct wire *w)
{
    wire_int(w, 1, 8);
    wire_begin(w, 7);
}

void wire_small_model(struct wire *w)
{
    wire_begin_model(w);
    wire_begin_node(w, "Relu", "x", "h");
    wire_end(w);
    wire_begin_node(w, "Add", "h w", "y");
    wire_end(w);
    wire_text(w, 2, "g");
    wire_init(w, "w", 2, (const float[]){1, 2});
    wire_value(w, 11, "x", 1, (const int64_t[]){2});
    wire_value(w, 12, "y", 1, (const int64_t[]){2});
    wire_end(w);
    wire_begin(w, 8);
    wire_text(w, 1, "");
    wire_int(w, 2, 21);
    wire_end(w);
}

void wire_function(struct wire *w, const char *overload)
{
    wire_begin(w, 25);
    wire_text(w, 1, "f");
    wire_text(w, 4, "a");
    wire_text(w, 5, "b");
    wire_text(w, 6, "alpha");
    wire_begin(w, 7);
    wire_text(w, 1, "a");
    wire_text(w, 2, "b");
    wire_text(w, 4, "Relu");
    wire_end(w);
    wire_begin(w, 9);
    wire_int(w, 2, 13);
    wire_end(w);
    wire_text(w, 10, "local");
    if (overload)
        wire_text(w, 13, overload);
    wire_end(w);
}
