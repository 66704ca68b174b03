/* Who serves the operators of a session. */
#ifndef OX_RUNTIME_SERVERS_H
#define OX_RUNTIME_SERVERS_H

#include "runtime/runtime.h"

/* How an operator is served, the same for all nodes that ask alike. */
struct ox_server {
    const struct ox_op *op;
    const struct ox_schema *schema;
    const struct ox_function *function;
    const char *missing; /* why it is served by nothing; NULL */
    struct ox_missing_op report;
};

/* Begun with the session alone and an empty map (ox_strmap_init()). */
struct ox_servers {
    struct ox_session *session;
    struct ox_strmap of; /* "domain\0name\0overload\0opset" -> index in list */
    struct ox_server **list;
    size_t n, cap;
    size_t n_missing;
};

/* Who serves the node under that opset: in the session's arena. */
enum ox_status ox_servers_find(struct ox_servers *servers, const struct ox_node *node,
                               int64_t opset, struct ox_server **out, struct ox_error *err);
/* Counts a node that nothing serves. */
enum ox_status ox_servers_miss(struct ox_servers *servers, const struct ox_node *node,
                               int64_t opset, struct ox_server *server, struct ox_error *err);
/* OX_UNSUPPORTED: names what nothing serves, and tells the session's on_missing of each. */
enum ox_status ox_servers_report(const struct ox_servers *servers, struct ox_error *err);
void ox_servers_release(struct ox_servers *servers);

/* How messages name a node, and where a graph is: in the session's arena. NULL: out of memory. */
const char *ox_session_label(struct ox_session *session, const struct ox_node *node);
const char *ox_session_path(struct ox_session *session, const struct ox_graph *graph);

#endif
