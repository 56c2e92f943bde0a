"""Training steps that scan over layers: FSDP, tensor parallelism, optimizers, types, rematerialization.

What is forecast is compared with what XLA:TPU allocates by
`python -m tests.xla.buffers.on_targets --target v5p --set scanned`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, adam_step

WIDTH, HEADS, HEAD, INNER, TOKENS, LENGTH, LAYERS = 1024, 8, 128, 4096, 8192, 512, 4
SIZES: Mapping[str, tuple[int, ...]] = {
    "norm": (WIDTH,),
    "query": (WIDTH, HEADS * HEAD),
    "key": (WIDTH, HEADS * HEAD),
    "value": (WIDTH, HEADS * HEAD),
    "out": (HEADS * HEAD, WIDTH),
    "rise": (WIDTH, INNER),
    "fall": (INNER, WIDTH),
}
"""The weights of a layer; a program without attention has the first and the last two."""
_TURNED = "out", "fall"


def programs() -> Programs:
    """The programs by name: those that rules were made with, and from `wide` on others."""
    fsdp, both, two = ("x", None), ("x", "y"), (("x", "y"), None)
    feed = ("norm", "rise", "fall")
    yield "fsdp_adam_float32", _step("8", fsdp, "x")
    yield "fsdp_adam_mixed", _step("8", fsdp, "x", types="mixed")
    yield "fsdp_adam_bfloat16", _step("8", fsdp, "x", types="bfloat16")
    yield "fsdp_momentum_float32_again", _step("8", fsdp, "x", "momentum", again="layers")
    yield "both_adam_mixed_again", _step("4x2", both, "x", types="mixed", again="layers")
    yield "two_adam_mixed_products", _step("2x4", two, ("x", "y"), types="mixed", again="products")
    yield "feed_fsdp_adam_float32", _step("8", fsdp, "x", names=feed)
    yield "feed_both_descent_float32", _step("2x4", both, "x", "descent", names=feed)
    yield "wide_fsdp_adam_mixed_again", _step("8", fsdp, "x", types="mixed", again="layers", batch=64)
    yield "deep_both_momentum_mixed_again", _step("2x4", both, "x", "momentum", "mixed", "layers", layers=12)
    yield "two_descent_bfloat16", _step("4x2", two, ("x", "y"), "descent", "bfloat16")
    yield "both_adam_float32_products", _step("4x2", both, "x", again="products", batch=32)
    yield "feed_two_adam_mixed_again", _step("4x2", two, ("x", "y"), "adam", "mixed", "layers", feed, 64, 8)
    yield "fsdp_momentum_bfloat16", _step("8", fsdp, "x", "momentum", "bfloat16", batch=8, layers=6)


def _step(
    mesh: str,
    axes: tuple[Any, Any],
    rows: Any,
    optimizer: str = "adam",
    types: str = "float32",
    again: str = "",
    names: tuple[str, ...] = tuple(SIZES),
    batch: int = 16,
    layers: int = LAYERS,
) -> Any:
    """A step of training with its arguments. axes: of the dimensions of weights; rows: of tokens."""
    import jax
    import jax.numpy as jnp

    grid = Placed(mesh)
    dtype = "bfloat16" if types == "bfloat16" else "float32"

    def placed(name: str) -> Any:
        own = axes[::-1] if name in _TURNED else axes
        return grid.array((layers, *SIZES[name]), None, *own[: len(SIZES[name])], dtype=dtype)

    weights = {
        "table": grid.array((TOKENS, WIDTH), axes[0], dtype=dtype),
        "layers": {name: placed(name) for name in names if name != "norm"}
        | {"norm": grid.array((layers, WIDTH), dtype=dtype)},
        "logits": grid.array((WIDTH, TOKENS), *axes, dtype=dtype),
    }
    tokens = grid.array((batch, LENGTH), rows, dtype="int32")
    compute = jnp.bfloat16 if types == "mixed" else None
    loss = partial(_loss, again=again, dtype=compute, place=grid.at(rows))
    step, states = {"adam": (adam_step, 2), "momentum": (_momentum, 1), "descent": (_descent, 0)}[optimizer]
    donated = tuple(range(1 + states))
    return jax.jit(partial(step, loss), donate_argnums=donated), [*[weights] * (1 + states), tokens], None


def _norm(x: Any, scale: Any) -> Any:
    import jax.numpy as jnp
    from jax import lax

    y = x.astype(jnp.float32)
    y = y - jnp.mean(y, -1, keepdims=True)
    return (y * lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-6) * scale).astype(x.dtype)


def _layer(x: Any, w: Any) -> Any:
    """Attention, if there are weights for it, and a product, gelu, and a product."""
    import jax
    import jax.numpy as jnp

    if "query" in w:
        normed = _norm(x, w["norm"])
        parts = (*x.shape[:2], HEADS, HEAD)
        query, key, value = ((normed @ w[name]).reshape(parts) for name in ("query", "key", "value"))
        scores = jnp.einsum("bthk,bshk->bhts", query, key).astype(jnp.float32) / HEAD**0.5
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        chosen = jax.nn.softmax(scores).astype(x.dtype)
        x = x + jnp.einsum("bhts,bshk->bthk", chosen, value).reshape(x.shape) @ w["out"]
    return x + jax.nn.gelu(_norm(x, w["norm"]) @ w["rise"]) @ w["fall"]


def _loss(weights: Any, tokens: Any, *, again: str, dtype: Any, place: Any) -> Any:
    """The cross entropy of the next token. dtype: what weights are converted to; place: where rows are."""
    import jax
    import jax.numpy as jnp

    if dtype is not None:
        weights = jax.tree.map(lambda w: w.astype(dtype), weights)
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if again == "products" else None
    apply: Callable[..., Any] = jax.checkpoint(_layer, policy=policy) if again else _layer

    def placed(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x, place)

    x = placed(weights["table"][tokens])
    x, _ = jax.lax.scan(lambda x, w: (placed(apply(x, w)), None), x, weights["layers"])
    logits = (x @ weights["logits"]).astype(jnp.float32)[:, :-1]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1))


def _momentum(loss: Any, weights: Any, moments: Any, tokens: Any) -> Any:
    import jax

    value, grads = jax.value_and_grad(loss)(weights, tokens)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
    return jax.tree.map(lambda w, m: w - 1e-2 * m, weights, moments), moments, value


def _descent(loss: Any, weights: Any, tokens: Any) -> Any:
    import jax

    value, grads = jax.value_and_grad(loss)(weights, tokens)
    return jax.tree.map(lambda w, g: w - 1e-2 * g, weights, grads), value
