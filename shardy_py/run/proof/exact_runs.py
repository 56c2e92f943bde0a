"""The runs of an exact proof: how many, in which orders of residues, in which of them elements are equal.

Programs of sums, products and functions are decided by one run but for the probability that the answer says.
Order, integers and control flow are not: what a run does not compare, index or execute, it does not show.

Not here: the elements of inputs (`exact_inputs.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.mlir.dialects.stablehlo import AbsOp
from shardy_py.mlir.ir import operands_of, type_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import Control, Family, OpRecord
from shardy_py.ops.table import row_name, row_of
from shardy_py.run.proof.case import arguments_of
from shardy_py.run.proof.facet import EXACT
from shardy_py.run.proof.field.arithmetic import is_float
from shardy_py.run.proof.field.residues import ORDERS, Order

_EACH = 3
_MAGNITUDE = AbsOp.name


class Floats(Enum):
    """The floats of inputs: uniform residues, or mostly one of a few values, so that equal ones meet.

    PAIR: two residues. UNITS: also zero, one, and the least and the greatest residue, beyond which sums are
    on the other side. CONSTANTS: also those of the program. ZERO: no other.
    """

    UNIFORM = auto()
    PAIR = auto()
    UNITS = auto()
    CONSTANTS = auto()
    ZERO = auto()


@dataclass(frozen=True, slots=True)
class RunKind:
    """A run.

    order: of residues. floats: of inputs. is_cut: whether values are replaced after they were compared.
    few: whether integers are few, so that equal ones meet. nan_bits: functions are NaN once in two to that
    many times, and some inputs are; 0: none.
    """

    order: Order
    floats: Floats = Floats.UNIFORM
    is_cut: bool = False
    few: bool = False
    nan_bits: int = 0

    @property
    def is_bounded(self) -> bool:
        """Returns whether its inputs are uniform, as the bound of a proof asks."""
        return self.floats is Floats.UNIFORM and not self.nan_bits


_TIED = {3: Floats.PAIR, 5: Floats.UNITS, 7: Floats.CONSTANTS}
_NAN = tuple((Floats.UNIFORM, bits) for bits in (2, 4, 8, 1, 3, 6))
_WITHOUT_NAN = tuple(
    (floats, 0)
    for floats in (
        Floats.UNIFORM,
        Floats.PAIR,
        Floats.UNIFORM,
        Floats.UNITS,
        Floats.UNIFORM,
        Floats.CONSTANTS,
    )
)
"""The floats of runs that search, and how rarely functions are NaN in them."""
_FEWER = 6
_FEW = {0: Floats.CONSTANTS}
"""The runs with equal elements: one of each order, or that in which zero is in the middle."""


def runs_of(modules: Iterable[ModuleOp], *, is_large: bool) -> tuple[RunKind, ...]:
    """Returns the runs of a whole and a local program.

    Each order has three runs if what a run shows depends on its integers, its order or its branches; one in
    large programs and in those of sums, products and functions alone. Zero is the only residue whose
    magnitude is below that of 1. What cancels hides all but NaN.
    """
    depends, ties, magnitudes, cancels = False, False, False, False
    for module in modules:
        types = (tensor_type(type_of(argument)) for argument in arguments_of(module))
        depends |= any(type_ is not None and not is_float(type_) for type_ in types)
        ops = [op for op in walk_pre_order(module) if op.results]
        records = {id(record): record for record in map(record_of, ops)}
        cancels |= any(map(_cancels, ops))
        ties |= any(map(_tells_ties, records.values()))
        depends |= ties or any(map(_depends, records.values()))
        magnitudes |= any(record.name == _MAGNITUDE for record in records.values())
    tied = (_FEW if is_large or not depends else _TIED) if ties else {}
    count = len(ORDERS) * (1 if is_large or not depends else _EACH)
    first_cut = min(len(ORDERS), count - 1)
    runs = tuple(
        RunKind(
            ORDERS[number % len(ORDERS)],
            tied.get(number, Floats.UNIFORM),
            is_cut=number >= first_cut and number not in tied,
        )
        for number in range(count)
    )
    if cancels:
        runs += tuple(RunKind(ORDERS[0], nan_bits=bits) for _, bits in _NAN[: 1 if is_large else len(ORDERS)])
    return (*runs, RunKind("middle", Floats.ZERO)) if magnitudes and not is_large else runs


def search_of(*, is_large: bool) -> tuple[RunKind, ...]:
    """Returns more runs, for a program with an op that is right for some operands only.

    They try to have others reach it: equal integers and floats meet, inputs and functions are NaN.
    """
    kinds = [
        RunKind(ORDERS[number % len(ORDERS)], floats, few=number % 4 != 3, nan_bits=bits)
        for number, (floats, bits) in enumerate(
            pair for pairs in zip(_NAN * 2, _WITHOUT_NAN * 2, strict=True) for pair in pairs
        )
    ]
    return tuple(kinds[:_FEWER] if is_large else kinds)


def orders_nan(op: Operation) -> bool:
    """Returns whether an op puts floats in order, which NaN have none in: their places are left open."""
    if op.regions:
        return any(_tells_ties(record_of(inner)) for inner in walk_pre_order(op))
    record = record_of(op)
    return _tells_ties(record) and row_of(record).kind is not Family.ELEMENTWISE


def _cancels(op: Operation) -> bool:
    """True if it gives a constant for floats, or NaN."""
    operands = operands_of(op)
    if len(operands) != 2 or operands[0] is not operands[1]:
        return False
    record = record_of(op)
    return is_float(record.operands[0]) and EXACT.of(row_name(record)).cancels


def _depends(record: OpRecord) -> bool:
    """True if it orders floats, makes integers of them, draws random numbers, or chooses what is executed."""
    row = EXACT.of(row_name(record))
    if row.is_random or row_of(record).control in (Control.LOOP, Control.BRANCHES):
        return True
    has_integers = any(type_ is not None and not is_float(type_) for type_ in record.results)
    return any(map(is_float, record.operands)) and (has_integers or row.orders_floats)


def _tells_ties(record: OpRecord) -> bool:
    return any(map(is_float, record.operands)) and EXACT.of(row_name(record)).tells_ties_apart
