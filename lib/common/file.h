/* Files: mapping them to read, writing them whole or not at all. */
#ifndef OX_COMMON_FILE_H
#define OX_COMMON_FILE_H

#include "common/error.h"

struct ox_env;

/* The bytes of a file. A big regular file is mapped; a small one, and anything else ("-" is standard input, a pipe,
 * /dev/fd/N), is read into memory within the budget.
 *
 * A mapped file that another program cuts short raises SIGBUS where it is read. The library installs no handlers;
 * the program's asks ox_mapping_at() which file it was, cleans up and ends with that message. One that is overwritten in
 * place changes under the reader: so sizes and structure are copied out before they are checked and used (the model's
 * skeleton, the headers of tensor files), and only elements are read from the map. */
struct ox_mapping {
    const uint8_t *data;
    size_t bytes;
    bool mapped;
    struct ox_budget *budget;
};

/* max_bytes 0: no limit. OX_INPUT (missing, a folder, unreadable), OX_LIMIT, OX_NO_MEMORY. */
enum ox_status ox_mapping_open(struct ox_mapping *mapping, struct ox_env *env, const char *path,
                               uint64_t max_bytes, struct ox_error *err);
/* The same for an open descriptor, which stays the caller's; path only names it in messages. */
enum ox_status ox_mapping_open_fd(struct ox_mapping *mapping, struct ox_env *env, int fd,
                                  const char *path, uint64_t max_bytes, struct ox_error *err);
void ox_mapping_release(struct ox_mapping *mapping);

/* As fstat() does, but by an empty name of ours: libc's own lies in 64 KB that nothing else of a small check maps. */
struct stat;
int ox_fd_stat(int fd, struct stat *st);

/* Why a location of external data is refused by its spelling alone ("it is absolute"), or NULL: empty, absolute, a
 * component "..", a backslash, not UTF-8, control characters, over 4095 bytes, a leading '#', an _ORT_MEM_ADDR_ marker. */
const char *ox_location_fault(const char *location);

/* Opens `location` beneath the folder `dir` to read, following no link and leaving it by no "..": openat2 with
 * RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS where the kernel has it, else a verified walk. Only a regular file with one
 * hard link is taken. With OX_EXTERNAL_FOLLOW links, hard ones too, may lead to files within root. OX_INPUT: all that
 * the file or its location is to blame for. */
enum ox_status ox_open_beneath(const char *dir, const char *location, enum ox_external_mode mode,
                               const char *root, int *fd, struct ox_error *err);

/* Writing: struct ox_outfile in onnxtool.h. */

/* Appends n bytes of an open file, from `offset` on: by the system where it can, which may share blocks, else a block at a time.
 * OX_INPUT: the file is shorter. */
enum ox_status ox_outfile_copy(struct ox_outfile *out, int fd, uint64_t offset, uint64_t n,
                               struct ox_error *err);

/* The folder of a path ("." when it has none) and its last component; from malloc, NULL when out of memory. */
char *ox_path_dir(const char *path);
const char *ox_path_base(const char *path);

#endif
