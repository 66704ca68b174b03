/* TreeEnsemble (5), TreeEnsembleClassifier and TreeEnsembleRegressor.
 *
 * The standard says little of classifiers whose weights name one class of two; what onnxruntime makes of them is what
 * converters count on, and is written out at finish_binary(). Two classes that both have weights or base values are no
 * special case, as the standard has it; onnxruntime labels those with 0 or 1 whatever the class labels are. */
#include <math.h>
#include <string.h>

#include "ops/fast/fast.h"
#include "ops/ml/ml_common.h"
#include "ops/ml/tree.h"
#include "ops/product.h"
#include "ops/real.h"
#include "ops/rules.h"

enum aggregate { AVERAGE, SUM, MIN, MAX }; /* numbered as in TreeEnsemble 5 */

/* Rows that go through a tree before the next tree is taken up: many, so that a tree is fetched seldom, but so few that there are
 * PARTS for threads, none of less than LEAST. */
enum { BLOCK = 512, PARTS = 8, LEAST = 2 * OX_TREE_LANES };

/* Where the trees stand in the attributes. */
enum form { CLASS_LISTS, TARGET_LISTS, TENSORS };

/* The trees, as they are built for rows of a type and a width. */
struct planted {
    struct ox_forest forest;
    size_t features;
    bool in_double;    /* thresholds are given so */
    bool one_class;    /* classifiers: two labels, and all weights are of one class */
    bool all_positive; /* classifiers: the weights */
};

struct ensemble {
    struct ox_forest forest;
    enum aggregate aggregate;
    enum ox_post_transform transform;
    size_t targets;
    const double *base; /* NULL, or n_base of them */
    size_t n_base;
    struct ox_ml_rows rows;
    struct ox_tensor *scores; /* [rows, columns] */
    size_t columns;
    /* Of classifiers. */
    size_t *picked;               /* label of each row; NULL: a regressor */
    bool one_class, all_positive; /* as in struct planted */
    struct ox_task_state state;
    /* Turns a row's sums into its output. */
    void (*finish)(const struct ensemble *e, size_t row, double *sums, const bool *seen);
};

/* Memory of a block. */
struct block {
    size_t from, n;
    uint32_t *leaves; /* [trees, n] */
    size_t trees;     /* that are walked together */
    double *sums;     /* [n, targets] */
    bool *seen;       /* [n, targets] */
    double *widened;  /* [n, cols], where rows are not in the forest's type */
};

/* ---- Aggregating -------------------------------------------------------------------------------------------------- */

static void add_plain(const struct ensemble *e, struct block *b, const uint32_t *leaves)
{
    const struct ox_tree_weight *weights = e->forest.weights;
    for (size_t i = 0; i < b->n; i++)
        b->sums[i] += weights[leaves[i]].weight;
}

static void add_weights(const struct ensemble *e, struct block *b, const uint32_t *leaves)
{
    const struct ox_forest *f = &e->forest;
    for (size_t i = 0; i < b->n; i++) {
        double *sums = b->sums + i * e->targets;
        bool *seen = b->seen + i * e->targets;
        for (uint32_t k = f->leaf_start[leaves[i]]; k < f->leaf_start[leaves[i] + 1]; k++) {
            uint32_t target = f->weights[k].target;
            sums[target] += f->weights[k].weight;
            seen[target] = true;
        }
    }
}

static void keep_extremes(const struct ensemble *e, struct block *b, const uint32_t *leaves)
{
    const struct ox_forest *f = &e->forest;
    for (size_t i = 0; i < b->n; i++) {
        double *sums = b->sums + i * e->targets;
        bool *seen = b->seen + i * e->targets;
        for (uint32_t k = f->leaf_start[leaves[i]]; k < f->leaf_start[leaves[i] + 1]; k++) {
            uint32_t target = f->weights[k].target;
            double w = f->weights[k].weight;
            bool better = e->aggregate == MIN ? w < sums[target] : w > sums[target];
            if (!seen[target] || better)
                sums[target] = w;
            seen[target] = true;
        }
    }
}

static bool alloc_block(struct ensemble *e, struct block *b)
{
    size_t scores = b->n * e->targets;
    b->leaves = ox_task_alloc(&e->state, b->trees * b->n, sizeof *b->leaves);
    b->sums = ox_task_alloc(&e->state, scores, sizeof *b->sums);
    b->seen = ox_task_alloc(&e->state, scores, sizeof *b->seen);
    bool widen = e->forest.wide && e->rows.x->dtype != OX_FLOAT64;
    if (widen)
        b->widened = ox_task_alloc(&e->state, b->n * e->rows.cols, sizeof *b->widened);
    return b->leaves && b->sums && b->seen && (!widen || b->widened);
}

