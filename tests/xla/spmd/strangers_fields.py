"""Sciences and tables, in `strangers_models.py`: processes, fluids, weather, atoms, histories, blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs
from tests.xla.spmd.strangers_language import optimized, optimizer_state


def programs() -> Programs:
    """The programs by name."""
    yield from _processes()
    yield from _operators()
    yield from _fluids()
    yield from _weather()
    yield from _atoms()
    yield from _histories()
    yield from _blocks()


def _processes() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")

    def negative_evidence(kernel: Any, x: Any, y: Any) -> Any:
        """Of a Gaussian process with a kernel of Matern, a length for each feature."""
        scaled = x * jnp.exp(-kernel["lengths"])
        squares = jnp.sum(jnp.square(scaled), axis=-1)
        apart = squares[:, None] + squares[None, :] - 2 * scaled @ scaled.T
        r = jnp.sqrt(5.0 * jnp.maximum(apart, 1e-12))
        covariance = jnp.exp(2 * kernel["scale"]) * (1 + r + r * r / 3) * jnp.exp(-r)
        covariance = covariance + (jnp.exp(2 * kernel["noise"]) + 1e-6) * jnp.eye(x.shape[0])
        factor = jnp.linalg.cholesky(covariance)
        whitened = jax.scipy.linalg.solve_triangular(factor, y - kernel["mean"], lower=True)
        half = jnp.sum(jnp.log(jnp.diagonal(factor)))
        return 0.5 * jnp.sum(jnp.square(whitened)) + half + 0.5 * y.size * jnp.log(2 * jnp.pi)

    adam = optax.adam(0.05)
    kernel = {"lengths": line.array((16,))}
    kernel |= {name: line.array(()) for name in ("scale", "noise", "mean")}
    arguments = [kernel, optimizer_state(line, adam, kernel)]
    arguments += [line.array((2048, 16), "x"), line.array((2048,), "x")]
    yield "process_fit", (optimized(negative_evidence, adam), arguments, None)


def _operators() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    width, modes, side = 64, 16, 128

    def spectral(w: Any, x: Any) -> Any:
        """Products of the lowest frequencies of both signs, real and imaginary parts apart."""
        b, h, wide, c = x.shape
        f = jnp.fft.rfft2(x, axes=(1, 2))
        low, high = (jax.lax.complex(w[name][..., 0], w[name][..., 1]) for name in ("low", "high"))
        out = jnp.zeros((b, h, wide // 2 + 1, c), f.dtype)
        out = out.at[:, :modes, :modes].set(jnp.einsum("bxyi,xyio->bxyo", f[:, :modes, :modes], low))
        out = out.at[:, -modes:, :modes].set(jnp.einsum("bxyi,xyio->bxyo", f[:, -modes:, :modes], high))
        return jnp.fft.irfft2(out, s=(h, wide), axes=(1, 2))

    def loss(params: Any, fields: Any, target: Any) -> Any:
        side = fields.shape[1]
        grid = jnp.linspace(0, 1, side)
        places = jnp.stack(jnp.meshgrid(grid, grid, indexing="ij"), axis=-1)
        places = jnp.broadcast_to(places, (fields.shape[0], side, side, 2))
        x = jnp.concatenate([fields, places], axis=-1) @ params["lift"]
        for w in params["layers"]:
            x = jax.nn.gelu(spectral(w, x) + x @ w["own"] + w["bias"])
        y = jax.nn.gelu(x @ params["project_1"]) @ params["project_2"]
        errors = jnp.sqrt(jnp.sum(jnp.square(y - target), axis=(1, 2, 3)))
        return jnp.mean(errors / jnp.sqrt(jnp.sum(jnp.square(target), axis=(1, 2, 3))))

    weights = line.array((modes, modes, width, width, 2))
    layer = {"low": weights, "high": weights}
    layer |= {"own": line.array((width, width)), "bias": line.array((width,))}
    params = {
        "lift": line.array((12, width)),
        "layers": [layer] * 4,
        "project_1": line.array((width, 128)),
        "project_2": line.array((128, 1)),
    }
    adam = optax.adamw(1e-3)
    arguments = [params, optimizer_state(line, adam, params)]
    arguments += [line.array((32, side, side, 10), "x"), line.array((32, side, side, 1), "x")]
    yield "fourier_operator_step", (optimized(loss, adam), arguments, None)


def _fluids() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    h, dt, viscosity = 1.0 / 256, 1e-3, 1e-4

    def neighbours(a: Any, axis: int) -> tuple[Any, Any]:
        return jnp.roll(a, 1, axis), jnp.roll(a, -1, axis)

    def laplacian(a: Any) -> Any:
        return sum(sum(neighbours(a, axis)) - 2 * a for axis in range(3)) / h**2

    def slope(a: Any, axis: int) -> Any:
        before, after = neighbours(a, axis)
        return (after - before) / (2 * h)

    def advance(velocity: Any, smoke: Any) -> Any:
        """Chorin's projection in a periodic box: five steps, pressure by sweeps of Jacobi."""

        def step(carry: Any, _: Any) -> Any:
            velocity, smoke, pressure = carry

            def carried(a: Any) -> Any:
                return sum(velocity[i] * slope(a, i) for i in range(3))

            force = [0.0, 0.0, 0.5 * smoke]
            moved = [
                u + dt * (viscosity * laplacian(u) - carried(u) + force[i]) for i, u in enumerate(velocity)
            ]
            smoke = smoke + dt * (1e-4 * laplacian(smoke) - carried(smoke))
            source = sum(slope(u, i) for i, u in enumerate(moved)) / dt

            def sweep(_: Any, p: Any) -> Any:
                around = sum(sum(neighbours(p, axis)) for axis in range(3))
                return (around - h**2 * source) / 6

            pressure = jax.lax.fori_loop(0, 20, sweep, pressure)
            velocity = tuple(u - dt * slope(pressure, i) for i, u in enumerate(moved))
            return (velocity, smoke, pressure), jnp.mean(sum(jnp.square(u) for u in velocity))

        start = (velocity, smoke, jnp.zeros_like(smoke))
        (velocity, smoke, _), energy = jax.lax.scan(step, start, None, length=5)
        return velocity, smoke, energy

    field = grid.array((256, 256, 256), "x", "y")
    step = jax.jit(advance, donate_argnums=(0, 1))
    yield "fluid_in_box", (step, [(field, field, field), field], None)


