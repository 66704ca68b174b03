#include "tests/tables.h"

#include <pthread.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EMULATION 1
void ox_compute_emulated(struct ox_compute *t);
#else
#define EMULATION 0
#endif

static struct ox_compute emulated;
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
    emulated = *ox_compute(ox_cpu_probe());
#if EMULATION
    ox_compute_emulated(&emulated);
#endif
}

unsigned n_tables(void)
{
    return 1 + (unsigned)ox_cpu_probe() + (EMULATION && ox_cpu_probe() >= OX_CPU_AVX2);
}

const struct ox_compute *table_at(unsigned i)
{
    if (i <= (unsigned)ox_cpu_probe())
        return ox_compute((enum ox_cpu)i);
    pthread_once(&filled, fill);
    return &emulated;
}

const char *table_name(unsigned i)
{
    return i <= (unsigned)ox_cpu_probe() ? ox_cpu_name((enum ox_cpu)i) : "avx512, emulated";
}
