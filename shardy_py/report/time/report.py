"""The time report: how long a step of a program takes on hardware, and what bounds it.

    report = time_report(program, placement_of("tpu-v5p"))
    report.seconds                  with perfect overlap, and without
    report.bound                    "compute", "memory", or "links of AXES"

Not here: nodes and their time (`graph.py`, `roofline.py`), notebooks and rows (`shown.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path

from shardy_py.base.errors import ShardyError
from shardy_py.base.files import write_whole
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import DEFAULT, Release, current, following, heading
from shardy_py.base.rows import Rows, Tabular
from shardy_py.hardware import AxisLink, AxisPlacement, Hardware
from shardy_py.hardware.cost import CostModel
from shardy_py.hardware.links import axis_links
from shardy_py.hardware.tensor_bytes import json_fields
from shardy_py.mlir.symbols import function_name
from shardy_py.report.communication import CommunicationReport
from shardy_py.report.tables import bytes_text, seconds_text, table
from shardy_py.report.time import shown
from shardy_py.report.time.billed import billed
from shardy_py.report.time.counted import Counted, counted
from shardy_py.report.time.graph import TimedBlock, TimedNode
from shardy_py.report.time.interval import COMPUTE, MEMORY, Measure, measure
from shardy_py.report.time.kernel_costs import REACHED
from shardy_py.report.time.kernels import has_kernels, program_block
from shardy_py.report.time.local_work import DeviceWork
from shardy_py.report.time.trace import trace_text
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.from_program import SpmdProgram
from shardy_py.xla.targets.of_program import CompiledProgram
from shardy_py.xla.targets.stage import AS_PARTITIONED, CompileStage, stage_words

SCHEMA = 1
_ROWS_SHOWN = 20


@following
@dataclass(frozen=True, eq=False)
class TimeReport(Tabular):
    """The time of one step of a program.

    hardware: the device. links: that the axes of the mesh lie on. model: the costs of collectives. function:
    that runs. mesh: the largest of the program. block: what runs on each device. count: returns its
    arithmetic, and that of the whole program. release: whose shardings and collectives it has. stage: of the
    program, as a phrase. reached: the part of the device's rates that kernels reach at least; 1: not known.
    """

    hardware: Hardware
    links: tuple[AxisLink, ...]
    model: CostModel
    function: str
    mesh: Mesh
    block: TimedBlock = field(repr=False)
    count: Callable[[], Counted] = field(repr=False)
    release: Release = field(default_factory=current)
    stage: str = AS_PARTITIONED
    reached: float = 1.0

    @cached_property
    def counted(self) -> Counted:
        """The arithmetic of each device, and of the whole program."""
        return self.count()

    @property
    def devices(self) -> int:
        """The number of devices."""
        return self.mesh.device_count

    @cached_property
    def measured(self) -> Measure:
        """The seconds by resource, and with perfect overlap."""
        return measure(self.block)

    @property
    def seconds(self) -> tuple[float, float]:
        """The time of a step: with perfect overlap, and without any."""
        return self.overlapped, self.serial

    @property
    def overlapped(self) -> float:
        """Seconds with perfect overlap of computation and communication."""
        return self.measured.overlapped

    @property
    def serial(self) -> float:
        """Seconds with one op after the other: the sum of `compute`, `memory_bound`, `communication`."""
        return self.measured.serial

    @property
    def expected(self) -> tuple[float, float]:
        """The time of a step: at full rates with perfect overlap, and at the least rates without any."""
        return self.overlapped, (self.compute + self.memory_bound) / self.reached + self.communication

    @property
    def compute(self) -> float:
        """Seconds of ops that the rate of arithmetic bounds."""
        return self.measured.busy.get(COMPUTE, 0.0)

    @property
    def memory_bound(self) -> float:
        """Seconds of ops that the bandwidth of memory bounds."""
        return self.measured.busy.get(MEMORY, 0.0)

    @property
    def communication(self) -> float:
        """Seconds of collectives."""
        return sum(self.by_axes.values())

    @property
    def by_axes(self) -> Mapping[str, float]:
        """Seconds of collectives by the axes of their links, most first."""
        busy = self.measured.busy.items()
        found = [(name, seconds) for name, seconds in busy if name not in (COMPUTE, MEMORY)]
        return dict(sorted(found, key=lambda item: (-item[1], item[0])))

    @property
    def bound(self) -> str:
        """The resource that is busy longest: "compute", "memory", "links of AXES"; "" if nothing runs."""
        busy = self.measured.busy
        name = max(busy, key=lambda name: busy[name], default="")
        return name if name in ("", COMPUTE, MEMORY) else f"links of {name}"

    @property
    def work(self) -> DeviceWork:
        """The work of each device in a step, with the trip counts of loops; each op counts once."""
        return self.counted.local

    @property
    def model_flops(self) -> float:
        """The floating-point operations of products in the whole program before it is partitioned."""
        return self.counted.whole.product_flops

    @property
    def mfu(self) -> tuple[float, float]:
        """Model FLOPs utilization: without overlap, and with perfect overlap; 0 if nothing runs."""
        ideal = self.model_flops / self.devices / self.hardware.peak_flops
        low, high = (ideal / seconds if seconds else 0.0 for seconds in (self.serial, self.overlapped))
        return low, high

    def nodes(self) -> Iterator[tuple[TimedNode, float]]:
        """All nodes that take time, each with its runs in a step, in program order."""
        return ((node, runs) for node, runs in _flat(self.block, 1.0) if node.seconds)

    def trace(self, path: str | PathLike[str]) -> None:
        """Writes a trace of a step on one device, as JSON that Perfetto and Chrome open.

        Raises:
            ShardyError: the step has too many ops, or the file cannot be written.
        """
        try:
            write_whole(fspath(path), trace_text(self))
        except OSError as error:
            raise ShardyError(f"cannot write '{fspath(path)}': {error.strerror}") from error

    def chakra(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes a Chakra execution trace for each device (`step.0.et`, ...); returns the files.

        Raises:
            ShardyError: the step has too many ops, a collective is none of Chakra's, or a file cannot be
                written.
        """
        from shardy_py.report.time.chakra import write_traces

        return write_traces(fspath(folder), self, self.mesh)

    columns = shown.COLUMNS

    def to_rows(self) -> Rows:
        """Returns a row for each group of ops and collective, in program order."""
        return shown.rows(self)

    def __str__(self) -> str:
        return time_text(self)

    def __reduce__(self) -> tuple[object, ...]:
        """The report without the program, whose arithmetic is counted before."""
        kept = self.hardware, self.links, self.model, self.function, self.mesh, self.block
        return _restored, (*kept, self.counted, self.release, self.stage, self.reached)

    def __repr__(self) -> str:
        return shown.short_text(self)

    def _repr_html_(self) -> str:
        return shown.html(self)


