"""Propagation steps at one op: the axes that moved, from which value to which others.

Not here: recording them (`propagation/`), verification (`dialects/sdy`).

>>> edge = AxisEdge(AxisRef("x"), EdgeValueRef("operand", 0), (EdgeValueRef("result", 0),))
>>> str(PropagationStep(2, (edge,)))
'{step-2 = [{"x" = operand-0 -> [result-0]}]}'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shardy_py.sharding.axes import AxisRef

EdgeNode = Literal["operand", "result"]


@dataclass(frozen=True, slots=True)
class EdgeValueRef:
    """An operand or a result of the op, by its index."""

    node: EdgeNode
    index: int

    def __str__(self) -> str:
        return f"{self.node}-{self.index}"


@dataclass(frozen=True, slots=True)
class AxisEdge:
    """An axis propagated from one value of the op to others."""

    axis: AxisRef
    source: EdgeValueRef
    targets: tuple[EdgeValueRef, ...]

    def __str__(self) -> str:
        return f"{{{self.axis} = {self.source} -> [{', '.join(map(str, self.targets))}]}}"


@dataclass(frozen=True, slots=True)
class PropagationStep:
    """The edges of one step of propagation at the op; steps are numbered through the program."""

    index: int
    edges: tuple[AxisEdge, ...]

    def __str__(self) -> str:
        return f"{{step-{self.index} = [{', '.join(map(str, self.edges))}]}}"
