#include "tests/random_node.h"

#include <stdio.h>
#include <string.h>

#include "common/compiler.h"

enum { MOST_DIMS = 6, ANY_AXIS = 6 };

struct shape {
    int64_t dims[MOST_DIMS];
    unsigned rank;
};

static const struct shape bases[RANDOM_PLAIN_ROUNDS] = {{{2, 3}, 2}, {{1, 2, 4, 4}, 4}, {{3}, 1},
                                                        {{0}, 0},    {{2, 2, 3}, 3},    {{0, 3}, 2},
                                                        {{4, 4}, 2}, {{1, 4, 4}, 3}};

/* Values for attributes that have no default; those that no row names are by their type. */
static const struct {
    const char *name, *text;
} required[] = {{"to", "1"},
                {"axis", "0"},
                {"perm", "[0]"},
                {"kernel_shape", "[1, 1]"},
                {"equation", "\"...->...\""},
                {"direction", "\"RIGHT\""},
                {"blocksize", "1"},
                {"pattern", "\"a*\""},
                {"mode", "\"TF\""},
                {"locale", "\"C\""}};

/* What a text attribute may say: "|" ends a word. */
static const struct {
    const char *name, *words;
} vocabulary[] = {
    {"aggregate_function", "SUM|AVERAGE|MIN|MAX|"},
    {"approximate", "none|tanh|"},
    {"auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID|"},
    {"coordinate_transformation_mode",
     "half_pixel|align_corners|asymmetric|pytorch_half_pixel|"
     "half_pixel_symmetric|tf_crop_and_resize|output_half_pixel|"},
    {"direction", "forward|reverse|bidirectional|LEFT|RIGHT|"},
    {"interpolation", "LINEAR|CUBIC|NEAREST|"},
    {"kernel_type", "LINEAR|POLY|RBF|SIGMOID|"},
    {"keep_aspect_ratio_policy", "stretch|not_larger|not_smaller|"},
    {"mode", "linear|nearest|cubic|bilinear|constant|reflect|edge|wrap|DCR|CRD|avg|max|TF|IDF|"},
    {"nearest_mode", "round_prefer_floor|round_prefer_ceil|floor|ceil|"},
    {"norm", "MAX|L1|L2|"},
    {"padding_mode", "zeros|border|reflection|"},
    {"post_transform", "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT|"},
    {"reduction", "none|sum|mean|add|mul|min|max|"},
    {"round_mode", "up|down|nearest|"}};

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */

/* What often stands beside a tensor of shape `base`: the same, a weight, a value a channel, a broadcast one, a list. */
static struct shape beside(const struct shape *base, uint64_t *state)
{
    struct shape out = *base;
    unsigned last = base->rank ? base->rank - 1 : 0;
    switch (draw(state) % 12) {
    case 0: /* a suffix */
        out.rank = base->rank - draw(state) % (base->rank + 1);
        memcpy(out.dims, base->dims + base->rank - out.rank, out.rank * sizeof *out.dims);
        break;
    case 1: /* broadcast along an axis */
        out.dims[draw(state) % MOST_DIMS] = 1;
        break;
    case 2: /* a right side of a product */
        if (base->rank > 1) {
            out.dims[last] = base->dims[last - 1];
            out.dims[last - 1] = base->dims[last];
        }
        break;
    case 3: /* channels */
        out = (struct shape){{base->rank > 1 ? base->dims[1] : 1}, 1};
        break;
    case 4: /* a number */
        out.rank = 0;
        break;
    case 5: /* a list of one */
        out = (struct shape){{1}, 1};
        break;
    case 6: /* one an axis, or two */
        out = (struct shape){{(int64_t)base->rank * (1 + draw(state) % 2)}, 1};
        break;
    case 7: /* channels mixed */
        if (base->rank > 1)
            out.dims[0] = out.dims[1];
        break;
    case 8: /* a window of 1 or 2 */
        for (unsigned d = 2; d < base->rank; d++)
            out.dims[d] = 1 + draw(state) % 2;
        break;
    default:
        break;
    }
    return out;
}

static void put_shape(struct ox_strbuf *out, const struct shape *shape)
{
    for (unsigned d = 0; d < shape->rank; d++)
        ox_strbuf_printf(out, "%s%lld", d ? "," : "[", (long long)shape->dims[d]);
    ox_strbuf_puts(out, shape->rank ? "]" : "");
}

