"""Linear algebra as XLA:TPU expands it: numpy runs the expansions, with kernels of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pytest

from shardy_py import Program
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.plain import plain
from shardy_py.ops.compute import COMPUTED, Array, register_custom_call
from shardy_py.ops.compute.lapack import geqrf, getrf
from shardy_py.run.interpret import Executable
from shardy_py.xla.prepare.for_tpu import simplified_for_tpu


def _inverted(keep: Callable[[Array], Array]) -> Callable[[object, Array], Array]:
    def invert(call: object, blocks: Array) -> Array:
        assert blocks.shape[-1] <= 128
        assert np.array_equal(blocks, keep(blocks))
        return np.linalg.inv(blocks)

    return invert


def _factor(call: object, matrix: Array) -> Array:
    assert matrix.shape[-1] <= 128
    return np.linalg.cholesky(np.tril(matrix) + np.tril(matrix, -1).swapaxes(-1, -2))


def _lu(call: object, matrix: Array) -> tuple[Array, Array, Array]:
    assert matrix.shape[-1] <= 128
    factors, pivots, _ = getrf({}, matrix)
    order = np.tile(np.arange(matrix.shape[-2], dtype=np.int32), (*matrix.shape[:-2], 1))
    for batch in np.ndindex(matrix.shape[:-2]):
        for row, other in enumerate(pivots[batch] - 1):
            order[batch][[row, other]] = order[batch][[other, row]]
    return factors, pivots - 1, order


def _qr(call: object, matrix: Array) -> tuple[Array, Array]:
    assert matrix.shape[-1] <= 128
    packed, factors = geqrf({}, matrix)
    return packed, factors


def _compact(call: object, matrix: Array) -> Array:
    """Column j is what the columns before it make of its elements above the diagonal."""
    made = np.zeros_like(matrix)
    for j in range(matrix.shape[-1]):
        made[..., :j, j] = np.einsum("...ij,...j->...i", made[..., :j, :j], matrix[..., :j, j])
        made[..., j, j] = matrix[..., j, j]
    return made


_KERNELS: Final[Mapping[str, Callable[..., Any]]] = {
    "Cholesky": _factor,
    "InvertDiagBlocksLowerTriangular": _inverted(np.tril),
    "InvertDiagBlocksUpperTriangular": _inverted(np.triu),
    "LuDecompositionBlock": _lu,
    "QrDecompositionBlock": _qr,
    "CompactWyHelper": _compact,
}


@pytest.fixture(autouse=True)
def _kernels() -> Iterator[None]:
    """The kernels, as long as a test runs."""
    before = dict(COMPUTED.rows)
    for target, function in _KERNELS.items():
        register_custom_call(target, function)
    yield
    COMPUTED.rows.clear()
    COMPUTED.rows.update(before)


def _targets(module: Any) -> list[str]:
    calls = (op for op in walk_pre_order(module) if "custom_call" in op.name)
    return [str(plain(op.properties["call_target_name"])) for op in calls]


def _run(text: str, *arrays: Array) -> tuple[list[Array], list[str]]:
    """The results of a program as it is expanded, and the kernels that it calls."""
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    results = Executable(module).run([array[None] for array in arrays])
    return [np.asarray(each)[0] for each in results], _targets(module)


def _type(array: Array) -> str:
    return f"tensor<{'x'.join(map(str, array.shape))}xf32>"


def _random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _definite(*shape: int) -> Array:
    root = _random(*shape) / np.float32(shape[-1] ** 0.5)
    return root @ root.swapaxes(-1, -2) + np.eye(shape[-1], dtype=np.float32)


@pytest.mark.parametrize("is_lower", [True, False])
@pytest.mark.parametrize(
    ("shape", "blocks"), [((64, 64), 1), ((129, 129), 1), ((2, 300, 300), 3), ((3, 1, 1), 0)]
)
def test_cholesky(shape: tuple[int, ...], blocks: int, is_lower: bool) -> None:
    """A kernel for each block of several rows, and an inverse for each that others are below."""
    matrix = _definite(*shape)
    type_, lower = _type(matrix), str(is_lower).lower()
    text = f"""func.func @main(%a: {type_}) -> {type_} {{
      %0 = stablehlo.cholesky %a, lower = {lower} : {type_} return %0 : {type_} }}"""
    (found,), called = _run(text, matrix)
    factor = np.tril(found) if is_lower else np.triu(found).swapaxes(-1, -2)
    np.testing.assert_allclose(factor @ factor.swapaxes(-1, -2), matrix, atol=2e-5)
    assert called.count("Cholesky") == blocks
    assert called.count("InvertDiagBlocksLowerTriangular") == -(-shape[-1] // 128) - 1


@pytest.mark.parametrize("is_unit", [True, False])
@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("is_lower", [True, False])
@pytest.mark.parametrize("turned", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("shape", [(300, 300), (2, 256, 256), (40, 40), (3, 1, 1)])
def test_triangular_solve(
    shape: tuple[int, ...], turned: str, is_lower: bool, is_left: bool, is_unit: bool
) -> None:
    """One kernel inverts all blocks, of which the last one is filled up."""
    matrix = _random(*shape) / np.float32(2 * shape[-1]) + np.eye(shape[-1], dtype=np.float32)
    right = _random(*shape[:-2], *((shape[-1], 5) if is_left else (5, shape[-1])))
    flags = {"left_side": is_left, "lower": is_lower, "unit_diagonal": is_unit}
    listed = ", ".join(f"{name} = {str(value).lower()}" for name, value in flags.items())
    text = f"""func.func @main(%a: {_type(matrix)}, %b: {_type(right)}) -> {_type(right)} {{
      %0 = "stablehlo.triangular_solve"(%a, %b) <{{{listed}, transpose_a = #stablehlo<transpose {turned}>}}>
        : ({_type(matrix)}, {_type(right)}) -> {_type(right)}
      return %0 : {_type(right)} }}"""
    (found,), called = _run(text, matrix, right)
    triangle = np.tril(matrix) if is_lower else np.triu(matrix)
    if is_unit:
        places = np.arange(shape[-1])
        triangle[..., places, places] = 1
    given = triangle if turned == "NO_TRANSPOSE" else triangle.swapaxes(-1, -2)
    np.testing.assert_allclose(given @ found if is_left else found @ given, right, atol=2e-4)
    assert len(called) == (shape[-1] > 1)


@pytest.mark.parametrize("shape", [(300, 150), (2, 200, 200), (100, 300), (60, 60)])
def test_lu(shape: tuple[int, ...]) -> None:
    matrix = _random(*shape)
    least = min(shape[-2:])
    batch = "x".join(map(str, shape[:-2])) + ("x" if shape[:-2] else "")
    types = f"{_type(matrix)}, tensor<{batch}{least}xi32>, tensor<{batch}{shape[-2]}xi32>"
    text = f"""func.func @main(%a: {_type(matrix)}) -> ({types}) {{
      %0:3 = stablehlo.custom_call @LuDecomposition(%a) : ({_type(matrix)}) -> ({types})
      return %0#0, %0#1, %0#2 : {types} }}"""
    (factors, pivots, order), called = _run(text, matrix)
    lower = np.tril(factors, -1)[..., :least] + np.eye(shape[-2], least, dtype=np.float32)
    upper = np.triu(factors)[..., :least, :]
    ordered = np.take_along_axis(matrix, order[..., None], -2)
    np.testing.assert_allclose(lower @ upper, ordered, atol=2e-3)
    assert (pivots >= np.arange(least)).all()
    assert called.count("LuDecompositionBlock") == -(-least // 128)


@pytest.mark.parametrize("shape", [(300, 150), (2, 200, 200), (100, 300), (2, 70, 30)])
def test_qr(shape: tuple[int, ...]) -> None:
    """The reflectors of all columns, and their product."""
    matrix = _random(*shape)
    least = min(shape[-2:])
    batch = "x".join(map(str, shape[:-2])) + ("x" if shape[:-2] else "")
    factors, square = f"tensor<{batch}{least}xf32>", f"tensor<{batch}{shape[-2]}x{least}xf32>"
    bounds = ", ".join(f"0:{size}" for size in (*shape[:-1], least))
    text = f"""func.func @main(%a: {_type(matrix)}) -> ({square}, {_type(matrix)}) {{
      %0:2 = stablehlo.custom_call @Qr(%a) : ({_type(matrix)}) -> ({_type(matrix)}, {factors})
      %1 = stablehlo.slice %0#0 [{bounds}] : ({_type(matrix)}) -> {square}
      %2 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%1, %0#1)
        : ({square}, {factors}) -> {square}
      return %2, %0#0 : {square}, {_type(matrix)} }}"""
    (q, packed), called = _run(text, matrix)
    np.testing.assert_allclose(q @ np.triu(packed)[..., :least, :], matrix, atol=2e-4)
    np.testing.assert_allclose(
        q.swapaxes(-1, -2) @ q, np.eye(least) * np.ones((*shape[:-2], 1, 1)), atol=1e-4
    )
    assert called.count("QrDecompositionBlock") == -(-least // 128)


@pytest.mark.parametrize("size", [256, 101])
def test_eigenvalues_are_those_of_four_quarters(size: int) -> None:
    """Of an odd size, the last ones are filled up."""
    type_, values = f"tensor<3x{size}x{size}xf32>", f"tensor<3x{size}xf32>"
    text = f"""func.func @main(%a: {type_}) -> ({type_}, {values}) {{
      %0:2 = stablehlo.custom_call @Eigh(%a) : ({type_}) -> ({type_}, {values})
      return %0#0, %0#1 : {type_}, {values} }}"""
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    (call,) = [op for op in walk_pre_order(module) if "custom_call" in op.name]
    half = -(-size // 2)
    assert {str(each.type) for each in call.operands} == {f"tensor<3x{half}x{half}xf32>"}
