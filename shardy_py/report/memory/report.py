"""The memory report: totals, the peak, every tensor with its names and sizes; as text and JSON.

    report = memory_report(module, "tpu")
    report.entries[0].peak.bytes.padded_bytes
    report.largest(10)                          rows, largest first

Not here: its rows (`rows.py`), computing sizes and liveness (`collect.py`, `liveness.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from heapq import nsmallest
from itertools import chain, compress
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, current, heading, of
from shardy_py.base.rows import Rows, Tabular
from shardy_py.base.session import without_collection
from shardy_py.base.terminal import lines_text
from shardy_py.hardware import AxisPlacement, Hardware, as_placement
from shardy_py.hardware.tensor_bytes import Target, TensorBytes, json_fields
from shardy_py.indexing.layout.formats import TARGETS
from shardy_py.mlir.dialects.traits import is_constant_class
from shardy_py.mlir.ir import owning_op
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.record import name_of
from shardy_py.mlir.symbols import Symbols, function_name, functions_of
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.typed import dictionary_at, of_kind
from shardy_py.mlir.value_table import RESULT_INFO, ValueTable
from shardy_py.ops import record
from shardy_py.report.memory import pickled, shown
from shardy_py.report.memory.rows import EntryMemory, PeakOp, TensorRow, Total
from shardy_py.report.tables import meshes_text, omission, table, type_text
from shardy_py.sharding import Mesh
from shardy_py.xla.buffers import collect
from shardy_py.xla.buffers.chips import CHIPS, Chip, expected_bytes, recomputed_from, target_of
from shardy_py.xla.buffers.estimated import MemoryEstimate
from shardy_py.xla.buffers.liveness import LivenessAnalysis
from shardy_py.xla.buffers.numbered_tensors import FunctionResult, bounded_tensor, location_of
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.targets.stage import AS_PARTITIONED

SCHEMA = 1
_ROWS_SHOWN = 20
_TOTALS, _LABELS = shown.TOTALS, shown.LABELS


@dataclass(frozen=True, eq=False)
class MemoryReport(Tabular):
    """The memory on each device; tensors are numbered as in `EntryMemory.alive`.

    chip: the device whose memory is compared. spmd: makes the program of the estimate, without calls; by
    default that of the module. release: whose shardings and collectives it has. compiled_for: the device
    whose compiler allocates; "": that of the host, of the program as partitioned. table: of the module.
    The module must not change while the report is in use.
    """

    module: ModuleOp
    target: Target
    chip: Chip | None = None
    spmd: Callable[[], SpmdProgram] | None = None
    release: Release = field(default_factory=current)
    compiled_for: str = ""
    table: ValueTable | None = None

    columns = shown.COLUMNS

    def to_rows(self) -> Rows:
        """Returns a row for each tensor, largest first."""
        return shown.rows(self)

    def __str__(self) -> str:
        return memory_text(self)

    def __repr__(self) -> str:
        return shown.short_text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)

    def __reduce__(self) -> tuple[object, ...]:
        return pickled.reduced(self)

    @property
    def stage(self) -> str:
        """The stage of the program, as a phrase."""
        return f"as compiled for {self.compiled_for}" if self.compiled_for else AS_PARTITIONED

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes of the module by name."""
        return Symbols(self.module).meshes()

    @cached_property
    def collected(self) -> collect.CollectedProgram:
        """The arrays of the program, and the steps that make them; the estimate does not need them."""
        with without_collection(), of(self.release):
            return collect.collect_program(self.module, self.target)

    @cached_property
    def entries(self) -> tuple[EntryMemory, ...]:
        """The entry functions: @main, else all that nothing calls; raises as `collect.collect_program`."""
        found = self.collected
        liveness = LivenessAnalysis(found.computations, [kind.padded_bytes for kind in found.tensors.kinds])
        with deep_stack():
            return tuple(self._entry(entry, liveness) for entry in found.entries)

    @cached_property
    def estimate(self) -> MemoryEstimate:
        """The estimate of what XLA allocates for the entry function that needs most, without padding.

        Raises:
            ShardyError: a tensor has a dynamic shape, a mesh has too many devices to list them, or there is
                no function with a body.
        """
        if not (found := self._estimates()):
            raise ShardyError("the module has no function with a body: its memory cannot be estimated")
        return max(found, key=lambda each: each.total_bytes)

    @without_collection()
    def _estimates(self) -> list[MemoryEstimate]:
        from shardy_py.xla.buffers.estimate import estimate_memory  # many modules, which few commands need

        program = SpmdProgram(self.module) if self.spmd is None else self.spmd()
        functions = {function_name(f): f for f in functions_of(program.module)}
        return [
            estimate_memory(
                program,
                functions[function_name(function)],
                collect.donated_arguments(function),
                on_host=self.chip is None,
                target="linear" if self.chip is None else self.target,
                chip=self.chip,
            )
            for function in collect.entry_functions(self.module)
        ]

    @cached_property
    def memory_bytes(self) -> int:
        """The memory of the program on each device, in all reports: what XLA allocates, as estimated.

        `alive_bytes` where that cannot be estimated, for the reason `not_estimated`.
        """
        return self.alive_bytes if self.not_estimated else self.estimate.total_bytes

    @property
    def alive_bytes(self) -> int:
        """The padded bytes of the values alive at once, at most: all of the program, without fusion.

        Buffers that XLA adds, as for collectives and other orders of dimensions, are not among them.
        """
        return max((entry.peak.bytes.padded_bytes for entry in self.entries), default=0)

    @cached_property
    def not_estimated(self) -> str:
        """The reason why there is no estimate; "" if there is one."""
        try:
            _ = self.estimate
        except ShardyError as error:
            return error.first.message
        return ""

    @property
    def headline(self) -> tuple[str, ...]:
        """The memory of the program in a line, and the values alive beside it; () without a function."""
        return shown.headline(self)

    @property
    def fits(self) -> bool:
        """True if the estimate, with a margin for its error, is at most the memory of the chip.

        Raises:
            ShardyError: the report is not for a chip; those of `estimate`.
        """
        return self.expected_bytes[1] <= self._chip.memory_bytes

    @property
    def may_fit(self) -> bool:
        """False if the program needs more than the chip has even if the estimate is too high; see `fits`."""
        return self.expected_bytes[0] <= self._chip.memory_bytes

    @property
    def expected_bytes(self) -> tuple[int, int]:
        """The bytes that XLA allocates at least and at most, but for one program in ten on each side.

        Raises:
            ShardyError: as `fits`.
        """
        found = self.estimate
        held = found.total_bytes - found.temporaries
        sizes = found.least_bytes, found.total_bytes, found.largest_temporary
        return expected_bytes(self._chip, held, *sizes)

    @property
    def is_recomputed(self) -> bool:
        """True if the compiler computes values again, as the temporaries need too much of the memory."""
        found = self.estimate
        return found.temporaries > recomputed_from(self._chip, found.total_bytes - found.temporaries)

    @property
    def _chip(self) -> Chip:
        if self.chip is None:
            raise ShardyError.unknown("chip", self.target, tuple(CHIPS))
        return self.chip

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """All arrays, in order of creation, without arguments that are arrays of an outer computation."""
        numbers: dict[int, None] = {}
        computations = self.collected.computations
        for entry in self.collected.entries:
            numbers.update(dict.fromkeys(computations[entry.computation].arguments))
        for computation in computations:
            numbers.update(dict.fromkeys(chain.from_iterable([step.makes for step in computation.steps])))
            for nested in chain.from_iterable([step.nested for step in computation.steps if step.runs]):
                pairs = zip(computations[nested.computation].arguments, nested.arguments, strict=True)
                numbers.update((argument, None) for argument, outer in pairs if outer is None)
        return tuple(sorted(numbers))

    def largest(self, count: int | None = None) -> tuple[TensorRow, ...]:
        """Returns the tensors with the most padded bytes, largest first; all of them for None."""
        return tuple(map(self.row, self.ranked(self.numbers, count)))

    @property
    def not_counted(self) -> tuple[TensorRow, ...]:
        """The tensors whose bytes are unknown, in order of creation."""
        return tuple([self.row(n) for n in self.numbers if self.collected.tensors.kinds[n].size.problem])

    def ranked(self, numbers: Iterable[int], count: int | None = None) -> list[int]:
        """Returns tensors by their padded bytes, largest first; equal ones in order of creation."""
        kinds = self.collected.tensors.kinds
        ranks = [(-kinds[number].padded_bytes, number) for number in numbers]
        return [number for _, number in (sorted(ranks) if count is None else nsmallest(count, ranks))]

    def row(self, number: int) -> TensorRow:
        """Returns one tensor."""
        tensors = self.collected.tensors
        value, tensor = tensors.values[number], tensors.kinds[number]
        if isinstance(value, FunctionResult):
            op, name, location = value.function, f"result {value.position}", _result_location(value)
        else:
            op = of_kind(owning_op(value), Operation)
            name, location = self._names[id(value)], location_text(location_of(value))
        is_tensor = isinstance(tensor.type, TensorType)
        type_ = bounded_tensor(cast(Any, tensor.type)) if is_tensor else None
        type_ = type_ or record.TensorType((), str(tensor.type))
        size, name = tensor.size, f"copy to {name}" if number in tensors.copies else name
        shapes = type_.element, type_.shape, size.local_shape, tensor.sharding
        return TensorRow(name, _function_around(op), name_of(op), *shapes, size.bytes, location, size.problem)

    @cached_property
    def _names(self) -> Mapping[int, str]:
        return (self.table or ValueTable(self.module)).names

    def _entry(self, entry: collect.EntryFunction, liveness: LivenessAnalysis) -> EntryMemory:
        computations, ops = self.collected.computations, self.collected.ops
        peak = liveness.peak(entry.computation, entry.donated)
        constants: list[int] = []
        for index in self._reached(entry.computation):
            kinds: list[type[Operation]] = [*map(type, ops[index])]
            classes = {*filter(is_constant_class, {*kinds})}
            for step in compress(computations[index].steps, map(classes.__contains__, kinds)):
                constants += step.makes
        arguments = computations[entry.computation].arguments
        totals = map(self._total, (arguments, entry.results, constants, peak.alive))
        place = tuple(self._peak_op(*place) for place in peak.place if place[1] >= 0)
        alive = tuple(self.ranked(peak.alive))
        return EntryMemory(function_name(entry.function), *totals, place=place, alive=alive)

    def _total(self, numbers: Sequence[int]) -> Total:
        sizes = (self.collected.tensors.kinds[number].size.bytes for number in numbers)
        return Total(len(numbers), sum(sizes, TensorBytes()))

    def _reached(self, computation: int) -> list[int]:
        """Returns the computations that may run when one does, itself included, each once."""
        reached = {computation: None}
        waiting = [computation]
        while waiting:
            for step in self.collected.computations[waiting.pop()].steps:
                for nested in step.nested:
                    if nested.computation not in reached:
                        reached[nested.computation] = None
                        waiting.append(nested.computation)
        return list(reached)

    def _peak_op(self, computation: int, step: int) -> PeakOp:
        op = self.collected.ops[computation][step]
        name = self._names[id(op.results[0])] if op.results else ""
        return PeakOp(_function_around(op), name_of(op), name, location_text(op.location))


