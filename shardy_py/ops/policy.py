"""Shardy's decisions about an op beyond its indexing maps: the value of the column `policy`.

The default policy treats reads `by_relation` and gives a sound rule. Policies marked *unsound* follow Shardy
where it calls a dimension free that the op moves or reads whole: a partitioner has to communicate there.
Policies of single ops are beside their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

from shardy_py.base.records import dataclass
from shardy_py.ops.record import OpRecord
from shardy_py.ops.sketch import Sketch, TensorDim
from shardy_py.sharding import FactorType

PASS, REDUCED = FactorType.PASS_THROUGH, FactorType.REDUCTION
MOVED_ALONG, WHOLE = FactorType.PERMUTATION, FactorType.NEED_REPLICATION


class Relation(Enum):
    """The relation of an operand dimension to the results: see the table in propagation/rules/factors.py."""

    CARRIED = auto()
    MOVED = auto()
    WINDOW = auto()
    RUNTIME = auto()
    WHOLE = auto()
    CONSTANT = auto()
    OPAQUE = auto()


@dataclass(frozen=True, slots=True)
class DimensionRead:
    """An operand dimension that is not read element by element.

    size: of the operand's dimension; result_size: of the result dimension it belongs to, None without one.
    """

    record: OpRecord
    relation: Relation
    operand: int
    dimension: int
    size: int
    result_size: int | None
    result_dim: int | None
    conservative: bool


@dataclass(frozen=True, slots=True)
class Treatment:
    """The factors of one read.

    shared: the operand's dimension has the factor of the result's; else each has its own.
    type, blocked: of the operand's factor; size: of a shared factor, where the dimensions disagree.
    result_type, result_blocked: of the result's own factor.
    """

    shared: bool
    type: FactorType
    blocked: bool = False
    size: int | None = None
    result_type: FactorType = PASS
    result_blocked: bool = False


Treat = Callable[[DimensionRead], Treatment]
Walk = Callable[[OpRecord], Sequence[TensorDim]]
Adjust = Callable[[Sketch, bool], None]


def by_relation(read: DimensionRead) -> Treatment:
    """The treatment of an op without a policy.

    Moved elements: a permutation of the operand's dimension. A window: of the windows, one for each element
    of the result. Run-time offsets: the operand's dimension, whole, and not worth propagating. A whole read:
    replication.
    """
    match read.relation:
        case Relation.MOVED:
            blocked = read.conservative and read.size != read.result_size
            return Treatment(True, MOVED_ALONG, blocked, read.size)
        case Relation.WINDOW:
            return Treatment(True, MOVED_ALONG, read.conservative, read.result_size)
        case Relation.RUNTIME:
            return Treatment(True, WHOLE, read.result_dim is not None, read.size)
        case Relation.WHOLE:
            return Treatment(True, WHOLE, size=read.size, result_type=WHOLE)
        case Relation.CONSTANT:
            return Treatment(False, PASS if read.size == 1 else WHOLE)
        case _:
            return Treatment(False, WHOLE)


def pass_through(read: DimensionRead) -> Treatment:
    """Unsound: as if the op were pointwise."""
    return Treatment(True, PASS, size=read.result_size)


def results_first(record: OpRecord) -> list[TensorDim]:
    """The dimensions of the first result; later results follow where they have factors of their own."""
    return [
        TensorDim("result", number, d)
        for number, result in enumerate(record.results)
        for d in range(result.rank if result else 0)
    ]


def operand_first(operand: int | Callable[[OpRecord], int]) -> Walk:
    """Returns a walk that begins with the dimensions of an operand."""

    def walk(record: OpRecord) -> list[TensorDim]:
        number = operand if isinstance(operand, int) else operand(record)
        tensor = record.operands[number]
        slots = [TensorDim("operand", number, d) for d in range(tensor.rank if tensor else 0)]
        return [*slots, *results_first(record)]

    return walk


def moved_last(*attributes: str) -> Walk:
    """Returns a walk in which the result dimensions that the attributes name come last."""

    def walk(record: OpRecord) -> list[TensorDim]:
        moved = list(dict.fromkeys(record.attributes[name] for name in attributes))
        slots = results_first(replace(record, results=record.results[:1]))
        return [s for s in slots if s.dimension not in moved] + [slots[d] for d in moved]

    return walk


@dataclass(frozen=True, slots=True)
class Policy:
    """The derivation of the rule of an op from its maps.

    treat: decides each read that carries no coordinate.
    walk: the dimensions whose factors come first.
    carrier_first: whether a result dimension's factor comes before those of operand dimensions set apart.
    adjust: the last change of the sketch; (sketch, conservative).
    keeps_order: whether the op is a reshape: factors are those of two mixed-radix numbers.
    """

    treat: Treat = by_relation
    walk: Walk = results_first
    carrier_first: bool = False
    adjust: Adjust | None = None
    keeps_order: bool = False


BY_MAPS = Policy()
"""The default: what follows from the maps alone."""
