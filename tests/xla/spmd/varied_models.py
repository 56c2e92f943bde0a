"""Steps as users write them, one or two of each kind, that no rule was made for: a check from outside.

Attention in several forms, experts, loops with checkpoints, optimizers, sharded states, statistics, spectra,
convolutions, graphs, recurrences.
"""

from __future__ import annotations

from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs, trained
from tests.xla.spmd.varied_layers import layers


def programs() -> Programs:
    """The programs by name; a function that is jitted already donates arguments."""
    yield from layers()
    yield from _by_hand()
    yield from _statistics()
    yield from _images()
    yield from _graphs()
    yield from _recurrences()
    yield from _control()


def _at(placed: Placed, value: Any, *spec: Any) -> Any:
    import jax

    return jax.lax.with_sharding_constraint(value, placed.at(*spec))


def _by_hand() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    line, grid = Placed("8"), Placed("2x4")

    def mapped(placed: Placed, function: Any, given: Any, made: Any) -> Any:
        return jax.shard_map(function, mesh=placed.mesh, in_specs=given, out_specs=made, check_vma=False)

    def zero1(w: Any, m: Any, v: Any, x: Any) -> Any:
        g = jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
        g = lax.psum_scatter(g, "x", tiled=True) / 8
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        mine = lax.dynamic_slice_in_dim(w, lax.axis_index("x") * m.shape[0], m.shape[0])
        return lax.all_gather(mine - 0.1 * m / (jnp.sqrt(v) + 1e-8), "x", tiled=True), m, v

    w, part, x = line.array((256, 128)), line.array((256, 128), "x"), line.array((64, 256), "x")
    specs = (P(), P("x"), P("x"), P("x"))
    yield "zero1_mapped", (mapped(line, zero1, specs, specs[:3]), [w, part, part, x], None)

    def fsdp(ws: Any, x: Any) -> Any:
        def run(ws: Any) -> Any:
            h = x
            for w in ws:
                h = jnp.tanh(h @ lax.all_gather(w, "x", tiled=True))
            return (h**2).mean()

        return jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(run)(ws))

    ws = [line.array((128, 128), "x")] * 4
    yield (
        "fsdp_mapped",
        (mapped(line, fsdp, (P("x"), P("x")), P("x")), [ws, line.array((64, 128), "x")], None),
    )

    def layers(ws: Any, x: Any) -> Any:
        def body(h: Any, w: Any) -> Any:
            return jnp.tanh(h @ lax.all_gather(w, "x", tiled=True)), None

        def run(ws: Any) -> Any:
            return (lax.scan(jax.checkpoint(body), x, ws)[0] ** 2).mean()

        return ws - 0.1 * jax.grad(run)(ws)

    stacked = line.array((5, 128, 128), None, "x")
    yield (
        "fsdp_scan_mapped",
        (
            mapped(line, layers, (P(None, "x"), P("x")), P(None, "x")),
            [stacked, line.array((64, 128), "x")],
            None,
        ),
    )

    def ulysses(q: Any, k: Any, v: Any) -> Any:
        there = lambda a: lax.all_to_all(a, "x", 2, 1, tiled=True)  # noqa: E731
        q, k, v = there(q), there(k), there(v)
        scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        return lax.all_to_all(jnp.einsum("bhqk,bkhd->bqhd", scores, v), "x", 1, 2, tiled=True)

    q = line.array((2, 128, 8, 32), None, "x")
    spec = P(None, "x")
    yield "ulysses", (mapped(line, ulysses, (spec,) * 3, spec), [q, q, q], None)

    def megatron(x: Any, up: Any, down: Any) -> Any:
        x = lax.all_gather(x, "y", axis=1, tiled=True)
        return lax.psum_scatter(jax.nn.gelu(x @ up) @ down, "y", scatter_dimension=1, tiled=True)

    given = [
        grid.array((4, 128, 64), "x", "y"),
        grid.array((64, 256), None, "y"),
        grid.array((256, 64), "y"),
    ]
    specs = (P("x", "y"), P(None, "y"), P("y"))
    yield "sequence_parallel_mapped", (mapped(grid, megatron, specs, P("x", "y")), given, None)

    def bisected(x: Any) -> Any:
        def halve(_: Any, ends: Any) -> Any:
            low, high = ends
            middle = (low + high) / 2
            count = lax.psum((x < middle).sum(1), "x")
            return jnp.where(count < 256, middle, low), jnp.where(count < 256, high, middle)

        low, high = lax.pmin(x.min(1), "x"), lax.pmax(x.max(1), "x")
        return lax.fori_loop(0, 20, halve, (low, high))[0]

    yield (
        "median_mapped",
        (mapped(line, bisected, P(None, "x"), P()), [line.array((64, 512), None, "x")], None),
    )