static void free_block(struct ensemble *e, struct block *b)
{
    size_t scores = b->n * e->targets;
    ox_task_free(&e->state, b->leaves, b->trees * b->n, sizeof *b->leaves);
    ox_task_free(&e->state, b->sums, scores, sizeof *b->sums);
    ox_task_free(&e->state, b->seen, scores, sizeof *b->seen);
    ox_task_free(&e->state, b->widened, b->n * e->rows.cols, sizeof *b->widened);
}

static void block_task(void *arg, size_t from, size_t to)
{
    struct ensemble *e = arg;
    const struct ox_forest *f = &e->forest;
    size_t cols = e->rows.cols;
    struct block b = {.from = from, .n = to - from};
    b.trees = b.n < OX_TREE_LANES ? OX_TREE_LANES : 1;
    if (alloc_block(e, &b)) {
        const void *x =
            (const char *)e->rows.x->data + from * cols * ox_dtype_size(e->rows.x->dtype);
        if (b.widened) {
            ox_real_load(e->rows.x, from * cols, b.n * cols, b.widened);
            x = b.widened;
        }
        const bool plain = f->plain && e->aggregate <= SUM && e->targets == 1;
        void (*aggregate)(const struct ensemble *e, struct block *b, const uint32_t *leaves) =
            plain                 ? add_plain
            : e->aggregate <= SUM ? add_weights
                                  : keep_extremes;
        const struct ox_tree_rows rows = ox_tree_rows(f, x, cols, b.n);
        for (size_t t = 0; t < f->n_trees; t += b.trees) {
            const size_t left = f->n_trees - t, trees = left < b.trees ? left : b.trees;
            ox_tree_walk(f, f->roots + t, trees, &rows, b.leaves);
            for (size_t k = 0; k < trees; k++)
                aggregate(e, &b, b.leaves + k * b.n);
        }
        if (plain && f->n_trees)
            memset(b.seen, 1, b.n);
        for (size_t i = 0; i < b.n; i++)
            e->finish(e, from + i, b.sums + i * e->targets, b.seen + i * e->targets);
    }
    free_block(e, &b);
}

static enum ox_status run_blocks(struct ox_run *r, struct ensemble *e, struct ox_error *err)
{
    if (e->rows.cols == 0 && e->rows.rows)
        return ox_run_fail(r, err, OX_INPUT, "X has no features");
    e->state.budget = ox_env_budget(r->env);
    const size_t part = e->rows.rows / PARTS, block = part < LEAST   ? LEAST
                                                      : part < BLOCK ? part
                                                                     : BLOCK;
    const double tree_ns = 10; /* for a row, of usual depth */
    ox_fast_spread(r->env, e->rows.rows, block, tree_ns * (double)e->forest.n_trees, block_task, e);
    if (e->state.no_memory)
        return ox_no_memory(err);
    return ox_env_poll(r->env, err);
}

/* ---- Regressors --------------------------------------------------------------------------------------------------- */

static void finish_targets(const struct ensemble *e, size_t row, double *sums, const bool *seen)
{
    for (size_t k = 0; k < e->targets; k++) {
        if (!seen[k])
            sums[k] = 0;
        if (e->aggregate == AVERAGE)
            sums[k] /= (double)e->forest.n_trees;
        if (e->n_base)
            sums[k] += e->base[k < e->n_base ? k : 0];
    }
    /* A single score is left alone by all but PROBIT, as onnxruntime does. */
    if (e->targets > 1 || e->transform == OX_POST_PROBIT)
        ox_post_transform_row(e->transform, e->targets, sums);
    ox_real_store(e->scores, row * e->targets, e->targets, sums);
}

static enum ox_status read_base(struct ox_run *r, struct ensemble *e, struct ox_error *err)
{
    OX_TRY(ox_tree_numbers(r, "base_values", &e->base, &e->n_base, NULL, err));
    if (e->n_base > 1 && e->n_base != e->targets)
        return ox_run_fail(r, err, OX_INPUT, "attribute base_values has %zu elements, not %zu",
                           e->n_base, e->targets);
    return OX_OK;
}

