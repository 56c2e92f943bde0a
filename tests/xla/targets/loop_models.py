"""Programs for loops of permutes instead of gathers and scattered sums, and what XLA:TPU made of them.

    python -m tests.xla.targets.loop_models compile v5e v5p v6e > found.json    in an environment with libtpu
    python -m tests.xla.targets.loop_models                                     compares, without a compiler

The first compiles all programs ahead of time, without the hardware (jax[tpu] 0.10.2). It prints by name and
target the collectives (kind -> ops, runs, bytes of results), as in `compiled_loops.json`. They are
counted by `hlo/collectives/`, which follows the counters of loops; ../shared/targets counts an iteration a
step, so that `recounted` has a program of it. `SEEN` are the programs with which the rules were found; the
others check them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tests.xla.targets.on_compilers import Compared, forecast, of_json, shown

KNOWN = Path(__file__).parent / "compiled_loops.json"
BF16, F32 = jnp.bfloat16, jnp.float32
TOPOLOGIES = {
    "v5e": {4: "v5e:2x2", 8: "v5e:2x4", 16: "v5e:4x4"},
    "v5p": {4: "v5p:2x2x1", 8: "v5p:2x2x2", 16: "v5p:2x2x4"},
    "v6e": {4: "v6e:2x2", 8: "v6e:2x4", 16: "v6e:4x4"},
}

Made = tuple[Callable[..., Any], tuple[Any, ...], Any]
"""A function, its arguments, and the shardings of its results."""
Maker = Callable[[Any], Made]


class Sharded:
    """Arguments and constraints on a mesh."""

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh

    def __call__(self, shape: tuple[int, ...], *spec: Any, dtype: Any = BF16) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=self.on(*spec))

    def on(self, *spec: Any) -> NamedSharding:
        return NamedSharding(self.mesh, P(*spec))

    def put(self, value: Any, *spec: Any) -> Any:
        return jax.lax.with_sharding_constraint(value, self.on(*spec))


def _mlp(rows: int, width: int, inner: int, dtype: Any = BF16) -> Maker:
    """Rows are sharded outside, columns inside; gathers and scatters are left to the partitioner."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)
        arguments = s((rows, width), "a", dtype=dtype), s((width, inner), None, "a", dtype=dtype)
        down = s((inner, width), "a", dtype=dtype)
        return lambda x, a, b: jax.nn.gelu(x @ a) @ b, (*arguments, down), s.on("a")

    return make


def _sequence_parallel(batch: int, rows: int, width: int, inner: int, *, train: bool = False) -> Maker:
    """The same on two axes: batch along "d", the sequence and the inner columns along "m"."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)
        shape = (batch, rows, width)

        def f(x: Any, a: Any, b: Any) -> Any:
            h = s.put(jax.nn.silu(x @ a), "d", None, "m")
            return s.put(x + h @ b, "d", "m", None)

        arguments = s(shape, "d", "m"), s((width, inner), None, "m"), s((inner, width), "m")
        if not train:
            return f, arguments, s.on("d", "m")

        def loss(x: Any, a: Any, b: Any) -> Any:
            return (f(x, a, b).astype(F32) ** 2).sum()

        made = s.on("d", "m"), s.on(None, "m"), s.on("m")
        return jax.grad(loss, (0, 1, 2)), arguments, made

    return make


def _layers(rows: int, width: int, count: int, axis: str = "a", *, constraint: bool = False) -> Maker:
    """Fully sharded weights, forward."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def f(x: Any, *weights: Any) -> Any:
            for w in weights:
                x = jnp.tanh(x @ (s.put(w) if constraint else w))
            return x

        return f, (s((rows, width), axis), *[s((width, width), axis)] * count), s.on(axis)

    return make


