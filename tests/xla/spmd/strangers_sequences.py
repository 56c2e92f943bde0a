"""Long sequences, in `strangers_models.py`: texts to texts, states, stages, rings, chunks of a vocabulary."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.strangers_language import (
    Sizes,
    block,
    decoder,
    optimized,
    optimizer_state,
    qkv,
    rms_norm,
    swiglu,
)


def programs() -> Programs:
    """The programs by name."""
    yield from _translated()
    yield from _selective()
    yield from _delta()
    yield from _staged()
    yield from _long()


def _translated() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    tall = Placed("4x2")
    width, inner, heads, head, layers, vocabulary, buckets = 1024, 2816, 16, 64, 4, 32128, 32

    def relative(table: Any, rows: int, columns: int, *, both: bool) -> Any:
        """T5's bias by the bucket of a distance: (heads, rows, columns)."""
        apart = jnp.arange(columns)[None, :] - jnp.arange(rows)[:, None]
        half = buckets // 2 if both else buckets
        side = jnp.where(apart > 0, half, 0) if both else 0
        apart = jnp.abs(apart) if both else -jnp.minimum(apart, 0)
        exact = half // 2
        far = exact + (jnp.log(apart / exact + 1e-6) / jnp.log(128 / exact) * (half - exact)).astype(int)
        place = side + jnp.where(apart < exact, apart, jnp.minimum(far, half - 1))
        return table[place].transpose(2, 0, 1)

    def attention(w: Any, x: Any, source: Any, bias: Any) -> Any:
        q = jnp.einsum("btd,dhe->bthe", x, w["q"].astype(x.dtype))
        k = jnp.einsum("btd,dhe->bthe", source, w["k"].astype(x.dtype))
        v = jnp.einsum("btd,dhe->bthe", source, w["v"].astype(x.dtype))
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k).astype(jnp.float32)
        chance = jax.nn.softmax(scores if bias is None else scores + bias, axis=-1).astype(x.dtype)
        mixed = jnp.einsum("bhqk,bkhe->bqhe", chance, v)
        return jnp.einsum("bqhe,hed->bqd", mixed, w["o"].astype(x.dtype))

    def feed(w: Any, x: Any) -> Any:
        h = jax.nn.gelu(x @ w["wi_0"].astype(x.dtype)) * (x @ w["wi_1"].astype(x.dtype))
        return h @ w["wo"].astype(x.dtype)

    def loss(params: Any, batch: Any) -> Any:
        embed = params["embed"].astype(jnp.bfloat16)
        x, y = embed[batch["inputs"]], embed[batch["decoder_inputs"]]
        padding = jnp.where(batch["inputs"] > 0, 0.0, -1e9)[:, None, None]
        bias = relative(params["encoder_bias"], x.shape[1], x.shape[1], both=True) + padding
        for w in params["encoder"]:
            h = rms_norm(x, w["norm_1"])
            x = x + attention(w["self"], h, h, bias)
            x = x + feed(w, rms_norm(x, w["norm_2"]))
        x = rms_norm(x, params["encoder_norm"])
        t = y.shape[1]
        causal = jnp.where(jnp.arange(t)[:, None] >= jnp.arange(t), 0.0, -1e9)
        bias = relative(params["decoder_bias"], t, t, both=False) + causal
        for w in params["decoder"]:
            h = rms_norm(y, w["norm_1"])
            y = y + attention(w["self"], h, h, bias)
            y = y + attention(w["cross"], rms_norm(y, w["norm_3"]), x, padding)
            y = y + feed(w, rms_norm(y, w["norm_2"]))
        logits = (rms_norm(y, params["decoder_norm"]) @ params["head"].astype(y.dtype)).astype(jnp.float32)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["targets"])
        weights = (batch["targets"] > 0).astype(jnp.float32)
        return (losses * weights).sum() / weights.sum()

    def heads_of() -> dict[str, Any]:
        own = {name: tall.array((width, heads, head), None, "y") for name in "qkv"}
        return own | {"o": tall.array((heads, head, width), "y")}

    def layer(*norms: str) -> dict[str, Any]:
        own: dict[str, Any] = {name: tall.array((width,)) for name in norms}
        own |= {name: tall.array((width, inner), None, "y") for name in ("wi_0", "wi_1")}
        return own | {"wo": tall.array((inner, width), "y"), "self": heads_of()}

    params = {
        "embed": tall.array((vocabulary, width), "y"),
        "head": tall.array((width, vocabulary), None, "y"),
        "encoder_bias": tall.array((buckets, heads), None, "y"),
        "decoder_bias": tall.array((buckets, heads), None, "y"),
        "encoder_norm": tall.array((width,)),
        "decoder_norm": tall.array((width,)),
        "encoder": [layer("norm_1", "norm_2") for _ in range(layers)],
        "decoder": [layer("norm_1", "norm_2", "norm_3") | {"cross": heads_of()} for _ in range(layers)],
    }
    batch = {"inputs": tall.array((32, 1024), "x", dtype="int32")}
    batch |= {name: tall.array((32, 256), "x", dtype="int32") for name in ("decoder_inputs", "targets")}
    adam = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-4))
    yield "t5_step", (optimized(loss, adam), [params, optimizer_state(tall, adam, params), batch], None)