static enum ox_status read_targets(struct ox_run *r, struct ensemble *e, struct ox_error *err)
{
    int64_t targets = ox_run_int(r, "n_targets", 1);
    if (targets < 1)
        return ox_run_fail(r, err, OX_INPUT, "attribute n_targets is %lld", (long long)targets);
    e->targets = (size_t)targets;
    return OX_OK;
}

/* Whether rows go through the trees in double: float rows and thresholds alone do not. */
static bool in_double(const struct ensemble *e, bool wide)
{
    return wide || e->rows.x->dtype != OX_FLOAT32;
}

static void judge_weights(const struct ox_tree_draft *draft, size_t targets, struct planted *out)
{
    out->one_class = targets == 2 && draft->n_weights;
    out->all_positive = true;
    for (size_t k = 0; k < draft->n_weights; k++) {
        out->one_class = out->one_class && draft->weight_target[k] == draft->weight_target[0];
        out->all_positive = out->all_positive && draft->weight[k] >= 0;
    }
}

static enum ox_status plant(struct ox_run *r, const struct ensemble *e, enum form form,
                            struct planted *out, struct ox_error *err)
{
    struct ox_tree_draft draft;
    bool wide = false;
    if (form == TENSORS)
        OX_TRY(ox_tree_draft_tensors(r, &draft, &wide, err));
    else
        OX_TRY(
            ox_tree_draft_lists(r, form == CLASS_LISTS ? "class" : "target", &draft, &wide, err));
    *out = (struct planted){.features = e->rows.cols, .in_double = wide};
    judge_weights(&draft, e->targets, out);
    return ox_forest_build(r, &draft, in_double(e, wide), e->rows.cols, e->targets, &out->forest,
                           err);
}

/* What prepare() left, where it fits these rows. */
static enum ox_status find_trees(struct ox_run *r, struct ensemble *e, enum form form,
                                 struct ox_error *err)
{
    const struct planted *kept = ox_run_state(r);
    struct planted fresh;
    if (!kept || kept->features != e->rows.cols ||
        kept->forest.wide != in_double(e, kept->in_double)) {
        OX_TRY(plant(r, e, form, &fresh, err));
        kept = &fresh;
    }
    e->forest = kept->forest;
    e->one_class = kept->one_class;
    e->all_positive = kept->all_positive;
    return OX_OK;
}

static enum ox_status keep_trees(struct ox_run *r, struct ensemble *e, enum form form,
                                 struct ox_error *err)
{
    struct planted planted;
    OX_TRY(ox_ml_rows(r, &e->rows, err));
    OX_TRY(plant(r, e, form, &planted, err));
    struct planted *kept = ox_forest_keep(r, &planted.forest, sizeof planted, err);
    if (!kept)
        return OX_NO_MEMORY;
    *kept = planted;
    return OX_OK;
}

static enum ox_status prepare_targets(struct ox_run *r, enum form form, struct ox_error *err)
{
    struct ensemble e = {0};
    if (r->once)
        return OX_OK;
    OX_TRY(read_targets(r, &e, err));
    return keep_trees(r, &e, form, err);
}

static enum ox_status prepare_tree_regressor(struct ox_run *r, struct ox_error *err)
{
    return prepare_targets(r, TARGET_LISTS, err);
}

static enum ox_status prepare_tree_ensemble(struct ox_run *r, struct ox_error *err)
{
    return prepare_targets(r, TENSORS, err);
}

static enum ox_status run_targets(struct ox_run *r, struct ensemble *e, enum form form,
                                  enum ox_dtype dtype, struct ox_error *err)
{
    OX_TRY(find_trees(r, e, form, err));
    const int64_t dims[2] = {(int64_t)e->rows.rows, (int64_t)e->targets};
    e->finish = finish_targets;
    OX_TRY(ox_run_out(r, 0, dtype, 2, dims, &e->scores, err));
    return run_blocks(r, e, err);
}

static enum ox_status run_tree_regressor(struct ox_run *r, struct ox_error *err)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    struct ensemble e = {.aggregate = SUM};
    const char *name = ox_run_string(r, "aggregate_function");
    size_t aggregate = 0;
    while (name && aggregate < OX_COUNT(names) && strcmp(name, names[aggregate]) != 0)
        aggregate++;
    if (aggregate == OX_COUNT(names))
        return ox_run_fail(r, err, OX_INPUT, "attribute aggregate_function is '%s'", name);
    if (name)
        e.aggregate = (enum aggregate)aggregate;
    OX_TRY(ox_ml_rows(r, &e.rows, err));
    OX_TRY(ox_post_transform(r, &e.transform, err));
    OX_TRY(read_targets(r, &e, err));
    OX_TRY(read_base(r, &e, err));
    return run_targets(r, &e, TARGET_LISTS, OX_FLOAT32, err);
}

