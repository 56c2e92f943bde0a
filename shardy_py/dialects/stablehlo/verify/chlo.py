"""The verifiers of CHLO's elementwise ops and of top_k; what broadcasts is not looked at.

CHLO takes tensors without rank too: nothing is said of their shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from shardy_py.dialects.stablehlo.verify.steps import COMPATIBLE, ELEMENTWISE, Step
from shardy_py.dialects.stablehlo.verify.table import Row
from shardy_py.dialects.stablehlo.verify.tensors import Tensor, need, read_tensor
from shardy_py.dialects.stablehlo.verify.view import View
from shardy_py.dialects.verification.faults import Faults


def _is_ranked(view: View) -> bool:
    return all(read_tensor(type_) is not None for type_ in (*view.operand_types, *view.result_types))


def _if_ranked(step: Step) -> Step:
    def ranked_step(view: View) -> Faults:
        if _is_ranked(view):
            yield from step(view)

    return ranked_step


def infer_top_k(view: View) -> Sequence[Tensor | Attribute]:
    """The operand with `k` elements in its last dimension, and their positions."""
    if not _is_ranked(view):
        return view.result_types
    operand, k = view.operands[0], view.integer("k")
    need(operand.rank >= 1, "operand's rank must be at least 1")
    last = operand.sizes[-1]
    need(last is None or last >= k, f"operand's last dimension must be at least {k}")
    bounds = (*operand.bounds[:-1], None) if operand.bounds else ()
    found = Tensor((*operand.sizes[:-1], k), operand.element, bounds, operand.encoding)
    return (found, found.of(i32))


_COMPATIBLE = (_if_ranked(COMPATIBLE),)
_ELEMENTWISE = (_if_ranked(ELEMENTWISE),)
_KINDS = {
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e"),
            *("conj", "cosh", "sinh", "square", "tan"),
        ),
        "any_float_complex",
    ),
    **dict.fromkeys(("digamma", "erf", "erf_inv", "erfc", "lgamma"), "any_float"),
    "_asin_acos_kernel": "any_complex",
}

CHLO: dict[str, Row] = {
    **{name: Row(kind, kind, _COMPATIBLE) for name, kind in _KINDS.items()},
    **{name: Row("any_float", "any_pred", _ELEMENTWISE) for name in ("is_inf", "is_neg_inf", "is_pos_inf")},
    **{
        name: Row(f"{kind} {kind}", kind, _COMPATIBLE)
        for name, kind in (
            ("next_after", "any_float"),
            ("polygamma", "any_float"),
            ("zeta", "any_float"),
        )
    },
    "top_k": Row("", "", infer=infer_top_k),
}
"""Rows by the op's name without the dialect's."""
