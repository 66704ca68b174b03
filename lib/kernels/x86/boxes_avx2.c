#include "kernels/boxes.h"

#include "common/stamp.h"

#define STAMP "kernels/boxes_tmpl.h"
#include "common/stamp_floats.h"

const struct ox_boxes ox_boxes_avx2 = {overlap_f32, overlap_f64};
