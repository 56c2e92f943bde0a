"""Training of language models, in `strangers_models.py`: what is saved, preferences, groups, experts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder; a head has 128 numbers."""

    width: int
    inner: int
    heads: int
    groups: int
    layers: int
    vocabulary: int


def programs() -> Programs:
    """The programs by name."""
    yield from _saved()
    yield from _preferences()
    yield from _experts()


def rms_norm(x: Any, scale: Any) -> Any:
    import jax
    import jax.numpy as jnp

    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), axis=-1, keepdims=True) + 1e-6)
    return (y * scale).astype(x.dtype)


def rope(x: Any, positions: Any, theta: float = 500000.0) -> Any:
    import jax.numpy as jnp

    half = x.shape[-1] // 2
    frequencies = theta ** (-jnp.arange(half, dtype=jnp.float32) / half)
    angles = positions[..., None, None] * frequencies
    sin, cos = jnp.sin(angles), jnp.cos(angles)
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1).astype(x.dtype)


def qkv(w: Any, x: Any, positions: Any, head: int = 128) -> tuple[Any, Any, Any]:
    """Queries, keys, and values by head; Qwen's norms of queries and keys if there are scales for them."""
    h = rms_norm(x, w["attention_norm"])
    q = (h @ w["wq"].astype(x.dtype)).reshape(*x.shape[:-1], -1, head)
    k = (h @ w["wk"].astype(x.dtype)).reshape(*x.shape[:-1], -1, head)
    v = (h @ w["wv"].astype(x.dtype)).reshape(*x.shape[:-1], -1, head)
    if "q_norm" in w:
        q, k = rms_norm(q, w["q_norm"]), rms_norm(k, w["k_norm"])
    return rope(q, positions), rope(k, positions), v


def swiglu(w: Any, x: Any) -> Any:
    import jax

    h = rms_norm(x, w["mlp_norm"])
    gate, up = h @ w["gate"].astype(x.dtype), h @ w["up"].astype(x.dtype)
    return (jax.nn.silu(gate) * up) @ w["down"].astype(x.dtype)


def block(w: Any, x: Any) -> Any:
    """A layer of Llama, whose results of attention and of the feed forward part have names."""
    import jax
    import jax.numpy as jnp
    from jax.ad_checkpoint import checkpoint_name

    positions = jnp.arange(x.shape[1], dtype=jnp.float32)
    q, k, v = qkv(w, x, positions)
    mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(*x.shape[:2], -1)
    x = x + checkpoint_name(mixed @ w["wo"].astype(x.dtype), "attention_out")
    return x + checkpoint_name(swiglu(w, x), "mlp_out")


def decoder(
    grid: Any, sizes: Sizes, rows: Any, columns: Any, *, dtype: str = "float32", scanned: bool = True
) -> dict[str, Any]:
    """The weights: products into a layer are sharded (rows, columns), those out of it (columns, rows)."""
    width, inner = sizes.width, sizes.inner
    queries, keys = sizes.heads * 128, sizes.groups * 128

    def one(shape: tuple[int, ...], *spec: Any) -> Any:
        if scanned:
            return grid.array((sizes.layers, *shape), None, *spec, dtype=dtype)
        return grid.array(shape, *spec, dtype=dtype)

    def layer() -> dict[str, Any]:
        return {
            "attention_norm": one((width,)),
            "wq": one((width, queries), rows, columns),
            "wk": one((width, keys), rows, columns),
            "wv": one((width, keys), rows, columns),
            "wo": one((queries, width), columns, rows),
            "mlp_norm": one((width,)),
            "gate": one((width, inner), rows, columns),
            "up": one((width, inner), rows, columns),
            "down": one((inner, width), columns, rows),
        }

    return {
        "embed": grid.array((sizes.vocabulary, width), columns, rows, dtype=dtype),
        "layers": layer() if scanned else [layer() for _ in range(sizes.layers)],
        "norm": grid.array((width,), dtype=dtype),
        "head": grid.array((width, sizes.vocabulary), rows, columns, dtype=dtype),
    }


