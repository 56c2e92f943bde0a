"""Programs of kinds that the other sets lack, by which the rules of XLA:TPU are judged.

Written, and compiled once, when the rules were there; none was made for them.
"""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained
from tests.xla.spmd.unseen_others import others


def programs() -> Programs:
    """The programs by name."""
    yield from _attention()
    yield from _recurrent()
    yield from _experts()
    yield from _vision()
    yield from others()


def _norm(x: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6)


def _attention() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    grid, line = Placed("2x4"), Placed("8")
    dim, heads, part, words = 256, 8, 32, 4096

    def turned(x: Any) -> Any:
        angle = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(part // 2) / (part // 2))
        sine, cosine = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)

    def grouped(w: Any, ids: Any) -> Any:
        x = w["table"][ids]
        for layer in w["layers"]:
            h = _norm(x)
            q = turned(_norm(jnp.einsum("btd,dhe->bthe", h, layer["q"])))
            k = turned(_norm(jnp.einsum("btd,dhe->bthe", h, layer["k"])))
            v = jnp.einsum("btd,dhe->bthe", h, layer["v"])
            k, v = (jnp.repeat(each, heads // each.shape[2], 2) for each in (k, v))
            scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / part**0.5
            mask = jnp.arange(ids.shape[1])[:, None] >= jnp.arange(ids.shape[1])
            scores = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
            x = x + jnp.einsum("bhqk,bkhe,hed->bqd", scores, v, layer["o"])
            h = _norm(x)
            x = x + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"]
        losses = optax.softmax_cross_entropy_with_integer_labels(_norm(x) @ w["head"], jnp.roll(ids, -1, 1))
        return losses[:, :-1].mean()

    def decoder(place: Placed, a: Any, b: Any) -> Any:
        layer = {
            "q": place.array((dim, heads, part), a, b),
            "k": place.array((dim, 4, part), a, b),
            "v": place.array((dim, 4, part), a, b),
            "o": place.array((heads, part, dim), b, None, a),
            "gate": place.array((dim, 768), a, b),
            "up": place.array((dim, 768), a, b),
            "down": place.array((768, dim), b, a),
        }
        return {
            "table": place.array((words, dim), None, a),
            "head": place.array((dim, words), a, b),
            "layers": [layer] * 2,
        }

    ids = grid.array((16, 128), "x", dtype="int32")
    yield "grouped_both", (trained(grouped), [decoder(grid, "x", "y"), ids], None)
    yield (
        "grouped_fsdp",
        (trained(grouped), [decoder(line, "x", None), line.array((16, 128), "x", dtype="int32")], None),
    )

    def latent(w: Any, x: Any) -> Any:
        q = jnp.einsum("btr,rhe->bthe", _norm(x @ w["q_down"]), w["q_up"])
        shared = _norm(x @ w["kv_down"])
        k, v = jnp.split(jnp.einsum("btr,rhe->bthe", shared, w["kv_up"]), 2, -1)
        scores = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) * part**-0.5)
        y = jnp.einsum("bhqk,bkhe->bqhe", scores, v).reshape(*x.shape[:2], -1) @ w["o"]
        return jnp.square(y).mean()

    weights = {
        "q_down": grid.array((dim, 96), "x"),
        "q_up": grid.array((96, heads, part), None, "y"),
        "kv_down": grid.array((dim, 64), "x"),
        "kv_up": grid.array((64, heads, 2 * part), None, "y"),
        "o": grid.array((heads * part, dim), "y", "x"),
    }
    yield "latent_attention", (trained(latent), [weights, grid.array((8, 128, dim), "x")], None)

    def crossed(w: Any, source: Any, target: Any) -> Any:
        bias = w["bias"][jnp.clip(jnp.arange(64)[:, None] - jnp.arange(128) + 16, 0, 31)]
        q, k, v = (x @ w[name] for name, x in (("q", target), ("k", source), ("v", source)))
        q, k, v = (each.reshape(*each.shape[:2], heads, part) for each in (q, k, v))
        scores = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) + bias.transpose(2, 0, 1))
        y = jnp.einsum("bhqk,bkhe->bqhe", scores, v).reshape(*target.shape) @ w["o"]
        return jnp.square(y - target).mean()

    weights = {name: grid.array((dim, dim), None, "y") for name in "qkv"}
    weights |= {"o": grid.array((dim, dim), "y"), "bias": grid.array((32, heads), None, "y")}
    pair = [grid.array((8, 128, dim), "x"), grid.array((8, 64, dim), "x")]
    yield "crossed_attention", (trained(crossed), [weights, *pair], None)

    def windows(w: Any, x: Any) -> Any:
        q, k, v = (jnp.einsum("btd,dhe->bthe", x, w[name]).reshape(4, 8, 64, heads, part) for name in "qkv")
        k, v = (jnp.concatenate([jnp.roll(each, 1, 1), each], 2) for each in (k, v))
        scores = jax.nn.softmax(jnp.einsum("bcqhe,bckhe->bchqk", q, k))
        return jnp.einsum("bchqk,bckhe->bcqhe", scores, v).reshape(4, 512, -1)

    weights = {name: grid.array((dim, heads, part), None, "y") for name in "qkv"}
    yield "windows", (windows, [weights, grid.array((4, 512, dim), "x")], None)

    def cached(w: Any, cache: Any, x: Any, at: Any) -> Any:
        q, k, v = (jnp.einsum("bd,dhe->bhe", x, w[name]) for name in "qkv")
        cache = tuple(
            jax.lax.dynamic_update_slice(old, new[:, None], (0, at, 0, 0))
            for old, new in zip(cache, (k, v), strict=True)
        )
        scores = jnp.einsum("bhe,bthe->bht", q, cache[0])
        scores = jax.nn.softmax(jnp.where(jnp.arange(1024) <= at, scores, -1e9))
        return cache, jnp.einsum("bht,bthe->bhe", scores, cache[1]).reshape(x.shape)

    caches = (grid.array((16, 1024, heads, part), "x", None, "y"),) * 2
    arguments = [weights, caches, grid.array((16, dim), "x"), grid.array((), dtype="int32")]
    yield "cached_step", (cached, arguments, None)


