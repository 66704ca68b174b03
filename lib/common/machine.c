#include "common/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "common/compiler.h"

enum { PATH_BYTES = 4096, GROUPS_BYTES = 4 * PATH_BYTES };

/* Reads a small file of /sys or /proc whole, ended by a 0. Every command comes here before it does anything: plain system calls and
 * integers, for stdio and floating-point conversions would cost a small command more than its work does. */
static bool read_text(const char *path, char *text, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    size_t n = 0;
    ssize_t got = 1;
    while (n < bytes - 1 && (got = read(file, text + n, bytes - 1 - n)) > 0)
        n += (size_t)got;
    close(file);
    text[n] = '\0';
    return got >= 0;
}

/* The number that `*text` begins with, which is moved behind it; 0 for any other word ("max": no limit). */
static uint64_t next_number(const char **text)
{
    uint64_t number = 0;
    const char *at = *text;
    while (*at == ' ')
        at++;
    for (; *at >= '0' && *at <= '9'; at++)
        if (OX_MUL_OVERFLOWS(number, UINT64_C(10), &number) ||
            OX_ADD_OVERFLOWS(number, (uint64_t)(*at - '0'), &number))
            number = UINT64_MAX / 10 - 1;
    *text = at;
    return number;
}

/* Whether `controller` is one of the names between commas in the n bytes at `list`; none ("") is in the empty list alone. */
static bool in_list(const char *list, size_t n, const char *controller)
{
    size_t wanted = strlen(controller);
    if (!wanted)
        return n == 0;
    for (const char *end = list + n; list < end; list++) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t length = (size_t)((comma ? comma : end) - list);
        if (length == wanted && memcmp(list, controller, wanted) == 0)
            return true;
        list += length;
    }
    return false;
}

/* Where this process is in the hierarchy of `controller` ("" for version 2), by the text of /proc/self/cgroup: lines of
 * number:controllers:path. Keeps the first `keep` bytes of `path` and writes behind them; false if there is none or it is too long. */
static bool group_path(const char *groups, const char *controller, char *path, size_t keep)
{
    for (const char *line = groups; *line;) {
        const char *newline = strchr(line, '\n'), *end = newline ? newline : strchr(line, '\0');
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *where = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (where && in_list(list + 1, (size_t)(where - list - 1), controller)) {
            size_t bytes = (size_t)(end - ++where);
            if (bytes >= PATH_BYTES - keep)
                return false;
            memcpy(path + keep, where, bytes);
            path[keep + bytes] = '\0';
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* No text where it cannot be read. */
static void read_groups(char *groups, size_t bytes)
{
    if (!read_text("/proc/self/cgroup", groups, bytes))
        groups[0] = '\0';
}

/* The text of the file `name` in the folder of the n first bytes of `path`, which is restored. */
static bool read_in(char *path, size_t n, const char *name, char *text, size_t bytes)
{
    size_t name_bytes = strlen(name) + 1;
    if (name_bytes >= PATH_BYTES - n)
        return false;
    path[n] = '/';
    memcpy(path + n + 1, name, name_bytes);
    bool ok = read_text(path, text, bytes);
    path[n] = '\0';
    return ok;
}

/* What each of these reads is the limit that the folder of the n first bytes of `path` sets; 0: none. */

static uint64_t cores_v2(char *path, size_t n)
{
    char line[128];
    if (!read_in(path, n, "cpu.max", line, sizeof line))
        return 0;
    const char *at = line;
    uint64_t quota = next_number(&at);
    uint64_t period = next_number(&at);
    return period ? quota / period + (quota % period != 0) : 0;
}

static uint64_t number_in(char *path, size_t n, const char *name)
{
    char line[128];
    const char *at = line;
    return read_in(path, n, name, line, sizeof line) ? next_number(&at) : 0;
}

static uint64_t cores_v1(char *path, size_t n)
{
    uint64_t quota = number_in(path, n, "cpu.cfs_quota_us");
    uint64_t period = quota ? number_in(path, n, "cpu.cfs_period_us") : 0;
    return period ? quota / period + (quota % period != 0) : 0;
}

static uint64_t memory_v2(char *path, size_t n)
{
    return number_in(path, n, "memory.max");
}

static uint64_t memory_v1(char *path, size_t n)
{
    return number_in(path, n, "memory.limit_in_bytes");
}

/* The least of `most` (0: none) and what this process's group and each group above it allow, up to the root. In a container the path
 * may name folders that are not visible: they just fail to read. */
static uint64_t least_of_groups(const char *groups, const char *root, const char *controller,
                                uint64_t (*read_limit)(char *path, size_t n), uint64_t most)
{
    char path[PATH_BYTES];
    size_t root_bytes = strlen(root);
    memcpy(path, root, root_bytes);
    if (!group_path(groups, controller, path, root_bytes))
        return most;
    for (size_t n = strlen(path);; n--) {
        while (n > root_bytes && path[n - 1] == '/')
            n--;
        uint64_t limit = read_limit(path, n);
        if (limit && (!most || limit < most))
            most = limit;
        while (n > root_bytes && path[n - 1] != '/')
            n--;
        if (n <= root_bytes)
            return most;
    }
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
    char groups[GROUPS_BYTES];
    read_groups(groups, sizeof groups);
    uint64_t cores = affinity_cores();
    cores = least_of_groups(groups, "/sys/fs/cgroup", "", cores_v2, cores);
    cores = least_of_groups(groups, "/sys/fs/cgroup/cpu", "cpu", cores_v1, cores);
    return (unsigned)cores;
}

uint64_t ox_machine_memory(void)
{
    struct sysinfo machine;
    uint64_t bytes = 0;
    if (sysinfo(&machine) != 0 ||
        OX_MUL_OVERFLOWS((uint64_t)machine.totalram, (uint64_t)machine.mem_unit, &bytes))
        bytes = 0;
    char groups[GROUPS_BYTES];
    read_groups(groups, sizeof groups);
    bytes = least_of_groups(groups, "/sys/fs/cgroup", "", memory_v2, bytes);
    return least_of_groups(groups, "/sys/fs/cgroup/memory", "memory", memory_v1, bytes);
}

uint64_t ox_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
