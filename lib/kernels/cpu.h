/* What the processor can do, in levels: each includes those before it, of its architecture, but for AVX-VNNI, which only some of those
 * with AVX-512 have beside it. Every kernel table has a version a level. */
#ifndef OX_KERNELS_CPU_H
#define OX_KERNELS_CPU_H

#include <stdbool.h>

enum ox_cpu {
    OX_CPU_C,       /* plain C: the truth that the others are tested against */
    OX_CPU_AVX2,    /* AVX2, FMA, F16C */
    OX_CPU_AVXVNNI, /* AVX_VNNI: products of bytes without AVX-512 */
    OX_CPU_AVX512,  /* F, BW, DQ, VL */
    OX_CPU_VNNI,    /* AVX512_VNNI */
    OX_CPU_AMX,     /* AMX-INT8 and AMX-BF16, allowed by the kernel; AVX512_VBMI */
    OX_CPU_NEON,    /* 64-bit ARM's Advanced SIMD */
    OX_CPU_DOTPROD, /* its products of bytes (FEAT_DotProd) */
    OX_CPU_LEVELS
};

/* What processor and system say of themselves. */
struct ox_cpu_facts {
    enum ox_cpu level; /* the highest */
    bool avxvnni, vbmi, amd, wide;
};

/* Asks them; for cpu.c, which remembers: a virtual machine may take a millisecond's twentieth to answer. */
struct ox_cpu_facts ox_cpu_ask(void);

/* "c", "avx2", "avxvnni", "avx512", "vnni", "amx", "neon", "dotprod": the words of ONNXTOOL_CPU. */
const char *ox_cpu_name(enum ox_cpu level);
/* False when there is no such word; *level is then left as it was. */
bool ox_cpu_find(const char *name, enum ox_cpu *level);

/* The highest level that processor and system have. What fills a table of kernels is itself compiled for their instruction set, so
 * that no table is filled beyond this level. */
enum ox_cpu ox_cpu_probe(void);
/* Whether LEVEL is among those up to ox_cpu_probe() that the processor has. */
bool ox_cpu_has(enum ox_cpu level);
/* Whether the processor has AVX512_VBMI: all with AMX, and most with VNNI. */
bool ox_cpu_has_vbmi(void);
/* Whether it is one of AMD's: they follow many streams far ahead by themselves. */
bool ox_cpu_is_amd(void);
/* Whether its units are as wide as vectors of 16 floats, so that half of one takes as long: AMD's with AVX-512 before Zen 5 multiply one a
 * cycle, in two halves, where all others multiply two. */
bool ox_cpu_is_wide(void);
/* The level that nearly every processor of this architecture has: what should give the same bits on all of them runs at it. */
enum ox_cpu ox_cpu_common(void);
/* The level in use: ox_cpu_probe(), or less where the environment's ONNXTOOL_CPU or ox_cpu_limit() says so. A word that
 * is none of the above limits nothing: the program looks at it before. */
enum ox_cpu ox_cpu(void);
/* Lowers (or raises again) the level in use, at most to what ox_cpu_probe() says; AVX-VNNI where there is none is AVX2. For programs and tests, before work begins. */
void ox_cpu_limit(enum ox_cpu most);
/* Limits it to ox_cpu_common(), and leaves it as it is for kernels that give the same bits at every level: ox_cpu_exact() is theirs. */
void ox_cpu_make_steady(void);
enum ox_cpu ox_cpu_exact(void);

#endif