def optimizer_state(grid: Any, optimizer: Any, params: Any) -> Any:
    """The state of an optimizer of optax: what is like a parameter is sharded like it."""
    import jax
    import optax

    shapes = jax.eval_shape(optimizer.init, params)
    return optax.tree_map_params(
        optimizer,
        lambda leaf, like: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=like.sharding),
        shapes,
        params,
        transform_non_params=lambda leaf: grid.array(leaf.shape, dtype=leaf.dtype),
    )


def optimized(loss: Any, optimizer: Any) -> Any:
    """A step (parameters, state of the optimizer, data ...) whose first two are donated."""
    import jax
    import optax

    @partial(jax.jit, donate_argnums=(0, 1))
    def train_step(params: Any, state: Any, *data: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, *data)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, {"loss": value, "norm": optax.global_norm(grads)}

    return train_step


def _saved() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line, grid = Placed("8"), Placed("2x4")
    sizes = Sizes(width=2048, inner=5632, heads=16, groups=8, layers=8, vocabulary=32000)
    dots = jax.checkpoint_policies.dots_with_no_batch_dims_saveable

    def scanned_loss(params: Any, tokens: Any) -> Any:
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = params["embed"].astype(jnp.bfloat16)[inputs]
        x = jax.lax.with_sharding_constraint(x, line.at("x"))
        layer = jax.checkpoint(lambda x, w: (block(w, x), None), policy=dots)
        x, _ = jax.lax.scan(layer, x, params["layers"])
        logits = (rms_norm(x, params["norm"]) @ params["head"].astype(x.dtype)).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-4, 2000, 100_000)
    adam = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(schedule, b1=0.9, b2=0.95, weight_decay=0.1)
    )
    params = decoder(line, sizes, "x", None)
    tokens = line.array((16, 2049), "x", dtype="int32")
    arguments = [params, optimizer_state(line, adam, params), tokens]
    yield "llama_dots_saved", (optimized(scanned_loss, adam), arguments, None)

    sizes = Sizes(width=4096, inner=14336, heads=32, groups=8, layers=2, vocabulary=32768)
    names = jax.checkpoint_policies.save_only_these_names("attention_out", "mlp_out")

    def unrolled_loss(params: Any, tokens: Any) -> Any:
        x = jnp.take(params["embed"], tokens[:, :-1], axis=0)
        x = jax.lax.with_sharding_constraint(x, grid.at("x", None, None))
        for w in params["layers"]:
            x = jax.checkpoint(block, policy=names)(w, x)
            x = jax.lax.with_sharding_constraint(x, grid.at("x", None, None))
        logits = (rms_norm(x, params["norm"]) @ params["head"]).astype(jnp.float32)
        log_z = jax.nn.logsumexp(logits, axis=-1)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1)[..., 0]
        return jnp.mean(log_z - chosen) + 1e-4 * jnp.mean(log_z**2)

    def mixed_step(params: Any, state: Any, tokens: Any) -> Any:
        """Adam in float32 on copies of the weights, which are of bfloat16."""
        loss, grads = jax.value_and_grad(unrolled_loss)(params, tokens)
        grads = jax.tree.map(lambda g: g.astype(jnp.float32), grads)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / norm), grads)
        count = state["count"] + 1
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mu"], grads)
        nu = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * jnp.square(g), state["nu"], grads)
        a, b = 1 - 0.9**count, 1 - 0.95**count
        master = jax.tree.map(
            lambda p, m, v: p - 3e-4 * ((m / a) / (jnp.sqrt(v / b) + 1e-8) + 0.1 * p), state["master"], mu, nu
        )
        params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), master)
        return params, {"master": master, "mu": mu, "nu": nu, "count": count}, loss, norm

    params = decoder(grid, sizes, "x", "y", dtype="bfloat16", scanned=False)
    copies = decoder(grid, sizes, "x", "y", scanned=False)
    state = {"master": copies, "mu": copies, "nu": copies, "count": grid.array((), dtype="int32")}
    step = jax.jit(mixed_step, donate_argnums=(0, 1))
    tokens = grid.array((8, 4097), "x", dtype="int32")
    yield "llama_names_saved", (step, [params, state, tokens], None)


