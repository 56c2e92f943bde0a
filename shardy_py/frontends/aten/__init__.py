"""ATen's ops as functions of builder tensors: one row an op, more by `register_aten`.

    @register_aten("mylib.swiglu")
    def swiglu(out, x, gate):
        return x * ops.logistic(gate) * gate

A row takes the type of the op's result in torch (a tuple of them for several), then the op's arguments:
tensors, numbers, lists, None. It returns tensors of these types. Not here: graphs (`../torch/export.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

from shardy_py.api import ShardyError
from shardy_py.frontends.aten import (
    airy,
    alignments,
    attention_backward,
    backward,
    bessel,
    boundary,
    distances,
    einsum,
    embeddings,
    factorizations,
    fourier,
    gamma,
    grid_sampling,
    grouped,
    linear_algebra,
    losses,
    low_precision,
    matrix_functions,
    normalizations,
    pointwise,
    polynomials,
    pooling,
    pooling_backward,
    products,
    quantization,
    random,
    ranks,
    reductions,
    resampling,
    scatters,
    segments,
    shapes,
    special,
    strided,
    symmetric_factors,
    upsampling_backward,
)
from shardy_py.frontends.aten.elements import Row, convert
from shardy_py.frontends.builder import RankedTensorType, Tensor

_REGROUPING = (
    *("einsum", "instance_norm", "linear", "matmul", "roll", "stack", "tensordot", "unbind"),
    *("scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"),
)
_COUNTED_WRONG = ("multilabel_margin_loss_forward",)
_INDEXED = ("grid_sampler_2d", *(f"reflection_pad{count}d_backward" for count in (1, 2, 3)))
_OVERWRITING = ("select_backward", "slice_backward")
_UPDATES = ("addcdiv", "addcmul", "lerp")
KEPT_WHOLE = tuple(
    f"aten.{name}" for name in (*_REGROUPING, *_COUNTED_WRONG, *_INDEXED, *_OVERWRITING, *_UPDATES)
)
"""Ops that torch would decompose into reshapes, updates of parts or indices of all dimensions, through which
few shardings propagate, into more ops than their row has, or into a wrong result.
"""


def _nothing(out: object, *_: object, **__: object) -> None:
    """An op that checks something at run time."""


def _same(out: object, self: Tensor, *_: object) -> Tensor:
    """An op that changes the layout only."""
    return self


def _converted(out: RankedTensorType, self: Tensor, *_: object) -> Tensor:
    return convert(self, out.element_type)


_CHECKS = (
    "_assert_async",
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_linalg_check_errors",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
)

_TABLES = (
    pointwise.ROWS,
    shapes.ROWS,
    scatters.ROWS,
    products.ROWS,
    einsum.ROWS,
    reductions.ROWS,
    normalizations.ROWS,
    pooling.ROWS,
    backward.ROWS,
    pooling_backward.ROWS,
    special.ROWS,
    airy.ROWS,
    bessel.ROWS,
    gamma.ROWS,
    matrix_functions.ROWS,
    segments.ROWS,
    polynomials.ROWS,
    ranks.ROWS,
    distances.ROWS,
    embeddings.ROWS,
    factorizations.ROWS,
    fourier.ROWS,
    grid_sampling.ROWS,
    linear_algebra.ROWS,
    losses.ROWS,
    low_precision.ROWS,
    random.ROWS,
    resampling.ROWS,
    strided.ROWS,
    symmetric_factors.ROWS,
    attention_backward.ROWS,
    upsampling_backward.ROWS,
)

ROWS: dict[str, Row] = {
    **{f"aten.{name}": row for rows in _TABLES for name, row in rows.items()},
    **alignments.ROWS,
    **grouped.ROWS,
    **quantization.ROWS,
    **{f"aten.{name}": _nothing for name in _CHECKS},
    "prims.convert_element_type": _converted,
    "prims.copy_strided": _same,
    "shardy_py.boundary": boundary.boundary,
    "shardy_py.dot_general": products.product,
}
"""The rows by namespace and name of the op."""

_REGISTERED: dict[str, Row] = {}


@overload
def register_aten(name: str, row: Row) -> Row: ...
@overload
def register_aten(name: str, row: None = None) -> Callable[[Row], Row]: ...
def register_aten(name: str, row: Row | None = None) -> Row | Callable[[Row], Row]:
    """Registers the row of an op: `register_aten("mylib.swiglu", row)`, or as a decorator.

    name: namespace and name, with one overload (`aten.add.Tensor`) or for all. Takes precedence over `ROWS`;
    torch does not decompose registered ops. Raises `ShardyError` for a name without namespace.
    """
    parts = name.split(".")
    if len(parts) not in (2, 3) or not all(parts):
        raise ShardyError.unexpected(
            "", expected="a name such as 'aten.add' or 'aten.add.Tensor'", got=f"'{name}'"
        )
    if row is None:

        def register(function: Row) -> Row:
            return register_aten(name, function)

        return register
    _REGISTERED[name] = row
    return row


def unregister_aten(name: str) -> None:
    """Removes the row of `register_aten` for `name`, if there is one."""
    _REGISTERED.pop(name, None)


def find_row(name: str) -> Row | None:
    """The row of an op, by its full name (`aten.add.Tensor`); None if it has none."""
    stem = ".".join(name.split(".")[:2])
    for table in (_REGISTERED, ROWS):
        for key in (name, stem):
            if key in table:
                return table[key]
    return None


def keeps_whole(name: str) -> bool:
    """Returns whether torch must not decompose the op of that full name."""
    stem = ".".join(name.split(".")[:2])
    return stem in KEPT_WHOLE or name in _REGISTERED or stem in _REGISTERED


__all__ = ["KEPT_WHOLE", "ROWS", "Row", "find_row", "keeps_whole", "register_aten", "unregister_aten"]
