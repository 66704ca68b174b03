/* What the files of the 8-bit convolution share. */
#ifndef OX_KERNELS_INTEGER_IMPL_H
#define OX_KERNELS_INTEGER_IMPL_H

#include "kernels/integer.h"

enum {
    OX_INTEGER_OVER = 16,     /* bytes behind a frame that may be read */
    OX_INTEGER_SEGMENTS = 256 /* of a row, at most */
};

/* A convolution whose image has been padded, or a product as a convolution over
 * an image of one line. */
struct ox_integer_core {
    const struct ox_integer *t;
    size_t groups, channels, n;      /* of a group */
    size_t taps[2], depth, segments; /* a segment is a kernel row when its taps
                                      are one run of memory */
    size_t rows, cols;               /* outputs of an image, or rows of several */
    size_t line, pixel;              /* bytes from output row to row and from output to output,
                         in the input */
    size_t image_rows, image;        /* rows of an image; bytes from image to image */
    bool even;                       /* all outputs' pixels lie at one distance */
    size_t tap_line, tap_pixel;      /* from tap to tap */
    size_t panel;                    /* bytes of a packed panel */
    bool depthwise;
    /* of a run */
    const uint8_t *in, *end_of_in; /* what is before the end may be read */
    uint8_t flip;
    const char *packed;
    char *out;
    size_t out_size, out_pixel; /* bytes of an element; elements */
    const struct ox_integer_end *end;
    const uint8_t *residual; /* the image's part; NULL */
    const int32_t *
        terms; /* ox_integer_terms_make(), a group after another; NULL: of each row when it is at hand */
    size_t n_rows, row_step; /* parts of the rows, as ox_part_at() has them */
    size_t block_cols, n_cols;
    bool slack; /* bytes may be read past a segment's end: the weights there are 0 */
    bool
        joined; /* QUADS: rows are copied, their segments without gaps, so that fewer fours are multiplied */
    size_t wide;   /* elements of a row as words (MIXED: as bytes); 0: read in place */
    int32_t *sums; /* a slot: mr such rows, mr x block_cols sums */
    size_t slot;
    bool abreast;    /* groups are small; a slot: sums of a few pixels */
    bool strips;     /* else tiles; a slot: the sums of a strip's chunk, and its rows copied */
    bool upright;    /* weights lie as UPRIGHT */
    bool later;      /* strips fetch the next columns' weights */
    size_t copy_row; /* bytes of such a row, or of one that is joined */
};

/* A task's part of the outputs: rows m0 to m1 - 1 and columns of a group. */
struct ox_integer_block {
    size_t group, m0, m1, cols;
    size_t col; /* of all groups' */
    const char *packed;
    struct ox_integer_end end;
};
struct ox_integer_block ox_integer_block_of(const struct ox_integer_core *k, size_t task);

/* ---- integer.c ---- */

/* Of a convolution whose image is `width` pixels across, `pixel` bytes apart. */
void ox_integer_describe(const struct ox_integer *t, const struct ox_conv *c, size_t width,
                         size_t pixel, struct ox_integer_core *k);

/* Where what row y of the outputs reads begins. */
static inline const uint8_t *ox_integer_line(const struct ox_integer_core *k, size_t y)
{
    return k->in + y / k->image_rows * k->image + y % k->image_rows * k->line;
}

/* What stands before packed weights, as of those that lie as the table's layout says; its bytes. */
size_t ox_integer_put_head(const struct ox_integer *t, const struct ox_conv *c, void *out);
/* ox_integer_conv_work() for such weights. */
size_t ox_integer_plain_work(const struct ox_integer *t, const struct ox_env *env,
                             const struct ox_conv *c, bool in_signed, bool weight_zeros);

/* A byte in two's complement. */
static inline int16_t ox_integer_signed(uint8_t byte)
{
    return (int16_t)((byte ^ 0x80) - 0x80);
}

/* How outputs are divided into tasks (an image's) for so many threads, and all of them. */
void ox_integer_blocks_plan(struct ox_integer_core *k, size_t slots);
void ox_integer_blocks_run(const struct ox_integer_core *k, struct ox_env *env);

void ox_integer_copy(const uint8_t *from, uint8_t flip, size_t n, uint8_t *to);
/* Where the segments of a row lie whose first byte is at `first`: a[s * step]; and the sum of all their bytes. */
void ox_integer_find_segments(const struct ox_integer_core *k, const uint8_t *first, size_t step,
                              const uint8_t **a);
int32_t ox_integer_row_sum(const struct ox_integer_core *k, const uint8_t *const *a, size_t step);

/* Sums of the bytes under a kernel of several taps, for weights with zero points: room for those of so many images (bytes; 0: they are not made;
 * SIZE_MAX: too many), and k->terms made there. */
size_t ox_integer_terms_bytes(const struct ox_env *env, const struct ox_conv *c, size_t images);
void ox_integer_terms_make(struct ox_integer_core *k, struct ox_env *env, const struct ox_conv *c,
                           void *room);
static inline const int32_t *ox_integer_terms_at(const struct ox_integer_core *k,
                                                 const struct ox_integer_block *b, size_t m)
{
    return k->terms + b->group * k->rows * k->cols + m;
}

