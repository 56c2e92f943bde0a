"""Inputs of exact runs: uniform residues, integers from the ranges that they index, random padding.

Integers come from a mixture: below one of the sizes that the program indexes, or of the numbers that it
compares integers with, edges of these ranges, zeros; negative ones, and the whole range of their type, in
some runs. Where ops compare floats, many are one of a few: zero, one, the program's constants,
and two residues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp
from xdsl.ir import SSAValue

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import constant_of, is_constant
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.record import record_of
from shardy_py.mlir.text.dense import is_splat
from shardy_py.ops import Family, TensorType
from shardy_py.ops.compute import Array
from shardy_py.ops.compute.movement import check_elements
from shardy_py.ops.table import TABLE
from shardy_py.run.interpret.constants import array_of
from shardy_py.run.interpret.inputs import dtype_of
from shardy_py.run.proof.field.residues import Residues

_ZEROS, _EDGES, _SCALAR_EDGES = 0.12, 0.3, 0.5
_FULL_RANGE, _NEGATIVE, _POSITIVE = 0.25, 0.75, 0.5
_INSIDE, _LEAST = 0.35, 0.5
"""The share of the tensors whose integers are all below one size, and how often it is the least."""
_TIED = 0.85
"""The share of the floats of an input that are one of a few."""
_MOST_CONSTANTS = 12
_COMPARING = ("compare", "broadcast_compare", "clamp", "remainder")
_LARGEST = 1 << 31


def indexed_sizes(module: ModuleOp) -> tuple[int, ...]:
    """Returns the sizes of dimensions that ops index, or count along."""
    sizes: set[int] = set()
    for op in walk_pre_order(module):
        row = TABLE.get(op.name)
        if row is None or not (row.kind is Family.INDEXED or op.name.endswith("iota")):
            continue
        record = record_of(op)
        for type_ in (*record.operands[:1], *record.results[:1]):
            sizes.update(size for size in (type_.shape if type_ else ()) if size)
    return tuple(sorted(sizes)) or (10,)


def compared_integers(module: ModuleOp) -> tuple[int, ...]:
    """Returns the constants with which integers are compared: masks and tokens begin and end there."""
    found: set[int] = set()
    for op in walk_pre_order(module):
        if op.name.rpartition(".")[2] in _COMPARING:
            for value in constants_of(operands_of(op)):
                if value.dtype.kind in "iu" and 0 < int(value) < _LARGEST:
                    found.add(int(value))
    return tuple(sorted(found))


def float_constants(module: ModuleOp) -> tuple[float, ...]:
    """Returns the numbers of which the program has constants, at most a few."""
    values = (op.results[0] for op in walk_pre_order(module) if is_constant(op))
    floats = (value for value in constants_of(values) if value.dtype.kind not in "biuc")
    found = dict.fromkeys(float(value) for value in floats)
    return tuple(value for value in found if np.isfinite(value))[:_MOST_CONSTANTS]


def constants_of(values: Iterable[SSAValue]) -> Iterator[Any]:
    """Returns the elements of those of the values that are constants of one element, repeated or not."""
    for value in values:
        op = constant_of(value)
        attribute: Any = None if op is None else op.properties.get("value")
        if isinstance(attribute, DenseIntOrFPElementsAttr) and is_splat(cast(Any, attribute)):
            yield from array_of(cast(Any, attribute)).reshape(-1)[:1]


def few_integers(random: np.random.Generator, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a few integers at the edges of ranges: many of them meet."""
    edges = {edge for size in sizes for edge in (0, 1, -1, size - 1, size, size // 2)}
    count = int(random.integers(1, 5))
    return tuple(random.choice(sorted(edges), count).tolist())


@dataclass(frozen=True, slots=True)
class Inputs:
    """The source of random inputs.

    integers: the source of integers. sizes: numbers below which they are drawn. ties: the floats of which
    many are equal; (): uniform ones. few: the only integers; (): any. has_nan: whether some floats are NaN.
    """

    field: Residues
    random: np.random.Generator
    integers: np.random.Generator
    sizes: tuple[int, ...]
    ties: tuple[float, ...] = ()
    few: tuple[int, ...] = ()
    has_nan: bool = False

    def of(self, type_: TensorType, shape: tuple[int, ...] | None = None) -> Array:
        """Returns random elements of a tensor. Raises `ShardyError`: it has more dimensions than arrays."""
        dtype = dtype_of(type_)
        shape = tuple(1 if size is None else size for size in type_.shape) if shape is None else shape
        check_elements(shape)
        return self.elements(dtype, shape)

    def elements(self, dtype: AnyDtype, shape: tuple[int, ...]) -> Array:
        """Returns random elements: floats as residues in float64."""
        if dtype == np.bool_:
            return self.integers.random(shape) < 0.5
        if dtype.kind in "iu" or "int" in dtype.name:
            return self._integers(dtype, shape)
        floats = self._floats(shape) + (1j * self._floats(shape) if dtype.kind == "c" else 0.0)
        return self._with_nan(floats) if self.has_nan else floats

    def _with_nan(self, floats: Array) -> Array:
        """Makes none, one, or a share of the elements NaN."""
        share = self.random.choice((0, 0, 1 / max(floats.size, 1), 0.2))
        shape: tuple[int, ...] = floats.shape
        return np.where(self.random.random(shape) < share, np.nan, floats)

    def _floats(self, shape: tuple[int, ...]) -> Array:
        random, values = self.random, self.field.uniform(self.random, shape)
        if not self.ties:
            return values
        few = random.choice(self.ties, int(random.choice((1, 2, len(self.ties)))))
        equal = random.choice(few, shape)  # also in small tensors equal ones meet
        return np.where(random.random(shape) < _TIED, equal, values)

    def _integers(self, dtype: AnyDtype, shape: tuple[int, ...]) -> Array:
        random, order = self.integers, self.field.order
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            low, high = int(info.min), int(info.max)
        else:
            bits = int("".join(filter(str.isdigit, dtype.name)))
            low, high = (
                (0, (1 << bits) - 1) if dtype.name[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
            )
        if self.few:
            return np.clip(random.choice(self.few, shape), low, min(high, 1 << 62)).astype(dtype)
        if order == "lowest" and shape and random.random() < _FULL_RANGE:
            return random.integers(
                low, high, shape, np.int64 if low < 0 else np.uint64, endpoint=True
            ).astype(dtype)
        if random.random() < _INSIDE:
            sizes = [size for size in self.sizes if size > 1] or [2]
            size = min(sizes) if random.random() < _LEAST else int(random.choice(sizes))
            return np.clip(random.integers(0, size, shape), low, high).astype(dtype)
        size = random.choice(self.sizes, shape)
        size = size + random.choice((0, 2, 10), shape)
        values = (random.random(shape) * size).astype(np.int64)
        edges = np.stack([np.zeros_like(size), np.ones_like(size), -np.ones_like(size), size - 1, size])
        chosen = np.take_along_axis(edges, random.integers(0, len(edges), (1, *shape)), 0)[0]
        values = np.where(random.random(shape) < (_EDGES if shape else _SCALAR_EDGES), chosen, values)
        values = np.where(random.random(shape) < _ZEROS, 0, values)
        if order == "highest" and low < 0 and random.random() < _NEGATIVE:
            values = -1 - np.abs(values)  # a maximum shows a zero
        elif order == "lowest" and shape and random.random() < _POSITIVE:
            values = 1 + np.abs(values)  # a minimum does
        return np.clip(values, low, min(high, (1 << 62))).astype(dtype)
