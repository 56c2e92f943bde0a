"""ATen's functions of matrices: `ROWS` by name, as in `pointwise.py`. Batches may be sharded."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from shardy_py.frontends.aten.elements import Row, convert, sizes
from shardy_py.frontends.aten.factorizations import eigh, svd
from shardy_py.frontends.aten.matrices import REAL, adjoint, identity, product, typed
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops, reduce_max, reduce_sum, while_loop

_DEGREE = 18
"""That of the Taylor polynomial of matrices."""
_LARGEST = {"f32": 3.0, "complex<f32>": 3.0}
"""The largest norm for which the polynomial is exact to the last bits, by element type; 1 in f64."""


def _exponential(out: RankedTensorType, self: Tensor) -> Tensor:
    """exp(A / 2^s)^(2^s), with s such that the norm of A / 2^s is small (scaling and squaring)."""
    if 0 in self.shape:
        return self
    rank, batch = self.rank, sizes(self.type)[:-2]
    magnitudes = ops.abs(self)
    norm = reduce_max(reduce_sum(magnitudes, (rank - 1,)), (rank - 2,))
    largest = _LARGEST.get(self.element_type, 1.0)
    logarithm = ops.log(ops.maximum(norm / largest, 1.0)) * (1 / log(2))
    halvings = ops.ceil(logarithm)
    scale = ops.exponential(-halvings * log(2))
    scaled = self * _spread(convert(scale, self.element_type), self)
    unit = identity(self.type)
    result = unit + scaled / float(_DEGREE)
    for k in range(_DEGREE - 1, 0, -1):
        result = unit + product(scaled, result) / float(k)
    count = ops.convert(halvings, "i64")
    most = reduce_max(count, range(len(batch))) if batch else count

    def goes_on(step: Tensor, _: Tensor) -> Tensor:
        return step < most

    def squared(step: Tensor, power: Tensor) -> tuple[Tensor, Tensor]:
        needed = _spread(ops.compare(ops.broadcast_to(step, batch), count, "LT"), power)
        return step + 1, ops.select(needed, product(power, power), power)

    return while_loop(goes_on, squared, (ops.constant(0, "i64", ()), result))[1]


def _spread(values: Tensor, like: Tensor) -> Tensor:
    """One value for each matrix."""
    return ops.broadcast_in_dim(values, sizes(like.type), range(like.rank - 2))


def _columns(values: Tensor, like: Tensor) -> Tensor:
    """One value for each column of matrices."""
    wide = convert(values, like.element_type)
    return ops.broadcast_in_dim(wide, sizes(like.type), (*range(like.rank - 2), like.rank - 1))


def _square_root(out: RankedTensorType, self: Tensor) -> Tensor:
    """V sqrt(values) V^H of Hermitian matrices."""
    real = REAL.get(self.element_type, self.element_type)
    types = (typed(self, sizes(self.type)[-1:], real), self.type)
    values, vectors = eigh(types, self)
    return product(vectors * _columns(ops.sqrt(ops.maximum(values, 0)), vectors), adjoint(vectors))


def _polar(out: Sequence[RankedTensorType], A: Tensor) -> tuple[Tensor, Tensor]:
    """W V^H and V S V^H of the singular values W S V^H."""
    unused = (out[0], typed(A, []), out[1])
    u, values, vh = svd(unused, A)
    v = adjoint(vh)
    return product(u, vh), product(v * _columns(values, v), vh)


ROWS: dict[str, Row] = {
    "linalg_matrix_exp": _exponential,
    "linalg_matrix_sqrth": _square_root,
    "linalg_polar": _polar,
}
"""The rows by the name of the op without overload."""
