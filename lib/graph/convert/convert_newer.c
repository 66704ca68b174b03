/* Attention and rotary embedding by products, softmax and slices. */
#include <string.h>

#include "graph/convert/convert_adapters.h"

/* ---- RotaryEmbedding ---------------------------------------------------------------------------------------------- */

/* Halves, or every other element, are turned; what is beyond the rotary dimension stays. */
bool ox_birth_rotary(struct ox_adapt *c)
{
    int64_t heads, part, interleaved;
    int rank;
    if (!ox_adapt_int(c, "num_heads", 0, &heads) ||
        !ox_adapt_int(c, "rotary_embedding_dim", 0, &part) ||
        !ox_adapt_int(c, "interleaved", 0, &interleaved) || !ox_adapt_need_rank(c, 0, &rank))
        return false;
    if (rank != 4 && !(rank == 3 && heads > 0))
        return ox_adapt_block(c, "the input has rank %d and %lld heads", rank, (long long)heads);
    bool ids = ox_adapt_input(c, 3) != NULL;
    char split[64] = "";
    if (rank == 3)
        snprintf(split, sizeof split, "hs = Constant<value = int64[4] {0,0,%lld,-1}>()",
                 (long long)heads);
    char halves[256] = "r = Identity(x4)";
    if (part)
        snprintf(halves, sizeof halves,
                 "pd = Constant<value = int64[1] {%lld}>() r = Slice(x4, zero, pd, last) "
                 "rest = Slice(x4, pd, top, last)",
                 (long long)part);
    return ox_adapt_replace(
        c,
        "(x, cc, sc%s) => (y) { zero = Constant<value = int64[1] {0}>() "
        "one = Constant<value = int64[1] {1}>() two = Constant<value = int64[1] {2}>() "
        "last = Constant<value = int64[1] {-1}>() "
        "top = Constant<value = int64[1] {9223372036854775807}>() "
        "ha = Constant<value = int64[1] {%d}>() %s %s %s cu = Unsqueeze(%s, ha) "
        "su = Unsqueeze(%s, ha) %s "
        "%s a = Mul(p, cu) b = Mul(q, su) re = Sub(a, b) d = Mul(p, su) e = Mul(q, cu) "
        "im = Add(d, e) %s %s %s }",
        ids ? ", id" : "", rank == 3 ? 2 : 1, split,
        rank == 3 ? "x4 = Reshape(x, hs)" : "x4 = Identity(x)",
        ids ? "cg = Gather(cc, id) sg = Gather(sc, id)" : "", ids ? "cg" : "cc", ids ? "sg" : "sc",
        halves,
        interleaved ? "p = Slice(r, zero, top, last, two) q = Slice(r, one, top, last, two)"
                    : "p, q = Split<axis = -1, num_outputs = 2>(r)",
        interleaved ? "ru = Unsqueeze(re, last) iu = Unsqueeze(im, last) "
                      "cat = Concat<axis = -1>(ru, iu) rs = Shape(r) t = Reshape(cat, rs)"
                    : "t = Concat<axis = -1>(re, im)",
        part ? "w = Concat<axis = -1>(t, rest)" : "w = Identity(t)",
        rank == 3 ? "xs = Shape(x) y = Reshape(w, xs)" : "y = Identity(w)");
}

/* ---- Attention ---------------------------------------------------------------------------------------------------- */

struct attention {
    int rank;                /* of the query: 3 or 4 */
    int64_t heads, kv_heads; /* -1: not known, and then equal */
    float scale;             /* 0: by the size of a head */
    float softcap;
    int64_t causal, precision, qk_mode;
    enum ox_dtype dtype;
    bool mask, past;
    bool bool_mask;
    int mask_rank;
    struct ox_strbuf text;
};

