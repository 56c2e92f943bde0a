"""Equal ops on the host, of which XLA keeps one: with equal attributes and regions, of the same values.

Not merged: what is computed again behind an optimization barrier, ops that run computations, and those with
effects. Source: openxla/xla, xla/service/hlo_cse.cc, which runs before ops are fused.

>>> from shardy_py.ops import TensorType
>>> ops = [HostOp("reshape", ("x",), (name,)) for name in "ab"] + [HostOp("sort", ("b",), ("y",))]
>>> alias: dict[Name, Name] = {}
>>> [op.reads for op in merged(ops, dict.fromkeys("abxy", TensorType((4,))), alias, set())], alias
([('x',), ('a',)], {'b': 'a'})
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set

from xdsl.ir import Operation

from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.ops import TABLE, Family, TensorType
from shardy_py.xla.buffers.host_program import HostOp
from shardy_py.xla.spmd.program import Name, PlannedOp

_BY_TYPE = frozenset(("convert", "reshape"))
"""The ops added beside steps that the types of what they read and make determine."""
_BY_STEP = frozenset(("reduce_window",))
"""The ops that these and the step determine."""
_BY_TYPE_OR_STEP = _BY_TYPE | _BY_STEP


def merged(
    ops: Sequence[HostOp], types: Mapping[Name, TensorType], alias: dict[Name, Name], apart: Set[Name]
) -> list[HostOp]:
    """Returns one op of each set of equal ones; alias: receives values that are others.

    apart: values that are computed again on purpose.
    """
    firsts: dict[tuple[Name, ...], HostOp] = {}
    """The first op that reads some values."""
    alike: dict[tuple[Name, ...], dict[Hashable, list[HostOp]]] = {}
    """By what several ops read, these by what they are and make, without equal ones."""
    found: list[HostOp] = []
    made, kinds, renamed = _Types(types), _Kinds(), alias.keys()
    for each in ops:
        op = each if renamed.isdisjoint(each.reads) else each.renamed(alias)
        reads = op.reads
        if not reads or (op.computed is None and not op.sums and op.kind not in _BY_TYPE_OR_STEP):
            found.append(op)
            continue
        if apart and not apart.isdisjoint(op.makes):
            found.append(op)
            continue
        first = firsts.setdefault(reads, op)
        if first is op:  # most have none before them that could be equal
            found.append(op)
            continue
        if _is_unequalled(op):
            found.append(op)
            continue
        others = alike.get(reads)
        if others is None:
            others = alike[reads] = {(kinds.of(first), made.of(first)): [first]}
        same = others.setdefault((kinds.of(op), made.of(op)), [])
        for other in same:
            if _are_equal(op, other):
                alias.update(zip(op.makes, other.makes, strict=True))
                break
        else:
            same.append(op)
            found.append(op)
    return found


class _Types:
    """Keys of the types of what ops make, equal for equal types; values keep their types."""

    def __init__(self, types: Mapping[Name, TensorType]) -> None:
        self._types = types
        self._numbers: dict[int, int] = {}
        self._equal: dict[TensorType | None, int] = {}

    def of(self, op: HostOp) -> Hashable:
        """The key of the types that an op makes."""
        makes = op.makes
        if len(makes) != 1:
            return tuple(map(self._number, makes))
        number = self._numbers.get(id(self._types.get(makes[0])))
        return self._number(makes[0]) if number is None else number

    def _number(self, name: Name) -> int:
        type_ = self._types.get(name)
        number = self._numbers.get(id(type_))
        if number is None:
            number = self._numbers[id(type_)] = self._equal.setdefault(type_, len(self._equal))
        return number


class _Kinds:
    """Numbers of the kinds of ops, what they sum and the attributes of their steps: equal for equal ops."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        """By the identity of a record, which the ops keep."""
        self._equal: dict[Hashable, int] = {}

    def of(self, op: HostOp) -> int:
        """The number of an op."""
        if op.sums:
            return self._number((op.kind, tuple(_summed(op)), None))
        step = (op.computed or op.step) if op.kind in _BY_STEP else op.computed
        key = op.kind, 0 if step is None else id(step.record)
        number = self._numbers.get(key)
        if number is None:
            attributes = None if step is None else _hashable(step.record.attributes)
            number = self._numbers[key] = self._number((op.kind, (), attributes))
        return number

    def _number(self, kind: Hashable) -> int:
        return self._equal.setdefault(kind, len(self._equal))


def _hashable(value: object) -> Hashable:
    """A value of an attribute, without what has no hash."""
    if is_mapping(value):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    if is_sequence(value):
        return tuple(map(_hashable, value))
    return value if isinstance(value, str | int | float | complex) else None


def _is_unequalled(op: HostOp) -> bool:
    """True if no op is equal to one, as it has effects."""
    step = None if op.sums else op.computed
    source = None if step is None else step.source
    if step is None or not isinstance(source, Operation):
        return False
    return not is_dead_when_unused(source) and not _is_plain(step)


def _are_equal(op: HostOp, other: HostOp) -> bool:
    """True if ops of one kind that read the same values, and make values of equal types, make the same."""
    if op.sums or other.sums:
        return _summed(op) == _summed(other)
    step, first = op.computed, other.computed
    if op.kind in _BY_STEP:
        step, first = step or op.step, first or other.step
    if step is None or first is None:
        return step is first
    if step.record is not first.record and step.record.attributes != first.record.attributes:
        return False
    if not isinstance(step.source, Operation) or not isinstance(first.source, Operation):
        return _is_plain(step)
    regions, others = step.source.regions, first.source.regions
    if len(regions) != len(others) or not is_dead_when_unused(step.source):
        return False
    return all(one.is_structurally_equivalent(two) for one, two in zip(regions, others, strict=True))


def _summed(op: HostOp) -> list[Hashable]:
    return [(each.kind, each.element_type, each.group, each.group_size) for each in op.sums]


def _is_plain(step: PlannedOp) -> bool:
    """True if the record of an op says all that it does."""
    return TABLE[step.record.name].family in (Family.ELEMENTWISE, Family.MOVEMENT, Family.PRODUCT)