def _selective() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    width, inner, states, rank, layers, chunk, vocabulary = 2048, 4096, 16, 128, 4, 128, 32768

    def scanned(u: Any, delta: Any, a: Any, b: Any, c: Any) -> Any:
        """Mamba's selective scan: associative within chunks, one chunk after another."""
        n = u.shape[1] // chunk

        def chunks(each: Any) -> Any:
            return each.reshape(each.shape[0], n, chunk, -1).swapaxes(0, 1)

        def merge(first: Any, second: Any) -> Any:
            return first[0] * second[0], second[0] * first[1] + second[1]

        @jax.checkpoint
        def one(state: Any, each: Any) -> Any:
            u, delta, b, c = each
            decay = jnp.exp(delta[..., None] * a)
            put = (delta * u)[..., None] * b[:, :, None, :]
            decays, inside = jax.lax.associative_scan(merge, (decay, put), axis=1)
            all_states = inside + decays * state[:, None]
            return all_states[:, -1], jnp.einsum("btds,bts->btd", all_states, c)

        start = jnp.zeros((u.shape[0], u.shape[2], states))
        _, y = jax.lax.scan(one, start, tuple(chunks(each) for each in (u, delta, b, c)))
        return y.swapaxes(0, 1).reshape(u.shape)

    def mixer(w: Any, x: Any) -> Any:
        h = rms_norm(x, w["norm"])
        u, z = jnp.split(h @ w["in"].astype(h.dtype), 2, axis=-1)
        u = jax.lax.conv_general_dilated(
            u,
            w["conv"].astype(u.dtype),
            (1,),
            [(3, 0)],
            dimension_numbers=("NWC", "WIO", "NWC"),
            feature_group_count=inner,
        )
        u = jax.nn.silu(u)
        delta, b, c = jnp.split(u @ w["select"].astype(u.dtype), [rank, rank + states], axis=-1)
        delta = jax.nn.softplus((delta @ w["delta"].astype(u.dtype)).astype(jnp.float32) + w["delta_bias"])
        u32, b, c = (each.astype(jnp.float32) for each in (u, b, c))
        y = scanned(u32, delta, -jnp.exp(w["log_a"]), b, c) + w["d"] * u32
        return x + (y.astype(x.dtype) * jax.nn.silu(z)) @ w["out"].astype(x.dtype)

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
        x = jax.lax.with_sharding_constraint(x, line.at("x"))
        x, _ = jax.lax.scan(lambda x, w: (jax.checkpoint(mixer)(w, x), None), x, params["layers"])
        logits = (rms_norm(x, params["norm"]) @ params["embed"].T.astype(x.dtype)).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    def stacked(shape: tuple[int, ...], *spec: Any) -> Any:
        return line.array((layers, *shape), None, *spec)

    own = {
        "norm": stacked((width,)),
        "in": stacked((width, 2 * inner), "x"),
        "conv": stacked((4, 1, inner), None, None, "x"),
        "select": stacked((inner, rank + 2 * states), "x"),
        "delta": stacked((rank, inner), None, "x"),
        "delta_bias": stacked((inner,), "x"),
        "log_a": stacked((inner, states), "x"),
        "d": stacked((inner,), "x"),
        "out": stacked((inner, width), "x"),
    }
    params = {"embed": line.array((vocabulary, width), "x"), "layers": own, "norm": line.array((width,))}
    adam = optax.adamw(6e-4, b2=0.95)
    arguments = [params, optimizer_state(line, adam, params), line.array((16, 2049), "x", dtype="int32")]
    yield "mamba_step", (optimized(loss, adam), arguments, None)


