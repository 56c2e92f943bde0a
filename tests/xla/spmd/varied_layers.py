"""Layers and training steps of the set `varied`: attention, blocks, experts, optimizers."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def layers() -> Programs:
    """The programs by name."""
    yield from _attention()
    yield from _blocks()
    yield from _experts()
    yield from _states()


def _attention() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")

    def grouped(q: Any, k: Any, v: Any) -> Any:
        b, s, h, d = q.shape
        q = q.reshape(b, s, k.shape[2], h // k.shape[2], d)
        scores = jnp.einsum("bqkgd,bskd->bkgqs", q, k) / d**0.5
        mask = jnp.tril(jnp.ones((s, s), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        return jnp.einsum("bkgqs,bskd->bqkgd", weights, v).reshape(b, s, h, d)

    q = grid.array((4, 128, 16, 32), "x", None, "y")
    k = grid.array((4, 128, 4, 32), "x", None, "y")
    yield "grouped_query", (grouped, [q, k, k], None)
    yield "grouped_query_grad", (jax.grad(lambda q, k, v: grouped(q, k, v).sum(), (0, 1, 2)), [q, k, k], None)

    def windowed(q: Any, k: Any, v: Any, bias: Any) -> Any:
        b, s, h, d = q.shape
        split = lambda a: a.reshape(b, s // 32, 32, h, d)  # noqa: E731
        q, k, v = map(split, (q, k, v))
        before = lambda a: jnp.concatenate([jnp.roll(a, 1, 1), a], 2)  # noqa: E731
        scores = jnp.einsum("bnqhd,bnkhd->bnhqk", q, before(k)) + bias
        return jnp.einsum("bnhqk,bnkhd->bnqhd", jax.nn.softmax(scores), before(v)).reshape(b, s, h, d)

    x = line.array((8, 256, 4, 16), "x")
    bias = line.array((4, 32, 64))
    yield "sliding_window", (windowed, [x, x, x, bias], None)

    def rotated(w: Any, x: Any) -> Any:
        b, s, d = x.shape
        q, k, v = jnp.split((x @ w["qkv"]).reshape(b, s, 3, 8, d // 8), 3, 2)
        q, k, v = (a[:, :, 0] for a in (q, k, v))
        angle = jnp.arange(s)[:, None] / 10000 ** (jnp.arange(d // 16) / (d // 16))

        def turn(a: Any) -> Any:
            first, second = jnp.split(a, 2, -1)
            cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
            return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], -1)

        norm = lambda a: a * jax.lax.rsqrt((a * a).mean(-1, keepdims=True) + 1e-6)  # noqa: E731
        q, k = turn(norm(q)), turn(norm(k))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32)
        out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), v)
        return out.reshape(b, s, d) @ w["out"]

    w = {"qkv": grid.array((128, 384), "x", "y"), "out": grid.array((128, 128), "y", "x")}
    x = grid.array((8, 64, 128), "x")
    yield "rotary_attention", (rotated, [w, x], None)
    yield "rotary_attention_train", (trained(lambda w, x: (rotated(w, x) ** 2).mean()), [w, x], None)
    half = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, jnp.bfloat16, sharding=a.sharding), w)
    yield (
        "rotary_attention_bf16",
        (rotated, [half, grid.array((8, 64, 128), "x", dtype="bfloat16")], None),
    )

    def linear(q: Any, k: Any, v: Any) -> Any:
        q, k = jax.nn.elu(q) + 1, jax.nn.elu(k) + 1
        state = jnp.cumsum(jnp.einsum("bshd,bshe->bshde", k, v), 1)
        total = jnp.cumsum(k, 1)
        out = jnp.einsum("bshd,bshde->bshe", q, state)
        return out / jnp.einsum("bshd,bshd->bsh", q, total)[..., None]

    small = line.array((8, 64, 4, 16), "x")
    yield "linear_attention", (linear, [small, small, small], None)

    def cross(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True)

    q = grid.array((4, 64, 8, 32), "x", None, "y")
    yield "library_attention", (cross, [q, q, q], None)

    def latent(w: Any, x: Any) -> Any:
        c = x @ w["down"]
        k, v = jnp.einsum("bsc,chd->bshd", c, w["k"]), jnp.einsum("bsc,chd->bshd", c, w["v"])
        q = jnp.einsum("bsm,mhd->bshd", x, w["q"])
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return jnp.einsum("bhqk,bkhd,hdm->bqm", scores, v, w["o"])

    w = {
        "down": grid.array((128, 32)),
        "k": grid.array((32, 8, 16), None, "y"),
        "v": grid.array((32, 8, 16), None, "y"),
        "q": grid.array((128, 8, 16), None, "y"),
        "o": grid.array((8, 16, 128), "y"),
    }
    x = grid.array((8, 64, 128), "x")
    yield "latent_attention_train", (trained(lambda w, x: (latent(w, x) ** 2).mean()), [w, x], None)


def _blocks() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")

    def layer(x: Any, w: Any) -> tuple[Any, None]:
        h = jax.nn.standardize(x) * w["scale"]
        return x + jax.nn.gelu(h @ w["up"]) @ w["down"], None

    def loss(again: Any) -> Any:
        body = layer if again is None else jax.checkpoint(layer, policy=again)

        def run(w: Any, x: Any) -> Any:
            return (jax.lax.scan(body, x, w)[0] ** 2).mean()

        return trained(run)

    policies = jax.checkpoint_policies
    for name, placed, spec in (
        ("tensor", grid, {"scale": (), "up": (None, None, "y"), "down": (None, "y")}),
        ("fsdp", line, {"scale": (), "up": (None, "x"), "down": (None, "x")}),
    ):
        shapes = {"scale": (6, 64), "up": (6, 64, 256), "down": (6, 256, 64)}
        w = {key: placed.array(shape, *spec[key]) for key, shape in shapes.items()}
        x = placed.array((16, 32, 64), "x")
        yield f"scan_blocks_{name}", (loss(None), [w, x], None)
        yield f"scan_blocks_again_{name}", (loss(policies.nothing_saveable), [w, x], None)
        yield f"scan_blocks_dots_{name}", (loss(policies.dots_saveable), [w, x], None)

    def logits(w: Any, ids: Any, targets: Any) -> Any:
        h = w["embed"][ids]
        h = h + jax.nn.silu(h @ w["gate"]) * (h @ w["up"]) @ w["down"]
        out = h @ w["embed"].T
        return -jnp.take_along_axis(jax.nn.log_softmax(out), targets[..., None], -1).mean()

    w = {
        "embed": grid.array((512, 64), "y"),
        "gate": grid.array((64, 128), None, "y"),
        "up": grid.array((64, 128), None, "y"),
        "down": grid.array((128, 64), "y"),
    }
    w["down"] = grid.array((128, 64), "y")
    ids = grid.array((16, 32), "x", dtype="int32")
    yield (
        "tied_embedding",
        (
            trained(
                lambda w, i, t: logits(
                    {**w, "gate": w["gate"][:, :64], "up": w["up"][:, :64], "down": w["down"][:64]}, i, t
                )
            ),
            [w, ids, ids],
            None,
        ),
    )


def _experts() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("2x4"), Placed("8")

    def soft(w: Any, x: Any) -> Any:
        logits = jnp.einsum("btd,des->btes", x, w["slots"])
        dispatch, combine = jax.nn.softmax(logits, 1), jax.nn.softmax(logits.reshape(*x.shape[:2], -1))
        slots = jnp.einsum("btes,btd->besd", dispatch, x)
        out = jnp.einsum(
            "besf,efd->besd", jax.nn.gelu(jnp.einsum("besd,edf->besf", slots, w["up"])), w["down"]
        )
        return jnp.einsum("btes,besd->btd", combine.reshape(logits.shape), out)

    w = {
        "slots": grid.array((32, 8, 4), None, "y"),
        "up": grid.array((8, 32, 64), "y"),
        "down": grid.array((8, 64, 32), "y"),
    }
    x = grid.array((8, 64, 32), "x")
    yield "soft_moe", (soft, [w, x], None)
    yield "soft_moe_train", (trained(lambda w, x: (soft(w, x) ** 2).mean()), [w, x], None)

    def scattered(w: Any, x: Any) -> Any:
        gate = jax.nn.softmax(x @ w["router"])
        weight, chosen = jax.lax.top_k(gate, 1)
        chosen = chosen[:, 0]
        place = (jnp.cumsum(jax.nn.one_hot(chosen, 8, dtype=jnp.int32), 0) - 1)[
            jnp.arange(x.shape[0]), chosen
        ]
        table = jnp.zeros((8, 64, x.shape[1]), x.dtype).at[chosen, place].set(x, mode="drop")
        h = jax.nn.relu(jnp.einsum("ecd,edf->ecf", table, w["up"]))
        h = jnp.einsum("ecf,efd->ecd", h, w["down"])
        return h[chosen, place] * weight

    w = {
        "router": line.array((32, 8)),
        "up": line.array((8, 32, 64), "x"),
        "down": line.array((8, 64, 32), "x"),
    }
    yield "scattered_moe", (scattered, [w, line.array((256, 32), "x")], None)
    yield (
        "scattered_moe_train",
        (trained(lambda w, x: (scattered(w, x) ** 2).mean()), [w, line.array((256, 32), "x")], None),
    )


def _states() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line, grid = Placed("8"), Placed("4x2")

    def loss(params: Any, x: Any) -> Any:
        for w in params:
            x = jnp.tanh(x @ w)
        return (x**2).mean()

    def step(optimizer: Any) -> Any:
        return jax.jit(trained(loss, optimizer), donate_argnums=(0, 1))

    def stated(placed: Placed, optimizer: Any, params: Any) -> Any:
        specs = {p.shape: p.sharding.spec for p in params}
        state = jax.eval_shape(optimizer.init, params)
        return jax.tree.map(lambda a: placed.array(a.shape, *specs.get(a.shape, ()), dtype=a.dtype), state)

    rows = [line.array(shape, "x") for shape in ((128, 256), (256, 512), (512, 128))]
    x = line.array((64, 128), "x")
    decayed = optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-3, 100), weight_decay=0.1)
    )
    yield "adamw_fsdp", (step(decayed), [rows, stated(line, decayed, rows), x], None)
    both = [grid.array(shape, "x", "y") for shape in ((128, 256), (256, 128))]
    given = grid.array((64, 128), "x")
    for name, optimizer in (
        ("muon_both", optax.contrib.muon(1e-3)),
        ("sophia_like", optax.chain(optax.scale_by_rms(), optax.scale(-1e-3))),
        ("ema", optax.chain(optax.adam(1e-3), optax.ema(0.99))),
    ):
        yield name, (step(optimizer), [both, stated(grid, optimizer, both), given], None)

    def shampoo(w: Any, left: Any, right: Any, x: Any) -> Any:
        g = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        left, right = 0.9 * left + g @ g.T, 0.9 * right + g.T @ g

        def root(a: Any) -> Any:
            values, vectors = jnp.linalg.eigh(a)
            return (vectors * jnp.maximum(values, 1e-6) ** -0.25) @ vectors.T

        return w - 0.1 * root(left) @ g @ root(right), left, right

    w = line.array((64, 128), "x")
    yield (
        "shampoo",
        (shampoo, [w, line.array((64, 64)), line.array((128, 128)), line.array((32, 64), "x")], None),
    )

    def soap(w: Any, m: Any, v: Any, q: Any, x: Any) -> Any:
        g = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        m = 0.9 * m + 0.1 * g
        turned = q.T @ g
        v = 0.99 * v + 0.01 * turned**2
        return w - 0.1 * q @ ((q.T @ m) / (jnp.sqrt(v) + 1e-8)), m, v

    half = [line.array((128, 128), None, "x")] * 3
    yield (
        "soap_like",
        (
            jax.jit(soap, donate_argnums=(0, 1, 2)),
            [*half, line.array((128, 128)), line.array((64, 128))],
            None,
        ),
    )

    def mixed(w: Any, m: Any, v: Any, x: Any) -> Any:
        small = jax.tree.map(lambda p: p.astype(jnp.bfloat16), w)
        g = jax.grad(loss)(small, x.astype(jnp.bfloat16))
        g = jax.tree.map(lambda p: p.astype(jnp.float32), g)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        return jax.tree.map(lambda w, m, v: w - 0.1 * m / (jnp.sqrt(v) + 1e-8), w, m, v), m, v

    yield (
        "mixed_precision_adam",
        (jax.jit(mixed, donate_argnums=(0, 1, 2)), [rows, rows, rows, line.array((64, 128), "x")], None),
    )
