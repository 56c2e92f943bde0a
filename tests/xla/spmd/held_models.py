"""Programs of kinds that the other sets lack, by which the memory forecast for GPUs is judged.

Written, and compiled once, before the rules that they would have led to; none was made for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.xla.spmd.held_others import others
from tests.xla.spmd.model_styles import Placed, Programs, trained


def programs() -> Programs:
    """The programs by name."""
    yield from _language()
    yield from _vision()
    yield from _experts()
    yield from others()


def _normed(x: Any, scale: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    x = x.astype(jnp.float32)
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale


def _attended(x: Any, w: Any, heads: int, *, causal: bool) -> Any:
    import jax
    import jax.numpy as jnp

    b, t, d = x.shape
    q, k, v = jnp.split((x @ w["qkv"]).reshape(b, t, heads, 3 * d // heads), 3, -1)
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k).astype(jnp.float32) * (d // heads) ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    weights = jax.nn.softmax(scores).astype(x.dtype)
    return jnp.einsum("bhqk,bkhe->bqhe", weights, v).reshape(b, t, d) @ w["out"]


def _layer(dim: int, wide: int) -> dict[str, tuple[int, ...]]:
    return {
        "qkv": (dim, 3 * dim),
        "out": (dim, dim),
        "up": (dim, wide),
        "down": (wide, dim),
        "scales": (2, dim),
    }


def _shapes(table: Any, leaf: Callable[[tuple[int, ...]], Any]) -> Any:
    import jax

    return jax.tree.map(leaf, table, is_leaf=lambda each: isinstance(each, tuple))


def _language() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    grid, line = Placed("2x4"), Placed("8")
    dim, wide, words, heads, depth = 512, 2048, 8192, 8, 4

    def block(x: Any, w: Any) -> Any:
        h = _normed(x, w["scales"][0]).astype(x.dtype)
        x = x + _attended(h, w, heads, causal=True)
        h = _normed(x, w["scales"][1]).astype(x.dtype)
        return x + jax.nn.gelu(h @ w["up"]) @ w["down"]

    def loss(w: Any, ids: Any) -> Any:
        halves = jax.tree.map(lambda each: each.astype(jnp.bfloat16), w)
        x = halves["table"][ids]
        x, _ = lax.scan(lambda x, each: (jax.checkpoint(block)(x, each), None), x, halves["layers"])
        logits = (x @ halves["table"].T).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.roll(ids, -1, 1)).mean()

    table = {
        "table": (words, dim),
        "layers": {name: (depth, *shape) for name, shape in _layer(dim, wide).items()},
    }

    def tree(place: Placed, specs: Any, dtype: str = "float32") -> Any:
        return jax.tree.map(
            lambda shape, spec: place.array(shape, *spec, dtype=dtype),
            table,
            specs,
            is_leaf=lambda each: isinstance(each, tuple),
        )

    def scattering(shape: tuple[int, ...]) -> tuple[Any, ...]:
        """Along the rows of each matrix, where there are enough."""
        return (*(None,) * (len(shape) - 2), "x") if len(shape) > 1 and shape[-2] % 8 == 0 else ()

    tensors = {
        "table": ("y",),
        "layers": {
            "qkv": (None, "x", "y"),
            "out": (None, "y", "x"),
            "up": (None, "x", "y"),
            "down": (None, "y", "x"),
            "scales": (),
        },
    }
    ids = line.array((16, 256), "x", dtype="int32")
    params = tree(line, _shapes(table, lambda shape: ()))
    adam = optax.adamw(1e-3)
    state = jax.eval_shape(adam.init, params)
    whole = jax.tree.map(lambda leaf: line.array(leaf.shape, dtype=leaf.dtype), state)
    apart = jax.tree.map(
        lambda leaf: line.array(leaf.shape, *scattering(leaf.shape), dtype=leaf.dtype),
        state,
    )
    yield (
        "language_data_adam",
        (jax.jit(trained(loss, adam), donate_argnums=(0, 1)), [params, whole, ids], None),
    )
    yield (
        "language_zero_two",
        (jax.jit(trained(loss, adam), donate_argnums=(0, 1)), [params, apart, ids], None),
    )
    yield (
        "language_zero_three",
        (
            jax.jit(trained(loss, adam), donate_argnums=(0, 1)),
            [tree(line, _shapes(table, scattering)), apart, ids],
            None,
        ),
    )
    both = tree(grid, tensors)
    batch = grid.array((16, 256), "x", dtype="int32")
    yield (
        "language_tensor_momentum",
        (
            jax.jit(trained(loss, optax.sgd(0.1, momentum=0.9)), donate_argnums=(0, 1)),
            [both, jax.eval_shape(optax.sgd(0.1, momentum=0.9).init, both), batch],
            None,
        ),
    )
    yield "language_scored", (loss, [both, batch], None)

    def reward(w: Any, kept: Any, ids: Any, gains: Any) -> Any:
        def scores(w: Any) -> Any:
            x, _ = lax.scan(lambda x, each: (block(x, each), None), w["table"][ids], w["layers"])
            logs = jax.nn.log_softmax(x @ w["table"].T)
            return jnp.take_along_axis(logs[:, :-1], ids[:, 1:, None], -1)[..., 0]

        new, old = scores(w), lax.stop_gradient(scores(kept))
        ratio = jnp.exp(new - old)
        return -jnp.minimum(ratio * gains, jnp.clip(ratio, 0.8, 1.2) * gains).mean()

    short = grid.array((8, 128), "x", dtype="int32")
    yield "policy_of_tokens", (trained(reward), [both, both, short, grid.array((8, 127), "x")], None)


def _vision() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")
    dim, heads = 384, 6

    def patches(w: Any, images: Any, labels: Any) -> Any:
        b = images.shape[0]
        x = images.reshape(b, 8, 8, 8, 8, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 64, 192) @ w["in"]
        x = x + w["places"]
        for layer in w["layers"]:
            x = x + _attended(_normed(x, layer["scales"][0]), layer, heads, causal=False)
            x = x + jax.nn.gelu(_normed(x, layer["scales"][1]) @ layer["up"]) @ layer["down"]
        return optax.softmax_cross_entropy_with_integer_labels(x.mean(1) @ w["head"], labels).mean()

    table = {
        "in": (192, dim),
        "places": (64, dim),
        "layers": [_layer(dim, 4 * dim) for _ in range(3)],
        "head": (dim, 1000),
    }
    images = [line.array((64, 64, 64, 3), "x"), line.array((64,), "x", dtype="int32")]
    yield (
        "vit_fsdp",
        (trained(patches), [_shapes(table, lambda s: line.array(s, *line.spec(s, "fsdp"))), *images], None),
    )
    tiles = [grid.array((64, 64, 64, 3), "x"), grid.array((64,), "x", dtype="int32")]
    yield (
        "vit_tensor",
        (trained(patches), [_shapes(table, lambda s: grid.array(s, *grid.spec(s, "tensor"))), *tiles], None),
    )

    def convolved(x: Any, w: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def grouped(x: Any, scale: Any) -> Any:
        b, h, w, c = x.shape
        parts = x.reshape(b, h, w, 8, c // 8)
        mean, spread = parts.mean((1, 2, 4), keepdims=True), parts.var((1, 2, 4), keepdims=True)
        return ((parts - mean) * lax.rsqrt(spread + 1e-5)).reshape(x.shape) * scale

    def denoised(w: Any, images: Any, times: Any, noise: Any) -> Any:
        level = jnp.cos(times)[:, None, None, None]
        x = images * level + noise * (1 - level)
        phase = times[:, None] * jnp.exp(jnp.arange(32) / 4)
        embedded = jax.nn.silu(jnp.concatenate([jnp.sin(phase), jnp.cos(phase)], -1) @ w["time"])
        x = convolved(x, w["in"])
        kept: list[Any] = []
        for each in w["down"]:
            kept.append(x)
            x = convolved(jax.nn.silu(grouped(x, each["scale"])), each["conv"], 2)
            x = x + (embedded @ each["time"])[:, None, None]
        for each in w["up"]:
            x = jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
            x = jnp.concatenate([x, kept.pop()], -1)
            x = convolved(jax.nn.silu(x), each)
        return jnp.square(convolved(x, w["out"]) - noise).mean()

    unet = {
        "time": (64, 128),
        "in": (3, 3, 3, 64),
        "down": [{"scale": (64,), "conv": (3, 3, 64, 64), "time": (128, 64)} for _ in range(2)],
        "up": [(3, 3, 128, 64) for _ in range(2)],
        "out": (3, 3, 64, 3),
    }
    given = [line.array((32, 32, 32, 3), "x"), line.array((32,), "x"), line.array((32, 32, 32, 3), "x")]
    kept = _shapes(unet, lambda s: line.array(s))
    yield "denoising_train", (trained(denoised), [kept, *given], None)
    yield "denoising_loss", (denoised, [kept, *given], None)

    def residual(w: Any, images: Any, labels: Any) -> Any:
        x = convolved(images, w["in"], 2)
        for each in w["blocks"]:
            h = convolved(x, each["a"])
            h = jax.nn.relu((h - h.mean((0, 1, 2))) * lax.rsqrt(h.var((0, 1, 2)) + 1e-5) * each["scale"])
            x = jax.nn.relu(x + convolved(h, each["b"]))
        return optax.softmax_cross_entropy_with_integer_labels(x.mean((1, 2)) @ w["head"], labels).mean()

    net = {
        "in": (7, 7, 3, 64),
        "blocks": [{"a": (3, 3, 64, 64), "b": (3, 3, 64, 64), "scale": (64,)} for _ in range(3)],
        "head": (64, 1000),
    }
    large = [line.array((64, 64, 64, 3), "x"), line.array((64,), "x", dtype="int32")]
    yield (
        "residual_momentum",
        (
            jax.jit(trained(residual, optax.sgd(0.1, momentum=0.9)), donate_argnums=(0, 1)),
            [
                _shapes(net, lambda s: line.array(s)),
                jax.eval_shape(optax.sgd(0.1, momentum=0.9).init, _shapes(net, lambda s: line.array(s))),
                *large,
            ],
            None,
        ),
    )


def _experts() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")

    def routed(w: Any, x: Any) -> Any:
        groups, tokens, _ = x.shape
        count = w["up"].shape[0]
        room = 2 * tokens // count
        gates = jax.nn.softmax(jnp.einsum("gtd,de->gte", x, w["gate"]))
        best, chosen = jax.lax.top_k(gates, 2)
        sent = jnp.zeros((groups, tokens, count, room))
        used = jnp.zeros((groups, count))
        for k in range(2):
            mask = jax.nn.one_hot(chosen[..., k], count)
            place = jnp.cumsum(mask, 1) - mask + used[:, None]
            used = used + mask.sum(1)
            fits = mask * (place < room)
            sent = sent + best[..., k, None, None] * fits[..., None] * jax.nn.one_hot(place, room)
        put = jnp.einsum("gtec,gtd->egcd", (sent > 0).astype(x.dtype), x)
        made = jnp.einsum(
            "egcf,efd->egcd", jax.nn.silu(jnp.einsum("egcd,edf->egcf", put, w["up"])), w["down"]
        )
        return jnp.einsum("gtec,egcd->gtd", sent, made)

    def loss(w: Any, x: Any, target: Any) -> Any:
        return jnp.square(routed(w, x) - target).mean()

    w = {
        "gate": grid.array((256, 8)),
        "up": grid.array((8, 256, 1024), "y"),
        "down": grid.array((8, 1024, 256), "y"),
    }
    x = grid.array((16, 256, 256), ("x", "y"))
    yield "two_experts_grad", (trained(loss), [w, x, x], None)
    w = {
        "gate": line.array((256, 8)),
        "up": line.array((8, 256, 1024), "x"),
        "down": line.array((8, 1024, 256), "x"),
    }
    yield "two_experts", (routed, [w, line.array((16, 256, 256), "x")], None)
