#include "kernels/boxes.h"

#include "common/stamp.h"

#define STAMP "kernels/boxes_tmpl.h"
#include "common/stamp_floats.h"

const struct ox_boxes *ox_boxes(enum ox_cpu level)
{
    static const struct ox_boxes plain = {overlap_f32, overlap_f64};
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX512)
        return &ox_boxes_avx512;
    if (level >= OX_CPU_AVX2)
        return &ox_boxes_avx2;
#endif
    (void)level;
    return &plain;
}
