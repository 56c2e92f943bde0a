"""The result types of `chlo.top_k`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from shardy_py.dialects.stablehlo.verify.tensors import Tensor, require
from shardy_py.dialects.stablehlo.verify.view import View


def infer_top_k(view: View) -> Sequence[Tensor | Attribute]:
    """The operand with `k` elements in its last dimension, and their positions."""
    if not view.is_ranked:
        return view.result_types
    operand, k = view.operands[0], view.integer("k")
    require(operand.rank >= 1, "operand's rank must be at least 1")
    last = operand.sizes[-1]
    require(last is None or last >= k, f"operand's last dimension must be at least {k}")
    bounds = (*operand.bounds[:-1], None) if operand.bounds else ()
    found = Tensor((*operand.sizes[:-1], k), operand.element, bounds, operand.encoding)
    return (found, found.of(i32))
