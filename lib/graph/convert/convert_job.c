/* Which nodes a conversion has to do with. */
#include <string.h>

#include "graph/convert/convert_job.h"

bool ox_node_set_has(const struct ox_node_set *set, const struct ox_node *node)
{
    return set->map.n &&
           ox_strmap_find(&set->map, (const char *)&node, sizeof(node)) != OX_STRMAP_NONE;
}

bool ox_node_set_add(struct ox_node_set *set, const struct ox_node *node)
{
    void *key = ox_arena_copy(&set->keys, &node, sizeof(node));
    uint32_t one = 1;
    return key && ox_strmap_add(&set->map, key, sizeof(node), &one, NULL);
}

bool ox_convert_is_ours(const struct ox_convert_job *job, const struct ox_node *node)
{
    return strcmp(node->domain, job->domain) == 0 &&
           !ox_model_function(job->model, node->domain, node->op_type, node->overload);
}

bool ox_convert_is_there(const struct ox_convert_job *job, const struct ox_node *node)
{
    return !ox_node_set_has(&job->blocked, node) && !ox_node_set_has(&job->removed, node);
}
