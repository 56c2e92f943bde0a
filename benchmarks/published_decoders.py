"""Decoders of published sizes, and a step of AdamW on one: `step(decoder, layout, batch, length)`.

Grouped attention or attention over latents, gated layers or experts; bf16, parameters in f32, layers scanned
and rematerialized. Rows of tokens are routed to experts within each device, whose weights are gathered for
that, as FSDP has them. Left out, as they take little: rotary embeddings, balancing of experts, biases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = ("data", "fsdp", "transpose")
AXES = (*BATCH, "tensor")


@dataclass(frozen=True, slots=True)
class Latents:
    """Attention over latents: ranks of queries, and of keys and values; dimensions of a head."""

    queries: int
    keys: int
    plain: int
    rotated: int
    values: int


@dataclass(frozen=True, slots=True)
class Decoder:
    """Sizes of a model. hidden: of gated layers, and of each expert.

    experts: of each layer, of which `active` are used; 0: none. dense: layers before, as `dense_hidden`.
    shared: hidden dimensions of an expert that all use. head: dimensions of a head; 0: those of the width.
    normed: whether queries and keys of each head are normalized, as in Qwen3.
    """

    layers: int
    width: int
    heads: int
    groups: int
    hidden: int
    vocabulary: int
    experts: int = 0
    active: int = 0
    dense: int = 0
    dense_hidden: int = 0
    shared: int = 0
    head: int = 0
    latents: Latents | None = None
    normed: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes of the axes: tokens are sharded along all but tensor, weights along all but data."""

    fsdp: int
    tensor: int = 1
    data: int = 1
    transpose: int = 1

    def mesh(self) -> AbstractMesh:
        """The mesh, of no devices."""
        sizes = self.data, self.fsdp, self.transpose, self.tensor
        return AbstractMesh(sizes, AXES, axis_types=(AxisType.Auto,) * len(AXES))


Weights = dict[str, tuple[tuple[int, ...], P]]


