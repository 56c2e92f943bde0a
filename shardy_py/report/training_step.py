"""The passes of a training step by its structure, for programs whose ops have no names.

    w' = w - 0.1 * g            returned, and linear in an argument of its type, by element: a parameter
    g = dot_general(x, dy)      is not elementwise, and reads x, as a product with w before it does

Such g are gradients, and dy are cotangents. Forward is what comes before the last product whose operand a
gradient reads, and what results need that are no parameters; backward is what gradients need beside that;
update is the rest. Equal ops of equal operands count as one value, as rematerialized ones are. Where no
loss is returned, its end counts as backward. Not here: passes by names (`report/verdict/repeats.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import record_of, row_of_op
from shardy_py.mlir.symbols import MAIN, function_name, functions_of
from shardy_py.ops import Control, Family, Linear, Storage, is_elementwise

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
    ops: tuple[Operation, ...]
    inputs: tuple[SSAValue, ...]


@dataclass(frozen=True)
class _Gradient:
    """The op that computes a gradient, its cotangents, and the product with the parameter before it."""

    made: Operation
    cotangents: tuple[SSAValue, ...]
    product: Operation


class _Step:
    def __init__(self, block: Block) -> None:
        self.ops = [op for op in block.ops if not is_terminator(op)]
        self.arguments = frozenset(block.args)
        self.place = {op: number for number, op in enumerate(self.ops)}
        self._same = _equal_values(self.ops)
        end = block.last_op
        returned = () if end is None else operands_of(end)
        self.results = [(value, self._updated(value)) for value in returned]
        self.gradients = [each for _, updated in self.results for each in self._gradients(updated)]

    def passes(self) -> dict[Operation, str]:
        """The pass of each op."""
        used = self._before(each.product for each in self.gradients)
        last = max(self.place[op] for op in used)
        dependent = self._after(
            op
            for each in self.gradients
            for v in each.cotangents
            if (op := self._maker(v)) and op not in used
        )
        dependent |= {each.made for each in self.gradients}
        losses = (value for value, updated in self.results if not updated.arguments)
        forward = used | (self._before(self._makers(losses)) - dependent)
        given = [*self._given(dependent)]
        needed = self._before(given) - forward
        forward |= {op for op in needed if self.place[op] < last and op not in dependent}
        return {op: FORWARD if op in forward else BACKWARD if op in needed else UPDATE for op in self.ops}

    def _given(self, dependent: set[Operation]) -> Iterator[Operation]:
        """The ops that make gradients: of inputs of updates those that need cotangents, and their sums."""
        for _, updated in self.results:
            own = {op for op in self._makers(updated.inputs) if op in dependent}
            if updated.arguments:
                for op in sorted(updated.ops, key=self.place.__getitem__):
                    if own.issuperset(map(self._maker, operands_of(op))):
                        own.add(op)
                yield from own

    def _updated(self, value: SSAValue) -> _Updated:
        arguments: list[SSAValue] = []
        inputs: list[SSAValue] = []
        ops: list[Operation] = []
        pending, seen = [(value, True, value.type)], set[tuple[SSAValue, bool]]()
        while pending:
            current, is_linear, type_ = pending.pop()
            if (current, is_linear) in seen or current.type != type_:
                continue
            seen.add((current, is_linear))
            op = self._maker(current)
            if isinstance(current, BlockArgument):
                arguments += [current] if is_linear else []
            elif op is not None and is_elementwise(record_of(op)):
                ops.append(op)
                is_linear &= row_of_op(op).linearity is not Linear.NO
                pending += ((operand, is_linear, type_) for operand in operands_of(op))
            elif op is not None and row_of_op(op).storage is Storage.IN_PLACE:
                ops.append(op)
                first, *others = operands_of(op)
                pending += ((first, is_linear, type_), *((other, False, other.type) for other in others))
            elif op is not None and operands_of(op):
                inputs.append(current)
        return _Updated(tuple(arguments), tuple(ops), tuple(inputs))

    def _gradients(self, updated: _Updated) -> Iterator[_Gradient]:
        """The inputs of an update that are the gradient of one of the arguments."""
        products = [each for argument in updated.arguments for each in self._products_with(argument)]
        for value in updated.inputs if products else ():
            made = self._maker(self._origin(value))
            if made is None or not _is_product(made):
                continue
            for product, known in products:
                read = self._inputs(made)
                others = tuple(v for v in read if self._number(v) not in known)
                if self.place[product] < self.place[made] and len(others) < len(read):
                    yield _Gradient(made, tuple(map(self._origin, others)), product)
                    break

    def _products_with(self, argument: SSAValue) -> Iterator[tuple[Operation, set[int]]]:
        """The products that read an argument, also moved or converted, with the other values of each."""
        own = self._same.get(argument, id(argument))
        return ((op, known - {own}) for op, read, known in self._products if own in read)

    @cached_property
    def _products(self) -> list[tuple[Operation, set[int], set[int]]]:
        """The products, with the numbers of what each reads, and these with what a loop saves."""
        found: list[tuple[Operation, set[int], set[int]]] = []
        for op in filter(_is_product, self.ops):
            read = {self._number(value) for value in self._inputs(op)}
            saved = () if row_of_op(op).control is Control.NONE else op.results
            found.append((op, read, read | {self._same[value] for value in saved}))
        return found

    def _inputs(self, op: Operation) -> list[SSAValue]:
        """The values of the block that an op reads, also in its regions."""
        own = [v for v in _read(op) if v in self.arguments or self._maker(v) is not None]
        return [*dict.fromkeys(own)]

    def _number(self, value: SSAValue) -> int:
        """The number of the value that one is, moved or converted; equal for equal values."""
        origin = self._origin(value)
        return self._same.get(origin, id(origin))

    def _origin(self, value: SSAValue) -> SSAValue:
        """The value that one is, moved or converted."""
        op = self._maker(value)
        while op is not None and operands_of(op):
            row = row_of_op(op)
            if row.is_wire and len(operands_of(op)) == len(op.results):
                value = operands_of(op)[op.results.index(value)]
            elif row.kind is Family.MOVEMENT or (row.kind in _MOVES and len(operands_of(op)) == 1):
                value = operands_of(op)[0]
            else:
                break
            op = self._maker(value)
        return value

    def _maker(self, value: SSAValue) -> Operation | None:
        """The op of the block that makes a value."""
        op = value.op if isinstance(value, OpResult) else None
        return op if op in self.place else None

    def _makers(self, values: Iterable[SSAValue]) -> list[Operation]:
        return [op for value in values if (op := self._maker(value)) is not None]

    def _before(self, ops: Iterable[Operation]) -> set[Operation]:
        """The ops, and those that they need."""
        found = set(ops)
        for op in reversed(self.ops):
            if op in found:
                found.update(self._makers(_read(op)))
        return found

    def _after(self, ops: Iterable[Operation]) -> set[Operation]:
        """The ops, and those that need them."""
        found = set(ops)
        for op in self.ops:
            if any(self._maker(value) in found for value in _read(op)):
                found.add(op)
        return found


def _equal_values(ops: Iterable[Operation]) -> dict[SSAValue, int]:
    """Numbers of values, equal for results of equal ops on equal operands."""
    numbers: dict[SSAValue, int] = {}
    known: dict[Hashable, int] = {}
    for op in ops:
        if row_of_op(op).is_wire and len(operands_of(op)) == len(op.results):
            numbers |= {
                result: numbers.get(operand, id(operand))
                for result, operand in zip(op.results, operands_of(op), strict=True)
            }
            continue
        inner = tuple((id(record_of(each)), *each.attributes) for r in op.regions for each in r.walk())
        read = tuple(numbers.get(value, id(value)) for value in operands_of(op))
        for index, result in enumerate(op.results):
            key = (id(record_of(op)), *read, inner, index, id(op) if len(inner) > 4 else 0)
            numbers[result] = known.setdefault(key, id(result))
    return numbers


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
