#include "kernels/folds_tmpl.h"

static const struct ox_folds folds = OX_FOLD_TABLE;

const struct ox_folds *ox_folds(enum ox_cpu level)
{
#if defined(__x86_64__)
    if (level >= OX_CPU_AVX2)
        return &ox_folds_avx2;
#endif
    (void)level;
    return &folds;
}

void ox_folds_find(enum ox_cpu level, enum ox_fold_kind kind, enum ox_dtype type, const void *x,
                   size_t rows, size_t n, bool last, int64_t *place)
{
    enum { TOGETHER = 64 };
    const struct ox_folds *table = ox_folds(level);
    const struct ox_fold *fold = table->of[kind][type];
    uint64_t best[TOGETHER]; /* room for the widest type */
    const char *in = x;
    for (size_t some; rows > 0; rows -= some, place += some) {
        some = rows < TOGETHER ? rows : TOGETHER;
        fold->start(best, some);
        fold->rows(best, in, some, n);
        table->places[type](in, some, n, best, last, place);
        in += some * n * ox_dtype_size(type);
    }
}
