"""x."""
from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    import optax
    L, G, H = Placed("8"), Placed("4x2"), Placed("2x4")
    at = lambda p, x, *s: lax.with_sharding_constraint(x, p.at(*s))
    sm = lambda p, f, i, o: jax.shard_map(f, mesh=p.mesh, in_specs=i, out_specs=o, check_vma=False)
    def ce(logits, y): return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

    # mlp & transformers
    def mlp(ps, x):
        for w, b in ps: x = jax.nn.relu(x @ w + b)
        return x
    ps = [(L.array((256, 512)), L.array((512,))), (L.array((512, 256)), L.array((256,)))]
    yield "mlp_data", (trained(lambda p, x, y: ce(mlp(p, x), y)), [ps, L.array((512, 256), "x"), L.array((512,), "x", dtype="int32")], None)
    ps2 = [(H.array((256, 512), "x", "y"), H.array((512,), "y")), (H.array((512, 256), "y", "x"), H.array((256,)))]
    yield "mlp_2d", (trained(lambda p, x, y: ce(mlp(p, x), y)), [ps2, H.array((512, 256), "x"), H.array((512,), "x", dtype="int32")], None)
    opt = optax.adamw(1e-3)
    st = jax.eval_shape(opt.init, ps2)
    spec = {(256, 512): ("x", "y"), (512, 256): ("y", "x"), (512,): ("y",), (256,): ()}
    st = jax.tree.map(lambda a: H.array(a.shape, *spec.get(a.shape, ()), dtype=a.dtype), st)
    yield "mlp_adamw_donated", (jax.jit(trained(lambda p, x, y: ce(mlp(p, x), y), opt), donate_argnums=(0, 1)), [ps2, st, H.array((512, 256), "x"), H.array((512,), "x", dtype="int32")], None)

    def tblock(w, x):
        b, s, d = x.shape
        h = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * w["g"]
        q, k, v = [jnp.einsum("bsd,dhe->bhse", h, w[n]) for n in "qkv"]
        a = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((s, s), bool)), q @ k.swapaxes(-1, -2) / 8, -1e9))
        x = x + jnp.einsum("bhse,hed->bsd", a @ v, w["o"])
        return x + jax.nn.silu(x @ w["w1"]) @ w["w2"]
    def tw(p, ax):
        f = {"g": (64,), "q": (64, 4, 16), "k": (64, 4, 16), "v": (64, 4, 16), "o": (4, 16, 64), "w1": (64, 256), "w2": (256, 64)}
        s = {"tp": {"q": (None, "y"), "k": (None, "y"), "v": (None, "y"), "o": ("y",), "w1": (None, "y"), "w2": ("y",)}, "fsdp": {n: ("x",) for n in f if n != "g"}, "dp": {}}[ax]
        return {n: p.array(z, *s.get(n, ())) for n, z in f.items()}
    for ax, p in (("tp", H), ("fsdp", G), ("dp", L)):
        w = [tw(p, ax)] * 3
        x = p.array((16, 64, 64), "x")
        def loss(ws, x):
            for w in ws: x = tblock(w, x)
            return (x ** 2).mean()
        yield f"decoder_{ax}", (trained(loss), [w, x], None)
        def loss2(ws, x):
            for w in ws: x = jax.checkpoint(tblock)(w, x)
            return (x ** 2).mean()
        yield f"decoder_again_{ax}", (trained(loss2), [w, x], None)
    half = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, jnp.bfloat16, sharding=a.sharding), [tw(H, "tp")] * 2)
    yield "decoder_bf16", (trained(lambda ws, x: (tblock(ws[1], tblock(ws[0], x)).astype(jnp.float32) ** 2).mean()), [half, H.array((16, 64, 64), "x", dtype="bfloat16")], None)
    def prefill(w, x):
        h = tblock(w, x)
        return jnp.einsum("bsd,dhe->bshe", h, w["k"]), jnp.einsum("bsd,dhe->bshe", h, w["v"]), h[:, -1]
    yield "prefill", (prefill, [tw(H, "tp"), H.array((8, 128, 64), "x")], None)
    def paged(cache, table, q, lens):
        k = cache[table].reshape(q.shape[0], -1, 32)
        s = jnp.einsum("bd,bkd->bk", q, k)
        s = jnp.where(jnp.arange(k.shape[1]) < lens[:, None], s, -1e9)
        return jnp.einsum("bk,bkd->bd", jax.nn.softmax(s), k)
    yield "paged", (paged, [L.array((64, 16, 32)), L.array((16, 8), "x", dtype="int32"), L.array((16, 32), "x"), L.array((16,), "x", dtype="int32")], None)
    def t5(q, k, v, b):
        return jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) + b) @ v.transpose(0, 2, 1, 3)
    z = G.array((8, 64, 4, 32), "x", None, "y")
    yield "biased", (t5, [z, z, z, G.array((4, 64, 64), "y")], None)
    # moe
    def swi(w, x):
        p = jax.nn.softmax(x @ w["r"]); i = p.argmax(-1)
        m = jax.nn.one_hot(i, 8)
        h = jnp.einsum("te,td,edf->tef", m, x, w["a"])
        return jnp.einsum("tef,efd,te->td", jax.nn.gelu(h), w["b"], p * m)
    yield "dense_moe", (swi, [{"r": L.array((32, 8)), "a": L.array((8, 32, 64), "x"), "b": L.array((8, 64, 32), "x")}, L.array((128, 32), "x")], None)
    def ep(x, a, b):
        y = lax.all_to_all(x.reshape(8, -1, 32), "x", 0, 0)
        h = jax.nn.gelu(jnp.einsum("ecd,df->ecf", y, a[0])) @ b[0]
        return lax.all_to_all(h, "x", 0, 0).reshape(x.shape) + x
    f = sm(L, ep, P("x"), P("x"))
    yield "expert_parallel_grad", (jax.grad(lambda x, a, b: f(x, a, b).sum(), (0, 1, 2)), [L.array((1024, 32), "x"), L.array((8, 32, 64), "x"), L.array((8, 64, 32), "x")], None)
    # shard_map
    def ag(a, w): return lax.all_gather(a, "x", axis=1, tiled=True) @ w
    yield "gather_columns_product", (sm(L, ag, (P(None, "x"), P()), P()), [L.array((128, 512), None, "x"), L.array((512, 64))], None)
    def rs(a, w): return lax.psum_scatter(a @ w, "x", scatter_dimension=1, tiled=True)
    yield "product_scattered", (sm(L, rs, (P(None, "x"), P("x")), P(None, "x")), [L.array((128, 512), None, "x"), L.array((512, 256), "x")], None)
    def halo(u):
        up = lax.ppermute(u[-1:], "x", [(i, (i + 1) % 8) for i in range(8)]); dn = lax.ppermute(u[:1], "x", [(i, (i - 1) % 8) for i in range(8)])
        z = jnp.concatenate([up, u, dn]); return z[2:] + z[:-2] - 2 * u
    yield "halo_loop", (lambda u: lax.fori_loop(0, 5, lambda _, u: u + .1 * sm(L, halo, P("x"), P("x"))(u), u), [L.array((512, 64), "x")], None)
    def softmax_sharded(x):
        m = lax.pmax(x.max(-1, keepdims=True), "x"); e = jnp.exp(x - m)
        return e / lax.psum(e.sum(-1, keepdims=True), "x")
    yield "vocab_softmax", (sm(L, softmax_sharded, P(None, "x"), P(None, "x")), [L.array((64, 2048), None, "x")], None)
    def ringmm(a, b):
        def s(c, i):
            acc, blk = c
            j = (lax.axis_index("x") + i) % 8
            acc = lax.dynamic_update_slice(acc, a @ blk, (0, j * blk.shape[1]))
            return (acc, lax.ppermute(blk, "x", [(k, (k - 1) % 8) for k in range(8)])), None
        return lax.scan(s, (jnp.zeros((a.shape[0], b.shape[1] * 8)), b), jnp.arange(8))[0][0]
    yield "ring_product", (sm(L, ringmm, (P("x"), P(None, "x")), P("x")), [L.array((256, 128), "x"), L.array((128, 512), None, "x")], None)
    # optimizers
    def zs(w, m, x):
        g = jax.grad(lambda w: (jax.nn.relu(x @ w) ** 2).mean())(w)
        m = .9 * m + at(L, g, "x"); u = at(L, m, "x")
        return w - .1 * at(L, u), m
    yield "zero1_auto", (zs, [L.array((512, 128)), L.array((512, 128), "x"), L.array((128, 512), "x")], None)
    def ns(g):
        x = g / (jnp.linalg.norm(g) + 1e-7)
        for _ in range(3):
            a = x @ x.T; x = 3.4 * x + (-4.7 * a + 2 * a @ a) @ x
        return x
    def muon(w, m, x):
        m = .95 * m + jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        return w - .02 * ns(m), m
    for n, p, s in (("rows", L, ("x",)), ("both", G, ("x", "y")), ("whole", L, ())):
        yield f"muon_{n}", (jax.jit(muon, donate_argnums=(0, 1)), [p.array((128, 256), *s), p.array((128, 256), *s), p.array((64, 128), "x")], None)
    def galore(w, p, x):
        g = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        r = p.T @ g
        return w - .1 * p @ (r / (jnp.sqrt(r * r) + 1e-8))
    yield "low_rank", (galore, [L.array((256, 256), "x"), L.array((256, 16), "x"), L.array((64, 256))], None)
    def sam(w, x):
        l = lambda w: (jnp.tanh(x @ w) ** 2).mean()
        g = jax.grad(l)(w); return w - .1 * jax.grad(l)(w + .05 * g / jnp.linalg.norm(g))
    yield "sam", (sam, [L.array((256, 128), None, "x"), L.array((128, 256))], None)
    def hvp(w, v, x): return jax.jvp(jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean()), (w,), (v,))[1]
    yield "hvp", (hvp, [L.array((256, 128), "x"), L.array((256, 128), "x"), L.array((64, 256))], None)
    # stats
    x = L.array((512, 64), "x")
    for n, fn in (("median_axis0", lambda a: jnp.median(a, 0)), ("quant3", lambda a: jnp.quantile(a, jnp.array([.25, .5, .75]), axis=1)), ("topk_rows", lambda a: lax.top_k(a, 5)), ("sort_desc", lambda a: -jnp.sort(-a, 0)), ("argmax_gather", lambda a: jnp.take_along_axis(a, a.argmax(1)[:, None], 1)), ("cumsum0", lambda a: jnp.cumsum(a, 0)), ("cumlogsum", lambda a: lax.cumlogsumexp(a, 1)), ("bincount", lambda a: jnp.bincount((a.reshape(-1) * 10).astype(int), length=32)), ("searchsorted", lambda a: jnp.searchsorted(jnp.sort(a[:, 0]), a[:, 1])), ("znorm", lambda a: (a - a.mean(0)) / a.std(0)), ("gram", lambda a: jax.nn.softmax(a @ a.T)), ("pca", lambda a: jnp.linalg.eigh(a.T @ a)[1][:, -4:]), ("lstsq", lambda a: jnp.linalg.solve(a.T @ a + jnp.eye(64), a.T @ a[:, :1])), ("permuted", lambda a: a[jnp.arange(512)[::-1]]), ("kmeans", lambda a: lax.fori_loop(0, 4, lambda _, c: (lambda i: jax.ops.segment_sum(a, i, 8) / 64)(((a[:, None] - c) ** 2).sum(-1).argmin(1)), a[:8])), ("ema_scan", lambda a: lax.scan(lambda h, r: (.9 * h + .1 * r, h), a[0], a)[1]), ("fft_filter", lambda a: jnp.fft.irfft(jnp.fft.rfft(a, axis=0) * .5, axis=0)), ("roll_sum", lambda a: sum(jnp.roll(a, i, 0) for i in range(3)))):
        yield n, (fn, [x], None)
    # nets
    conv = lambda x, w, s=1: lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    def bn(x): return (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5)
    def net(ws, x):
        for i, w in enumerate(ws): x = jax.nn.relu(bn(conv(x, w, 2 if i else 1)))
        return x.mean((1, 2))
    ws = [L.array((3, 3, 3, 16)), L.array((3, 3, 16, 32)), L.array((3, 3, 32, 64))]
    yield "vgg_bn_train", (trained(lambda w, x: (net(w, x) ** 2).mean()), [ws, L.array((64, 32, 32, 3), "x")], None)
    def gen(w, z): return jnp.tanh(lax.conv_transpose(jax.nn.relu(lax.conv_transpose((z @ w[0]).reshape(-1, 4, 4, 64), w[1], (2, 2), "SAME")), w[2], (2, 2), "SAME"))
    yield "generator_train", (trained(lambda w, z: (gen(w, z) ** 2).mean()), [[L.array((32, 1024)), L.array((4, 4, 64, 32)), L.array((4, 4, 32, 3))], L.array((64, 32), "x")], None)
    def conv1(w, x): return lax.conv_general_dilated(x, w, (1,), [(3, 0)], dimension_numbers=("NWC", "WIO", "NWC"))
    yield "causal_conv_train", (trained(lambda w, x: (jax.nn.gelu(conv1(w, x)) ** 2).mean()), [L.array((4, 32, 32)), L.array((16, 128, 32), "x")], None)
    def lstm(w, x):
        def s(c, x):
            h, c = c; i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ w, 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g); h = jax.nn.sigmoid(o) * jnp.tanh(c); return (h, c), h
        z = jnp.zeros((x.shape[1], 32)); return lax.scan(s, (z, z), x)[1]
    yield "lstm_train", (trained(lambda w, x: (lstm(w, x) ** 2).mean()), [L.array((64, 128)), L.array((24, 64, 32), None, "x")], None)
    yield "lstm_again", (jax.grad(lambda w, x: (jax.checkpoint(lstm)(w, x) ** 2).mean()), [L.array((64, 128)), L.array((24, 64, 32), None, "x")], None)
    def gat(w, h, s, r):
        h = h @ w; e = jnp.exp(jax.nn.leaky_relu((h[s] * h[r]).sum(-1)))
        return jax.ops.segment_sum(h[s] * (e / jax.ops.segment_sum(e, r, 256)[r])[:, None], r, 256)
    gi = [L.array((32, 32)), L.array((256, 32)), L.array((1024,), "x", dtype="int32"), L.array((1024,), "x", dtype="int32")]
    yield "gat", (gat, gi, None)
    yield "gat_train", (trained(lambda w, h, s, r: (gat(w, h, s, r) ** 2).mean()), gi, None)
    def emb(t, i, y): return ((t[i].mean(1) - y) ** 2).mean()
    yield "embed_rows_train", (trained(emb), [L.array((2048, 32), "x"), L.array((128, 8), "x", dtype="int32"), L.array((128, 32), "x")], None)
    yield "embed_columns_train", (trained(emb), [L.array((512, 64), None, "x"), L.array((128, 8), dtype="int32"), L.array((128, 64), None, "x")], None)
    def dqn(w, t, s, a, r):
        q = jnp.take_along_axis(mlp(w, s), a[:, None], 1)[:, 0]; n = mlp(t, s).max(1)
        return ((q - r - .9 * n) ** 2).mean()
    yield "dqn", (trained(dqn), [ps, ps, L.array((256, 256), "x"), L.array((256,), "x", dtype="int32"), L.array((256,), "x")], None)
    def contrast(w, a, b):
        u, v = a @ w, b @ w
        u, v = u / jnp.linalg.norm(u, axis=1, keepdims=True), v / jnp.linalg.norm(v, axis=1, keepdims=True)
        return -jnp.diag(jax.nn.log_softmax(u @ v.T)).mean()
    yield "clip_loss_train", (trained(contrast), [L.array((64, 64)), L.array((256, 64), "x"), L.array((256, 64), "x")], None)
    def node(w, y): return lax.scan(lambda y, _: (y + .1 * jnp.tanh(jnp.tanh(y @ w) @ w.T), None), y, length=10)[0]
    yield "neural_ode_train", (trained(lambda w, y: (node(w, y) ** 2).mean()), [L.array((64, 128)), L.array((256, 64), "x")], None)
    def cond(i, x, w): return lax.cond(i > 0, lambda: jnp.tanh(x @ w), lambda: x @ w.T)
    yield "cond_products", (cond, [G.array((), dtype="int32"), G.array((256, 128), "x"), G.array((128, 128), None, "y")], None)
    def newton(a): return lax.while_loop(lambda c: c[1] < 8, lambda c: (c[0] @ (2 * jnp.eye(128) - a @ c[0]), c[1] + 1), (a.T / jnp.sum(a * a), 0))[0]
    yield "inverse_newton", (newton, [G.array((128, 128), "x", "y")], None)
    yield "transposed_moves", (lambda a: at(G, jnp.tanh(at(G, a, "y", "x").T) @ a, "x", "y"), [G.array((128, 128), "x", "y")], None)
    yield "reshaped_move", (lambda a: at(L, jnp.sin(a).reshape(64, 8, 64), None, "x").sum(-1), [L.array((512, 64), "x")], None)
    yield "stack_slices", (lambda a: jnp.stack([a[:, i::4] for i in range(4)]).max(0), [L.array((512, 128), "x")], None)
    yield "pad_concat", (lambda a, b: jnp.concatenate([jnp.pad(a, ((0, 0), (0, 64))), b], 0) * 2, [L.array((256, 64), "x"), L.array((256, 128), "x")], None)
