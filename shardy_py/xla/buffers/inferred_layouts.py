"""The layouts that XLA infers for values before it assigns any: of transposes, and of ops that keep them.

A transpose has the layout in which no element moves. The host's library computes no product of such an
operand, whose dimensions are not in order in memory: it is computed in f32, where another is in bf16. Not
here: the layouts that arrays have at last. Source: openxla/xla, xla/service/shape_inference.cc,
xla/backends/cpu/ynn_support.cc.
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.ops import TensorType
from shardy_py.xla.buffers.aliases import Aliases
from shardy_py.xla.buffers.storing import StoringKind
from shardy_py.xla.spmd.program import Name, PlannedOp

Order = tuple[int, ...]


class InferredLayouts:
    """The layouts of values that are not in order; steps are noted in theirs.

    alias: the value in whose memory another is.
    """

    def __init__(self, alias: Aliases) -> None:
        """No value yet."""
        self._orders: dict[Name, Order] = {}
        self._alias = alias

    def pass_on(self, steps: Iterable[PlannedOp], kinds: Iterable[StoringKind | None]) -> None:
        """Notes the layouts of the results of steps that make one value each and are no transposes."""
        orders = self._orders
        if not orders:
            return
        for step, kind in zip(steps, kinds, strict=True):
            index = None if kind is None else kind.row.keeps_layout_of
            if index is not None and (source := self._alias.root(step.operands[index])) in orders:
                orders[step.results[0]] = orders[source]

    def note(self, step: PlannedOp, kind: StoringKind) -> None:
        """Notes the layouts of the results of a step of a kind."""
        index = kind.row.keeps_layout_of
        type_ = step.record.results[0] if kind.is_transpose else None
        if type_ is not None:
            given = self._orders.get(self._alias.root(step.operands[0]), tuple(range(type_.rank)))
            self._put(step.results[0], transposed(type_, tuple(step.record.attributes["permutation"]), given))
        elif index is not None and self._orders:
            for position, name in enumerate(step.results):
                source = step.operands[index if len(step.results) == 1 else position]
                self._put(name, self._orders.get(self._alias.root(source), ()))

    def _put(self, name: Name, order: Order) -> None:
        if order != tuple(range(len(order))):
            self._orders[name] = order

    def is_in_order(self, name: Name) -> bool:
        """True if a value has its dimensions in order."""
        return self._alias.root(name) not in self._orders


def transposed(made: TensorType, permutation: Order, given: Order) -> Order:
    """The order of the dimensions of a transpose in memory, major to minor; given: that of the operand.

    One that moves dimensions of one element only is a reshape, whose result is in order.

    >>> [transposed(TensorType(shape, "f32"), (1, 0), (0, 1)) for shape in ((2, 4), (2, 1))]
    [(1, 0), (0, 1)]
    """
    moved = [old for old, size in zip(permutation, made.shape, strict=True) if size != 1]
    if moved == sorted(moved):
        return tuple(range(made.rank))
    return tuple(permutation.index(dimension) for dimension in given)
