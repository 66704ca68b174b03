#include "tests/tables.h"

#include <pthread.h>

#include "kernels/triples.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define EMULATION 1
void ox_compute_emulated(struct ox_compute *t);
void ox_integer_avx512_emulated(struct ox_integer *t);
void ox_integer_mixed_avx512_emulated(struct ox_integer *t);
void ox_integer_vnni_emulated(struct ox_integer *t);
void ox_integer_avxvnni_emulated(struct ox_integer *t);
void ox_rows_emulated(struct ox_rows *t);
#else
#define EMULATION 0
#endif

static struct ox_compute emulated;
enum { AVX512, VNNI, AVXVNNI, PLAIN_STRIP, EMULATED };
static struct ox_integer emulated_integer[EMULATED];
static struct ox_rows emulated_rows;
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void plain_strip(const struct ox_integer_strip *s)
{
    const size_t nr = ox_integer(OX_CPU_C)->nr;
    for (size_t cell = 0; cell < s->rows * s->panels * nr; cell++) {
        const size_t i = cell / (s->panels * nr), j = cell % (s->panels * nr);
        const int8_t *b = (const int8_t *)s->b + j / nr * s->panel + j % nr * 4;
        int32_t sum = 0;
        for (size_t segment = 0; segment < s->segments; segment++, b += s->depth * nr) {
            for (size_t p = 0; p < s->depth; p++)
                sum += s->a[segment][i * s->a_row + p] * b[p / 4 * 4 * nr + p % 4];
        }
        s->c[i * s->ldc + j] = sum;
    }
}

static void fill(void)
{
    emulated = *ox_compute(ox_cpu_probe());
    emulated_rows = *ox_rows(ox_cpu_probe());
    for (unsigned i = 0; i < PLAIN_STRIP; i++)
        emulated_integer[i] = *ox_integer(ox_cpu_common());
    emulated_integer[PLAIN_STRIP] = *ox_integer(OX_CPU_C);
    emulated_integer[PLAIN_STRIP].strip = plain_strip;
#if EMULATION
    ox_compute_emulated(&emulated);
    emulated.triples = &ox_triples_c; /* those of AMX, but for numbers below FLT_MIN */
    ox_rows_emulated(&emulated_rows);
    ox_integer_avx512_emulated(&emulated_integer[AVX512]);
    ox_integer_mixed_avx512_emulated(&emulated_integer[AVX512]);
    ox_integer_vnni_emulated(&emulated_integer[VNNI]);
    ox_integer_avxvnni_emulated(&emulated_integer[AVXVNNI]);
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

unsigned n_integer_tables(void)
{
    return 2 + (unsigned)ox_cpu_probe() +
           (EMULATION && ox_cpu_probe() >= OX_CPU_AVX2 ? (unsigned)PLAIN_STRIP : 0);
}

const struct ox_integer *integer_table_at(unsigned i)
{
    if (i <= (unsigned)ox_cpu_probe())
        return ox_integer((enum ox_cpu)i);
    pthread_once(&filled, fill);
    return &emulated_integer[i + 1 == n_integer_tables() ? (unsigned)PLAIN_STRIP
                                                         : i - (unsigned)ox_cpu_probe() - 1];
}

const struct ox_rows *rows_table_at(unsigned i)
{
    if (i <= (unsigned)ox_cpu_probe())
        return ox_rows((enum ox_cpu)i);
    pthread_once(&filled, fill);
    return &emulated_rows;
}

const char *table_name(unsigned i)
{
    return i <= (unsigned)ox_cpu_probe() ? ox_cpu_name((enum ox_cpu)i) : "avx512, emulated";
}
