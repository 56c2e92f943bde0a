"""LAPACK's routines as custom calls: "lapack_sgetrf_ffi", as JAX emits them for linear algebra on a CPU.

Matrices are the last two dimensions of an array; those before, with the lanes, are a batch. Factorizations
that consist of products take the whole batch. Iterative routines are called for each matrix through scipy,
the LAPACK that JAX uses, so that vectors have its signs; numpy computes f32 in f64. Operands that a routine
overwrites are returned as they are.

Not here: other targets (`custom_calls.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_mapping
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.lanes import Array, Compute
from shardy_py.ops.compute.linear_algebra import cholesky_factor, solved
from shardy_py.ops.compute.tridiagonal import solved_with_perturbation
from shardy_py.ops.record import Attributes

Arrays = tuple[Any, ...]


def letter(attributes: Attributes, name: str) -> str:
    """Returns an option of LAPACK, given as the code of its letter."""
    return chr(attributes[name])


def _potrf(attributes: Attributes, matrices: Array) -> Arrays:
    factor = cholesky_factor(matrices, letter(attributes, "uplo") == "L")
    return factor, np.isnan(factor).any((-1, -2)).astype(np.int32)


def syevd(attributes: Attributes, matrices: Array) -> Arrays:
    """Returns eigenvectors, eigenvalues, and `info`."""
    routine = _lapack(matrices, "heevd" if matrices.dtype.kind == "c" else "syevd")
    is_lower = letter(attributes, "uplo") == "L"

    def compute(matrix: Array) -> Arrays:
        values, vectors, info = routine(matrix, lower=is_lower)
        return vectors, values, np.int32(info)

    return _each(compute, (2,), matrices)


def _gesdd(attributes: Attributes, matrices: Array) -> Arrays:
    routine, mode = _lapack(matrices, "gesdd"), letter(attributes, "mode")
    options = {"compute_uv": mode != "N", "full_matrices": mode != "S"}
    workspace = _lapack(matrices, "gesdd_lwork")(*matrices.shape[-2:], **options)[0]
    squares = [np.zeros((n, n), matrices.dtype) for n in matrices.shape[-2:]]

    def compute(matrix: Array) -> Arrays:
        u, values, vt, info = routine(matrix, **options, lwork=int(workspace.real))
        u, vt = squares if mode == "N" else (u, vt)
        return matrix, values, u, vt, np.int32(info)

    return _each(compute, (2,), matrices)


def getrf(attributes: Attributes, matrices: Array) -> Arrays:
    """Returns the factors L and U in one matrix, pivots counted from 1, and `info`."""
    *batch, m, n = matrices.shape
    factors: Array = matrices.reshape(-1, m, n).copy()
    pivots = np.zeros((len(factors), min(m, n)), np.int32)
    _factorize(factors, pivots, 0, min(m, n))
    if n > m:
        factors[:, :, m:] = _below(factors[:, :, :m], factors[:, :, m:])
    is_zero: Array = np.diagonal(factors, axis1=1, axis2=2) == 0
    # The first column without a pivot, counted from 1; 0 if there is none.
    column = (np.cumsum(is_zero, -1) == 0).sum(-1) + 1
    info = np.where(is_zero.any(-1), column, 0).astype(np.int32).reshape(batch)
    packed: Array = factors.reshape(matrices.shape)
    return packed, pivots.reshape(*batch, min(m, n)), info


def _factorize(matrices: Array, pivots: Array, first: int, last: int) -> None:
    """Eliminates columns, in halves: the right one is updated by products before it is eliminated."""
    if last - first > 1:
        middle = (first + last) // 2
        _factorize(matrices, pivots, first, middle)
        right = matrices[:, :, middle:last]
        right[:, first:middle] = _below(matrices[:, first:middle, first:middle], right[:, first:middle])
        right[:, middle:] -= matrices[:, middle:, first:middle] @ right[:, first:middle]
        _factorize(matrices, pivots, middle, last)
    elif last > first:
        column = matrices[:, first:, first]
        size = (
            np.abs(np.real(column)) + np.abs(np.imag(column)) if column.dtype.kind == "c" else np.abs(column)
        )
        rows = first + size.argmax(-1)
        each = np.arange(len(matrices))
        pivots[:, first] = rows + 1
        swapped = matrices[each, rows]
        matrices[each, rows] = matrices[:, first]
        matrices[:, first] = swapped
        pivot = matrices[:, first, first, None]
        matrices[:, first + 1 :, first] /= np.where(pivot == 0, 1, pivot)


def _below(lower: Array, right: Array) -> Array:
    return solved(lower, right, is_left=True, is_lower=True, is_unit=True, transposed="N")


def geqrf(attributes: Attributes, matrices: Array) -> Arrays:
    """Returns R with the reflectors below it, and their factors."""
    packed, factors = np.linalg.qr(matrices, "raw")
    return packed.swapaxes(-1, -2), factors


def orgqr(attributes: Attributes, packed: Array, factors: Array) -> Array:
    """Returns the first columns of the product of the reflectors."""
    identity = np.eye(*packed.shape[-2:], dtype=packed.dtype)
    return _reflected(packed, factors, identity, is_transposed=False)


def _ormqr(attributes: Attributes, packed: Array, factors: Array, array: Array) -> Array:
    is_left, is_transposed = bool(attributes["left"]), bool(attributes["transpose"])
    if is_left:
        return _reflected(packed, factors, array, is_transposed)
    adjoint = array.conj().swapaxes(-1, -2)
    return _reflected(packed, factors, adjoint, not is_transposed).conj().swapaxes(-1, -2)


def _reflected(packed: Array, factors: Array, array: Array, is_transposed: bool) -> Array:
    """Returns Q array, or Q^H array: Q = I - V T V^H, with (I + D U) T = D.

    D has the factors on its diagonal, U is V^H V above the diagonal. See Puglisi, "Modification of the
    Householder method based on the compact WY representation" (1992).
    """
    count = factors.shape[-1]
    vectors = np.tril(packed[..., :count], -1) + np.eye(packed.shape[-2], count, dtype=packed.dtype)
    adjoint = vectors.conj().swapaxes(-1, -2)
    scales = factors[..., None]
    inner = solved(
        scales * (adjoint @ vectors),
        scales * np.eye(count, dtype=packed.dtype),
        is_left=True,
        is_lower=False,
        is_unit=True,
        transposed="N",
    )
    inner = inner.conj().swapaxes(-1, -2) if is_transposed else inner
    return array - vectors @ (inner @ (adjoint @ array))


def _trsm(attributes: Attributes, matrices: Array, right: Array) -> Array:
    side, uplo, diag, transposed = (letter(attributes, n) for n in ("side", "uplo", "diag", "trans_x"))
    return solved(matrices, right, side == "L", uplo == "L", diag == "U", transposed)


def _lapack(matrices: Array, name: str) -> Callable[..., Any]:
    """Returns scipy's function for a routine. Raises `ShardyError` without scipy."""
    try:
        from scipy.linalg import lapack  # pyright: ignore
    except ImportError as error:
        what, remedy = f"LAPACK's {name} without scipy", "pip install shardy_py[interpret]"
        raise ShardyError.unsupported(what, remedy=remedy) from error
    prefix = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[matrices.dtype.name]
    return getattr(lapack, prefix + name)  # pyright: ignore


