/* What loading the program's libraries left in memory. */
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cli.h"

enum { N_PARTS = 32, PAGE = 4096 };

struct parts {
    size_t n;
    struct {
        uintptr_t start, end;
    } at[N_PARTS];
};

/* Code and constants, which come from their file again. Not the program's own: what of it is in use lies together (scripts/near.ld). */
static int list_parts(struct dl_phdr_info *object, size_t bytes, void *parts_)
{
    (void)bytes;
    struct parts *parts = parts_;
    for (size_t i = 0; *object->dlpi_name && i < object->dlpi_phnum && parts->n < N_PARTS; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || part->p_flags & PF_W)
            continue;
        uintptr_t start = object->dlpi_addr + part->p_vaddr;
        parts->at[parts->n].start = start / PAGE * PAGE;
        parts->at[parts->n++].end = start + part->p_memsz;
    }
    return 0;
}

void cli_forget_libraries(const struct cli *cli)
{
#ifdef NDEBUG                  /* a debugger's breakpoints would go with the pages */
    static struct parts parts; /* listed once: to list them takes back 256 KB */
    /* Objects of others may be such as have their code written to, or write to libc's. */
    if (cli->common.op_libraries.n || getenv("LD_PRELOAD"))
        return;
    if (!parts.n)
        dl_iterate_phdr(list_parts, &parts);
    for (size_t i = 0; i < parts.n; i++)
        madvise((void *)parts.at[i].start, parts.at[i].end - parts.at[i].start, MADV_DONTNEED);
#else
    (void)cli;
    (void)list_parts;
#endif
}

void cli_forget_reading(const struct cli *cli)
{
    enum { WORTH_BYTES = 128 << 10 };
    if (ox_env_memory_peak(cli->env) >= WORTH_BYTES)
        cli_forget_libraries(cli);
}
