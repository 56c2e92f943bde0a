"""What propagation did, as values: on which step which axis went from where to where, at one op.

Not here: how propagation records them (`propagation/`); what they must satisfy (`dialects/sdy`).

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
        """As MLIR spells it."""
        return f"{self.node}-{self.index}"


@dataclass(frozen=True, slots=True)
class AxisEdge:
    """An axis that went from one value of the op to others."""

    axis: AxisRef
    source: EdgeValueRef
    targets: tuple[EdgeValueRef, ...]

    def __str__(self) -> str:
        """As MLIR spells it."""
        return f"{{{self.axis} = {self.source} -> [{', '.join(map(str, self.targets))}]}}"


@dataclass(frozen=True, slots=True)
class PropagationStep:
    """The edges that one step of propagation made at the op; steps count through the program."""

    index: int
    edges: tuple[AxisEdge, ...]

    def __str__(self) -> str:
        """As MLIR spells it."""
        return f"{{step-{self.index} = [{', '.join(map(str, self.edges))}]}}"
