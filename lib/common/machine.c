#include "common/machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/compiler.h"
#include "common/threads.h"

enum { PATH_BYTES = 4096 };

/* The first line of a file under /sys or /proc. */
static bool read_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool ok = fgets(line, (int)bytes, file) != NULL;
    fclose(file);
    if (ok)
        line[strcspn(line, "\n")] = '\0';
    return ok;
}

/* Where this process is in the hierarchy of `controller` ("" for version 2), as in /proc/self/cgroup. */
static bool group_path(const char *controller, char path[PATH_BYTES])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return false;
    char line[PATH_BYTES];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *where = list ? strchr(list + 1, ':') : NULL;
        if (!where)
            continue;
        *where++ = '\0';
        list++;
        char *rest = NULL;
        found = !*controller && !*list;
        for (char *name = strtok_r(list, ",", &rest); name && !found;
             name = strtok_r(NULL, ",", &rest))
            found = *controller && strcmp(name, controller) == 0;
        if (found)
            memmove(path, where, strlen(where) + 1);
    }
    fclose(file);
    return found;
}

/* Calls `read` with the folder of this process's group and of each group above it, up to the root. In a container the
 * path may name folders that are not visible: they just fail to read. */
static void each_group(const char *root, const char *controller,
                       void (*read)(const char *folder, double *least), double *least)
{
    char path[PATH_BYTES];
    if (!group_path(controller, path))
        return;
    for (;;) {
        char folder[PATH_BYTES + 64];
        snprintf(folder, sizeof folder, "%s%s", root, path);
        read(folder, least);
        char *slash = strrchr(path, '/');
        if (!slash || (slash == path && !path[1]))
            break;
        if (slash == path)
            path[1] = '\0';
        else
            *slash = '\0';
    }
}

static void keep_least(double value, double *least)
{
    if (value > 0 && (*least <= 0 || value < *least))
        *least = value;
}

static void read_cpu_v2(const char *folder, double *least)
{
    char path[PATH_BYTES + 128];
    char line[128];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    double quota;
    double period;
    if (read_line(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 &&
        period > 0)
        keep_least(quota / period, least);
}

static void read_cpu_v1(const char *folder, double *least)
{
    char path[PATH_BYTES + 128];
    char quota[64];
    char period[64];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, quota, sizeof quota))
        return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_line(path, period, sizeof period) && atof(quota) > 0 && atof(period) > 0)
        keep_least(atof(quota) / atof(period), least);
}

static void read_memory(const char *folder, const char *name, double *least)
{
    char path[PATH_BYTES + 128];
    char line[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (read_line(path, line, sizeof line))
        keep_least(atof(line), least); /* "max" is 0: no limit */
}

static void read_memory_v2(const char *folder, double *least)
{
    read_memory(folder, "memory.max", least);
}

static void read_memory_v1(const char *folder, double *least)
{
    read_memory(folder, "memory.limit_in_bytes", least);
}

static unsigned affinity_cores(void)
{
    for (int n = 1024; n <= 1 << 20; n *= 2) {
        cpu_set_t *set = CPU_ALLOC(n);
        if (!set)
            break;
        int count = 0;
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(n), set) == 0)
            count = CPU_COUNT_S(CPU_ALLOC_SIZE(n), set);
        CPU_FREE(set);
        if (count > 0)
            return (unsigned)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned ox_cores(void)
{
    unsigned cores = affinity_cores();
    double quota = 0;
    each_group("/sys/fs/cgroup", "", read_cpu_v2, &quota);
    each_group("/sys/fs/cgroup/cpu", "cpu", read_cpu_v1, &quota);
    if (quota > 0 && quota < (double)cores) {
        cores = (unsigned)quota;
        if ((double)cores < quota)
            cores++;
    }
    return cores ? cores : 1;
}

uint64_t ox_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    double bytes = pages > 0 && page_bytes > 0 ? (double)pages * (double)page_bytes : 0;
    each_group("/sys/fs/cgroup", "", read_memory_v2, &bytes);
    each_group("/sys/fs/cgroup/memory", "memory", read_memory_v1, &bytes);
    return (uint64_t)bytes;
}
