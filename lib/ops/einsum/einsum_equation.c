#include "ops/einsum/einsum_equation.h"

#include <string.h>

const char *ox_einsum_read(const char **at, struct ox_einsum_term *t)
{
    t->n = 0;
    t->ellipsis = -1;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        char c = **at;
        if (c == ' ')
            continue;
        if (c == '.') {
            if (strncmp(*at, "...", 3) != 0)
                return "dots other than an ellipsis";
            if (t->ellipsis >= 0)
                return "a term with two ellipses";
            t->ellipsis = (int)t->n;
            *at += 2;
            continue;
        }
        bool upper = c >= 'A' && c <= 'Z';
        if (!upper && !(c >= 'a' && c <= 'z'))
            return "a character that is no letter";
        if (t->n == OX_EINSUM_RANK)
            return "a term of more than 64 labels";
        t->label[t->n++] = (unsigned char)(upper ? c - 'A' : c - 'a' + 26);
    }
    return NULL;
}

bool ox_einsum_expand(struct ox_einsum_term *t, unsigned rank)
{
    if (rank > OX_EINSUM_RANK || rank < t->n || (t->ellipsis < 0 && rank != t->n))
        return false;
    unsigned more = rank - t->n, place = t->ellipsis < 0 ? t->n : (unsigned)t->ellipsis;
    memmove(t->label + place + more, t->label + place, t->n - place);
    for (unsigned i = 0; i < more; i++)
        t->label[place + i] = (unsigned char)(OX_EINSUM_LETTERS + more - 1 - i);
    t->n = rank;
    return true;
}

const char *ox_einsum_read_output(const char *at, const unsigned *uses, unsigned most,
                                  struct ox_einsum_term *out)
{
    if (*at == '-') {
        if (at[1] != '>')
            return "a '-' without '>'";
        at += 2;
        const char *wrong = ox_einsum_read(&at, out);
        if (wrong || *at)
            return wrong ? wrong : "more after the output";
        if (!ox_einsum_expand(out, out->n + (out->ellipsis < 0 ? 0 : most)))
            return "too many labels in the output";
    } else {
        out->n = 0;
        out->ellipsis = 0;
        for (unsigned label = 0; label < OX_EINSUM_LETTERS; label++)
            if (uses[label] == 1)
                out->label[out->n++] = (unsigned char)label;
        if (!ox_einsum_expand(out, out->n + most))
            return "too many labels in the output";
    }
    bool seen[OX_EINSUM_LABELS] = {false};
    for (unsigned i = 0; i < out->n; i++) {
        if (seen[out->label[i]])
            return "a label twice in the output";
        if (!uses[out->label[i]])
            return "a label in the output that no input has";
        seen[out->label[i]] = true;
    }
    return NULL;
}