def _delta() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    width, heads, head, layers, chunk = 1024, 8, 128, 3, 64

    def layer(w: Any, x: Any) -> Any:
        """Gated DeltaNet: a triangular system within a chunk, a state that goes from chunk to chunk."""
        b, t, _ = x.shape
        n = t // chunk
        h = rms_norm(x, w["norm"])

        def split(name: str) -> Any:
            return jnp.einsum("btd,dhe->bhte", h, w[name]).reshape(b, heads, n, chunk, head)

        q, k, v = split("q"), split("k"), split("v")
        q, k = (each / (jnp.linalg.norm(each, axis=-1, keepdims=True) + 1e-6) for each in (q, k))
        beta = jax.nn.sigmoid(jnp.einsum("btd,dh->bht", h, w["beta"])).reshape(b, heads, n, chunk, 1)
        fade = jax.nn.log_sigmoid(jnp.einsum("btd,dh->bht", h, w["fade"])).reshape(b, heads, n, chunk)
        total = jnp.cumsum(fade, axis=-1)
        apart = jnp.exp(jnp.minimum(total[..., :, None] - total[..., None, :], 0.0))
        lower = jnp.tril(jnp.ones((chunk, chunk), bool), -1)
        system = jnp.where(lower, (beta * k) @ k.mT * apart, 0.0) + jnp.eye(chunk)
        both = jnp.concatenate([beta * v, beta * k * jnp.exp(total)[..., None]], axis=-1)
        solved = jax.scipy.linalg.solve_triangular(system, both, lower=True, unit_diagonal=True)
        values, keys = jnp.split(solved, 2, axis=-1)
        near = jnp.where(lower | jnp.eye(chunk, dtype=bool), q @ k.mT * apart, 0.0)

        def step(state: Any, each: Any) -> Any:
            q, k, values, keys, near, total = each
            new = values - keys @ state
            y = (q * jnp.exp(total)[..., None]) @ state + near @ new
            last = total[..., -1:]
            put = (k * jnp.exp(last - total)[..., None]).mT @ new
            return state * jnp.exp(last)[..., None] + put, y

        start = jnp.zeros((b, heads, head, head))
        parts = tuple(jnp.moveaxis(each, 2, 0) for each in (q, k, values, keys, near, total))
        _, y = jax.lax.scan(step, start, parts)
        y = rms_norm(jnp.moveaxis(y, 0, 2).reshape(b, heads, t, head), w["out_norm"])
        return x + jnp.einsum("bhte,hed->btd", y, w["o"])

    @partial(jax.jit, donate_argnums=(0,))
    def delta_step(params: Any, x: Any, target: Any) -> Any:
        def loss(params: Any) -> Any:
            h = x
            for w in params:
                h = jax.checkpoint(layer)(w, h)
            return jnp.mean(jnp.square(h - target))

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value

    own = {name: grid.array((width, heads, head), None, "y") for name in "qkv"}
    own |= {name: grid.array((width, heads), None, "y") for name in ("beta", "fade")}
    own |= {"norm": grid.array((width,)), "out_norm": grid.array((head,))}
    own |= {"o": grid.array((heads, head, width), "y")}
    x = grid.array((4, 2048, width), "x")
    yield "delta_net_step", (delta_step, [[own] * layers, x, x], None)


