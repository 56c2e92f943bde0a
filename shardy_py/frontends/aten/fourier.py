"""ATen's Fourier transforms: `ROWS` by name, as in `pointwise.py`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from shardy_py.frontends.aten.elements import Row, convert, dimension, sizes
from shardy_py.frontends.aten.shapes import part, reordered
from shardy_py.frontends.builder import RankedTensorType, Tensor, ops

_MOST = 3
"""The most dimensions that one op of StableHLO transforms."""


def _transformed(operand: Tensor, dims: Sequence[int], kind: str, last_size: int = 0) -> Tensor:
    """FFT, IFFT, RFFT or IRFFT over dimensions, the last of which a real transform halves or restores.

    last_size: that of the last dimension before RFFT, or after IRFFT.
    """
    order = [*(d for d in range(operand.rank) if d not in dims), *dims]
    shape = sizes(operand.type)
    length = [shape[d] for d in dims]
    length[-1] = last_size or length[-1]
    result = ops.fft(reordered(operand, order), kind, length)
    return reordered(result, [order.index(d) for d in range(operand.rank)])


def _complex_transform(operand: Tensor, dims: Sequence[int], kind: str) -> Tensor:
    for start in range(0, len(dims), _MOST):
        operand = _transformed(operand, dims[start : start + _MOST], kind)
    return operand


def _scaled(operand: Tensor, count: int, normalization: int, *, has_inverse: bool) -> Tensor:
    """The transform divided by nothing (0), the root of the count (1) or the count (2).

    has_inverse: whether StableHLO has divided by the count.
    """
    divisor = {0: 1.0, 1: count**0.5, 2: float(count)}[normalization]
    factor = (count if has_inverse else 1) / divisor
    return operand if factor == 1 else operand * factor


def _counted(dim: Sequence[int], rank: int) -> list[int]:
    return [dimension(d, rank) for d in dim]


def _c2c(
    out: RankedTensorType, self: Tensor, dim: Sequence[int], normalization: int, forward: bool
) -> Tensor:
    dims = _counted(dim, self.rank)
    if not dims:
        return self
    result = _complex_transform(self, dims, "FFT" if forward else "IFFT")
    count = prod(sizes(self.type)[d] for d in dims)
    return _scaled(result, count, normalization, has_inverse=not forward)


def _r2c(
    out: RankedTensorType, self: Tensor, dim: Sequence[int], normalization: int, onesided: bool
) -> Tensor:
    dims = _counted(dim, self.rank)
    count = prod(sizes(self.type)[d] for d in dims)
    if onesided:
        first = dims[-_MOST:]
        result = _transformed(self, first, "RFFT")
        result = _complex_transform(result, dims[:-_MOST], "FFT")
    else:
        result = _complex_transform(convert(self, out.element_type), dims, "FFT")
    return _scaled(result, count, normalization, has_inverse=False)


def _c2r(
    out: RankedTensorType, self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int
) -> Tensor:
    """The inverse; the operand has the first half of the `last_dim_size` elements."""
    dims = _counted(dim, self.rank)
    self = part(self, dims[-1], 0, last_dim_size // 2 + 1)
    operand = _complex_transform(self, dims[:-_MOST], "IFFT")
    result = _transformed(operand, dims[-_MOST:], "IRFFT", last_dim_size)
    count = prod(sizes(out)[d] for d in dims)
    return _scaled(result, count, normalization, has_inverse=True)


ROWS: dict[str, Row] = {"_fft_c2c": _c2c, "_fft_c2r": _c2r, "_fft_r2c": _r2c}
"""The rows by the name of the op without overload."""