def _restored(
    hardware: Hardware,
    links: tuple[AxisLink, ...],
    model: CostModel,
    function: str,
    mesh: Mesh,
    block: TimedBlock,
    known: Counted,
    release: Release = DEFAULT,
    stage: str = AS_PARTITIONED,
    reached: float = 1.0,
) -> TimeReport:
    whole = partial(_same, known)
    return TimeReport(hardware, links, model, function, mesh, block, whole, release, stage, reached)


def _same(known: Counted) -> Counted:
    return known


def _flat(block: TimedBlock, runs: float) -> Iterator[tuple[TimedNode, float]]:
    for node in block.nodes:
        if node.inside:
            for inner in node.inside:
                yield from _flat(inner, runs * node.times * node.trips)
        else:
            yield node, runs * node.times


def time_report(
    program: SpmdProgram,
    placement: AxisPlacement,
    model: CostModel | None = None,
    bill: CommunicationReport | None = None,
    stage: CompileStage | None = None,
) -> TimeReport:
    """Returns the report on the entry function of a program that takes longest.

    placement: the hardware, and where the axes of meshes lie. model: other costs of collectives.
    bill: the report on communication with the same costs, whose collectives count; None: the program's.
    stage: the device whose compiler's collectives are meant; None: those of the program as partitioned.

    Raises:
        ShardyError: an axis does not fit on the hardware, a tensor has a dynamic shape, a mesh has too many
            devices to list them, or there is no function with a body.
    """
    hardware, meshes = placement.hardware, [m for m in program.meshes.values() if not m.is_maximal]
    links = axis_links(placement, meshes) if model is None else ()
    model = (CostModel.of(placement) if model is None else model).on(meshes)
    bill = bill if len(program.entries) == 1 else None  # whose collectives are not known by entry function
    mesh = max(meshes, key=lambda mesh: mesh.device_count, default=Mesh(()))
    compiler = None if stage is None or not program.is_planned else stage.compiler
    made = None if compiler is None else CompiledProgram.of(program, compiler)
    program = program if made is None else made.program
    words = AS_PARTITIONED if stage is not None and compiler is None else stage_words(stage)
    reports = [
        TimeReport(
            *(hardware, links, model, function_name(function), mesh),
            _billed(program_block(program, function, hardware, model, made=made), bill),
            partial(counted, program, function),
            stage=words,
            reached=REACHED if has_kernels(hardware, made) else 1.0,
        )
        for function in program.entries
    ]
    if not reports:
        raise ShardyError("the module has no function with a body: its time cannot be estimated")
    return max(reports, key=lambda report: report.serial)


