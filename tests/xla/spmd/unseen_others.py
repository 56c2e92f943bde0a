"""The programs of `unseen_models.py` that are neither language nor images: tables, decisions, science."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def others() -> Programs:
    """The programs by name."""
    yield from _tables()
    yield from _decisions()
    yield from _science()


def _tables() -> Programs:
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("2x4")

    def skipgram(w: Any, center: Any, context: Any, others: Any) -> Any:
        u, v, n = w["in"][center], w["out"][context], w["out"][others]
        near = jax.nn.log_sigmoid((u * v).sum(-1))
        return -(near + jax.nn.log_sigmoid(-jnp.einsum("bd,bkd->bk", u, n)).sum(-1)).mean()

    weights = {name: line.array((8192, 128), "x") for name in ("in", "out")}
    ids = [line.array((1024,), dtype="int32")] * 2 + [line.array((1024, 8), dtype="int32")]
    yield "skipgram", (trained(skipgram), [weights, *ids], None)

    def crossed(w: Any, dense: Any, sparse: Any, y: Any) -> Any:
        rows = [table[sparse[:, i]] for i, table in enumerate(w["tables"])]
        all_ = jnp.stack([jax.nn.relu(dense @ w["bottom"]), *rows], 1)
        pairs = jnp.einsum("bid,bjd->bij", all_, all_)
        i, j = jnp.triu_indices(len(rows) + 1, 1)
        logits = (jnp.concatenate([all_[:, 0], pairs[:, i, j]], -1) @ w["top"])[:, 0]
        return jnp.mean(jnp.logaddexp(0.0, -logits * y))

    tables = [grid.array((4096, 64), None, "y")] * 6
    weights = {"tables": tables, "bottom": grid.array((16, 64)), "top": grid.array((85, 1))}
    given = [grid.array((512, 16), "x"), grid.array((512, 6), "x", dtype="int32"), grid.array((512,), "x")]
    yield "crossed_tables", (trained(crossed), [weights, *given], None)

    def convolved(w: Any, x: Any, adjacency: Any) -> Any:
        scale = jax.lax.rsqrt(adjacency.sum(1) + 1.0)
        for layer in w:
            x = jax.nn.relu(scale[:, None] * (adjacency @ (scale[:, None] * (x @ layer))))
        return jnp.square(x).mean()

    graph = [line.array((1024, 64), "x"), line.array((1024, 1024), "x")]
    yield "convolved_graph", (trained(convolved), [[line.array((64, 64))] * 2, *graph], None)

    def sampled(w: Any, x: Any, near: Any) -> Any:
        h = jnp.concatenate([x, x[near].mean(1)], -1) @ w
        return h / jnp.linalg.norm(h, axis=-1, keepdims=True)

    graph = [line.array((128, 64)), line.array((2048, 64), "x"), line.array((2048, 8), "x", dtype="int32")]
    yield "sampled_graph", (sampled, graph, None)


def _decisions() -> Programs:
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("2x4")

    def chosen(w: Any, ids: Any) -> Any:
        x = jax.nn.relu(w["table"][ids[:, :-1]] @ w["hidden"])
        logs = jax.nn.log_softmax(x @ w["head"])
        return jnp.take_along_axis(logs, ids[:, 1:, None], -1)[..., 0]

    def preferred(w: Any, reference: Any, better: Any, worse: Any) -> Any:
        gains = [chosen(w, ids).sum(-1) - chosen(reference, ids).sum(-1) for ids in (better, worse)]
        return -jax.nn.log_sigmoid(0.1 * (gains[0] - gains[1])).mean()

    weights = {
        "table": grid.array((2048, 128), None, "y"),
        "hidden": grid.array((128, 256), None, "y"),
        "head": grid.array((256, 2048), "y"),
    }
    ids = [grid.array((16, 64), "x", dtype="int32")] * 2
    yield "preferred", (trained(preferred), [weights, weights, *ids], None)

    def grouped(w: Any, ids: Any, rewards: Any, old: Any) -> Any:
        gain = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-4)
        ratio = jnp.exp(chosen(w, ids) - old)
        gain = gain.reshape(-1)[:, None]
        return -jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8, 1.2) * gain).mean()

    given = [grid.array((32, 64), "x", dtype="int32"), grid.array((4, 8)), grid.array((32, 63), "x")]
    yield "group_relative", (trained(grouped), [weights, *given], None)

    def orthogonal(w: Any, x: Any) -> Any:
        grads = jax.grad(lambda w: jnp.square(jnp.tanh(x @ w[0]) @ w[1]).mean())(w)

        def step(m: Any) -> Any:
            m = m / (jnp.linalg.norm(m) + 1e-7)
            for _ in range(3):
                a = m @ m.T
                m = 3.4445 * m + (-4.775 * a + 2.0315 * a @ a) @ m
            return m

        return [each - 0.02 * step(grad) for each, grad in zip(w, grads, strict=True)]

    matrices = [line.array((256, 512), "x"), line.array((512, 256), "x")]
    yield "orthogonal", (orthogonal, [matrices, line.array((64, 256), "x")], None)


def _science() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def ising(spins: Any, key: Any) -> Any:
        odd = (jnp.arange(256)[:, None] + jnp.arange(256)) % 2

        def sweep(state: Any, key: Any) -> Any:
            for color in (0, 1):
                near = sum(jnp.roll(state, s, d) for s in (1, -1) for d in (0, 1))
                flips = jax.random.uniform(key, state.shape) < jnp.exp(-0.8 * state * near)
                state = jnp.where(flips & (odd == color), -state, state)
            return state, state.mean()

        return lax.scan(sweep, spins, jax.random.split(jax.random.wrap_key_data(key), 4))

    yield "ising", (ising, [grid.array((256, 256), "x", "y"), grid.array((2,), dtype="uint32")], None)

    def sampled(w: Any, x: Any, y: Any, p: Any) -> Any:
        grad = jax.grad(lambda w: jnp.logaddexp(0.0, -y * (x @ w)).sum() + 0.5 * (w @ w))

        def leap(_: Any, state: Any) -> Any:
            w, p = state
            p = p - 0.005 * grad(w)
            w = w + 0.01 * p
            return w, p - 0.005 * grad(w)

        return lax.fori_loop(0, 5, leap, (w, p))

    data = [line.array((64,)), line.array((4096, 64), "x"), line.array((4096,), "x"), line.array((64,))]
    yield "hamiltonian", (sampled, data, None)

    def principal(x: Any, v: Any) -> Any:
        x = x - x.mean(0)

        def step(v: Any, _: Any) -> Any:
            v = x.T @ (x @ v)
            return v / jnp.linalg.norm(v, axis=0), None

        return lax.scan(step, v, None, length=4)[0]

    yield "principal", (principal, [line.array((4096, 256), "x"), line.array((256, 8))], None)

    def deposited(at: Any, speed: Any) -> Any:
        cell = jnp.floor(at * 128).astype(jnp.int32)
        mass = jnp.zeros((128, 128)).at[cell[:, 0], cell[:, 1]].add(1.0)
        push = jnp.stack([jnp.roll(mass, -1, d) - jnp.roll(mass, 1, d) for d in (0, 1)], -1)
        speed = speed - 0.01 * push[cell[:, 0], cell[:, 1]]
        return (at + speed) % 1.0, speed, mass

    yield "deposited", (deposited, [line.array((8192, 2), "x")] * 2, None)
