"""Decoders of three layers at real widths, in many ways: types, sharding, scan, rematerialization, Adam.

No rule was made for one of them, but for what several have in common. What is forecast is compared with what
compilers allocate by `python -m tests.xla.buffers.on_targets --target h100 v5p --set decoders`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import product
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, adam_step

WIDTH, HEADS, HEAD, INNER, TOKENS, LENGTH, BATCH, LAYERS = 1024, 8, 128, 4096, 8192, 512, 16, 3
SIZES: Mapping[str, tuple[int, ...]] = {
    "first": (WIDTH,),
    "second": (WIDTH,),
    **dict.fromkeys(("query", "key", "value"), (WIDTH, HEADS, HEAD)),
    "out": (HEADS, HEAD, WIDTH),
    **dict.fromkeys(("gate", "up"), (WIDTH, INNER)),
    "down": (INNER, WIDTH),
}
_ROWS = "query", "key", "value", "gate", "up"
SHARDED: Mapping[str, Mapping[str, tuple[str | None, ...]]] = {
    "data": {},
    "fsdp": {name: ("y",) for name in SIZES if name not in ("first", "second")},
    "tensor": {**dict.fromkeys(_ROWS, (None, "y")), "out": ("y",), "down": ("y",)},
}
"""By style the axes of weights; tokens are sharded along x, of fsdp also along y."""


def programs() -> Programs:
    """The programs by name: sharding, scan or loop, types, rematerialization, gradients or a step of Adam."""
    import jax

    grid = Placed("2x4")
    for style, is_scan, types, again in product(
        SHARDED, (False, True), ("float32", "bfloat16", "mixed"), ("", "layers", "products")
    ):
        if again == "products" and style != "fsdp":
            continue
        is_step = style != "data"
        weights = _weights(grid, style, is_scan, "bfloat16" if types == "bfloat16" else "float32")
        rows: Any = ("x", "y") if style == "fsdp" else "x"
        tokens = grid.array((BATCH, LENGTH), rows, dtype="int32")
        loss = partial(_loss, is_scan=is_scan, again=again, is_mixed=types == "mixed")
        parts = style, "scan" if is_scan else "loop", types, *filter(None, [again])
        if is_step:
            step = jax.jit(partial(adam_step, loss), donate_argnums=(0, 1, 2))
            yield "_".join(parts), (step, [weights, weights, weights, tokens], None)
        else:
            yield "_".join(parts), (jax.grad(loss), [weights, tokens], None)


def _weights(grid: Placed, style: str, is_scan: bool, dtype: str) -> Any:
    axes = SHARDED[style]

    def one(name: str) -> Any:
        own = axes.get(name, ())
        if is_scan:
            return grid.array((LAYERS, *SIZES[name]), None, *own, dtype=dtype)
        return grid.array(SIZES[name], *own, dtype=dtype)

    layer = {name: one(name) for name in SIZES}
    last = (None, "y") if style == "tensor" else ()
    return {
        "table": grid.array((TOKENS, WIDTH), dtype=dtype),
        "layers": layer if is_scan else [layer] * LAYERS,
        "logits": grid.array((WIDTH, TOKENS), *last, dtype=dtype),
    }


def _norm(x: Any, scale: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    y = x.astype(jnp.float32)
    return (y * lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def _layer(x: Any, w: Any) -> Any:
    """Attention and SwiGLU."""
    import jax
    import jax.numpy as jnp

    normed = _norm(x, w["first"])
    query, key, value = (jnp.einsum("btd,dhk->bthk", normed, w[name]) for name in ("query", "key", "value"))
    scores = jnp.einsum("bthk,bshk->bhts", query, key) / HEAD**0.5
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    chosen = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    x = x + jnp.einsum("bthk,hkd->btd", jnp.einsum("bhts,bshk->bthk", chosen, value), w["out"])
    normed = _norm(x, w["second"])
    return x + (jax.nn.silu(normed @ w["gate"]) * (normed @ w["up"])) @ w["down"]


def _loss(weights: Any, tokens: Any, *, is_scan: bool, again: str, is_mixed: bool) -> Any:
    """The cross entropy of the next token in programs with scans, of the token itself in others."""
    import jax
    import jax.numpy as jnp

    if is_mixed:
        weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if again == "products" else None
    apply = jax.checkpoint(_layer, policy=policy) if again else _layer
    x = weights["table"][tokens]
    if is_scan:
        x, _ = jax.lax.scan(lambda x, w: (apply(x, w), None), x, weights["layers"])
    else:
        for w in weights["layers"]:
            x = apply(x, w)
    logits, labels = (x @ weights["logits"]).astype(jnp.float32), tokens
    if is_scan:
        logits, labels = logits[:, :-1], tokens[:, 1:]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))