static bool read_attention(struct ox_adapt *c, struct attention *a)
{
    if (!ox_adapt_need_rank(c, 0, &a->rank) || !ox_adapt_need_dtype(c, 0, &a->dtype) ||
        !ox_adapt_int(c, "q_num_heads", -1, &a->heads) ||
        !ox_adapt_int(c, "kv_num_heads", -1, &a->kv_heads) ||
        !ox_adapt_float(c, "scale", 0, &a->scale) ||
        !ox_adapt_float(c, "softcap", 0, &a->softcap) ||
        !ox_adapt_int(c, "is_causal", 0, &a->causal) ||
        !ox_adapt_int(c, "softmax_precision", 0, &a->precision) ||
        !ox_adapt_int(c, "qk_matmul_output_mode", 0, &a->qk_mode))
        return false;
    if (a->rank == 4) {
        a->heads = ox_adapt_dim(c, ox_adapt_input(c, 0), 1);
        a->kv_heads = ox_adapt_dim(c, ox_adapt_input(c, 1), 1);
    }
    if (a->heads < 1 || a->kv_heads < 1 || a->heads % a->kv_heads)
        return ox_adapt_block(c, "the numbers of heads are not known");
    a->mask = ox_adapt_input(c, 3) != NULL;
    a->past = ox_adapt_input(c, 4) != NULL;
    if (a->past != (ox_adapt_input(c, 5) != NULL))
        return ox_adapt_block(c, "it has one of past_key and past_value alone");
    if (a->mask) {
        enum ox_dtype dtype;
        if (!ox_adapt_need_rank(c, 3, &a->mask_rank) || !ox_adapt_need_dtype(c, 3, &dtype))
            return false;
        a->bool_mask = dtype == OX_BOOL;
    }
    return true;
}

/* q, k, v as [batch, heads, length, size]; kk and vv with what is past, repeated for the query's heads. */
static void write_heads(struct attention *a)
{
    struct ox_strbuf *t = &a->text;
    if (a->rank == 3)
        ox_strbuf_printf(t,
                         "hq = Constant<value = int64[4] {0,0,%lld,-1}>() "
                         "hk = Constant<value = int64[4] {0,0,%lld,-1}>() q3 = Reshape(Q, hq) "
                         "k3 = Reshape(K, hk) v3 = Reshape(V, hk) "
                         "q = Transpose<perm = [0,2,1,3]>(q3) k = Transpose<perm = [0,2,1,3]>(k3) "
                         "v = Transpose<perm = [0,2,1,3]>(v3) ",
                         (long long)a->heads, (long long)a->kv_heads);
    else
        ox_strbuf_puts(t, "q = Identity(Q) k = Identity(K) v = Identity(V) ");
    ox_strbuf_puts(t, a->past ? "pk = Concat<axis = 2>(PK, k) pv = Concat<axis = 2>(PV, v) "
                              : "pk = Identity(k) pv = Identity(v) ");
    long long repeat = a->heads / a->kv_heads;
    if (repeat > 1)
        ox_strbuf_printf(t,
                         "ga = Constant<value = int64[1] {2}>() "
                         "gm = Constant<value = int64[4] {1,%lld,1,1}>() "
                         "ge = Constant<value = int64[5] {1,1,%lld,1,1}>() "
                         "ks = Shape(pk) kt = Mul(ks, gm) ku = Unsqueeze(pk, ga) "
                         "ke = Expand(ku, ge) kk = Reshape(ke, kt) vs = Shape(pv) vt = Mul(vs, gm) "
                         "vu = Unsqueeze(pv, ga) ve = Expand(vu, ge) vv = Reshape(ve, vt) ",
                         repeat, repeat);
    else
        ox_strbuf_puts(t, "kk = Identity(pk) vv = Identity(pv) ");
}

static void write_scores(struct attention *a)
{
    struct ox_strbuf *t = &a->text;
    if (a->scale != 0)
        ox_strbuf_printf(t, "sc = Constant<value = float {%.9g}>() ", (double)a->scale);
    else
        ox_strbuf_puts(t, "qs = Shape(q) qi = Constant<value = int64 {3}>() qd = Gather(qs, qi) "
                          "qf = Cast<to = 1>(qd) qr = Sqrt(qf) sc = Reciprocal(qr) ");
    /* Both sides by the root, as the standard has it: so that products of halves do not overflow. */
    ox_strbuf_printf(t,
                     "sr = Sqrt(sc) st = Cast<to = %d>(sr) qx = Mul(q, st) "
                     "kp = Transpose<perm = [0,1,3,2]>(kk) kx = Mul(kp, st) s0 = MatMul(qx, kx) ",
                     a->dtype);
    if (a->softcap != 0)
        ox_strbuf_printf(t,
                         "cf = Constant<value = float {%.9g}>() cap = Cast<to = %d>(cf) "
                         "cd = Div(s0, cap) ct = Tanh(cd) s1 = Mul(ct, cap) ",
                         (double)a->softcap, a->dtype);
    else
        ox_strbuf_puts(t, "s1 = Identity(s0) ");
}