def _preferences() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line, tall = Placed("8"), Placed("4x2")
    nothing = jax.checkpoint_policies.nothing_saveable

    def chances(params: Any, tokens: Any, rows: Any, *, tied: bool = False) -> Any:
        """The logarithm of the chance of each token after the first; rows: the sharding of activations."""
        x = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
        x = jax.lax.with_sharding_constraint(x, rows)
        x, _ = jax.lax.scan(
            jax.checkpoint(lambda x, w: (block(w, x), None), policy=nothing), x, params["layers"]
        )
        head = params["embed"].T if tied else params["head"]
        logits = (rms_norm(x, params["norm"]) @ head.astype(x.dtype)).astype(jnp.float32)
        logps = jax.nn.log_softmax(logits, axis=-1)
        return jnp.take_along_axis(logps, tokens[:, 1:, None], axis=-1).squeeze(-1)

    def dpo_loss(params: Any, reference: Any, batch: Any) -> Any:
        tokens = jnp.concatenate([batch["chosen"], batch["rejected"]], axis=0)
        mask = jnp.concatenate([batch["chosen_mask"], batch["rejected_mask"]], axis=0)[:, 1:]
        policy = (chances(params, tokens, line.at("x")) * mask).sum(-1)
        frozen = jax.lax.stop_gradient((chances(reference, tokens, line.at("x")) * mask).sum(-1))
        chosen, rejected = jnp.split(policy - frozen, 2)
        margin = 0.1 * (chosen - rejected)
        return -jax.nn.log_sigmoid(margin).mean(), (margin > 0).mean()

    adam = optax.adamw(5e-7, b2=0.95)

    def dpo_step(params: Any, state: Any, reference: Any, batch: Any) -> Any:
        (loss, accuracy), grads = jax.value_and_grad(dpo_loss, has_aux=True)(params, reference, batch)
        updates, state = adam.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss, accuracy

    sizes = Sizes(width=2048, inner=8192, heads=16, groups=4, layers=4, vocabulary=32000)
    params = decoder(line, sizes, "x", None)
    reference = decoder(line, sizes, "x", None, dtype="bfloat16")
    rows = line.array((16, 1025), "x", dtype="int32")
    batch = {"chosen": rows, "rejected": rows}
    batch |= {name + "_mask": line.array((16, 1025), "x") for name in ("chosen", "rejected")}
    arguments = [params, optimizer_state(line, adam, params), reference, batch]
    yield "dpo_step", (jax.jit(dpo_step, donate_argnums=(0, 1)), arguments, None)

    parts, group = 4, 8

    def grpo_loss(params: Any, batch: Any) -> Any:
        """Clipped ratios times advantages, and the divergence from the reference policy."""
        logps = chances(params, batch["tokens"], tall.at("x"), tied=True)
        ratio = jnp.exp(logps - batch["old"])
        gain = batch["advantage"][:, None]
        surrogate = jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.28) * gain)
        apart = batch["reference"] - logps
        divergence = jnp.exp(apart) - apart - 1
        mask = batch["mask"]
        return -jnp.sum((surrogate - 0.04 * divergence) * mask) / jnp.maximum(mask.sum(), 1.0)

    slow = optax.chain(optax.clip_by_global_norm(0.2), optax.adam(1e-6))

    def grpo_step(params: Any, state: Any, batch: Any) -> Any:
        rewards = batch.pop("rewards").reshape(-1, group)
        centred = rewards - rewards.mean(-1, keepdims=True)
        advantage = centred / (rewards.std(-1, keepdims=True) + 1e-4)
        batch = {**batch, "advantage": advantage.reshape(-1)}
        micro = jax.tree.map(lambda a: a.reshape(parts, a.shape[0] // parts, *a.shape[1:]), batch)

        def accumulate(carry: Any, each: Any) -> Any:
            total, grads = carry
            loss, new = jax.value_and_grad(grpo_loss)(params, each)
            return (total + loss, jax.tree.map(jnp.add, grads, new)), None

        zeros = jax.tree.map(jnp.zeros_like, params)
        (loss, grads), _ = jax.lax.scan(accumulate, (0.0, zeros), micro)
        grads = jax.tree.map(lambda g: g / parts, grads)
        updates, state = slow.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss / parts

    sizes = Sizes(width=2048, inner=6144, heads=16, groups=8, layers=6, vocabulary=65536)
    params = decoder(tall, sizes, "x", "y")
    del params["head"]
    params["layers"] |= {name: tall.array((sizes.layers, 128)) for name in ("q_norm", "k_norm")}
    batch = {"tokens": tall.array((64, 1025), "x", dtype="int32"), "rewards": tall.array((64,), "x")}
    batch |= {name: tall.array((64, 1024), "x") for name in ("old", "reference", "mask")}
    arguments = [params, optimizer_state(tall, slow, params), batch]
    yield "grpo_accumulated", (jax.jit(grpo_step, donate_argnums=(0, 1)), arguments, None)


def _experts() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax.sharding import PartitionSpec as P

    grid = Placed("2x4")
    experts, sizes = 8, Sizes(width=2048, inner=4096, heads=16, groups=4, layers=2, vocabulary=32000)

    def dropless(w: Any, x: Any) -> Any:
        """Tokens of a device in the order of their experts; each device has a part of every expert."""
        tokens = x.reshape(-1, x.shape[-1])
        probabilities = jax.nn.softmax((tokens @ w["router"].astype(x.dtype)).astype(jnp.float32))
        weights, chosen = jax.lax.top_k(probabilities, 2)
        weights = weights / weights.sum(-1, keepdims=True)
        flat = chosen.reshape(-1)
        order = jnp.argsort(flat)
        sizes = jnp.bincount(flat, length=experts).astype(jnp.int32)
        routed = jnp.take(tokens, order // 2, axis=0)
        gate = jax.lax.ragged_dot(routed, w["gate"].astype(x.dtype), sizes)
        up = jax.lax.ragged_dot(routed, w["up"].astype(x.dtype), sizes)
        out = jax.lax.ragged_dot(jax.nn.silu(gate) * up, w["down"].astype(x.dtype), sizes)
        out = jax.lax.psum(out, "y")
        out = jnp.take(out, jnp.argsort(order), axis=0).reshape(-1, 2, x.shape[-1])
        y = jnp.einsum("tkd,tk->td", out, weights.astype(x.dtype))
        load = jax.lax.pmean(sizes.astype(jnp.float32) / flat.size, "x")
        balance = experts * jnp.sum(load * jax.lax.pmean(probabilities.mean(0), "x"))
        return y.reshape(x.shape), balance

    specs = {"router": P(), "gate": P(None, None, "y"), "up": P(None, None, "y"), "down": P(None, "y")}
    routed = jax.shard_map(
        dropless, mesh=grid.mesh, in_specs=(specs, P("x")), out_specs=(P("x"), P()), check_vma=False
    )

    def layer(x: Any, w: Any) -> Any:
        positions = jnp.arange(x.shape[1], dtype=jnp.float32)
        q, k, v = qkv(w, x, positions)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(*x.shape[:2], -1)
        x = x + mixed @ w["wo"].astype(x.dtype)
        own = {name: w[name] for name in specs}
        y, balance = routed(own, rms_norm(x, w["mlp_norm"]))
        return x + y, balance

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
        x, balance = jax.lax.scan(jax.checkpoint(layer), x, params["layers"])
        logits = (rms_norm(x, params["norm"]) @ params["head"].astype(x.dtype)).astype(jnp.float32)
        entropy = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
        return entropy.mean() + 0.01 * balance.sum()

    params = decoder(grid, sizes, None, "y")
    stacked = (sizes.layers, experts)
    params["layers"] |= {
        "router": grid.array((sizes.layers, sizes.width, experts)),
        "gate": grid.array((*stacked, sizes.width, sizes.inner), None, None, None, "y"),
        "up": grid.array((*stacked, sizes.width, sizes.inner), None, None, None, "y"),
        "down": grid.array((*stacked, sizes.inner, sizes.width), None, None, "y"),
    }
    adam = optax.adamw(1e-4)
    tokens = grid.array((8, 2049), "x", dtype="int32")
    arguments = [params, optimizer_state(grid, adam, params), tokens]
    yield "ragged_mixtral_step", (optimized(loss, adam), arguments, None)