def _trained(rows: int, width: int, inner: int, dtype: Any = BF16) -> Maker:
    """Fully sharded weights of an MLP and their gradients."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def loss(a: Any, b: Any, x: Any) -> Any:
            a, b = a.astype(BF16), b.astype(BF16)
            return ((jax.nn.relu(x @ a) @ b).astype(F32) ** 2).sum()

        weights = s((width, inner), "a", dtype=dtype), s((inner, width), "a", dtype=dtype)
        return jax.grad(loss, (0, 1)), (*weights, s((rows, width), "a")), (s.on("a"), s.on("a"))

    return make


def _two_axes(rows: int, width: int, inner: int, *, train: bool = False) -> Maker:
    """Weights sharded along both axes: of the data, and of the columns."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def f(a: Any, b: Any, x: Any) -> Any:
            h = s.put(jax.nn.gelu(x @ a), "d", "m")
            return s.put(h @ b, "d", None)

        arguments = s((width, inner), "d", "m"), s((inner, width), "m", "d"), s((rows, width), "d")
        if not train:
            return f, arguments, s.on("d")
        made = s.on("d", "m"), s.on("m", "d")
        return jax.grad(lambda a, b, x: (f(a, b, x).astype(F32) ** 2).sum(), (0, 1)), arguments, made

    return make


def _heads(rows: int, width: int) -> Maker:
    """Three projections of one sharded value, and one behind them."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def f(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
            return (jnp.tanh(x @ q) * jax.nn.sigmoid(x @ k) * (x @ v)) @ o

        square = (width, width)
        weights = [s(square, None, "a")] * 3
        return f, (s((rows, width), "a"), *weights, s(square, "a")), s.on("a")

    return make


def _scattered(rows: int, summed: int, width: int, dtype: Any = BF16, *, minor: bool = False) -> Maker:
    """A product whose sum is scattered along rows, or columns."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)
        arguments = s((rows, summed), None, "a", dtype=dtype), s((summed, width), "a", dtype=dtype)
        return lambda x, w: x @ w, arguments, s.on(None, "a") if minor else s.on("a")

    return make


def _gathered_columns(rows: int, width: int, made: int, dtype: Any = BF16) -> Maker:
    """The left operand is sharded along the dimension that is summed, the right one along its columns."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)
        arguments = s((rows, width), None, "a", dtype=dtype), s((width, made), None, "a", dtype=dtype)
        return lambda x, w: x @ w, arguments, s.on(None, "a")

    return make


def _batched(batch: int, rows: int, width: int) -> Maker:
    """A product of each of many matrices, the right ones sharded along another dimension."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)
        shape = (batch, rows, width)
        arguments = s(shape, "d", "m"), s((batch, width, width), "d", None, "m")
        return lambda x, w: jnp.einsum("bij,bjk->bik", x, w), arguments, s.on("d", "m")

    return make


def _layer(rows: int, width: int, heads: int, inner: int, *, train: bool = False) -> Maker:
    """A layer of a decoder: weights are sharded along both axes, heads and inner columns along "m"."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def f(x: Any, q: Any, k: Any, v: Any, o: Any, up: Any, gate: Any, down: Any) -> Any:
            h = x / jnp.sqrt((x.astype(F32) ** 2).mean(-1, keepdims=True)).astype(BF16)
            parts = [(h @ w).reshape(*x.shape[:2], heads, -1) for w in (q, k, v)]
            scores = jnp.einsum("bqhd,bkhd->bhqk", parts[0], parts[1]).astype(F32)
            weights = jax.nn.softmax(scores, axis=-1).astype(BF16)
            mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, parts[2]).reshape(*x.shape)
            x = s.put(x + mixed @ o, "d", None, None)
            return s.put(x + (jax.nn.silu(x @ gate) * (x @ up)) @ down, "d", None, None)

        square, wide = (width, width), (width, inner)
        arguments = [s((16, rows, width), "d"), *[s(square, "d", "m")] * 3, s(square, "m", "d")]
        arguments += [s(wide, "d", "m"), s(wide, "d", "m"), s((inner, width), "m", "d")]
        if not train:
            return f, tuple(arguments), s.on("d")
        specs = [each.sharding for each in arguments[1:]]
        loss = jax.grad(lambda *a: (f(*a).astype(F32) ** 2).sum(), tuple(range(1, 8)))
        return loss, tuple(arguments), tuple(specs)

    return make


def _residual(rows: int, width: int, inner: int) -> Maker:
    """Rows stay sharded between two blocks; gradients of weights that are whole."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def loss(weights: Any, x: Any) -> Any:
            for a, b in weights:
                x = s.put(x + jnp.tanh(x @ a) @ b, "a")
            return (x.astype(F32) ** 2).sum()

        weights = [(s((width, inner), None, "a"), s((inner, width), "a"))] * 2
        made = [(s.on(None, "a"), s.on("a"))] * 2
        return jax.grad(loss), (weights, s((rows, width), "a")), made

    return make


