"""Training steps, decoding and science as on accelerators, by which forecasts for TPUs are judged.

Written when the rules of XLA:TPU were there; none was made for them. Sizes are those of small models, so that
tiles are filled.
"""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained
from tests.xla.spmd.target_shard_maps import by_hand


def programs() -> Programs:
    """The programs by name."""
    yield from by_hand()
    yield from _language()
    yield from _images()
    yield from _decisions()
    yield from _science()


def _norm(x: Any, scale: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return (
        x * jax.lax.rsqrt((x.astype(jnp.float32) ** 2).mean(-1, keepdims=True) + 1e-6).astype(x.dtype) * scale
    )


def _attention(q: Any, k: Any, v: Any) -> Any:
    import jax
    import jax.numpy as jnp

    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def _language() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    dim, heads, hidden, words = 256, 8, 1024, 2048

    def decoder(w: Any, ids: Any, keep: Any = lambda x: x) -> Any:
        x = keep(w["table"][ids])
        for layer in w["layers"]:
            h = _norm(x, layer["n1"])
            q, k, v = jnp.split(jnp.einsum("btd,dhe->bthe", h, layer["qkv"]), 3, -1)
            x = keep(x + jnp.einsum("bthe,hed->btd", _attention(q, k, v), layer["out"]))
            x = keep(x + jax.nn.gelu(_norm(x, layer["n2"]) @ layer["up"]) @ layer["down"])
        logits = (x @ w["table"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], ids[:, 1:]).mean()

    def weights(array: Any, dtype: Any, first: Any, second: Any, layers: int) -> Any:
        def layer() -> Any:
            return {
                "n1": array((dim,), dtype=dtype),
                "n2": array((dim,), dtype=dtype),
                "qkv": array((dim, heads, 96), first, second, dtype=dtype),
                "out": array((heads, 32, dim), second, None, first, dtype=dtype),
                "up": array((dim, hidden), first, second, dtype=dtype),
                "down": array((hidden, dim), second, first, dtype=dtype),
            }

        return {
            "table": array((words, dim), second, first, dtype=dtype),
            "layers": [layer() for _ in range(layers)],
        }

    grid, line, tall = Placed("2x4"), Placed("8"), Placed("4x2")
    ids = grid.array((8, 256), "x", dtype="int32")
    yield "megatron_bf16", (trained(decoder), [weights(grid.array, "bfloat16", None, "y", 2), ids], None)
    split = lambda x: lax.with_sharding_constraint(x, grid.at("x", "y"))  # noqa: E731
    sequence = trained(lambda w, ids: decoder(w, ids, split))
    yield "megatron_sequence", (sequence, [weights(grid.array, "float32", None, "y", 2), ids], None)
    tokens = line.array((16, 128), "x", dtype="int32")
    yield "fsdp_deep", (trained(decoder), [weights(line.array, "float32", "x", None, 6), tokens], None)
    remat = trained(lambda w, ids: jax.checkpoint(decoder)(w, ids))
    yield "fsdp_bf16_remat", (remat, [weights(line.array, "bfloat16", "x", None, 3), tokens], None)
    both = tall.array((8, 128), "x", dtype="int32")
    yield "two_axes_adam", _adam(decoder, tall, weights(tall.array, "float32", "x", "y", 2), both)
    whole = weights(line.array, "float32", None, None, 2)
    yield "zero_one", _zero_one(decoder, line, whole, tokens)

    def vocabulary(w: Any, x: Any, labels: Any) -> Any:
        logits = x @ w
        peak = lax.stop_gradient(logits.max(-1, keepdims=True))
        total = jnp.log(jnp.exp(logits - peak).sum(-1)) + peak[..., 0]
        return (total - jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]).mean()

    arguments = [
        grid.array((dim, 32768), None, "y"),
        grid.array((32, 128, dim), "x"),
        grid.array((32, 128), "x", dtype="int32"),
    ]
    yield "sharded_vocabulary", (trained(vocabulary), arguments, None)

    def experts(w: Any, x: Any) -> Any:
        gates = jax.nn.softmax((x @ w["router"]).astype(jnp.float32))
        chosen, gate = gates.argmax(-1), gates.max(-1)
        mask = jax.nn.one_hot(chosen, 8)
        place = (jnp.cumsum(mask, 0) * mask).sum(-1).astype(jnp.int32) - 1
        sent = mask[..., None] * jax.nn.one_hot(place, 256)[:, None]
        h = jnp.einsum("tec,td->ecd", sent, x)
        h = jax.nn.relu(jnp.einsum("ecd,edf->ecf", h, w["up"]))
        h = jnp.einsum("ecf,efd->ecd", h, w["down"])
        return (jnp.einsum("tec,ecd->td", sent * gate[:, None, None], h) ** 2).mean()

    mixture = {
        "router": line.array((dim, 8)),
        "up": line.array((8, dim, hidden), "x"),
        "down": line.array((8, hidden, dim), "x"),
    }
    yield "switch_train", (trained(experts), [mixture, line.array((1024, dim), "x")], None)

    def recurrent(w: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            r, z = jnp.split(jax.nn.sigmoid(x @ w["gates"] + h @ w["state"]), 2, -1)
            new = (1 - z) * jnp.tanh(x @ w["in"] + (r * h) @ w["rec"]) + z * h
            return new, new

        _, out = lax.scan(step, jnp.zeros((x.shape[1], dim)), x)
        return (out**2).mean()

    gru = {
        "gates": grid.array((dim, 2 * dim), None, "y"),
        "state": grid.array((dim, 2 * dim), None, "y"),
        "in": grid.array((dim, dim), None, "y"),
        "rec": grid.array((dim, dim), None, "y"),
    }
    yield "gru_tensor", (trained(recurrent), [gru, grid.array((16, 32, dim), None, "x")], None)

    def decoded(w: Any, cache: Any, x: Any, at: Any) -> Any:
        q, k, v = jnp.split(jnp.einsum("bd,dhe->bhe", x, w["qkv"]), 3, -1)
        keys = lax.dynamic_update_slice(cache[0], k[:, None], (0, at, 0, 0))
        values = lax.dynamic_update_slice(cache[1], v[:, None], (0, at, 0, 0))
        scores = jnp.einsum("bhe,bthe->bht", q, keys)
        scores = jnp.where(jnp.arange(keys.shape[1]) <= at, scores, -1e9)
        o = jnp.einsum("bht,bthe->bhe", jax.nn.softmax(scores), values)
        logits = jnp.einsum("bhe,hed->bd", o, w["out"]) @ w["head"]
        best, _ = lax.top_k(logits, 40)
        return jnp.where(logits < best[:, -1:], -1e9, logits).argmax(-1), (keys, values)

    held = {
        "qkv": grid.array((dim, heads, 96), None, "y", dtype="bfloat16"),
        "out": grid.array((heads, 32, dim), "y", dtype="bfloat16"),
        "head": grid.array((dim, 8192), None, "y", dtype="bfloat16"),
    }
    cache = [grid.array((16, 512, heads, 32), "x", None, "y", dtype="bfloat16")] * 2
    arguments = [held, cache, grid.array((16, dim), "x", dtype="bfloat16"), grid.array((), dtype="int32")]
    yield "decode_top_k", (decoded, arguments, None)


def _adam(loss: Any, placed: Any, weights: Any, ids: Any) -> Any:
    import jax
    import optax

    optimizer = optax.adamw(1e-3)
    shardings = {leaf.shape: leaf.sharding.spec for leaf in jax.tree.leaves(weights)}
    state = jax.tree.map(
        lambda leaf: placed.array(leaf.shape, *shardings.get(leaf.shape, ()), dtype=leaf.dtype),
        jax.eval_shape(optimizer.init, weights),
    )
    return trained(loss, optimizer), [weights, state, ids], None


def _zero_one(loss: Any, placed: Any, weights: Any, ids: Any) -> Any:
    """Weights on all devices, moments of the optimizer in parts."""
    import jax
    import optax

    optimizer = optax.adam(1e-3)
    state = jax.tree.map(
        lambda leaf: placed.array(leaf.shape, *placed.spec(leaf.shape, "fsdp"), dtype=leaf.dtype),
        jax.eval_shape(optimizer.init, weights),
    )
    return jax.jit(trained(loss, optimizer), donate_argnums=(0, 1)), [weights, state, ids], None


def _images() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    grid, line = Placed("4x2"), Placed("8")

    def conv(x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        strides = (stride, stride)
        return lax.conv_general_dilated(
            x, w, strides, "SAME", dimension_numbers=numbers, feature_group_count=groups
        )

    def unet(w: Any, x: Any) -> Any:
        a = jax.nn.relu(conv(x, w["in"]))
        b = jax.nn.relu(conv(a, w["down"], 2))
        up = jax.image.resize(b, (*a.shape[:3], b.shape[3]), "nearest")
        return conv(jnp.concatenate([a, up], -1), w["out"])

    array = line.array
    kernels = {"in": array((3, 3, 8, 32)), "down": array((3, 3, 32, 64)), "out": array((3, 3, 96, 8))}
    rows = line.array((4, 64, 64, 8), None, "x")
    yield "unet_rows", (unet, [kernels, rows], None)
    yield (
        "unet_train_batch",
        (trained(lambda w, x: (unet(w, x) ** 2).mean()), [kernels, array((16, 64, 64, 8), "x")], None),
    )
    narrow = {k: grid.array(v.shape) for k, v in kernels.items()}
    tiles = grid.array((8, 64, 64, 8), "y", "x")
    yield "unet_train_tiles", (trained(lambda w, x: (unet(w, x) ** 2).mean()), [narrow, tiles], None)

    def separable(w: Any, x: Any) -> Any:
        for each in w:
            h = conv(x, each["depth"], groups=x.shape[-1])
            h = (h - h.mean((0, 1, 2))) * lax.rsqrt(h.var((0, 1, 2)) + 1e-5) * each["scale"]
            x = x + jax.nn.relu(h @ each["point"])
        return (x.mean((1, 2)) ** 2).mean()

    blocks = [
        {"depth": array((3, 3, 1, 64)), "scale": array((64,)), "point": array((64, 64))} for _ in range(3)
    ]
    yield "separable_batch_norm", (trained(separable), [blocks, array((32, 32, 32, 64), "x")], None)

    def volume(w: Any, x: Any) -> Any:
        numbers = lax.conv_dimension_numbers(x.shape, w.shape, ("NDHWC", "DHWIO", "NDHWC"))
        return jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=numbers))

    yield (
        "volume_depth",
        (volume, [line.array((3, 3, 3, 8, 16)), line.array((2, 32, 16, 16, 8), None, "x")], None),
    )

    def patches(w: Any, x: Any) -> Any:
        b, s = x.shape[0], x.shape[1] // 8
        x = x.reshape(b, s, 8, s, 8, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, s * s, 192)
        x = x @ w["patch"] + w["place"]
        for each in w["layers"]:
            x = x + jax.nn.gelu(_norm(x, 1.0) @ each["up"]) @ each["down"]
        return (jax.nn.log_softmax(x.mean(1) @ w["head"]) ** 2).mean()

    layer = {"up": grid.array((256, 1024), "x", "y"), "down": grid.array((1024, 256), "y", "x")}
    vision = {
        "patch": grid.array((192, 256), None, "x"),
        "place": grid.array((64, 256)),
        "layers": [layer] * 3,
        "head": grid.array((256, 1000), "x"),
    }
    yield "patches_both", (trained(patches), [vision, grid.array((16, 64, 64, 3), "x")], None)

    def contrastive(w: Any, image: Any, text: Any) -> Any:
        a, b = jnp.tanh(image @ w["image"]), jnp.tanh(text @ w["text"])
        a, b = (v / jnp.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
        scores = a @ b.T * 10
        same = jnp.arange(scores.shape[0])
        rows, columns = jax.nn.log_softmax(scores, 0), jax.nn.log_softmax(scores, 1)
        return -(rows[same, same] + columns[same, same]).mean()

    towers = {"image": array((512, 256)), "text": array((384, 256))}
    pairs = [array((1024, 512), "x"), array((1024, 384), "x")]
    yield "contrastive", (trained(contrastive), [towers, *pairs], None)


def _decisions() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def advantages(w: Any, states: Any, rewards: Any) -> Any:
        h = jnp.tanh(states @ w["body"])
        value, policy = (h @ w["value"])[..., 0], jax.nn.log_softmax(h @ w["policy"])

        def back(total: Any, each: Any) -> Any:
            reward, now, then = each
            total = reward + 0.99 * then - now + 0.95 * total
            return total, total

        given = rewards, value[:-1], value[1:]
        _, found = lax.scan(back, jnp.zeros(rewards.shape[1]), given, reverse=True)
        found = (found - found.mean()) / (found.std() + 1e-8)
        return -(policy[:-1].max(-1) * lax.stop_gradient(found)).mean() + (found**2).mean()

    actor = {"body": line.array((64, 256)), "value": line.array((256, 1)), "policy": line.array((256, 18))}
    arguments = [actor, line.array((33, 256, 64), None, "x"), line.array((32, 256), None, "x")]
    yield "advantages", (trained(advantages), arguments, None)

    def clusters(points: Any, centers: Any) -> Any:
        def step(centers: Any, _: Any) -> Any:
            apart = (points**2).sum(-1)[:, None] - 2 * points @ centers.T + (centers**2).sum(-1)
            nearest = apart.argmin(-1)
            sums = jax.ops.segment_sum(points, nearest, centers.shape[0])
            counts = jax.ops.segment_sum(jnp.ones(points.shape[0]), nearest, centers.shape[0])
            return sums / jnp.maximum(counts, 1)[:, None], apart.min(-1).mean()

        return lax.scan(step, centers, None, length=5)

    yield "clusters", (clusters, [line.array((8192, 64), "x"), line.array((128, 64))], None)

    def neighbours(queries: Any, database: Any) -> Any:
        scores = queries @ database.T
        best, places = lax.top_k(scores, 16)
        return best, places

    yield "neighbours", (neighbours, [grid.array((256, 128), "x"), grid.array((16384, 128), "y")], None)

    def recommended(w: Any, users: Any, items: Any, ratings: Any) -> Any:
        a, b = w["users"][users], w["items"][items]
        h = jax.nn.relu(jnp.concatenate([a, b, a * b], -1) @ w["mix"])
        return (((h @ w["out"])[:, 0] - ratings) ** 2).mean()

    tables = {
        "users": grid.array((16384, 64), "y"),
        "items": grid.array((8192, 64), "y"),
        "mix": grid.array((192, 128)),
        "out": grid.array((128, 1)),
    }
    batch = [grid.array((2048,), "x", dtype="int32")] * 2
    yield "recommended", (trained(recommended), [tables, *batch, grid.array((2048,), "x")], None)

    def messages(w: Any, nodes: Any, source: Any, target: Any) -> Any:
        x = nodes
        for each in w:
            sent = jax.nn.relu(x[source] @ each["edge"])
            x = jax.nn.relu(x @ each["self"] + jax.ops.segment_sum(sent, target, x.shape[0]))
        return (x**2).mean()

    layers = [{"edge": line.array((64, 64)), "self": line.array((64, 64))}] * 2
    edges = [line.array((16384,), "x", dtype="int32")] * 2
    yield "messages_by_edge", (trained(messages), [layers, line.array((2048, 64)), *edges], None)

    def uneven(w: Any, x: Any) -> Any:
        h = lax.with_sharding_constraint(jnp.tanh(x @ w["up"]), line.at(None, "x"))
        return ((h @ w["down"]) ** 2).mean()

    parameters = {"up": line.array((256, 1000)), "down": line.array((1000, 256))}
    yield "uneven_hidden", (trained(uneven), [parameters, line.array((516, 256))], None)


def _science() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    grid, line = Placed("4x2"), Placed("8")

    def waves(u: Any, before: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            now, old = state
            near = sum(jnp.roll(now, s, d) for s in (1, -1) for d in (0, 1)) - 4 * now
            return (2 * now - old + 0.1 * near, now), (now**2).sum()

        return lax.scan(step, (u, before), None, length=8)

    yield "waves_periodic", (waves, [grid.array((512, 512), "x", "y")] * 2, None)

    def transport(cost: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            f, g = state
            f = -jax.nn.logsumexp((g[None] - cost) / 0.1, 1) * 0.1
            g = -jax.nn.logsumexp((f[:, None] - cost) / 0.1, 0) * 0.1
            return (f, g), None

        (f, g), _ = lax.scan(step, (jnp.zeros(cost.shape[0]), jnp.zeros(cost.shape[1])), None, length=10)
        return (jnp.exp((f[:, None] + g[None] - cost) / 0.1) * cost).sum()

    yield "transport", (transport, [grid.array((1024, 2048), "x", "y")], None)

    def conjugate(a: Any, b: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            x, r, p, rr = state
            ap = a @ p
            alpha = rr / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            new = r @ r
            return (x, r, r + new / rr * p, new), new

        zero = jnp.zeros_like(b)
        return lax.scan(step, (zero, b, b, b @ b), None, length=10)[0][0]

    yield "conjugate_rows", (conjugate, [line.array((2048, 2048), "x"), line.array((2048,), "x")], None)

    def bodies(x: Any, v: Any, m: Any) -> Any:
        apart = x[None] - x[:, None]
        pull = apart / ((apart**2).sum(-1, keepdims=True) + 1e-2) ** 1.5
        v = v + 0.01 * jnp.einsum("ijd,j->id", pull, m)
        return x + 0.01 * v, v

    yield "bodies", (bodies, [line.array((1024, 3), "x")] * 2 + [line.array((1024,), "x")], None)

    def regression(x: Any, y: Any) -> Any:
        x = (x - x.mean(0)) / (x.std(0) + 1e-6)
        covariance = x.T @ x / x.shape[0]
        return covariance, x.T @ y / x.shape[0], jnp.cumsum(jnp.sort(y))[:: y.shape[0] // 16]

    yield "regression", (regression, [line.array((16384, 128), "x"), line.array((16384,), "x")], None)
