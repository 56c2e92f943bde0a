"""Elementwise ops of CHLO as functions of builder tensors: `chlo("zeta")(x, q)`.

StableHLO has none of them; they are expanded into ops that it has.
"""

from __future__ import annotations

from collections.abc import Callable

from shardy_py.frontends.builder import Tensor, emit
from shardy_py.mlir.dialects.chlo import op_class


def chlo(name: str) -> Callable[..., Tensor]:
    """The op of that name, a function of tensors of one type, which its result has."""
    full_name = op_class(name).name

    def function(operand: Tensor, *others: Tensor) -> Tensor:
        return emit(full_name, operand, *others, results=operand.type)[0]

    return function


erf, erf_inv = chlo("erf"), chlo("erf_inv")
