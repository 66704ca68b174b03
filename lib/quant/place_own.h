/* What the files of our own placement share. */
#ifndef OX_QUANT_PLACE_OWN_H
#define OX_QUANT_PLACE_OWN_H

#include "quant/place.h"

/* Products and convolutions. */
extern const char *const ox_place_heavy[];
/* Their output holds elements of their input and nothing else. */
extern const char *const ox_place_movers[];
/* Runtimes have them on integers. */
extern const char *const ox_place_mixers[];
extern const char *const ox_place_clippers[];

static inline bool ox_place_is_marked(struct ox_place *place, const struct ox_value *value)
{
    return value && ox_place_mark(place, value)->kind == OX_MARK_ACTIVATION;
}

/* What was 0 in all samples tells nothing of what it may be: any scale would do, and be wrong for all else. */
static inline bool ox_place_has_range(struct ox_place *place, const struct ox_value *value)
{
    const struct ox_mark *mark = ox_place_mark(place, value);
    return mark->has_range && (mark->range.least < 0 || mark->range.most > 0);
}

/* Every use of the value is by one node, no output, no capture. */
bool ox_place_only_feeds(const struct ox_place *place, const struct ox_value *value);
/* NULL: not one. */
struct ox_node *ox_place_only_user(const struct ox_place *place, const struct ox_value *value);

/* Marks what a product or convolution reads and makes, or reports why it stays in float. */
enum ox_status ox_place_product(struct ox_place *place, struct ox_node *node, struct ox_error *err);
/* At the end: what keeps onnxruntime from joining a product with what follows into a float operator. */
enum ox_status ox_place_part_product(struct ox_place *place, const struct ox_node *node,
                                     struct ox_error *err);
/* Once all marks are there: softmaxes on floats have ranges of their own. */
void ox_place_softmaxes(struct ox_place *place);
/* What Gather takes of a constant table. */
enum ox_status ox_place_table(struct ox_place *place, struct ox_node *gather, struct ox_error *err);

#endif
