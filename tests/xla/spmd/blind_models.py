"""Small programs that no rule was made for, by which the memory forecast for GPUs is judged.

Written, and compiled once, after the rules.
"""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    """The programs by name."""
    yield from _attention()
    yield from _steps()
    yield from _numerics()
    yield from _inference()


def _heads(x: Any, w: Any, heads: int) -> Any:
    import jax.numpy as jnp

    b, t, d = x.shape
    return jnp.einsum("btd,de->bte", x, w).reshape(b, t, heads, d // heads)


def _attended(x: Any, w: Any, heads: int = 4, *, window: int = 0) -> Any:
    import jax
    import jax.numpy as jnp

    q, k, v = (_heads(x, w[name], heads) for name in "qkv")
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / q.shape[-1] ** 0.5
    places = jnp.arange(x.shape[1])
    seen = places[:, None] >= places
    if window:
        seen &= places[:, None] - places < window
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhe->bqhe", weights, v).reshape(x.shape)
    return mixed @ w["o"]


def _weights(placed: Placed, style: str, dim: int, wide: int, dtype: str = "float32") -> dict[str, Any]:
    shapes = dict.fromkeys("qkvo", (dim, dim)) | {"up": (dim, wide), "down": (wide, dim)}
    return {n: placed.array(s, *placed.spec(s, style), dtype=dtype) for n, s in shapes.items()}


def _attention() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def block(w: Any, x: Any, window: int = 0) -> Any:
        x = x + _attended(x - x.mean(-1, keepdims=True), w, window=window)
        return x + jax.nn.silu(x @ w["up"]) @ w["down"]

    def loss(w: Any, x: Any) -> Any:
        return jnp.square(block(w, x)).mean()

    x = grid.array((16, 96, 192), "x")
    yield "windowed_tensor", (lambda w, x: block(w, x, 16), [_weights(grid, "tensor", 192, 384), x], None)
    yield "attention_grad_both", (trained(loss), [_weights(grid, "both", 192, 384), x], None)
    long = line.array((8, 128, 128), "x", dtype="bfloat16")
    yield "attention_grad_bf16", (trained(loss), [_weights(line, "fsdp", 128, 512, "bfloat16"), long], None)

    def stacked(w: Any, x: Any) -> Any:
        def step(h: Any, each: Any) -> Any:
            return jax.checkpoint(block)(each, h), None

        return jnp.abs(lax.scan(step, x, w)[0]).mean()

    shapes = {name: (4, *each.shape) for name, each in _weights(line, "data", 128, 256).items()}
    deep = {name: line.array(shape, None, "x") for name, shape in shapes.items()}
    yield "stacked_remat", (trained(stacked), [deep, line.array((16, 64, 128), "x")], None)

    def sparse(w: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ w["gate"])
        chosen, experts = lax.top_k(gates, 2)
        mask = jax.nn.one_hot(experts, 8, dtype=x.dtype) * chosen[..., None]
        inner = jax.nn.relu(jnp.einsum("td,edf->tef", x, w["in"]))
        made = jnp.einsum("tef,efd->ted", inner, w["out"])
        return jnp.einsum("ted,tke->td", made, mask).mean()

    experts = {
        "gate": line.array((64, 8)),
        "in": line.array((8, 64, 128), "x"),
        "out": line.array((8, 128, 64), "x"),
    }
    yield "dense_experts_grad", (trained(sparse), [experts, line.array((512, 64), "x")], None)


def _steps() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line, grid = Placed("8"), Placed("2x4")

    def mlp(w: Any, x: Any) -> Any:
        for name in ("a", "b", "c"):
            x = jnp.tanh(x @ w[name] + w[f"{name}_bias"])
        return x

    def loss(w: Any, x: Any, y: Any) -> Any:
        return optax.huber_loss(mlp(w, x), y).mean()

    shapes: dict[str, tuple[int, ...]] = {"a": (96, 256), "b": (256, 256), "c": (256, 32)}
    shapes |= {f"{name}_bias": shape[1:] for name, shape in shapes.items()}
    for style, placed, optimizer in (
        ("fsdp", line, optax.nadam(1e-3)),
        ("tensor", grid, optax.chain(optax.clip_by_global_norm(1.0), optax.rmsprop(1e-3))),
    ):
        w = {n: placed.array(s, *placed.spec(s, style)) for n, s in shapes.items()}
        state = jax.tree.map(
            lambda leaf: leaf if leaf.sharding else placed.array(leaf.shape),  # noqa: B023
            jax.eval_shape(optimizer.init, w),
        )
        state = jax.tree.map(lambda leaf: placed.array(leaf.shape, dtype=leaf.dtype), state)  # noqa: B023
        given = [w, state, placed.array((128, 96), "x"), placed.array((128, 32), "x")]
        yield f"huber_{style}", (trained(loss, optimizer), given, None)

    def conv(w: Any, x: Any) -> Any:
        for name in ("first", "second"):
            x = jax.lax.conv_general_dilated(
                x, w[name], (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + w[f"{name}_bias"])
        return jnp.square(x.mean((1, 2)) @ w["head"]).mean()

    kernels = {
        "first": line.array((3, 3, 3, 32)),
        "first_bias": line.array((32,)),
        "second": line.array((3, 3, 32, 64)),
        "second_bias": line.array((64,)),
        "head": line.array((64, 16)),
    }
    images = line.array((32, 64, 64, 3), "x")
    yield "convolved_forward", (conv, [kernels, images], None)
    yield "convolved_grad", (trained(conv), [kernels, images], None)

    def contrast(w: Any, a: Any, b: Any) -> Any:
        one, two = (x @ w / jnp.linalg.norm(x @ w, axis=-1, keepdims=True) for x in (a, b))
        scores = one @ two.T * 10.0
        return (jax.nn.logsumexp(scores, 1) - jnp.diagonal(scores)).mean()

    pair = [line.array((256, 128), "x")] * 2
    yield "contrastive_grad", (trained(contrast), [line.array((128, 64)), *pair], None)


def _numerics() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def diffused(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            near = sum(jnp.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1))
            return u + 0.1 * (near - 4 * u)

        return lax.fori_loop(0, 10, step, u)

    yield "diffused", (diffused, [grid.array((256, 128), "x", "y")], None)

    def kernel_ridge(x: Any, y: Any) -> Any:
        away = jnp.square(x[:, None] - x).sum(-1)
        gram = jnp.exp(-away) + 0.1 * jnp.eye(x.shape[0])
        return jnp.linalg.solve(gram, y)

    yield "kernel_ridge", (kernel_ridge, [line.array((128, 16), "x"), line.array((128, 4), "x")], None)

    def powered(a: Any, v: Any) -> Any:
        def step(v: Any, _: Any) -> Any:
            v = a @ v
            return v / jnp.linalg.norm(v), None

        return lax.scan(step, v, None, length=8)[0]

    yield "powered", (powered, [line.array((512, 512), "x"), line.array((512,))], None)

    def moments(x: Any) -> Any:
        mean = x.mean(0)
        away = x - mean
        return mean, away.T @ away / x.shape[0], (away**3).mean(0) / away.std(0) ** 3

    yield "moments", (moments, [line.array((4096, 64), "x")], None)

    def spectrum(x: Any) -> Any:
        return jnp.abs(jnp.fft.rfft(x * jnp.hanning(x.shape[-1]))) ** 2

    yield "spectrum", (spectrum, [line.array((64, 512), "x")], None)

    def nearest(x: Any, centers: Any) -> Any:
        away = jnp.square(x).sum(1)[:, None] - 2 * x @ centers.T + jnp.square(centers).sum(1)
        own = jnp.argmin(away, 1)
        return jax.ops.segment_sum(x, own, centers.shape[0]), jnp.bincount(own, length=centers.shape[0])

    yield "nearest", (nearest, [line.array((2048, 32), "x"), line.array((16, 32))], None)


def _inference() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def cached(q: Any, keys: Any, values: Any, k: Any, v: Any, at: Any) -> Any:
        keys, values = (
            lax.dynamic_update_slice(old, new[:, None], (0, at, 0, 0))
            for old, new in ((keys, k), (values, v))
        )
        seen = jnp.arange(keys.shape[1]) <= at
        scores = jnp.where(seen[None, None], jnp.einsum("bhe,bkhe->bhk", q, keys), -1e9)
        return jnp.einsum("bhk,bkhe->bhe", jax.nn.softmax(scores), values), keys, values

    one = grid.array((8, 8, 32), "x", "y")
    cache = grid.array((8, 256, 8, 32), "x", None, "y")
    yield "cached_attention", (cached, [one, cache, cache, one, one, grid.array((), dtype="int32")], None)

    def looked_up(tables: Any, ids: Any, w: Any) -> Any:
        found = jnp.stack([table[ids[:, n]] for n, table in enumerate(tables)], 1)
        crossed = jnp.einsum("bnd,bmd->bnm", found, found).reshape(ids.shape[0], -1)
        return jax.nn.sigmoid(crossed @ w)

    tables = [line.array((1024, 32), "x") for _ in range(4)]
    given = [tables, line.array((256, 4), "x", dtype="int32"), line.array((16, 1))]
    yield "looked_up", (looked_up, given, None)

    def filtered(logits: Any, key: Any) -> Any:
        ordered = jnp.sort(logits, -1)[:, ::-1]
        total = jnp.cumsum(jax.nn.softmax(ordered), -1)
        least = jnp.take_along_axis(ordered, (total < 0.9).sum(-1, keepdims=True), -1)
        return jax.random.categorical(key, jnp.where(logits < least, -jnp.inf, logits))

    yield "filtered", (filtered, [line.array((64, 512), "x"), line.array((2,), dtype="uint32")], None)

    def recurrent(w: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            reset, kept = jnp.split(jax.nn.sigmoid(jnp.concatenate([x, h], -1) @ w["gates"]), 2, -1)
            new = jnp.tanh(jnp.concatenate([x, reset * h], -1) @ w["new"])
            h = kept * h + (1 - kept) * new
            return h, h

        return lax.scan(step, jnp.zeros((x.shape[1], 64), x.dtype), x)[1]

    cells = {"gates": line.array((128, 128)), "new": line.array((128, 64))}
    yield "recurrent_forward", (recurrent, [cells, line.array((32, 64, 64), None, "x")], None)