static enum ox_status run_tree_ensemble(struct ox_run *r, struct ox_error *err)
{
    struct ensemble e = {0};
    int64_t aggregate = ox_run_int(r, "aggregate_function", SUM);
    int64_t transform = ox_run_int(r, "post_transform", OX_POST_NONE);
    if (aggregate < AVERAGE || aggregate > MAX)
        return ox_run_fail(r, err, OX_INPUT, "attribute aggregate_function is %lld",
                           (long long)aggregate);
    if (transform < OX_POST_NONE || transform > OX_POST_PROBIT)
        return ox_run_fail(r, err, OX_INPUT, "attribute post_transform is %lld",
                           (long long)transform);
    e.aggregate = (enum aggregate)aggregate;
    e.transform = (enum ox_post_transform)transform;
    OX_TRY(ox_ml_rows(r, &e.rows, err));
    OX_TRY(read_targets(r, &e, err));
    return run_targets(r, &e, TENSORS, e.rows.x->dtype, err);
}

/* ---- Classifiers -------------------------------------------------------------------------------------------------- */

static void finish_classes(const struct ensemble *e, size_t row, double *sums, const bool *seen)
{
    size_t best = 0;
    bool any = false;
    for (size_t k = 0; k < e->targets; k++) {
        bool has = seen[k];
        if (e->n_base) {
            sums[k] += e->base[k < e->n_base ? k : 0];
            has = has || k < e->n_base;
        }
        if (has && (!any || sums[k] > sums[best])) {
            best = k;
            any = true;
        }
    }
    e->picked[row] = best;
    ox_post_transform_row(e->transform, e->targets, sums);
    ox_real_store(e->scores, row * e->columns, e->columns, sums);
}

/* One score for two classes: with its complement when no weight is negative (that of the score as it is stored), else with its
 * opposite. */
static void finish_single(const struct ensemble *e, size_t row, double score)
{
    double pair[2], stored = e->scores->dtype == OX_FLOAT32 ? (double)(float)score : score;
    ox_post_transform_pair(e->transform, e->all_positive ? 1 - stored : -stored, stored, pair);
    ox_real_store(e->scores, row * e->columns, e->columns, pair);
}

/* Two classes of which the weights name but one, and no base value of their own. Weights of the second one leave the first at
 * zero, and a single base value unused. */
static void finish_binary(const struct ensemble *e, size_t row, double *sums, const bool *seen)
{
    double limit = e->all_positive ? 0.5 : 0;
    if (!seen[1]) {
        sums[0] += e->n_base ? e->base[0] : 0;
        e->picked[row] = sums[0] > limit;
        finish_single(e, row, sums[0]);
        return;
    }
    e->picked[row] = sums[1] > limit;
    ox_post_transform_row(e->transform, 2, sums);
    ox_real_store(e->scores, row * e->columns, 2, sums);
}

/* The score of a lone class decides between the labels 1 and 0. */
static void finish_lone(const struct ensemble *e, size_t row, double *sums, const bool *seen)
{
    double score = (seen[0] ? sums[0] : 0) + (e->n_base ? e->base[0] : 0);
    e->picked[row] = score > 0;
    if (e->transform == OX_POST_PROBIT)
        score = ox_probit(score);
    ox_real_store(e->scores, row * e->columns, 1, &score);
}

static enum ox_status read_labels(struct ox_run *r, struct ensemble *e, struct ox_ml_labels *labels,
                                  struct ox_error *err)
{
    ox_ml_labels(r, "classlabels_int64s", "classlabels_strings", labels);
    if (labels->n == 0)
        return ox_run_fail(r, err, OX_INPUT, "there are no class labels");
    e->targets = e->columns = labels->n;
    return OX_OK;
}

static enum ox_status prepare_tree_classifier(struct ox_run *r, struct ox_error *err)
{
    struct ensemble e = {0};
    struct ox_ml_labels labels;
    if (r->once)
        return OX_OK;
    OX_TRY(read_labels(r, &e, &labels, err));
    return keep_trees(r, &e, CLASS_LISTS, err);
}

