"""Dynamic programs, filters, recurrences, generation of tokens, and policies."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def sequences() -> Programs:
    """The programs by name; a function that is jitted already donates arguments."""
    yield from _recurrences()
    yield from _decoding()
    yield from _policies()


def _recurrences() -> Programs:
    """Dynamic programs, filters and recurrences."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def viterbi(logits: Any, moves: Any) -> Any:
        def body(best: Any, logit: Any) -> Any:
            scores = best[:, :, None] + moves
            return scores.max(1) + logit, scores.argmax(1)

        def back_to(state: Any, best: Any) -> Any:
            before = jnp.take_along_axis(best, state[:, None], 1)[:, 0]
            return before, before

        best, back = lax.scan(body, logits[0], logits[1:])
        last = best.argmax(1)
        _, path = lax.scan(back_to, last, back, reverse=True)
        return path, best.max(1)

    yield "viterbi", (viterbi, [line.array((40, 64, 24), None, "x"), line.array((24, 24))], None)

    def kalman(y: Any, a: Any, c: Any) -> Any:
        def body(state: Any, y: Any) -> Any:
            m, p = state
            m, p = m @ a.T, a @ p @ a.T + 0.1 * jnp.eye(a.shape[0])
            s = c @ p @ c.T + jnp.eye(c.shape[0])
            gain = jnp.linalg.solve(s, c @ p).T
            return (m + (y - m @ c.T) @ gain.T, p - gain @ c @ p), m

        start = jnp.zeros((y.shape[1], a.shape[0])), jnp.eye(a.shape[0])
        return lax.scan(body, start, y)[1]

    yield (
        "kalman",
        (kalman, [line.array((50, 256, 4), None, "x"), line.array((8, 8)), line.array((4, 8))], None),
    )

    def particles(key: Any, y: Any) -> Any:
        def body(state: Any, y: Any) -> Any:
            x, key = state
            key, first, second = jax.random.split(key, 3)
            x = 0.9 * x + jax.random.normal(first, x.shape)
            weights = jax.nn.softmax(-0.5 * (y - x) ** 2)
            at = (jax.random.uniform(second) + jnp.arange(x.shape[0])) / x.shape[0]
            return (x[jnp.searchsorted(jnp.cumsum(weights), at)], key), x @ weights

        keys = jax.random.wrap_key_data(key, impl="threefry2x32")
        return lax.scan(body, (jnp.zeros(4096), keys), y)[1]

    yield "particle_filter", (particles, [line.array((2,), dtype="uint32"), line.array((20,))], line.at())

    def edit(a: Any, b: Any) -> Any:
        def row(last: Any, x: Any) -> Any:
            def cell(left: Any, given: Any) -> Any:
                up, corner, y = given
                value = jnp.minimum(jnp.minimum(left, up) + 1, corner + (x != y))
                return value, value

            first = last[0] + 1
            _, rest = lax.scan(cell, first, (last[1:], last[:-1], b))
            return jnp.concatenate([first[None], rest]), None

        return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[0][-1]

    ids = line.array((64, 24), "x", dtype="int32")
    yield "edit_distance", (jax.vmap(edit), [ids, ids], None)

    def crf(logits: Any, moves: Any, labels: Any) -> Any:
        def loss(moves: Any) -> Any:
            def body(alpha: Any, logit: Any) -> Any:
                return jax.nn.logsumexp(alpha[:, :, None] + moves, 1) + logit, None

            alpha, _ = lax.scan(body, logits[:, 0], logits.swapaxes(0, 1)[1:])
            gold = jnp.take_along_axis(logits, labels[..., None], 2).sum((1, 2)) + moves[
                labels[:, :-1], labels[:, 1:]
            ].sum(1)
            return (jax.nn.logsumexp(alpha, 1) - gold).mean()

        return jax.value_and_grad(loss)(moves)

    given = [line.array((64, 32, 16), "x"), line.array((16, 16)), line.array((64, 32), "x", dtype="int32")]
    yield "conditional_field", (crf, given, None)

    def selective(x: Any, w: Any) -> Any:
        delta, b, c = jax.nn.softplus(x @ w["d"]), x @ w["b"], x @ w["c"]
        a = jnp.exp(-delta[..., None] * jnp.arange(1.0, 9.0))
        u = (delta * x)[..., None] * b[..., None, :]
        _, states = lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, u), axis=1)
        return (states * c[..., None, :]).sum(-1)

    w = {"d": grid.array((64, 64), None, "y"), "b": grid.array((64, 8)), "c": grid.array((64, 8))}
    x = grid.array((8, 64, 64), "x")
    yield "selective_scan", (selective, [x, w], None)
    yield "selective_scan_grad", (jax.grad(lambda w, x: selective(x, w).sum()), [w, x], None)

    def retained(q: Any, k: Any, v: Any) -> Any:
        def chunk(state: Any, given: Any) -> Any:
            q, k, v = given
            n = q.shape[1]
            decay = jnp.tril(0.9 ** (jnp.arange(n)[:, None] - jnp.arange(n)))
            inner = jnp.einsum("bid,bjd,ij,bje->bie", q, k, decay, v)
            cross = jnp.einsum("bid,bde->bie", q, state) * (0.9 ** jnp.arange(n))[None, :, None]
            return 0.9**n * state + jnp.einsum("bjd,bje->bde", k, v), inner + cross

        split = [a.reshape(a.shape[0], 8, -1, a.shape[2]).swapaxes(0, 1) for a in (q, k, v)]
        return lax.scan(chunk, jnp.zeros((q.shape[0], q.shape[2], v.shape[2])), split)[1]

    x = line.array((16, 128, 32), "x")
    yield "retention", (retained, [x, x, x], None)

    def differential(w: Any, x: Any) -> Any:
        def field(x: Any) -> Any:
            return jnp.tanh(x @ w[0]) @ w[1]

        @jax.checkpoint
        def rk4(x: Any, _: Any) -> Any:
            a = field(x)
            b = field(x + 0.05 * a)
            c = field(x + 0.05 * b)
            d = field(x + 0.1 * c)
            return x + 0.1 / 6 * (a + 2 * b + 2 * c + d), None

        return lax.scan(rk4, x, None, length=10)[0]

    w = [grid.array((64, 128), None, "y"), grid.array((128, 64), "y")]
    x = grid.array((256, 64), "x")
    yield "neural_ode", (differential, [w, x], None)
    yield "neural_ode_grad", (jax.grad(lambda w, x: (differential(w, x) ** 2).mean()), [w, x], None)


