"""Products that sum over contracted dimensions: dot_general, dot, einsum, ragged_dot.

Not here: convolutions (`convolution.py`), the arithmetic of element types (`products.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from shardy_py.base.arrays import AnyDtype
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.ops import OpRecord
from shardy_py.ops.compute.arithmetic import current
from shardy_py.ops.compute.lanes import Array, Compute, dtype_of, lanes_of
from shardy_py.ops.compute.products import summed_products
from shardy_py.ops.dimensions import DotDimensions
from shardy_py.ops.record import Attributes

_FEW_PRODUCTS = 4096
_FEW_TERMS = 8
_ROWS = 16
"""Rows that BLAS computes alike: it sums those left over in another order. So equal lanes have equal bits."""


@dataclass(frozen=True, slots=True)
class _Geometry:
    """The orders of axes, lanes first, that make a product one of matrices.

    lhs: lanes, batch, free, contracted. rhs: lanes, batch, contracted, free.
    batch, contracted: the number of these dimensions.
    """

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    batch: int
    contracted: int

    def result(self, lhs: Array, rhs: Array) -> tuple[int, ...]:
        """Returns the shape of the product."""
        return self.shapes(lhs.shape, rhs.shape)[2]

    def multiply(self, lhs: Array, rhs: Array) -> Array:
        """Returns the product, with the axes: lanes, batch, free ones of the left, free ones of the right."""
        left, right, result = self.shapes(lhs.shape, rhs.shape)
        return _matrix_product(lhs.reshape(left), rhs.reshape(right)).reshape(result)

    @SESSION.cache(1024)
    def shapes(self, lhs: tuple[int, ...], rhs: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the matrices to multiply, and that of the result."""
        batch, contracted = self.batch + 1, self.contracted
        free, summed = lhs[batch : len(lhs) - contracted], rhs[batch : batch + contracted]
        columns = rhs[batch + contracted :]
        m, k, n = prod(free), prod(summed), prod(columns)
        result = (max(lhs[0], rhs[0]), *lhs[1:batch], *free, *columns)
        if batch == 1 and rhs[0] == 1 and (lhs[0] == 1 or m % _ROWS == 0):
            return (lhs[0] * m, k), (k, n), result
        return (*lhs[:batch], m, k), (*rhs[:batch], k, n), result


def _matrix_product(lhs: Array, rhs: Array) -> Array:
    """Returns the products of (..., m, k) and (..., k, n).

    Term by term if matmul would call BLAS for each element of the batch (k = 1), and if there are few terms,
    for complex numbers, which BLAS rounds in another order than XLA, and for few numbers: StableHLO's
    interpreter rounds each product and sum, so that sums of parts on several devices have the same bits.
    """
    if current().is_exact:
        return current().matmul(lhs, rhs)
    terms = lhs.shape[-1]
    is_small = lhs.dtype.kind == "c" or lhs.size * rhs.shape[-1] <= _FEW_PRODUCTS
    if terms != 1 and not (is_small and 0 < terms <= _FEW_TERMS):
        return np.matmul(lhs, rhs)
    result = lhs[..., :1] * rhs[..., :1, :]
    for k in range(1, terms):
        result += lhs[..., k : k + 1] * rhs[..., k : k + 1, :]
    return result


@SESSION.cache(1024)
def _geometry(ranks: tuple[int, int], *numbers: tuple[int, ...]) -> _Geometry:
    """numbers: batch dimensions of the left and the right, then contracted dimensions of both."""
    lhs_batch, rhs_batch, lhs_summed, rhs_summed = (tuple(d + 1 for d in given) for given in numbers)
    lhs_free, rhs_free = (
        tuple(d for d in range(1, rank + 1) if d not in taken)
        for rank, taken in zip(ranks, (lhs_batch + lhs_summed, rhs_batch + rhs_summed), strict=True)
    )
    lhs, rhs = (0, *lhs_batch, *lhs_free, *lhs_summed), (0, *rhs_batch, *rhs_summed, *rhs_free)
    return _Geometry(lhs, rhs, len(lhs_batch), len(lhs_summed))