/* Strips, where the table has them: whether they pay for these outputs, how they are divided, and one such task. */
bool ox_integer_strips_pay(const struct ox_integer_core *k);
void ox_integer_strips_plan(struct ox_integer_core *k);
void ox_integer_strips_run(void *core, size_t task, size_t slot);
/* Rows m to m + rows - 1, their segments one after another as ox_integer_segment() has them, copy_row bytes apart, of which
 * OX_INTEGER_OVER are room. */
size_t ox_integer_copy_row(const struct ox_integer_core *k);
void ox_integer_copy_rows(const struct ox_integer_core *k, const struct ox_integer_block *b,
                          size_t m, size_t rows, uint8_t *to);

/* What end->after says, done to rows m to m + rows - 1 of these columns of the outputs, or to all of an image's. */
void ox_integer_after_rows(const struct ox_integer_core *k, size_t m, size_t rows, size_t col,
                           size_t cols);
void ox_integer_after_image(struct ox_env *env, const struct ox_conv *c,
                            const struct ox_integer_after *after, size_t at, void *out);

/* Tables of MIXED: a slot's size in sums, and a task. */
size_t ox_integer_rows_slot(const struct ox_integer_core *k);
void ox_integer_rows_run(void *core, size_t task, size_t slot);

/* Bytes of a result's element. */
size_t ox_integer_out_size(enum ox_integer_out type);
/* All rows by the table's leave(), or one by one. */
void ox_integer_leave(const struct ox_integer *t, const struct ox_integer_sums *s,
                      const struct ox_integer_end *end);

/* A tile's rows from `first` on, whose sums hold the offset: those that may have more bits than a float, or become more than 16. */
void ox_integer_leave_tile(const struct ox_integer_tile *t, unsigned first, unsigned rows,
                           const int32_t *sums, size_t ld);

/* UPRIGHT, in the place of MIXED. Whether this table can have it whatever the image; pays(): for this one, with more memory. A core that
 * uses it; pack(): false where the weights' entries are too many. */
bool ox_integer_upright_can(const struct ox_integer *t, const struct ox_conv *c);
bool ox_integer_upright_pays(const struct ox_integer *t, const struct ox_conv *c);
void ox_integer_upright_use(struct ox_integer_core *k);
/* Rows that it multiplies at a time. */
size_t ox_integer_upright_rows(const struct ox_integer_core *k);
size_t ox_integer_upright_panel_bytes(size_t fours);
bool ox_integer_upright_pack(struct ox_env *env, const struct ox_integer_packing *p);

/* ---- integer_pack.c ---- */

/* A panel's fours as in QUADS (PAIRS: its twos), and the most that sums of n fours by nr columns can be in size. */
void ox_integer_fill_panel(const struct ox_integer_packing *p, size_t i, char *out);
uint32_t ox_integer_most(const int8_t *fours, size_t n, size_t nr);

bool ox_integer_is_depthwise(const struct ox_conv *c);
/* Depthwise by lines, where the table has them and the kernel fits. run(): of all images; `lines` without in and out. */
bool ox_integer_lines_can(const struct ox_integer *t, const struct ox_conv *c);
enum { OX_INTEGER_LINES_WORK = 64 }; /* bytes */
void ox_integer_lines_run(const struct ox_integer *t, struct ox_env *env,
                          const struct ox_integer_lines *lines, const void *in, void *out);

/* Small groups abreast, where the table has them. A task is a stretch of a line of outputs; a slot's size is in sums. */
bool ox_integer_abreast_can(const struct ox_integer *t, const struct ox_conv *c);
size_t ox_integer_abreast_packed(const struct ox_integer_core *k);
void ox_integer_abreast_pack(const struct ox_integer_packing *p);
size_t ox_integer_abreast_slot(void);
size_t ox_integer_abreast_tasks(const struct ox_integer_core *k);
void ox_integer_abreast_run(void *core, size_t task, size_t slot);

/* 3x3 kernels, stride 1, by Winograd's minimal filtering, exactly. Whether the table has it and the kernel is one; pays(): whether
 * for this image it is less work, with weights of four times the size. */
bool ox_integer_winograd_can(const struct ox_integer *t, const struct ox_conv *c);
bool ox_integer_winograd_pays(const struct ox_integer *t, const struct ox_conv *c);
/* Bytes; SIZE_MAX when they overflow. */
size_t ox_integer_winograd_packed(const struct ox_integer *t, const struct ox_conv *c);
size_t ox_integer_winograd_work(const struct ox_integer *t, const struct ox_env *env,
                                const struct ox_conv *c);
/* False, and nothing is packed, when sums of these weights could become too large to be found again. */
bool ox_integer_winograd_pack(const struct ox_integer *t, struct ox_env *env,
                              const struct ox_conv *c, const void *weights, bool is_signed,
                              void *out);
/* end->weight_zero is NULL. */
void ox_integer_winograd_run(const struct ox_integer *t, struct ox_env *env,
                             const struct ox_conv *c, const void *packed, const void *in,
                             bool in_signed, int32_t in_zero, void *out,
                             const struct ox_integer_end *end, void *work);

#endif
