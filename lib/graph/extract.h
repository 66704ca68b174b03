/* Cutting models down; ox_extract() is in onnxtool.h. */
#ifndef OX_GRAPH_EXTRACT_H
#define OX_GRAPH_EXTRACT_H

#include "model/model.h"

/* Takes out what no node that can be reached from the main graph uses: functions, opset imports, quantization annotations of
 * values that are gone. Training graphs go too. Ids of graphs change. OX_NO_MEMORY: nothing was changed. */
enum ox_status ox_model_prune(struct ox_model *model, struct ox_error *err);
/* Functions that are not kept, by place, leave the model with all graphs in them; nothing may call them. */
void ox_model_keep_functions(struct ox_model *model, const bool *keep);

#endif