def _staged() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax.sharding import PartitionSpec as P

    grid = Placed("2x4")
    stages, parts = 4, 8
    sizes = Sizes(width=2048, inner=8192, heads=16, groups=8, layers=8, vocabulary=32000)

    def pipeline(layers: Any, x: Any) -> Any:
        """Each device of a column has two layers; parts of the batch go from one to the next."""
        stage = jax.lax.axis_index("y")
        onward = [(i, (i + 1) % stages) for i in range(stages)]

        @jax.checkpoint
        def run(h: Any) -> Any:
            return jax.lax.scan(lambda h, w: (block(w, h), None), h, layers)[0]

        def tick(carry: Any, i: Any) -> Any:
            state, out = carry
            given = jax.lax.dynamic_index_in_dim(x, jnp.minimum(i, parts - 1), 0, keepdims=False)
            state = run(jnp.where(stage == 0, given, state))
            done = jnp.maximum(i - stages + 1, 0)
            out = jax.lax.dynamic_update_index_in_dim(out, state, done, 0)
            return (jax.lax.ppermute(state, "y", onward), out), None

        start = jnp.zeros_like(x[0]), jnp.zeros_like(x)
        (_, out), _ = jax.lax.scan(tick, start, jnp.arange(parts + stages - 1))
        return jax.lax.psum(jnp.where(stage == stages - 1, out, 0), "y")

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"].astype(jnp.bfloat16)[tokens[..., :-1]]
        specs = jax.tree.map(lambda _: P("y"), params["layers"])
        piped = jax.shard_map(
            pipeline,
            mesh=grid.mesh,
            in_specs=(specs, P(None, "x")),
            out_specs=P(None, "x"),
            check_vma=False,
        )
        x = rms_norm(piped(params["layers"], x), params["norm"])
        logits = (x @ params["head"].astype(x.dtype)).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[..., 1:]).mean()

    params = decoder(grid, sizes, None, None)
    params["layers"] = jax.tree.map(lambda w: grid.array(w.shape, "y"), params["layers"])
    params["embed"] = grid.array((sizes.vocabulary, sizes.width), None, "y")
    params["head"] = grid.array((sizes.width, sizes.vocabulary), None, "y")
    adam = optax.adamw(3e-4)
    tokens = grid.array((parts, 4, 1025), None, "x", dtype="int32")
    arguments = [params, optimizer_state(grid, adam, params), tokens]
    yield "pipelined_llama_step", (optimized(loss, adam), arguments, None)


