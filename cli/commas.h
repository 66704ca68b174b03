/* Lists that options take as words between commas. */
#ifndef CLI_COMMAS_H
#define CLI_COMMAS_H

#include "cli.h"

/* The next word, of *n bytes at *word, which moves *at behind it; false at the end. Empty words are passed over; *at may be NULL. */
bool commas_next(const char **at, const char **word, size_t *n);
/* Whether `word` is one of the list, which may be NULL. */
bool commas_have(const char *list, const char *word);
/* The words of all lists with their text, in one block from malloc; NULL: out of memory. */
const char **commas_split(const struct opt_strings *lists, size_t *n);

#endif
