"""Tables, graphs, and fields, in `users_models.py`: clicks, messages, pairs, waves, solvers, medians."""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name."""
    yield from _tables()
    yield from _pairs()
    yield from _solved()


def _tables() -> Programs:
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("2x4")
    tables, rows, width, bag = 26, 200_000, 64, 4

    def clicks(dense: Any, tables: Any, x: Any, ids: Any) -> Any:
        h = x
        for w in dense["bottom"]:
            h = jax.nn.relu(h @ w)
        bags = jax.vmap(lambda table, own: table[own].sum(1), (0, 1), 1)(tables, ids)
        features = jnp.concatenate([h[:, None], bags], 1)
        crossed = jnp.einsum("bie,bje->bij", features, features)
        i, j = jnp.tril_indices(27, -1)
        h = jnp.concatenate([h, crossed[:, i, j]], -1)
        for w in dense["top"][:-1]:
            h = jax.nn.relu(h @ w)
        return (h @ dense["top"][-1])[:, 0]

    def clicks_step(dense: Any, tables: Any, sums: Any, x: Any, ids: Any, y: Any) -> Any:
        """Descent for the layers, Adagrad by row for the tables."""

        def loss(dense: Any, tables: Any) -> Any:
            logits = clicks(dense, tables, x, ids)
            return jnp.mean(jnp.maximum(logits, 0) - logits * y + jnp.log1p(jnp.exp(-jnp.abs(logits))))

        value, (one, other) = jax.value_and_grad(loss, argnums=(0, 1))(dense, tables)
        dense = jax.tree.map(lambda p, g: p - 0.01 * g, dense, one)
        sums = sums + jnp.square(other).mean(-1)
        return dense, tables - 0.01 * other * jax.lax.rsqrt(sums + 1e-8)[..., None], sums, value

    dense = {
        "bottom": [line.array(shape) for shape in ((13, 512), (512, 256), (256, width))],
        "top": [line.array(shape) for shape in ((width + 351, 1024), (1024, 512), (512, 1))],
    }
    table = line.array((tables, rows, width), None, "x")
    arguments = [dense, table, line.array((tables, rows), None, "x"), line.array((4096, 13), "x")]
    arguments += [line.array((4096, tables, bag), "x", dtype="int32"), line.array((4096,), "x")]
    yield "clicks_by_rows", (jax.jit(clicks_step, donate_argnums=(0, 1, 2)), arguments, None)

    nodes, edges, wide = 4096, 32768, 128

    def messages(w: Any, x: Any, features: Any, sources: Any, targets: Any, labels: Any) -> Any:
        """Attention of nodes to their edges: a softmax by segments."""
        for each in w["layers"]:
            sent = x[sources] @ each["key"] + features @ each["edge"]
            score = jax.nn.leaky_relu((sent * (x @ each["query"])[targets]).reshape(edges, 4, -1).sum(-1))
            top = jax.ops.segment_max(score, targets, nodes)
            score = jnp.exp(score - jax.lax.stop_gradient(top)[targets])
            total = jax.ops.segment_sum(score, targets, nodes)
            share = score / (total[targets] + 1e-9)
            mixed = (sent.reshape(edges, 4, -1) * share[..., None]).reshape(edges, -1)
            x = jax.nn.elu(x @ each["own"] + jax.ops.segment_sum(mixed, targets, nodes))
        chances = jax.nn.log_softmax(x @ w["head"])
        return -jnp.take_along_axis(chances, labels[:, None], -1).mean()

    square = grid.array((wide, wide), None, "y")
    layer = dict.fromkeys(("key", "query", "own"), square) | {"edge": grid.array((16, wide), None, "y")}
    w = {"layers": [layer] * 2, "head": grid.array((wide, 40))}
    ends = grid.array((edges,), "x", dtype="int32")
    arguments = [w, grid.array((nodes, wide)), grid.array((edges, 16), "x"), ends, ends]
    yield "edges_attended_grad", (jax.grad(messages), [*arguments, grid.array((nodes,), dtype="int32")], None)


def _pairs() -> Programs:
    import jax
    import jax.numpy as jnp

    grid = Placed("2x4")
    length, wide, heads = 128, 64, 4

    def norm(x: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def triangles(w: Any, z: Any) -> Any:
        """AlphaFold: pairs are updated by the third sides of triangles, and attend along rows and columns."""
        for name in ("outgoing", "incoming"):
            own, h = w[name], norm(z)
            a = jax.nn.sigmoid(h @ own["ga"]) * (h @ own["a"])
            b = jax.nn.sigmoid(h @ own["gb"]) * (h @ own["b"])
            mixed = jnp.einsum("ikc,jkc->ijc" if name == "outgoing" else "kic,kjc->ijc", a, b)
            z = z + jax.nn.sigmoid(h @ own["g"]) * (norm(mixed) @ own["o"])
        for name in ("start", "end"):
            own = w[name]
            h = norm(z if name == "start" else z.swapaxes(0, 1))
            q, k, v = (each.reshape(length, length, heads, -1) for each in jnp.split(h @ own["qkv"], 3, -1))
            bias = (h @ own["bias"]).transpose(2, 0, 1)
            chance = jax.nn.softmax(jnp.einsum("iqhc,ikhc->ihqk", q, k) / 4.0 + bias)
            mixed = jnp.einsum("ihqk,ikhc->iqhc", chance, v).reshape(h.shape)
            mixed = (jax.nn.sigmoid(h @ own["g"]) * mixed) @ own["o"]
            z = z + (mixed if name == "start" else mixed.swapaxes(0, 1))
            z = jax.lax.with_sharding_constraint(z, grid.at("x", "y"))
        return z + jax.nn.relu(norm(z) @ w["up"]) @ w["down"]

    def triangle_loss(w: Any, z: Any) -> Any:
        return jnp.square(jax.checkpoint(triangles)(w, z)).mean()

    square = grid.array((wide, wide))
    sides = dict.fromkeys(("ga", "a", "gb", "b", "g", "o"), square)
    along = {"qkv": grid.array((wide, 3 * wide)), "bias": grid.array((wide, heads)), "g": square, "o": square}
    w = {
        "outgoing": sides,
        "incoming": sides,
        "start": along,
        "end": along,
        "up": grid.array((wide, 256)),
        "down": grid.array((256, wide)),
    }
    z = grid.array((length, length, wide), "x", "y")
    yield "triangles_grad", (jax.grad(triangle_loss), [w, z], None)


def _solved() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    line, grid, cube = Placed("8"), Placed("2x4"), Placed("2x2x2")
    size = 64

    def poisson(f: Any) -> Any:
        """Slabs are exchanged between transforms along the dimension that is sharded and the others."""

        def solve(f: Any) -> Any:
            plane = jnp.fft.fft2(f, axes=(1, 2))
            plane = jax.lax.all_to_all(plane, "x", 1, 0, tiled=True)
            whole = jnp.fft.fft(plane, axis=0)
            own = jax.lax.axis_index("x") * (size // 8) + jnp.arange(size // 8)
            k = jnp.fft.fftfreq(size) * size
            square = k[:, None, None] ** 2 + k[own][None, :, None] ** 2 + k[None, None] ** 2
            whole = jnp.where(square == 0, 0, -whole / jnp.where(square == 0, 1, square))
            plane = jnp.fft.ifft(whole, axis=0)
            plane = jax.lax.all_to_all(plane, "x", 0, 1, tiled=True)
            return jnp.fft.ifft2(plane, axes=(1, 2)).real

        return jax.shard_map(solve, mesh=line.mesh, in_specs=P("x"), out_specs=P("x"))(f)

    yield "poisson_by_slabs", (poisson, [line.array((size, size, size), "x")], None)

    def wave(u: Any, before: Any, speed: Any) -> Any:
        """Waves in a periodic box, whose faces damp them."""

        def laplace(u: Any) -> Any:
            near = sum(jnp.roll(u, shift, axis) for axis in range(3) for shift in (1, -1))
            return near - 6 * u

        def step(_: Any, state: Any) -> Any:
            u, before = state
            after = 2 * u - before + 0.1 * jnp.square(speed) * laplace(u)
            return 0.999 * after, u

        u, before = jax.lax.fori_loop(0, 50, step, (u, before))
        return u, jnp.square(u - before).sum() + jnp.square(jnp.asarray(jnp.gradient(u, axis=0))).sum()

    box = cube.array((128, 128, 128), "x", "y", "z")
    yield "waves_in_box", (wave, [box, box, box], None)

    def conjugate(b: Any, coefficient: Any) -> Any:
        """Conjugate gradients with a diagonal preconditioner for diffusion with a varying coefficient."""

        def apply(u: Any) -> Any:
            p = jnp.pad(u, 1)
            c = coefficient
            return 4 * c * u - c * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]) + 0.1 * u

        def go_on(state: Any) -> Any:
            return (state[-1] < 200) & (jnp.vdot(state[1], state[1]) > 1e-6 * jnp.vdot(b, b))

        def step(state: Any) -> Any:
            x, r, p, rz, i = state
            q = apply(p)
            alpha = rz / jnp.vdot(p, q)
            x, r = x + alpha * p, r - alpha * q
            z = r / (4 * coefficient + 0.1)
            new = jnp.vdot(r, z)
            return x, r, z + new / rz * p, new, i + 1

        z = b / (4 * coefficient + 0.1)
        state = jnp.zeros_like(b), b, z, jnp.vdot(b, z), 0
        x, r, _, _, i = jax.lax.while_loop(go_on, step, state)
        return x, jnp.sqrt(jnp.vdot(r, r)), i

    field = grid.array((1024, 1024), "x", "y")
    yield "diffusion_solved", (conjugate, [field, field], None)

    def medians(x: Any, weights: Any) -> Any:
        """Columns scaled by their medians and quartiles, clipped, and the covariance of what is left."""
        middle = jnp.median(x, 0)
        low, high = jnp.percentile(x, jnp.array([25.0, 75.0]), axis=0)
        scaled = jnp.clip((x - middle) / (high - low + 1e-6), -3, 3)
        mean = jnp.average(scaled, 0, weights)
        apart = scaled - mean
        return scaled, (apart * weights[:, None]).T @ apart / weights.sum(), jnp.argsort(middle)

    yield "medians_clipped", (medians, [line.array((16384, 256), "x"), line.array((16384,), "x")], None)

    def clusters(points: Any, centers: Any) -> Any:
        """Lloyd's steps in blocks of points; clusters without any move to the point that is farthest."""

        def step(centers: Any, _: Any) -> Any:
            far = jnp.square(points).sum(1)[:, None] - 2 * points @ centers.T + jnp.square(centers).sum(1)
            nearest, distance = far.argmin(1), far.min(1)
            hot = jax.nn.one_hot(nearest, centers.shape[0])
            count = hot.sum(0)
            moved = hot.T @ points / jnp.maximum(count, 1)[:, None]
            farthest = points[jnp.argmax(distance)]
            return jnp.where((count > 0)[:, None], moved, farthest), distance.mean()

        return jax.lax.scan(step, centers, None, length=10)

    yield "clusters_moved", (clusters, [grid.array((65536, 32), ("x", "y")), grid.array((256, 32))], None)