def _long() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax.sharding import PartitionSpec as P

    line, grid = Placed("8"), Placed("2x4")
    sizes = Sizes(width=2048, inner=5632, heads=16, groups=4, layers=2, vocabulary=32000)

    def ring(q: Any, k: Any, v: Any) -> Any:
        """Causal attention to the keys of all devices, one after another."""
        place, devices = jax.lax.axis_index("x"), 8
        b, t, _, head = q.shape
        q = q.reshape(b, t, sizes.groups, -1, head) * head**-0.5
        rows = place * t + jnp.arange(t)

        @jax.checkpoint
        def step(carry: Any, i: Any) -> Any:
            out, top, total, k, v = carry
            columns = (place - i) % devices * t + jnp.arange(t)
            scores = jnp.einsum("bqgrd,bkgd->bgrqk", q, k, preferred_element_type=jnp.float32)
            scores = jnp.where(rows[:, None] >= columns[None, :], scores, -1e30)
            peak = jnp.maximum(top, scores.max(-1))
            fade, chance = jnp.exp(top - peak), jnp.exp(scores - peak[..., None])
            total = total * fade + chance.sum(-1)
            mixed = jnp.einsum("bgrqk,bkgd->bgrqd", chance.astype(v.dtype), v)
            out = out * fade[..., None] + mixed.astype(jnp.float32)
            k, v = jax.lax.ppermute((k, v), "x", [(j, (j + 1) % devices) for j in range(devices)])
            return (out, peak, total, k, v), None

        shape = b, sizes.groups, q.shape[3], t
        start = jnp.zeros((*shape, head)), jnp.full(shape, -1e30), jnp.zeros(shape), k, v
        (out, _, total, _, _), _ = jax.lax.scan(step, start, jnp.arange(devices))
        out = (out / total[..., None]).astype(v.dtype)
        return out.transpose(0, 3, 1, 2, 4).reshape(b, t, -1)

    spec = P(None, "x")
    ringed = jax.shard_map(ring, mesh=line.mesh, in_specs=(spec,) * 3, out_specs=spec, check_vma=False)

    def ring_loss(params: Any, tokens: Any, targets: Any) -> Any:
        x = params["embed"].astype(jnp.bfloat16)[tokens]
        x = jax.lax.with_sharding_constraint(x, line.at(None, "x"))

        @jax.checkpoint
        def layer(x: Any, w: Any) -> Any:
            positions = jnp.arange(x.shape[1], dtype=jnp.float32)
            x = x + ringed(*qkv(w, x, positions)) @ w["wo"].astype(x.dtype)
            return x + swiglu(w, x), None

        x, _ = jax.lax.scan(layer, x, params["layers"])
        logits = (rms_norm(x, params["norm"]) @ params["head"].astype(x.dtype)).astype(jnp.float32)
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    params = decoder(line, sizes, "x", None)
    adam = optax.adamw(1e-4)
    tokens = line.array((1, 16384), None, "x", dtype="int32")
    arguments = [params, optimizer_state(line, adam, params), tokens, tokens]
    yield "ring_llama_step", (optimized(ring_loss, adam), arguments, None)

    width, vocabulary, chunks = 4096, 128256, 16

    def vocabulary_loss(w: Any, x: Any, targets: Any) -> Any:
        """Cross entropy by one part of the vocabulary after another, whose logits are made again."""
        h = rms_norm(x, w["norm"]).reshape(-1, width)
        flat = targets.reshape(-1)
        part = vocabulary // chunks

        @jax.checkpoint
        def one(carry: Any, each: Any) -> Any:
            top, total, chosen = carry
            i, head = each
            logits = jnp.einsum("td,vd->tv", h, head, preferred_element_type=jnp.float32)
            logits = 30.0 * jnp.tanh(logits / 30.0)
            peak = jnp.maximum(top, logits.max(-1))
            total = total * jnp.exp(top - peak) + jnp.exp(logits - peak[:, None]).sum(-1)
            local = flat - i * part
            picked = jnp.take_along_axis(logits, jnp.clip(local, 0, part - 1)[:, None], axis=-1)[:, 0]
            return (peak, total, jnp.where((local >= 0) & (local < part), picked, chosen)), None

        heads = w["head"].reshape(chunks, part, width)
        start = jnp.full(flat.shape, -jnp.inf), jnp.zeros(flat.shape), jnp.zeros(flat.shape)
        (top, total, chosen), _ = jax.lax.scan(one, start, (jnp.arange(chunks), heads))
        return jnp.mean(top + jnp.log(total) - chosen)

    w = {
        "norm": grid.array((width,)),
        "head": grid.array((vocabulary, width), None, ("x", "y"), dtype="bfloat16"),
    }
    x = grid.array((2, 16384, width), "x", "y", dtype="bfloat16")
    targets = grid.array((2, 16384), "x", "y", dtype="int32")
    step = jax.jit(jax.value_and_grad(vocabulary_loss, argnums=(0, 1)))
    yield "vocabulary_in_chunks", (step, [w, x, targets], None)