def _each(compute: Callable[..., Arrays], ranks: tuple[int, ...], *arrays: Array) -> Arrays:
    """Calls a function for each element of the batch, and stacks its results.

    ranks: of the arrays without their batch.
    """
    own = [array.shape[array.ndim - rank :] for array, rank in zip(arrays, ranks, strict=True)]
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - rank] for a, rank in zip(arrays, ranks, strict=True)))
    pairs = zip(arrays, own, strict=True)
    flat = (np.broadcast_to(array, (*batch, *shape)).reshape(-1, *shape) for array, shape in pairs)
    columns = zip(*(compute(*given) for given in zip(*flat, strict=True)), strict=True)
    stacked: list[Array] = [np.asarray(column) for column in columns]
    return tuple(array.reshape(*batch, *array.shape[1:]) for array in stacked)


def _geev(attributes: Attributes, matrices: Array) -> Arrays:
    routine, size = _lapack(matrices, "geev"), matrices.shape[-1]
    workspace = _lapack(matrices, "geev_lwork")(size)[0]

    def compute(matrix: Array) -> Arrays:
        *values, left, right, info = routine(matrix, lwork=int(workspace.real))
        sides = (
            (left, right) if len(values) == 1 else (_eigenvectors(side, values[1]) for side in (left, right))
        )
        return *values, *sides, np.int32(info)

    return _each(compute, (2,), matrices)


def _eigenvectors(packed: Array, imaginary: Array) -> Array:
    """Returns the vectors of a real matrix; a pair is given as real and imaginary part of the first."""
    vectors = packed.astype(np.result_type(packed, np.complex64))
    first = np.flatnonzero(imaginary > 0)
    vectors[:, first] += 1j * packed[:, first + 1]
    vectors[:, first + 1] = vectors[:, first].conj()
    return vectors


