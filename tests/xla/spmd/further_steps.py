"""Training steps of models that the other sets lack, from language and images to physics."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def steps() -> Programs:
    """The programs by name."""
    yield from _language()
    yield from _images()
    yield from _others()


def _norm(x: Any) -> Any:
    import jax.numpy as jnp

    return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)


def _language() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    grid, line = Placed("2x4"), Placed("8")
    dim, heads, hidden, words = 64, 4, 256, 512

    def shapes(array: Any, first: Any, second: Any, stacked: int = 0) -> Any:
        def weight(shape: tuple[int, ...], *spec: Any) -> Any:
            return array((stacked, *shape), None, *spec) if stacked else array(shape, *spec)

        return {
            "q": weight((dim, heads, 16), first, second),
            "kv": weight((dim, 2, heads // 2, 16), first),
            "o": weight((heads, 16, dim), second, None, first),
            "up": weight((dim, 2, hidden), first, None, second),
            "down": weight((hidden, dim), second, first),
        }

    def rotated(x: Any) -> Any:
        t, half = x.shape[1], x.shape[-1] // 2
        angle = jnp.arange(t)[:, None] * 10000 ** (-jnp.arange(half) / half)
        a, b = x[..., :half], x[..., half:]
        sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def block(w: Any, x: Any) -> Any:
        h = _norm(x)
        q = rotated(jnp.einsum("btd,dhe->bthe", h, w["q"]))
        k, v = jnp.moveaxis(jnp.einsum("btd,dnge->btnge", h, w["kv"]), 2, 0)
        q = q.reshape(*q.shape[:2], heads // 2, 2, 16)
        s = jnp.einsum("btgre,bsge->bgrts", q, rotated(k)) / 4
        t = x.shape[1]
        s = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, -1e9))
        o = jnp.einsum("bgrts,bsge->btgre", s, v).reshape(*x.shape[:2], heads, 16)
        x = x + jnp.einsum("bthe,hed->btd", o, w["o"])
        gate, up = jnp.moveaxis(jnp.einsum("btd,dnf->btnf", _norm(x), w["up"]), 2, 0)
        return x + (jax.nn.silu(gate) * up) @ w["down"]

    def scored(w: Any, ids: Any, run: Any) -> Any:
        x = run(w["layers"], w["table"][ids])
        logits = (_norm(x) @ w["table"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], ids[:, 1:]).mean()

    def unrolled(layers: Any, x: Any) -> Any:
        for each in layers:
            x = block(each, x)
        return x

    def scanned(layers: Any, x: Any) -> Any:
        return lax.scan(lambda x, w: (jax.checkpoint(block)(w, x), None), x, layers)[0]

    ids = grid.array((16, 64), "x", dtype="int32")
    table = grid.array((words, dim), "y", "x")
    both = {"table": table, "layers": [shapes(grid.array, "x", "y")] * 2}
    stack = {"table": table, "layers": shapes(grid.array, "x", "y", 4)}
    yield "llama_unrolled", (trained(lambda w, ids: scored(w, ids, unrolled)), [both, ids], None)
    yield "llama_scanned", (trained(lambda w, ids: scored(w, ids, scanned)), [stack, ids], None)
    flat = {"table": line.array((words, dim), "x"), "layers": shapes(line.array, "x", None, 4)}
    tokens = line.array((16, 64), "x", dtype="int32")
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = jax.tree.map(
        lambda leaf: line.array(leaf.shape, *line.spec(leaf.shape, "fsdp"), dtype=leaf.dtype),
        jax.eval_shape(optimizer.init, flat),
    )
    step = trained(lambda w, ids: scored(w, ids, scanned), optimizer)
    yield "llama_fsdp_adamw", (jax.jit(step, donate_argnums=(0, 1)), [flat, state, tokens], None)

    def halved(w: Any, ids: Any) -> Any:
        return scored(jax.tree.map(lambda p: p.astype(jnp.bfloat16), w), ids, unrolled)

    yield "llama_bf16", (trained(halved), [both, ids], None)

    def adapted(low: Any, w: Any, x: Any, y: Any) -> Any:
        h = x
        for (a, b), each in zip(low, w, strict=True):
            h = jax.nn.gelu(h @ each + (h @ a) @ b)
        return ((h - y) ** 2).mean()

    low = [(grid.array((256, 8)), grid.array((8, 256), None, "y"))] * 3
    given = [
        low,
        [grid.array((256, 256), None, "y")] * 3,
        grid.array((128, 256), "x"),
        grid.array((128, 256), "x"),
    ]
    yield "low_rank_adapters", (trained(adapted), given, None)

    def dropped(w: Any, key: Any, x: Any) -> Any:
        keys = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"), len(w))
        for each, one in zip(w, keys, strict=True):
            x = jax.nn.relu(x @ each)
            x = jnp.where(jax.random.bernoulli(one, 0.9, x.shape), x / 0.9, 0)
        return (x**2).mean()

    given = [
        [grid.array((256, 256), None, "y")] * 3,
        grid.array((2,), dtype="uint32"),
        grid.array((256, 256), "x"),
    ]
    yield "dropout_layers", (trained(dropped), given, None)

    def distilled(w: Any, teacher: Any, x: Any) -> Any:
        wanted = jax.nn.softmax(jnp.tanh(x @ teacher[0]) @ teacher[1] / 2)
        return -(wanted * jax.nn.log_softmax(jnp.tanh(x @ w[0]) @ w[1] / 2)).sum(-1).mean()

    w = [grid.array((128, 256), "x", "y"), grid.array((256, 512), "y", "x")]
    yield "distilled", (trained(distilled), [w, w, grid.array((256, 128), "x")], None)


def _images() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def conv(x: Any, w: Any, step: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w, (step, step), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def batch_norm(x: Any) -> Any:
        return (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5)

    def autoencoded(w: Any, key: Any, x: Any) -> Any:
        h = jax.nn.relu(conv(x, w["a"], 2))
        h = jax.nn.relu(conv(h, w["b"], 2)).reshape(x.shape[0], -1)
        mean, log = jnp.split(h @ w["c"], 2, -1)
        keys = jax.random.wrap_key_data(key, impl="threefry2x32")
        z = mean + jnp.exp(0.5 * log) * jax.random.normal(keys, mean.shape)
        y = (z @ w["d"]).reshape(x.shape[0], 8, 8, 16)
        y = jax.nn.relu(lax.conv_transpose(y, w["e"], (2, 2), "SAME"))
        y = lax.conv_transpose(y, w["f"], (2, 2), "SAME")
        return ((x - y) ** 2).sum((1, 2, 3)).mean() - 0.5 * (1 + log - mean**2 - jnp.exp(log)).sum(1).mean()

    w = {
        "a": line.array((3, 3, 3, 16)),
        "b": line.array((3, 3, 16, 16)),
        "c": line.array((1024, 64), "x"),
        "d": line.array((32, 1024), None, "x"),
        "e": line.array((3, 3, 16, 16)),
        "f": line.array((3, 3, 16, 3)),
    }
    given = [w, line.array((2,), dtype="uint32"), line.array((32, 32, 32, 3), "x")]
    yield "autoencoder", (trained(autoencoded), given, None)

    def adversarial(g: Any, d: Any, z: Any, x: Any) -> Any:
        def made(g: Any) -> Any:
            return jnp.tanh(jax.nn.relu(z @ g[0]) @ g[1])

        def real(d: Any, x: Any) -> Any:
            return (jax.nn.leaky_relu(x @ d[0]) @ d[1])[:, 0]

        def of_d(d: Any) -> Any:
            fake = lax.stop_gradient(made(g))
            mixed = 0.5 * fake + 0.5 * x
            steep = jax.vmap(jax.grad(lambda v: real(d, v[None])[0]))(mixed)
            penalty = ((jnp.linalg.norm(steep, axis=1) - 1) ** 2).mean()
            return real(d, fake).mean() - real(d, x).mean() + 10 * penalty

        new_d = jax.tree.map(lambda p, q: p - 1e-3 * q, d, jax.grad(of_d)(d))
        new_g = jax.tree.map(
            lambda p, q: p - 1e-3 * q, g, jax.grad(lambda g: -real(new_d, made(g)).mean())(g)
        )
        return new_g, new_d

    g = [grid.array((32, 128), None, "y"), grid.array((128, 256), "y")]
    d = [grid.array((256, 128), None, "y"), grid.array((128, 1), "y")]
    yield "adversarial", (adversarial, [g, d, grid.array((128, 32), "x"), grid.array((128, 256), "x")], None)

    def patched(w: Any, x: Any, y: Any) -> Any:
        n = x.shape[0]
        h = x.reshape(n, 8, 4, 8, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(n, 64, 48) @ w["in"] + w["at"]
        for each in w["layers"]:
            q, k, v = (a.reshape(n, 64, 4, 16) for a in jnp.split(_norm(h) @ each["qkv"], 3, -1))
            h = h + jax.nn.dot_product_attention(q, k, v).reshape(n, 64, 64) @ each["o"]
            h = h + jax.nn.gelu(_norm(h) @ each["up"]) @ each["down"]
        logs = jax.nn.log_softmax(h.mean(1) @ w["out"])
        return -(jax.nn.one_hot(y, 10) * 0.9 * logs + 0.01 * logs).sum(-1).mean()

    layer = {
        "qkv": grid.array((64, 192), None, "y"),
        "o": grid.array((64, 64), "y"),
        "up": grid.array((64, 256), None, "y"),
        "down": grid.array((256, 64), "y"),
    }
    w = {
        "in": grid.array((48, 64)),
        "at": grid.array((64, 64)),
        "out": grid.array((64, 10)),
        "layers": [layer] * 2,
    }
    given = [w, grid.array((32, 32, 32, 3), "x"), grid.array((32,), "x", dtype="int32")]
    yield "patches", (trained(patched), given, None)

    def dense(w: Any, x: Any) -> Any:
        for each in w:
            x = jnp.concatenate([x, jax.nn.relu(batch_norm(conv(x, each)))], -1)
        return (lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).mean()

    w = [line.array((3, 3, 8 + 8 * i, 8)) for i in range(4)]
    yield "dense_net", (trained(dense), [w, line.array((32, 16, 16, 8), "x")], None)

    def denoised(w: Any, x: Any) -> Any:
        def body(x: Any, t: Any) -> Any:
            noise = conv(jax.nn.silu(conv(x, w[0]) + t), w[1])
            return (x - 0.1 * noise) / jnp.sqrt(1 - 0.01 * t), None

        return lax.scan(body, x, jnp.linspace(1.0, 0.0, 10))[0]

    w = [grid.array((3, 3, 4, 32), None, None, None, "y"), grid.array((3, 3, 32, 4), None, None, "y")]
    yield "diffusion_sampler", (denoised, [w, grid.array((16, 32, 32, 4), "x")], None)

    def detected(w: Any, x: Any, boxes: Any) -> Any:
        made = conv(jax.nn.relu(conv(x, w[0], 2)), w[1], 2).reshape(x.shape[0], -1, 4)
        low = jnp.maximum(made[:, :, None, :2], boxes[:, None, :, :2])
        high = jnp.minimum(made[:, :, None, 2:], boxes[:, None, :, 2:])
        shared = jnp.prod(jnp.clip(high - low, 0), -1)
        area = jnp.prod(jnp.abs(made[..., 2:] - made[..., :2]), -1)[:, :, None]
        wanted = jnp.prod(boxes[..., 2:] - boxes[..., :2], -1)[:, None]
        return -(shared / (area + wanted - shared + 1e-6)).max(2).mean()

    w = [line.array((3, 3, 3, 32)), line.array((3, 3, 32, 4))]
    yield (
        "detector",
        (trained(detected), [w, line.array((16, 64, 64, 3), "x"), line.array((16, 12, 4), "x")], None),
    )


def _others() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def informed(w: Any, x: Any) -> Any:
        def u(x: Any) -> Any:
            for each in w[:-1]:
                x = jnp.tanh(x @ each)
            return (x @ w[-1])[0]

        def residual(x: Any) -> Any:
            hess = jax.hessian(u)(x)
            return jax.grad(u)(x)[0] - hess[1, 1]

        return (jax.vmap(residual)(x) ** 2).mean()

    w = [line.array((2, 64)), line.array((64, 64)), line.array((64, 1))]
    yield "physics_informed", (trained(informed), [w, line.array((512, 2), "x")], None)

    def attended(w: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
        h = nodes @ w["in"]
        score = jax.nn.leaky_relu(h[senders] @ w["a"] + h[receivers] @ w["b"])
        top = jax.ops.segment_max(score, receivers, nodes.shape[0])
        score = jnp.exp(score - top[receivers])
        total = jax.ops.segment_sum(score, receivers, nodes.shape[0])
        sent = h[senders] * (score / (total[receivers] + 1e-6))[:, None]
        return (jax.ops.segment_sum(sent, receivers, nodes.shape[0]) ** 2).mean()

    w = {"in": line.array((32, 64)), "a": line.array((64,)), "b": line.array((64,))}
    edges = line.array((2048,), "x", dtype="int32")
    yield "graph_attention", (trained(attended), [w, line.array((256, 32)), edges, edges], None)

    def aligned(w: Any, x: Any, labels: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(x @ w["x"] + h @ w["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((x.shape[1], 64))
        _, h = lax.scan(cell, (start, start), x)
        logits = (h @ w["out"]).swapaxes(0, 1)
        empty = jnp.zeros(logits.shape[:2]), jnp.zeros(labels.shape)
        return optax.ctc_loss(logits, empty[0], labels, empty[1]).mean()

    w = {"x": line.array((32, 256)), "h": line.array((64, 256)), "out": line.array((64, 30))}
    given = [w, line.array((40, 64, 32), None, "x"), line.array((64, 8), "x", dtype="int32")]
    yield "speech_ctc", (trained(aligned), given, None)

    def meta(w: Any, x: Any, y: Any) -> Any:
        def loss(w: Any, x: Any, y: Any) -> Any:
            return ((jnp.tanh(x @ w[0]) @ w[1] - y) ** 2).mean()

        def task(x: Any, y: Any) -> Any:
            quick = jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(w, x[:8], y[:8]))
            return loss(quick, x[8:], y[8:])

        return jax.vmap(task)(x, y).mean()

    w = [line.array((16, 64)), line.array((64, 4))]
    given = [w, line.array((64, 16, 16), "x"), line.array((64, 16, 4), "x")]
    yield "meta_learning", (trained(meta), given, None)

    def accumulated(w: Any, ema: Any, x: Any, y: Any) -> Any:
        def loss(w: Any, x: Any, y: Any) -> Any:
            return ((jax.nn.gelu(x @ w[0]) @ w[1] - y) ** 2).mean()

        def body(total: Any, given: Any) -> Any:
            return jax.tree.map(jnp.add, total, jax.grad(loss)(w, *given)), None

        grads, _ = lax.scan(body, jax.tree.map(jnp.zeros_like, w), (x, y))
        fine = jnp.stack([jnp.isfinite(g).all() for g in grads]).all()
        new = jax.tree.map(lambda p, g: jnp.where(fine, p - 0.01 * g / 4, p), w, grads)
        return new, jax.tree.map(lambda e, p: 0.999 * e + 0.001 * p, ema, new)

    w = [grid.array((128, 512), "x", "y"), grid.array((512, 128), "y", "x")]
    x = grid.array((4, 128, 128), None, "x")
    yield "accumulated_ema", (jax.jit(accumulated, donate_argnums=(0, 1)), [w, w, x, x], None)

    def two_towers(w: Any, users: Any, items: Any) -> Any:
        def tower(w: Any, ids: Any) -> Any:
            x = w["table"][ids].mean(1)
            x = jax.nn.relu(x @ w["a"]) @ w["b"]
            return x / jnp.linalg.norm(x, axis=-1, keepdims=True)

        logits = tower(w[0], users) @ tower(w[1], items).T * 20
        at = jnp.arange(users.shape[0])
        return -(jax.nn.log_softmax(logits, 1)[at, at] + jax.nn.log_softmax(logits, 0)[at, at]).mean()

    tower = {"table": grid.array((4096, 32), "y"), "a": grid.array((32, 128)), "b": grid.array((128, 64))}
    ids = grid.array((256, 6), "x", dtype="int32")
    yield "two_towers", (trained(two_towers), [[tower, tower], ids, ids], None)

    def sharpened(w: Any, x: Any) -> Any:
        def loss(w: Any) -> Any:
            return (jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]) ** 2).mean()

        grads = jax.grad(loss)(w)
        size = jnp.sqrt(sum((g**2).sum() for g in grads))
        climbed = jax.tree.map(lambda p, g: p + 0.05 * g / size, w, grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(climbed))

    w = [grid.array((128, 256), None, "y"), grid.array((256, 64), "y")]
    yield "sharpness_aware", (sharpened, [w, grid.array((256, 128), "x")], None)