def _product(lhs: Array, rhs: Array, dtype: AnyDtype, *numbers: tuple[int, ...]) -> Array:
    geometry = _geometry((lhs.ndim - 1, rhs.ndim - 1), *numbers)
    left, right = lhs.transpose(geometry.lhs), rhs.transpose(geometry.rhs)
    terms = prod(right.shape[1 + geometry.batch : 1 + geometry.batch + geometry.contracted])
    return summed_products(geometry.multiply, left, right, terms, dtype)


def dot_general(record: OpRecord, lhs: Array, rhs: Array) -> Array:
    """StableHLO's specification, "dot_general"; precision and algorithm do not matter, as on a CPU."""
    numbers = DotDimensions.of(record.attributes)
    return _product(lhs, rhs, dtype_of(record.results[0]), *numbers.batching, *numbers.contracting)


def dot(record: OpRecord, lhs: Array, rhs: Array) -> Array:
    """The last dimension of the left with the first of the right ("dot" of older versions, XLA's `Dot`)."""
    return _product(lhs, rhs, dtype_of(record.results[0]), (), (), (lhs.ndim - 2,), (0,))


def einsum(record: OpRecord, *operands: Array) -> Array:
    """A product by letters, "ab,bc->ac" ("einsum" and "unary_einsum" of older versions)."""
    inputs, output = record.attributes["einsum_config"].replace(" ", "").split("->")
    terms = inputs.split(",")
    sizes = {
        letter: size
        for term, operand in zip(terms, operands, strict=True)
        for letter, size in zip(term, operand.shape[1:], strict=True)
    }
    summed = prod(size for letter, size in sizes.items() if letter not in output)
    equation = f"{','.join(terms)}->{output}"

    def compute(*arrays: Array) -> Array:
        # Lane by lane: one product for all lanes would sum them in an order that depends on their place.
        lanes = range(max(len(array) for array in arrays))
        each = ([array[lane % len(array)] for array in arrays] for lane in lanes)
        product = _exact_einsum if current().is_exact else np.einsum
        return np.stack([product(equation, *parts, optimize=True) for parts in each])

    def one(lhs: Array, rhs: Array) -> Array:
        return compute(lhs) * rhs

    dtype = dtype_of(record.results[0])
    if len(operands) == 2:
        return summed_products(compute, *operands, summed, dtype)
    return summed_products(one, operands[0], np.ones((), operands[0].dtype), summed, dtype)


def _exact_einsum(equation: str, *parts: Array, optimize: bool) -> Array:
    """The products of all elements, then their sums: in an arithmetic that numpy's einsum does not know."""
    inputs, output = equation.split("->")
    letters = "".join(sorted(set(inputs) - {","}))
    arithmetic = current()
    result: Array | None = None
    for term, part in zip(inputs.split(","), parts, strict=True):
        own = "".join(letter for letter in letters if letter in term)
        part = np.einsum(f"{term}->{own}", part)
        part = part.reshape([part.shape[own.index(x)] if x in own else 1 for x in letters])
        result = part if result is None else arithmetic.multiply(result, part)
    assert result is not None
    summed = tuple(number for number, letter in enumerate(letters) if letter not in output)
    total = arithmetic.ufunc(np.add).reduce(result, summed, result.dtype)
    kept = [letter for letter in letters if letter in output]
    return total.transpose([kept.index(letter) for letter in output])


