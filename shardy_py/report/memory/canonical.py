"""The copies of operands that XLA makes for products: their dimensions are in a fixed order before they run.

A product of XLA has batch dimensions first, at most one dimension that is contracted, and at most one other
in each operand. Any other product is made such by transposes and reshapes; a transpose is a copy, fused with
what makes the operand. On the host products are of f32: operands of fewer bits are converted before. Source:
openxla/xla, xla/hlo/transforms/expanders/dot_decomposer.cc.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.reads import integers, structure
from shardy_py.spmd.program import Name, Step

_TRANSPOSE = "stablehlo.transpose"


def copied_order(
    rank: int, batch: Sequence[int], contracting: Sequence[int], *, is_lhs: bool
) -> tuple[int, ...] | None:
    """The order in which an operand is copied for a product; None if it is used as it is.

    >>> copied_order(2, (), (0,), is_lhs=True), copied_order(3, (), (0, 1), is_lhs=True)
    (None, (2, 0, 1))
    """
    free = [i for i in range(rank) if i not in batch and i not in contracting]
    is_canonical = list(batch) == list(range(len(batch))) and len(free) <= 1 and len(contracting) <= 1
    wanted = (*batch, *free, *contracting) if is_lhs else (*batch, *contracting, *free)
    return None if is_canonical or wanted == tuple(range(rank)) else wanted


PRODUCTS = frozenset(("stablehlo.convolution", "stablehlo.dot_general"))
_NARROW = frozenset(("bf16", "f16"))


def is_widened(step: Step) -> bool:
    """Whether the host computes a product in f32 instead of fewer bits."""
    type_ = step.record.operands[0] if step.record.name in PRODUCTS else None
    return type_ is not None and type_.element in _NARROW


def with_copies(step: Step, sent: Sequence[int], *, on_host: bool) -> Iterator[Step]:
    """The step after those that copy its operands; sent: the indices of operands that are sent instead."""
    operands = list(step.operands)
    if step.record.name == "stablehlo.dot_general":
        numbers = structure(step.record, "dot_dimension_numbers")
        for index, (side, type_) in enumerate(zip(("lhs", "rhs"), step.record.operands, strict=False)):
            batch = integers(numbers, f"{side}_batching_dimensions")
            contracting = integers(numbers, f"{side}_contracting_dimensions")
            if type_ is None or index in sent:
                continue
            order = copied_order(type_.rank, batch, contracting, is_lhs=index == 0)
            if order is not None:
                operands[index] = (id(step), "copy", index)
                yield _copy(type_, step.operands[index], operands[index], order)
    for index, name in enumerate(operands if on_host and is_widened(step) else ()):
        type_ = step.record.operands[index]
        if type_ is not None and index not in sent:
            operands[index] = (id(step), "wide", index)
            record = OpRecord("stablehlo.convert", (type_,), (replace(type_, element="f32"),))
            yield Step(record, (name,), (operands[index],), (None,))
    yield replace(step, operands=tuple(operands)) if tuple(operands) != step.operands else step


def _copy(type_: TensorType, source: Name, made: Name, order: Sequence[int]) -> Step:
    result = replace(type_, shape=tuple(type_.shape[i] for i in order))
    record = OpRecord(_TRANSPOSE, (type_,), (result,), {"permutation": tuple(order)})
    return Step(record, (source,), (made,), (None,))
