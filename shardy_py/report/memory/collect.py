"""IR into the program of `program.py`, with the tensor behind each value.

Not here: what ops run and forward (`op_steps.py`), what is alive when (`liveness.py`), names (`report.py`).

    collected = collect_program(module, "tpu")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Operation, Region

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.calls import calls_in, is_defined_function
from shardy_py.graph.data_flow import TERMINATORS
from shardy_py.graph.holders import attribute_list_shardings
from shardy_py.graph.symbols import MAIN, callee_name, function_name
from shardy_py.ir import operands_of
from shardy_py.report.memory.op_steps import HANDLERS, plain_step
from shardy_py.report.memory.program import Computation, Step
from shardy_py.report.memory.sizes import Target
from shardy_py.report.memory.tensors import FunctionResult, Tensor, Tensors
from shardy_py.text.deep_stack import deep_stack
from shardy_py.text.source import position_of

_DONATIONS = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that the program starts with.

    computation: its number.
    donated: by argument, whether its memory may be used again.
    results: their values.
    """

    function: Operation
    computation: int
    donated: tuple[bool, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """A module as liveness sees it.

    tensors: of each value. ops: of each step of each computation. entries: where the program starts.
    """

    tensors: tuple[Tensor, ...]
    computations: tuple[Computation, ...]
    ops: tuple[tuple[Operation, ...], ...]
    entries: tuple[Entry, ...]


def collect_program(module: ModuleOp, target: Target) -> Collected:
    """The program of a module, which starts at @main, else at all functions that nobody calls.

    Raises:
        ShardyError: a function calls itself, or a sharding does not fit its value.
    """
    collector = Collector(module, target)
    with deep_stack():
        entries = tuple(map(collector.entry, _entry_functions(collector.functions)))
    found = tuple(collector.tensors.found)
    return Collected(found, tuple(collector.computations), tuple(collector.ops), entries)


@dataclass(slots=True)
class Body:
    """A region on its way to a computation: all of it but what happens at the end.

    first: the values from this number on are its own.
    """

    first: int
    arguments: tuple[int, ...]
    steps: list[Step]
    ops: list[Operation]
    returned: tuple[int, ...] = ()

    @property
    def taken_from_outside(self) -> tuple[int, ...]:
        """The outer values that it reads, each once."""
        reads = (*(value for step in self.steps for value in step.reads), *self.returned)
        return tuple(dict.fromkeys(value for value in reads if value < self.first))


class Collector:
    """Values and computations as they are found."""

    def __init__(self, module: ModuleOp, target: Target) -> None:
        """Start with nothing found."""
        self.tensors = Tensors(module, target)
        self.computations: list[Computation] = []
        self.ops: list[tuple[Operation, ...]] = []
        defined = (op for op in module.body.block.ops if is_defined_function(op))
        self.functions = {function_name(op): op for op in defined}
        self._callees: dict[str, int | None] = {}

    def entry(self, function: Operation) -> Entry:
        """A function that the program starts with: each of its results is an array of its own."""
        body = self.body(function.regions[0])
        types = cast(Any, function.properties["function_type"]).outputs.data
        given = attribute_list_shardings(function.properties.get("res_attrs")) or (None,) * len(types)
        results: list[int] = []
        for i, (type_, sharding) in enumerate(zip(types, given, strict=True)):
            if sharding is None and i < len(body.returned):
                sharding = self.tensors.found[body.returned[i]].sharding
            results.append(self.tensors.add(FunctionResult(function, i), type_, sharding))
        index = self.finish(body, self.settled(body, results, lambda result: result))
        return Entry(function, index, _donated(function), tuple(results))

    def callee(self, name: str, call: Operation) -> int | None:
        """The computation of a function that is called; None if the module does not say what it does.

        Raises:
            ShardyError: the function is around the call.
        """
        function = self.functions.get(name)
        if function is None:
            return None
        if name not in self._callees:
            self._callees[name] = None
            body = self.body(function.regions[0])
            self._callees[name] = self.finish(body, body.returned)
        if self._callees[name] is None:
            place = position_of(cast(Any, call).location)
            message = f"@{name} calls itself: there is no bound on what is alive at a time"
            raise ShardyError(Diagnostic(message, place))
        return self._callees[name]

    def body(self, region: Region) -> Body:
        """Collects a region. Several blocks count as if they ran one after the other, once each."""
        body = Body(len(self.tensors.found), (), [], [])
        for block in region.blocks:
            arguments = tuple(map(self.tensors.define, block.args))
            if block is region.first_block:
                body.arguments = arguments
            elif block.first_op is not None:
                body.steps.append(Step((), arguments))
                body.ops.append(block.first_op)
            self._add_steps(body, block.first_op)
        return body

    def _add_steps(self, body: Body, op: Operation | None) -> None:
        while op is not None:
            body.ops.append(op)
            if op.name in TERMINATORS:
                body.returned = self.reads(op)
            body.steps.append(HANDLERS.get(op.name, plain_step)(self, op))
            op = op.next_op

    def settled(
        self, body: Body, results: Sequence[int], copy: Callable[[int], int], *, passes_on: bool = False
    ) -> tuple[int, ...]:
        """The arrays that hold what a body returns, where each is to be an array of its own.

        An argument, an outer value, a value returned already and one that does not fit its result are copied.
        results: what the returned values become.
        passes_on: whether an argument may be returned in its own place.
        """
        taken = set(body.arguments)
        arrays: list[int] = []
        for index, (value, result) in enumerate(zip(body.returned, results, strict=False)):
            is_passed_on = passes_on and value == body.arguments[index]
            is_free = value >= body.first and value not in taken
            fits = is_passed_on or (is_free and self.tensors.have_same_size(value, result))
            arrays.append(value if fits else copy(result))
            taken.add(value)
        return tuple(arrays)

    def finish(self, body: Body, returns: tuple[int, ...]) -> int:
        """Adds a computation; what it returns and has not made yet is made at the end."""
        made = set(body.returned)
        copies = tuple(value for value in returns if value not in made)
        if copies:
            last = body.steps[-1]
            body.steps[-1] = last._replace(makes=(*last.makes, *copies))
        self.computations.append(Computation(body.arguments, tuple(body.steps), returns))
        self.ops.append(tuple(body.ops))
        return len(self.computations) - 1

    def reads(self, op: Operation) -> tuple[int, ...]:
        """The operands of an op."""
        numbers = self.tensors.numbers
        return tuple([numbers[id(operand)] for operand in operands_of(op)])

    def makes(self, op: Operation) -> tuple[int, ...]:
        """The results of an op, as values of their own."""
        return tuple([self.tensors.define(result) for result in op.results])


def _entry_functions(functions: Mapping[str, Operation]) -> list[Operation]:
    if MAIN in functions:
        return [functions[MAIN]]
    called = {callee_name(call) for function in functions.values() for call in calls_in(function)}
    return [function for name, function in functions.items() if name not in called]


def _donated(function: Operation) -> tuple[bool, ...]:
    count = len(function.regions[0].blocks[0].args)
    attributes = cast("ArrayAttr[DictionaryAttr] | None", function.properties.get("arg_attrs"))
    if attributes is None:
        return (False,) * count
    return tuple(any(name in entry.data for name in _DONATIONS) for entry in attributes.data)
