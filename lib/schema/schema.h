/* The registry: every operator of the standard at every version, as generated data, and com.microsoft's by hand in the same
 * form. */
#ifndef OX_SCHEMA_SCHEMA_H
#define OX_SCHEMA_SCHEMA_H

#include "common/error.h"

enum ox_param_option { OX_PARAM_SINGLE, OX_PARAM_OPTIONAL, OX_PARAM_VARIADIC };

struct ox_schema_param {
    const char *name;
    const char *type; /* "T", a constraint's name, or a concrete type: "tensor(int64)" */
    enum ox_param_option option;
    bool homogeneous;   /* of a variadic one: all of one type */
    unsigned min_arity; /* of a variadic one */
    int16_t constraint; /* index into constraints, -1 when `type` is concrete */
    uint16_t allowed;   /* index into the table of type sets: what may stand here */
};

enum ox_default_kind {
    OX_DEFAULT_NONE,
    OX_DEFAULT_INT,
    OX_DEFAULT_FLOAT,
    OX_DEFAULT_STRING,
    OX_DEFAULT_INTS,
    OX_DEFAULT_FLOATS,
    OX_DEFAULT_STRINGS
};

struct ox_schema_attr {
    const char *name;
    unsigned char type; /* enum ox_attr_type, AttributeProto.AttributeType */
    bool required;
    enum ox_default_kind default_kind;
    int64_t i;
    float f;
    const char *s;
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    size_t n;
};

struct ox_schema_constraint {
    const char *name;
    uint16_t allowed; /* index into the table of type sets */
};

/* A function body of the standard, serialized FunctionProto. */
struct ox_schema_body {
    const unsigned char *data;
    size_t bytes;
    int opset; /* the version of the operator's domain that it imports */
};

struct ox_schema {
    const char *domain; /* "" for ai.onnx */
    const char *name;
    int since;
    int until; /* the last version it serves before the next row of that name; 0: still current */
    bool deprecated;
    bool non_deterministic;
    bool has_function; /* the standard defines it by others, perhaps depending on its types */
    unsigned min_inputs, max_inputs, min_outputs, max_outputs; /* max UINT_MAX: any number */
    const struct ox_schema_param *inputs;
    size_t n_inputs;
    const struct ox_schema_param *outputs;
    size_t n_outputs;
    const struct ox_schema_attr *attrs; /* sorted by name */
    size_t n_attrs;
    const struct ox_schema_constraint *constraints;
    size_t n_constraints;
    const unsigned char
        *body; /* FunctionProto, serialized, where it does not depend on the node; NULL */
    size_t body_bytes;
    int body_opset;                      /* of its import; may be newer than `since` */
    const struct ox_schema_body *bodies; /* all of them, oldest first; `body` is the first */
    size_t n_bodies;
};

/* What the operator means under that version of its domain; NULL: there is none (never was, not yet). Deprecated rows are
 * returned. */
const struct ox_schema *ox_schema_find(const char *domain, const char *name, int64_t opset);
/* The row that onnxruntime adds to a domain of the standard (SimplifiedLayerNormalization, LayerNormalization 1, ...): files
 * that it wrote have them, the standard does not. NULL: none. */
const struct ox_schema *ox_schema_find_foreign(const char *domain, const char *name, int64_t opset);
/* The row of exactly that version. */
const struct ox_schema *ox_schema_at(const char *domain, const char *name, int since);
/* All rows, sorted by domain, name, since. */
const struct ox_schema *ox_schema_rows(size_t *n);
/* Newest version known of a domain; 0: the domain is not known at all. */
int ox_schema_newest(const char *domain);
bool ox_schema_domain_known(const char *domain);
/* The IR version of the first release of the standard that knew version `opset` of the domain, and that release
 * ("1.12.0"); 0 and NULL: no release knows it, or the domain has no column in the standard's table of releases. */
int ox_schema_ir_for_opset(const char *domain, int64_t opset);
const char *ox_schema_release_for_opset(const char *domain, int64_t opset);
const struct ox_schema_attr *ox_schema_attr(const struct ox_schema *schema, const char *name);
/* The body that the standard gives a node of that opset: the newest one that is not newer; NULL: none, or it depends on the
 * node, or it was given in a later version only (body has that). */
const struct ox_schema_body *ox_schema_body_at(const struct ox_schema *schema, int64_t opset);
/* The name that is most alike, for "did you mean"; NULL. */
const char *ox_schema_similar(const char *domain, const char *name);

/* Type sets: sorted arrays of type strings as in the standard ("tensor(float)", "seq(tensor(int64))"). */
size_t ox_type_set(uint16_t set, const char *const **types);
/* Whether a tensor (or, with sequence, a sequence of tensors, ...) of that element type is in the set. kind: 't' tensor, 's' sequence of
 * tensor, 'o' optional of tensor, 'q' optional of sequence of tensor, 'p' sparse tensor. */
bool ox_type_set_has(uint16_t set, char kind, enum ox_dtype elem);
bool ox_type_set_has_name(uint16_t set, const char *type);

#endif