static enum ox_status run_tree_classifier(struct ox_run *r, struct ox_error *err)
{
    struct ensemble e = {.aggregate = SUM};
    struct ox_ml_labels labels;
    OX_TRY(ox_ml_rows(r, &e.rows, err));
    OX_TRY(ox_post_transform(r, &e.transform, err));
    OX_TRY(read_labels(r, &e, &labels, err));
    OX_TRY(read_base(r, &e, err));
    OX_TRY(find_trees(r, &e, CLASS_LISTS, err));
    e.picked = ox_run_scratch(r, e.rows.rows, sizeof *e.picked, err);
    if (!e.picked)
        return OX_NO_MEMORY;
    e.finish = e.targets == 1                ? finish_lone
               : e.one_class && e.n_base < 2 ? finish_binary
                                             : finish_classes;
    const int64_t dims[2] = {(int64_t)e.rows.rows, (int64_t)e.columns};
    OX_TRY(ox_run_out(r, 1, OX_FLOAT32, 2, dims, &e.scores, err));
    OX_TRY(run_blocks(r, &e, err));
    if (labels.n == 1 && !labels.strings)
        labels.n = 0;
    for (size_t i = 0; labels.n == 1 && i < e.rows.rows; i++)
        e.picked[i] = 0;
    return ox_ml_labels_out(r, 0, &labels, e.rows.rows, e.picked, err);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------- */

static void infer_tree_classifier(struct ox_infer *c)
{
    size_t strings = ox_ml_attr_count(c, "classlabels_strings");
    size_t n = strings ? strings : ox_ml_attr_count(c, "classlabels_int64s");
    ox_ml_infer_labels(c, 0, "classlabels_int64s", "classlabels_strings");
    ox_ml_infer_scores(c, 1, n ? (int64_t)n : -1);
}

static void infer_tree_targets(struct ox_infer *c)
{
    ox_ml_infer_scores(c, 0, ox_infer_int_attr(c, "n_targets", 1));
}

static void infer_lengths(struct ox_infer *c, const char *first, const char *const *others)
{
    size_t n = ox_ml_attr_length(c, first);
    for (; *others; others++)
        if (ox_infer_attr(c, *others) && ox_ml_attr_length(c, *others) != n)
            ox_infer_conflict(c, "%s has %zu entries, %s %zu", *others,
                              ox_ml_attr_length(c, *others), first, n);
}

static void infer_tree_ensemble(struct ox_infer *c)
{
    static const char *const of_nodes[] = {"nodes_modes",
                                           "nodes_splits",
                                           "nodes_truenodeids",
                                           "nodes_falsenodeids",
                                           "nodes_trueleafs",
                                           "nodes_falseleafs",
                                           "nodes_missing_value_tracks_true",
                                           "nodes_hitrates",
                                           NULL};
    infer_lengths(c, "nodes_featureids", of_nodes);
    infer_lengths(c, "leaf_targetids", (const char *const[]){"leaf_weights", NULL});
    const struct ox_attr *splits = ox_infer_attr(c, "nodes_splits");
    enum ox_dtype x = ox_infer_dtype(c, 0);
    if (x && splits && splits->type == OX_ATTR_TENSOR && splits->n && splits->tensor->dtype != x)
        ox_infer_conflict(c, "X is %s, nodes_splits %s", ox_dtype_name(x),
                          ox_dtype_name(splits->tensor->dtype));
    ox_rule_rank(c, 0, 2);
    infer_tree_targets(c);
}

#define CLASSIFIER(since)                                                                          \
    {                                                                                              \
        "ai.onnx.ml", "TreeEnsembleClassifier", since, OX_OP_DOUBLE,                               \
            .infer = infer_tree_classifier, .run = run_tree_classifier,                            \
            .prepare = prepare_tree_classifier                                                     \
    }
#define REGRESSOR(since)                                                                           \
    {                                                                                              \
        "ai.onnx.ml", "TreeEnsembleRegressor", since, OX_OP_DOUBLE,                                \
            .infer = infer_tree_targets, .run = run_tree_regressor,                                \
            .prepare = prepare_tree_regressor                                                      \
    }

const struct ox_op ox_ops_tree_ensemble[] = {
    {"ai.onnx.ml", "TreeEnsemble", 5, OX_OP_DOUBLE, .infer = infer_tree_ensemble,
     .run = run_tree_ensemble, .prepare = prepare_tree_ensemble},
    CLASSIFIER(1),
    CLASSIFIER(3),
    CLASSIFIER(5),
    REGRESSOR(1),
    REGRESSOR(3),
    REGRESSOR(5),
    {0}};