def _recurrent() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    grid, line = Placed("2x4"), Placed("8")

    def receptance(w: Any, x: Any) -> Any:
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        r, k, v = (((x + before) * 0.5) @ w[name] for name in "rkv")

        def step(state: Any, now: Any) -> Any:
            above, below = state
            key, value = jnp.exp(now[0]), now[1]
            out = (above + key * value) / (below + key)
            return (above * 0.9 + key * value, below * 0.9 + key), out

        zero = jnp.ones(x.shape[::2])
        _, out = lax.scan(step, (zero, zero), (k.swapaxes(0, 1), v.swapaxes(0, 1)))
        return jnp.square((jax.nn.sigmoid(r) * out.swapaxes(0, 1)) @ w["o"]).mean()

    weights = {name: grid.array((256, 256), None, "y") for name in "rkv"} | {"o": grid.array((256, 256), "y")}
    yield "receptance", (trained(receptance), [weights, grid.array((8, 64, 256), "x")], None)

    def chunks(w: Any, x: Any) -> Any:
        decay = jnp.cumsum(-jax.nn.softplus(x @ w["decay"]).reshape(8, 4, 32, 8), 2)
        b, c, v = (x @ w[name] for name in ("b", "c", "v"))
        b, c = (each.reshape(8, 4, 32, 8, 16) for each in (b, c))
        v = v.reshape(8, 4, 32, 8, 32)
        inside = jnp.exp(decay[:, :, :, None] - decay[:, :, None]) * jnp.tril(jnp.ones((32, 32)))[..., None]
        near = jnp.einsum("nlqhs,nlkhs,nlqkh,nlkhe->nlqhe", c, b, inside, v)
        states = jnp.einsum("nlkhs,nlkh,nlkhe->nlhse", b, jnp.exp(decay[:, :, -1:] - decay), v)

        def carry(state: Any, now: Any) -> Any:
            return state * now[1][..., None, None] + now[0], state

        ends = jnp.exp(decay[:, :, -1])
        _, before = lax.scan(carry, states[:, 0] * 0, (states.swapaxes(0, 1), ends.swapaxes(0, 1)))
        far = jnp.einsum("nlqhs,nlqh,lnhse->nlqhe", c, jnp.exp(decay), before)
        return jnp.square((near + far).reshape(8, 128, -1) @ w["o"]).mean()

    sizes = {"decay": 8, "b": 128, "c": 128, "v": 256}
    weights = {name: line.array((256, size), "x") for name, size in sizes.items()}
    weights["o"] = line.array((256, 256), "x")
    yield "chunked_states", (trained(chunks), [weights, line.array((8, 128, 256), "x")], None)

    def linear(w: Any, x: Any) -> Any:
        gate, value = jax.nn.sigmoid(x @ w["gate"]), x @ w["value"]

        def joined(left: Any, right: Any) -> Any:
            return left[0] * right[0], left[1] * right[0] + right[1]

        return lax.associative_scan(joined, (gate, value), axis=1)[1] @ w["o"]

    weights = {name: grid.array((128, 128), None, "y") for name in ("gate", "value")}
    weights["o"] = grid.array((128, 128), "y")
    yield "linear_recurrence", (linear, [weights, grid.array((8, 64, 128), "x")], None)