def _weather() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line = Placed("8")
    nodes, edges, width, rounds = 40960, 245760, 512, 4

    def mlp(w: Any, *parts: Any) -> Any:
        x = jnp.concatenate(parts, axis=-1)
        x = jax.nn.swish(x @ w["in"].astype(x.dtype) + w["bias"].astype(x.dtype)) @ w["out"].astype(x.dtype)
        y = x.astype(jnp.float32)
        y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)
        return (y * w["scale"]).astype(x.dtype)

    def loss(params: Any, state: Any, features: Any, senders: Any, receivers: Any, target: Any) -> Any:
        """Rounds of messages along the edges of a mesh of the globe."""
        x = mlp(params["nodes"], state.astype(jnp.bfloat16))
        e = mlp(params["edges"], features.astype(jnp.bfloat16))

        @jax.checkpoint
        def one(carry: Any, w: Any) -> Any:
            x, e = carry
            sent = mlp(w["edge"], e, x[senders], x[receivers])
            received = jax.ops.segment_sum(sent, receivers, num_segments=nodes)
            received = jax.lax.with_sharding_constraint(received, line.at("x"))
            return (x + mlp(w["node"], x, received), e + sent), None

        (x, _), _ = jax.lax.scan(one, (x, e), params["rounds"])
        change = x.astype(jnp.float32) @ params["head"]
        return jnp.mean(jnp.square(state + change - target))

    def weights(inside: int, *first: int) -> dict[str, Any]:
        own = {"in": (inside, width), "bias": (width,), "out": (width, width), "scale": (width,)}
        return {name: line.array((*first, *shape)) for name, shape in own.items()}

    params = {
        "nodes": weights(256),
        "edges": weights(4),
        "rounds": {"edge": weights(3 * width, rounds), "node": weights(2 * width, rounds)},
        "head": line.array((width, 256)),
    }
    adam = optax.chain(optax.clip_by_global_norm(32.0), optax.adamw(1e-3, b2=0.95, weight_decay=0.1))
    state, ends = line.array((nodes, 256), "x"), line.array((edges,), "x", dtype="int32")
    arguments = [params, optimizer_state(line, adam, params), state, line.array((edges, 4), "x")]
    yield "weather_mesh_step", (optimized(loss, adam), [*arguments, ends, ends, state], None)


