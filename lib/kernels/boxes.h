/* Boxes that overlap. */
#ifndef OX_KERNELS_BOXES_H
#define OX_KERNELS_BOXES_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu.h"

enum ox_box_side { OX_BOX_LEFT, OX_BOX_RIGHT, OX_BOX_TOP, OX_BOX_LOW, OX_BOX_AREA, OX_BOX_SIDES };

enum { OX_BOXES_ABREAST = 32 };

/* Boxes lie in blocks of OX_BOXES_ABREAST: of each side that of all of the block, one side after another. Those of a last block that are
 * not there have an area of 0. */
struct ox_boxes {
    /* Whether common / (area + area - common) of the box, given by its sides, and one of n_blocks blocks is over the threshold, common the
     * area of what they share, all areas over 0; each step rounded in the boxes' type. */
    bool (*overlap_f32)(size_t n_blocks, const float *blocks, const float *box, float threshold);
    bool (*overlap_f64)(size_t n_blocks, const double *blocks, const double *box, double threshold);
};

/* At that level; the same answers at all. */
const struct ox_boxes *ox_boxes(enum ox_cpu level);

/* By an instruction set; for boxes.c. */
extern const struct ox_boxes ox_boxes_avx2, ox_boxes_avx512;

#endif
