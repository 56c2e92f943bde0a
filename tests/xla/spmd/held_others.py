"""Programs of `held_models.py`: recurrences, stages, embedding tables, control, linear algebra."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained


def others() -> Programs:
    """The programs by name."""
    yield from _recurrent()
    yield from _staged()
    yield from _tables()
    yield from _algebra()


def _recurrent() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def remembered(w: Any, x: Any, y: Any) -> Any:
        def cell(state: Any, given: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(given @ w["in"] + h @ w["hidden"] + w["bias"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((x.shape[1], w["hidden"].shape[0]))
        _, states = lax.scan(cell, (zeros, zeros), x)
        return jnp.square(states @ w["out"] - y).mean()

    def weights(place: Placed, *axes: Any) -> dict[str, Any]:
        return {
            "in": place.array((128, 2048), *axes),
            "hidden": place.array((512, 2048), *axes),
            "bias": place.array((2048,)),
            "out": place.array((512, 128)),
        }

    long = [line.array((64, 128, 128), None, "x")] * 2
    yield "long_memory_grad", (trained(remembered), [weights(line), *long], None)
    tiles = [grid.array((64, 128, 128), None, "x")] * 2
    yield "long_memory_tensor", (trained(remembered), [weights(grid, None, "y"), *tiles], None)

    def selected(w: Any, x: Any) -> Any:
        rate = jax.nn.softplus(x @ w["rate"])
        decay = jnp.exp(-rate[..., None] * jnp.exp(w["log"]))
        drive = (rate * x)[..., None] * (x @ w["b"])[:, :, None]

        def joined(a: Any, b: Any) -> Any:
            return a[0] * b[0], b[0] * a[1] + b[1]

        _, states = lax.associative_scan(joined, (decay, drive), axis=1)
        return jnp.einsum("btdn,btn->btd", states, x @ w["c"])

    w = {
        "rate": line.array((256, 256)),
        "log": line.array((256, 8)),
        "b": line.array((256, 8)),
        "c": line.array((256, 8)),
    }
    yield "associative_states", (selected, [w, line.array((8, 128, 256), "x")], None)


def _staged() -> Programs:
    import jax.numpy as jnp
    from jax import lax

    grid = Placed("2x4")

    def staged(w: Any, x: Any, y: Any) -> Any:
        stages = w.shape[0]
        held = jnp.zeros((stages, *x.shape[1:]))

        def step(held: Any, given: Any) -> Any:
            held = jnp.concatenate([given[None], held[:-1]])
            held = lax.with_sharding_constraint(held, grid.at("y", "x"))
            held = held + jnp.tanh(jnp.einsum("sbd,sde->sbe", held, w))
            return held, held[-1]

        padded = jnp.concatenate([x, jnp.zeros((stages - 1, *x.shape[1:]))])
        _, made = lax.scan(step, held, padded)
        return jnp.square(made[stages - 1 :] - y).mean()

    given = [grid.array((8, 64, 512), None, "x")] * 2
    weights = grid.array((4, 512, 512), "y")
    yield "staged_scan", (staged, [weights, *given], None)
    yield "staged_scan_grad", (trained(staged), [weights, *given], None)


def _tables() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def clicked(w: Any, ids: Any, dense: Any, labels: Any) -> Any:
        found = jnp.stack([table[ids[:, n]] for n, table in enumerate(w["tables"])], 1)
        x = jnp.concatenate([found, jax.nn.relu(dense @ w["dense"])[:, None]], 1)
        crossed = jnp.einsum("bie,bje->bij", x, x)[:, *jnp.triu_indices(x.shape[1], 1)]
        scores = jax.nn.relu(jnp.concatenate([crossed, x.reshape(len(x), -1)], -1) @ w["top"]) @ w["last"]
        return optax.sigmoid_binary_cross_entropy(scores[:, 0], labels).mean()

    w = {
        "tables": [line.array((size, 64), "x") for size in (65536, 32768, 8192)],
        "dense": line.array((16, 64)),
        "top": line.array((6 + 256, 256)),
        "last": line.array((256, 1)),
    }
    given = [
        line.array((4096, 3), "x", dtype="int32"),
        line.array((4096, 16), "x"),
        line.array((4096,), "x"),
    ]
    adagrad = optax.adagrad(0.1)
    yield (
        "clicks_adagrad",
        (
            jax.jit(trained(clicked, adagrad), donate_argnums=(0, 1)),
            [w, jax.eval_shape(adagrad.init, w), *given],
            None,
        ),
    )
    yield "clicks_scored", (clicked, [w, *given], None)

    def acted(w: Any, seen: Any, done: Any, keys: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            h = jax.nn.relu(state @ w["a"])
            logits = h @ w["b"]
            action = jax.random.categorical(jax.random.wrap_key_data(key), logits)
            moved = state + 0.1 * jax.nn.one_hot(action, state.shape[-1])
            logs = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], -1)[:, 0]
            return moved, (logs, moved.sum(-1), h @ w["value"])

        _, (logs, rewards, values) = lax.scan(step, seen, keys)

        def back(total: Any, given: Any) -> Any:
            total = given + 0.99 * total * (1 - done)
            return total, total

        _, returns = lax.scan(back, jnp.zeros_like(rewards[0]), rewards, reverse=True)
        gains = lax.stop_gradient(returns - values[..., 0])
        return -(logs * gains).mean() + jnp.square(returns - values[..., 0]).mean()

    policy = {
        "a": grid.array((64, 512), None, "y"),
        "b": grid.array((512, 64), "y"),
        "value": grid.array((512, 1), "y"),
    }
    yield (
        "actor_critic",
        (
            trained(acted),
            [
                policy,
                grid.array((4096, 64), "x"),
                grid.array((4096,), "x"),
                grid.array((32, 2), dtype="uint32"),
            ],
            None,
        ),
    )


def _algebra() -> Programs:
    import jax.numpy as jnp
    from jax import lax
    from jax.scipy.linalg import cho_factor, cho_solve

    line, grid = Placed("8"), Placed("2x4")

    def process(x: Any, y: Any, new: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            return jnp.exp(-0.5 * jnp.square(a[:, None] - b[None]).sum(-1))

        factor = cho_factor(kernel(x, x) + 0.1 * jnp.eye(len(x)))
        return kernel(new, x) @ cho_solve(factor, y)

    yield (
        "gaussian_process",
        (
            process,
            [line.array((512, 8), "x"), line.array((512,), "x"), line.array((1024, 8), "x")],
            None,
        ),
    )

    def blocks(a: Any, b: Any, c: Any) -> Any:
        return (a @ b) @ c + a * 2 - jnp.trace(b)

    yield "products_on_grid", (blocks, [grid.array((2048, 2048), "x", "y")] * 3, None)

    def subspace(a: Any, q: Any) -> Any:
        def step(q: Any, _: Any) -> Any:
            z = a @ q
            gram = z.T @ z
            return z @ jnp.linalg.inv(jnp.linalg.cholesky(gram)).T, jnp.trace(gram)

        return lax.scan(step, q, None, length=5)

    yield "subspace", (subspace, [line.array((4096, 4096), "x"), line.array((4096, 64), "x")], None)

    def factored(r: Any, mask: Any, u: Any, v: Any) -> Any:
        def step(pair: Any, _: Any) -> Any:
            u, v = pair
            error = mask * (u @ v.T - r)
            return (u - 0.01 * (error @ v), v - 0.01 * (error.T @ u)), jnp.square(error).sum()

        return lax.scan(step, (u, v), None, length=10)

    yield (
        "factored_ratings",
        (
            factored,
            [
                grid.array((2048, 4096), "x", "y"),
                grid.array((2048, 4096), "x", "y"),
                grid.array((2048, 64), "x"),
                grid.array((4096, 64), "y"),
            ],
            None,
        ),
    )
