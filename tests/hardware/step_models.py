"""Models of `steps.py`: attention, MLP, a layer, experts, decoding, training steps of a GPT and a convnet.

Each function returns a function and its abstract arguments. Parameters that are trained are f32, the rest
is bf16. Sizes are heads and the width of a head, so that tiny ones fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Made = tuple[Callable[..., Any], tuple[Any, ...]]
BF16, F32, S32 = jnp.bfloat16, jnp.float32, jnp.int32


def array(shape: tuple[int, ...], dtype: Any = BF16) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def arrays(shapes: Any, dtype: Any = BF16) -> Any:
    """A dict of shapes as abstract arrays."""
    return {name: array(shape, dtype) for name, shape in shapes.items()}


def gradient(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Made:
    """The gradient of the sum of a function's result, in all arguments."""

    def total(*values: Any) -> Any:
        return function(*values).astype(F32).sum()

    return jax.value_and_grad(total, tuple(range(len(arguments)))), arguments


# ---------------------------------------------------------------------- blocks


def attention(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of `[batch, length, heads, width]`, as plain JAX."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32) * q.shape[-1] ** -0.5
    ahead = jnp.arange(scores.shape[-2])[:, None] >= jnp.arange(scores.shape[-1])
    weights = jax.nn.softmax(jnp.where(ahead, scores, -1e9)).astype(q.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def attention_step(batch: int, length: int, heads: int, width: int, *, is_backward: bool = False) -> Made:
    made = attention, (array((batch, length, heads, width)),) * 3
    return gradient(*made) if is_backward else made


def mlp(x: Any, w: Any) -> Any:
    return jax.nn.gelu(x @ w["up"].astype(x.dtype)) @ w["down"].astype(x.dtype)


def mlp_step(tokens: int, width: int, hidden: int, *, is_backward: bool = False) -> Made:
    made = mlp, (array((tokens, width)), arrays({"up": (width, hidden), "down": (hidden, width)}))
    return gradient(*made) if is_backward else made


def norm(x: Any, scale: Any) -> Any:
    wide = x.astype(F32)
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def layer(x: Any, w: Any) -> Any:
    """A layer of a transformer; `w["qkv"]` is `[d, 3, heads, width]`."""
    qkv = jnp.einsum("bld,dche->cblhe", norm(x, w["before"]), w["qkv"].astype(x.dtype))
    x = x + jnp.einsum("blhe,hed->bld", attention(*qkv), w["out"].astype(x.dtype))
    return x + mlp(norm(x, w["between"]), w)


def layer_shapes(heads: int, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    d = heads * width
    return {
        "before": (d,),
        "qkv": (d, 3, heads, width),
        "out": (heads, width, d),
        "between": (d,),
        "up": (d, hidden),
        "down": (hidden, d),
    }


def layer_step(
    batch: int, length: int, heads: int, width: int, hidden: int, *, is_backward: bool = False
) -> Made:
    made = layer, (array((batch, length, heads * width)), arrays(layer_shapes(heads, width, hidden)))
    return gradient(*made) if is_backward else made


def mixture(x: Any, w: Any, capacity: int) -> Any:
    """Two experts a token, with one-hot dispatch of each group of tokens into slots."""
    count = w["router"].shape[-1]
    gates, chosen = lax.top_k(jax.nn.softmax((x @ w["router"]).astype(F32)), 2)
    picked = jax.nn.one_hot(chosen, count, dtype=F32)  # [group, token, choice, expert]
    order = picked.reshape(x.shape[0], -1, count)
    slot = (jnp.cumsum(order, 1) - order).reshape(picked.shape)
    slots = jax.nn.one_hot((slot * picked).sum(-1).astype(S32), capacity, dtype=F32)
    combine = jnp.einsum("gtk,gtke,gtkc->gtec", gates, picked, slots).astype(x.dtype)
    inputs = jnp.einsum("gtec,gtd->egcd", (combine > 0).astype(x.dtype), x)
    inside = jax.nn.gelu(jnp.einsum("egcd,edh->egch", inputs, w["up"]))
    outputs = jnp.einsum("egch,ehd->egcd", inside, w["down"])
    return jnp.einsum("gtec,egcd->gtd", combine, outputs)


def moe_step(
    *,
    groups: int,
    tokens: int,
    width: int,
    hidden: int,
    experts: int,
    capacity: int,
    is_backward: bool = False,
) -> Made:
    shapes = {"router": (width, experts), "up": (experts, width, hidden), "down": (experts, hidden, width)}
    made = partial(mixture, capacity=capacity), (array((groups, tokens, width)), arrays(shapes))
    return gradient(*made) if is_backward else made


# ---------------------------------------------------------------------- decoding


def decode_step(
    *, layers: int, batch: int, length: int, heads: int, width: int, hidden: int, vocab: int
) -> Made:
    """One token for each sequence; the caches of all layers are donated."""
    d = heads * width

    def function(caches: Any, w: Any, tokens: Any, position: Any) -> Any:
        x = w["embedding"].at[tokens].get(mode="clip")
        after = []
        for (keys, values), own in zip(caches, w["layers"], strict=True):
            q, k, v = jnp.einsum("bd,dche->cbhe", norm(x, own["before"]), own["qkv"])
            keys = lax.dynamic_update_slice_in_dim(keys, k[:, None], position, 1)
            values = lax.dynamic_update_slice_in_dim(values, v[:, None], position, 1)
            scores = jnp.einsum("bhe,blhe->bhl", q, keys).astype(F32) * width**-0.5
            scores = jnp.where(jnp.arange(length) <= position, scores, -1e9)
            seen = jnp.einsum("bhl,blhe->bhe", jax.nn.softmax(scores).astype(x.dtype), values)
            x = x + jnp.einsum("bhe,hed->bd", seen, own["out"])
            x = x + mlp(norm(x, own["between"]), own)
            after.append((keys, values))
        return after, jnp.argmax(x @ w["embedding"].T, -1)

    cache = array((batch, length, heads, width))
    weights = {
        "embedding": array((vocab, d)),
        "layers": [arrays(layer_shapes(heads, width, hidden)) for _ in range(layers)],
    }
    return function, ([(cache, cache)] * layers, weights, array((batch,), S32), array((), S32))


# ---------------------------------------------------------------------- training


def adamw(parameters: Any, moments: Any, gradients: Any, rate: float = 1e-4) -> Any:
    """One update of AdamW; moments: of each parameter, the first and the second (`nu`)."""

    def update(w: Any, g: Any, mu: Any, nu: Any) -> Any:
        mu, nu = 0.9 * mu + 0.1 * g, 0.95 * nu + 0.05 * g * g
        return w - rate * (mu / (jnp.sqrt(nu) + 1e-8) + 0.1 * w), mu, nu

    found = jax.tree.map(update, parameters, gradients, moments["mu"], moments["nu"])
    at = partial(jax.tree.map, is_leaf=lambda leaf: isinstance(leaf, tuple))
    updated, mu, nu = (at(lambda leaf, part=part: leaf[part], found) for part in range(3))
    return updated, {"mu": mu, "nu": nu}


def gpt_step(
    *,
    layers: int,
    batch: int,
    length: int,
    heads: int,
    width: int,
    hidden: int,
    vocab: int,
    is_scanned: bool = False,
    is_rematerialized: bool = False,
) -> Made:
    """A training step of a GPT with AdamW; parameters and moments are donated."""
    block = jax.checkpoint(layer) if is_rematerialized else layer

    def loss(w: Any, tokens: Any) -> Any:
        x = w["embedding"].astype(BF16).at[tokens[:, :-1]].get(mode="clip")
        if is_scanned:
            x, _ = lax.scan(lambda x, own: (block(x, own), None), x, w["layers"])
        else:
            for own in w["layers"]:
                x = block(x, own)
        logits = (norm(x, w["after"]) @ w["embedding"].astype(BF16).T).astype(F32)
        target = jnp.take_along_axis(logits, tokens[:, 1:, None], -1, mode="clip")[..., 0]
        return (jax.nn.logsumexp(logits, -1) - target).mean()

    def function(w: Any, moments: Any, tokens: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(w, tokens)
        return *adamw(w, moments, gradients), value

    shapes, d = layer_shapes(heads, width, hidden), heads * width
    stacked = arrays({name: (layers, *shape) for name, shape in shapes.items()}, F32)
    weights = {
        "embedding": array((vocab, d), F32),
        "after": array((d,), F32),
        "layers": stacked if is_scanned else [arrays(shapes, F32) for _ in range(layers)],
    }
    return function, (weights, {"mu": weights, "nu": weights}, array((batch, length + 1), S32))


def convolved(x: Any, w: Any, stride: int = 1) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w.astype(x.dtype), (stride, stride), "SAME", dimension_numbers=numbers)


def convnet_step(*, batch: int, size: int, widths: tuple[int, ...], blocks: int, classes: int) -> Made:
    """A training step of a residual convnet with momentum; parameters and momentum are donated."""

    def loss(w: Any, images: Any, labels: Any) -> Any:
        x = convolved(images, w["stem"])
        for number, stage in enumerate(w["stages"]):
            x = convolved(x, stage["enter"], 2 if number else 1)
            for first, second in stage["blocks"]:
                x = x + convolved(jax.nn.relu(convolved(jax.nn.relu(x), first)), second)
        logits = (x.mean((1, 2)) @ w["head"].astype(x.dtype)).astype(F32)
        return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, classes)).sum(-1).mean()

    def function(w: Any, momentum: Any, images: Any, labels: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(w, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - 0.1 * m, w, momentum), momentum, value

    def stage(before: int, channels: int) -> Any:
        inner = array((3, 3, channels, channels), F32)
        return {"enter": array((3, 3, before, channels), F32), "blocks": [(inner, inner)] * blocks}

    weights = {
        "stem": array((3, 3, 3, widths[0]), F32),
        "stages": [stage(before, own) for before, own in zip((widths[0], *widths), widths, strict=False)],
        "head": array((widths[-1], classes), F32),
    }
    return function, (weights, weights, array((batch, size, size, 3)), array((batch,), S32))
