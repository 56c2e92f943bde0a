"""More steps of models of real size: microbatches, pipelines, long sequences, mixed precision, optimizers."""

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
    rope,
    struct,
)


@large((8,), ("data",), (0, 1, 2))
def zero1_mixed_precision(mesh: Any) -> Any:
    """bf16 weights that are replicated, f32 ones and moments of Adam that are sharded."""
    put = constrain(mesh)
    d, ff, layers = 2048, 8192, 6
    shapes = {"a": (d, ff), "b": (ff, d)}
    params = [{n: struct(mesh, s, dtype=bf16) for n, s in shapes.items()} for _ in range(layers)]
    master = [{n: struct(mesh, s, "data") for n, s in shapes.items()} for _ in range(layers)]

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = x + jax.nn.gelu(rms(x, bf16(1)) @ w["a"]) @ w["b"]
        return jnp.mean(x.astype(f32) ** 2)

    def step(params: Any, state: Any, count: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        grads = jax.tree.map(lambda g: put(g.astype(f32), "data"), grads)
        new, m, v = adam(*state[:1], grads, *state[1:], count)
        return jax.tree.map(lambda p: put(p.astype(bf16)), new), (new, m, v), count + 1, value

    x = struct(mesh, (16384, d), "data", dtype=bf16)
    return step, (params, (master, like(master), like(master)), struct(mesh, ()), x)


@large((4, 2), ("data", "model"), (0, 1, 2))
def accumulated_microbatches(mesh: Any) -> Any:
    """Gradients of 4 microbatches, added up in a scan, then clipped; AdamW."""
    put = constrain(mesh)
    d, ff, heads, layers, vocab, t = 1024, 4096, 16, 4, 32000, 1024
    names = {"q": (d, d), "k": (d, d), "v": (d, d), "up": (d, ff)}
    params = {
        "embed": struct(mesh, (vocab, d), "model"),
        "layers": [
            {n: struct(mesh, s, "data", "model") for n, s in names.items()}
            | {n: struct(mesh, s, "model", "data") for n, s in (("o", (d, d)), ("down", (ff, d)))}
            for _ in range(layers)
        ],
    }

    def loss(params: Any, tokens: Any) -> Any:
        b = tokens.shape[0]
        x = put(params["embed"][tokens[:, :-1]], "data").astype(bf16)
        for w in jax.tree.map(lambda a: a.astype(bf16), params["layers"]):
            h = rms(x, bf16(1))
            q, k, v = (put((h @ w[n]).reshape(b, t, heads, -1), "data", None, "model") for n in "qkv")
            x = x + attention(q, k, v).reshape(b, t, d) @ w["o"]
            x = put(x + jax.nn.silu(rms(x, bf16(1)) @ w["up"]) @ w["down"], "data")
        return cross_entropy(x @ params["embed"].astype(bf16).T, tokens[:, 1:])

    def step(params: Any, m: Any, v: Any, count: Any, tokens: Any) -> Any:
        zero = jax.tree.map(lambda p: jnp.zeros(p.shape, f32), params)

        def micro(total: Any, part: Any) -> Any:
            value, grads = jax.value_and_grad(loss)(params, part)
            return jax.tree.map(jnp.add, total, grads), value

        grads, values = lax.scan(micro, zero, tokens)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
        return *adam(params, grads, m, v, count), values.mean()

    tokens = struct(mesh, (4, 8, t + 1), None, "data", dtype=i32)
    return step, (params, like(params), like(params), struct(mesh, ()), tokens)


@large((8,), ("stage",), (0,))
def pipeline_of_stages(mesh: Any) -> Any:
    """Stages in shard_map, microbatches passed on by permutes in a scan, gradients."""
    d, ff, layers, micro, b = 2048, 8192, 2, 16, 1024
    params = {
        "up": struct(mesh, (8, layers, d, ff), "stage", dtype=bf16),
        "down": struct(mesh, (8, layers, ff, d), "stage", dtype=bf16),
    }

    def run(w: Any, xs: Any) -> Any:
        stage, pairs = lax.axis_index("stage"), [(i, (i + 1) % 8) for i in range(8)]

        @jax.checkpoint
        def layer(x: Any, w: Any) -> Any:
            return x + jax.nn.gelu(x @ w["up"]) @ w["down"], None

        def turn(state: Any, i: Any) -> Any:
            x, out = state
            x = jnp.where(stage == 0, xs[jnp.minimum(i, micro - 1)], x)
            x, _ = lax.scan(layer, x, jax.tree.map(lambda a: a[0], w))
            at = jnp.maximum(i - 7, 0)
            out = lax.dynamic_update_index_in_dim(out, jnp.where(stage == 7, x, out[at]), at, 0)
            return (lax.ppermute(x, "stage", pairs), out), None

        start = lax.pcast((jnp.zeros_like(xs[0]), jnp.zeros_like(xs)), "stage", to="varying")
        (_, out), _ = lax.scan(turn, start, jnp.arange(micro + 7))
        return lax.psum(jnp.where(stage == 7, out, 0), "stage")

    mapped = jax.shard_map(run, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())

    def step(params: Any, xs: Any) -> Any:
        def loss(params: Any) -> Any:
            return jnp.mean(mapped(params, xs).astype(f32) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - bf16(1e-3) * g, params, grads), value

    return step, (params, struct(mesh, (micro, b, d), dtype=bf16))


@large((8,), ("seq",))
def chunked_long_attention(mesh: Any) -> Any:
    """Prefill of 32,768 tokens: queries sharded, chunks of gathered keys in a scan with a running maximum."""
    put = constrain(mesh)
    t, heads, hd, chunk = 32768, 16, 128, 1024
    d = heads * hd
    w = {n: struct(mesh, (d, d), dtype=bf16) for n in "qkvo"}

    def step(w: Any, x: Any) -> Any:
        q, k, v = ((x @ w[n]).reshape(t, heads, hd) for n in "qkv")
        k, v = (put(a, None).reshape(-1, chunk, heads, hd) for a in (rope(k[None])[0], v))

        def turn(state: Any, kv: Any) -> Any:
            o, m, norm = state
            s = jnp.einsum("qhd,khd->hqk", q, kv[0], preferred_element_type=f32)
            new = jnp.maximum(m, s.max(-1))
            p, fix = jnp.exp(s - new[..., None]), jnp.exp(m - new)
            o = o * fix[..., None] + jnp.einsum("hqk,khd->hqd", p.astype(bf16), kv[1]).astype(f32)
            return (o, new, norm * fix + p.sum(-1)), None

        zero = put(jnp.zeros((heads, t), f32), None, "seq")
        start = put(jnp.zeros((heads, t, hd), f32), None, "seq"), zero - 1e30, zero
        (o, _, norm), _ = lax.scan(turn, start, (k, v))
        o = (o / norm[..., None]).astype(bf16).transpose(1, 0, 2).reshape(t, d)
        return x + o @ w["o"]

    return step, (w, struct(mesh, (t, d), "seq", dtype=bf16))


@large((2, 4), ("data", "model"), (0, 1))
def encoder_decoder(mesh: Any) -> Any:
    """Speech to text: convolutions over frames, encoder, decoder with cross attention; Adafactor."""
    put = constrain(mesh)
    d, heads, ff, vocab, frames, t, b = 1024, 16, 4096, 51864, 1500, 448, 16
    attn = {n: struct(mesh, (d, d), None, "model") for n in "qkv"} | {"o": struct(mesh, (d, d), "model")}
    mlp = {"up": struct(mesh, (d, ff), None, "model"), "down": struct(mesh, (ff, d), "model")}
    scale = {n: struct(mesh, (d,)) for n in ("s1", "b1", "s2", "b2")}
    params = {
        "c1": struct(mesh, (3, 80, d)),
        "c2": struct(mesh, (3, d, d)),
        "encoder": [{"a": like(attn), "m": like(mlp), **scale} for _ in range(3)],
        "decoder": [{"a": like(attn), "x": like(attn), "m": like(mlp), **scale} for _ in range(3)],
        "embed": struct(mesh, (vocab, d), "model"),
    }

    def attend(w: Any, x: Any, y: Any, causal: bool) -> Any:
        q, k, v = ((a @ w[n]).reshape(*a.shape[:2], heads, -1) for n, a in zip("qkv", (x, y, y), strict=True))
        return put(attention(q, k, v, causal).reshape(x.shape) @ w["o"], "data")

    def mlp_of(w: Any, x: Any) -> Any:
        return put(jax.nn.gelu(x @ w["up"]) @ w["down"], "data")

    def loss(params: Any, audio: Any, tokens: Any) -> Any:
        conv = ("NWC", "WIO", "NWC")
        x = jax.nn.gelu(lax.conv_general_dilated(audio, params["c1"], (1,), "SAME", dimension_numbers=conv))
        x = jax.nn.gelu(lax.conv_general_dilated(x, params["c2"], (2,), "SAME", dimension_numbers=conv))
        for w in params["encoder"]:
            h = layer_norm(x, w["s1"], w["b1"])
            x = x + attend(w["a"], h, h, causal=False)
            x = x + mlp_of(w["m"], layer_norm(x, w["s2"], w["b2"]))
        y = params["embed"][tokens[:, :-1]]
        for w in params["decoder"]:
            h = layer_norm(y, w["s1"], w["b1"])
            y = y + attend(w["a"], h, h, causal=True)
            y = y + attend(w["x"], layer_norm(y, w["s2"], w["b2"]), x, causal=False)
            y = y + mlp_of(w["m"], y)
        return cross_entropy(y @ params["embed"].T, tokens[:, 1:])

    def step(params: Any, state: Any, audio: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, audio, tokens)

        def update(p: Any, g: Any, s: Any) -> Any:
            square = g * g + 1e-30
            s = 0.99 * s + 0.01 * square.mean(-1)
            u = g * lax.rsqrt(s)[..., None]
            return p - 1e-3 * u / jnp.maximum(1.0, jnp.sqrt(jnp.mean(u * u))), s

        flat, tree = jax.tree.flatten(params)
        pairs = [update(*each) for each in zip(flat, jax.tree.leaves(grads), state, strict=True)]
        return tree.unflatten([p for p, _ in pairs]), [s for _, s in pairs], value

    state = [struct(mesh, p.shape[:-1]) for p in jax.tree.leaves(params)]
    audio = struct(mesh, (b, 2 * frames, 80), "data")
    return step, (params, state, audio, struct(mesh, (b, t + 1), "data", dtype=i32))


@large((8,), ("data",), ())
def long_sequence_attention(mesh: Any) -> Any:
    """The gradient of plain attention over 4,096 tokens in f32, heads along the mesh."""
    b, t, heads, hd = 4, 4096, 16, 128

    def f(q: Any, k: Any, v: Any) -> Any:
        return jax.grad(lambda *a: jnp.sum(attention(*a) ** 2), (0, 1, 2))(q, k, v)

    given = struct(mesh, (b, t, heads, hd), None, None, "data")
    return f, (given,) * 3


@large((2, 4), ("data", "model"), (0,))
def grouped_query_remat_policy(mesh: Any) -> Any:
    """Grouped queries in a scan whose products are saved, the rest computed again; sequence parallel."""
    put = constrain(mesh)
    d, heads, kv, hd, ff, layers, t = 2048, 16, 4, 128, 7168, 4, 2048
    spec: dict[str, Any] = {
        "q": ((layers, d, heads, hd), (None, "data", "model")),
        "k": ((layers, d, kv, hd), (None, "data", "model")),
        "v": ((layers, d, kv, hd), (None, "data", "model")),
        "o": ((layers, heads, hd, d), (None, "model", None, "data")),
        "gate": ((layers, d, ff), (None, "data", "model")),
        "up": ((layers, d, ff), (None, "data", "model")),
        "down": ((layers, ff, d), (None, "model", "data")),
    }
    params = {n: struct(mesh, shape, *axes) for n, (shape, axes) in spec.items()}

    def layer(x: Any, w: Any) -> Any:
        w = jax.tree.map(lambda a: a.astype(bf16), w)
        h = put(rms(x, bf16(1)), "data")
        q = rope(jnp.einsum("btd,dhk->bthk", h, w["q"]))
        k, v = rope(jnp.einsum("btd,dhk->bthk", h, w["k"])), jnp.einsum("btd,dhk->bthk", h, w["v"])
        o = attention(q, jnp.repeat(k, heads // kv, 2), jnp.repeat(v, heads // kv, 2))
        x = put(x + jnp.einsum("bthk,hkd->btd", o, w["o"]), "data", "model")
        h = put(rms(x, bf16(1)), "data")
        return put(x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"], "data", "model"), None

    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    def step(params: Any, x: Any) -> Any:
        def loss(params: Any) -> Any:
            y, _ = lax.scan(jax.checkpoint(layer, policy=policy), x, params)
            return jnp.mean(y.astype(f32) ** 2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), value

    return step, (params, struct(mesh, (8, t, d), "data", "model", dtype=bf16))
