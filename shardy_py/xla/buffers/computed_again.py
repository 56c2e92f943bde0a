"""Values that XLA:TPU computes again in some of their readers, although others read them as stored.

    y = convert(x); gather(y, ...); exponential(y)     y is stored for the gather; exponential reads x

An op that reads at most one large value is duplicated if that value is stored, so that its reader reads
that one only. So a loss in bf16 keeps logits of half the bytes for its gradient, although the look-up of
labels needs them as f32. Products do not compute again what is stored, and what is made with a product is
not computed again. From ten programs. Source: openxla/xla, `EffectivelyAtMostUnary` in
xla/service/instruction_fusion.cc.

Not here: values that no reader needs as stored (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shardy_py.ops import TensorType
from shardy_py.xla.buffers.storing import StoringKind
from shardy_py.xla.spmd.program import Name, PlannedOp


class Computed(NamedTuple):
    """The values that are computed in all their readers, and the readers that compute a stored one again."""

    fused: set[Name]
    again: dict[Name, list[int]]


def is_computed_again(kind: StoringKind, step: PlannedOp, types: Mapping[Name, TensorType]) -> bool:
    """Returns whether readers may compute the result of an op again, of one result, though it is stored.

    types: of values, on a device. An operand is large if it has as many dimensions of more than one element.
    """
    if kind.is_broadcast or kind.row.counts_places:
        return True
    made = types.get(step.results[0])
    if made is None or not kind.is_elementwise or kind.is_expensive or kind.row.is_constant:
        return False
    rank = _rank(made)
    given = (types.get(name) for name in dict.fromkeys(step.operands))
    return sum(type_ is None or _rank(type_) >= rank for type_ in given) <= 1


def _rank(type_: TensorType) -> int:
    return sum(size != 1 for size in type_.shape)
