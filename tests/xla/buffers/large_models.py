"""Steps of models of real size: several hundred MB to several GB on each of 8 devices. Shapes only.

    LARGE["decoder_fsdp"] = Large(make, sizes, axes, donated); make(mesh) -> (function, arguments)

Transformers, mixtures, and their optimizers; others are in `large_others.py`. They are written in the styles
that are found in public code. Not here: what compilers allocate for them (`compiled_large.json`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

bf16, f32, i32 = jnp.bfloat16, jnp.float32, jnp.int32


class Large(NamedTuple):
    """A program: how it is made for a mesh, sizes and names of the axes, the arguments that are donated."""

    make: Callable[[Any], tuple[Any, tuple[Any, ...]]]
    sizes: tuple[int, ...]
    axes: tuple[str, ...]
    donated: tuple[int, ...]


LARGE: dict[str, Large] = {}


def large(sizes: Sequence[int], axes: Sequence[str], donated: Sequence[int] = ()) -> Any:
    """Adds a program to the set."""

    def add(make: Any) -> Any:
        LARGE[make.__name__] = Large(make, tuple(sizes), tuple(axes), tuple(donated))
        return make

    return add


def struct(mesh: Any, shape: Sequence[int], *spec: Any, dtype: Any = f32) -> Any:
    """An argument: its shape, type and sharding."""
    return jax.ShapeDtypeStruct(tuple(shape), dtype, sharding=NamedSharding(mesh, P(*spec)))


def constrain(mesh: Any) -> Any:
    """A function that constrains a value to a sharding."""
    return lambda x, *spec: lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def like(tree: Any, dtype: Any = None) -> Any:
    """Arguments like others."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, dtype or x.dtype, sharding=x.sharding), tree)


def rms(x: Any, w: Any) -> Any:
    y = x.astype(f32)
    return (y * lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-6)).astype(x.dtype) * w


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias


def rope(x: Any) -> Any:
    t, d = x.shape[1], x.shape[-1]
    angle = jnp.arange(t, dtype=f32)[:, None] * 10000.0 ** (-jnp.arange(0, d, 2, dtype=f32) / d)
    sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
    a, b = jnp.split(x.astype(f32), 2, -1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)


def attention(q: Any, k: Any, v: Any, causal: bool = True) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(f32) / q.shape[-1] ** 0.5
    if causal:
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        scores = jnp.where(mask, scores, -1e30)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1).astype(v.dtype), v)


def adam(params: Any, grads: Any, m: Any, v: Any, count: Any) -> Any:
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g.astype(m.dtype), m, grads)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * jnp.square(g.astype(v.dtype)), v, grads)
    scale = jnp.sqrt(1 - 0.95**count) / (1 - 0.9**count)
    new = jax.tree.map(
        lambda p, m, v: (p - 1e-3 * (scale * m / (jnp.sqrt(v) + 1e-8) + 0.1 * p)).astype(p.dtype),
        params,
        m,
        v,
    )
    return new, m, v


def cross_entropy(logits: Any, labels: Any) -> Any:
    logits = logits.astype(f32)
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def _decoder_params(mesh: Any, layers: int, d: int, ff: int, vocab: int, dtype: Any, **spec: Any) -> Any:
    col, row, head = spec["col"], spec["row"], spec["head"]
    return {
        "embed": struct(mesh, (vocab, d), *head, dtype=dtype),
        "layers": {
            "wqkv": struct(mesh, (layers, d, 3 * d), None, *col, dtype=dtype),
            "wo": struct(mesh, (layers, d, d), None, *row, dtype=dtype),
            "w1": struct(mesh, (layers, d, ff), None, *col, dtype=dtype),
            "w3": struct(mesh, (layers, d, ff), None, *col, dtype=dtype),
            "w2": struct(mesh, (layers, ff, d), None, *row, dtype=dtype),
            "n1": struct(mesh, (layers, d), dtype=dtype),
            "n2": struct(mesh, (layers, d), dtype=dtype),
        },
        "norm": struct(mesh, (d,), dtype=dtype),
    }