def _scanned(rows: int, width: int, count: int) -> Maker:
    """Fully sharded weights, one layer an iteration of a loop."""

    def make(mesh: Any) -> Made:
        s = Sharded(mesh)

        def f(x: Any, weights: Any) -> Any:
            return jax.lax.scan(lambda c, w: (s.put(jnp.tanh(c @ w), "a"), None), x, weights)[0]

        return f, (s((rows, width), "a"), s((count, width, width), None, "a")), s.on("a")

    return make


PROGRAMS: dict[str, tuple[dict[str, int], Maker]] = {
    "mlp_8": ({"a": 8}, _mlp(8192, 2048, 8192)),
    "mlp_4": ({"a": 4}, _mlp(8192, 2048, 16384)),
    "mlp_4_narrow": ({"a": 4}, _mlp(8192, 2048, 4096)),
    "mlp_f32_8": ({"a": 8}, _mlp(4096, 1024, 8192, F32)),
    "sequence_2x4": ({"d": 2, "m": 4}, _sequence_parallel(4, 2048, 2048, 16384)),
    "sequence_4x4": ({"d": 4, "m": 4}, _sequence_parallel(4, 4096, 2048, 11264)),
    "sequence_train_2x4": ({"d": 2, "m": 4}, _sequence_parallel(4, 4096, 2048, 10240, train=True)),
    "layers_8": ({"a": 8}, _layers(32768, 2048, 3)),
    "layers_8_few_rows": ({"a": 8}, _layers(6144, 2048, 2)),
    "layers_constraint_8": ({"a": 8}, _layers(32768, 2048, 2, constraint=True)),
    "layers_16": ({"a": 16}, _layers(32768, 2048, 2)),
    "layers_2": ({"a": 2, "b": 4}, _layers(65536, 1024, 2)),
    "train_8": ({"a": 8}, _trained(16384, 2048, 4096)),
    "train_f32_8": ({"a": 8}, _trained(16384, 1024, 4096, F32)),
    "train_4": ({"a": 4}, _trained(32768, 2048, 8192)),
    "two_axes_4x4": ({"d": 4, "m": 4}, _two_axes(65536, 2048, 8192)),
    "two_axes_2x4": ({"d": 2, "m": 4}, _two_axes(32768, 2048, 8192)),
    "two_axes_train_4x4": ({"d": 4, "m": 4}, _two_axes(65536, 2048, 8192, train=True)),
    "two_axes_train_2x4": ({"d": 2, "m": 4}, _two_axes(32768, 2048, 8192, train=True)),
    "heads_8": ({"a": 8}, _heads(4096, 8192)),
    "scattered_8": ({"a": 8}, _scattered(2048, 16384, 1536)),
    "scattered_minor_8": ({"a": 8}, _scattered(2048, 16384, 2048, minor=True)),
    "scattered_f32_4": ({"a": 4}, _scattered(2048, 24576, 1024, F32)),
    "scattered_16": ({"a": 16}, _scattered(4096, 12288, 1024)),
    "scattered_odd_8": ({"a": 8}, _scattered(1672, 2048, 1024)),
    "columns_8": ({"a": 8}, _gathered_columns(1024, 4096, 16384)),
    "columns_f32_8": ({"a": 8}, _gathered_columns(1024, 4096, 6144, F32)),
    "batched_2x4": ({"d": 2, "m": 4}, _batched(4, 32768, 1024)),
    "layer_2x4": ({"d": 2, "m": 4}, _layer(512, 2048, 16, 6144)),
    "layer_4x2": ({"d": 4, "m": 2}, _layer(1024, 1024, 8, 4096)),
    "layer_4x4": ({"d": 4, "m": 4}, _layer(1024, 2048, 16, 5632)),
    "layer_train_2x4": ({"d": 2, "m": 4}, _layer(512, 1024, 8, 4096, train=True)),
    "layer_train_4x4": ({"d": 4, "m": 4}, _layer(1024, 1024, 8, 4096, train=True)),
    "residual_8": ({"a": 8}, _residual(8192, 1024, 6144)),
    "residual_4": ({"a": 4}, _residual(4096, 2048, 4096)),
    "scanned_8": ({"a": 8}, _scanned(16384, 1024, 5)),
    "scanned_4": ({"a": 4}, _scanned(6144, 1536, 3)),
    "columns_16": ({"a": 16}, _gathered_columns(512, 8192, 12288)),
    "scattered_wide_4": ({"a": 4}, _scattered(6000, 2048, 3072)),
    "scattered_f32_8": ({"a": 8}, _scattered(4096, 4096, 1280, F32)),
}
SEEN = frozenset(
    (
        *("mlp_8", "mlp_4_narrow", "sequence_2x4", "sequence_train_2x4", "layers_8", "layers_constraint_8"),
        *("layers_2", "train_8", "train_4", "two_axes_4x4", "two_axes_train_2x4", "scattered_8"),
        *("scattered_f32_4", "columns_8"),
    )
)
"""The programs with which the rules of loops were found. Of the others `train_f32_8`, `scattered_odd_8` and
`sequence_4x4` showed more; those from `layer_2x4` on were compiled when all rules were there."""


