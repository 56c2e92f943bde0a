"""Composition of proofs: a local program is made of the computations that proofs of single ops are about.

Values of the local program that stand for values of the whole one cut it into pieces. A piece is all that is
computed from some of these values to the next one. Each op of the whole program was partitioned alone and
proven; if every piece of the local program is also one of these, equal in ops, attributes, types and
shardings, then by induction over the program each such value is right if those before it are:

    known = Pieces(case).add_to(known)          of the programs of single ops
    Composition.of(case, known).left            pieces that none of them has

Edges of loops, conditionals and calls connect values that stand for connected values with one sharding.
Not here: the proofs (`signatures.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.data_flow import edge_owners, edge_targets, source_values
from shardy_py.mlir.dialects.traits import data_flow, is_constant
from shardy_py.mlir.ir import operands_of, terminator_of, walk_pre_order
from shardy_py.mlir.numbering import number_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import signature_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.dense import element_size, elements_type, is_splat
from shardy_py.mlir.typed import of_kind
from shardy_py.ops import Control
from shardy_py.ops.table import TABLE
from shardy_py.run.proof.case import Case, results_of
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.sharding import TensorSharding

_CHANNEL = "channel_handle"
Key = tuple[Hashable, ...]
"""An op of the whole program, as far as what it computes: its attributes, types, regions and constants."""
Piece = tuple[Hashable, ...]
"""A computation of the local program, with the places of its values in the op that it is for."""


def key_of(op: Operation) -> Key:
    """Returns what an op computes, with its constant operands, and which operands are the same value."""
    inner = tuple(signature_of(nested, number_of) for nested in walk_pre_order(op))
    operands = operands_of(op)
    first: dict[SSAValue, int] = {}
    repeats = tuple(first.setdefault(value, index) for index, value in enumerate(operands))
    return inner, tuple(map(_constant_key, operands)), repeats


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
    """The pieces of the local program of a case."""

    def __init__(self, case: Case) -> None:
        self._found = case.found
        self._keys: dict[Operation, Key] = {}
        self._shared: dict[tuple[Operation, Operation], _Written] = {}

    def all(self) -> Iterator[tuple[Counterpart, Piece]]:
        """Returns the pieces of all values that ops other than control flow compute."""
        for value, counterpart in self._found.items():
            if isinstance(value, OpResult) and not is_control(value.op):
                yield counterpart, self._piece(value, counterpart)

    def _key(self, op: Operation) -> Key:
        known = self._keys.get(op)
        if known is None:
            known = self._keys[op] = key_of(op)
        return known

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
        return for_op, _parts(counterpart), start, tuple(written.lines)

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
        self.boundary: list[Hashable] = []

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
            self.boundary.append(place)
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
        return self.boundary.count(place)

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
            for index, operand in enumerate(operands_of(whole.op)):
                if operand in known.whole:
                    return _OPERAND, index
            for result in whole.op.results:
                if result in known.whole:
                    return "result", result.index
        return "unknown", id(value)


def signature_without_channel(op: Operation) -> Hashable:
    """Returns the key of what an op computes; channels have other numbers in every program."""
    channel = op.properties.pop(_CHANNEL, None)
    try:
        return signature_of(op, number_of), channel is None
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


def _axes(sharding: TensorSharding | None) -> Hashable:
    """The axes of a sharding; None: every device holds the whole tensor."""
    if sharding is None or (sharding.is_fully_replicated and not sharding.unreduced_axes):
        return None
    dimensions = tuple(dimension.axes for dimension in sharding.dimensions)
    return sharding.mesh, dimensions, sharding.unreduced_axes, sharding.reduction


def _parts(counterpart: Counterpart) -> Hashable:
    """Which part of the whole value a device has, and what is still to be reduced."""
    return _axes(counterpart.sharding), counterpart.pending


def is_control(op: Operation) -> bool:
    """Returns whether an op runs blocks of the program: a loop, a conditional, a call."""
    row = TABLE[op.name]
    return row.control in (Control.CALL, Control.LOOP, Control.BRANCHES)


@dataclass(frozen=True, slots=True)
class Composition:
    """How a local program is made of proven pieces.

    pieces: their number. left: ops with a piece that was not proven, or with edges between values that do not
    correspond.
    """

    pieces: int
    left: tuple[str, ...]

    @staticmethod
    def of(case: Case, proven: set[Piece]) -> Composition:
        """Returns whether all pieces are among those proven."""
        count, left = 0, dict[str, int]()

        def note(op: str) -> None:
            left[op] = left.get(op, 0) + 1

        for counterpart, piece in Pieces(case).all():
            count += 1
            if piece not in proven and not _is_constant(counterpart):
                whole = counterpart.whole[0]
                note(whole.op.name if isinstance(whole, OpResult) else "an argument")
        flow = _Flow(case)
        for op in walk_pre_order(case.local):
            if is_control(op) and not flow.is_right(op):
                note(op.name)
        if not flow.ends_right():
            note(ReturnOp.name)
        return Composition(count, tuple(f"{name} ({number:,})" for name, number in sorted(left.items())))


def _is_constant(counterpart: Counterpart) -> bool:
    """True if it is a constant that is the same on all devices as in the whole program, or one number."""
    ops = [counterpart.value.owner, counterpart.whole[0].owner]
    if not all(isinstance(op, Operation) and is_constant(op) for op in ops):
        return False
    local, whole = (op.properties["value"] for op in ops if isinstance(op, Operation))
    if number_of(local) == number_of(whole):
        return _axes(counterpart.sharding) is None
    dense = isinstance(local, DenseIntOrFPElementsAttr) and isinstance(whole, DenseIntOrFPElementsAttr)
    return dense and _is_splat_of(cast(Any, local), cast(Any, whole))


def _is_splat_of(one: Any, other: Any) -> bool:
    elements = [elements_type(each)[1] for each in (one, other)]
    sizes = [element_size(element) for element in elements]
    return (
        elements[0] == elements[1]
        and is_splat(one)
        and is_splat(other)
        and one.data.data[: sizes[0]] == other.data.data[: sizes[1]]
    )


class _Flow:
    """Edges between blocks, in both programs."""

    def __init__(self, case: Case) -> None:
        self._case, self._found = case, case.found
        self._symbols = Symbols(case.whole), Symbols(case.local)

    def is_right(self, op: Operation) -> bool:
        """Returns whether the edges of an op connect what those of the whole program's connect."""
        results = [result for result in op.results if tensor_type(result.type) is not None]
        if not results:
            return True
        wholes = {self._whole_op(result) for result in results}
        whole = wholes.pop()
        if wholes or whole is None or whole.name != op.name or len(whole.results) != len(op.results):
            return False
        if isinstance(op, CallOp) and isinstance(whole, CallOp):
            groups = [
                self._of_call(each, symbols) for each, symbols in zip((whole, op), self._symbols, strict=True)
            ]
        elif data_flow(op) is not None:
            groups = [_of_edges(each) for each in (whole, op)]
        else:
            return False
        return (
            len(groups[0]) == len(groups[1]) and all(map(self._is_pair, *groups)) and self._decides(whole, op)
        )

    def ends_right(self) -> bool:
        """Returns whether the program returns what the whole one does, sharded as its results are."""
        signature = self._case.signature
        wanted = () if signature is None else signature.results or ()
        for number, (whole, local) in enumerate(
            zip(results_of(self._case.whole), results_of(self._case.local), strict=True)
        ):
            if tensor_type(whole.type) is None:
                continue
            found = self._found.get(local)
            if found is None or whole not in found.whole or found.pending is not None:
                return False
            if signature is not None and _axes(found.sharding) != _axes(wanted[number] if wanted else None):
                return False
        return True

    def _whole_op(self, value: OpResult) -> Operation | None:
        found = self._found.get(value)
        whole = None if found is None else found.whole[0]
        return whole.op if isinstance(whole, OpResult) and whole.index == value.index else None

    def _of_call(self, op: Operation, symbols: Symbols) -> list[list[SSAValue]]:
        assert isinstance(op, CallOp)
        callee = of_kind(symbols.callee(op), FuncOp)
        end = terminator_of(callee.body)
        returned: Sequence[SSAValue] = () if end is None else operands_of(end)
        return [
            *(list(pair) for pair in zip(operands_of(op), callee.args, strict=True)),
            *(list(pair) for pair in zip(op.results, returned, strict=True)),
        ]

    def _is_pair(self, whole: list[SSAValue], local: list[SSAValue]) -> bool:
        """True if connected values correspond, and have one sharding."""
        if not whole or tensor_type(whole[0].type) is None:
            return True
        entries = [self._found.get(value) for value in local]
        if len(whole) != len(local) or any(entry is None or entry.pending for entry in entries):
            return False
        pairs = zip(whole, entries, strict=True)
        is_same = all(entry is not None and value in entry.whole for value, entry in pairs)
        return is_same and len({_axes(entry.sharding) for entry in entries if entry is not None}) == 1

    def _decides(self, whole: Operation, op: Operation) -> bool:
        """True if what is executed next depends on values that correspond, and are equal on all devices."""
        match TABLE[op.name].control:
            case Control.BRANCHES:
                pairs = [(operands_of(whole)[0], operands_of(op)[0])]
            case Control.LOOP:
                ends = terminator_of(whole.regions[0]), terminator_of(op.regions[0])
                if None in ends:
                    return False
                pairs = [tuple(operands_of(end)[0] for end in ends if end is not None)]
            case _:
                return True
        return all(self._is_pair([value], [other]) for value, other in pairs)


def _of_edges(op: Operation) -> list[list[SSAValue]]:
    return [[*source_values(owner), *edge_targets(owner)] for owner in edge_owners(op)]


__all__ = ["Composition", "Key", "Piece", "Pieces", "is_control", "key_of", "signature_without_channel"]
