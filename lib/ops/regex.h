/* Regular expressions of RE2's language, for operators that search by them. */
#ifndef OX_OPS_REGEX_H
#define OX_OPS_REGEX_H

#include "ops/op.h"

struct ox_regex;

/* Compiles a pattern to search with. *out is in the run's scratch and must be given to ox_regex_release() before the kernel returns.
 * OX_INPUT says what is wrong with the pattern. */
enum ox_status ox_regex_compile(struct ox_run *r, const char *pattern, struct ox_regex **out,
                                struct ox_error *err);
void ox_regex_release(struct ox_regex *x); /* NULL is fine */
/* The first match in s at or after byte `from`, and of those that begin there the longest: [*begin, *end). *found is false when
 * there is none. s must be valid UTF-8. */
enum ox_status ox_regex_find(struct ox_run *r, struct ox_regex *x, struct ox_str s, size_t from,
                             size_t *begin, size_t *end, bool *found, struct ox_error *err);

#endif
