"""Programs of science, data analysis, learning by reinforcement, decoding and systems.

No rule was made for them: what the planner and the estimate of memory say of them is from outside.
"""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.further_sequences import sequences
from tests.xla.spmd.further_steps import steps
from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name; a function that is jitted already donates arguments."""
    yield from steps()
    yield from _fields()
    yield from _statistics()
    yield from sequences()
    yield from _by_hand()


def _fields() -> Programs:
    """Simulations on grids and of particles."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def boltzmann(f: Any) -> Any:
        ways = [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)]
        weights = jnp.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
        speeds = jnp.array(ways, jnp.float32)

        def body(f: Any, _: Any) -> Any:
            f = jnp.stack([jnp.roll(f[i], way, (0, 1)) for i, way in enumerate(ways)])
            density = f.sum(0)
            velocity = jnp.einsum("ihw,id->dhw", f, speeds) / density
            along = jnp.einsum("id,dhw->ihw", speeds, velocity)
            square = (velocity**2).sum(0)
            rest = weights[:, None, None] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * square)
            return f - 0.6 * (f - rest), density.mean()

        return lax.scan(body, f, None, length=10)

    yield "lattice_boltzmann", (boltzmann, [grid.array((9, 128, 128), None, "x", "y")], None)

    def maxwell(e: Any, h: Any) -> Any:
        def body(_: Any, fields: Any) -> Any:
            ez, hx, hy = fields
            hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1]))
            hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1]))
            ez = ez.at[1:, 1:].add(0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1]))
            return ez, hx, hy

        return lax.fori_loop(0, 20, body, (e, h[0], h[1]))[0]

    yield "maxwell", (maxwell, [line.array((256, 256), "x"), line.array((2, 256, 256), None, "x")], None)

    def bodies(x: Any, v: Any, m: Any) -> Any:
        def force(x: Any) -> Any:
            apart = x[None] - x[:, None]
            near = (apart**2).sum(-1) + 0.01
            return (m[None, :, None] * apart / near[..., None] ** 1.5).sum(1)

        def body(state: Any, _: Any) -> Any:
            x, v = state
            v = v + 0.005 * force(x)
            x = x + 0.01 * v
            return (x, v + 0.005 * force(x)), (v**2).sum()

        return lax.scan(body, (x, v), None, length=4)

    rows = line.array((512, 3), "x")
    yield "gravity", (bodies, [rows, rows, line.array((512,), "x")], None)

    def poisson(rho: Any) -> Any:
        n = rho.shape[0]
        k = jnp.fft.fftfreq(n) * 2 * jnp.pi
        square = k[:, None] ** 2 + k[None, :] ** 2
        return jnp.fft.ifft2(jnp.where(square == 0, 0, jnp.fft.fft2(rho) / square)).real

    yield "poisson_spectral", (poisson, [line.array((256, 256), "x")], None)

    def jacobi(u: Any, f: Any) -> Any:
        def body(state: Any) -> Any:
            u, _, i = state
            p = jnp.pad(u, 1)
            new = 0.25 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - f)
            return new, jnp.abs(new - u).max(), i + 1

        return lax.while_loop(lambda s: (s[1] > 1e-4) & (s[2] < 100), body, (u, jnp.inf, 0))[0]

    yield "jacobi", (jacobi, [grid.array((256, 256), "x", "y"), grid.array((256, 256), "x", "y")], None)

    def multigrid(u: Any, f: Any) -> Any:
        def smooth(u: Any, f: Any) -> Any:
            for _ in range(2):
                u = 0.25 * (
                    jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - f
                )
            return u

        def cycle(u: Any, f: Any, level: int) -> Any:
            u = smooth(u, f)
            if level == 0:
                return u
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            left = f - (around - 4 * u)
            n = u.shape[0]
            coarse = left.reshape(n // 2, 2, n // 2, 2).mean((1, 3))
            fine = jax.image.resize(cycle(jnp.zeros_like(coarse), 4 * coarse, level - 1), u.shape, "bilinear")
            return smooth(u + fine, f)

        return cycle(u, f, 3)

    yield "multigrid", (multigrid, [line.array((256, 256), "x"), line.array((256, 256), "x")], None)

    def smoothed(image: Any) -> Any:
        blurred = jax.scipy.signal.convolve(image, jnp.ones((5, 5)) / 25, mode="same")
        gx, gy = jnp.gradient(blurred)
        return jnp.sqrt(gx**2 + gy**2)

    yield "edges", (jax.vmap(smoothed), [line.array((16, 64, 64), "x")], None)

    def warped(image: Any, flow: Any) -> Any:
        at = jnp.stack(jnp.meshgrid(jnp.arange(64.0), jnp.arange(64.0), indexing="ij")) + flow
        return jax.scipy.ndimage.map_coordinates(image, list(at), order=1)

    yield (
        "warped",
        (jax.vmap(warped), [line.array((16, 64, 64), "x"), line.array((16, 2, 64, 64), "x")], None),
    )


def _statistics() -> Programs:
    """Estimation and analysis of data sharded by rows."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")
    data = line.array((1024, 32), "x")

    def clustered(x: Any, c: Any) -> Any:
        def body(c: Any, _: Any) -> Any:
            far = (x**2).sum(1)[:, None] - 2 * x @ c.T + (c**2).sum(1)
            mine = jnp.argmin(far, 1)
            sums = jax.ops.segment_sum(x, mine, c.shape[0])
            counts = jax.ops.segment_sum(jnp.ones(x.shape[0]), mine, c.shape[0])
            return sums / jnp.maximum(counts, 1)[:, None], far.min(1).mean()

        return lax.scan(body, c, None, length=5)

    yield "kmeans", (clustered, [data, line.array((16, 32))], None)

    def mixture(x: Any, means: Any, weights: Any) -> Any:
        def body(_: Any, state: Any) -> Any:
            means, weights = state
            logs = jnp.log(weights) - 0.5 * ((x[:, None] - means[None]) ** 2).sum(-1)
            mine = jax.nn.softmax(logs, 1)
            total = mine.sum(0)
            return mine.T @ x / total[:, None], total / x.shape[0]

        return lax.fori_loop(0, 5, body, (means, weights))

    yield "mixture_em", (mixture, [data, line.array((8, 32)), line.array((8,))], None)

    def newton(w: Any, x: Any, y: Any) -> Any:
        def loss(w: Any) -> Any:
            return jnp.logaddexp(0, -y * (x @ w)).mean() + 1e-3 * (w @ w)

        for _ in range(3):
            w = w - jnp.linalg.solve(jax.hessian(loss)(w), jax.grad(loss)(w))
        return w

    yield "logistic_newton", (newton, [line.array((32,)), data, line.array((1024,), "x")], None)

    def process(x: Any, y: Any, test: Any) -> Any:
        def kernel(a: Any, b: Any) -> Any:
            return jnp.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1))

        low = jnp.linalg.cholesky(kernel(x, x) + 0.1 * jnp.eye(x.shape[0]))
        alpha = jax.scipy.linalg.cho_solve((low, True), y)
        mean = kernel(test, x) @ alpha
        v = jax.scipy.linalg.solve_triangular(low, kernel(x, test), lower=True)
        return mean, 1 - (v**2).sum(0)

    yield (
        "gaussian_process",
        (process, [line.array((128, 4)), line.array((128,)), line.array((512, 4), "x")], None),
    )

    def whitened(x: Any) -> Any:
        x = x - x.mean(0)
        cov = x.T @ x / x.shape[0]
        values, vectors = jnp.linalg.eigh(cov)
        return x @ (vectors / jnp.sqrt(values + 1e-5))

    yield "whitened", (whitened, [data], None)

    def ranks(scores: Any, labels: Any) -> Any:
        order = jnp.argsort(-scores, 1)
        sorted_labels = jnp.take_along_axis(labels, order, 1)
        gains = (2.0**sorted_labels - 1) / jnp.log2(jnp.arange(2, scores.shape[1] + 2))
        pairs = jax.nn.softplus(-(scores[:, :, None] - scores[:, None, :]))
        wanted = labels[:, :, None] > labels[:, None, :]
        return gains.sum(1), jnp.where(wanted, pairs, 0).sum() / wanted.sum()

    yield "ranking", (ranks, [line.array((64, 48), "x"), line.array((64, 48), "x")], None)

    def robust(x: Any) -> Any:
        middle = jnp.median(x, 0)
        spread = jnp.median(jnp.abs(x - middle), 0)
        low, high = jnp.quantile(x, jnp.array([0.05, 0.95]), axis=0)
        return jnp.clip((x - middle) / (spread + 1e-6), low, high)

    yield "robust_scaling", (robust, [line.array((32, 1024), None, "x")], None)

    def alternating(r: Any, mask: Any, u: Any, v: Any) -> Any:
        def solve(v: Any, r: Any, mask: Any) -> Any:
            def one(row: Any, seen: Any) -> Any:
                gram = (v * seen[:, None]).T @ v + 0.1 * jnp.eye(v.shape[1])
                return jnp.linalg.solve(gram, v.T @ (row * seen))

            return jax.vmap(one)(r, mask)

        u = solve(v, r, mask)
        return u, solve(u, r.T, mask.T)

    r = grid.array((128, 64), "x", "y")
    yield (
        "alternating_squares",
        (alternating, [r, r, grid.array((128, 8), "x"), grid.array((64, 8), "y")], None),
    )

    def histogram(x: Any) -> Any:
        counts = jnp.histogram(x, bins=64, range=(0.0, 1.0))[0]
        return jnp.cumsum(counts) / x.size, jnp.bincount((x * 16).astype(jnp.int32).ravel(), length=16)

    yield "histogram", (histogram, [data], None)


def _by_hand() -> Programs:
    """Code of shard_map."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    line, grid = Placed("8"), Placed("2x4")

    def cannon(a: Any, b: Any) -> Any:
        def body(_: Any, state: Any) -> Any:
            a, b, c = state
            ring = [(i, (i + 1) % 4) for i in range(4)]
            return lax.ppermute(a, "y", ring), b, c + a @ lax.dynamic_slice_in_dim(b, 0, a.shape[1], 0)

        return lax.fori_loop(0, 4, body, (a, b, jnp.zeros((a.shape[0], b.shape[1]))))[2]

    mapped = jax.shard_map(
        cannon, mesh=grid.mesh, in_specs=(P("x", "y"), P(None, "y")), out_specs=P("x", "y"), check_vma=False
    )
    yield (
        "ring_product",
        (mapped, [grid.array((128, 256), "x", "y"), grid.array((256, 128), None, "y")], None),
    )

    def staged(w: Any, x: Any) -> Any:
        stage, count = lax.axis_index("x"), 8
        held, made = jnp.zeros_like(x[0]), jnp.zeros_like(x)

        def body(state: Any, t: Any) -> Any:
            held, made = state
            given = jnp.where(stage == 0, x[jnp.minimum(t, x.shape[0] - 1)], held)
            result = jnp.tanh(given @ w[0])
            at = jnp.clip(t - count + 1, 0, x.shape[0] - 1)
            made = jnp.where((stage == count - 1) & (t >= count - 1), made.at[at].set(result), made)
            return (lax.ppermute(result, "x", [(i, (i + 1) % count) for i in range(count)]), made), None

        (_, made), _ = lax.scan(body, (held, made), jnp.arange(x.shape[0] + count - 1))
        return lax.psum(jnp.where(stage == count - 1, made, 0), "x")

    piped = jax.shard_map(staged, mesh=line.mesh, in_specs=(P("x"), P()), out_specs=P(), check_vma=False)
    yield "pipeline_mapped", (piped, [line.array((8, 64, 64), "x"), line.array((6, 32, 64))], None)
    yield (
        "pipeline_mapped_grad",
        (
            jax.grad(lambda w, x: (piped(w, x) ** 2).mean()),
            [line.array((8, 64, 64), "x"), line.array((6, 32, 64))],
            None,
        ),
    )

    def dispatched(x: Any, gate: Any, w: Any) -> Any:
        n, d = x.shape
        chosen = jnp.argmax(x @ gate, 1)
        hot = jax.nn.one_hot(chosen, 8)
        at = (jnp.cumsum(hot, 0) * hot).sum(1).astype(jnp.int32) - 1
        room = n // 4
        slots = jnp.zeros((8, room, d)).at[chosen, at].set(x, mode="drop")
        slots = lax.all_to_all(slots, "x", 0, 1, tiled=True)
        h = jax.nn.gelu(slots[0] @ w[0])
        back = lax.all_to_all(h[None], "x", 1, 0, tiled=True)
        return back.at[chosen, at].get(mode="fill", fill_value=0)

    given = [line.array((1024, 32), "x"), line.array((32, 8)), line.array((8, 32, 32), "x")]
    specs = (P("x"), P(), P("x"))
    yield (
        "experts_mapped",
        (
            jax.shard_map(dispatched, mesh=line.mesh, in_specs=specs, out_specs=P("x"), check_vma=False),
            given,
            None,
        ),
    )

    def contrasted(a: Any, b: Any) -> Any:
        def loss(a: Any, b: Any) -> Any:
            a, b = (v / jnp.linalg.norm(v, axis=1, keepdims=True) for v in (a, b))
            everyone = lax.all_gather(b, "x", tiled=True)
            logits = a @ everyone.T * 10
            mine = lax.axis_index("x") * a.shape[0] + jnp.arange(a.shape[0])
            return -lax.pmean(jnp.take_along_axis(jax.nn.log_softmax(logits), mine[:, None], 1).mean(), "x")

        return jax.grad(loss, (0, 1))(a, b)

    x = line.array((512, 64), "x")
    yield (
        "contrastive_mapped",
        (
            jax.shard_map(
                contrasted, mesh=line.mesh, in_specs=(P("x"),) * 2, out_specs=P("x"), check_vma=False
            ),
            [x, x],
            None,
        ),
    )
