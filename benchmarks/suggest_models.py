"""Programs of JAX without shardings, for `suggest.py`; printed as JSON.

Each is a train step (loss, gradients, momentum) or a forward pass, with the sizes of the mesh to suggest for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def tensor(*shape: int, dtype: Any = jnp.bfloat16) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def norm(x: Any, scale: Any) -> Any:
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def attention(x: Any, p: Any, *, is_causal: bool = True) -> Any:
    q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[name]) for name in ("q", "k", "v"))
    repeats = q.shape[2] // k.shape[2]
    k, v = (jnp.repeat(each, repeats, axis=2) for each in (k, v))
    scores = jnp.einsum("bqhk,bshk->bhqs", q, k).astype(jnp.float32) / q.shape[-1] ** 0.5
    if is_causal:
        mask = jnp.arange(q.shape[1])[:, None] >= jnp.arange(k.shape[1])[None]
        scores = jnp.where(mask, scores, -1e9)
    mixed = jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(scores).astype(x.dtype), v)
    return jnp.einsum("bqhk,hkd->bqd", mixed, p["o"])


def attention_weights(d: int, heads: int, kv_heads: int, size: int) -> dict[str, Any]:
    return {
        "q": tensor(d, heads, size),
        "k": tensor(d, kv_heads, size),
        "v": tensor(d, kv_heads, size),
        "o": tensor(heads, size, d),
    }


def trained(loss: Callable[..., Any], weights: Any, *data: Any) -> Made:
    """A step with momentum of a loss."""

    def step(weights: Any, momentum: Any, *data: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, *data)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        return jax.tree.map(lambda w, m: w - 0.01 * m, weights, momentum), momentum, value

    return step, (weights, weights, *data)


def cross_entropy(logits: Any, labels: Any) -> Any:
    logs = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(logs, labels[..., None], -1).mean()


def gpt(layers: int, d: int, heads: int, batch: int, length: int, vocabulary: int, *, kv: int = 0) -> Made:
    """A decoder with tied embeddings and a gated feed-forward block."""
    block = {
        "norm": tensor(d),
        "norm2": tensor(d),
        **attention_weights(d, heads, kv or heads, d // heads),
        "gate": tensor(d, 4 * d),
        "up": tensor(d, 4 * d),
        "down": tensor(4 * d, d),
    }

    def loss(weights: Any, tokens: Any) -> Any:
        x = weights["embedding"][tokens]
        for p in weights["layers"]:
            x = x + attention(norm(x, p["norm"]), p)
            y = norm(x, p["norm2"])
            x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        logits = norm(x, weights["norm"]) @ weights["embedding"].T
        return cross_entropy(logits[:, :-1], tokens[:, 1:])

    weights = {"embedding": tensor(vocabulary, d), "layers": [block] * layers, "norm": tensor(d)}
    return trained(loss, weights, tensor(batch, length, dtype=jnp.int32))


def experts(layers: int, d: int, count: int, hidden: int, batch: int, length: int) -> Made:
    """Blocks whose tokens are sent to experts by products with one-hot routes."""
    capacity = 2 * length // count
    block = {"route": tensor(d, count), "in": tensor(count, d, hidden), "out": tensor(count, hidden, d)}

    def loss(weights: Any, x: Any) -> Any:
        target = x
        for p in weights:
            scores = jax.nn.softmax((x @ p["route"]).astype(jnp.float32))
            gate, route = scores.max(-1), jax.nn.one_hot(scores.argmax(-1), count)
            place = (jnp.cumsum(route, 1) - 1) * route
            sent = jax.nn.one_hot(place.sum(-1).astype(jnp.int32), capacity)[:, :, None] * route[..., None]
            sent = sent.astype(x.dtype)
            held = jnp.einsum("bsec,bsd->ebcd", sent, x)
            held = jax.nn.gelu(jnp.einsum("ebcd,edh->ebch", held, p["in"]))
            held = jnp.einsum("ebch,ehd->ebcd", held, p["out"])
            x = x + jnp.einsum("bsec,ebcd->bsd", sent * gate[..., None, None].astype(x.dtype), held)
        return ((x - target) ** 2).mean().astype(jnp.float32)

    return trained(loss, [block] * layers, tensor(batch, length, d))


def vision(layers: int, d: int, heads: int, batch: int) -> Made:
    """A vision transformer: patches by a convolution, blocks without a mask, mean of positions."""
    block = {
        "norm": tensor(d),
        **attention_weights(d, heads, heads, d // heads),
        "in": tensor(d, 4 * d),
        "out": tensor(4 * d, d),
    }

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(
            images, weights["patch"], (16, 16), "VALID", dimension_numbers=numbers
        )
        x = x.reshape(batch, -1, d)
        for p in weights["layers"]:
            x = x + attention(norm(x, p["norm"]), p, is_causal=False)
            x = x + jax.nn.gelu(norm(x, p["norm"]) @ p["in"]) @ p["out"]
        return cross_entropy(x.mean(1) @ weights["head"], labels)

    weights = {"patch": tensor(16, 16, 3, d), "layers": [block] * layers, "head": tensor(d, 1024)}
    return trained(loss, weights, tensor(batch, 128, 128, 3), tensor(batch, dtype=jnp.int32))


def mixer(layers: int, d: int, positions: int, batch: int) -> Made:
    """An MLP-Mixer: products along positions and along features in turn."""
    block = {
        "rows": tensor(positions, 4 * positions),
        "rows2": tensor(4 * positions, positions),
        "columns": tensor(d, 4 * d),
        "columns2": tensor(4 * d, d),
    }

    def loss(weights: Any, x: Any) -> Any:
        target = x
        for p in weights:
            mixed = jax.nn.gelu(jnp.einsum("bsd,st->btd", x, p["rows"]))
            x = x + jnp.einsum("btd,ts->bsd", mixed, p["rows2"])
            x = x + jax.nn.gelu(x @ p["columns"]) @ p["columns2"]
        return ((x - target) ** 2).mean().astype(jnp.float32)

    return trained(loss, [block] * layers, tensor(batch, positions, d))


def residual(layers: int, channels: int, batch: int, size: int) -> Made:
    """A residual network of two convolutions a block."""

    def convolved(x: Any, kernel: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)

    def loss(weights: Any, images: Any, labels: Any) -> Any:
        x = convolved(images, weights["stem"])
        for first, second in weights["layers"]:
            x = x + convolved(jax.nn.relu(convolved(x, first)), second)
        return cross_entropy(x.mean((1, 2)) @ weights["head"], labels)

    kernel = tensor(3, 3, channels, channels)
    weights = {
        "stem": tensor(3, 3, 8, channels),
        "layers": [(kernel, kernel)] * layers,
        "head": tensor(channels, 1024),
    }
    return trained(loss, weights, tensor(batch, size, size, 8), tensor(batch, dtype=jnp.int32))


MODELS: dict[str, tuple[dict[str, int], Callable[[], Made]]] = {
    "gpt_8": ({"data": 4, "model": 2}, lambda: gpt(2, 512, 8, 16, 256, 4096)),
    "experts_8": ({"data": 2, "model": 4}, lambda: experts(2, 512, 8, 1024, 8, 256)),
    "mixer_16": ({"data": 4, "model": 4}, lambda: mixer(4, 1024, 256, 64)),
    "residual_16": ({"data": 8, "model": 2}, lambda: residual(4, 512, 16, 32)),
    "vision_32": ({"data": 8, "model": 4}, lambda: vision(3, 1024, 16, 64)),
    "llama_64": ({"data": 8, "model": 8}, lambda: gpt(3, 4096, 32, 64, 2048, 32768, kv=8)),
    "experts_256": ({"data": 16, "model": 16}, lambda: experts(3, 2048, 64, 4096, 64, 1024)),
}
"""By name the mesh, and the program."""


def main() -> None:
    found: dict[str, tuple[dict[str, int], str]] = {}
    for name in sys.argv[1:] or MODELS:
        mesh, make = MODELS[name]
        step, arguments = make()
        found[name] = mesh, jax.jit(step).lower(*arguments).as_text()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
