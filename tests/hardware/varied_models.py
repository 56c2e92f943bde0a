"""Models of `varied_steps.py`: Llama, experts of unequal sizes, a state space, LSTM, ResNet, optimizers.

Each function returns a function and its abstract arguments, as those of `step_models.py`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.hardware.step_models import (
    BF16,
    F32,
    S32,
    Made,
    adamw,
    array,
    arrays,
    gradient,
    norm,
)

# ---------------------------------------------------------------------- Llama


def rotated(x: Any) -> Any:
    """Rotary positions of `[batch, length, heads, width]`."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = (f(angles)[:, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def llama_layer(x: Any, w: Any) -> Any:
    """A layer with grouped heads, rotary positions and a gated MLP."""
    w = {name: each.astype(x.dtype) for name, each in w.items()}
    h = norm(x, w["before"])
    q, k, v = (jnp.einsum("bld,dhe->blhe", h, w[name]) for name in "qkv")
    groups, depth = k.shape[2:]
    q, k = rotated(q), rotated(k)
    grouped = q.reshape(*q.shape[:2], groups, -1, depth)
    scores = jnp.einsum("blgre,bmge->bgrlm", grouped, k).astype(F32) * depth**-0.5
    ahead = jnp.arange(x.shape[1])[:, None] >= jnp.arange(x.shape[1])
    shares = jax.nn.softmax(jnp.where(ahead, scores, -1e9)).astype(x.dtype)
    mixed = jnp.einsum("bgrlm,bmge->blgre", shares, v).reshape(q.shape)
    x = x + jnp.einsum("blhe,hed->bld", mixed, w["o"])
    h = norm(x, w["between"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def llama_shapes(heads: int, groups: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    d = heads * width
    return {
        "before": (d,),
        "q": (d, heads, width),
        "k": (d, groups, width),
        "v": (d, groups, width),
        "o": (heads, width, d),
        "between": (d,),
        "gate": (d, hidden),
        "up": (d, hidden),
        "down": (hidden, d),
    }


def llama_layer_step(
    *, batch: int, length: int, heads: int, groups: int, width: int, hidden: int, is_backward: bool = False
) -> Made:
    shapes = llama_shapes(heads, groups, width, hidden)
    made = llama_layer, (array((batch, length, heads * width)), arrays(shapes))
    return gradient(*made) if is_backward else made


def llama_step(
    *,
    layers: int,
    batch: int,
    length: int,
    heads: int,
    groups: int,
    width: int,
    hidden: int,
    vocab: int,
    is_scanned: bool = False,
    is_rematerialized: bool = False,
    parts: int = 1,
    is_bf16: bool = False,
) -> Made:
    """A training step with AdamW; parts: of the batch, whose gradients are summed; is_bf16: of parameters."""
    block = jax.checkpoint(llama_layer) if is_rematerialized else llama_layer
    dtype = BF16 if is_bf16 else F32

    def loss(w: Any, tokens: Any) -> Any:
        x = w["embedding"].astype(BF16).at[tokens[:, :-1]].get(mode="clip")
        if is_scanned:
            x, _ = lax.scan(lambda x, own: (block(x, own), None), x, w["layers"])
        else:
            for own in w["layers"]:
                x = block(x, own)
        logits = (norm(x, w["after"]) @ w["head"].astype(BF16)).astype(F32)
        target = jnp.take_along_axis(logits, tokens[:, 1:, None], -1, mode="clip")[..., 0]
        return (jax.nn.logsumexp(logits, -1) - target).mean()

    def function(w: Any, moments: Any, tokens: Any) -> Any:
        if parts == 1:
            value, gradients = jax.value_and_grad(loss)(w, tokens)
        else:
            zeros = jax.tree.map(jnp.zeros_like, w)

            def accumulated(carry: Any, part: Any) -> Any:
                value, own = jax.value_and_grad(loss)(w, part)
                return (carry[0] + value, jax.tree.map(jnp.add, carry[1], own)), None

            split = tokens.reshape(parts, -1, tokens.shape[-1])
            (value, gradients), _ = lax.scan(accumulated, (jnp.zeros(()), zeros), split)
        return *adamw(w, moments, gradients), value

    shapes, d = llama_shapes(heads, groups, width, hidden), heads * width
    stacked = arrays({name: (layers, *shape) for name, shape in shapes.items()}, dtype)
    weights = {
        "embedding": array((vocab, d), dtype),
        "after": array((d,), dtype),
        "head": array((d, vocab), dtype),
        "layers": stacked if is_scanned else [arrays(shapes, dtype) for _ in range(layers)],
    }
    return function, (weights, {"mu": weights, "nu": weights}, array((batch, length + 1), S32))


def llama_decode_step(
    *, layers: int, batch: int, length: int, heads: int, groups: int, width: int, hidden: int, vocab: int
) -> Made:
    """One token for each sequence, layers scanned with their caches, which are donated."""
    d = heads * width

    def one(x: Any, given: Any, position: Any) -> Any:
        own, keys, values = given
        h = norm(x, own["before"])
        q, k, v = (jnp.einsum("bd,dhe->bhe", h, own[name]) for name in "qkv")
        keys = lax.dynamic_update_slice_in_dim(keys, k[:, None], position, 1)
        values = lax.dynamic_update_slice_in_dim(values, v[:, None], position, 1)
        grouped = q.reshape(x.shape[0], groups, -1, width)
        scores = jnp.einsum("bgre,blge->bgrl", grouped, keys).astype(F32) * width**-0.5
        shares = jax.nn.softmax(jnp.where(jnp.arange(length) <= position, scores, -1e9)).astype(x.dtype)
        seen = jnp.einsum("bgrl,blge->bgre", shares, values).reshape(q.shape)
        x = x + jnp.einsum("bhe,hed->bd", seen, own["o"])
        h = norm(x, own["between"])
        return x + (jax.nn.silu(h @ own["gate"]) * (h @ own["up"])) @ own["down"], (keys, values)

    def function(caches: Any, w: Any, tokens: Any, position: Any) -> Any:
        x = w["embedding"].at[tokens].get(mode="clip")
        x, caches = lax.scan(lambda x, given: one(x, given, position), x, (w["layers"], *caches))
        return caches, jnp.argmax(x @ w["head"], -1)

    shapes = llama_shapes(heads, groups, width, hidden)
    stacked = arrays({name: (layers, *shape) for name, shape in shapes.items()})
    cache = array((layers, batch, length, groups, width))
    weights = {"embedding": array((vocab, d)), "head": array((d, vocab)), "layers": stacked}
    return function, ((cache, cache), weights, array((batch,), S32), array((), S32))


# ---------------------------------------------------------------------- experts, recurrences


def ragged_experts_step(*, tokens: int, width: int, hidden: int, experts: int, chosen: int) -> Made:
    """Tokens sorted by expert, products of groups of unequal sizes, and back."""

    def function(x: Any, w: Any) -> Any:
        gates, picked = lax.top_k(jax.nn.softmax((x @ w["router"]).astype(F32)), chosen)
        order = jnp.argsort(picked.reshape(-1))
        sizes = jnp.bincount(picked.reshape(-1), length=experts).astype(S32)
        inputs = x.at[order // chosen].get(mode="clip")
        inside = jax.nn.silu(lax.ragged_dot(inputs, w["up"], sizes))
        made = lax.ragged_dot(inside, w["down"], sizes)
        made = made * gates.reshape(-1)[order][:, None].astype(x.dtype)
        return jnp.zeros_like(x).at[order // chosen].add(made, mode="drop")

    shapes = {"router": (width, experts), "up": (experts, width, hidden), "down": (experts, hidden, width)}
    return function, (array((tokens, width)), arrays(shapes))


def state_space_step(*, batch: int, length: int, width: int, is_backward: bool = False) -> Made:
    """A diagonal linear recurrence as an associative scan."""

    def function(x: Any, w: Any) -> Any:
        decay = jax.nn.sigmoid(x @ w["decay"]).astype(F32)
        taken = (x @ w["taken"]).astype(F32)

        def joined(one: Any, other: Any) -> Any:
            return one[0] * other[0], other[0] * one[1] + other[1]

        state = lax.associative_scan(joined, (decay, taken), axis=1)[1]
        return (state.astype(x.dtype) * jax.nn.silu(x @ w["gate"])) @ w["out"]

    shapes = dict.fromkeys(("decay", "taken", "gate", "out"), (width, width))
    made = function, (array((batch, length, width)), arrays(shapes))
    return gradient(*made) if is_backward else made


def lstm_step(*, batch: int, length: int, width: int, is_backward: bool = False) -> Made:
    """An LSTM over time: a loop of small products."""

    def function(x: Any, w: Any) -> Any:
        def one(carry: Any, now: Any) -> Any:
            h, c = carry
            i, f, g, o = jnp.split(now @ w["x"] + h @ w["h"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, width), x.dtype)
        return lax.scan(one, (zero, zero), x)[1]

    shapes = {"x": (width, 4 * width), "h": (width, 4 * width)}
    made = function, (array((length, batch, width)), arrays(shapes))
    return gradient(*made) if is_backward else made


# ---------------------------------------------------------------------- images


def resnet_step(*, batch: int, size: int, width: int, blocks: tuple[int, ...], classes: int) -> Made:
    """A training step of a ResNet of bottlenecks with batch normalization and momentum, in bf16."""
    numbers = ("NHWC", "HWIO", "NHWC")

    def convolved(x: Any, w: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w.astype(x.dtype), (stride,) * 2, "SAME", dimension_numbers=numbers
        )

    def normal(x: Any, own: Any) -> Any:
        wide = x.astype(F32)
        mean, square = wide.mean((0, 1, 2)), (wide * wide).mean((0, 1, 2))
        scale = own[0] * lax.rsqrt(square - mean * mean + 1e-5)
        return (wide * scale + (own[1] - mean * scale)).astype(x.dtype)

    def loss(w: Any, images: Any, labels: Any) -> Any:
        x = jax.nn.relu(normal(convolved(images.astype(BF16), w["stem"], 2), w["stem_norm"]))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for number, stage in enumerate(w["stages"]):
            for place, own in enumerate(stage):
                stride = 2 if number and not place else 1
                y = jax.nn.relu(normal(convolved(x, own["a"]), own["na"]))
                y = jax.nn.relu(normal(convolved(y, own["b"], stride), own["nb"]))
                y = normal(convolved(y, own["c"]), own["nc"])
                if "skip" in own:
                    x = normal(convolved(x, own["skip"], stride), own["ns"])
                x = jax.nn.relu(x + y)
        logits = (x.mean((1, 2)) @ w["head"].astype(x.dtype)).astype(F32)
        return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, classes)).sum(-1).mean()

    def function(w: Any, momentum: Any, images: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(w, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - 0.1 * m, w, momentum), momentum, value

    def bottleneck(before: int, inner: int, *, is_first: bool) -> dict[str, Any]:
        made = 4 * inner
        kernels = {"a": (1, 1, before, inner), "b": (3, 3, inner, inner), "c": (1, 1, inner, made)}
        norms = {"na": (2, inner), "nb": (2, inner), "nc": (2, made)}
        extra = {"skip": (1, 1, before, made), "ns": (2, made)} if is_first else {}
        return arrays(kernels | norms | extra, F32)

    stages, before = [], width
    for number, count in enumerate(blocks):
        inner = width * 2**number
        stages.append([bottleneck(4 * inner if n else before, inner, is_first=not n) for n in range(count)])
        before = 4 * inner
    weights = {
        "stem": array((7, 7, 3, width), F32),
        "stem_norm": array((2, width), F32),
        "stages": stages,
        "head": array((before, classes), F32),
    }
    return function, (weights, weights, array((batch, size, size, 3), F32), array((batch,), S32))


# ---------------------------------------------------------------------- optimizers


def adamw_step(*, count: int, rows: int, columns: int, is_clipped: bool = False, dtype: Any = F32) -> Made:
    """AdamW of `count` matrices; is_clipped: gradients are scaled by their global norm first."""

    def function(w: Any, moments: Any, gradients: Any) -> Any:
        gradients = jax.tree.map(lambda g: g.astype(F32), gradients)
        if is_clipped:
            total = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(gradients)))
            scale = jnp.minimum(1.0, 1.0 / total)
            gradients = jax.tree.map(lambda g: g * scale, gradients)
        return adamw(w, moments, gradients)

    weights = [array((rows, columns), F32)] * count
    return function, (weights, {"mu": weights, "nu": weights}, [array((rows, columns), dtype)] * count)


def factored_step(*, count: int, rows: int, columns: int) -> Made:
    """Adafactor: second moments by rows and by columns."""

    def one(w: Any, by_row: Any, by_column: Any, g: Any) -> Any:
        square = g * g + 1e-30
        by_row = 0.99 * by_row + 0.01 * square.mean(1)
        by_column = 0.99 * by_column + 0.01 * square.mean(0)
        scaled = g * lax.rsqrt(by_row / by_row.mean())[:, None] * lax.rsqrt(by_column)
        return w - 1e-3 * scaled / jnp.maximum(1.0, jnp.sqrt((scaled * scaled).mean())), by_row, by_column

    def function(w: Any, by_row: Any, by_column: Any, gradients: Any) -> Any:
        made = [one(*each) for each in zip(w, by_row, by_column, gradients, strict=True)]
        return tuple(list(part) for part in zip(*made, strict=True))

    weights = [array((rows, columns), F32)] * count
    return function, (weights, [array((rows,), F32)] * count, [array((columns,), F32)] * count, weights)


def muon_step(*, count: int, rows: int, columns: int, steps: int = 5) -> Made:
    """Momentum made orthogonal by iterations of products in bf16."""

    def orthogonal(g: Any) -> Any:
        x = (g / (jnp.sqrt((g * g).sum()) + 1e-7)).astype(BF16)
        for _ in range(steps):
            square = x @ x.T
            x = 3.4445 * x + (-4.775 * square + 2.0315 * (square @ square)) @ x
        return x.astype(F32)

    def function(w: Any, momentum: Any, gradients: Any) -> Any:
        momentum = jax.tree.map(lambda m, g: 0.95 * m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - 0.02 * orthogonal(m), w, momentum), momentum

    weights = [array((rows, columns), F32)] * count
    return function, (weights, weights, weights)