def _statistics() -> Programs:
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("4x2")
    rows, both = line.array((512, 96), "x"), grid.array((256, 128), "x", "y")
    columns = line.array((256, 512), None, "x")
    for name, function, given in (
        ("nanmedian", lambda a: jnp.nanmedian(a, axis=1), rows),
        ("quantile_both", lambda a: jnp.quantile(a, jnp.array([0.1, 0.9]), axis=0), both),
        (
            "iqr_scaled",
            lambda a: (a - jnp.median(a, 0)) / (jnp.quantile(a, 0.75, 0) - jnp.quantile(a, 0.25, 0)),
            columns,
        ),
        ("argsort_take", lambda a: jnp.take_along_axis(a, jnp.argsort(a, 1), 1), both),
        ("histogram", lambda a: jnp.histogram(a, 32)[0], rows),
        ("covariance", lambda a: jnp.cov(a, rowvar=False), rows),
        ("correlation", lambda a: jnp.corrcoef(a), both),
        ("cumulative", lambda a: jnp.cumsum(a, 1) / jnp.cumprod(a + 1, 1), rows),
        ("cumulative_max", lambda a: jax.lax.cummax(a, 0), both),
        ("moving_average", lambda a: jax.vmap(lambda r: jnp.convolve(r, jnp.ones(5) / 5, "same"))(a), rows),
        ("top_k_softmax", lambda a: jax.nn.softmax(jax.lax.top_k(a, 8)[0]), rows),
        ("whitened", lambda a: (a - a.mean(0)) / jnp.sqrt(a.var(0) + 1e-5), both),
        ("distances", lambda a: jnp.sqrt(((a[:, None] - a[None]) ** 2).sum(-1)), line.array((128, 32), "x")),
        (
            "logsumexp_rows",
            lambda a: jax.nn.logsumexp(a[:, :, None] + a.T[None], 1),
            line.array((64, 64), "x"),
        ),
        ("unique_rows", lambda a: jnp.sort(a.reshape(-1))[::7], rows),
        ("cholesky", lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(256)), both),
        ("solve", lambda a: jnp.linalg.solve(a @ a.T + jnp.eye(256), a), both),
        ("svd_values", lambda a: jnp.linalg.svd(a.reshape(8, 64, 96), compute_uv=False), rows),
    ):
        yield name, (function, [given], None)