def step(model: Decoder, layout: Layout, batch: int, length: int) -> tuple[Callable[..., Any], list[Any]]:
    """The function of a training step, and its arguments."""
    mesh = layout.mesh()

    def put(shape: tuple[int, ...], spec: P, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    def rows(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, P(BATCH)))

    mixers = _latent_weights(model, model.latents) if model.latents else _grouped_weights(model)
    kinds = [("dense", model.dense, _gated_weights(model, model.dense_hidden, ""))] if model.dense else []
    last = _expert_weights(model) if model.experts else _gated_weights(model, model.hidden, "")
    kinds.append(("layers", model.layers - model.dense, last))
    params: dict[str, Any] = {
        kind: {
            name: put((count, *shape), P(None, *spec)) for name, (shape, spec) in {**mixers, **own}.items()
        }
        for kind, count, own in kinds
    }
    params["embed"] = put((model.vocabulary, model.width), P("tensor", ("fsdp", "transpose")))
    params["head"] = put((model.width, model.vocabulary), P(("fsdp", "transpose"), "tensor"))
    tokens = put((batch, length), P(BATCH), jnp.int32)

    def layer(x: Any, own: dict[str, Any]) -> tuple[Any, None]:
        own = {name: each.astype(jnp.bfloat16) for name, each in own.items()}
        x = rows(x + (_by_latents if model.latents else _by_groups)(model, normalized(x), own))
        h = normalized(x)
        made = _experts(model, mesh, h, own) if "router" in own else _gated(h, own, "")
        return rows(x + made + (_gated(h, own, "shared_") if "shared_up" in own else 0)), None

    def loss(params: dict[str, Any], tokens: Any) -> Any:
        x = rows(params["embed"].astype(jnp.bfloat16)[tokens])
        for kind, _, _ in kinds:
            x = jax.lax.scan(jax.checkpoint(layer), x, params[kind])[0]
        logits = (normalized(x) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, tokens[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    def trained(params: Any, first: Any, second: Any, tokens: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, tokens)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, second, grads)
        moved = jax.tree.map(lambda p, m, v: p - 3e-5 * (m / (jnp.sqrt(v) + 1e-8)), params, first, second)
        return value, moved, first, second

    return trained, [params, params, params, tokens]


def _grouped_weights(model: Decoder) -> Weights:
    depth, spec = model.head or model.width // model.heads, P("fsdp", "tensor", "transpose")
    return {
        "q": ((model.width, model.heads, depth), spec),
        "k": ((model.width, model.groups, depth), spec),
        "v": ((model.width, model.groups, depth), spec),
        "o": ((model.heads, depth, model.width), P("tensor", "transpose", "fsdp")),
    }


def _latent_weights(model: Decoder, own: Latents) -> Weights:
    heads, spec = model.heads, P("fsdp", "tensor", "transpose")
    return {
        "to_q": ((model.width, own.queries), P("fsdp", "transpose")),
        "q": ((own.queries, heads, own.plain + own.rotated), spec),
        "to_k": ((model.width, own.keys + own.rotated), P("fsdp", "transpose")),
        "k": ((own.keys, heads, own.plain), spec),
        "v": ((own.keys, heads, own.values), spec),
        "o": ((heads, own.values, model.width), P("tensor", "transpose", "fsdp")),
    }


def _gated_weights(model: Decoder, hidden: int, prefix: str) -> Weights:
    across = P("fsdp", ("transpose", "tensor"))
    return {
        f"{prefix}gate": ((model.width, hidden), across),
        f"{prefix}up": ((model.width, hidden), across),
        f"{prefix}down": ((hidden, model.width), P(("transpose", "tensor"), "fsdp")),
    }


def _expert_weights(model: Decoder) -> Weights:
    found = {
        name: ((model.experts, *shape), P(None, *spec))
        for name, (shape, spec) in _gated_weights(model, model.hidden, "").items()
    }
    shared = _gated_weights(model, model.shared, "shared_") if model.shared else {}
    return {**found, **shared, "router": ((model.width, model.experts), P("fsdp"))}


def _by_groups(model: Decoder, h: Any, own: dict[str, Any]) -> Any:
    q, k, v = (jnp.einsum("bld,dhe->blhe", h, own[name]) for name in "qkv")
    q, k = (normalized(q), normalized(k)) if model.normed else (q, k)
    mixed = attention(q.reshape(*q.shape[:2], model.groups, -1, q.shape[-1]), k, v)
    return jnp.einsum("blhe,hed->bld", mixed.reshape(q.shape), own["o"])


def _by_latents(model: Decoder, h: Any, own: dict[str, Any]) -> Any:
    assert model.latents is not None
    q = jnp.einsum("blr,rhe->blhe", normalized(h @ own["to_q"]), own["q"])
    latents, turned = jnp.split(h @ own["to_k"], [model.latents.keys], -1)
    latents = normalized(latents)
    plain, v = (jnp.einsum("blr,rhe->blhe", latents, own[name]) for name in "kv")
    turned = jnp.broadcast_to(turned[:, :, None], (*plain.shape[:3], turned.shape[-1]))
    mixed = attention(q[:, :, :, None], jnp.concatenate([plain, turned], -1), v)
    return jnp.einsum("blhe,hed->bld", mixed[:, :, :, 0], own["o"])


def attention(q: Any, k: Any, v: Any) -> Any:
    """Causal attention. Queries: batch, length, groups, heads of a group, dimensions of a head."""
    scores = jnp.einsum("blgre,bmge->bgrlm", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    mask = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    shares = jax.nn.softmax(jnp.where(mask, scores, -1e9)).astype(jnp.bfloat16)
    return jnp.einsum("bgrlm,bmge->blgre", shares, v)


def _gated(h: Any, own: dict[str, Any], prefix: str) -> Any:
    hidden = jax.nn.silu(h @ own[f"{prefix}gate"]) * (h @ own[f"{prefix}up"])
    return hidden @ own[f"{prefix}down"]


def _experts(model: Decoder, mesh: AbstractMesh, h: Any, own: dict[str, Any]) -> Any:
    """The experts of each token, on the device that has it."""
    names = "gate", "up", "down"

    def local(h: Any, router: Any, *weights: Any) -> Any:
        gate, up, down = map(_gathered, weights, (1, 1, 2), (2, 2, 1))
        tokens = h.reshape(-1, model.width)
        shares, chosen = jax.lax.top_k(jax.nn.softmax((tokens @ router).astype(jnp.float32)), model.active)
        order = jnp.argsort(chosen.reshape(-1))
        back = jnp.argsort(order)
        sizes = jnp.bincount(chosen.reshape(-1), length=model.experts).astype(jnp.int32)
        ordered = _permuted(jnp.repeat(tokens, model.active, 0), order, back)
        hidden = jax.nn.silu(jax.lax.ragged_dot(ordered, gate, sizes)) * jax.lax.ragged_dot(
            ordered, up, sizes
        )
        made = _permuted(jax.lax.ragged_dot(hidden, down, sizes), back, order)
        made = made.reshape(-1, model.active, model.width) * shares[..., None].astype(made.dtype)
        return made.sum(1).reshape(h.shape)

    specs = (P(BATCH), P(), *(_expert_weights(model)[name][1] for name in names))
    mapped = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P(BATCH), check_vma=False)
    return mapped(h, own["router"], *(own[name] for name in names))


def _gathered(weights: Any, width: int, hidden: int) -> Any:
    for axis, dimension in (("fsdp", width), ("transpose", hidden)):
        weights = jax.lax.all_gather(weights, axis, axis=dimension, tiled=True)
    return weights


@jax.custom_vjp
def _permuted(x: Any, order: Any, back: Any) -> Any:
    """Rows in another order: in the backward pass in the order before, without a scatter."""
    return x[order]


_permuted.defvjp(lambda x, order, back: (x[order], back), lambda back, given: (given[back], None, None))


def normalized(x: Any) -> Any:
    """RMSNorm without a scale."""
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(jnp.bfloat16)