/* "tensor(float)" is "float[2,3]" in the text syntax; false: no tensor, which cannot be drawn. */
static bool put_type(struct ox_strbuf *out, const char *type, const struct shape *shape)
{
    static const char tensor[] = "tensor(", map[] = "map(";
    size_t n = strlen(type);
    if (strncmp(type, map, sizeof map - 1) == 0) {
        /* "map(int64, tensor(float))", or without "tensor" */
        const char *value = strchr(type, ',') + 1;
        value += strspn(value, " ");
        value += strncmp(value, tensor, sizeof tensor - 1) == 0 ? sizeof tensor - 1 : 0;
        ox_strbuf_add(out, type, strcspn(type, ","));
        ox_strbuf_printf(out, ", %.*s)", (int)strcspn(value, ")"), value);
        return true;
    }
    if (strncmp(type, tensor, sizeof tensor - 1) != 0 || n < sizeof tensor)
        return false;
    ox_strbuf_add(out, type + sizeof tensor - 1, strcspn(type + sizeof tensor - 1, ")"));
    put_shape(out, shape);
    return true;
}

static const char *type_of(const struct random_node *of, const struct ox_schema_param *param)
{
    static const char *const liked[] = {"tensor(float)", "tensor(int64)"};
    const char *const *types;
    size_t n = ox_type_set(param->allowed, &types);
    if (param->constraint >= 0 && (size_t)param->constraint == of->constraint)
        return of->type;
    for (size_t k = 0; k < OX_COUNT(liked); k++) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(types[i], liked[k]) == 0)
                return types[i];
        }
    }
    return n ? types[0] : "";
}

/* Inputs x0, x1 ...; their number in *n. */
static bool put_inputs(struct ox_strbuf *out, const struct random_node *of, size_t *n,
                       uint64_t *state)
{
    const struct ox_schema *row = of->row;
    bool wild = of->round >= RANDOM_PLAIN_ROUNDS;
    bool alike = !wild || draw(state) % 3 == 0;
    const struct shape *base = &bases[of->round % RANDOM_PLAIN_ROUNDS];
    for (size_t i = *n = 0; i < row->n_inputs; i++) {
        const struct ox_schema_param *param = &row->inputs[i];
        unsigned copies = param->option == OX_PARAM_VARIADIC ? param->min_arity : 1;
        if (param->option == OX_PARAM_VARIADIC && wild)
            copies += draw(state) % 3;
        if (param->option == OX_PARAM_OPTIONAL && (!wild || draw(state) % 3 == 0))
            break;
        for (unsigned k = 0; k < copies; k++) {
            struct shape shape = *n && !alike ? beside(base, state) : *base;
            ox_strbuf_puts(out, *n ? ", " : "");
            if (!put_type(out, type_of(of, param), &shape))
                return false;
            ox_strbuf_printf(out, " x%zu", (*n)++);
        }
    }
    return true;
}

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

static bool put_word(struct ox_strbuf *out, const char *name, uint64_t *state)
{
    for (size_t i = 0; i < OX_COUNT(vocabulary); i++) {
        if (strcmp(vocabulary[i].name, name) != 0)
            continue;
        const char *word = vocabulary[i].words, *end;
        for (uint32_t skip = draw(state) % 16; skip; skip--) {
            word = strchr(word, '|') + 1;
            word = *word ? word : vocabulary[i].words;
        }
        end = strchr(word, '|');
        ox_strbuf_printf(out, "%s = \"%.*s\"", name, (int)(end - word), word);
        return true;
    }
    return false;
}

/* Any value, right or wrong; false: left out. */
static bool put_any(struct ox_strbuf *out, const struct ox_schema_attr *attr, uint64_t *state)
{
    const char *type = ox_schema_attr_type(attr);
    bool is_type = strcmp(attr->name, "to") == 0 || strcmp(attr->name, "precision") == 0 ||
                   strstr(attr->name, "dtype");
    int n = (int)(draw(state) % 4);
    if (strcmp(type, "INT") == 0)
        ox_strbuf_printf(out, "%s = %d", attr->name,
                         is_type ? (int)(draw(state) % 24) : (int)(draw(state) % ANY_AXIS) - 2);
    else if (strcmp(type, "FLOAT") == 0)
        ox_strbuf_printf(out, "%s = %d.5", attr->name, (int)(draw(state) % 4) - 1);
    else if (strcmp(type, "INTS") == 0 && n) {
        ox_strbuf_printf(out, "%s = [%d", attr->name, (int)(draw(state) % 5) - 1);
        for (int i = 1; i < n; i++)
            ox_strbuf_printf(out, ", %d", (int)(draw(state) % 5) - 1);
        ox_strbuf_puts(out, "]");
    } else {
        return strcmp(type, "STRING") == 0 && put_word(out, attr->name, state);
    }
    return true;
}