def _decoding() -> Programs:
    """Generation of tokens."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    grid = Placed("4x2")

    def beams(w: Any, table: Any, start: Any) -> Any:
        width = 4

        def body(state: Any, _: Any) -> Any:
            tokens, scores, h = state
            h = jnp.tanh(h @ w + table[tokens])
            logs = jax.nn.log_softmax(h @ table.T) + scores[..., None]
            n, k, v = logs.shape
            scores, best = lax.top_k(logs.reshape(n, k * v), width)
            return (best % v, scores, jnp.take_along_axis(h, (best // v)[..., None], 1)), best % v

        n = start.shape[0]
        first = (
            jnp.broadcast_to(start[:, None], (n, width)),
            jnp.zeros((n, width)),
            jnp.zeros((n, width, w.shape[0])),
        )
        return lax.scan(body, first, None, length=8)

    given = [grid.array((64, 64)), grid.array((512, 64), "y"), grid.array((32,), "x", dtype="int32")]
    yield "beam_search", (beams, given, None)

    def generated(w: Any, k: Any, v: Any, x: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            k, v, x = state
            q, new_k, new_v = (jnp.einsum("bd,dhe->bhe", x, m) for m in w["qkv"])
            k = lax.dynamic_update_slice(k, new_k[:, None], (0, i, 0, 0))
            v = lax.dynamic_update_slice(v, new_v[:, None], (0, i, 0, 0))
            s = jnp.where(jnp.arange(k.shape[1]) <= i, jnp.einsum("bhe,bthe->bht", q, k), -1e9)
            o = jnp.einsum("bht,bthe->bhe", jax.nn.softmax(s), v)
            return k, v, x + jnp.einsum("bhe,hed->bd", o, w["o"])

        return lax.fori_loop(0, 16, body, (k, v, x))

    w = {"qkv": [grid.array((64, 4, 16), None, "y")] * 3, "o": grid.array((4, 16, 64), "y")}
    cache = grid.array((8, 64, 4, 16), "x", None, "y")
    yield "generate", (generated, [w, cache, cache, grid.array((8, 64), "x")], None)
    yield (
        "generate_donated",
        (jax.jit(generated, donate_argnums=(1, 2)), [w, cache, cache, grid.array((8, 64), "x")], None),
    )

    def nucleus(key: Any, logits: Any) -> Any:
        values, ids = lax.top_k(logits, 64)
        kept = jnp.cumsum(jax.nn.softmax(values), -1) < 0.9
        keys = jax.random.wrap_key_data(key, impl="threefry2x32")
        chosen = jax.random.categorical(keys, jnp.where(kept, values, -1e9))
        return jnp.take_along_axis(ids, chosen[:, None], 1)

    yield "nucleus", (nucleus, [grid.array((2,), dtype="uint32"), grid.array((64, 2048), "x", "y")], None)

    def quantized(x: Any, w: Any, scale: Any) -> Any:
        size = jnp.abs(x).max(-1, keepdims=True) / 127
        small = jnp.round(x / size).astype(jnp.int8)
        product = lax.dot_general(small, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        return product.astype(jnp.float32) * size * scale

    given = [
        grid.array((128, 256), "x"),
        grid.array((256, 512), None, "y", dtype="int8"),
        grid.array((512,), "y"),
    ]
    yield "quantized", (quantized, given, None)


def _policies() -> Programs:
    """Reinforcement learning."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line = Placed("8")

    def acted(w: Any, x: Any) -> Any:
        h = jnp.tanh(jnp.tanh(x @ w["a"]) @ w["b"])
        return jax.nn.log_softmax(h @ w["p"]), (h @ w["v"])[..., 0]

    def advantages(rewards: Any, values: Any) -> Any:
        def body(carry: Any, given: Any) -> Any:
            reward, value, after = given
            carry = reward + 0.99 * after - value + 0.99 * 0.95 * carry
            return carry, carry

        after = jnp.concatenate([values[1:], values[-1:]])
        return lax.scan(body, jnp.zeros(values.shape[1]), (rewards, values, after), reverse=True)[1]

    def proximal(w: Any, x: Any, actions: Any, old: Any, rewards: Any) -> Any:
        _, values = acted(w, x)
        gains = advantages(rewards, values)

        def loss(w: Any, x: Any, actions: Any, old: Any, gains: Any, wanted: Any) -> Any:
            logs, values = acted(w, x)
            logs = jnp.take_along_axis(logs, actions[..., None], -1)[..., 0]
            ratio = jnp.exp(logs - old)
            clipped = jnp.clip(ratio, 0.8, 1.2)
            return -jnp.minimum(ratio * gains, clipped * gains).mean() + ((values - wanted) ** 2).mean()

        def epoch(w: Any, _: Any) -> Any:
            grads = jax.grad(loss)(w, x, actions, old, gains, gains + values)
            return jax.tree.map(lambda p, g: p - 1e-3 * g, w, grads), None

        return lax.scan(epoch, w, None, length=4)[0]

    w = {
        "a": line.array((16, 64)),
        "b": line.array((64, 64)),
        "p": line.array((64, 6)),
        "v": line.array((64, 1)),
    }
    flat = line.array((32, 128), None, "x")
    given = [
        w,
        line.array((32, 128, 16), None, "x"),
        line.array((32, 128), None, "x", dtype="int32"),
        flat,
        flat,
    ]
    yield "proximal_policy", (proximal, given, None)

    def targets(w: Any, slow: Any, x: Any, after: Any, actions: Any, rewards: Any) -> Any:
        def loss(w: Any) -> Any:
            q = jnp.take_along_axis(acted(w, x)[0], actions[:, None], 1)[:, 0]
            best = jnp.argmax(acted(w, after)[0], 1)
            wanted = rewards + 0.99 * jnp.take_along_axis(acted(slow, after)[0], best[:, None], 1)[:, 0]
            apart = jnp.abs(q - lax.stop_gradient(wanted))
            return jnp.where(apart < 1, 0.5 * apart**2, apart - 0.5).mean()

        new = jax.tree.map(lambda p, g: p - 1e-3 * g, w, jax.grad(loss)(w))
        return new, jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, slow, new)

    x, flat = line.array((512, 16), "x"), line.array((512,), "x")
    yield "double_q", (targets, [w, w, x, x, line.array((512,), "x", dtype="int32"), flat], None)
