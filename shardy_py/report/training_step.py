"""The passes of a training step by its structure, for programs whose ops have no names.

    w' = w - 0.1 * g            returned, and linear in an argument of its type, by element: a parameter
    g = dot_general(x, dy)      is not elementwise, and reads x, as a product with w before it does

Such g are gradients, and dy are cotangents. Forward is what comes before the last product whose operand a
gradient reads, and what results need that are no parameters; backward is what gradients need beside that;
update is the rest. Equal ops of equal operands count as one value, as rematerialized ones are. Where no
loss is returned, its end counts as backward. Not here: passes by names (`report/verdict/repeats.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import RecordsInModule, record_of, row_of_op
from shardy_py.mlir.symbols import MAIN, function_name, functions_of
from shardy_py.ops import Control, Family, Linear, OpRecord, Storage, is_elementwise

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
_MOVES = (Family.MOVEMENT, Family.ELEMENTWISE)


def passes_of_program(module: ModuleOp) -> Mapping[Operation, str]:
    """Returns the pass of each op of the function @main, as `passes_by_structure`."""
    main = next((f for f in functions_of(module) if function_name(f) == MAIN and f.body.blocks), None)
    return {} if main is None else passes_by_structure(main.body.blocks[0])


def passes_by_structure(block: Block) -> Mapping[Operation, str]:
    """Returns the pass of each op of the block of a function; {} unless that is a training step."""
    step = _Step(block)
    return step.passes() if step.gradients else {}


@dataclass(frozen=True)
class _Updated:
    """A result: the arguments of its type that it is linear in by element, and what else comes into it.

    ops: the elementwise ones. inputs: values of its type that other ops make.
    """

    arguments: tuple[SSAValue, ...]
    ops: tuple[int, ...]
    inputs: tuple[SSAValue, ...]


@dataclass(frozen=True)
class _Gradient:
    """The op that computes a gradient, its cotangents, and the product with the parameter before it."""

    made: int
    cotangents: tuple[SSAValue, ...]
    product: int


class _Step:
    """Ops are known by their places in the block, values by their identities."""

    def __init__(self, block: Block) -> None:
        self.ops = [op for op in block.ops if not is_terminator(op)]
        self.arguments = frozenset(map(id, block.args))
        self.made = {id(result): place for place, op in enumerate(self.ops) for result in op.results}
        self.reads = [self._makers(_read(op)) for op in self.ops]
        of = RecordsInModule().of
        self.records = [*map(of, self.ops)]
        self._same = _equal_values(self.ops, self.records)
        end = block.last_op
        returned = () if end is None else operands_of(end)
        self.results = [(value, self._updated(value)) for value in returned]
        self.gradients = [each for _, updated in self.results for each in self._gradients(updated)]

    def passes(self) -> dict[Operation, str]:
        """The pass of each op."""
        used = self._before(each.product for each in self.gradients)
        last = max(used)
        cotangents = (v for each in self.gradients for v in each.cotangents)
        dependent = self._after(place for place in self._makers(cotangents) if place not in used)
        dependent |= {each.made for each in self.gradients}
        losses = (value for value, updated in self.results if not updated.arguments)
        forward = used | (self._before(self._makers(losses)) - dependent)
        given = [*self._given(dependent)]
        needed = self._before(given) - forward
        forward |= {place for place in needed if place < last and place not in dependent}
        return {
            op: FORWARD if place in forward else BACKWARD if place in needed else UPDATE
            for place, op in enumerate(self.ops)
        }

    def _given(self, dependent: set[int]) -> Iterator[int]:
        """The ops that make gradients: of inputs of updates those that need cotangents, and their sums."""
        for _, updated in self.results:
            if not updated.arguments:
                continue
            own = {place for place in self._makers(updated.inputs) if place in dependent}
            for place in sorted(updated.ops):
                if own.issuperset(map(self._maker, operands_of(self.ops[place]))):
                    own.add(place)
            yield from own

    def _updated(self, value: SSAValue) -> _Updated:
        arguments: list[SSAValue] = []
        inputs: list[SSAValue] = []
        ops: list[int] = []
        pending, seen = [(value, True, value.type)], set[tuple[int, bool]]()
        while pending:
            current, is_linear, type_ = pending.pop()
            if (id(current), is_linear) in seen or current.type != type_:
                continue
            seen.add((id(current), is_linear))
            if isinstance(current, BlockArgument):
                arguments += [current] if is_linear else []
                continue
            place = self._maker(current)
            if place is None:
                continue
            op = self.ops[place]
            row = row_of_op(op)
            if is_elementwise(self.records[place]):
                ops.append(place)
                is_linear &= row.linearity is not Linear.NO
                pending += ((operand, is_linear, type_) for operand in operands_of(op))
            elif row.storage is Storage.IN_PLACE:
                ops.append(place)
                first, *others = operands_of(op)
                pending += ((first, is_linear, type_), *((other, False, other.type) for other in others))
            elif operands_of(op):
                inputs.append(current)
        return _Updated(tuple(arguments), tuple(ops), tuple(inputs))

    def _gradients(self, updated: _Updated) -> Iterator[_Gradient]:
        """The inputs of an update that are the gradient of one of the arguments."""
        products = [each for argument in updated.arguments for each in self._products_with(argument)]
        for value in updated.inputs if products else ():
            made = self._maker(self._origin(value))
            if made is None or not _is_product(self.ops[made]):
                continue
            read = self._inputs(self.ops[made])
            for product, known in products:
                others = tuple(v for v in read if self._number(v) not in known)
                if product < made and len(others) < len(read):
                    yield _Gradient(made, tuple(map(self._origin, others)), product)
                    break

    def _products_with(self, argument: SSAValue) -> Iterator[tuple[int, set[int]]]:
        """The products that read an argument, also moved or converted, with the other values of each."""
        own = self._same.get(id(argument), id(argument))
        return ((place, known - {own}) for place, known in self._products.get(own, ()))

    @cached_property
    def _products(self) -> Mapping[int, Sequence[tuple[int, set[int]]]]:
        """The products by the number of what they read, each with these of all, and of what a loop saves."""
        found: dict[int, list[tuple[int, set[int]]]] = {}
        for place, op in enumerate(self.ops):
            if not _is_product(op):
                continue
            read = {self._number(value) for value in self._inputs(op)}
            saved = () if row_of_op(op).control is Control.NONE else op.results
            known = read | {self._same[id(value)] for value in saved}
            for number in read:
                found.setdefault(number, []).append((place, known))
        return found

    def _inputs(self, op: Operation) -> list[SSAValue]:
        """The values of the block that an op reads, also in its regions."""
        own = {id(v): v for v in _read(op) if id(v) in self.arguments or id(v) in self.made}
        return [*own.values()]

    def _number(self, value: SSAValue) -> int:
        """The number of the value that one is, moved or converted; equal for equal values."""
        origin = id(self._origin(value))
        return self._same.get(origin, origin)

    def _origin(self, value: SSAValue) -> SSAValue:
        """The value that one is, moved or converted."""
        while (place := self._maker(value)) is not None:
            op = self.ops[place]
            operands = operands_of(op)
            if not operands:
                break
            row = row_of_op(op)
            if row.is_wire and len(operands) == len(op.results):
                value = operands[op.results.index(value)]
            elif row.kind is Family.MOVEMENT or (row.kind in _MOVES and len(operands) == 1):
                value = operands[0]
            else:
                break
        return value

    def _maker(self, value: SSAValue) -> int | None:
        """The op of the block that makes a value."""
        return self.made.get(id(value))

    def _makers(self, values: Iterable[SSAValue]) -> list[int]:
        made = self.made
        return [made[id(value)] for value in values if id(value) in made]

    def _before(self, places: Iterable[int]) -> set[int]:
        """The ops, and those that they need."""
        found = set(places)
        for place in range(len(self.ops) - 1, -1, -1):
            if place in found:
                found.update(self.reads[place])
        return found

    def _after(self, places: Iterable[int]) -> set[int]:
        """The ops, and those that need them."""
        found = set(places)
        for place, reads in enumerate(self.reads):
            if not found.isdisjoint(reads):
                found.add(place)
        return found


def _equal_values(ops: Iterable[Operation], records: Iterable[OpRecord]) -> dict[int, int]:
    """Numbers of values, by their identities, equal for results of equal ops on equal operands."""
    numbers: dict[int, int] = {}
    known: dict[Hashable, list[int]] = {}
    for op, record in zip(ops, records, strict=True):
        operands = [*map(id, operands_of(op))]
        read = [numbers.get(value, value) for value in operands]
        if row_of_op(op).is_wire and len(read) == len(op.results):
            numbers.update(zip(map(id, op.results), read, strict=True))
            continue
        inner = _inside(op) if op.regions else ()
        key = id(record), *read, inner, id(op) if len(inner) > _MOST_COMPARED else 0
        own = [*map(id, op.results)]
        numbers.update(zip(own, known.setdefault(key, own), strict=True))
    return numbers


_MOST_COMPARED = 4
"""Ops in regions up to which these are compared."""


def _inside(op: Operation) -> tuple[tuple[Hashable, ...], ...]:
    """The ops in the regions of an op, as they are compared."""
    return tuple([(id(record_of(each)), *each.attributes) for r in op.regions for each in r.walk()])


def _is_product(op: Operation) -> bool:
    """Returns whether an op is a product, or runs ops that may be."""
    row = row_of_op(op)
    return row.kind is Family.PRODUCT or row.control is not Control.NONE


def _read(op: Operation) -> Iterator[SSAValue]:
    """The values that an op reads, also in its regions."""
    yield from operands_of(op)
    for region in op.regions:
        for inner in region.walk():
            yield from operands_of(inner)
