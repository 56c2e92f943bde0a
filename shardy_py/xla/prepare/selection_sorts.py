"""Selections of the largest elements that XLA:TPU sorts before it propagates shardings.

    top_k(x)  ->  sort(x, iota), slices of the first

Where few of many are selected, and no slices of these, it calls `TopK` instead. Which those are is not
public: bisected.

>>> from shardy_py.ops import TensorType
>>> gates, vocabulary = (TensorType((64, size), "f32") for size in (8, 32768))
>>> [selects_few(OpRecord("chlo.top_k", (type_,), (), {"k": 2})) for type_ in (gates, vocabulary)]
[False, True]
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo import SliceOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops import OpRecord
from shardy_py.xla.prepare.folding import is_static

CALLED = ("f32", "bf16")
"""Element types of what is selected by a call."""
_FOR_EACH, _LESS, _FOR_TWO = 82, 46, 76
"""The elements from which on XLA:TPU selects by a call, for two, and for each of more: bisected."""


def may_be_called(record: OpRecord) -> bool:
    """Returns whether a call may select the elements: of these types, with at most one batch dimension."""
    (type_,) = record.operands
    return type_ is not None and type_.element in CALLED and type_.rank <= 2


def selects_few(record: OpRecord) -> bool:
    """Returns whether so few of the elements are selected that XLA:TPU does not sort them."""
    (type_,) = record.operands
    if type_ is None or not may_be_called(record):
        return False
    count = int(record.attributes.get("k", 1))
    least = _FOR_TWO if count == 2 else _FOR_EACH * count - _LESS
    return count < 2 or (type_.shape[-1] or 0) >= least


def sorted_selection(op: Operation) -> Sequence[SSAValue] | None:
    """Returns the largest elements and their places, from a sort before a selection; None if it is a call."""
    (value,) = operands_of(op)
    sliced = any(use.operation.name == SliceOp.name for result in op.results for use in result.uses)
    if (selects_few(record_of(op)) and not sliced) or not is_static(value):
        return None
    return sorted_first(op)


def sorted_first(op: Operation, *, is_stable: bool = False) -> Sequence[SSAValue]:
    """Returns the largest elements and their places, from a sort before a selection."""
    (value,) = operands_of(op)
    build = StablehloBuilder(before=op)
    sizes = shape_of(value)
    last = len(sizes) - 1
    places = build.iota(sizes, last, i32)
    scalars = [ranked_tensor((), element) for element in (element_of(value), i32)]

    def greater(inner: StablehloBuilder, arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.compare("GT", arguments[0], arguments[1])]

    region = build.region([type_ for type_ in scalars for _ in range(2)], greater)
    types = (value.type, places.type)
    sort = build.insert("sort", (value, places), types, (region,), dimension=last, is_stable=is_stable)
    first = (0,) * len(sizes)
    return [
        build.slice(found, first, shape_of(result))
        for found, result in zip(sort.results, op.results, strict=True)
    ]