def memory_report(
    module: ModuleOp,
    target: Hardware | AxisPlacement | Target | str = "tpu",
    spmd: Callable[[], SpmdProgram] | None = None,
    table: ValueTable | None = None,
) -> MemoryReport:
    """Returns the report on a program with shardings.

    target: the layouts: "tpu" pads to tiles, "linear" does not pad; or a chip, for its layouts and memory, as
        `hardware.placement_of` reads it.
    spmd: makes the program without calls, for the estimate; by default the module has none. table: of it.

    Raises:
        ShardyError: unknown target.
    """
    return MemoryReport(module, *target_of(target), spmd, compiled_for=_device(target), table=table)


def _device(target: Hardware | AxisPlacement | Target | str) -> str:
    """Returns the name of a device; "" for layouts only."""
    return "" if target in TARGETS else as_placement(target).hardware.name


def memory_text(report: MemoryReport, rows: int = _ROWS_SHOWN) -> str:
    """Returns totals, the tensors alive at the peak, and the largest tensors; at most `rows` in a table."""
    head = f"Memory on each device, target {report.target}, {report.stage}"
    blocks = ["\n".join(filter(None, (head, meshes_text(report.meshes), *report.headline)))]
    for entry in report.entries:
        header = (f"@{entry.function}", "tensors", "global", "each device", "padded", "waste")
        totals = ((_LABELS.get(name, name), *getattr(entry, name).cells()) for name in _TOTALS)
        blocks.append(table((header, *totals)))
        where = ", within it ".join(map(str, entry.place))
        blocks.append(lines_text([f"Most is alive at {where}" if where else "Most is alive on entry."]))
        alive = [report.row(number) for number in entry.alive[:rows]]
        if alive:
            blocks.append(_tensor_table("alive there", alive, len(entry.alive), report))
    if not report.entries:
        blocks.append("The module has no function with a body.")
    if report.chip is not None:
        blocks.append(shown.estimate_text(report, report.chip))
    largest = report.largest(rows)
    if largest:
        blocks.append(_tensor_table("largest tensors", largest, len(report.numbers), report))
    problems = report.not_counted
    lines = (
        f"  {row.name} of @{row.function}, {type_text(row.shape, row.element_type)}: {row.not_counted}"
        for row in problems[:rows]
    )
    if problems:
        blocks.append(lines_text(["Not counted:", *lines, *omission(len(problems) - rows, "  ")]))
    return "\n\n".join(blocks)


