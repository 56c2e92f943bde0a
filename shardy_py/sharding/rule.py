"""The values that `sdy` attaches to an op: sharding rules and propagation edges.

`([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}` is a matrix product with three factors; each
dimension of an operand or result is a product of factors, major to minor. Propagation edges are the axes that
moved at one op, from which value to which others.

>>> edge = AxisEdge(AxisRef("x"), EdgeValueRef("operand", 0), (EdgeValueRef("result", 0),))
>>> str(PropagationStep(2, (edge,)))
'{step-2 = [{"x" = operand-0 -> [result-0]}]}'

Not here: deriving rules (`propagation/rules/`), using them (`projection.py`), recording edges
(`propagation/`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef


class FactorType(IntEnum):
    """The role of a factor in an op, which determines the cost of sharding it.

    PASS_THROUGH: in operands and results; sharding it is free. REDUCTION: reduced; sharding it costs an
    all-reduce. PERMUTATION: elements move along it. NEED_REPLICATION: must be whole on every device.
    """

    PASS_THROUGH = 0
    REDUCTION = 1
    PERMUTATION = 2
    NEED_REPLICATION = 3


_KEYWORDS = {
    "reduction": FactorType.REDUCTION,
    "need_replication": FactorType.NEED_REPLICATION,
    "permutation": FactorType.PERMUTATION,
}


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its size, its type, and whether propagation along it is blocked."""

    size: int
    type: FactorType = FactorType.PASS_THROUGH
    is_blocked: bool = False


DimMapping = tuple[int, ...]
"""The factors of one dimension, major to minor, as indices; empty for a dimension that maps to none."""
TensorMapping = tuple[DimMapping, ...]
"""One `DimMapping` a dimension."""


@dataclass(frozen=True, slots=True)
class ShardingRule:
    """The sharding rule of one op: `#sdy.op_sharding_rule`."""

    factors: tuple[Factor, ...]
    operands: tuple[TensorMapping, ...]
    results: tuple[TensorMapping, ...]
    is_custom: bool = False

    def __str__(self) -> str:
        operands, results = (
            f"({', '.join(map(_tensor_text, side))})" for side in (self.operands, self.results)
        )
        named = [(factor_symbol(i), factor) for i, factor in enumerate(self.factors)]
        sizes = ", ".join(f"{name}={factor.size}" for name, factor in named)
        text = f"<{operands}->{results}" + (f" {{{sizes}}}" if sizes else "")
        listed = {key: [name for name, f in named if f.type is kind] for key, kind in _KEYWORDS.items()}
        listed["blocked_propagation"] = [name for name, factor in named if factor.is_blocked]
        for keyword, names in listed.items():
            if names:
                text += f" {keyword}={{{', '.join(names)}}}"
        return text + (", custom>" if self.is_custom else ">")

    @staticmethod
    def identity(shape: tuple[int, ...], operand_count: int = 1) -> ShardingRule:
        """The rule of an op whose operands and result are the same tensor: one factor a dimension.

        >>> str(ShardingRule.identity((4, 8)))
        '<([i, j])->([i, j]) {i=4, j=8}>'
        """
        mapping = tuple((i,) for i in range(len(shape)))
        return ShardingRule(tuple(map(Factor, shape)), (mapping,) * operand_count, (mapping,))

    @property
    def factor_sizes(self) -> tuple[int, ...]:
        """The size of each factor."""
        return tuple(factor.size for factor in self.factors)

    @property
    def tensors(self) -> tuple[TensorMapping, ...]:
        """The mappings of all operands, then of all results."""
        return self.operands + self.results


def factor_symbol(index: int) -> str:
    """The letter of a factor: i, j, ..., z for the first 18, then z_1, z_2, ...

    >>> factor_symbol(0), factor_symbol(17), factor_symbol(18)
    ('i', 'z', 'z_1')
    """
    return chr(ord("i") + index) if index <= 17 else f"z_{index - 17}"


def _tensor_text(mapping: TensorMapping) -> str:
    return f"[{', '.join(''.join(map(factor_symbol, factors)) for factors in mapping)}]"


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
