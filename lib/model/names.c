#include "model/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"

/* ---- Names -------------------------------------------------------------------------------------------------------- */

void ox_names_release(struct ox_names *names)
{
    ox_strmap_release(&names->map);
    free((void *)names->to);
    *names = (struct ox_names){.n = 0};
}

const char *ox_names_find(const struct ox_names *names, const char *name)
{
    uint32_t i = ox_strmap_find(&names->map, name, strlen(name));
    return i == OX_STRMAP_NONE ? NULL : names->to[i];
}

bool ox_names_add(struct ox_names *names, const char *name, const char *to)
{
    uint32_t index = (uint32_t)names->n;
    void *to_all = (void *)names->to;
    bool is_new;
    if (!ox_grow(&to_all, &names->cap, names->n, sizeof *names->to))
        return false;
    names->to = to_all;
    if (!ox_strmap_add(&names->map, name, strlen(name), &index, &is_new))
        return false;
    if (is_new)
        names->to[names->n++] = to;
    return true;
}

/* ---- Names of dimensions ---------------------------------------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr("_#$@.:", c));
}

size_t ox_dim_next_name(const char **at, const char **name)
{
    for (const char *c = *at; *c;) {
        const char *end = c;
        while (is_name_char(*end))
            end++;
        bool number = isdigit((unsigned char)*c);
        if (end > c && !number && *end != '(') {
            *name = c;
            *at = end;
            return (size_t)(end - c);
        }
        c = end > c ? end : c + 1;
    }
    return 0;
}

const char *ox_dim_rename(struct ox_arena *arena, const struct ox_names *dims, const char *text)
{
    struct ox_strbuf out = {0}, one = {0};
    const char *at = text, *done = text, *name;
    bool changed = false;
    for (size_t n; dims->n && (n = ox_dim_next_name(&at, &name));) {
        ox_strbuf_clear(&one);
        ox_strbuf_add(&one, name, n);
        const char *to = one.failed ? NULL : ox_names_find(dims, one.data);
        ox_strbuf_add(&out, done, (size_t)(name - done));
        ox_strbuf_puts(&out, to ? to : ox_strbuf_text(&one, &out));
        changed |= to != NULL;
        done = at;
    }
    if (out.failed || one.failed) {
        text = NULL;
    } else if (changed) {
        ox_strbuf_puts(&out, done);
        text = ox_arena_text(arena, &out);
    }
    ox_strbuf_release(&out);
    ox_strbuf_release(&one);
    return text;
}