def _atoms() -> Programs:
    import jax
    import jax.numpy as jnp

    line = Placed("8")
    atoms, room, box, dt = 262144, 64, 64.0, 0.005

    def energy(places: Any, neighbours: Any) -> Any:
        """Lennard-Jones, cut off smoothly; a list of neighbours is filled up with the number of atoms."""
        there = places.at[neighbours].get(mode="clip")
        apart = places[:, None] - there
        apart = apart - box * jnp.round(apart / box)
        square = jnp.sum(jnp.square(apart), axis=-1)
        near = (neighbours < atoms) & (square < 6.25)
        sixth = 1.0 / jnp.where(near, square, 1.0) ** 3
        pair = 4.0 * (sixth * sixth - sixth) * jnp.square(1 - jnp.where(near, square, 6.25) / 6.25)
        return 0.5 * jnp.sum(jnp.where(near, pair, 0.0))

    def simulate(places: Any, speeds: Any, neighbours: Any) -> Any:
        """Ten steps of Verlet at constant energy."""
        force = jax.grad(lambda places: -energy(places, neighbours))

        def step(_: Any, carry: Any) -> Any:
            places, speeds, forces = carry
            speeds = speeds + 0.5 * dt * forces
            places = jnp.mod(places + dt * speeds, box)
            forces = force(places)
            return places, speeds + 0.5 * dt * forces, forces

        places, speeds, _ = jax.lax.fori_loop(0, 10, step, (places, speeds, force(places)))
        return places, speeds, energy(places, neighbours) + 0.5 * jnp.sum(jnp.square(speeds))

    place = line.array((atoms, 3), "x")
    arguments = [place, place, line.array((atoms, room), "x", dtype="int32")]
    yield "atoms_near_steps", (jax.jit(simulate, donate_argnums=(0, 1)), arguments, None)


def _histories() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    line = Placed("8")
    items, width, length, negatives = 2_000_000, 128, 256, 128

    def own_rows(table: Any, ids: Any) -> Any:
        """Rows of a table that is sharded by rows: each device looks up its own, then all are added."""
        rows = table.shape[0]
        ids = jax.lax.all_gather(ids, "x", tiled=True)
        local = ids - jax.lax.axis_index("x") * rows
        here = (local >= 0) & (local < rows)
        found = jnp.where(here[..., None], table[jnp.clip(local, 0, rows - 1)], 0)
        return jax.lax.psum_scatter(found, "x", scatter_dimension=0, tiled=True)

    looked_up = jax.shard_map(
        own_rows, mesh=line.mesh, in_specs=(P("x"), P("x")), out_specs=P("x"), check_vma=False
    )

    def loss(dense: Any, table: Any, clicks: Any, others: Any) -> Any:
        """SASRec: attention to what was clicked before, against sampled items."""
        rows = looked_up(table, jnp.concatenate([clicks, others], axis=1))
        history, sampled = rows[:, : length + 1], rows[:, length + 1 :]
        x = history[:, :-1] * width**0.5 + dense["places"]
        for w in dense["layers"]:
            h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
            q, k, v = (each.reshape(*x.shape[:2], 4, -1) for each in jnp.split(h @ w["qkv"], 3, axis=-1))
            x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ w["out"]
            x = x + jax.nn.relu(x @ w["up"]) @ w["down"]
        good = jnp.sum(x * history[:, 1:], axis=-1, keepdims=True)
        bad = jnp.einsum("btd,bnd->btn", x, sampled)
        scores = jax.nn.log_softmax(jnp.concatenate([good, bad], axis=-1), axis=-1)
        mask = (clicks[:, 1:] > 0).astype(jnp.float32)
        return -jnp.sum(scores[..., 0] * mask) / jnp.maximum(mask.sum(), 1)

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def sequence_step(dense: Any, table: Any, sums: Any, clicks: Any, others: Any) -> Any:
        """Descent for the layers, Adagrad for the table."""
        value, (own, rows) = jax.value_and_grad(loss, argnums=(0, 1))(dense, table, clicks, others)
        dense = jax.tree.map(lambda p, g: p - 0.05 * g, dense, own)
        sums = sums + jnp.square(rows)
        return dense, table - 0.05 * rows / (jnp.sqrt(sums) + 1e-7), sums, value

    layer = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 512), "down": (512, width)}
    layers = [{name: line.array(shape) for name, shape in layer.items()} for _ in range(2)]
    table = line.array((items, width), "x")
    arguments = [{"places": line.array((length, width)), "layers": layers}, table, table]
    arguments += [line.array((512, n), "x", dtype="int32") for n in (length + 1, negatives)]
    yield "histories_by_rows_step", (sequence_step, arguments, None)