/* The mask as what is added, filled up to all keys. */
static void write_mask(struct attention *a)
{
    struct ox_strbuf *t = &a->text;
    ox_strbuf_printf(t,
                     "zf = Constant<value = float {0}>() z = Cast<to = %d>(zf) "
                     "of = Constant<value = float {1}>() of0 = Sub(of, of) oi = Div(of, of0) "
                     "on = Neg(oi) inf = Cast<to = %d>(on) kl = Shape(kk) "
                     "i2 = Constant<value = int64[1] {2}>() total = Gather(kl, i2) ",
                     a->dtype, a->dtype);
    if (a->mask) {
        ox_strbuf_puts(t, a->bool_mask ? "mb = Where(M, z, inf) " : "mb = Identity(M) ");
        ox_strbuf_printf(
            t,
            "ms = Shape(mb) il = Constant<value = int64[1] {%d}>() "
            "ml = Gather(ms, il) md = Sub(total, ml) mz = Constant<value = int64[%d] {",
            a->mask_rank - 1, 2 * a->mask_rank - 1);
        for (int i = 0; i + 1 < 2 * a->mask_rank; i++)
            ox_strbuf_puts(t, i ? ",0" : "0");
        ox_strbuf_puts(t, "}>() mp = Concat<axis = 0>(mz, md) mm = Pad(mb, mp, inf) "
                          "s2 = Add(s1, mm) ");
    } else {
        ox_strbuf_puts(t, "s2 = Identity(s1) ");
    }
    if (!a->causal) {
        ox_strbuf_puts(t, "s = Identity(s2) ");
        return;
    }
    ox_strbuf_puts(t, "ql = Shape(q) lq = Gather(ql, i2) nl = Shape(k) lk = Gather(nl, i2) "
                      "off = Sub(total, lk) sq = Squeeze(lq) st2 = Squeeze(total) "
                      "i0 = Constant<value = int64 {0}>() i1 = Constant<value = int64 {1}>() "
                      "ri = Range(i0, sq, i1) rj = Range(i0, st2, i1) "
                      "u1 = Constant<value = int64[1] {1}>() rc = Unsqueeze(ri, u1) "
                      "ro = Add(rc, off) cm = LessOrEqual(rj, ro) cb = Where(cm, z, inf) "
                      "s = Add(s2, cb) ");
}

bool ox_birth_attention(struct ox_adapt *c)
{
    struct attention a = {0};
    if (!read_attention(c, &a))
        return false;
    struct ox_strbuf *t = &a.text;
    ox_strbuf_puts(t, "(Q, K, V, M, PK, PV) => (Y, pk, pv, QK) { ");
    write_heads(&a);
    write_scores(&a);
    write_mask(&a);
    enum ox_dtype precise = a.precision ? (enum ox_dtype)a.precision : a.dtype;
    /* A row with no key to attend to gives zeros. */
    ox_strbuf_printf(t,
                     "sp = Cast<to = %d>(s) p0 = Softmax<axis = -1>(sp) pc = Cast<to = %d>(p0) "
                     "la = Constant<value = int64[1] {-1}>() mx = ReduceMax(s, la) "
                     "dead = Equal(mx, inf) p = Where(dead, z, pc) o = MatMul(p, vv) ",
                     (int)precise, a.dtype);
    if (a.rank == 3)
        ox_strbuf_puts(t, "ot = Transpose<perm = [0,2,1,3]>(o) "
                          "os = Constant<value = int64[3] {0,0,-1}>() Y = Reshape(ot, os) ");
    else
        ox_strbuf_puts(t, "Y = Identity(o) ");
    static const char *const of_mode[4] = {"s0", "s1", "s", "p"};
    ox_strbuf_printf(t, "QK = Identity(%s) }",
                     of_mode[a.qk_mode >= 0 && a.qk_mode < 4 ? a.qk_mode : 0]);
    bool good = t->failed ? ox_adapt_no_memory(c) : ox_adapt_replace(c, "%s", t->data);
    ox_strbuf_release(t);
    return good;
}
