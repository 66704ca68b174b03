#include "commas.h"

#include <stdlib.h>
#include <string.h>

bool commas_next(const char **at, const char **word, size_t *n)
{
    while (*at && **at) {
        *word = *at;
        *n = strcspn(*at, ",");
        *at += *n + ((*at)[*n] == ',');
        if (*n)
            return true;
    }
    return false;
}

bool commas_have(const char *list, const char *word)
{
    const char *one;
    size_t n;
    while (commas_next(&list, &one, &n))
        if (n == strlen(word) && memcmp(one, word, n) == 0)
            return true;
    return false;
}

const char **commas_split(const struct opt_strings *lists, size_t *n)
{
    size_t bytes = 0, count = 0, length;
    const char *at, *word;
    for (size_t i = 0; i < lists->n; i++)
        for (at = lists->items[i]; commas_next(&at, &word, &length); count++)
            bytes += length + 1;
    const char **words = malloc((count + 1) * sizeof *words + bytes);
    if (!words)
        return NULL;
    char *text = (char *)(words + count + 1);
    *n = 0;
    for (size_t i = 0; i < lists->n; i++) {
        for (at = lists->items[i]; commas_next(&at, &word, &length);) {
            memcpy(text, word, length);
            text[length] = '\0';
            words[(*n)++] = text;
            text += length + 1;
        }
    }
    return words;
}