def _unsorted(*eigenvalue: object) -> int:
    return 0


def _gees(attributes: Attributes, matrices: Array) -> Arrays:
    routine = _lapack(matrices, "gees")

    def compute(matrix: Array) -> Arrays:
        form, selected, *values, vectors, _, info = routine(_unsorted, matrix, sort_t=0)
        return form, vectors, *values, np.int32(selected), np.int32(info)

    return _each(compute, (2,), matrices)


def _gehrd(attributes: Attributes, matrices: Array) -> Arrays:
    routine, low, high = _lapack(matrices, "gehrd"), attributes["low"] - 1, attributes["high"] - 1

    def compute(matrix: Array) -> Arrays:
        *results, info = routine(matrix, low, high)
        return *results, np.int32(info)

    return _each(compute, (2,), matrices)


def _sytrd(attributes: Attributes, matrices: Array) -> Arrays:
    prefix = "he" if matrices.dtype.kind == "c" else "sy"
    routine, is_lower = _lapack(matrices, f"{prefix}trd"), letter(attributes, "uplo") == "L"

    def compute(matrix: Array) -> Arrays:
        *results, info = routine(matrix, is_lower)
        return *results, np.int32(info)

    return _each(compute, (2,), matrices)


def _geqp3(attributes: Attributes, matrices: Array, pivots: Array) -> Arrays:
    """pivots: given as zeros, all columns are free."""
    routine = _lapack(matrices, "geqp3")

    def compute(matrix: Array) -> Arrays:
        packed, columns, factors, *_ = routine(matrix)
        return packed, columns.astype(np.int32), factors

    return _each(compute, (2,), matrices)


def _gesvd(attributes: Attributes, matrices: Array) -> Arrays:
    routine, mode = _lapack(matrices, "gesvd"), letter(attributes, "mode")

    def compute(matrix: Array) -> Arrays:
        u, values, vt, info = routine(matrix, full_matrices=mode != "S")
        return matrix, values, u, vt, np.int32(info)

    return _each(compute, (2,), matrices)


def _gtsv(attributes: Attributes, lower: Array, diagonal: Array, upper: Array, right: Array) -> Arrays:
    """The first element of `lower` and the last of `upper` have no meaning."""
    routine = _lapack(right, "gtsv")

    def compute(lower: Array, diagonal: Array, upper: Array, right: Array) -> Arrays:
        *_, solution, info = routine(lower[1:], diagonal, upper[:-1], right)
        return lower, diagonal, upper, solution, np.int32(info)

    return _each(compute, (1, 1, 1, 2), lower, diagonal, upper, right)


def _gtsv2(attributes: Attributes, *operands: Array) -> Array:
    """cuSPARSE's routine returns the solution only."""
    return _gtsv(attributes, *operands)[3]


def _perturbed(attributes: Attributes, *operands: Array) -> Array:
    return solved_with_perturbation(*operands)


def _call(routine: Callable[..., object]) -> Compute:
    def compute(record: OpRecord, *operands: Array) -> object:
        config = record.attributes.get("mhlo.backend_config") or record.attributes.get("backend_config")
        return routine(config if is_mapping(config) else {}, *operands)

    return compute


_REAL: dict[str, Callable[..., object]] = {"orgqr": orgqr, "ormqr": _ormqr, "syevd": syevd, "sytrd": _sytrd}
_COMPLEX: dict[str, Callable[..., object]] = {
    "ungqr": orgqr, "unmqr": _ormqr, "heevd": syevd, "hetrd": _sytrd
}  # fmt: skip
_BOTH: dict[str, Callable[..., object]] = {
    "geev": _geev,
    "gees": _gees,
    "gehrd": _gehrd,
    "geqp3": _geqp3,
    "geqrf": geqrf,
    "gesdd": _gesdd,
    "gesvd": _gesvd,
    "getrf": getrf,
    "gtsv": _gtsv,
    "potrf": _potrf,
    "trsm": _trsm,
}
ROUTINES: dict[str, Compute] = {
    f"lapack_{letter}{name}_ffi": _call(routine)
    for letters, table in (("sdcz", _BOTH), ("sd", _REAL), ("cz", _COMPLEX))
    for letter in letters
    for name, routine in table.items()
} | {
    "cu_tridiagonal_solve_perturbed": _call(_perturbed),
    "cusparse_gtsv2_ffi": _call(_gtsv2),
    "hipsparse_gtsv2_ffi": _call(_gtsv2),
    "tridiagonal_solve_perturbed_ffi": _call(_perturbed),
}
"""The function of each routine, by target."""
