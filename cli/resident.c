/* What the process itself holds, beside what the library counts. */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"

uint64_t cli_peak_resident(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *peak = strstr(text, "VmHWM:");
    if (peak)
        return strtoull(peak + strlen("VmHWM:"), NULL, 10) * 1024;
    /* Where there is no such file. It counts what the starting program held before exec, too. */
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

void cli_give_back_large(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20); /* what every run takes anew is not given back by each */
#endif
}
