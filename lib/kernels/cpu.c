#include "kernels/cpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "onnxtool.h"

static const char *const names[OX_CPU_LEVELS] = {"c",    "avx2", "avxvnni", "avx512",
                                                 "vnni", "amx",  "neon",    "dotprod"};

/* One more than the level in use; 0 until it is asked for. exact_in_use: 0 where it is the same. */
static _Atomic unsigned in_use, exact_in_use;

static struct ox_cpu_facts facts;
static pthread_once_t asked = PTHREAD_ONCE_INIT;

const char *ox_cpu_name(enum ox_cpu level)
{
    return names[level];
}

bool ox_cpu_find(const char *name, enum ox_cpu *level)
{
    for (unsigned i = 0; i < OX_CPU_LEVELS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *level = (enum ox_cpu)i;
            return true;
        }
    }
    return false;
}

bool ox_cpu_is_known(const char *word)
{
    enum ox_cpu level;
    return ox_cpu_find(word, &level);
}

bool ox_cpu_is_here(const char *word)
{
    enum ox_cpu level;
    return ox_cpu_find(word, &level) && ox_cpu_has(level);
}

const char *ox_cpu_most(void)
{
    return ox_cpu_name(ox_cpu_probe());
}

#if !defined(__x86_64__) && !defined(__aarch64__)
struct ox_cpu_facts ox_cpu_ask(void)
{
    return (struct ox_cpu_facts){.level = OX_CPU_C};
}
#endif

static void ask(void)
{
    facts = ox_cpu_ask();
}

static const struct ox_cpu_facts *known_facts(void)
{
    pthread_once(&asked, ask);
    return &facts;
}

enum ox_cpu ox_cpu_probe(void)
{
    return known_facts()->level;
}

bool ox_cpu_has(enum ox_cpu level)
{
    const enum ox_cpu most = ox_cpu_probe();
    if (level == OX_CPU_AVXVNNI)
        return known_facts()->avxvnni;
    return level == OX_CPU_C || (level <= most && (level < OX_CPU_NEON) == (most < OX_CPU_NEON));
}

bool ox_cpu_has_vbmi(void)
{
    return known_facts()->vbmi;
}

bool ox_cpu_is_amd(void)
{
    return known_facts()->amd;
}

bool ox_cpu_is_wide(void)
{
    return known_facts()->wide;
}

enum ox_cpu ox_cpu_common(void)
{
#if defined(__x86_64__)
    return OX_CPU_AVX2;
#elif defined(__aarch64__)
    return OX_CPU_NEON;
#else
    return OX_CPU_C;
#endif
}

void ox_cpu_limit(enum ox_cpu most)
{
    enum ox_cpu level = ox_cpu_probe();
    if (most == OX_CPU_AVXVNNI && !ox_cpu_has(most))
        most = OX_CPU_AVX2;
    atomic_store(&exact_in_use, 0);
    atomic_store(&in_use, 1u + (unsigned)(most < level ? most : level));
}

enum ox_cpu ox_cpu(void)
{
    unsigned known = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (!known) {
        enum ox_cpu most = OX_CPU_LEVELS - 1;
        const char *word = getenv("ONNXTOOL_CPU");
        if (word)
            ox_cpu_find(word, &most);
        ox_cpu_limit(most);
        known = atomic_load(&in_use);
    }
    return (enum ox_cpu)(known - 1);
}

void ox_cpu_make_steady(void)
{
    const unsigned exact = 1u + (unsigned)ox_cpu();
    ox_cpu_limit(ox_cpu_common());
    atomic_store(&exact_in_use, exact);
}

enum ox_cpu ox_cpu_exact(void)
{
    const unsigned known = atomic_load_explicit(&exact_in_use, memory_order_relaxed);
    return known ? (enum ox_cpu)(known - 1) : ox_cpu();
}