def lowered(name: str) -> str:
    """A program as JAX lowers it for TPUs; no devices are needed."""
    sizes, make = PROGRAMS[name]
    function, arguments, results = make(AbstractMesh(tuple(sizes.values()), tuple(sizes)))
    traced = jax.jit(function, out_shardings=results).trace(*arguments)
    return traced.lower(lowering_platforms=("tpu",)).as_text(debug_info=True)


def compiled(name: str, target: str) -> dict[str, tuple[int, int, int]]:
    """The collectives of a program as XLA:TPU compiles it, by kind: ops, runs, bytes of results."""
    from jax.experimental import topologies

    from tests.xla.targets.compile_models import counted

    sizes, make = PROGRAMS[name]
    count = prod(sizes.values())
    topology = topologies.get_topology_desc(platform="tpu", topology_name=TOPOLOGIES[target][count])
    mesh = topologies.make_mesh(topology, tuple(sizes.values()), tuple(sizes))
    function, arguments, results = make(mesh)
    traced = jax.jit(function, out_shardings=results).trace(*arguments)
    return counted(str(traced.lower(lowering_platforms=("tpu",)).compile().as_text()))


def _compile(targets: list[str], names: Iterator[str] | list[str]) -> None:
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        for target in targets:
            found.setdefault(name, {})[target] = compiled(name, target)
            print(name, target, found[name][target], file=sys.stderr, flush=True)
    print(json.dumps(found))


def compared(name: str, targets: list[str]) -> list[Compared]:
    """Forecasts a program for each target for which it was compiled."""
    from shardy_py import Program, propagate
    from shardy_py.base import releases

    known = json.loads(KNOWN.read_text())["programs"].get(name, {})
    with releases.of(releases.JAX_0_10):
        result = propagate(Program.parse(lowered(name), as_compiled=True), progress=False)
        return [
            Compared(name, target, of_json(known[target]), forecast(result, target))
            for target in targets
            if target in known
        ]


def _compare(targets: list[str]) -> None:
    rows = [row for name in PROGRAMS for row in compared(name, targets)]
    for row in rows:
        if not row.is_close(1):
            print(f"{row.name} {row.target}")
            print(f"  ours     {shown(row.forecast)}\n  compiled {shown(row.compiled)}")
    for target in targets:
        for seen in (True, False):
            own = [row for row in rows if row.target == target and (row.name in SEEN) == seen]
            near = [sum(row.is_close(1, most) for row in own) for most in (0.05, 0.1)]
            which = "with which the rules were found" if seen else "not used"
            print(f"{target}, {which}: bytes within 5 % {near[0]}, 10 % {near[1]} of {len(own)}")


if __name__ == "__main__":
    command, *given = sys.argv[1:] or ["compare"]
    if command == "compile":
        _compile(
            [each for each in given if each in TOPOLOGIES], [n for n in given if n in PROGRAMS] or [*PROGRAMS]
        )
    else:
        _compare(given or [*TOPOLOGIES])
