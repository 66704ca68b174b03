/* Functions of shared libraries that only some inputs need: bound when the first of these comes, so that no other run pays for loading
 * them, and a machine without them lacks that one thing alone. */
#ifndef OX_COMMON_LAZY_H
#define OX_COMMON_LAZY_H

#include <stdbool.h>
#include <stddef.h>

/* Of a list of functions, X(name) each: the members of a struct of pointers, and their names in the same order. */
#define OX_LAZY_MEMBER(name) __typeof__(&(name)) name;
#define OX_LAZY_NAME(name) #name,

/* The soname that the build gives as a macro, as text. */
#define OX_LAZY_SONAME(macro) OX_LAZY_TEXT(macro)
#define OX_LAZY_TEXT(text) #text

/* Fills the n pointers at `calls` with the functions of the library of that soname, which stays loaded. False: it isn't installed, or
 * lacks one of them. Thread-safe. */
bool ox_lazy_bind(const char *soname, const char *const *names, size_t n, void *calls);

#endif