def _images() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def normed(x: Any, axes: tuple[int, ...]) -> Any:
        mean = x.mean(axes, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)

    def resnet(w: Any, x: Any) -> Any:
        x = jax.nn.relu(normed(conv(x, w["in"]), (0, 1, 2)))
        for a, b in w["blocks"]:
            h = jax.nn.relu(normed(conv(x, a), (0, 1, 2)))
            x = jax.nn.relu(x + normed(conv(h, b), (0, 1, 2)))
        return x.mean((1, 2)) @ w["head"]

    w = {
        "in": line.array((3, 3, 3, 32)),
        "blocks": [[line.array((3, 3, 32, 32))] * 2] * 2,
        "head": line.array((32, 10)),
    }
    x = line.array((32, 32, 32, 3), "x")
    yield "resnet", (resnet, [w, x], None)
    yield "resnet_train", (trained(lambda w, x: (resnet(w, x) ** 2).mean()), [w, x], None)

    def unet(w: Any, x: Any, t: Any) -> Any:
        emb = jax.nn.silu(
            jnp.concatenate([jnp.sin(t[:, None] * jnp.arange(16)), jnp.cos(t[:, None] * jnp.arange(16))], 1)
            @ w["time"]
        )
        a = jax.nn.silu(normed(conv(x, w["in"]), (1, 2)) + emb[:, None, None])
        b = jax.nn.silu(conv(a, w["down"], 2))
        c = b + conv(jax.nn.silu(normed(b, (1, 2))), w["middle"])
        up = jnp.repeat(jnp.repeat(c, 2, 1), 2, 2)
        return conv(jnp.concatenate([up, a], -1), w["out"])

    w = {
        "time": line.array((32, 16)),
        "in": line.array((3, 3, 3, 16)),
        "down": line.array((3, 3, 16, 32)),
        "middle": line.array((3, 3, 32, 32)),
        "out": line.array((3, 3, 48, 3)),
    }
    given = [w, line.array((16, 32, 32, 3), "x"), line.array((16,), "x")]
    yield "unet", (unet, given, None)
    yield "unet_train", (trained(lambda w, x, t: ((unet(w, x, t) - x) ** 2).mean()), given, None)

    def depthwise(w: Any, x: Any) -> Any:
        h = lax.conv_general_dilated(
            x, w["depth"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=32
        )
        return jax.nn.gelu(normed(h, (3,)) @ w["up"]) @ w["down"] + x

    w = {"depth": line.array((7, 7, 1, 32)), "up": line.array((32, 128)), "down": line.array((128, 32))}
    x = line.array((16, 16, 16, 32), "x")
    yield "convnext", (depthwise, [w, x], None)
    yield "convnext_train", (trained(lambda w, x: (depthwise(w, x) ** 2).mean()), [w, x], None)

    def pooled(x: Any) -> Any:
        most = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.image.resize(most, x.shape, "bilinear")

    yield "pool_and_resize", (pooled, [x], None)

    def patches(w: Any, x: Any) -> Any:
        b, height, width, c = x.shape
        x = x.reshape(b, height // 4, 4, width // 4, 4, c).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(b, -1, 16 * c) @ w

    yield (
        "patches",
        (
            jax.value_and_grad(lambda w, x: (patches(w, x) ** 2).mean()),
            [grid.array((512, 64), None, "y"), grid.array((16, 16, 16, 32), "x")],
            None,
        ),
    )

    def spectral(x: Any, w: Any) -> Any:
        h = jnp.fft.rfft2(x, axes=(1, 2))
        h = jnp.einsum("bxyc,xycd->bxyd", h[:, :8, :8], w)
        return jnp.fft.irfft2(jnp.pad(h, ((0, 0), (0, 24), (0, 9), (0, 0))), axes=(1, 2))

    given = [line.array((16, 32, 32, 16), "x"), line.array((8, 8, 16, 16), dtype="complex64")]
    yield "fourier_layer", (spectral, given, None)


def _graphs() -> Programs:
    import jax
    import jax.numpy as jnp

    line = Placed("8")
    nodes, edges = 512, 2048

    def passed(w: Any, h: Any, sender: Any, receiver: Any) -> Any:
        for up, own in w:
            message = jax.nn.relu(jnp.concatenate([h[sender], h[receiver]], 1) @ up)
            h = jax.nn.relu(h @ own + jax.ops.segment_sum(message, receiver, nodes))
        return h

    w = [(line.array((64, 32)), line.array((32, 32)))] * 2
    given = [
        w,
        line.array((nodes, 32)),
        line.array((edges,), "x", dtype="int32"),
        line.array((edges,), "x", dtype="int32"),
    ]
    yield "messages", (passed, given, None)
    yield "messages_train", (trained(lambda w, *rest: (passed(w, *rest) ** 2).mean()), given, None)
    apart = [w, line.array((nodes, 32), "x"), *given[2:]]
    yield "messages_nodes_apart", (passed, apart, None)

    def mean(h: Any, sender: Any, receiver: Any) -> Any:
        count = jax.ops.segment_sum(jnp.ones(edges), receiver, nodes)
        return jax.ops.segment_sum(h[sender], receiver, nodes) / jnp.maximum(count, 1)[:, None]

    yield "mean_of_neighbours", (mean, given[1:], None)

    def recommended(tables: Any, ids: Any, w: Any) -> Any:
        found = [table[i].mean(1) for table, i in zip(tables, ids, strict=True)]
        return jax.nn.sigmoid(jnp.concatenate(found, 1) @ w)

    tables = [line.array((1024, 32), "x")] * 3
    ids = [line.array((256, 4), "x", dtype="int32")] * 3
    loss = lambda t, i, w: recommended(t, i, w).mean()  # noqa: E731
    yield "tables", (recommended, [tables, ids, line.array((96, 1))], None)
    yield "tables_train", (trained(loss), [tables, ids, line.array((96, 1))], None)


def _recurrences() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("2x4")

    def gru(w: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            z, r = jnp.split(jax.nn.sigmoid(jnp.concatenate([x, h], 1) @ w["gates"]), 2, 1)
            new = jnp.tanh(jnp.concatenate([x, r * h], 1) @ w["new"])
            h = (1 - z) * h + z * new
            return h, h

        return lax.scan(step, jnp.zeros((x.shape[1], 64)), x)[1]

    w = {"gates": line.array((96, 128)), "new": line.array((96, 64))}
    x = line.array((32, 64, 32), None, "x")
    yield "gru", (gru, [w, x], None)
    yield "gru_train", (trained(lambda w, x: (gru(w, x) ** 2).mean()), [w, x], None)

    def ssm(w: Any, x: Any) -> Any:
        def step(h: Any, given: Any) -> Any:
            x, delta, b, c = given
            h = h * jnp.exp(-delta[..., None]) + (delta * x)[..., None] * b[:, None]
            return h, jnp.einsum("bdn,bn->bd", h, c)

        delta = jax.nn.softplus(x @ w["delta"])
        given = (x, delta, x @ w["b"], x @ w["c"])
        start = jnp.zeros((x.shape[1], x.shape[2], 16))
        return lax.scan(step, start, given)[1]

    w = {"delta": grid.array((64, 64), None, "y"), "b": grid.array((64, 16)), "c": grid.array((64, 16))}
    x = grid.array((32, 16, 64), None, "x", "y")
    yield "state_space", (ssm, [w, x], None)
    yield "state_space_train", (trained(lambda w, x: (ssm(w, x) ** 2).mean()), [w, x], None)

    def gated(a: Any, x: Any) -> Any:
        merge = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])  # noqa: E731
        return lax.associative_scan(merge, (jax.nn.sigmoid(a), x), axis=1)[1]

    a = line.array((16, 64, 32), "x")
    yield "linear_recurrence", (gated, [a, a], None)
    yield "linear_recurrence_grad", (jax.grad(lambda a, x: (gated(a, x) ** 2).sum(), (0, 1)), [a, a], None)

    def shifted(x: Any) -> Any:
        def step(h: Any, k: Any) -> Any:
            h = jnp.tanh(h + jnp.roll(h, 1, axis=-1) * k)
            return h, h.mean()

        return lax.scan(step, x, jnp.arange(6.0))

    yield "shifted_scan", (shifted, [line.array((256, 128), "x")], None)
    yield "shifted_scan_sharded", (shifted, [line.array((256, 128), None, "x")], None)


def _control() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")

    def conjugate(a: Any, b: Any) -> Any:
        def body(s: Any) -> Any:
            x, r, p, rr, i = s
            ap = a @ p
            step = rr / (p @ ap)
            x, r = x + step * p, r - step * ap
            new = r @ r
            return x, r, r + new / rr * p, new, i + 1

        return lax.while_loop(
            lambda s: (s[3] > 1e-6) & (s[4] < 50), body, (jnp.zeros_like(b), b, b, b @ b, 0)
        )[0]

    yield "conjugate_gradient", (conjugate, [line.array((512, 512), "x"), line.array((512,))], None)

    def power(a: Any, v: Any) -> Any:
        return lax.fori_loop(0, 10, lambda _, v: (lambda w: w / jnp.linalg.norm(w))(a.T @ (a @ v)), v)

    yield "power_iteration", (power, [grid.array((256, 512), "x", "y"), grid.array((512, 8), "y")], None)

    def branched(flag: Any, x: Any, w: Any) -> Any:
        return lax.cond(flag, lambda x: jax.nn.relu(x @ w) @ w.T, lambda x: jnp.sin(x) * 2, x)

    given = [grid.array((), dtype="bool"), grid.array((128, 64), "x"), grid.array((64, 256), None, "y")]
    yield "branched", (branched, given, None)

    def chosen(i: Any, x: Any) -> Any:
        return lax.switch(i, [jnp.sin, lambda x: x @ x.T @ x, lambda x: jnp.sort(x, 1)], x)

    yield "switched", (chosen, [line.array((), dtype="int32"), line.array((128, 64), "x")], None)

    def accumulated(w: Any, x: Any) -> Any:
        def body(total: Any, x: Any) -> Any:
            return total + jax.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w), None

        return w - 0.1 * lax.scan(body, jnp.zeros_like(w), x)[0]

    yield "accumulation", (accumulated, [line.array((128, 128)), line.array((4, 64, 128), None, "x")], None)

    def updated(cache: Any, new: Any, at: Any) -> Any:
        def body(i: Any, cache: Any) -> Any:
            row = lax.dynamic_slice_in_dim(new, i, 1, 1) * 2
            return lax.dynamic_update_slice(cache, row, (0, at + i, 0))

        return lax.fori_loop(0, 8, body, cache)

    given = [grid.array((16, 128, 64), "x", None, "y"), grid.array((16, 8, 64), "x", None, "y")]
    yield "cache_filled", (updated, [*given, grid.array((), dtype="int32")], None)
    yield (
        "cache_filled_donated",
        (jax.jit(updated, donate_argnums=0), [*given, grid.array((), dtype="int32")], None),
    )

    def resharded(x: Any) -> Any:
        h = _at(line, jnp.exp(x).T, "x")
        h = _at(line, (h * 2).reshape(64, 8, 64).transpose(1, 0, 2), "x")
        return h.sum(1)

    yield "transposed_twice", (resharded, [line.array((64, 512), "x")], None)

    def batched(a: Any, b: Any, c: Any) -> Any:
        return jnp.einsum("bij,bjk,bkl->bil", a, b, c), jnp.einsum("bij,bkj->ik", a, c)

    a, b = grid.array((8, 64, 32), "x"), grid.array((8, 32, 64), "x", None, "y")
    yield "einsum_batches", (batched, [a, b, grid.array((8, 64, 32), "x")], None)

    def sampled(key: Any, logits: Any) -> Any:
        keys = jax.random.wrap_key_data(key, impl="threefry2x32")
        kept = jnp.where(logits < jnp.sort(logits, -1)[:, -20:-19], -1e9, logits)
        return jax.random.categorical(keys, kept), jax.random.normal(keys, logits.shape)

    yield "sampled", (sampled, [line.array((2,), dtype="uint32"), line.array((64, 512), "x")], None)
