/* Files: mapping them to read, writing them whole or not at all. */
#ifndef OX_COMMON_FILE_H
#define OX_COMMON_FILE_H

#include "common/error.h"

struct ox_env;

/* The bytes of a file. A regular file is mapped, anything else ("-" is standard input, a pipe, /dev/fd/N) is read into
 * memory within the budget. */
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
enum ox_status ox_mapping_open_fd(struct ox_mapping *mapping, struct ox_env *env, int fd, const char *path,
                                  uint64_t max_bytes, struct ox_error *err);
void ox_mapping_release(struct ox_mapping *mapping);

/* Opens `location` beneath the folder `dir` to read, following no link and leaving it by no "..": openat2 with
 * RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS where the kernel has it, else a verified walk. Only a regular file with one
 * hard link is taken. With OX_EXTERNAL_FOLLOW links may lead to files within root. */
enum ox_status ox_open_beneath(const char *dir, const char *location, enum ox_external_mode mode, const char *root,
                               int *fd, struct ox_error *err);

/* A file written beside its target and renamed onto it by _commit (fsync of file and folder). Until then the old file is
 * whole; _release without _commit removes the new one, and so do INT, TERM and HUP if the program installed
 * ox_outfile_cleanup() in its handler. "-" is standard output: written when committed. */
struct ox_outfile;

enum ox_status ox_outfile_open(struct ox_outfile **out, const char *path, struct ox_error *err);
enum ox_status ox_outfile_write(struct ox_outfile *out, const void *bytes, size_t n, struct ox_error *err);
uint64_t ox_outfile_position(const struct ox_outfile *out);
/* Writes at a place already passed (zip headers). */
enum ox_status ox_outfile_patch(struct ox_outfile *out, uint64_t at, const void *bytes, size_t n, struct ox_error *err);
enum ox_status ox_outfile_commit(struct ox_outfile *out, struct ox_error *err);
void ox_outfile_release(struct ox_outfile *out);
/* Removes all temporary files that are open; async-signal-safe. */
void ox_outfile_cleanup(void);

/* Whole buffer to a file, atomically. */
enum ox_status ox_file_write(const char *path, const void *bytes, size_t n, struct ox_error *err);

/* The folder of a path ("." when it has none) and its last component; from malloc, NULL when out of memory. */
char *ox_path_dir(const char *path);
const char *ox_path_base(const char *path);

#endif