static bool put_required(struct ox_strbuf *out, const struct ox_schema_attr *attr)
{
    const char *type = ox_schema_attr_type(attr);
    for (size_t i = 0; i < OX_COUNT(required); i++) {
        if (strcmp(required[i].name, attr->name) == 0) {
            ox_strbuf_printf(out, "%s = %s", attr->name, required[i].text);
            return true;
        }
    }
    const struct {
        const char *type, *text;
    } any[] = {{"INT", "1"},       {"FLOAT", "1.0"},    {"STRING", "\"a\""},
               {"INTS", "[1, 1]"}, {"FLOATS", "[1.0]"}, {"STRINGS", "[\"a\"]"}};
    for (size_t i = 0; i < OX_COUNT(any); i++) {
        if (strcmp(any[i].type, type) == 0) {
            ox_strbuf_printf(out, "%s = %s", attr->name, any[i].text);
            return true;
        }
    }
    return false; /* graphs and tensors: those operators have tests of their own */
}

/* True: it is there now. */
static bool put_attribute(struct ox_strbuf *out, const struct ox_schema_attr *attr, bool wild,
                          uint64_t *state)
{
    bool any = wild && draw(state) % 2;
    if (!attr->required)
        return any && put_any(out, attr, state);
    return (any && put_any(out, attr, state)) || put_required(out, attr);
}

/* ---- Recipes ----------------------------------------------------------------------------------------------------- */

static const struct recipe {
    const char *name, *inputs, *attributes;
} recipes[] = {
#define R(name, inputs, attributes) {name, inputs, attributes},
#include "tests/random_recipes.def"
#undef R
};

struct sizes {
    int64_t of[26]; /* of letters */
};

static size_t n_inputs_of(const struct recipe *recipe)
{
    size_t n = 1;
    for (const char *p = recipe->inputs; *p; p++)
        n += *p == ';';
    return n;
}

/* Whether the attributes that the recipe names are the row's. */
static bool suits(const struct recipe *recipe, const struct ox_schema *row)
{
    const char *p = recipe->attributes;
    if (strcmp(recipe->name, row->name) != 0 ||
        (n_inputs_of(recipe) > row->n_inputs && !strchr(recipe->inputs, '+') &&
         row->max_inputs <= row->n_inputs))
        return false;
    while (*p) {
        char name[64];
        size_t n = strcspn(p, " =");
        if (n >= sizeof name)
            return false;
        memcpy(name, p, n);
        name[n] = '\0';
        if (!ox_schema_attr(row, name))
            return false;
        int depth = 0; /* to the next comma outside of lists and bodies */
        for (; *p && (*p != ',' || depth); p++)
            depth += (*p == '[' || *p == '{' || *p == '(') - (*p == ']' || *p == '}' || *p == ')');
        p += strspn(p, ", ");
    }
    return true;
}

static const struct recipe *choose_recipe(const struct ox_schema *row, uint64_t *state)
{
    const struct recipe *fitting[12];
    uint32_t n = 0;
    for (size_t i = 0; i < OX_COUNT(recipes) && n < OX_COUNT(fitting); i++)
        if (suits(&recipes[i], row))
            fitting[n++] = &recipes[i];
    return n ? fitting[draw(state) % n] : NULL;
}

/* "4H,3": moves *p behind it. */
static struct shape recipe_shape(const char **p, const struct sizes *sizes)
{
    struct shape shape = {.rank = 0};
    if (**p == '.') {
        ++*p;
        return shape;
    }
    while (**p && **p != ';' && **p != '{') {
        int64_t n = 0;
        bool digits = false;
        for (; **p >= '0' && **p <= '9'; ++*p, digits = true)
            n = n * 10 + (**p - '0');
        if (**p >= 'A' && **p <= 'Z')
            n = (digits ? n : 1) * sizes->of[*(*p)++ - 'A'];
        shape.dims[shape.rank++] = n;
        *p += **p == ',';
    }
    return shape;
}

