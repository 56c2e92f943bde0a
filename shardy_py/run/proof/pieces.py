"""Pieces: the computations of a local program from values that stand for values of the whole one to the next.

    Pieces(case, numbers).all()                 the piece of each value, with what it stands for

Parts of pieces that are equal have one number, as an op with many results has a large part in the piece of
each. Not here: what follows from pieces that are proven (`composition.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import cast

from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.dialects.traits import is_constant
from shardy_py.mlir.ir import operands_of, walk_pre_order
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import signature_of
from shardy_py.ops import Control
from shardy_py.ops.table import TABLE
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.sharding import TensorSharding

_CHANNEL = "channel_handle"
Key = tuple[Hashable, ...]
"""An op of the whole program, as far as what it computes: its attributes, types, regions and constants."""
Piece = tuple[Hashable, ...]
"""A computation of the local program, with the places of its values in the op that it is for."""
Numbers = dict[Hashable, int]


def key_of(op: Operation) -> Key:
    """Returns what an op computes, with its constant operands, and which operands are the same value."""
    inner = tuple(signature_of(nested, number_of) for nested in walk_pre_order(op))
    operands = operands_of(op)
    first = first_places(operands)
    repeats = tuple(first[value] for value in operands)
    return inner, tuple(map(_constant_key, operands)), repeats


def first_places(values: Sequence[SSAValue]) -> dict[SSAValue, int]:
    """Returns values with the first place of each."""
    places: dict[SSAValue, int] = {}
    for place, value in enumerate(values):
        places.setdefault(value, place)
    return places


def _constant_key(value: SSAValue) -> Hashable:
    """The op that makes a constant, or a scalar of constants; None: the value is neither."""
    if not isinstance(value, OpResult):
        return None
    if is_constant(value.op):
        return signature_of(value.op, number_of)
    tensor = tensor_type(value.type)
    if value.op.regions or not operands_of(value.op) or tensor is None or tensor.rank:
        return None
    operands = tuple(map(_constant_key, operands_of(value.op)))
    return None if None in operands else (signature_of(value.op, number_of), operands)


class Pieces:
    """The pieces of the local program of a case.

    numbers: of parts of pieces, shared by all whose pieces are compared; new ones are added.
    """

    def __init__(self, case: Case, numbers: Numbers) -> None:
        self._found, self._numbers = case.found, numbers
        self._keys: dict[Operation, int] = {}
        self._shared: dict[tuple[Operation, Operation], _Written] = {}

    def all(self) -> Iterator[tuple[Counterpart, Piece]]:
        """Returns the pieces of all values that ops other than control flow compute."""
        for value, counterpart in self._found.items():
            if isinstance(value, OpResult) and not is_control(value.op):
                yield counterpart, self._piece(value, counterpart)

    def _key(self, op: Operation) -> int:
        known = self._keys.get(op)
        if known is None:
            known = self._keys[op] = self._number(key_of(op))
        return known

    def _number(self, part: Hashable) -> int:
        return self._numbers.setdefault(part, len(self._numbers))

    def _piece(self, value: OpResult, counterpart: Counterpart) -> Piece:
        whole = counterpart.whole[0]
        written = self._written(value, counterpart)
        start = written.place_of(value)
        is_reshard = all(place == _SAME for place in written.boundary)
        if is_reshard and written.boundary:
            for_op: Hashable = number_of(whole.type)
        elif isinstance(whole, OpResult):
            for_op = self._key(whole.op), whole.index
        else:
            for_op = id(whole)  # an argument from nowhere
        if written.number is None:
            written.number = self._number(tuple(written.lines))
        return for_op, _parts(counterpart), start, written.number

    def _written(self, value: OpResult, counterpart: Counterpart) -> _Written:
        """The piece of a value; one for all results of an op whose operands alone are needed."""
        whole = counterpart.whole[0]
        if len(value.op.results) == 1 or not isinstance(whole, OpResult):
            return _Written(value, counterpart, self._found)
        key = value.op, whole.op
        known = self._shared.get(key)
        if known is None:
            known = _Written(value, counterpart, self._found)
            known.place_of(value)
            if known.needs_operands_alone:
                self._shared[key] = known
        return known


_SAME = "the value itself"
_OPERAND = "operand"


class _Written:
    """A piece as lines: ops in the order in which they are needed, with numbers for their results."""

    def __init__(
        self, target: OpResult, counterpart: Counterpart, found: dict[SSAValue, Counterpart]
    ) -> None:
        self._target, self._counterpart, self._found = target, counterpart, found
        self._numbers: dict[SSAValue, Hashable] = {}
        self.lines: list[Hashable] = []
        self.boundary: Counter[Hashable] = Counter()
        self.number: int | None = None
        """That of the lines, once they are written."""

    def place_of(self, value: SSAValue) -> Hashable:
        """Returns the number of a value; writes what computes it before."""
        pending: list[SSAValue] = [value]
        while pending:
            last = pending[-1]
            if last in self._numbers:
                pending.pop()
                continue
            missing = [] if self._is_boundary(last) else self._missing(last)
            if missing:
                pending += missing
                continue
            pending.pop()
            self._write(last)
        return self._numbers[value]

    @cached_property
    def _operands(self) -> dict[SSAValue, int]:
        """The operands of the op that it is for, with their first places."""
        whole = self._counterpart.whole[0]
        return {} if not isinstance(whole, OpResult) else first_places(operands_of(whole.op))

    @property
    def needs_operands_alone(self) -> bool:
        """True if all values that it begins with are operands of the op that it is for."""
        return all(isinstance(place, tuple) and cast(Key, place)[0] == _OPERAND for place in self.boundary)

    def _is_boundary(self, value: SSAValue) -> bool:
        return value is not self._target and (value in self._found or isinstance(value, BlockArgument))

    def _missing(self, value: SSAValue) -> list[SSAValue]:
        assert isinstance(value, OpResult)
        used = (operand for inner in walk_pre_order(value.op) for operand in operands_of(inner))
        return [each for each in used if each not in self._numbers and not _is_inside(each, value.op)]

    def _write(self, value: SSAValue) -> None:
        if self._is_boundary(value):
            place = self._role(value)
            known = self._found.get(value)
            shardings = None if known is None else _parts(known)
            self.boundary[place] += 1
            self._numbers[value] = place = (place, shardings, number_of(value.type), self._repeats(place))
            self.lines.append(place)
            return
        assert isinstance(value, OpResult)
        op, number = value.op, len(self.lines)
        for result in op.results:
            self._numbers[result] = number, result.index
        self.lines.append(self._text(op, dict(self._numbers)))

    def _repeats(self, place: Hashable) -> int:
        """Parts of one operand may be several values: each has a number of its own."""
        return self.boundary[place]

    def _text(self, op: Operation, numbers: dict[SSAValue, Hashable]) -> Hashable:
        """An op with its regions."""
        parts: list[Hashable] = [
            signature_without_channel(op),
            tuple(numbers[value] for value in operands_of(op)),
        ]
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbers[argument] = "argument", len(numbers)
                for inner in block.ops:
                    parts.append(self._text(inner, numbers))
                    for result in inner.results:
                        numbers[result] = "inner", len(numbers)
        return tuple(parts)

    def _role(self, value: SSAValue) -> Hashable:
        """The role of a value in the op that the piece is for."""
        known = self._found.get(value)
        if known is None:
            return "unknown", id(value)
        whole = self._counterpart.whole[0]
        if whole in known.whole:
            return _SAME
        if isinstance(whole, OpResult):
            places = [self._operands[each] for each in known.whole if each in self._operands]
            if places:
                return _OPERAND, min(places)
            made = [w.index for w in known.whole if isinstance(w, OpResult) and w.op is whole.op]
            if made:
                return "result", min(made)
        return "unknown", id(value)


def signature_without_channel(op: Operation, number: Callable[[Attribute], Hashable] = number_of) -> Hashable:
    """Returns the key of what an op computes; channels have other numbers in every program.

    number: represents a type or an attribute.
    """
    channel = op.properties.pop(_CHANNEL, None)
    try:
        return signature_of(op, number), channel is None
    finally:
        if channel is not None:
            op.properties[_CHANNEL] = channel


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    around = owner if isinstance(owner, Operation) else owner.parent_op()
    while around is not None:
        if around is op:
            return True
        around = around.parent_op()
    return False


def axes_of(sharding: TensorSharding | None) -> Hashable:
    """The axes of a sharding; None: every device holds the whole tensor."""
    if sharding is None or (sharding.is_fully_replicated and not sharding.unreduced_axes):
        return None
    dimensions = tuple(dimension.axes for dimension in sharding.dimensions)
    return sharding.mesh, dimensions, sharding.unreduced_axes, sharding.reduction


def _parts(counterpart: Counterpart) -> Hashable:
    """Which part of the whole value a device has, and what is still to be reduced."""
    return axes_of(counterpart.sharding), counterpart.pending


def is_control(op: Operation) -> bool:
    """Returns whether an op runs blocks of the program: a loop, a conditional, a call."""
    row = TABLE[op.name]
    return row.control in (Control.CALL, Control.LOOP, Control.BRANCHES)