def _experts() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def two_of_eight(w: Any, x: Any) -> Any:
        gates, chosen = lax.top_k(jax.nn.softmax(x @ w["router"]), 2)
        mask = jax.nn.one_hot(chosen, 8)
        share = (mask * (gates / gates.sum(-1, keepdims=True))[..., None]).sum(1)
        h = jax.nn.silu(jnp.einsum("td,edf->tef", x, w["gate"])) * jnp.einsum("td,edf->tef", x, w["up"])
        balance = (mask.sum(1).mean(0) * jax.nn.softmax(x @ w["router"]).mean(0)).sum()
        return jnp.square(jnp.einsum("tef,efd,te->td", h, w["down"], share)).mean() + balance

    weights = {
        "router": grid.array((128, 8)),
        "gate": grid.array((8, 128, 256), "y"),
        "up": grid.array((8, 128, 256), "y"),
        "down": grid.array((8, 256, 128), "y"),
    }
    yield "two_of_eight", (trained(two_of_eight), [weights, grid.array((512, 128), "x")], None)

    def soft(w: Any, x: Any) -> Any:
        logits = jnp.einsum("btd,des->btes", x, w["slots"])
        given = jnp.einsum("btes,btd->besd", jax.nn.softmax(logits, 1), x)
        made = jnp.einsum("besd,edf->besf", given, w["up"])
        made = jnp.einsum("besf,efd->besd", jax.nn.gelu(made), w["down"])
        shares = jax.nn.softmax(logits.reshape(*x.shape[:2], -1)).reshape(logits.shape)
        return jnp.square(jnp.einsum("btes,besd->btd", shares, made)).mean()

    weights = {
        "slots": line.array((128, 8, 16), None, "x"),
        "up": line.array((8, 128, 256), "x"),
        "down": line.array((8, 256, 128), "x"),
    }
    yield "soft_experts", (trained(soft), [weights, line.array((8, 64, 128))], None)

    def by_order(w: Any, x: Any) -> Any:
        chosen = jnp.argmax(x @ w["router"], -1)
        order = jnp.argsort(chosen)
        h = jax.nn.relu(x[order].reshape(8, -1, x.shape[1]) @ w["up"]) @ w["down"]
        return jnp.zeros_like(x).at[order].set(h.reshape(x.shape))

    weights = {"router": line.array((128, 8)), "up": weights["up"], "down": weights["down"]}
    yield "by_order", (by_order, [weights, line.array((1024, 128), "x")], None)


def _vision() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")
    numbers = ("NHWC", "HWIO", "NHWC")

    def conv(x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
        more: Any = {"dimension_numbers": numbers, "feature_group_count": groups}
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", **more)

    def depthwise(w: Any, x: Any, y: Any) -> Any:
        x = conv(x, w["stem"], 4)
        for block in w["blocks"]:
            h = conv(x, block["deep"], groups=64)
            h = (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-6)
            x = x + jax.nn.gelu(h @ block["up"]) @ block["down"]
        logits = x.mean((1, 2)) @ w["head"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    block = {
        "deep": line.array((7, 7, 1, 64)),
        "up": line.array((64, 256), None, "x"),
        "down": line.array((256, 64), "x"),
    }
    weights = {"stem": line.array((4, 4, 3, 64)), "head": line.array((64, 128)), "blocks": [block] * 2}
    images, labels = line.array((16, 64, 64, 3), "x"), line.array((16,), "x", dtype="int32")
    yield "depthwise", (trained(depthwise), [weights, images, labels], None)

    def normed(w: Any, x: Any, y: Any) -> Any:
        for k in w["kernels"]:
            x = conv(x, k)
            x = jax.nn.relu((x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.square(x.reshape(x.shape[0], -1) @ w["head"] - y).mean()

    kernels = [grid.array((3, 3, 16, 32), None, None, None, "y"), grid.array((3, 3, 32, 32), None, None, "y")]
    weights = {"kernels": kernels, "head": grid.array((2048, 64), "y")}
    pair = [grid.array((16, 32, 32, 16), "x"), grid.array((16, 64), "x")]
    yield "normed_pooled", (trained(normed), [weights, *pair], None)

    def rendered(w: Any, rays: Any, colors: Any) -> Any:
        points = rays[:, None, :3] + rays[:, None, 3:] * jnp.linspace(0, 1, 32)[:, None]
        waves = points[..., None] * 2.0 ** jnp.arange(8)
        h = jnp.concatenate([jnp.sin(waves), jnp.cos(waves)], -1).reshape(*points.shape[:2], -1)
        for layer in w:
            h = jax.nn.relu(h @ layer)
        free = jnp.exp(-jax.nn.softplus(h[..., 3]))
        reached = jnp.cumprod(jnp.concatenate([jnp.ones_like(free[:, :1]), free[:, :-1]], 1), 1)
        made = ((reached * (1 - free))[..., None] * jax.nn.sigmoid(h[..., :3])).sum(1)
        return jnp.square(made - colors).mean()

    layers = [line.array((48, 256), None, "x"), line.array((256, 256), "x"), line.array((256, 4))]
    yield "rendered", (trained(rendered), [layers, line.array((512, 6)), line.array((512, 3))], None)