def _block(x: Any, w: Any, heads: int) -> Any:
    b, t, d = x.shape
    w = jax.tree.map(lambda a: a.astype(bf16), w)
    q, k, v = (a.reshape(b, t, heads, d // heads) for a in jnp.split(rms(x, w["n1"]) @ w["wqkv"], 3, axis=-1))
    x = x + attention(rope(q), rope(k), v).reshape(b, t, d) @ w["wo"]
    h = rms(x, w["n2"])
    return x + (jax.nn.silu(h @ w["w1"]) * (h @ w["w3"])) @ w["w2"]


@large((8,), ("fsdp",), (0, 1, 2))
def decoder_fsdp(mesh: Any) -> Any:
    """Layers in a scan, computed again in the backward pass; f32 weights that are sharded, Adam."""
    put = constrain(mesh)
    params = _decoder_params(
        mesh, 8, 1024, 2816, 32000, f32, col=("fsdp", None), row=(None, "fsdp"), head=("fsdp", None)
    )

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(bf16)[tokens[:, :-1]]

        @jax.checkpoint
        def layer(x: Any, w: Any) -> Any:
            return put(_block(x, w, 16), "fsdp"), None

        x, _ = lax.scan(layer, put(x, "fsdp"), params["layers"])
        logits = rms(x, params["norm"].astype(bf16)) @ params["embed"].astype(bf16).T
        return cross_entropy(logits, tokens[:, 1:])

    def step(params: Any, m: Any, v: Any, count: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return *adam(params, grads, m, v, count), value

    tokens = struct(mesh, (32, 1025), "fsdp", dtype=i32)
    return step, (params, like(params), like(params), struct(mesh, (), dtype=f32), tokens)


@large((2, 4), ("data", "model"), (0,))
def decoder_megatron(mesh: Any) -> Any:
    """Layers written out, no rematerialization, along heads and columns; bf16 weights, SGD."""
    put = constrain(mesh)
    d, ff, heads, layers, vocab = 2048, 5632, 16, 4, 32000
    params = {
        "embed": struct(mesh, (vocab, d), "model", None, dtype=bf16),
        "head": struct(mesh, (d, vocab), None, "model", dtype=bf16),
        "layers": [
            {
                "wq": struct(mesh, (d, heads, d // heads), None, "model", dtype=bf16),
                "wk": struct(mesh, (d, heads, d // heads), None, "model", dtype=bf16),
                "wv": struct(mesh, (d, heads, d // heads), None, "model", dtype=bf16),
                "wo": struct(mesh, (heads, d // heads, d), "model", dtype=bf16),
                "w1": struct(mesh, (d, ff), None, "model", dtype=bf16),
                "w2": struct(mesh, (ff, d), "model", None, dtype=bf16),
                "n1": struct(mesh, (d,), dtype=bf16),
                "n2": struct(mesh, (d,), dtype=bf16),
            }
            for _ in range(layers)
        ],
    }

    def loss(params: Any, tokens: Any) -> Any:
        x = put(params["embed"][tokens[:, :-1]], "data")
        for w in params["layers"]:
            h = rms(x, w["n1"])
            q, k, v = (jnp.einsum("btd,dhk->bthk", h, w[n]) for n in ("wq", "wk", "wv"))
            o = attention(rope(q), rope(k), v)
            x = put(x + jnp.einsum("bthk,hkd->btd", o, w["wo"]), "data")
            h = put(jax.nn.gelu(rms(x, w["n2"]) @ w["w1"]), "data", None, "model")
            x = put(x + h @ w["w2"], "data")
        return cross_entropy(put(x @ params["head"], "data", None, "model"), tokens[:, 1:])

    def step(params: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        return jax.tree.map(lambda p, g: (p - 1e-3 * g).astype(p.dtype), params, grads), value

    return step, (params, struct(mesh, (8, 1025), "data", dtype=i32))


@large((8,), ("data",), (0, 1))
def gpt2_data_parallel(mesh: Any) -> Any:
    """GPT-2 with LayerNorm, biases and dropout by masks; replicated f32 weights, momentum."""
    d, heads, layers, vocab, t = 768, 12, 6, 50304, 1024
    params = {
        "wte": struct(mesh, (vocab, d)),
        "wpe": struct(mesh, (t, d)),
        "layers": [
            {
                **{n: struct(mesh, s) for n, s in (("qkv", (d, 3 * d)), ("o", (d, d)))},
                **{n: struct(mesh, s) for n, s in (("fc", (d, 4 * d)), ("proj", (4 * d, d)))},
                **{n: struct(mesh, (s,)) for n, s in (("bqkv", 3 * d), ("bo", d), ("bfc", 4 * d))},
                **{n: struct(mesh, (d,)) for n in ("bproj", "s1", "b1", "s2", "b2")},
            }
            for _ in range(layers)
        ],
    }

    def loss(params: Any, tokens: Any, key: Any) -> Any:
        b = tokens.shape[0]
        x = params["wte"][tokens[:, :-1]] + params["wpe"]
        for i, w in enumerate(params["layers"]):
            h = layer_norm(x, w["s1"], w["b1"]) @ w["qkv"] + w["bqkv"]
            q, k, v = (a.reshape(b, t, heads, -1) for a in jnp.split(h, 3, -1))
            h = attention(q, k, v).reshape(b, t, d) @ w["o"] + w["bo"]
            keep = jax.random.bernoulli(jax.random.fold_in(key, i), 0.9, h.shape)
            x = x + jnp.where(keep, h / 0.9, 0)
            h = jax.nn.gelu(layer_norm(x, w["s2"], w["b2"]) @ w["fc"] + w["bfc"])
            x = x + h @ w["proj"] + w["bproj"]
        return cross_entropy(x @ params["wte"].T, tokens[:, 1:])

    def step(params: Any, m: Any, tokens: Any, key: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens, jax.random.wrap_key_data(key))
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, grads)
        return jax.tree.map(lambda p, m: p - 1e-3 * m, params, m), m, value

    tokens = struct(mesh, (16, t + 1), "data", dtype=i32)
    return step, (params, like(params), tokens, struct(mesh, (2,), dtype=jnp.uint32))


@large((2, 4), ("data", "expert"), (0,))
def mixture_dense_dispatch(mesh: Any) -> Any:
    """Experts by one-hot dispatch and combine, as GShard, with top 2 of 16; SGD."""
    put = constrain(mesh)
    e, d, ff, groups, t = 16, 1024, 4096, 8, 2048
    cap = 2 * t // e
    params = {
        "gate": struct(mesh, (d, e)),
        "w1": struct(mesh, (e, d, ff), "expert", dtype=bf16),
        "w2": struct(mesh, (e, ff, d), "expert", dtype=bf16),
    }

    def loss(params: Any, x: Any) -> Any:
        probs = jax.nn.softmax(x.astype(f32) @ params["gate"], -1)
        weight, index = lax.top_k(probs, 2)
        one = jax.nn.one_hot(index, e, dtype=f32)
        place = (jnp.cumsum(one.reshape(groups, t * 2, e), 1).reshape(one.shape) - 1) * one
        slot = jax.nn.one_hot(place.sum(-1).astype(i32), cap, dtype=f32)
        combine = jnp.einsum("gsk,gske,gskc->gsec", weight, one, slot)
        dispatch = (combine > 0).astype(bf16)
        h = put(jnp.einsum("gsec,gsd->gecd", dispatch, x), "data", "expert")
        h = jax.nn.relu(jnp.einsum("gecd,edf->gecf", h, params["w1"]))
        h = jnp.einsum("gecf,efd->gecd", h, params["w2"])
        y = put(jnp.einsum("gsec,gecd->gsd", combine.astype(bf16), h), "data")
        return jnp.mean((x + y).astype(f32) ** 2)

    def step(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: (p - 1e-2 * g).astype(p.dtype), params, grads), value

    return step, (params, struct(mesh, (groups, t, d), "data", dtype=bf16))


@large((8,), ("expert",), (0,))
def mixture_exchanged(mesh: Any) -> Any:
    """Experts with tokens sorted and exchanged in shard_map; two layers."""
    d, ff, e, tokens = 1024, 4096, 8, 16384
    cap = tokens // 8 // e * 2
    layer = {
        "gate": struct(mesh, (d, e)),
        "w1": struct(mesh, (e, d, ff), "expert"),
        "w2": struct(mesh, (e, ff, d), "expert"),
    }
    params = [layer, like(layer)]

    def experts(x: Any, gate: Any, w1: Any, w2: Any) -> Any:
        scores = x @ gate
        chosen = jnp.argmax(scores, -1)
        order = jnp.argsort(chosen)
        sorted_, owner = x[order], chosen[order]
        first = jnp.searchsorted(owner, jnp.arange(e))
        slot = jnp.arange(x.shape[0]) - first[owner]
        sent = jnp.zeros((e, cap, d), x.dtype).at[owner, slot].set(sorted_, mode="drop")
        sent = lax.all_to_all(sent, "expert", 0, 0, tiled=True).reshape(-1, d)
        made = jax.nn.gelu(sent @ w1[0]) @ w2[0]
        back = lax.all_to_all(made.reshape(e, cap, d), "expert", 0, 0, tiled=True)
        out = back.at[owner, slot].get(mode="fill", fill_value=0)
        scale = jnp.take_along_axis(jax.nn.softmax(scores), chosen[:, None], 1)
        return jnp.zeros_like(x).at[order].set(out) * scale

    mapped = jax.shard_map(
        experts, mesh=mesh, in_specs=(P("expert"), P(), P("expert"), P("expert")), out_specs=P("expert")
    )

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = x + mapped(x, w["gate"], w["w1"], w["w2"])
        return jnp.mean(x**2)

    def step(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads), value

    return step, (params, struct(mesh, (tokens, d), "expert"))


@large((2, 4), ("data", "model"), (1,))
def decode_with_cache(mesh: Any) -> Any:
    """One token for each of 64 sequences, with a cache that is donated."""
    b, t, heads, hd, d, ff, layers, vocab = 64, 2048, 16, 128, 2048, 8192, 4, 32000
    w = {
        "qkv": struct(mesh, (layers, d, 3, heads, hd), None, None, None, "model", dtype=bf16),
        "o": struct(mesh, (layers, heads, hd, d), None, "model", dtype=bf16),
        "up": struct(mesh, (layers, d, ff), None, None, "model", dtype=bf16),
        "down": struct(mesh, (layers, ff, d), None, "model", None, dtype=bf16),
        "head": struct(mesh, (d, vocab), None, "model", dtype=bf16),
    }
    cache = struct(mesh, (layers, 2, b, t, heads, hd), None, None, "data", None, "model", dtype=bf16)

    def step(w: Any, cache: Any, x: Any, at: Any) -> Any:
        for i in range(layers):
            q, k, v = jnp.moveaxis(jnp.einsum("bd,dnhk->bnhk", x, w["qkv"][i]), 1, 0)
            new = jnp.stack([k, v])[None, :, :, None]
            cache = lax.dynamic_update_slice(cache, new, (i, 0, 0, at, 0, 0))
            keys, values = cache[i]
            s = jnp.einsum("bhk,bthk->bht", q, keys).astype(f32) / hd**0.5
            s = jnp.where(jnp.arange(t) <= at, s, -jnp.inf)
            o = jnp.einsum("bht,bthk->bhk", jax.nn.softmax(s).astype(bf16), values)
            x = x + jnp.einsum("bhk,hkd->bd", o, w["o"][i])
            x = x + jax.nn.silu(x @ w["up"][i]) @ w["down"][i]
        return cache, jnp.argmax(x @ w["head"], -1)

    return step, (w, cache, struct(mesh, (b, d), "data", dtype=bf16), struct(mesh, (), dtype=i32))


@large((8,), ("seq",), (0,))
def ring_attention_train(mesh: Any) -> Any:
    """Attention over 65,536 tokens in a ring of permutes, with its gradient."""
    t, heads, hd, d = 65536, 8, 64, 512
    params = {"qkv": struct(mesh, (d, 3 * d)), "o": struct(mesh, (d, d))}

    def ring(q: Any, k: Any, v: Any) -> Any:
        pairs = [(i, (i + 1) % 8) for i in range(8)]

        @jax.checkpoint
        def turn(carry: Any, _: Any) -> Any:
            k, v, o, m, norm = carry
            s = jnp.einsum("qhd,khd->hqk", q, k) / hd**0.5
            new = jnp.maximum(m, s.max(-1))
            p = jnp.exp(s - new[..., None])
            fix = jnp.exp(m - new)
            o = o * fix.T[..., None] + jnp.einsum("hqk,khd->qhd", p, v)
            norm = norm * fix + p.sum(-1)
            return (lax.ppermute(k, "seq", pairs), lax.ppermute(v, "seq", pairs), o, new, norm), None

        start, zero = (
            lax.pcast(jnp.full((heads, q.shape[0]), n), "seq", to="varying") for n in (-jnp.inf, 0.0)
        )
        (_, _, o, _, norm), _ = lax.scan(turn, (k, v, q * 0, start, zero), None, 8)
        return o / norm.T[..., None]

    mapped = jax.shard_map(ring, mesh=mesh, in_specs=(P("seq"),) * 3, out_specs=P("seq"))

    def loss(params: Any, x: Any) -> Any:
        q, k, v = (a.reshape(t, heads, hd) for a in jnp.split(x @ params["qkv"], 3, -1))
        return jnp.mean((mapped(q, k, v).reshape(t, d) @ params["o"] - x) ** 2)

    def step(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads), value

    return step, (params, struct(mesh, (t, d), "seq"))