/* "{1,0}" in a list of that type, as its initializer; "<-1:3>" in it is drawn, "$N" is the size of N. */
static void put_constant(struct ox_strbuf *out, const char **p, const struct sizes *sizes,
                         uint64_t *state)
{
    const char *end = strchr(*p, '}') + 1;
    while (*p < end) {
        int lo, hi, n = 0;
        if (sscanf(*p, "<%d:%d>%n", &lo, &hi, &n) == 2 && n) {
            ox_strbuf_printf(out, "%d", lo + (int)(draw(state) % (uint32_t)(hi - lo + 1)));
            *p += n;
        } else if (**p == '$') {
            ox_strbuf_printf(out, "%lld", (long long)sizes->of[(*p)[1] - 'A']);
            *p += 2;
        } else {
            ox_strbuf_add(out, (*p)++, 1);
        }
    }
}

struct draft {
    struct ox_strbuf inputs, constants, before,
        passed; /* "float[2] x0", "float[1] x1 = {1}", nodes, "x0, x1" */
};

static bool add_recipe_input(struct draft *d, const char **p, const char *type, size_t i,
                             const struct sizes *sizes, uint64_t *state)
{
    const char mark = **p;
    *p += mark == '=' || mark == '@' || mark == '+' || mark == '-';
    if (mark != '+')
        ox_strbuf_puts(&d->passed, d->passed.len ? ", " : "");
    if (mark == '-') {
        ox_strbuf_puts(&d->passed, "\"\"");
        return true;
    }
    const char *from = *p;
    struct shape shape = recipe_shape(p, sizes);
    if (mark == '=' && from == *p && **p == '{') { /* a list as long as its values */
        shape = (struct shape){{1}, 1};
        for (const char *c = *p; *c != '}'; c++)
            shape.dims[0] += *c == ',';
    }
    struct ox_strbuf *out = mark == '=' ? &d->constants : &d->inputs;
    bool fine = true;
    for (int k = 0; k < (mark == '@' ? 2 : 1); k++) {
        ox_strbuf_puts(out, out->len ? ", " : "");
        fine = fine && put_type(out, type, &shape);
        ox_strbuf_printf(out, k ? " x%zu_2" : " x%zu", i);
    }
    if (mark == '=') {
        ox_strbuf_puts(out, " = ");
        put_constant(out, p, sizes, state);
    }
    if (mark == '@')
        ox_strbuf_printf(&d->before, "s%zu = SequenceConstruct (x%zu, x%zu_2) ", i, i, i);
    if (mark != '+')
        ox_strbuf_printf(&d->passed, mark == '@' ? "s%zu" : "x%zu", i);
    return fine;
}

static const char *element_type(const struct random_node *of, const struct ox_schema_param *param,
                                bool sequence)
{
    static const char seq[] = "seq(";
    const char *type = type_of(of, param);
    return sequence && strncmp(type, seq, sizeof seq - 1) == 0 ? type + sizeof seq - 1 : type;
}

static const struct ox_schema_param *param_of(const struct ox_schema *row, size_t i)
{
    return &row->inputs[i < row->n_inputs ? i : row->n_inputs - 1];
}

static bool add_recipe_inputs(struct draft *d, const struct random_node *of,
                              const struct recipe *recipe, const struct sizes *sizes,
                              uint64_t *state)
{
    const struct ox_schema *row = of->row;
    const char *p = recipe->inputs;
    for (size_t i = 0; *p; i++) {
        const struct ox_schema_param *param = param_of(row, i);
        const char *type = *p == '+' ? of->type : element_type(of, param, *p == '@');
        if (!add_recipe_input(d, &p, type, i, sizes, state))
            return false;
        p += *p == ';';
    }
    return true;
}

/* "$T" is the element type of the last input, "$N" the size of N. */
static void put_recipe_attributes(struct ox_strbuf *out, const struct random_node *of,
                                  const struct recipe *recipe, const struct sizes *sizes)
{
    const struct shape none = {.rank = 0};
    for (const char *p = recipe->attributes; *p; p++) {
        if (*p == '$' && p[1] == 'T') {
            put_type(out, element_type(of, param_of(of->row, n_inputs_of(recipe) - 1), true),
                     &none);
            p++;
        } else if (*p == '$') {
            ox_strbuf_printf(out, "%lld", (long long)sizes->of[*++p - 'A']);
        } else {
            ox_strbuf_add(out, p, 1);
        }
    }
}

static bool names_attribute(const struct recipe *recipe, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = recipe->attributes; (p = strstr(p, name)); p += n)
        if ((p == recipe->attributes || p[-1] == ' ') && p[n] == ' ')
            return true;
    return false;
}

