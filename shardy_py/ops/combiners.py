"""Combiners: the ops with which reductions combine elements, one row each.

The row of an op has its combiner (`OpSpec.combiner`). Engines ask it for what they need: the interpreter for
the ufunc, the partitioner for the identity and the all-reduce that continues a reduction on other devices.
Not here: identities as scalars of an element type (`localize/identities.py`, `ops/compute/combining.py`), the
search for the combiner of a region (`mlir/record.py`).

>>> row = COMBINERS["max"]
>>> row.op, row.identity, row.ufunc(2, 3).item()
('stablehlo.maximum', <Identity.LOWEST: 3>, 3)
"""

from __future__ import annotations

from enum import Enum, auto

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass


class Identity(Enum):
    """The value that changes nothing when it is combined with any other.

    ZERO: also of floats, although only -0 keeps the sign of a sum of -0. LOWEST, HIGHEST: infinite for floats
    that have an infinity. ALL_ONES: all bits of an integer.
    """

    ZERO = auto()
    ONE = auto()
    LOWEST = auto()
    HIGHEST = auto()
    ALL_ONES = auto()


class OrderFree(Enum):
    """The element types whose reductions Shardy counts as independent of order, roundings aside."""

    ALL = auto()
    BOOLEANS = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Combiner:
    """One row.

    reduction: its name as a reduction. op: the op of StableHLO.
    ufunc_name: that of numpy's ufunc, on types that numpy computes in.
    identity: of types that have it.
    order_free: see `OrderFree`.
    terms: the reduction of sdy that combines what several devices have reduced: of `and` and `or`, which are
        order-free for booleans only, "min" and "max"; empty if sdy has none.
    rounds: whether a step rounds floats, so that the result depends on the order.
    is_idempotent: whether a value combined with itself is that value, so that it may count several times.
    is_all_reduced: whether XLA's partitioner combines partial results by an all-reduce
        (xla/hlo/utils/hlo_query.cc, `MatchReductionInstruction` knows no xor).
    is_in_library: whether XLA's backend for the host reduces by a library (xla/backends/cpu/ynn_support.cc).

    XLA promotes the type of an all-reduce whatever combines its values, so that has no column.
    """

    reduction: str
    op: str
    ufunc_name: str
    identity: Identity
    order_free: OrderFree = OrderFree.ALL
    terms: str = ""
    rounds: bool = False
    is_idempotent: bool = True
    is_all_reduced: bool = True
    is_in_library: bool = False

    @property
    def ufunc(self) -> np.ufunc:
        """Returns the ufunc of numpy that combines two arrays."""
        found: np.ufunc = getattr(np, self.ufunc_name)
        return found

    @property
    def mnemonic(self) -> str:
        """Returns the name of its op without the dialect."""
        return self.op.partition(".")[2]

    @property
    def is_operator(self) -> bool:
        """Returns whether it is a reduction operator of sdy."""
        return self.terms == self.reduction

    def is_order_free(self, element_type: str) -> bool:
        """Returns whether Shardy counts reductions of elements of that type as independent of order."""
        return self.order_free is OrderFree.ALL or (
            self.order_free is OrderFree.BOOLEANS and element_type == "i1"
        )


ADD = Combiner(
    "sum",
    "stablehlo.add",
    "add",
    Identity.ZERO,
    terms="sum",
    rounds=True,
    is_idempotent=False,
    is_in_library=True,
)
MULTIPLY = Combiner(
    "product", "stablehlo.multiply", "multiply", Identity.ONE, rounds=True, is_idempotent=False
)
MAXIMUM = Combiner("max", "stablehlo.maximum", "maximum", Identity.LOWEST, terms="max", is_in_library=True)
MINIMUM = Combiner("min", "stablehlo.minimum", "minimum", Identity.HIGHEST, terms="min", is_in_library=True)
AND = Combiner(
    "and", "stablehlo.and", "bitwise_and", Identity.ALL_ONES, order_free=OrderFree.BOOLEANS, terms="min"
)
OR = Combiner("or", "stablehlo.or", "bitwise_or", Identity.ZERO, order_free=OrderFree.BOOLEANS, terms="max")
XOR = Combiner(
    "xor",
    "stablehlo.xor",
    "bitwise_xor",
    Identity.ZERO,
    order_free=OrderFree.NONE,
    is_idempotent=False,
    is_all_reduced=False,
)

COMBINERS = {row.reduction: row for row in (ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR, XOR)}
"""The rows by reduction."""

REDUCTIONS = tuple(row.reduction for row in COMBINERS.values() if row.is_operator)
"""The reductions of sdy, in the order of their numbers: also those of an HloSharding's protocol buffer."""
