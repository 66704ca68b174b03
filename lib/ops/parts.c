#include "ops/parts.h"

#include <string.h>

#include "ops/fast/fast.h"

enum {
    TASK_BYTES = 1 << 15, /* that a task copies before it goes on to other rows */
    PIECES = 16           /* a long row's, of tasks */
};

struct copying {
    const struct ox_part *part;
    size_t n, row; /* parts; bytes of a row of the whole */
    char *whole;
    bool split;
    size_t pieces, piece; /* of a row, and bytes of one */
};

/* Inlined for each size, so that a copy is a load and a store. */
static inline void copy_elements(size_t rows, const char *from, size_t from_step, char *to,
                                 size_t to_step, size_t bytes)
{
    for (size_t k = 0; k < rows; k++, from += from_step, to += to_step)
        memcpy(to, from, bytes);
}

/* Of two that meet or overlap; inlined for each size of a half. */
static inline void copy_halves(size_t rows, const char *from, size_t from_step, char *to,
                               size_t to_step, size_t bytes, size_t half)
{
    const size_t second = bytes - half;
    for (size_t k = 0; k < rows; k++, from += from_step, to += to_step) {
        memcpy(to, from, half);
        memcpy(to + second, from + second, half);
    }
}

/* False: a row has other sizes. */
static bool copy_tiny_rows(size_t rows, const char *from, size_t from_step, char *to,
                           size_t to_step, size_t bytes)
{
    if (bytes == 1)
        copy_elements(rows, from, from_step, to, to_step, 1);
    else if (bytes == 2)
        copy_elements(rows, from, from_step, to, to_step, 2);
    else if (bytes == 4)
        copy_elements(rows, from, from_step, to, to_step, 4);
    else if (bytes == 8)
        copy_elements(rows, from, from_step, to, to_step, 8);
    else if (bytes == 3)
        copy_halves(rows, from, from_step, to, to_step, bytes, 2);
    else if (bytes < 8)
        copy_halves(rows, from, from_step, to, to_step, bytes, 4);
    else if (bytes <= 16)
        copy_halves(rows, from, from_step, to, to_step, bytes, 8);
    else if (bytes <= 32)
        copy_halves(rows, from, from_step, to, to_step, bytes, 16);
    else
        return false;
    return true;
}

enum { LINE = 64 };

/* Rows at a step end before the processor sees where they lead, and stores wait for the lines they go to. */
static void come_nearer(size_t bytes, const char *from, const char *to)
{
    for (size_t i = 0; i < bytes; i += LINE) {
        __builtin_prefetch(to + i, 1, 3);
        __builtin_prefetch(from + i, 0, 3);
    }
}

/* Short rows in line: a call a row costs more than they do. */
void ox_parts_copy_rows(size_t rows, const char *from, size_t from_step, char *to, size_t to_step,
                        size_t bytes)
{
    enum { BLOCK = 16, SHORT = 512, NEAR = 2048 };
    if (copy_tiny_rows(rows, from, from_step, to, to_step, bytes))
        return;
    const bool in_line = bytes <= SHORT;
    const size_t ahead = bytes < LINE || bytes > NEAR ? rows : NEAR / bytes + 1;
    for (size_t k = 0; k < rows; k++, from += from_step, to += to_step) {
        if (k + ahead < rows)
            come_nearer(bytes, from + ahead * from_step, to + ahead * to_step);
        if (!in_line) {
            memcpy(to, from, bytes);
            continue;
        }
        for (size_t i = 0; i + BLOCK < bytes; i += BLOCK)
            memcpy(to + i, from + i, BLOCK);
        memcpy(to + bytes - BLOCK, from + bytes - BLOCK, BLOCK);
    }
}

static void copy_whole_rows(void *arg, size_t from, size_t to)
{
    const struct copying *c = arg;
    char *whole = c->whole + from * c->row;
    for (size_t i = 0; i < c->n; i++) {
        const size_t bytes = c->part[i].bytes;
        char *part = c->part[i].data + from * bytes;
        if (c->split && bytes)
            ox_parts_copy_rows(to - from, whole, c->row, part, bytes, bytes);
        else if (bytes)
            ox_parts_copy_rows(to - from, part, bytes, whole, c->row, bytes);
        whole += bytes;
    }
}

/* Bytes [first, end) of a row of the whole. */
static void copy_stretch(const struct copying *c, size_t row, size_t first, size_t end)
{
    size_t at = 0;
    for (size_t i = 0; i < c->n && at < end; i++) {
        const struct ox_part *part = &c->part[i];
        const size_t next = at + part->bytes, from = first > at ? first : at,
                     to = end < next ? end : next;
        if (from < to) {
            char *of_whole = c->whole + row * c->row + from;
            char *of_part = part->data + row * part->bytes + (from - at);
            memcpy(c->split ? of_part : of_whole, c->split ? of_whole : of_part, to - from);
        }
        at = next;
    }
}

static void copy_pieces(void *arg, size_t from, size_t to)
{
    const struct copying *c = arg;
    for (size_t i = from; i < to; i++) {
        const size_t first = i % c->pieces * c->piece, left = c->row - first;
        copy_stretch(c, i / c->pieces, first, first + (left < c->piece ? left : c->piece));
    }
}

static void copy(struct ox_env *env, size_t rows, struct copying *c)
{
    const double ns = 0.1; /* a byte */
    for (size_t i = 0; i < c->n; i++)
        c->row += c->part[i].bytes;
    if (c->row < (size_t)PIECES * TASK_BYTES) {
        ox_fast_spread(env, rows, TASK_BYTES / (c->row + 1) + 1, ns * (double)c->row,
                       copy_whole_rows, c);
        return;
    }
    c->piece = (c->row - 1) / PIECES + 1;
    c->pieces = (c->row - 1) / c->piece + 1;
    ox_fast_spread(env, rows * c->pieces, 1, ns * (double)c->piece, copy_pieces, c);
}

void ox_parts_join(struct ox_env *env, size_t rows, size_t n, const struct ox_part *part,
                   void *whole)
{
    struct copying c = {.part = part, .n = n, .whole = whole};
    copy(env, rows, &c);
}

void ox_parts_split(struct ox_env *env, size_t rows, size_t n, const struct ox_part *part,
                    void *whole)
{
    struct copying c = {.part = part, .n = n, .whole = whole, .split = true};
    copy(env, rows, &c);
}