def _blocks() -> Programs:
    import jax
    import jax.numpy as jnp
    import numpy as np

    grid = Placed("2x4")
    heads, head, length, size, seldom = 8, 64, 4096, 64, 3

    def sparse(q: Any, k: Any, v: Any) -> Any:
        """BigBird: a block sees itself, its neighbours, the first one, and a few by chance."""
        n = length // size
        q, k, v = (each.reshape(each.shape[0], n, size, heads, head) for each in (q, k, v))
        chosen = np.random.default_rng(0).integers(0, n, (n, seldom))
        wide = [jnp.roll(k, 1, axis=1), k, jnp.roll(k, -1, axis=1)]
        wide += [jnp.broadcast_to(k[:, :1], k.shape)] + [k[:, chosen[:, i]] for i in range(seldom)]
        keys = jnp.concatenate(wide, axis=2)
        wide = [jnp.roll(v, 1, axis=1), v, jnp.roll(v, -1, axis=1)]
        wide += [jnp.broadcast_to(v[:, :1], v.shape)] + [v[:, chosen[:, i]] for i in range(seldom)]
        values = jnp.concatenate(wide, axis=2)
        scores = jnp.einsum("bnqhd,bnkhd->bnhqk", q, keys).astype(jnp.float32) * head**-0.5
        mixed = jnp.einsum("bnhqk,bnkhd->bnqhd", jax.nn.softmax(scores).astype(v.dtype), values)
        every = jnp.einsum("bqhd,bnkhd->bhqnk", q[:, 0], k).astype(jnp.float32) * head**-0.5
        chance = jax.nn.softmax(every.reshape(*every.shape[:3], -1)).reshape(every.shape).astype(v.dtype)
        first = jnp.einsum("bhqnk,bnkhd->bqhd", chance, v)
        return mixed.at[:, 0].set(first).reshape(q.shape[0], length, heads * head)

    def loss(w: Any, tokens: Any, labels: Any, masked: Any) -> Any:
        """Words that were masked are found again."""
        x = (w["embed"][tokens] + w["places"]).astype(jnp.bfloat16)
        for each in w["layers"]:
            h = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
            q, k, v = (h @ each[name].astype(h.dtype) for name in "qkv")
            x = x + sparse(q, k, v) @ each["o"].astype(x.dtype)
            x = x + jax.nn.gelu(x @ each["up"].astype(x.dtype)) @ each["down"].astype(x.dtype)
        hidden = jnp.take_along_axis(x, masked[..., None], axis=1).astype(jnp.float32)
        logps = jax.nn.log_softmax(hidden @ w["embed"].T)
        return -jnp.take_along_axis(logps, labels[..., None], axis=-1).mean()

    @partial(jax.jit, donate_argnums=(0, 1))
    def masked_step(w: Any, momentum: Any, tokens: Any, labels: Any, masked: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(w, tokens, labels, masked)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return jax.tree.map(lambda p, m: p - 0.01 * m, w, momentum), momentum, value

    width = heads * head
    layer = {name: grid.array((width, width), None, "y") for name in "qkv"}
    layer |= {"o": grid.array((width, width), "y"), "up": grid.array((width, 2048), None, "y")}
    layer |= {"down": grid.array((2048, width), "y")}
    w = {
        "embed": grid.array((16384, width), "y"),
        "places": grid.array((length, width)),
        "layers": [layer, layer],
    }
    arguments = [w, w, grid.array((4, length), "x", dtype="int32")]
    arguments += [grid.array((4, 512), "x", dtype="int32")] * 2
    yield "blocks_masked_step", (masked_step, arguments, None)
