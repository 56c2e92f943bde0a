"""The runs of an exact proof: how many, in which orders of residues, in which of them elements are equal.

Programs of sums, products and functions are decided by one run but for the probability that the answer says.
Order, integers and control flow are not: what a run does not compare, index or execute, it does not show.

Not here: the elements of inputs (`exact_inputs.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum, auto

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import AbsOp
from shardy_py.mlir.ir import operands_of, type_of, walk_pre_order
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import Control, Family, OpRecord, TensorType
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
    many times, and some inputs are; 0: none. turn: by how many branches more conditionals are turned than in
    run `place`, whose integers it has; None: it has its own.
    """

    order: Order
    floats: Floats = Floats.UNIFORM
    is_cut: bool = False
    few: bool = False
    nan_bits: int = 0
    turn: int = 0
    place: int | None = None

    @property
    def is_bounded(self) -> bool:
        """Returns whether its inputs are uniform, as the bound of a proof asks."""
        return self.floats is Floats.UNIFORM and not self.nan_bits


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
_MOST_BRANCHES = 8
_ROUND = len(ORDERS) * _EACH
_TIED = {3: Floats.PAIR, 5: Floats.UNITS, 7: Floats.CONSTANTS}
"""The runs of a round with equal elements: one of each order."""
_ROUNDS = ((1 << 12, 4), (1 << 14, 2))
"""Up to how many elements a program has how many rounds: a maximum shows but one of what it is taken of."""


def rounds_of(elements: int) -> int:
    """Returns how often all kinds of runs are made of a program with so many elements."""
    return next((rounds for most, rounds in _ROUNDS if elements <= most), 1)


@dataclass(frozen=True, slots=True)
class _Needs:
    """The reasons for more runs than those of sums, products and functions alone.

    depends: on integers, order or branches. ties: whether equal floats matter. integers: whether equal
    integers do. magnitudes: whether some are taken. cancels: whether equal operands give a constant.
    """

    depends: bool
    ties: bool
    integers: bool
    magnitudes: bool
    cancels: bool

    @staticmethod
    def of(module: ModuleOp) -> _Needs:
        types = [tensor_type(type_of(argument)) for argument in arguments_of(module)]
        ops = [op for op in walk_pre_order(module) if op.results]
        records = list({id(record): record for record in map(record_of, ops)}.values())
        ties, compares = any(map(_tells_ties, records)), any(map(_tells_equal_integers, records))
        is_given = any(type_ is not None and not is_float(type_) for type_ in types)
        return _Needs(
            depends=is_given or ties or any(map(_depends, records)),
            ties=ties,
            integers=compares and (any(map(_is_integer, types)) or any(map(_makes_integers, records))),
            magnitudes=any(record.name == _MAGNITUDE for record in records),
            cancels=any(map(_cancels, ops)),
        )


def runs_of(modules: Iterable[ModuleOp], rounds: int) -> tuple[RunKind, ...]:
    """Returns the runs of a whole and a local program.

    Each order has three runs in a round if what a run shows depends on its integers, its order or its
    branches; one in programs of sums, products and functions alone; and one with few integers where they are
    compared. Zero is the only residue whose magnitude is below that of 1. What
    cancels hides all but NaN.
    """
    needs = [_Needs.of(module) for module in modules]
    tied, count = _TIED if any(each.ties for each in needs) else {}, _ROUND
    if not any(each.depends for each in needs):
        count, rounds = len(ORDERS), 1
    first_cut = min(len(ORDERS), count - 1)
    runs = [
        RunKind(
            ORDERS[(number + turn) % len(ORDERS)],
            tied.get(number, Floats.UNIFORM),
            is_cut=number >= first_cut and number not in tied,
        )
        for turn in range(rounds)
        for number in range(count)
    ]
    if any(each.integers for each in needs):
        runs += [RunKind(order, few=True) for order in ORDERS] * rounds
    if any(each.cancels for each in needs):
        runs += [RunKind(ORDERS[0], nan_bits=bits) for _, bits in _NAN[: len(ORDERS)]]
    if any(each.magnitudes for each in needs):
        runs.append(RunKind("middle", Floats.ZERO))
    return tuple(runs)


def turned(kinds: Sequence[RunKind], first: int, branches: int) -> tuple[RunKind, ...]:
    """Returns runs again for each further branch of conditionals, with the same integers: one takes one.

    kinds: of runs that were made, from number `first` on.
    """
    return tuple(
        replace(kind, turn=turn, place=number)
        for turn in range(1, min(branches, _MOST_BRANCHES))
        for number, kind in enumerate(kinds, first)
    )


def search_of(rounds: int) -> tuple[RunKind, ...]:
    """Returns more runs, for a program with an op that is right for some operands only.

    They try to have others reach it: equal integers and floats meet, inputs and functions are NaN.
    """
    kinds = [
        RunKind(ORDERS[number % len(ORDERS)], floats, few=number % 4 != 3, nan_bits=bits)
        for number, (floats, bits) in enumerate(
            pair for pairs in zip(_NAN * 2, _WITHOUT_NAN * 2, strict=True) for pair in pairs
        )
    ]
    return tuple(kinds * min(rounds, 2))


def leaves_nan_open(op: Operation) -> bool:
    """Returns whether NaN may be elsewhere in parts of an op.

    NaN have no place in an order. The parts of a kernel are padded with zeros, which XLA, too, multiplies by
    what is beside the window.
    """
    if op.regions:
        return any(_tells_ties(record_of(inner)) for inner in walk_pre_order(op))
    record = record_of(op)
    if EXACT.of(row_name(record)).multiplies_padding:
        return True
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


def _tells_equal_integers(record: OpRecord) -> bool:
    return any(map(_is_integer, record.operands)) and EXACT.of(row_name(record)).tells_ties_apart


def _makes_integers(record: OpRecord) -> bool:
    """True if it gives integers for floats, or draws them."""
    drawn = EXACT.of(row_name(record)).is_random or any(map(is_float, record.operands))
    return drawn and any(map(_is_integer, record.results))


def _is_integer(type_: TensorType | None) -> bool:
    return type_ is not None and not is_float(type_) and type_.element != "i1"