static bool write_recipe(struct ox_strbuf *out, const struct random_node *of,
                         const struct recipe *recipe, uint64_t *state)
{
    const struct ox_schema *row = of->row;
    struct draft d = {.inputs = {0}};
    struct sizes sizes;
    for (size_t i = 0; i < OX_COUNT(sizes.of); i++)
        sizes.of[i] = draw(state) % 24 ? 1 + draw(state) % 3 : 0;
    bool fine = add_recipe_inputs(&d, of, recipe, &sizes, state), derives = false;
    if (strcmp(row->name, "Gradient") == 0) { /* of a product */
        derives = true;
        fine = fine && (strstr(of->type, "float") || strstr(of->type, "double"));
        ox_strbuf_puts(&d.before, "z = ai.onnx.Mul (x0, x1) ");
    }
    ox_strbuf_printf(out, "<ir_version: 10, opset_import: [\"%s\" : %d%s]>\ng (%s) => (y0",
                     row->domain, row->since, derives ? ", \"\" : 21" : "",
                     ox_strbuf_text(&d.inputs, NULL));
    unsigned n_outputs = row->min_outputs + draw(state) % 3;
    n_outputs = n_outputs > row->max_outputs ? row->max_outputs : n_outputs;
    if (strcmp(row->name, "Loop") == 0)
        n_outputs = 2;
    for (unsigned i = 1; i < n_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_printf(out, ") <%s> { %s y0", ox_strbuf_text(&d.constants, NULL),
                     ox_strbuf_text(&d.before, NULL));
    for (unsigned i = 1; i < n_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_printf(out, " = %s.%s ", *row->domain ? row->domain : "ai.onnx", row->name);
    size_t n_attrs = *recipe->attributes != '\0', before;
    ox_strbuf_puts(out, n_attrs ? "<" : "");
    put_recipe_attributes(out, of, recipe, &sizes);
    bool wild = draw(state) % 4 == 0;
    for (size_t i = 0; i < row->n_attrs; i++) {
        if (names_attribute(recipe, row->attrs[i].name))
            continue;
        before = out->len;
        ox_strbuf_puts(out, n_attrs ? ", " : "<");
        if (put_attribute(out, &row->attrs[i], wild, state))
            n_attrs++;
        else
            out->data[out->len = before] = '\0';
    }
    ox_strbuf_printf(out, n_attrs ? "> (%s) }\n" : "(%s) }\n", ox_strbuf_text(&d.passed, NULL));
    fine = fine && !d.inputs.failed && !d.constants.failed && !d.before.failed && !d.passed.failed;
    ox_strbuf_release(&d.inputs);
    ox_strbuf_release(&d.constants);
    ox_strbuf_release(&d.before);
    ox_strbuf_release(&d.passed);
    return fine && !out->failed;
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

bool random_node_write(struct ox_strbuf *out, const struct random_node *of)
{
    const struct ox_schema *row = of->row;
    const char *domain = *row->domain ? row->domain : "ai.onnx";
    bool wild = of->round >= RANDOM_PLAIN_ROUNDS;
    uint64_t state = (of->round + 1) * 1000003;
    size_t n, n_attrs = 0;
    draw(&state);
    const struct recipe *recipe = draw(&state) % 4 ? choose_recipe(row, &state) : NULL;
    if (recipe)
        return write_recipe(out, of, recipe, &state);
    ox_strbuf_printf(out, "<ir_version: 10, opset_import: [\"%s\" : %d]>\ng (", row->domain,
                     row->since);
    if (!put_inputs(out, of, &n, &state))
        return false;
    unsigned n_outputs = row->min_outputs + (wild ? draw(&state) % 3 : 0);
    n_outputs = n_outputs > row->max_outputs ? row->max_outputs : n_outputs;
    ox_strbuf_puts(out, ") => (y0");
    for (unsigned i = 1; i < n_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_puts(out, ") { y0");
    for (unsigned i = 1; i < n_outputs; i++)
        ox_strbuf_printf(out, ", y%u", i);
    ox_strbuf_printf(out, " = %s.%s ", domain, row->name);
    for (size_t i = 0; i < row->n_attrs; i++) {
        size_t before = out->len;
        ox_strbuf_puts(out, n_attrs ? ", " : "<");
        bool put = put_attribute(out, &row->attrs[i], wild, &state);
        if (!put && row->attrs[i].required)
            return false;
        if (!put)
            out->data[out->len = before] = '\0';
        n_attrs += put;
    }
    ox_strbuf_puts(out, n_attrs ? "> (" : "(");
    for (size_t i = 0; i < n; i++)
        ox_strbuf_printf(out, i ? ", x%zu" : "x%zu", i);
    ox_strbuf_puts(out, ") }\n");
    return !out->failed;
}
