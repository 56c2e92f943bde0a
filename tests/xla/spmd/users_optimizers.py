"""Training steps of `users_models.py` by their optimizers: ZeRO-1, Adafactor, Lion, Muon, Shampoo."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs

WIDTH, INNER, LAYERS, TOKENS = 1024, 4096, 4, 16384


def programs() -> Programs:
    """The programs by name."""
    yield from _decoders()
    yield from _matrices()


def _norm(x: Any, scale: Any) -> Any:
    import jax
    import jax.numpy as jnp

    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-5)
    return y.astype(x.dtype) * scale.astype(x.dtype)


def _rotary(x: Any) -> Any:
    """Halves of the last dimension turned by angles of their places."""
    import jax.numpy as jnp

    half = x.shape[-1] // 2
    speed = 10000.0 ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angle = jnp.arange(x.shape[1], dtype=jnp.float32)[:, None, None] * speed
    a, b = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
    turned = [a * jnp.cos(angle) - b * jnp.sin(angle), a * jnp.sin(angle) + b * jnp.cos(angle)]
    return jnp.concatenate(turned, -1).astype(x.dtype)


def _layer(w: Any, x: Any, heads: int = 16, groups: int = 4) -> Any:
    """Grouped-query attention with rotary places, and SwiGLU."""
    import jax
    import jax.numpy as jnp

    b, t, d = x.shape
    h = _norm(x, w["first"])
    q = _rotary((h @ w["q"]).reshape(b, t, heads, d // heads)).reshape(b, t, groups, -1, d // heads)
    k = _rotary((h @ w["k"]).reshape(b, t, groups, d // heads))
    v = (h @ w["v"]).reshape(b, t, groups, d // heads)
    scores = jnp.einsum("btgrd,bsgd->bgrts", q, k).astype(jnp.float32) * (d // heads) ** -0.5
    scores = jnp.where(jnp.arange(t)[:, None] >= jnp.arange(t), scores, jnp.finfo(jnp.float32).min)
    chance = jax.nn.softmax(scores, -1).astype(x.dtype)
    x = x + jnp.einsum("bgrts,bsgd->btgrd", chance, v).reshape(b, t, d) @ w["o"]
    h = _norm(x, w["second"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def _loss(w: Any, tokens: Any, again: bool = True) -> Any:
    import jax
    import jax.numpy as jnp

    x = w["table"][tokens[:, :-1]]
    apply = jax.checkpoint(_layer) if again else _layer
    x, _ = jax.lax.scan(lambda x, each: (apply(each, x), None), x, w["layers"])
    logits = (_norm(x, w["last"]) @ w["table"].T).astype(jnp.float32)
    chances = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(chances, tokens[:, 1:, None], -1).mean()


def _decoder(place: Any, dtype: str = "float32") -> Any:
    """The weights; `place` gives the sharding of a shape: inputs, outputs of a product."""
    quarter = WIDTH // 4

    def stacked(*shape: int, wide: bool = True) -> Any:
        return place((LAYERS, *shape), wide=wide, dtype=dtype)

    layers = {
        "first": stacked(WIDTH),
        "second": stacked(WIDTH),
        "q": stacked(WIDTH, WIDTH),
        "k": stacked(WIDTH, quarter),
        "v": stacked(WIDTH, quarter),
        "o": stacked(WIDTH, WIDTH, wide=False),
        "gate": stacked(WIDTH, INNER),
        "up": stacked(WIDTH, INNER),
        "down": stacked(INNER, WIDTH, wide=False),
    }
    table = place((TOKENS, WIDTH), wide=False, dtype=dtype)
    return {"table": table, "layers": layers, "last": place((WIDTH,), wide=False, dtype=dtype)}


def _decoders() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, tall, line = Placed("2x4"), Placed("4x2"), Placed("8")

    def tensor(shape: tuple[int, ...], *, wide: bool, dtype: str, zero: bool = False) -> Any:
        """The wide dimension along y; the state of the optimizer of the other one along x too."""
        if len(shape) < 2 or (len(shape) == 2 and shape[0] == LAYERS):
            return grid.array(shape, dtype=dtype)
        spec: list[Any] = [None] * len(shape)
        spec[-1 if wide else -2] = "y"
        if zero:
            spec[-2 if wide else -1] = "x"
        return grid.array(shape, *spec, dtype=dtype)

    w = _decoder(tensor, "bfloat16")
    state = _decoder(partial(tensor, zero=True))

    def zero1(w: Any, master: Any, m: Any, v: Any, count: Any, tokens: Any) -> Any:
        """Adam of float32 copies, each device for a part of them; weights are gathered."""
        value, grads = jax.value_and_grad(_loss)(w, tokens)
        count = count + 1
        rate = 3e-4 * jnp.minimum(count / 1000, 1.0)

        def one(p: Any, g: Any, m: Any, v: Any, like: Any) -> Any:
            g = jax.lax.with_sharding_constraint(g.astype(jnp.float32), like.sharding)
            m = 0.9 * m + 0.1 * g
            v = 0.95 * v + 0.05 * g * g
            there = m / (1 - 0.9**count) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8)
            return p - rate * (there + 0.1 * p), m, v

        both = jax.tree.map(one, master, grads, m, v, state)
        master, m, v = (jax.tree.map(lambda _, each, i=i: each[i], w, both, is_leaf=None) for i in range(3))
        w = jax.tree.map(
            lambda p, like: jax.lax.with_sharding_constraint(p.astype(jnp.bfloat16), like.sharding),
            master,
            w_like,
        )
        return w, master, m, v, count, value

    w_like = w
    step = jax.jit(zero1, donate_argnums=(0, 1, 2, 3))
    count = grid.array((), dtype="int32")
    tokens = grid.array((16, 513), "x", dtype="int32")
    yield "zero1_grouped", (step, [w, state, state, state, count, tokens], None)

    def fsdp(shape: tuple[int, ...], *, wide: bool, dtype: str) -> Any:
        del wide
        if len(shape) < 2 or (len(shape) == 2 and shape[0] == LAYERS):
            return line.array(shape, dtype=dtype)
        return line.array(shape, *(None,) * (len(shape) - 2), "x", dtype=dtype)

    def factored(w: Any, rows: Any, columns: Any, tokens: Any) -> Any:
        """Adafactor: means of squares by row and by column, updates clipped by their root mean square."""

        def half(w: Any, tokens: Any) -> Any:
            return _loss(jax.tree.map(lambda p: p.astype(jnp.bfloat16), w), tokens)

        value, grads = jax.value_and_grad(half)(w, tokens)

        def one(p: Any, g: Any, r: Any, c: Any) -> Any:
            square = g * g + 1e-30
            if p.ndim < 2:
                r = 0.999 * r + 0.001 * square
                update = g * jax.lax.rsqrt(r)
            else:
                r = 0.999 * r + 0.001 * square.mean(-1)
                c = 0.999 * c + 0.001 * square.mean(-2)
                scale = jax.lax.rsqrt(r / r.mean(-1, keepdims=True))
                update = g * scale[..., None] * jax.lax.rsqrt(c)[..., None, :]
            size = jnp.sqrt(jnp.mean(jnp.square(update)))
            update = update / jnp.maximum(1.0, size)
            return p - 1e-3 * jnp.maximum(1e-3, jnp.sqrt(jnp.mean(p * p))) * update, r, c

        leaves, tree = jax.tree.flatten(w)
        rest = (tree.flatten_up_to(each) for each in (grads, rows, columns))
        made = [one(*each) for each in zip(leaves, *rest, strict=True)]
        return *(tree.unflatten(list(each)) for each in zip(*made, strict=True)), value

    w = _decoder(fsdp)

    def mean(dimension: int) -> Any:
        def one(p: Any) -> Any:
            if p.ndim < 2:
                return p
            kept = [d for d in range(p.ndim) if d != p.ndim + dimension]
            spec = [*p.sharding.spec, *(None,) * p.ndim]
            return line.array(tuple(p.shape[d] for d in kept), *(spec[d] for d in kept))

        return jax.tree.map(one, w)

    step = jax.jit(factored, donate_argnums=(0, 1, 2))
    tokens = line.array((16, 513), "x", dtype="int32")
    yield "adafactor_fsdp", (step, [w, mean(-1), mean(-2), tokens], None)

    def both(shape: tuple[int, ...], *, wide: bool, dtype: str) -> Any:
        if len(shape) < 2 or (len(shape) == 2 and shape[0] == LAYERS):
            return tall.array(shape, dtype=dtype)
        last = ("x", "y") if wide else ("y", "x")
        return tall.array(shape, *(None,) * (len(shape) - 2), *last, dtype=dtype)

    def lion(w: Any, momentum: Any, tokens: Any) -> Any:
        """Lion after the mean gradient of four parts of the batch."""
        parts = tokens.reshape(4, -1, tokens.shape[-1])
        parts = jax.lax.with_sharding_constraint(parts, tall.at(None, "x"))

        def add(carry: Any, part: Any) -> Any:
            total, grads = carry
            value, more = jax.value_and_grad(_loss)(w, part)
            return (total + value, jax.tree.map(lambda a, b: a + b.astype(jnp.float32), grads, more)), None

        start = jnp.float32(0), jax.tree.map(lambda p: jnp.zeros(p.shape, jnp.float32), w)
        (total, grads), _ = jax.lax.scan(add, start, parts)
        grads = jax.tree.map(lambda g: g / 4, grads)

        def one(p: Any, m: Any, g: Any) -> Any:
            there = jnp.sign(0.9 * m + 0.1 * g)
            return (p - 1e-4 * (there + 0.1 * p.astype(jnp.float32))).astype(p.dtype)

        new = jax.tree.map(one, w, momentum, grads)
        return new, jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g, momentum, grads), total / 4

    step = jax.jit(lion, donate_argnums=(0, 1))
    tokens = tall.array((32, 513), "x", dtype="int32")
    yield "lion_accumulated", (step, [_decoder(both, "bfloat16"), _decoder(both), tokens], None)


def _matrices() -> Programs:
    import jax
    import jax.numpy as jnp

    line, cube = Placed("8"), Placed("2x2x2")

    def mlp(w: Any, x: Any, y: Any) -> Any:
        for up, down in zip(w["up"], w["down"], strict=True):
            x = x + jnp.square(jax.nn.relu(x @ up.astype(x.dtype))) @ down.astype(x.dtype)
        return jnp.square((x - y).astype(jnp.float32)).mean()

    def orthogonal(g: Any) -> Any:
        """Five steps of Newton and Schulz."""
        turned = g.shape[-2] > g.shape[-1]
        x = g.astype(jnp.bfloat16)
        x = x.mT if turned else x
        x = x / (jnp.linalg.norm(x, axis=(-2, -1), keepdims=True) + 1e-7)

        def step(_: Any, x: Any) -> Any:
            square = x @ x.mT
            return 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x

        x = jax.lax.fori_loop(0, 5, step, x)
        return x.mT if turned else x

    def muon(w: Any, momentum: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(mlp)(w, x, y)
        momentum = jax.tree.map(lambda m, g: 0.95 * m + g, momentum, grads)

        def one(p: Any, g: Any, m: Any) -> Any:
            scale = max(1, p.shape[-2] / p.shape[-1]) ** 0.5
            return p * (1 - 1e-3) - 0.02 * scale * orthogonal(g + 0.95 * m).astype(p.dtype)

        return jax.tree.map(one, w, grads, momentum), momentum, value

    w = {
        "up": [line.array((2048, 8192), "x")] * 4,
        "down": [line.array((8192, 2048), "x")] * 4,
    }
    x = line.array((8192, 2048), "x", dtype="bfloat16")
    step = jax.jit(muon, donate_argnums=(0, 1))
    yield "muon_fsdp", (step, [w, w, x, x], None)

    def root(a: Any) -> Any:
        """The inverse fourth root by coupled steps of Newton, until it is near."""
        one = jnp.eye(a.shape[-1])
        a = a + 1e-6 * one
        scale = (1 + 4) / (2 * jnp.sqrt(jnp.sum(a * a)))

        def go_on(carry: Any) -> Any:
            i, _, _, error = carry
            return (i < 20) & (error > 1e-5)

        def step(carry: Any) -> Any:
            i, m, h, _ = carry
            t = (5 * one - m) / 4
            h = h @ t
            t2 = t @ t
            m = t2 @ t2 @ m
            return i + 1, m, h, jnp.max(jnp.abs(m - one))

        start = 0, a * scale, one * scale**0.25, jnp.float32(1e9)
        return jax.lax.while_loop(go_on, step, start)[2]

    def shampoo(w: Any, left: Any, right: Any, x: Any, y: Any) -> Any:
        def loss(w: Any) -> Any:
            return jnp.square(jnp.tanh(x @ w["a"]) @ w["b"] - y).mean()

        grads = jax.grad(loss)(w)
        left = jax.tree.map(lambda s, g: 0.99 * s + g @ g.T, left, grads)
        right = jax.tree.map(lambda s, g: 0.99 * s + g.T @ g, right, grads)
        new = jax.tree.map(lambda p, g, a, b: p - 0.1 * root(a) @ g @ root(b), w, grads, left, right)
        return new, left, right

    w = {"a": cube.array((512, 1024), "x", ("y", "z")), "b": cube.array((1024, 512), ("y", "z"), "x")}
    left = {"a": cube.array((512, 512), "x"), "b": cube.array((1024, 1024), ("y", "z"))}
    right = {"a": cube.array((1024, 1024), ("y", "z")), "b": cube.array((512, 512), "x")}
    x = cube.array((512, 512), "x")
    yield "shampoo_two_axes", (shampoo, [w, left, right, x, x], None)