def ragged_dot(record: OpRecord, lhs: Array, rhs: Array, group_sizes: Array) -> Array:
    """CHLO's "ragged_dot": a ragged dimension of the left is divided into groups of the given sizes.

    Free: each group has its matrix on the right; elements in no group are 0. Contracted: each group has its
    product in the result. Batch: groups do not matter.
    """
    numbers: Attributes = record.attributes["ragged_dot_dimension_numbers"]
    common = DotDimensions.of(record.attributes, "ragged_dot_dimension_numbers")
    roles = [*common.batching, *common.contracting]
    dtype = dtype_of(record.results[0])
    (ragged,) = numbers["lhs_ragged_dimensions"]
    if ragged in roles[0]:
        return _product(lhs, rhs, dtype, *roles)
    if ragged in roles[2]:
        return _summed_groups(lhs, rhs, group_sizes, dtype, roles, roles[2].index(ragged))
    return _free_groups(lhs, rhs, group_sizes, dtype, roles, ragged, numbers["rhs_group_dimensions"][0])


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of consecutive positions. starts, ends: (lanes, *prefix, groups), with 1 for equal ones."""

    starts: Array
    ends: Array

    @classmethod
    def of(cls, sizes: Array, prefix: int) -> _Groups:
        """sizes: (lanes, *prefix, groups), or (lanes, groups) for all elements of `prefix` dimensions."""
        if sizes.ndim == 2:
            sizes = sizes.reshape(len(sizes), *[1] * prefix, -1)
        ends = np.cumsum(sizes, -1, dtype=np.int64)
        return cls(ends - sizes, ends)

    def span(self, group: int, size: int) -> slice:
        """Returns the positions that the group has in some lane."""
        first, last = int(self.starts[..., group].min()), int(self.ends[..., group].max())
        return slice(min(max(first, 0), size), min(max(last, 0), size))

    def inside(self, group: int, span: slice) -> Array:
        """Returns whether a position belongs to the group: (lanes, *prefix, positions)."""
        position = np.arange(int(span.start), int(span.stop))
        return (self.starts[..., group, None] <= position) & (position < self.ends[..., group, None])


def _free_groups(
    lhs: Array,
    rhs: Array,
    sizes: Array,
    dtype: AnyDtype,
    roles: Sequence[tuple[int, ...]],
    ragged: int,
    group_dimension: int,
) -> Array:
    own = [tuple(d - (d > group_dimension) for d in role) for role in (roles[1], roles[3])]
    roles = (roles[0], own[0], roles[2], own[1])
    rights = np.moveaxis(rhs, group_dimension + 1, 0)
    geometry = _geometry((lhs.ndim - 1, rhs.ndim - 2), *roles)
    free = [d for d in range(lhs.ndim - 1) if d not in roles[0] + roles[2]]
    along = 1 + len(roles[0]) + free.index(ragged)
    shape = geometry.result(lhs.transpose(geometry.lhs), rights[0].transpose(geometry.rhs))
    result = np.zeros((lanes_of(lhs, rhs, sizes), *shape[1:]), dtype)
    groups = _Groups.of(sizes, along - 1)
    for group, right in enumerate(rights):
        span = groups.span(group, lhs.shape[ragged + 1])
        value = _product(lhs[_along(ragged + 1, span)], right, dtype, *roles)
        inside = groups.inside(group, span)
        mask = inside.reshape(*inside.shape, *[1] * (result.ndim - inside.ndim))
        np.copyto(result[_along(along, span)], value, where=mask)
    return result


def _summed_groups(
    lhs: Array,
    rhs: Array,
    sizes: Array,
    dtype: AnyDtype,
    roles: Sequence[tuple[int, ...]],
    number: int,
) -> Array:
    """number: of the ragged dimension among the contracted ones."""
    geometry = _geometry((lhs.ndim - 1, rhs.ndim - 1), *roles)
    left, right = lhs.transpose(geometry.lhs), rhs.transpose(geometry.rhs)
    batch, contracted = geometry.batch, geometry.contracted
    groups = _Groups.of(sizes, batch + number)
    rest = (1,) * (contracted - number - 1)
    axes = left.ndim - contracted + number, 1 + batch + number
    results: list[Array] = []
    for group in range(sizes.shape[-1]):
        span = groups.span(group, left.shape[axes[0]])
        inside = groups.inside(group, span)
        terms = inside.shape[batch + 1 :] + rest
        parts = (array[_along(axis, span)] for array, axis in zip((left, right), axes, strict=True))
        masks = (
            inside.reshape(*inside.shape[: batch + 1], *middle, *terms, *end)
            for middle, end in (
                ((1,) * (left.ndim - 1 - batch - contracted), ()),
                ((), (1,) * (right.ndim - 1 - batch - contracted)),
            )
        )
        x, y = (np.where(mask, part, part.dtype.type(0)) for mask, part in zip(masks, parts, strict=True))
        results.append(summed_products(geometry.multiply, x, y, prod(x.shape[x.ndim - contracted :]), dtype))
    return np.stack(results, 1)


def _along(axis: int, span: slice) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, span)


COMPUTE: dict[str, Compute] = {
    "stablehlo.dot_general": dot_general,
    "stablehlo.dot": dot,
    "stablehlo.einsum": einsum,
    "stablehlo.unary_einsum": einsum,
    "chlo.ragged_dot": ragged_dot,
}
"""The function of each op."""
