"""What an op's policy decides of one read that carries no coordinate: share a factor, or have its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shardy_py.ops import OpRecord
from shardy_py.rules.access import Relation
from shardy_py.sharding import FactorType


@dataclass(frozen=True, slots=True)
class Read:
    """One operand dimension that is read otherwise than element by element.

    size: of the operand's dimension; result_size: of the result dimension it belongs to; None: to none.
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
    result_type: FactorType = FactorType.PASS_THROUGH
    result_blocked: bool = False


Treat = Callable[[Read], Treatment]


def by_relation(read: Read) -> Treatment:
    """The treatment of an op without a policy.

    Moved elements: a permutation of the operand's dimension. A window: of the windows, one for each element
    of the result. Run-time offsets: the operand's dimension, whole, and not worth propagating. A whole read:
    replication.
    """
    whole = FactorType.NEED_REPLICATION
    match read.relation:
        case Relation.MOVED:
            blocked = read.conservative and read.size != read.result_size
            return Treatment(True, FactorType.PERMUTATION, blocked, read.size)
        case Relation.WINDOW:
            return Treatment(True, FactorType.PERMUTATION, read.conservative, read.result_size)
        case Relation.RUNTIME:
            return Treatment(True, whole, read.result_dim is not None, read.size)
        case Relation.WHOLE:
            return Treatment(True, whole, size=read.size, result_type=whole)
        case Relation.CONSTANT:
            return Treatment(False, FactorType.PASS_THROUGH if read.size == 1 else whole)
        case _:
            return Treatment(False, whole)
