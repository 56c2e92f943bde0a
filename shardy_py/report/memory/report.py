"""What each device holds: totals, the peak, every tensor with its names and sizes.

    report = memory_report(module, "tpu")
    report.entries[0].peak.bytes.padded_bytes
    report.largest(10)                          rows, the largest first

Not here: text and JSON (`text.py`, `to_json.py`), how the figures come about (`collect.py`, `liveness.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.registry import syntax_table
from shardy_py.graph.symbols import function_name
from shardy_py.graph.value_table import RESULT_INFO, location_text
from shardy_py.ir import owning_op
from shardy_py.ops import record
from shardy_py.report.collect import module_meshes
from shardy_py.report.memory.collect import Collected, Entry, collect_program
from shardy_py.report.memory.liveness import Liveness
from shardy_py.report.memory.sizes import Bytes, Target
from shardy_py.report.memory.tensors import FunctionResult, bounded_tensor, location_of
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.text.deep_stack import deep_stack
from shardy_py.text.naming import ValueNames

CONSTANTS = frozenset({"stablehlo.constant", "sdy.constant"})


@dataclass(frozen=True, slots=True)
class Total:
    """Several tensors: how many, their bytes in sum."""

    count: int
    bytes: Bytes


@dataclass(frozen=True, slots=True)
class Place:
    """An op: its function, its name and the name of its first result ("" if it has none), where it stands."""

    function: str
    op: str
    name: str
    location: str


@dataclass(frozen=True, slots=True)
class TensorRow:
    """One array of the program.

    name: `%3`, `%arg0`, `result 0`; `copy to %3` of a copy that becomes %3.
    op: the op that makes it; of an argument or a copied result the function.
    shape, local_shape: of the whole, and on each device; None for a dynamic size without a bound.
    problem: why its bytes count as none, "" if they count.
    """

    name: str
    function: str
    op: str
    element_type: str
    shape: tuple[int | None, ...]
    local_shape: tuple[int | None, ...]
    sharding: TensorSharding | None
    bytes: Bytes
    location: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EntryMemory:
    """What each device holds while a function runs that the program starts with.

    constants: all of the functions that may run.
    peak: of the padded bytes, with the other bytes of the same moment.
    place: the op at which the peak is, then the one within it, and so on; empty: on entry.
    alive: the numbers of the tensors alive at the peak, the largest first.
    """

    function: str
    arguments: Total
    results: Total
    constants: Total
    peak: Total
    place: tuple[Place, ...]
    alive: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MemoryReport:
    """What each device holds of a program; tensors are numbered as in `EntryMemory.alive`.

    The module must not change while rows are asked for.
    """

    module: ModuleOp
    target: Target
    collected: Collected

    def __str__(self) -> str:
        from shardy_py.report.memory.text import memory_text  # which is made of this

        return memory_text(self)

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes of the module by name."""
        return module_meshes(self.module)

    @cached_property
    def entries(self) -> tuple[EntryMemory, ...]:
        """The functions that the program starts with: @main, else all that nobody calls."""
        sizes = [tensor.size.bytes.padded_bytes for tensor in self.collected.tensors]
        liveness = Liveness(self.collected.computations, sizes)
        with deep_stack():
            return tuple(self._entry(entry, liveness) for entry in self.collected.entries)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """All arrays, in order of creation; what is an array of an outer computation is not one again."""
        found: dict[int, None] = {}
        computations = self.collected.computations
        for entry in self.collected.entries:
            found.update(dict.fromkeys(computations[entry.computation].arguments))
        for computation in computations:
            for step in computation.steps:
                found.update(dict.fromkeys(step.makes))
                for nested in step.runs.nested if step.runs else ():
                    pairs = zip(computations[nested.computation].arguments, nested.arguments, strict=True)
                    found.update((argument, None) for argument, outer in pairs if outer is None)
        return tuple(sorted(found))

    def largest(self, count: int | None = None) -> tuple[TensorRow, ...]:
        """The tensors with the most padded bytes, the largest first; all of them for None."""
        return tuple(map(self.row, self.ranked(self.numbers, count)))

    @property
    def not_counted(self) -> tuple[TensorRow, ...]:
        """The tensors whose bytes are not known, in order of creation."""
        return tuple(self.row(n) for n in self.numbers if self.collected.tensors[n].size.problem)

    def ranked(self, numbers: Iterable[int], count: int | None = None) -> list[int]:
        """Tensors by their padded bytes, the largest first; equal ones in order of creation."""
        tensors = self.collected.tensors

        def rank(number: int) -> tuple[int, int]:
            return -tensors[number].size.bytes.padded_bytes, number

        return sorted(numbers, key=rank) if count is None else nsmallest(count, numbers, rank)

    def row(self, number: int) -> TensorRow:
        """One tensor."""
        tensor = self.collected.tensors[number]
        value = tensor.value
        if isinstance(value, FunctionResult):
            op, name, location = value.function, f"result {value.position}", _result_info(value)
        else:
            op = cast(Operation, owning_op(value))
            name = self._names[id(value)]
            location = location_text(location_of(value))
        type_ = self._type(tensor.type)
        return TensorRow(
            f"copy to {name}" if tensor.is_copy else name,
            _function_around(op),
            op.name,
            type_.element,
            type_.shape,
            tensor.size.local_shape,
            tensor.sharding,
            tensor.size.bytes,
            location,
            tensor.size.problem,
        )

    @cached_property
    def _names(self) -> dict[int, str]:
        return ValueNames(self.module, syntax_table()).of

    def _type(self, type_: Attribute) -> record.TensorType:
        known = self._types.get(id(type_))
        if known is None:
            is_tensor = isinstance(type_, TensorType)
            made = bounded_tensor(cast(Any, type_)) if is_tensor else record.TensorType((), str(type_))
            known = self._types[id(type_)] = (made, type_)
        return known[0]

    @cached_property
    def _types(self) -> dict[int, tuple[record.TensorType, Attribute]]:
        return {}

    def _entry(self, entry: Entry, liveness: Liveness) -> EntryMemory:
        peak = liveness.peak(entry.computation, entry.donated)
        constants = [
            number
            for computation in self._reached(entry.computation)
            for op, step in zip(
                self.collected.ops[computation], self.collected.computations[computation].steps, strict=False
            )
            if op.name in CONSTANTS
            for number in step.makes
        ]
        return EntryMemory(
            function_name(entry.function),
            self._total(self.collected.computations[entry.computation].arguments),
            self._total(entry.results),
            self._total(constants),
            self._total(peak.alive),
            tuple(self._place(*place) for place in peak.place if place[1] >= 0),
            tuple(self.ranked(peak.alive)),
        )

    def _total(self, numbers: Iterable[int]) -> Total:
        found = [self.collected.tensors[number].size.bytes for number in numbers]
        return Total(
            len(found),
            Bytes(
                sum(size.global_bytes for size in found),
                sum(size.local_bytes for size in found),
                sum(size.padded_bytes for size in found),
            ),
        )

    def _reached(self, computation: int) -> list[int]:
        """The computations that may run when one does, itself included, each once."""
        reached = {computation: None}
        waiting = [computation]
        while waiting:
            for step in self.collected.computations[waiting.pop()].steps:
                for nested in step.runs.nested if step.runs else ():
                    if nested.computation not in reached:
                        reached[nested.computation] = None
                        waiting.append(nested.computation)
        return list(reached)

    def _place(self, computation: int, step: int) -> Place:
        op = self.collected.ops[computation][step]
        name = self._names[id(op.results[0])] if op.results else ""
        return Place(_function_around(op), op.name, name, location_text(cast(Any, op).location))


def memory_report(module: ModuleOp, target: Target = "tpu") -> MemoryReport:
    """What each device holds of a program with shardings.

    target: the layouts: "tpu" pads to tiles, "linear" pads nothing.

    Raises:
        ShardyError: a function calls itself, or a sharding does not fit its value.
    """
    return MemoryReport(module, target, collect_program(module, target))


def _function_around(op: Operation) -> str:
    around: Operation | None = op
    while around is not None and around.name != "func.func":
        around = around.parent_op()
    return function_name(around) if around is not None else ""


def _result_info(result: FunctionResult) -> str:
    """What JAX calls a result of a function; else where the function stands."""
    attributes = cast("ArrayAttr[DictionaryAttr] | None", result.function.properties.get("res_attrs"))
    info = attributes.data[result.position].data.get(RESULT_INFO) if attributes is not None else None
    return info.data if isinstance(info, StringAttr) else location_text(location_of(result))
