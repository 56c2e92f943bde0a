"""ATen's distances of vectors, their gradients, and products of three tensors: `ROWS` by name."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from shardy_py.frontends.aten.einsum import einsum
from shardy_py.frontends.aten.elements import Row, convert, filled, sizes
from shardy_py.frontends.aten.scatters import scatter_along
from shardy_py.frontends.aten.shapes import indexed
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops, reduce_max, reduce_sum

_FEW = 25
"""The most vectors whose Euclidean distances torch computes from differences."""
_BY_PRODUCTS, _BY_DIFFERENCES = 1, 2


def norm(differences: Tensor, p: float) -> Tensor:
    """The p-norm over the last dimension."""
    last = (differences.rank - 1,)
    sizes_ = ops.abs(differences)
    if p == 0:
        return reduce_sum(convert(ops.compare(sizes_, 0, "NE"), sizes_.element_type), last)
    if p == 1:
        return reduce_sum(sizes_, last)
    if p == 2:
        return ops.sqrt(reduce_sum(sizes_ * sizes_, last))
    if p == inf:
        return reduce_max(sizes_, last)
    return ops.power(reduce_sum(ops.power(sizes_, p), last), 1 / p)


def _differences(x1: Tensor, x2: Tensor, batch: Sequence[int]) -> Tensor:
    rank = len(batch)
    (rows, width), columns = sizes(x1.type)[-2:], sizes(x2.type)[-2]
    shape = (*batch, rows, columns, width)
    lead = tuple(range(rank))
    x1, x2 = (ops.broadcast_to(x, (*batch, *sizes(x.type)[-2:])) for x in (x1, x2))
    first = ops.broadcast_in_dim(x1, shape, (*lead, rank, rank + 2))
    return first - ops.broadcast_in_dim(x2, shape, (*lead, rank + 1, rank + 2))


def _by_products(x1: Tensor, x2: Tensor, batch: Sequence[int]) -> Tensor:
    """sqrt(|x|^2 + |y|^2 - 2 x y), which needs no tensor of all differences."""
    rank = len(batch)
    shape = (*batch, sizes(x1.type)[-2], sizes(x2.type)[-2])
    x1, x2 = (ops.broadcast_to(x, (*batch, *sizes(x.type)[-2:])) for x in (x1, x2))
    lead = tuple(range(rank))
    squares = [reduce_sum(x * x, (rank + 1,)) for x in (x1, x2)]
    total = ops.broadcast_in_dim(squares[0], shape, (*lead, rank))
    total = total + ops.broadcast_in_dim(squares[1], shape, (*lead, rank + 1))
    products = dot_general(x1, x2, ((rank + 1,), (rank + 1,)), (lead, lead))
    return ops.sqrt(ops.maximum(total - products * 2.0, 0))


def _distances(
    out: RankedTensorType, x1: Tensor, x2: Tensor, p: float, compute_mode: int | None = None
) -> Tensor:
    batch = np.broadcast_shapes(sizes(x1.type)[:-2], sizes(x2.type)[:-2])
    many = max(sizes(x1.type)[-2], sizes(x2.type)[-2]) > _FEW
    if p == 2 and (compute_mode == _BY_PRODUCTS or (many and compute_mode != _BY_DIFFERENCES)):
        return _by_products(x1, x2, batch)
    return norm(_differences(x1, x2, batch), p)


def _pair_distances(out: RankedTensorType, self: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of vectors i < j, row by row."""
    rows, columns = np.triu_indices(sizes(self.type)[0], 1)
    pairs = [indexed(self, 0, (ops.constant(places.astype(np.int64)),)) for places in (rows, columns)]
    return norm(pairs[0] - pairs[1], p)


def _slopes(differences: Tensor, norms: Tensor, p: float) -> Tensor:
    """The derivatives of the p-norms of vectors (last dimension) by their elements, 0 for zero vectors.

    norms: repeated along the last dimension.
    """
    lengths, sign = ops.abs(differences), ops.sign(differences)
    if p == 1:
        return sign
    if p == inf:
        return ops.select(ops.compare(lengths, norms, "EQ"), sign, 0)
    is_zero = ops.compare(norms, 0, "EQ")
    divisor = ops.select(is_zero, 1, norms)
    if p == 2:
        return ops.select(is_zero, 0, differences / divisor)
    # Of powers below 1, those of zeros are infinite.
    lengths = ops.select(ops.compare(lengths, 0, "EQ"), 1, lengths) if p < 1 else lengths
    return ops.select(is_zero, 0, sign * ops.power(lengths / divisor, p - 1))


def _distances_backward(
    out: RankedTensorType, grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor
) -> Tensor:
    """The gradient of the first vectors; grad, cdist: [..., vectors of x1, of x2]."""
    if p == 0 or 0 in (*x1.shape, *x2.shape):
        return filled(out, 0)
    batch = sizes(out)[:-2]
    differences = _differences(x1, x2, batch)
    shape = sizes(differences.type)
    lead = range(len(batch) + 2)
    grads, norms = (ops.broadcast_in_dim(given, shape, lead) for given in (grad, cdist))
    return reduce_sum(_slopes(differences, norms, p) * grads, (len(batch) + 1,))


def _pair_distances_backward(
    out: RankedTensorType, grad: Tensor, self: Tensor, p: float, pdist: Tensor
) -> Tensor:
    count, width = sizes(out)
    if p == 0 or count < 2:
        return filled(out, 0)
    places = [ops.constant(each.astype(np.int64)) for each in np.triu_indices(count, 1)]
    first, second = (indexed(self, 0, (place,)) for place in places)
    shape = sizes(first.type)
    grads, norms = (ops.broadcast_in_dim(given, shape, (0,)) for given in (grad, pdist))
    parts = _slopes(first - second, norms, p) * grads
    total = filled(out, 0)
    for place, part in zip(places, (parts, -parts), strict=True):
        index = ops.broadcast_in_dim(place, (shape[0], width), (0,))
        total = scatter_along(total, 0, index, part, ops.add)
    return total


def _trilinear(
    out: RankedTensorType,
    i1: Tensor,
    i2: Tensor,
    i3: Tensor,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors summed over dimensions; `expand`: the dimensions that an operand lacks."""
    letters = "abcdefghijklmnopqrstuvwxyz"[: i1.rank + len(expand1)]
    terms = [
        "".join(letter for d, letter in enumerate(letters) if d not in lacking)
        for lacking in (expand1, expand2, expand3)
    ]
    result = "".join(letter for d, letter in enumerate(letters) if d not in sumdim)
    return einsum(out, f"{','.join(terms)}->{result}", (i1, i2, i3))


ROWS: dict[str, Row] = {
    "_cdist_backward": _distances_backward,
    "_cdist_forward": _distances,
    "_pdist_backward": _pair_distances_backward,
    "_pdist_forward": _pair_distances,
    "_trilinear": _trilinear,
}
"""The rows by the name of the op without overload."""
