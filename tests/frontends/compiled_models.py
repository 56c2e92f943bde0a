"""Models as users of JAX write them, with shardings as written or drawn at random.

python -m tests.frontends.compiled_models SEED [NAME ...]       seed 0: as written

Drawn shardings disagree everywhere, so that it counts in which order propagation goes through a program.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

from tests.frontends.compiled import print_compared
from tests.frontends.compiled_drawn import DRAW, OPEN, array, constrain, mesh, sharded

MODELS: dict[str, Callable[[], Any]] = {}


def model(*arguments: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A row of the table: a function, jitted with these options, lowered for these arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def build() -> Any:
            return jax.jit(function, **options).lower(*jax.tree.map(sharded, arguments))

        MODELS[function.__name__] = build
        return function

    return decorate


BATCH = ("data", "fsdp")
TOKENS = array((8, 16, 32), BATCH)
IDS = array((8, 16), BATCH, dtype=jnp.int32)
IN, OUT = array((32, 64), "fsdp", "model"), array((64, 32), "model", "fsdp")
HEADS = array((8, 16, 4, 8), BATCH, None, "model")
IMAGES = array((8, 16, 16, 4), BATCH)
ROWS, SQUARE = array((64, 32), BATCH), array((32, 32), None, "model")
SCALAR = array((), dtype=jnp.int32)


def attention(q: Any, k: Any, v: Any, mask: Any = True) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)


def normalized(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def rotated(x: Any) -> Any:
    angle = jnp.arange(x.shape[1])[:, None] / 100 ** (jnp.arange(x.shape[-1] // 2) / x.shape[-1])
    a, b = jnp.split(x, 2, axis=-1)
    cosine, sine = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    return jnp.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1)


def convolved(x: Any, kernel: Any, stride: int = 1, **options: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (stride,) * 2, "SAME", dimension_numbers=numbers, **options)


@model(TOKENS, array((32, 4, 24), "fsdp", "model"), array((4, 8, 32), "model", None, "fsdp"))
def causal_attention(x: Any, qkv: Any, out: Any) -> Any:
    q, k, v = jnp.split(jnp.einsum("btd,dhk->bthk", normalized(x), qkv), 3, -1)
    mask = jnp.tril(jnp.ones((16, 16), bool))
    return x + jnp.einsum("bthk,hkd->btd", attention(rotated(q), rotated(k), v, mask), out)


@model([(IN, OUT)] * 2, array((32, 96), "fsdp", "model"), TOKENS)
def transformer_gradients(layers: Any, qkv: Any, x: Any) -> Any:
    def loss(layers: Any, qkv: Any, x: Any) -> Any:
        for w_in, w_out in layers:
            q, k, v = (p.reshape(8, 16, 4, 8) for p in jnp.split(normalized(x) @ qkv, 3, -1))
            x = constrain(x + attention(q, k, v).reshape(x.shape), BATCH)
            x = x + jax.nn.gelu(normalized(x) @ w_in) @ w_out
        return x.mean()

    return jax.value_and_grad(jax.checkpoint(loss), argnums=(0, 1, 2))(layers, qkv, x)


@model(TOKENS, array((32, 64), None, "model"), array((32, 32), None, "model"))
def grouped_queries(x: Any, wq: Any, wkv: Any) -> Any:
    q = (x @ wq).reshape(8, 16, 8, 8)
    k, v = (jnp.repeat(part, 4, 2) for part in jnp.split((x @ wkv).reshape(8, 16, 4, 8), 2, 2))
    return attention(q, k, v)


@model((HEADS, HEADS), array((8, 1, 4, 8), BATCH, None, "model"), SCALAR, donate_argnums=0)
def decoding_with_a_cache(cache: Any, token: Any, at: Any) -> Any:
    keys, values = (lax.dynamic_update_slice(part, token, (0, at, 0, 0)) for part in cache)
    return (keys, values), attention(token, keys, values, jnp.arange(16) <= at)


@model(HEADS, HEADS, HEADS)
def blockwise_attention(q: Any, k: Any, v: Any) -> Any:
    def step(carry: Any, block: Any) -> Any:
        total, most, norm = carry
        scores = jnp.einsum("bqhd,bkhd->bqhk", q, block[0])
        new = jnp.maximum(most, scores.max(-1))
        weights, scale = jnp.exp(scores - new[..., None]), jnp.exp(most - new)
        total = total * scale[..., None] + jnp.einsum("bqhk,bkhd->bqhd", weights, block[1])
        return (total, new, norm * scale + weights.sum(-1)), None

    blocks = [part.reshape(8, 4, 4, 4, 8).swapaxes(0, 1) for part in (k, v)]
    zero = jnp.zeros(q.shape[:-1])
    total, _, norm = lax.scan(step, (jnp.zeros_like(q), zero - 1e9, zero), blocks)[0]
    return total / norm[..., None]


@model(array((64, 32), BATCH), array((32, 8)), array((8, 32, 64), "model"), array((8, 64, 32), "model"))
def experts(x: Any, gate: Any, w_in: Any, w_out: Any) -> Any:
    def loss(*weights: Any) -> Any:
        gate, w_in, w_out = weights
        chances = jax.nn.softmax(x @ gate)
        weight, index = lax.top_k(chances, 2)
        chosen = jax.nn.one_hot(index, 8)
        place = jax.nn.one_hot(jnp.cumsum(chosen.reshape(-1, 8), 0).reshape(64, 2, 8) - 1, 16)
        send = jnp.einsum("tke,tkec->tec", chosen, place)
        inner = constrain(jnp.einsum("tec,td->ecd", send, x), "model")
        inner = constrain(jnp.einsum("ecf,efd->ecd", jax.nn.silu(inner @ w_in), w_out), "model")
        back = jnp.einsum("tec,tk,tke->tec", send, weight, chosen)
        return jnp.einsum("tec,ecd->td", back, inner).var() + (chances.mean(0) * chosen.mean((0, 1))).sum()

    return jax.value_and_grad(loss, (0, 1, 2))(gate, w_in, w_out)


@model(ROWS, array((32, 8)), array((8, 32, 64), None, None, "model"))
def sorted_experts(x: Any, gate: Any, w: Any) -> Any:
    index = jnp.argmax(x @ gate, -1)
    order = jnp.argsort(index)
    out = lax.ragged_dot(x[order], w, jnp.bincount(index, length=8).astype(jnp.int32))
    return jnp.zeros_like(out).at[order].set(out)


@model({"in": array((6, 32, 64), None, "fsdp", "model"), "out": array((6, 64, 32), None, "model")}, TOKENS)
def scanned_layers(layers: Any, x: Any) -> Any:
    def loss(layers: Any) -> Any:
        @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
        def layer(h: Any, w: Any) -> Any:
            h = constrain(h, BATCH, None, None)
            return h + jnp.tanh(h @ w["in"]) @ w["out"], h.mean()

        last, means = lax.scan(layer, x, layers)
        return last.mean() + means.sum()

    return jax.value_and_grad(loss)(layers)


@model([array((32, 32)), array((32, 32), "model"), array((32, 32), None, "data"), array((32, 32))], ROWS)
def gradients_in_another_order(weights: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        h = x
        for w in weights:
            h = jnp.tanh(h @ w) + h
        return jnp.sum(h**2)

    return jax.grad(loss)(weights)


@model(
    {"in": IN, "out": OUT},
    {"in": array((32, 64)), "out": array((64, 32))},
    ROWS,
    SCALAR,
    donate_argnums=(0, 1),
)
def adam(weights: Any, moments: Any, x: Any, step: Any) -> Any:
    found = jax.grad(lambda w: jnp.var(jax.nn.relu(x @ w["in"]) @ w["out"]))(weights)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(found)))
    moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g / jnp.maximum(norm, 1), moments, found)
    return jax.tree.map(lambda w, m: w - m / (1 - 0.9**step), weights, moments), moments, step + 1


@model(array((32, 16), None, "model"), ROWS)
def accumulated_gradients(w: Any, x: Any) -> Any:
    def step(total: Any, part: Any) -> Any:
        return jax.tree.map(jnp.add, total, jax.value_and_grad(lambda w: jnp.var(part @ w))(w)), None

    return lax.scan(step, (0.0, jnp.zeros_like(w)), x.reshape(4, 16, 32))[0]


@model(
    array((3, 3, 4, 8), None, None, None, "model"), array((3, 3, 8, 8)), array((8,)), array((8, 10)), IMAGES
)
def residual_network(first: Any, second: Any, scale: Any, dense: Any, x: Any) -> Any:
    def loss(*weights: Any) -> Any:
        first, second, scale, dense = weights
        h = jax.nn.relu(convolved(x, first, 2))
        inner = convolved(h, second)
        h = h + (inner - inner.mean((0, 1, 2))) * lax.rsqrt(inner.var((0, 1, 2)) + 1e-5) * scale
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.nn.log_softmax(h.mean((1, 2)) @ dense)[:, 0].mean()

    return jax.value_and_grad(loss, (0, 1, 2, 3))(first, second, scale, dense)


@model(IMAGES, array((3, 3, 1, 4), None, None, None, "model"), array((48, 32), None, "model"))
def patches(x: Any, kernel: Any, w: Any) -> Any:
    x = convolved(x, kernel, feature_group_count=4)[..., :3]
    x = x.reshape(8, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(8, 16, 48)
    return jax.image.resize(x @ w, (8, 8, 32), "bilinear"), x.sum(1)


@model(array((32, 128), None, "model"), array((16, 128), None, "model"), array((10, 8, 16), None, BATCH))
def recurrent(u: Any, w: Any, xs: Any) -> Any:
    def loss(u: Any, w: Any) -> Any:
        def cell(carry: Any, x: Any) -> Any:
            h, c = carry
            i, g, o, f = jnp.split(x @ w + h @ u, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((8, 32))
        (h, _), hs = lax.scan(cell, (zero, zero), xs)
        return hs.mean() + h.sum()

    return jax.grad(loss, (0, 1))(u, w)


@model(array((8, 16, 16), BATCH, None, "model"), array((16, 4), "model"), array((16, 4)))
def state_space(x: Any, a: Any, b: Any) -> Any:
    def joined(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    states = lax.associative_scan(joined, (jnp.exp(a * x[..., None]), x[..., None] * b), axis=1)[1]
    return jnp.einsum("btdn,dn->btd", states, b)


@model(array((128, 32), "model", "fsdp"), array((32, 128), "fsdp", "model"), IDS)
def language_model_loss(table: Any, out: Any, ids: Any) -> Any:
    def loss(table: Any, out: Any) -> Any:
        found = jax.nn.log_softmax(constrain(table[ids] @ out, BATCH, None, "model"))
        return -jnp.take_along_axis(found, ids[..., None], -1).mean()

    return jax.value_and_grad(loss, (0, 1))(table, out)


@model(ROWS, array((128,), BATCH, dtype=jnp.int32), array((128,), dtype=jnp.int32), SQUARE)
def graph_network(x: Any, source: Any, target: Any, w: Any) -> Any:
    for _ in range(2):
        x = jax.nn.relu(jax.ops.segment_sum(x[source], target, 64) @ w)
    return x, jax.ops.segment_max(x[source], target, 64), x.at[target[:8]].add(1.0)


@model(array((128, 32), "model"), SQUARE, array((8, 16, 32), BATCH), array((8,), BATCH, dtype=jnp.int32))
def generation(table: Any, w: Any, history: Any, token: Any) -> Any:
    def step(state: Any) -> Any:
        at, token, history, out = state
        history = lax.dynamic_update_slice_in_dim(history, table[token][:, None], at, 1)
        token = jnp.argmax(jnp.tanh(history.mean(1) @ w) @ table.T, -1).astype(jnp.int32)
        return at + 1, token, history, out.at[:, at].set(token)

    start = (0, token, history, jnp.zeros((8, 16), jnp.int32))
    return lax.while_loop(lambda state: (state[0] < 16) & jnp.any(state[1] != 0), step, start)


@model(SCALAR, ROWS, SQUARE, array((64, 32), None, "model"))
def branches(index: Any, a: Any, w: Any, b: Any) -> Any:
    chosen = lax.switch(index, [lambda v: v @ w, jnp.sin, lambda v: v.T.reshape(64, 32)], a)
    known = lax.cond(True, lambda v: v + b, lambda v: v @ w, lax.switch(7, [jnp.cos, jnp.tan], a))
    return lax.fori_loop(0, 3, lambda i, v: lax.cond(i > 1, jnp.sin, lambda u: u + b, v), chosen), known


@model(ROWS, array((64, 32), "model"), array((64, 32)))
def contention(a: Any, b: Any, c: Any) -> Any:
    first, second = c + a, c + b
    return (
        second,
        first,
        jnp.where(True, first, second),
        c.T.T * 2,
        (c - 0.0).reshape(32, 64).reshape(64, 32) + a,
    )


@model(ROWS, array((64, 32)), array((32,)))
def simplified(a: Any, b: Any, c: Any) -> Any:
    joined = jnp.concatenate([jnp.concatenate([a, b]), a])
    rows = jnp.broadcast_to(jnp.broadcast_to(c, (8, 32)), (64, 8, 32))
    return joined[70:100] + b[:30], joined[:96:3], rows.sum(1) + b, lax.dynamic_update_slice(a, b, (0, 0)) * a


@model(
    array((64, 32), BATCH, "model"),
    array((64, 32), dtype=jnp.int32),
    array((64, 32), "model", dtype=jnp.bool_),
)
def sorting_and_counting(a: Any, i: Any, p: Any) -> Any:
    pair = lax.sort((a, i), dimension=1, num_keys=2)
    some = jnp.median(a, 1), jnp.argmax(a, 0), jnp.count_nonzero(p, 1), jnp.cumsum(i, 0), jnp.any(~p, 0)
    return pair, lax.sort((a, i), num_keys=1)[0], some, jnp.where(p, i, 0) * 1, lax.population_count(i)


@model(array((8, 16, 32), "model", dtype=jnp.complex64), array((8, 16, 32), BATCH))
def spectra(z: Any, a: Any) -> Any:
    return jnp.fft.fftn(z), jnp.fft.irfft(jnp.fft.rfft(a) * 2), lax.complex(a, a * 2).real + jnp.abs(z)


@model(array((16, 8, 8), BATCH), array((16, 8, 4), None, None, "model"))
def linear_algebra(a: Any, b: Any) -> Any:
    return jnp.linalg.cholesky(a @ a.mT + jnp.eye(8)), jnp.linalg.solve(a, b), jnp.linalg.svd(a)[1]


@model(array((8,), BATCH, dtype=jax.eval_shape(lambda: jax.random.key(0)).dtype), array((8, 32)))
def dropout(keys: Any, a: Any) -> Any:
    kept = jax.vmap(lambda key, row: jnp.where(jax.random.bernoulli(key, 0.9, (32,)), row, 0))(keys, a)
    return (
        kept,
        jax.random.permutation(keys[0], a),
        jax.random.normal(jax.random.key(1, impl="rbg"), (8, 32)) * a,
    )


@model(array((8, 4), None, "model"), array((64, 8), BATCH))
def jacobians(w: Any, x: Any) -> Any:
    def row(w: Any, x: Any) -> Any:
        return jnp.tanh(x @ w)

    return (
        jax.jacrev(row)(w, x[0]),
        jax.vmap(jax.grad(lambda r: row(w, r).sum()))(x),
        jax.jvp(row, (w, x), (w, x)),
    )


@model(array((32, 64), None, "model"), TOKENS)
def custom_gradients(w: Any, x: Any) -> Any:
    @jax.custom_vjp
    def norm(x: Any, g: Any) -> Any:
        return normalized(x) * g

    norm.defvjp(lambda x, g: (norm(x, g), (x, g)), lambda kept, d: (d * kept[1], (d * kept[0]).sum((0, 1))))
    return jax.grad(lambda w, g: (norm(x, g) @ w).var(), (0, 1))(w, jnp.ones(32))


@model(array((16, 4, 8), "model"), array((16, 8), "model"), ROWS)
def partly_manual_layers(w: Any, b: Any, x: Any) -> Any:
    def local(w: Any, x: Any) -> Any:
        inner = jnp.tanh(x.reshape(-1, 4, 8) * w.sum(0))
        return lax.psum(inner.sum(0), "data"), lax.all_gather(inner, "data", tiled=True)

    specs = {
        "in_specs": (P(), P("data")),
        "out_specs": (P(), P()),
        "axis_names": {"data"},
        "check_vma": False,
    }
    total, all_ = jax.shard_map(local, mesh=mesh(), **specs)(w, x)
    shift = jax.shard_map(
        lambda v: lax.ppermute(v, "model", [(0, 1), (1, 0)]),
        mesh=mesh(),
        in_specs=P("model"),
        out_specs=P("model"),
    )
    return jax.grad(lambda v: (shift(v) * v).sum())(b), total, all_.reshape(-1, 32).T


@model([SQUARE] * 4, array((8, 16, 32)))
def pipeline(weights: Any, xs: Any) -> Any:
    stacked = jnp.stack(weights)

    def step(state: Any, x: Any) -> Any:
        state = jnp.concatenate([x[None], state[:-1]])
        state = constrain(jax.vmap(lambda w, h: jax.nn.relu(h @ w))(stacked, state), "data", None, OPEN)
        return state, state[-1]

    return lax.scan(step, jnp.zeros((4, 16, 32)), xs)[1]


def lowered(name: str, seed: int) -> Any:
    """A model; its shardings as written, or drawn from the seed."""
    DRAW[:] = [random.Random(f"{name}{seed}")] if seed else []
    return MODELS[name]()


if __name__ == "__main__":
    seed, *names = sys.argv[1:]
    print_compared({name: partial(lowered, name, int(seed)) for name in names or MODELS})