def memory_json(report: MemoryReport) -> JsonObject:
    """Returns the report for JSON; docs/memory.md describes the schema."""
    ranked = report.ranked(report.numbers)
    positions = {number: position for position, number in enumerate(ranked)}
    entries: list[JsonObject] = []
    for entry in report.entries:
        totals = {name: json_fields(getattr(entry, name)) for name in _TOTALS}
        totals["peak"]["place"] = [json_fields(op) for op in entry.place]
        totals["peak"]["alive"] = [positions[number] for number in entry.alive]
        entries.append({"function": entry.function, **totals})
    meshes = {n: {"axes": dict(m.sizes), "devices": m.device_count} for n, m in report.meshes.items()}
    tensors = [json_fields(report.row(number)) for number in ranked]
    head: JsonObject = {
        **heading(SCHEMA, report.release),
        "target": report.target,
        "memory_bytes": report.memory_bytes,
        "alive_bytes": report.alive_bytes,
        "not_estimated": report.not_estimated,
        "meshes": meshes,
    }
    if report.chip is not None:
        chip = {"name": report.chip.name, "memory_bytes": report.chip.memory_bytes, "fits": report.fits}
        largest = [json_fields(each) for each in report.estimate.largest]
        head |= {"chip": chip, "estimate": {**json_fields(report.estimate), "largest": largest}}
    return {**head, "entries": entries, "tensors": tensors}


def _tensor_table(title: str, rows: Sequence[TensorRow], count: int, report: MemoryReport) -> str:
    header = (title, "sharding", "global shape", "local shape", "padded", "waste", "location")
    cells = [row.cells(has_one_mesh=len(report.meshes) == 1) for row in rows]
    return table((header, *cells), left=(0, 1, 6), omitted=count - len(rows))


def _function_around(op: Operation) -> str:
    around: Operation | None = op
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    return function_name(around) if around is not None else ""


def _result_location(result: FunctionResult) -> str:
    """Returns JAX's name of a function result; else the location of the function."""
    attributes = result.function.properties.get("res_attrs")
    info = dictionary_at(attributes, result.position).data.get(RESULT_INFO) if attributes else None
    return info.data if isinstance(info, StringAttr) else location_text(location_of(result))
