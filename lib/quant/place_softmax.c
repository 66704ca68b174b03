/* How fine the steps of probabilities are. Attention to many gives each of them a thousandth: by steps of 1/256 nothing is left of it. */
#include <math.h>

#include "quant/place_own.h"

/* The softmax itself may run on integers. */
static bool takes_integers(struct ox_place *place, const struct ox_node *softmax)
{
    const struct ox_value *x = softmax->inputs[0];
    while (!ox_place_is_marked(place, x) && x->producer && ox_place_ort_moves(x->producer) &&
           x->producer->inputs[0])
        x = x->producer->inputs[0];
    return ox_place_is_marked(place, x);
}

/* Samples that are not there may be surer: their probabilities may be twice those seen. */
void ox_place_softmaxes(struct ox_place *place)
{
    const float margin = 2;
    for (size_t i = 0; i < place->n_nodes; i++) {
        const struct ox_node *node = place->graph->nodes[i];
        const struct ox_node *softmax = ox_place_moved_softmax(node);
        if (!softmax || ox_quant_unwanted(place->q, softmax) || takes_integers(place, softmax))
            continue;
        struct ox_mark *mark = ox_place_mark(place, node->outputs[0]);
        ox_place_range_of(place, node->outputs[0]);
        if (mark->range.most > 0)
            mark->range = (struct ox_qrange){0, fminf(1, margin * mark->range.most)};
    }
}
