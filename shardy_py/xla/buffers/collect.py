"""Builds the program of `liveness.py` from IR.

How an op uses memory follows from the columns `control` and `storage` of its row; regions of other ops
combine elements and hold no arrays. Not here: the tensors (`numbered_tensors.py`), names and tables
(`report.py`).

    collected = collect_program(module, "tpu")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Operation, Region

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.hardware.tensor_bytes import Target
from shardy_py.mlir.calls import calls_in, is_defined_function
from shardy_py.mlir.dialects.traits import is_terminator
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.ir import next_op, operands_of
from shardy_py.mlir.symbols import MAIN, callee_name, function_name
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.source import position_of
from shardy_py.mlir.typed import dictionaries_of, function_type_of
from shardy_py.mlir.value_shardings import holds_its_own
from shardy_py.ops import TABLE, Control, Storage
from shardy_py.xla.buffers.liveness import MemoryComputation, MemoryStep, NestedComputation, Runs
from shardy_py.xla.buffers.numbered_tensors import FunctionResult, Tensors

_DONATIONS = ("tf.aliasing_output", "jax.buffer_donor")


def donated_arguments(function: Operation) -> tuple[bool, ...]:
    """Returns for each argument of a function whether its memory may be reused."""
    attributes = dictionaries_of(function, "arg_attrs")
    return tuple(
        bool(attributes) and any(name in attributes[number].data for name in _DONATIONS)
        for number in range(len(function.regions[0].blocks[0].args))
    )


class EntryFunction(NamedTuple):
    """A function that the program starts with.

    computation: its number. donated: for each argument, whether its memory may be reused. results: values.
    """

    function: Operation
    computation: int
    donated: tuple[bool, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CollectedProgram:
    """A module for liveness analysis.

    tensors: of each value. ops: of each step of each computation. entries: the functions it starts with.
    """

    tensors: Tensors
    computations: tuple[MemoryComputation, ...]
    ops: tuple[tuple[Operation, ...], ...]
    entries: tuple[EntryFunction, ...]


def collect_program(module: ModuleOp, target: Target) -> CollectedProgram:
    """Returns the program of a module, which starts at @main, else at all functions that nothing calls.

    Raises:
        ShardyError: a function calls itself, or a sharding does not fit its value.
    """
    collector = _ProgramCollector(module, target)
    with deep_stack():
        entries = tuple(map(collector.entry, entry_functions(module)))
    return CollectedProgram(collector.tensors, tuple(collector.computations), tuple(collector.ops), entries)


@dataclass(slots=True)
class _RegionBody:
    """A region before it is finished to a computation; `first`: its own values have this number or higher."""

    first: int
    arguments: tuple[int, ...]
    steps: list[MemoryStep]
    ops: list[Operation]
    returned: tuple[int, ...] = ()

    @property
    def captured(self) -> tuple[int, ...]:
        """The outer values that it reads, each once."""
        reads = (*(value for step in self.steps for value in step.reads), *self.returned)
        return tuple(dict.fromkeys(value for value in reads if value < self.first))


class _ProgramCollector:
    def __init__(self, module: ModuleOp, target: Target) -> None:
        self.tensors = Tensors(module, target)
        self.computations: list[MemoryComputation] = []
        self.ops: list[tuple[Operation, ...]] = []
        self.functions = _defined_functions(module)
        self._callees: dict[str, int | None] = {}
        self._plain_classes: dict[type[Operation], bool] = {}

    def entry(self, function: Operation) -> EntryFunction:
        """Collects a function each of whose results is an array of its own."""
        body = self._body(function.regions[0])
        types = function_type_of(function).outputs.data
        given = attribute_list_shardings(function.properties.get("res_attrs")) or (None,) * len(types)
        results: list[int] = []
        for i, (type_, sharding) in enumerate(zip(types, given, strict=True)):
            if sharding is None and i < len(body.returned):
                sharding = self.tensors.kinds[body.returned[i]].sharding
            results.append(self.tensors.add(FunctionResult(function, i), type_, sharding))
        index = self._finish(body, self._owned(body, results, lambda result: result))
        return EntryFunction(function, index, donated_arguments(function), tuple(results))

    def _body(self, region: Region) -> _RegionBody:
        """Collects a region. Several blocks count as if they ran one after the other, once each."""
        body = _RegionBody(len(self.tensors), (), [], [])
        for block in region.blocks:
            arguments = tuple(map(self.tensors.define, block.args))
            op = block.first_op
            if block is region.first_block:
                body.arguments = arguments
            elif op is not None:
                body.steps.append(MemoryStep((), arguments))
                body.ops.append(op)
            self._collect(body, op)
        return body

    def _collect(self, body: _RegionBody, op: Operation | None) -> None:
        """Collects an op and those behind it in its block."""
        plain, tensors, numbers = self._plain_classes, self.tensors, self.tensors.numbers
        ops, steps, define = body.ops, body.steps, tensors.define_result
        while op is not None:
            ops.append(op)
            is_plain = plain.get(op.__class__)
            if is_plain is None:
                is_plain = plain[op.__class__] = self._is_plain(op)
            if is_plain:  # nearly all
                reads = tuple([numbers[id(operand)] for operand in operands_of(op)])
                results = op.results
                if len(results) == 1:
                    (result,) = results
                    step = MemoryStep(reads, (define(op, result),))
                else:
                    step = MemoryStep(reads, tuple(map(tensors.define, results)))
            else:
                if is_terminator(op):
                    body.returned = self._reads(op)
                step = self._step(op)
            steps.append(step)
            op = next_op(op)

    def _is_plain(self, op: Operation) -> bool:
        """True if an op makes an array for each result, whose sharding it holds, and runs nothing."""
        row = TABLE[op.name]
        is_plain = row.control in (Control.NONE, Control.DEFINITION) and row.storage is Storage.NEW
        return is_plain and not is_terminator(op) and holds_its_own(op.__class__)

    def _owned(
        self, body: _RegionBody, results: Sequence[int], copy: Callable[[int], int], *, carries: bool = False
    ) -> tuple[int, ...]:
        """Returns the arrays that hold the returned values of a body, where each must own its array.

        An argument, an outer value, a value returned already and one that does not fit its result are copied.
        results: what the returned values become.
        carries: whether an argument may be returned in its own place.
        """
        owned = set(body.arguments)
        arrays: list[int] = []
        for index, (value, result) in enumerate(zip(body.returned, results, strict=False)):
            is_carried = carries and value == body.arguments[index]
            is_free = value >= body.first and value not in owned
            fits = is_carried or (is_free and self.tensors.have_same_size(value, result))
            arrays.append(value if fits else copy(result))
            owned.add(value)
        return tuple(arrays)

    def _finish(self, body: _RegionBody, returns: tuple[int, ...]) -> int:
        """Adds a computation; returned values that do not exist yet are made in its last step."""
        returned = set(body.returned)
        copies = tuple(value for value in returns if value not in returned)
        if copies:
            last = body.steps[-1]
            body.steps[-1] = last._replace(makes=(*last.makes, *copies))
        self.computations.append(MemoryComputation(body.arguments, tuple(body.steps), returns))
        self.ops.append(tuple(body.ops))
        return len(self.computations) - 1

    def _reads(self, op: Operation) -> tuple[int, ...]:
        numbers = self.tensors.numbers
        return tuple([numbers[id(operand)] for operand in operands_of(op)])

    def _step(self, op: Operation) -> MemoryStep:
        row = TABLE[op.name]
        match row.control:
            case Control.NONE | Control.DEFINITION:
                return self._plain(op, row.storage)
            case Control.CALL:
                index = self._callee(op)
                return self._plain(op, Storage.NEW) if index is None else self._run(op, index, ())
            case Control.LOOP:
                return self._loop(op)
            case Control.BRANCHES:
                return self._branches(op)
            case Control.REGION | Control.MANUAL | Control.ASYNC:
                body = self._body(op.regions[0])
                return self._run(op, self._finish(body, body.returned), body.captured)

    def _plain(self, op: Operation, storage: Storage) -> MemoryStep:
        reads = self._reads(op)
        makes = tuple([self.tensors.define(result) for result in op.results])
        match storage:
            case Storage.NEW:
                return MemoryStep(reads, makes)
            case Storage.IN_PLACE:
                return MemoryStep(reads, makes, tuple(zip(reads, makes, strict=False)))
            case Storage.ELEMENT:  # keeps the whole tuple alive
                self.tensors.numbers[id(op.results[0])] = reads[0]
                return MemoryStep(reads, ())
            case Storage.ALIAS:
                kept: list[int] = []
                for operand, result, value in zip(reads, makes, op.results, strict=True):
                    if self.tensors.is_same_array(operand, result):
                        self.tensors.numbers[id(value)] = operand
                    else:
                        kept.append(result)
                return MemoryStep(reads, tuple(kept))

    def _loop(self, op: Operation) -> MemoryStep:
        """Operands become the carried values, in place where they can; in the end these are the results."""
        reads, makes, *_ = self._plain(op, Storage.NEW)
        condition, body = map(self._body, op.regions)
        arrays = self._owned(body, makes, self.tensors.copy, carries=True)
        nested = (
            NestedComputation(self._finish(condition, condition.returned), makes, "never"),
            NestedComputation(self._finish(body, arrays), makes, "always"),
        )
        outer = dict.fromkeys((*condition.captured, *body.captured))
        updates = tuple(zip(reads, makes, strict=True))
        return MemoryStep((*reads, *outer), makes, updates, Runs(nested, is_loop=True))

    def _branches(self, op: Operation) -> MemoryStep:
        """One region runs; its returned values become the results, copied where they do not own an array."""
        reads, makes, *_ = self._plain(op, Storage.NEW)
        bodies = [self._body(region) for region in op.regions]
        owned = ((body, self._owned(body, makes, self.tensors.copy)) for body in bodies)
        nested = tuple(NestedComputation(self._finish(body, arrays)) for body, arrays in owned)
        outer = dict.fromkeys(value for body in bodies for value in body.captured)
        return MemoryStep((*reads, *outer), makes, (), Runs(nested))

    def _callee(self, call: Operation) -> int | None:
        """Returns the computation of the callee; None for an external function."""
        properties: Any = call.properties
        is_call = isinstance(call, CallOp)
        name = callee_name(call) if is_call else properties["decomposition"].root_reference.data
        function = self.functions.get(name)
        if function is None:
            return None
        if name not in self._callees:
            self._callees[name] = None
            body = self._body(function.regions[0])
            self._callees[name] = self._finish(body, body.returned)
        if self._callees[name] is None:
            what = f"@{name} calls itself: memory use of recursive functions"
            raise ShardyError.unsupported(what, where=position_of(call.location))
        return self._callees[name]

    def _run(self, op: Operation, index: int, outer: Sequence[int]) -> MemoryStep:
        """Runs a computation in the place of the op: results are its returned arrays."""
        tensors, computation = self.tensors, self.computations[index]
        reads = self._reads(op)
        pairs = zip(reads, computation.arguments, strict=True)
        arguments = tuple(value if tensors.have_same_size(value, inner) else None for value, inner in pairs)
        same = dict(zip(computation.arguments, arguments, strict=True)) | {value: value for value in outer}
        makes: list[int] = []
        is_one_to_one = len(computation.returns) == len(op.results)
        returns = computation.returns if is_one_to_one else range(-len(op.results), 0)
        for value, returned in zip(op.results, returns, strict=True):
            array = same.get(returned)
            number = tensors.define(value)
            if array is not None and tensors.have_same_size(array, number):
                tensors.numbers[id(value)] = array
            else:
                makes.append(number)
                same[returned] = number
        return MemoryStep((*reads, *outer), tuple(makes), (), Runs((NestedComputation(index, arguments),)))


def _defined_functions(module: ModuleOp) -> dict[str, Operation]:
    return {function_name(op): op for op in module.body.block.ops if is_defined_function(op)}


def entry_functions(module: ModuleOp) -> list[Operation]:
    """Returns the functions at which a program starts: @main, else all that nothing calls."""
    functions = _defined_functions(module)
    if MAIN in functions:
        return [functions[MAIN]]
    called = {callee_name(call) for function in functions.values() for call in calls_in(function)}
    return [function for name, function in functions.items() if name not in called]
