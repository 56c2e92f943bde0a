"""Programs as users write them: training, serving, images, fields. No rule was made for one of them.

Written, and compiled once, before a forecast was looked at. A dozen are of real size.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.users_fields import programs as fields
from tests.xla.spmd.users_images import programs as images
from tests.xla.spmd.users_optimizers import programs as optimizers
from tests.xla.spmd.users_serving import programs as serving


def programs() -> Programs:
    """The programs by name."""
    yield from optimizers()
    yield from _fine_tuned()
    yield from _routed()
    yield from _staged()
    yield from serving()
    yield from images()
    yield from fields()


def _fine_tuned() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    width, inner, layers, vocabulary, rank = 2048, 8192, 4, 65536, 16

    def quantized(rows: int, columns: int, *spec: Any) -> dict[str, Any]:
        return {
            "w": grid.array((layers, rows, columns), None, *spec, dtype="int8"),
            "scale": grid.array((layers, columns), None, *spec[1:]),
        }

    frozen = {
        "up": quantized(width, inner, None, "y"),
        "gate": quantized(width, inner, None, "y"),
        "down": quantized(inner, width, "y", None),
    }
    adapters = {
        name: {
            "a": grid.array((layers, each["w"].shape[1], rank)),
            "b": grid.array((layers, rank, each["w"].shape[2])),
        }
        for name, each in frozen.items()
    }

    def applied(x: Any, w: Any, low: Any) -> Any:
        whole = w["w"].astype(jnp.bfloat16) * w["scale"].astype(jnp.bfloat16)
        extra = (x @ low["a"].astype(x.dtype)) @ low["b"].astype(x.dtype)
        return x @ whole + extra * (32 / rank)

    def lora_loss(adapters: Any, frozen: Any, x: Any, y: Any) -> Any:
        def layer(x: Any, each: Any) -> Any:
            w, low = each
            h = x * jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), -1, keepdims=True)).astype(
                x.dtype
            )
            h = jax.nn.silu(applied(h, w["gate"], low["gate"])) * applied(h, w["up"], low["up"])
            return x + applied(h, w["down"], low["down"]), None

        x, _ = jax.lax.scan(jax.checkpoint(layer), x, (frozen, adapters))
        return jnp.mean(jnp.square(x - y).astype(jnp.float32))

    def lora(adapters: Any, momentum: Any, frozen: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(lora_loss)(adapters, frozen, x, y)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
        grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (norm + 1e-6)), grads)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return jax.tree.map(lambda a, m: a - 1e-4 * m, adapters, momentum), momentum, value

    x = grid.array((8, 1024, width), "x", dtype="bfloat16")
    step = jax.jit(lora, donate_argnums=(0, 1))
    yield "lora_of_int8", (step, [adapters, adapters, frozen, x, x], None)

    def chunked(head: Any, x: Any, labels: Any, chunks: int = 8) -> Any:
        """Cross entropy of so many tokens at a time, whose logits are computed again."""
        x = x.reshape(chunks, -1, width)
        labels = labels.reshape(chunks, -1)

        @jax.checkpoint
        def one(total: Any, each: Any) -> Any:
            h, label = each
            logits = jnp.einsum("td,dv->tv", h, head, preferred_element_type=jnp.float32)
            logits = jax.lax.with_sharding_constraint(logits, grid.at("x", "y"))
            peak = jax.lax.stop_gradient(logits.max(-1, keepdims=True))
            logsum = jnp.log(jnp.exp(logits - peak).sum(-1)) + peak[:, 0]
            hit = jnp.where(jnp.arange(vocabulary) == label[:, None], logits, 0).sum(-1)
            return total + (logsum - hit).sum() + 1e-4 * jnp.square(logsum).sum(), None

        total, _ = jax.lax.scan(one, jnp.float32(0), (x, labels))
        return total / labels.size

    head = grid.array((width, vocabulary), None, "y", dtype="bfloat16")
    labels = grid.array((16, 1024), "x", dtype="int32")
    x = grid.array((16, 1024, width), "x", dtype="bfloat16")
    yield "chunked_entropy", (jax.value_and_grad(chunked, argnums=(0, 1)), [head, x, labels], None)

    small = 256

    def policy(w: Any, x: Any) -> Any:
        h = w["table"][x]
        for _ in range(2):
            q, k, v = jnp.split(h @ w["qkv"], 3, -1)
            scores = jnp.einsum("btd,bsd->bts", q, k) / small**0.5
            seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
            h = h + jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)) @ v
            h = h + jax.nn.gelu(h @ w["up"]) @ w["down"]
        return h @ w["table"].T, (h @ w["value"])[..., 0]

    def ppo(w: Any, x: Any, actions: Any, old: Any, rewards: Any, values: Any, mask: Any) -> Any:
        def back(carry: Any, each: Any) -> Any:
            gain, following = carry
            reward, value, m = each
            gain = reward + 0.99 * following * m - value + 0.99 * 0.95 * m * gain
            return (gain, value), gain

        start = jnp.zeros(rewards.shape[0]), jnp.zeros(rewards.shape[0])
        _, gains = jax.lax.scan(back, start, (rewards.T, values.T, mask.T), reverse=True)
        gains = gains.T
        returns = gains + values
        mean = (gains * mask).sum() / mask.sum()
        spread = (jnp.square(gains - mean) * mask).sum() / mask.sum()
        gains = (gains - mean) * jax.lax.rsqrt(spread + 1e-8)
        logits, predicted = policy(w, x)
        chances = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(chances, actions[..., None], -1)[..., 0]
        ratio = jnp.exp(chosen - old)
        clipped = jnp.minimum(ratio * gains, jnp.clip(ratio, 0.8, 1.2) * gains)
        bounded = values + jnp.clip(predicted - values, -0.2, 0.2)
        errors = jnp.maximum(jnp.square(predicted - returns), jnp.square(bounded - returns))
        entropy = -(jnp.exp(chances) * chances).sum(-1)
        return (mask * (-clipped + 0.5 * errors - 0.01 * entropy)).sum() / mask.sum()

    w = {
        "table": grid.array((4096, small), "y"),
        "qkv": grid.array((small, 3 * small), None, "y"),
        "up": grid.array((small, 1024), None, "y"),
        "down": grid.array((1024, small), "y"),
        "value": grid.array((small, 1)),
    }
    rows = [grid.array((16, 128), "x") for _ in range(4)]
    tokens = grid.array((16, 128), "x", dtype="int32")
    yield "ppo_of_tokens", (jax.grad(ppo), [w, tokens, tokens, *rows], None)


def _routed() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    grid, line = Placed("2x4"), Placed("8")
    width, inner, experts, capacity = 1024, 4096, 8, 640

    def capacity_top2(w: Any, x: Any) -> Any:
        """Two experts a token, each with room for so many tokens of a group."""
        chances = jax.nn.softmax((x @ w["router"]).astype(jnp.float32))
        gates, chosen = jax.lax.top_k(chances, 2)
        gates = gates / gates.sum(-1, keepdims=True)
        picked = jax.nn.one_hot(chosen, experts)
        order = picked.transpose(0, 2, 1, 3).reshape(x.shape[0], -1, experts)
        place = (jnp.cumsum(order, 1) - order).reshape(x.shape[0], 2, -1, experts).transpose(0, 2, 1, 3)
        fits = picked * (place < capacity)
        slot = jax.nn.one_hot((place * fits).sum(-1).astype(jnp.int32), capacity)
        sent = jnp.einsum("gtke,gtkc->gtec", fits, slot).astype(x.dtype)
        back = jnp.einsum("gtk,gtke,gtkc->gtec", gates, fits, slot).astype(x.dtype)
        into = jnp.einsum("gtec,gtd->egcd", sent, x)
        into = jax.lax.with_sharding_constraint(into, grid.at("y", "x"))
        hidden = jax.nn.silu(jnp.einsum("egcd,edf->egcf", into, w["gate"]))
        hidden = hidden * jnp.einsum("egcd,edf->egcf", into, w["up"])
        out = jnp.einsum("egcf,efd->egcd", hidden, w["down"])
        y = jnp.einsum("gtec,egcd->gtd", back, out)
        balance = experts * (picked.mean((0, 1, 2)) * chances.mean((0, 1))).sum()
        return jnp.square((x + y).astype(jnp.float32)).mean() + 0.01 * balance

    w = {
        "router": grid.array((width, experts), dtype="bfloat16"),
        "gate": grid.array((experts, width, inner), "y", dtype="bfloat16"),
        "up": grid.array((experts, width, inner), "y", dtype="bfloat16"),
        "down": grid.array((experts, inner, width), "y", dtype="bfloat16"),
    }
    x = grid.array((8, 2048, width), ("x", "y"), dtype="bfloat16")
    yield "capacity_top_2", (jax.value_and_grad(capacity_top2), [w, x], None)

    def exchanged(w: Any, x: Any) -> Any:
        """Each device routes its tokens to the experts of all by two exchanges."""
        chances = jax.nn.softmax(x @ w["router"])
        gate, chosen = chances.max(-1), chances.argmax(-1)
        hot = jax.nn.one_hot(chosen, 16, dtype=jnp.int32)
        place = (jnp.cumsum(hot, 0) * hot).sum(-1) - 1
        room = 256
        into = jnp.zeros((16, room, width), x.dtype).at[chosen, place].set(x, mode="drop")
        into = jax.lax.all_to_all(into.reshape(8, 2, room, width), "x", 0, 0)
        into = into.transpose(1, 0, 2, 3).reshape(2, 8 * room, width)
        hidden = jnp.square(jax.nn.relu(jnp.einsum("ecd,edf->ecf", into, w["up"])))
        out = jnp.einsum("ecf,efd->ecd", hidden, w["down"]).reshape(2, 8, room, width)
        out = jax.lax.all_to_all(out.transpose(1, 0, 2, 3), "x", 0, 0).reshape(16, room, width)
        y = out.at[chosen, place].get(mode="fill", fill_value=0) * gate[:, None]
        return x + y

    specs = {"router": P(), "up": P("x"), "down": P("x")}
    mapped = jax.shard_map(
        exchanged, mesh=line.mesh, in_specs=(specs, P("x")), out_specs=P("x"), check_vma=False
    )

    def exchanged_loss(w: Any, x: Any) -> Any:
        return jnp.abs(mapped(w, x)).mean()

    w = {
        "router": line.array((width, 16)),
        "up": line.array((16, width, inner), "x"),
        "down": line.array((16, inner, width), "x"),
    }
    yield "experts_exchanged", (jax.grad(exchanged_loss), [w, line.array((16384, width), "x")], None)

    def ragged(w: Any, x: Any) -> Any:
        """Tokens in the order of their experts, through ragged products."""
        gates, chosen = jax.lax.top_k(jax.nn.softmax(x @ w["router"]), 2)
        order = jnp.argsort(chosen.ravel())
        sizes = jnp.bincount(chosen.ravel(), length=experts)
        sorted_ = x[order // 2]
        hidden = jax.nn.gelu(jax.lax.ragged_dot(sorted_, w["up"], sizes))
        out = jax.lax.ragged_dot(hidden, w["down"], sizes)
        out = jnp.zeros((x.shape[0] * 2, x.shape[1]), x.dtype).at[order].set(out)
        return (out.reshape(x.shape[0], 2, -1) * gates[..., None]).sum(1)

    w = {
        "router": grid.array((256, experts)),
        "up": grid.array((experts, 256, 1024), None, None, "y"),
        "down": grid.array((experts, 1024, 256), None, "y", None),
    }
    yield "ragged_experts", (ragged, [w, grid.array((2048, 256), "x")], None)


def _staged() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    grid = Placed("2x4")
    stages, parts, width = 4, 8, 512

    def stage(w: Any, x: Any) -> Any:
        def layer(x: Any, each: Any) -> Any:
            up, down = each
            return x + jnp.tanh(x @ up) @ down, None

        return jax.lax.scan(layer, x, (w["up"], w["down"]))[0]

    def run(w: Any, x: Any, y: Any) -> Any:
        """GPipe: parts of the batch go from stage to stage; the last one computes the loss."""
        w = jax.tree.map(lambda leaf: leaf[0], w)
        place = jax.lax.axis_index("y")
        turn = [(i, (i + 1) % stages) for i in range(stages)]

        def tick(carry: Any, t: Any) -> Any:
            state, loss = carry
            part = jax.lax.dynamic_index_in_dim(x, jnp.clip(t, 0, parts - 1), 0, keepdims=False)
            state = stage(w, jnp.where(place == 0, part, state))
            known = jnp.clip(t - stages + 1, 0, parts - 1)
            target = jax.lax.dynamic_index_in_dim(y, known, 0, keepdims=False)
            error = jnp.square(state - target).mean()
            loss += jnp.where((place == stages - 1) & (t >= stages - 1), error, 0.0)
            return (jax.lax.ppermute(state, "y", turn), loss), None

        start = jnp.zeros(x.shape[1:], x.dtype), jnp.float32(0)
        (_, loss), _ = jax.lax.scan(tick, start, jnp.arange(parts + stages - 1))
        return jax.lax.pmean(jax.lax.psum(loss, "y"), "x") / parts

    mapped = jax.shard_map(
        run,
        mesh=grid.mesh,
        in_specs=({"up": P("y"), "down": P("y")}, P(None, "x"), P(None, "x")),
        out_specs=P(),
        check_vma=False,
    )
    w = {
        "up": grid.array((stages, 2, width, 2048), "y"),
        "down": grid.array((stages, 2, 2048, width), "y"),
    }
    x = grid.array((parts, 32, 64, width), None, "x")
    yield "gpipe", (jax.value_and_grad(mapped), [w, x, x], None)

    heads, head, length = 8, 64, 4096

    def ring(q: Any, k: Any, v: Any) -> Any:
        """Causal attention of sharded sequences: keys and values go around."""
        place, steps = jax.lax.axis_index("y"), 4
        own = q.shape[1]
        q = q.reshape(*q.shape[:2], 2, heads // 2, head)
        turn = [(i, (i + 1) % steps) for i in range(steps)]

        def step(carry: Any, i: Any) -> Any:
            k, v, top, total, out = carry
            source = (place - i) % steps
            scores = jnp.einsum("bqgrd,bkgd->bgrqk", q, k, preferred_element_type=jnp.float32) / 8.0
            rows = place * own + jnp.arange(own)[:, None]
            columns = source * own + jnp.arange(own)
            scores = jnp.where(rows >= columns, scores, -1e30)
            peak = jnp.maximum(top, scores.max(-1))
            chance = jnp.exp(scores - peak[..., None])
            fade = jnp.exp(top - peak)
            total = total * fade + chance.sum(-1)
            out = out * fade[..., None] + jnp.einsum("bgrqk,bkgd->bgrqd", chance.astype(v.dtype), v)
            k, v = (jax.lax.ppermute(each, "y", turn) for each in (k, v))
            return (k, v, peak, total, out), None

        shape = q.shape[0], 2, heads // 2, own
        start = k, v, jnp.full(shape, -1e30), jnp.zeros(shape), jnp.zeros((*shape, head))
        (_, _, _, total, out), _ = jax.lax.scan(jax.checkpoint(step), start, jnp.arange(steps))
        out = out / total[..., None]
        return out.transpose(0, 3, 1, 2, 4).reshape(q.shape[0], own, heads, head).astype(jnp.bfloat16)

    spec = P("x", "y")
    ringed = jax.shard_map(ring, mesh=grid.mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False)

    def ring_loss(q: Any, k: Any, v: Any) -> Any:
        return jnp.square(ringed(q, k, v).astype(jnp.float32)).sum()

    at = partial(grid.array, dtype="bfloat16")
    q = at((2, length, heads, head), "x", "y")
    k = at((2, length, 2, head), "x", "y")
    yield "ring_grouped_grad", (jax.grad(ring_loss, argnums=(0, 1, 2)), [q, k, k], None)