def _billed(block: TimedBlock, bill: CommunicationReport | None) -> TimedBlock:
    if bill is None:
        return block
    return billed(block, (use for use in bill.sending if use.cost.seconds))


def time_text(report: TimeReport, most: int = _ROWS_SHOWN) -> str:
    """Returns the interval, what bounds it, the seconds by resource, and the nodes that take longest."""
    low, high = (seconds_text(seconds) for seconds in report.seconds)
    lines = [
        f"Time of a step of @{report.function} on {report.devices} x {report.hardware.name}, {report.stage}"
    ]
    lines.append(f"{low} with perfect overlap, {high} without; bound by {report.bound or 'nothing'}")
    if report.reached < 1:
        high = seconds_text(report.expected[1])
        lines.append(f"most kernels reach {report.reached:.0%} of the rates or more: up to {high}")
    work = report.work
    least, best = report.mfu
    lines.append(
        f"MFU {least:.1%} to {best:.1%}; each device computes {flops_text(work.all_flops)} and "
        f"{work.transcendentals:,.0f} transcendental functions"
    )
    parts = ["\n".join(lines), _resources(report)]
    nodes = sorted(report.nodes(), key=lambda item: -item[0].seconds * item[1])
    rows = [_row(node, runs) for node, runs in nodes[:most]]
    if rows:
        head = ("op", "bound by", "runs", "flops", "bytes", "time", "total", "location")
        parts.append(table([head, *rows], (0, 1, 7), omitted=len(nodes) - most))
    return "\n\n".join(parts)


def _resources(report: TimeReport) -> str:
    rows = [("resource", "busy")]
    rows += [("compute", seconds_text(report.compute)), ("memory", seconds_text(report.memory_bound))]
    rows += [(f"links of {axes}", seconds_text(seconds)) for axes, seconds in report.by_axes.items()]
    if not report.links:
        return table(rows)
    links = [("axis", "size", "lies on", "bandwidth", "latency")]
    links += [
        (
            *(each.axis, str(each.size), each.where),
            *(f"{each.link.bytes_per_second / 1e9:.4g} GB/s", seconds_text(each.link.latency_seconds)),
        )
        for each in report.links
    ]
    return f"{table(rows)}\n\n{table(links, (0, 2))}"


def _row(node: TimedNode, runs: float) -> tuple[str, ...]:
    name = node.name + (f" + {len(node.members)} fused" if node.members else "")
    bound = f"links of {', '.join(node.axes)}" if node.bound == "communication" else node.bound
    flops = flops_text(node.work.all_flops) if node.bound != "communication" else "-"
    times = seconds_text(node.seconds), seconds_text(node.seconds * runs)
    return name, bound, f"{runs:,.10g}", flops, bytes_text(round(node.bytes)), *times, node.location


def flops_text(count: float) -> str:
    """Returns a number of operations in the largest decimal unit that leaves at least one.

    >>> flops_text(12), flops_text(2.5e12)
    ('12 FLOPs', '2.50 TFLOPs')
    """
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.2f} {unit}FLOPs"
    return f"{count:.0f} FLOPs"


def time_json(report: TimeReport) -> JsonObject:
    """Returns the report for JSON; docs/time.md describes the schema."""
    work = report.work
    return {
        **heading(SCHEMA, report.release),
        "hardware": report.hardware.name,
        "stage": report.stage,
        "function": report.function,
        "devices": report.devices,
        "links": [
            {"axis": each.axis, "size": each.size, "where": each.where, **json_fields(each.link)}
            for each in report.links
        ],
        "seconds": {"overlapped": report.overlapped, "serial": report.serial},
        "expected": {"least": report.expected[0], "most": report.expected[1]},
        "compute": report.compute,
        "memory": report.memory_bound,
        "communication": report.communication,
        "by_axes": dict(report.by_axes),
        "bound": report.bound,
        "mfu": {"serial": report.mfu[0], "overlapped": report.mfu[1]},
        "model_flops": report.model_flops,
        "flops": work.all_flops,
        "transcendentals": work.transcendentals,
        "ops": report.to_rows(),
    }
