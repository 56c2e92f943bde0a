"""Functions of whole operands, of which nothing else is known: factorizations, transforms, custom calls.

Each element of a result is a hash of all elements of the operands, of each matrix of a batch on its own.
Integers among the results, as the success of a factorization, are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute import Array, Compute
from shardy_py.ops.compute.lanes import dtype_of, in_lanes, lanes_of
from shardy_py.ops.reads import shape_of
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite, Meaning


def whole(rank_of: Callable[[OpRecord], int | None]) -> Meaning:
    """A function of the last dimensions, as many as `rank_of` returns; None: of all."""

    def meaning(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
        arithmetic.whole.add(site.name)
        label = _label(site)

        def compute(record: OpRecord, *operands: Array) -> Array | tuple[Array, ...]:
            core = rank_of(record)
            batch = 0 if core is None or not operands else max(0, operands[0].ndim - 1 - core)
            return _hashed(arithmetic, label, record, operands, batch)

        return compute

    return meaning


def _label(site: FieldSite) -> str:
    """The function: its name, the types of its operands, and its attributes but for layouts."""
    attributes = site.original.attributes
    listed = (f"{name}={attributes[name]!r}" for name in sorted(attributes) if not name.endswith("layouts"))
    return f"{site.label} {' '.join(listed)}"


def _hashed(
    arithmetic: FieldArithmetic, label: str, record: OpRecord, operands: tuple[Array, ...], batch: int
) -> Array | tuple[Array, ...]:
    lanes = lanes_of(*operands)
    shape = operands[0].shape[1 : 1 + batch] if operands else ()
    bits = np.full((lanes, *shape), 0, np.uint64)
    for number, operand in enumerate(operands):
        for code in arithmetic.codes(operand):
            inner = prod(code.shape[1 + batch :])
            rows = in_lanes(code, lanes).reshape(lanes, *code.shape[1 : 1 + batch], inner)
            hashed = arithmetic.hashes.of_rows(f"{label} {number}", np.ascontiguousarray(rows))
            bits = arithmetic.hashes.of(label, bits, hashed)
    results: list[Array] = []
    for number, type_ in enumerate(record.results):
        full, dtype = (lanes, *shape_of(type_)), dtype_of(type_)
        if dtype.kind not in "fc":
            results.append(np.zeros(full, dtype))
            continue
        places = np.arange(prod(full[1 + batch :]), dtype=np.uint64)
        values = arithmetic.hashes.of(f"{label} result {number}", bits[..., None], places)
        made = arithmetic.residues(values)
        if dtype.kind == "c":
            made = made + 1j * arithmetic.residues(arithmetic.hashes.of("imag", values))
        results.append(made.reshape(full))
    return tuple(results) if len(results) > 1 else results[0]


def triangular_solve(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """A function of the matrix and of each column, or each row if the matrix is on the right."""
    arithmetic.whole.add(site.name)
    label = _label(site)
    is_left = bool(site.record.attributes.get("left_side", True))

    def compute(record: OpRecord, matrix: Array, right: Array) -> Array:
        lanes = lanes_of(matrix, right)
        matrix, right = in_lanes(matrix, lanes), in_lanes(right, lanes)
        columns = np.swapaxes(right, -1, -2) if is_left else right  # (..., columns, elements)
        bits: Array = np.array(0, np.uint64)
        for code in arithmetic.codes(np.ascontiguousarray(matrix)):
            rows = code.reshape(*code.shape[:-2], 1, -1)
            bits = arithmetic.hashes.of(label, bits, arithmetic.hashes.of_rows(label, rows))
        for code in arithmetic.codes(np.ascontiguousarray(columns)):
            bits = arithmetic.hashes.of(label, bits, arithmetic.hashes.of_rows("columns", code))
        places = np.arange(columns.shape[-1], dtype=np.uint64)
        values = arithmetic.hashes.of("solution", bits[..., None], places)
        made = arithmetic.residues(values)
        if right.dtype.kind == "c":
            made = made + 1j * arithmetic.residues(arithmetic.hashes.of("imag", values))
        return np.swapaxes(made, -1, -2) if is_left else made

    return compute
