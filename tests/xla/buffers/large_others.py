"""More steps of models of real size: images, recurrences, tables, optimizers, inference, pipelines."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from tests.xla.buffers.large_models import (
    adam,
    attention,
    bf16,
    constrain,
    cross_entropy,
    f32,
    i32,
    large,
    layer_norm,
    like,
    rms,
    struct,
)


def _conv(x: Any, w: Any, stride: int = 1, groups: int = 1) -> Any:
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def _batch_norm(x: Any, w: Any) -> Any:
    mean, square = x.mean((0, 1, 2)), (x * x).mean((0, 1, 2))
    return (x - mean) * lax.rsqrt(square - mean**2 + 1e-5) * w[0] + w[1]


@large((8,), ("data",), (0, 1))
def resnet_data_parallel(mesh: Any) -> Any:
    """Bottlenecks with batch norm over the whole batch, f32, momentum."""
    widths = (64, 128, 256, 512)
    params: dict[str, Any] = {"stem": struct(mesh, (7, 7, 3, 64)), "bn": struct(mesh, (2, 64)), "blocks": []}
    fan = 64
    for width in widths:
        for i in range(2):
            block = {
                "a": struct(mesh, (1, 1, fan, width)),
                "b": struct(mesh, (3, 3, width, width)),
                "c": struct(mesh, (1, 1, width, 4 * width)),
                **{f"n{j}": struct(mesh, (2, width)) for j in range(2)},
                "n2": struct(mesh, (2, 4 * width)),
            }
            if i == 0:
                block["skip"] = struct(mesh, (1, 1, fan, 4 * width))
            params["blocks"].append(block)
            fan = 4 * width
    params["head"] = struct(mesh, (fan, 1000))

    def loss(params: Any, images: Any, labels: Any) -> Any:
        x = jax.nn.relu(_batch_norm(_conv(images, params["stem"], 2), params["bn"]))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for i, w in enumerate(params["blocks"]):
            stride = 2 if "skip" in w and i else 1
            h = jax.nn.relu(_batch_norm(_conv(x, w["a"]), w["n0"]))
            h = jax.nn.relu(_batch_norm(_conv(h, w["b"], stride), w["n1"]))
            h = _batch_norm(_conv(h, w["c"]), w["n2"])
            x = jax.nn.relu(h + (_conv(x, w["skip"], stride) if "skip" in w else x))
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)

    def step(params: Any, m: Any, images: Any, labels: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, grads)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, m), m, value

    images = struct(mesh, (256, 224, 224, 3), "data")
    return step, (params, like(params), images, struct(mesh, (256,), "data", dtype=i32))


@large((8,), ("data",), (0,))
def unet_denoising(mesh: Any) -> Any:
    """A step of a diffusion model in bf16: convolutions with group norm, attention, skips."""
    c = 128
    down = [(c, c), (c, 2 * c), (2 * c, 4 * c)]

    def pair(a: int, b: int) -> dict[str, Any]:
        sizes = {"a": (3, 3, a, b), "b": (3, 3, b, b), "t": (256, b), "skip": (1, 1, a, b)}
        return {n: struct(mesh, s, dtype=bf16) for n, s in sizes.items()}

    params = {
        "in": struct(mesh, (3, 3, 4, c), dtype=bf16),
        "down": [pair(*each) for each in down],
        "mid": {n: struct(mesh, (4 * c, 4 * c), dtype=bf16) for n in ("q", "k", "v", "o")},
        "up": [pair(2 * b, a) for a, b in reversed(down)],
        "out": struct(mesh, (3, 3, c, 4), dtype=bf16),
    }

    def norm(x: Any) -> Any:
        n, h, w, k = x.shape
        y = x.astype(f32).reshape(n, h, w, 32, k // 32)
        mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
        return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape).astype(bf16)

    def block(x: Any, w: Any, t: Any) -> Any:
        h = _conv(jax.nn.silu(norm(x)), w["a"]) + (t @ w["t"])[:, None, None]
        return _conv(jax.nn.silu(norm(h)), w["b"]) + _conv(x, w["skip"])

    def model(params: Any, x: Any, t: Any) -> Any:
        h, skips = _conv(x, params["in"]), []
        for w in params["down"]:
            h = block(h, w, t)
            skips.append(h)
            n, a, b, k = h.shape
            h = h.reshape(n, a // 2, 2, b // 2, 2, k).mean((2, 4))
        n, a, b, k = h.shape
        q, key, v = ((norm(h) @ params["mid"][m]).reshape(n, a * b, 8, k // 8) for m in "qkv")
        h = h + attention(q, key, v, causal=False).reshape(h.shape) @ params["mid"]["o"]
        for w in params["up"]:
            h = jnp.repeat(jnp.repeat(h, 2, 1), 2, 2)
            h = block(jnp.concatenate([h, skips.pop()], -1), w, t)
        return _conv(jax.nn.silu(norm(h)), params["out"])

    def step(params: Any, x: Any, noise: Any, t: Any) -> Any:
        def loss(params: Any) -> Any:
            return jnp.mean((model(params, x + noise, t) - noise).astype(f32) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - bf16(1e-3) * g, params, grads), value

    image = struct(mesh, (32, 64, 64, 4), "data", dtype=bf16)
    return step, (params, image, image, struct(mesh, (32, 256), "data", dtype=bf16))


@large((2, 4), ("data", "fsdp"), (0, 1, 2))
def vision_transformer(mesh: Any) -> Any:
    """Patches, attention that is not causal, weights along one axis and batch along both, Adam in f32."""
    put = constrain(mesh)
    d, heads, layers, ff, side = 1024, 16, 6, 4096, 16
    names = {"qkv": (d, 3 * d), "o": (d, d), "fc": (d, ff), "proj": (ff, d)}
    params = {
        "patch": struct(mesh, (side * side * 3, d), "fsdp"),
        "place": struct(mesh, (256, d), None, "fsdp"),
        "layers": [
            {n: struct(mesh, s, "fsdp") for n, s in names.items()}
            | {n: struct(mesh, (d,)) for n in ("s1", "b1", "s2", "b2")}
            for _ in range(layers)
        ],
        "head": struct(mesh, (d, 1000), "fsdp"),
    }

    def loss(params: Any, images: Any, labels: Any) -> Any:
        b = images.shape[0]
        x = images.reshape(b, 16, side, 16, side, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 256, -1)
        x = put(x @ params["patch"] + params["place"], ("data", "fsdp"))
        for w in params["layers"]:
            h = layer_norm(x, w["s1"], w["b1"]) @ w["qkv"]
            q, k, v = (a.reshape(b, 256, heads, -1) for a in jnp.split(h, 3, -1))
            x = put(x + attention(q, k, v, causal=False).reshape(b, 256, d) @ w["o"], ("data", "fsdp"))
            h = jax.nn.gelu(layer_norm(x, w["s2"], w["b2"]) @ w["fc"])
            x = put(x + h @ w["proj"], ("data", "fsdp"))
        return cross_entropy(x.mean(1) @ params["head"], labels)

    def step(params: Any, m: Any, v: Any, count: Any, images: Any, labels: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        return *adam(params, grads, m, v, count), value

    images = struct(mesh, (256, 256, 256, 3), ("data", "fsdp"))
    labels = struct(mesh, (256,), ("data", "fsdp"), dtype=i32)
    return step, (params, like(params), like(params), struct(mesh, ()), images, labels)


@large((8,), ("data",), (0,))
def recurrent_language_model(mesh: Any) -> Any:
    """Two LSTM layers over 512 tokens in scans, with gradients."""
    d, vocab, t, b = 1024, 32000, 512, 128
    params = {
        "embed": struct(mesh, (vocab, d)),
        "cells": [{"w": struct(mesh, (2 * d, 4 * d)), "b": struct(mesh, (4 * d,))} for _ in range(2)],
        "head": struct(mesh, (d, vocab)),
    }

    def layer(w: Any, xs: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w["w"] + w["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros(xs.shape[1:], xs.dtype)
        return lax.scan(cell, (zero, zero), xs)[1]

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1].T]
        for w in params["cells"]:
            x = layer(w, x)
        return cross_entropy(x @ params["head"], tokens[:, 1:].T)

    def step(params: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    return step, (params, struct(mesh, (b, t + 1), "data", dtype=i32))


@large((8,), ("fsdp",), (0, 1))
def muon_update(mesh: Any) -> Any:
    """Newton-Schulz iterations on the momentum of 12 sharded matrices."""
    shapes = [(2048, 2048)] * 4 + [(2048, 8192)] * 4 + [(8192, 2048)] * 4
    params = [struct(mesh, s, "fsdp") for s in shapes]

    def orthogonal(g: Any) -> Any:
        x = g.astype(bf16)
        wide = x.shape[0] <= x.shape[1]
        x = x if wide else x.T
        x = x / (jnp.linalg.norm(x) + 1e-7)
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
        return (x if wide else x.T).astype(f32)

    def step(params: Any, m: Any, grads: Any) -> Any:
        m = [0.95 * m + g for m, g in zip(m, grads, strict=True)]
        update = [orthogonal(0.95 * m + g) for m, g in zip(m, grads, strict=True)]
        return [p - 0.02 * u for p, u in zip(params, update, strict=True)], m

    return step, (params, like(params), like(params))


@large((8,), ("shard",), (0, 1))
def recommender_tables(mesh: Any) -> Any:
    """Embedding tables along rows, interactions of features, dense layers, Adagrad."""
    rows, d, tables, b = 1_000_000, 64, 8, 65536
    params = {
        "tables": [struct(mesh, (rows, d), "shard") for _ in range(tables)],
        "bottom": [struct(mesh, s) for s in ((13, 512), (512, 256), (256, d))],
        "top": [struct(mesh, s) for s in ((d + 36, 1024), (1024, 1024), (1024, 1))],
    }

    def loss(params: Any, ids: Any, dense: Any, clicks: Any) -> Any:
        x = dense
        for w in params["bottom"]:
            x = jax.nn.relu(x @ w)
        found = [table[ids[:, i]] for i, table in enumerate(params["tables"])]
        features = jnp.stack([x, *found], 1)
        pairs = jnp.einsum("bid,bjd->bij", features, features)
        i, j = jnp.tril_indices(tables + 1, -1)
        h = jnp.concatenate([x, pairs[:, i, j]], 1)
        for n, w in enumerate(params["top"]):
            h = h @ w
            h = jax.nn.relu(h) if n < 2 else h
        h = h[:, 0]
        return jnp.mean(jax.nn.softplus(h) - clicks * h)

    def step(params: Any, squares: Any, ids: Any, dense: Any, clicks: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, ids, dense, clicks)
        squares = jax.tree.map(lambda s, g: s + g * g, squares, grads)
        new = jax.tree.map(lambda p, g, s: p - 0.01 * g * lax.rsqrt(s + 1e-8), params, grads, squares)
        return new, squares, value

    ids = struct(mesh, (b, tables), "shard", dtype=i32)
    dense, clicks = struct(mesh, (b, 13), "shard"), struct(mesh, (b,), "shard")
    return step, (params, like(params), ids, dense, clicks)


@large((8,), ("data",), (0,))
def state_space_scan(mesh: Any) -> Any:
    """Diagonal recurrences by associative scans, gates, projections; gradients."""
    d, inner, n, t, b, layers = 768, 1536, 8, 2048, 16, 2
    params = [
        {
            "in": struct(mesh, (d, 2 * inner)),
            "bc": struct(mesh, (inner, 2 * n)),
            "dt": struct(mesh, (inner, inner)),
            "a": struct(mesh, (inner, n)),
            "out": struct(mesh, (inner, d)),
        }
        for _ in range(layers)
    ]

    @jax.checkpoint
    def mixer(x: Any, w: Any) -> Any:
        h, gate = jnp.split(x @ w["in"], 2, -1)
        b_, c_ = jnp.split(h @ w["bc"], 2, -1)
        dt = jax.nn.softplus(h @ w["dt"])
        decay = jnp.exp(-dt[..., None] * jnp.exp(w["a"]))
        drive = (dt * h)[..., None] * b_[:, :, None]
        _, states = lax.associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (decay, drive), axis=1
        )
        return x + (jnp.einsum("btin,btn->bti", states, c_) * jax.nn.silu(gate)) @ w["out"]

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = mixer(x, w)
        return jnp.mean(x**2)

    def step(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    return step, (params, struct(mesh, (b, t, d), "data"))


@large((8,), ("model",))
def quantized_inference(mesh: Any) -> Any:
    """Prefill with int8 weights and scales along columns and rows, the largest logits."""
    d, ff, layers, t, vocab = 4096, 14336, 4, 2048, 32000
    layer = {
        "qkv": struct(mesh, (d, 3 * d), None, "model", dtype=jnp.int8),
        "sqkv": struct(mesh, (3 * d,), "model"),
        "o": struct(mesh, (d, d), "model", dtype=jnp.int8),
        "so": struct(mesh, (d,)),
        "up": struct(mesh, (d, ff), None, "model", dtype=jnp.int8),
        "sup": struct(mesh, (ff,), "model"),
        "down": struct(mesh, (ff, d), "model", dtype=jnp.int8),
        "sdown": struct(mesh, (d,)),
    }
    params = {
        "layers": [like(layer) for _ in range(layers)],
        "head": struct(mesh, (d, vocab), None, "model", dtype=bf16),
    }

    def matmul(x: Any, w: Any, scale: Any) -> Any:
        return x @ (w.astype(bf16) * scale.astype(bf16))

    def step(params: Any, x: Any) -> Any:
        b = x.shape[0]
        for w in params["layers"]:
            q, k, v = jnp.split(matmul(rms(x, bf16(1)), w["qkv"], w["sqkv"]), 3, -1)
            q, k, v = (a.reshape(b, t, 32, d // 32) for a in (q, k, v))
            x = x + matmul(attention(q, k, v).reshape(b, t, d), w["o"], w["so"])
            x = x + matmul(jax.nn.silu(matmul(rms(x, bf16(1)), w["up"], w["sup"])), w["down"], w["sdown"])
        return lax.top_k((x[:, -1] @ params["head"]).astype(f32), 50)

    return step, (params, struct(mesh, (2, t, d), dtype=bf16))


@large((8,), ("data",), (0,))
def contrastive_pairs(mesh: Any) -> Any:
    """Two towers, all features gathered in shard_map, a matrix of all pairs."""
    d, b, layers = 2048, 16384, 3
    tower = [struct(mesh, (d, d)) for _ in range(layers)]
    params = {"image": tower, "text": like(tower)}

    def pairs(a: Any, c: Any) -> Any:
        every = [lax.all_gather(each, "data", tiled=True) for each in (a, c)]
        logits = a @ every[1].T * 20, c @ every[0].T * 20
        own = jnp.arange(a.shape[0]) + lax.axis_index("data") * a.shape[0]
        return lax.pmean(sum(cross_entropy(each, own) for each in logits) / 2, "data")

    mapped = jax.shard_map(pairs, mesh=mesh, in_specs=(P("data"),) * 2, out_specs=P())

    def loss(params: Any, image: Any, text: Any) -> Any:
        found = []
        for ws, x in ((params["image"], image), (params["text"], text)):
            for w in ws:
                x = jax.nn.gelu(x @ w)
            found.append(x * lax.rsqrt((x * x).sum(-1, keepdims=True)))
        return mapped(*found)

    def step(params: Any, image: Any, text: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, image, text)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    features = struct(mesh, (b, d), "data")
    return step, (params, features, features)


@large((8,), ("data",), (0,))
def graph_messages(mesh: Any) -> Any:
    """Messages along 4 million edges, summed by node, softmax by segments; gradients."""
    nodes, edges, d = 200_000, 1_048_576, 128
    params = [
        {"w": struct(mesh, (d, d)), "u": struct(mesh, (d, d)), "a": struct(mesh, (2 * d,))} for _ in range(2)
    ]

    def loss(params: Any, x: Any, source: Any, target: Any) -> Any:
        for w in params:
            h = x @ w["w"]
            sent, at = h[source], h[target]
            score = jax.nn.leaky_relu(jnp.concatenate([sent, at], -1) @ w["a"])
            top = jax.ops.segment_max(score, target, nodes)
            e = jnp.exp(score - top[target])
            total = jax.ops.segment_sum(e, target, nodes)
            y = jax.ops.segment_sum(sent * (e / (total[target] + 1e-9))[:, None], target, nodes)
            x = jax.nn.relu(x @ w["u"] + y)
        return jnp.mean(x**2)

    def step(params: Any, x: Any, source: Any, target: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, source, target)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    edge = struct(mesh, (edges,), "data", dtype=i32)
    return step, (params, struct(mesh, (nodes, d)), edge, edge)
