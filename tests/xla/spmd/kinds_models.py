"""Small programs of one kind each: exchanges, reshards, sorts, stencils, transforms, optimizers.

Their memory depends on how XLA splits collectives, fuses what is around them, and carries what loops change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.xla.spmd.model_styles import Placed, Programs


def programs() -> Programs:
    """The programs by name; a function that is jitted already donates arguments."""
    yield from _exchanges()
    yield from _reshards()
    yield from _sorts()
    yield from _stencils()
    yield from _rolls()
    yield from _transforms()
    yield from _optimizers()
    yield from _scatters()


def _mapped(placed: Placed, function: Callable[..., Any], given: Any, made: Any) -> Callable[..., Any]:
    import jax

    return jax.shard_map(function, mesh=placed.mesh, in_specs=given, out_specs=made, check_vma=False)


def _exchanges() -> Programs:
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import PartitionSpec as P

    line, grid = Placed("8"), Placed("4x2")
    x = line.array((2048, 32), "x")

    def gathered(dtype: Any, axis: int, *, then: Callable[[Any], Any]) -> Any:
        shape = (512, 128) if axis == 0 else (64, 1024)
        spec = P("x") if axis == 0 else P(None, "x")
        local = lambda a: lax.all_gather(a, "x", axis=axis, tiled=True)  # noqa: E731
        whole = _mapped(line, local, (spec,), P())
        return lambda a: then(whole(a)), [line.array(shape, *spec, dtype=dtype)], None

    yield "gather_then_exp", gathered("float32", 0, then=jnp.exp)
    yield "gather_columns_then_add", gathered("float32", 1, then=lambda a: a + 1)
    yield "gather_bf16_then_sum", gathered("bfloat16", 0, then=lambda a: a.sum(1))
    yield "gather_then_transpose", gathered("int32", 0, then=lambda a: a.T * 2)

    def exchange(shape: tuple[int, ...], split: int, joined: int, dtype: str = "float32") -> Any:
        spec = P(*(("x" if d == joined else None) for d in range(len(shape))))
        made = P(*(("x" if d == split else None) for d in range(len(shape))))
        local = lambda a: lax.all_to_all(a, "x", split, joined, tiled=True)  # noqa: E731
        return _mapped(line, local, (spec,), made), [line.array(shape, *spec, dtype=dtype)], None

    yield "exchange_0_1", exchange((512, 256), 0, 1)
    yield "exchange_1_0", exchange((512, 256), 1, 0)
    yield "exchange_last_bf16", exchange((16, 128, 64), 2, 1, "bfloat16")
    yield "exchange_first_of_three", exchange((64, 16, 32), 0, 2)
    yield "exchange_int8", exchange((64, 8, 256), 1, 2, "int8")

    def experts(a: Any) -> Any:
        there = lax.all_to_all(a, "x", 0, 1, tiled=True)
        return lax.all_to_all(jnp.tanh(there) * 2, "x", 1, 0, tiled=True)

    yield (
        "exchange_there_and_back",
        (_mapped(line, experts, P("x"), P("x")), [line.array((64, 16, 32), "x")], None),
    )
    two = _mapped(grid, lambda a: lax.all_to_all(a, "y", 1, 0, tiled=True), P("x", None), P(("x",), None))
    yield "exchange_on_one_axis", (two, [grid.array((64, 64), "x")], None)
    summed = _mapped(line, lambda a: lax.psum(a * 2, "x") + 1, P("x"), P())
    yield "summed_by_hand", (summed, [x], None)
    scattered = _mapped(line, lambda a: lax.psum_scatter(a, "x", tiled=True) ** 2, P(None, None), P("x"))
    yield "scattered_by_hand", (scattered, [line.array((2048, 32))], None)
    turn = [(i, (i + 1) % 8) for i in range(8)]
    turned = _mapped(line, lambda a: a + lax.ppermute(a, "x", turn), P("x"), P("x"))
    yield "turned_by_hand", (turned, [x], None)


def _reshards() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("4x2"), Placed("8")

    def to(placed: Placed, *spec: Any) -> Callable[[Any], Any]:
        return lambda a: jax.lax.with_sharding_constraint(a, placed.at(*spec))

    def chain(placed: Placed, shape: tuple[int, ...], first: Any, *steps: Any, dtype: str = "float32") -> Any:
        def run(a: Any) -> Any:
            for function, spec in steps:
                a = to(placed, *spec)(function(a))
            return a

        return run, [placed.array(shape, *first, dtype=dtype)], None

    rows, columns = ("x", None), (None, "x")
    yield "rows_to_columns", chain(line, (512, 256), rows, (jnp.cos, columns))
    yield "columns_to_rows_bf16", chain(line, (512, 256), columns, (lambda a: a * 2, rows), dtype="bfloat16")
    yield "transposed_reshard", chain(line, (512, 256), rows, (lambda a: a.T, rows))
    yield (
        "transposed_three",
        chain(grid, (32, 64, 16), ("x", "y"), (lambda a: a.transpose(1, 0, 2), ("x", "y"))),
    )
    yield "reshard_last_axis", chain(grid, (16, 32, 64), ("x", "y"), (jnp.exp, ("x", None, "y")))
    yield (
        "reshard_there_and_back",
        chain(grid, (32, 32, 32), ("x", "y"), (jnp.sin, ("x", None, "y")), (jnp.cos, ("x", "y"))),
    )
    yield "swap_axes", chain(grid, (64, 128), ("x", "y"), (lambda a: a + 1, ("y", "x")))
    yield "gather_one_axis", chain(grid, (64, 128), ("x", "y"), (lambda a: a * 3, ("x", None)))
    yield "slice_of_whole", chain(grid, (64, 128), (), (jnp.tanh, ("x", "y")))
    yield "softmax_after_reshard", chain(line, (128, 256), columns, (jax.nn.softmax, rows))

    def layers(a: Any, w: Any, v: Any) -> Any:
        h = to(line, None, "x")(a @ w)
        return to(line, "x", None)(jax.nn.gelu(h) @ v)

    sizes = [line.array((256, 128), "x"), line.array((128, 512)), line.array((512, 128))]
    yield "layers_resharded", (layers, sizes, None)


def _sorts() -> Programs:
    import jax
    import jax.numpy as jnp

    line, grid = Placed("8"), Placed("4x2")
    rows = line.array((1024, 48), "x")
    both = grid.array((256, 64), "x", "y")
    for name, function in (
        ("sort_rows", lambda a: jnp.sort(a, 1)),
        ("sort_columns", lambda a: jnp.sort(a, 0)),
        ("argsort_rows", lambda a: jnp.argsort(a, 1)),
        ("sort_twice", lambda a: jnp.sort(jnp.sort(a, 1) * 2, 1)),
        ("median_rows", lambda a: jnp.median(a, 1)),
        ("median_all", lambda a: jnp.median(a)),
        ("quantile_columns", lambda a: jnp.quantile(a, 0.3, axis=0)),
        ("percentiles", lambda a: jnp.percentile(a, jnp.array([5.0, 50.0, 95.0]), axis=1)),
        ("top_k", lambda a: jax.lax.top_k(a, 4)),
        ("top_k_mask", lambda a: jnp.where(a >= jax.lax.top_k(a, 4)[0][:, -1:], a, 0)),
        ("rank_rows", lambda a: jnp.argsort(jnp.argsort(a, 1), 1)),
        ("trimmed_mean", lambda a: jnp.sort(a, 1)[:, 4:-4].mean(1)),
    ):
        yield name, (function, [rows], None)
        if name in ("sort_rows", "median_rows", "top_k", "argsort_rows"):
            yield f"{name}_both", (function, [both], None)
    yield "sort_bf16", (lambda a: jnp.sort(a, 1), [line.array((1024, 48), "x", dtype="bfloat16")], None)

    def lexicographic(a: Any, b: Any) -> Any:
        return jax.lax.sort((a, b), dimension=1, num_keys=2)

    yield "sort_pairs", (lexicographic, [rows, line.array((1024, 48), "x", dtype="int32")], None)


def _stencils() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("4x2"), Placed("8")

    def laplace(u: Any) -> Any:
        p = jnp.pad(u, 1)
        return 4 * u - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]

    def relaxed(u: Any) -> Any:
        return jax.lax.fori_loop(0, 4, lambda _, u: u - 0.1 * laplace(u), u)

    field, rows = grid.array((96, 64), "x", "y"), line.array((1024, 24), "x")
    yield "laplace", (laplace, [field], None)
    yield "laplace_rows", (laplace, [rows], None)
    yield "relaxed", (relaxed, [field], None)
    yield "relaxed_grad", (jax.grad(lambda u: (laplace(u) ** 2).sum()), [field], None)
    yield "differences", (lambda u: u[1:] - u[:-1], [rows], None)
    yield "differences_columns", (lambda u: u[:, 1:] - u[:, :-1], [rows], None)
    yield "second_differences", (lambda u: u[2:] - 2 * u[1:-1] + u[:-2], [field], None)
    yield "wrapped", (lambda u: jnp.pad(u, ((1, 1), (0, 0)), mode="wrap") * 2, [rows], None)
    yield "interior", (lambda u: u[1:-1, 1:-1] * 2, [field], None)


def _rolls() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("4x2"), Placed("8")

    def central(a: Any, axis: int) -> Any:
        return jnp.roll(a, -1, axis) - jnp.roll(a, 1, axis)

    def stepped(axis: int, length: int, *, again: bool) -> Callable[[Any], Any]:
        def step(h: Any, _: Any) -> tuple[Any, None]:
            return h + 0.1 * h * central(h, axis), None

        step = jax.checkpoint(step) if again else step
        return lambda h: jax.lax.scan(step, h, length=length)[0]

    def loss(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return jax.grad(lambda h: jnp.mean(run(h) ** 2))

    field, rows = grid.array((64, 96), "x", "y"), line.array((512, 32), "x")
    yield "roll_two_rows", (lambda a: jnp.roll(a, 2, 0) * a, [rows], None)
    yield "roll_columns", (lambda a: jnp.roll(a, 3, 1) + a, [rows], None)
    yield "roll_both", (lambda a: jnp.roll(a, (1, -1), (0, 1)), [field], None)
    yield "roll_scan_columns", (stepped(1, 5, again=False), [field], None)
    yield "roll_scan_grad_columns", (loss(stepped(1, 8, again=True)), [field], None)
    yield "roll_scan_grad_rows", (loss(stepped(0, 4, again=True)), [rows], None)
    yield "roll_scan_grad_stored", (loss(stepped(0, 4, again=False)), [field], None)

    def wave(u: Any, v: Any) -> Any:
        def step(carry: Any, _: Any) -> tuple[Any, Any]:
            u, v = carry
            v = v + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) - 2 * u)
            return (u + 0.1 * v, v), v.sum()

        return jax.lax.scan(step, (u, v), length=6)

    yield "roll_wave", (wave, [rows, rows], None)


def _transforms() -> Programs:
    import jax
    import jax.numpy as jnp

    grid, line = Placed("4x2"), Placed("8")

    def at(a: Any, placed: Placed, *spec: Any) -> Any:
        return jax.lax.with_sharding_constraint(a, placed.at(*spec))

    cube = grid.array((16, 32, 64), "x", "y", dtype="complex64")
    plane = line.array((128, 256), "x")
    yield "fft_last", (lambda a: jnp.fft.fft(a, axis=2), [cube], None)
    yield "fft_reshard", (lambda a: at(jnp.fft.fft(a, axis=2), grid, "x", None, "y"), [cube], None)
    yield "fft_middle", (lambda a: jnp.fft.fft(at(a, grid, "x", None, "y"), axis=1), [cube], None)
    yield "rfft_rows", (lambda a: jnp.fft.rfft(a, axis=1), [plane], None)
    yield "rfft_and_back", (lambda a: jnp.fft.irfft(jnp.fft.rfft(a, axis=1) * 2, axis=1), [plane], None)
    yield "fft2", (lambda a: jnp.fft.fft2(a), [plane], None)

    def spectral(a: Any) -> Any:
        h = at(jnp.fft.fft(a, axis=1), line, None, "x")
        return jnp.abs(jnp.fft.fft(h, axis=0))

    yield "fft_both_axes", (spectral, [plane], None)


def _optimizers() -> Programs:
    import jax
    import jax.numpy as jnp
    import optax

    line, grid = Placed("8"), Placed("4x2")

    def at(a: Any, placed: Placed, *spec: Any) -> Any:
        return jax.lax.with_sharding_constraint(a, placed.at(*spec))

    def loss(w: Any, x: Any) -> Any:
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    def zero1(w: Any, m: Any, x: Any) -> Any:
        m = at(0.9 * m + at(jax.grad(loss)(w, x), line, "x"), line, "x")
        return w - at(at(0.1 * m, line, "x"), line), m

    w, m, x = line.array((256, 128)), line.array((256, 128), "x"), line.array((64, 256), "x")
    yield "zero1_momentum", (jax.jit(zero1, donate_argnums=(0, 1)), [w, m, x], None)
    yield "zero1_kept", (zero1, [w, m, x], None)

    def zero2(w: Any, m: Any, v: Any, x: Any) -> Any:
        g = at(jax.grad(loss)(w, x), line, None, "x")
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return w - at(0.1 * m / (jnp.sqrt(v) + 1e-8), line), m, v

    half = line.array((256, 128), None, "x")
    yield "zero1_adam", (jax.jit(zero2, donate_argnums=(0, 1, 2)), [w, half, half, x], None)

    def optimized(
        name: str, make: Callable[[], Any], shapes: dict[str, Any], *, steps: bool
    ) -> Iterator[Any]:
        optimizer = make()
        params = {key: grid.array(shape, *spec) for key, (shape, spec) in shapes.items()}
        state = jax.eval_shape(optimizer.init, params)
        specs = dict(shapes.values())
        state = jax.tree.map(lambda a: grid.array(a.shape, *specs.get(a.shape, ()), dtype=a.dtype), state)

        def forward(p: Any, x: Any) -> Any:
            for key in shapes:
                x = x @ p[key] if len(shapes) == 1 else jnp.tanh(x @ p[key])
            return jnp.mean(x**2)

        def step(p: Any, s: Any, x: Any) -> Any:
            gradients = jax.grad(forward)(p, x)
            updates, s = optimizer.update(gradients, s, p)
            return optax.apply_updates(p, updates), s

        first = next(iter(shapes.values()))[0][0]
        given = [params, state, grid.array((64, first), "x")]
        yield name, (jax.jit(step, donate_argnums=(0, 1)) if steps else step, given, None)

    one = {"w": ((128, 256), (None, "y"))}
    tall = {"w": ((256, 128), ("y", None))}
    two = {"a": ((128, 256), (None, "y")), "b": ((256, 64), ("y", None))}
    yield from optimized("muon_tall", lambda: optax.contrib.muon(1e-3), tall, steps=True)
    yield from optimized("muon_two", lambda: optax.contrib.muon(1e-3), two, steps=True)
    yield from optimized("muon_kept", lambda: optax.contrib.muon(1e-3, ns_steps=3), one, steps=False)
    yield from optimized("adam_two", lambda: optax.adam(1e-3), two, steps=True)
    yield from optimized("adamw_kept", lambda: optax.adamw(1e-3), one, steps=False)
    yield from optimized("lion", lambda: optax.lion(1e-3), two, steps=True)
    yield from optimized("adafactor", lambda: optax.adafactor(1e-3), one, steps=True)
    yield from optimized("lamb", lambda: optax.lamb(1e-3), two, steps=True)
    yield from optimized("shampoo_like_sgd", lambda: optax.sgd(1e-2, 0.9, nesterov=True), two, steps=True)
    clipped = lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))  # noqa: E731
    yield from optimized("adam_clipped", clipped, two, steps=True)
    yield from optimized("multi_steps", lambda: optax.MultiSteps(optax.adam(1e-3), 2), one, steps=True)

    def orthogonal(w: Any) -> Any:
        def body(_: Any, x: Any) -> Any:
            a = x @ x.T
            return 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x

        return jax.lax.fori_loop(0, 5, body, w / jnp.linalg.norm(w))

    yield "newton_schulz_rows", (orthogonal, [grid.array((64, 256), "x")], None)
    yield "newton_schulz_batched", (jax.vmap(orthogonal), [grid.array((4, 64, 128), "x", None, "y")], None)
    bf16 = grid.array((64, 256), None, "y", dtype="bfloat16")
    yield "newton_schulz_bf16", (orthogonal, [bf16], None)


def _scatters() -> Programs:
    import jax
    import jax.numpy as jnp
    from jax import lax

    line, grid = Placed("8"), Placed("4x2")
    table, ids = line.array((512, 64)), line.array((256,), "x", dtype="int32")
    rows, updates = line.array((512, 64), "x"), line.array((256, 64), "x")
    yield (
        "embedding_grad",
        (
            jax.grad(lambda t, i, u: (t[i] * u).sum()),
            [table, ids, updates],
            None,
        ),
    )
    yield (
        "embedding_grad_rows",
        (
            jax.grad(lambda t, i, u: (t[i] * u).sum()),
            [rows, ids, updates],
            None,
        ),
    )
    yield "added_at", (lambda t, i, u: t.at[i].add(u), [table, ids, updates], None)
    yield (
        "added_at_donated",
        (
            jax.jit(lambda t, i, u: t.at[i].add(u), donate_argnums=0),
            [table, ids, updates],
            None,
        ),
    )
    yield "segments", (lambda u, i: jax.ops.segment_sum(u, i, 128), [updates, ids], None)

    def decode(k: Any, v: Any, q: Any, t: Any) -> Any:
        k = lax.dynamic_update_slice(k, q[:, None], (0, t, 0))
        v = lax.dynamic_update_slice(v, q[:, None] * 2, (0, t, 0))
        scores = jax.nn.softmax(jnp.einsum("bd,bsd->bs", q, k))
        return jnp.einsum("bs,bsd->bd", scores, v), k, v

    cache, query = grid.array((8, 128, 32), "x", None, "y"), grid.array((8, 32), "x", "y")
    position = grid.array((), dtype="int32")
    yield "decode", (decode, [cache, cache, query, position], None)
    yield "decode_donated", (jax.jit(decode, donate_argnums=(0, 1)), [cache, cache, query, position], None)
