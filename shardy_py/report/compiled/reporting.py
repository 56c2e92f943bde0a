"""Makes the report on a compiled program, given the program that it was made of: `compiled_report`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from shardy_py.hlo.buffers import AllocatedMemory
from shardy_py.hlo.collectives import platform_of
from shardy_py.hlo.text import HloModule
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.compiled.forecast import forecast_values, reshard_values
from shardy_py.report.compiled.memory import ComparedMemory
from shardy_py.report.compiled.report import CompiledReport, joined_collectives
from shardy_py.report.compiled.sent import CompiledAxes
from shardy_py.sharding import Mesh
from shardy_py.xla.buffers.estimated import MemoryEstimate
from shardy_py.xla.spmd.from_program import SpmdProgram

DEVICES = {"cpu": "cpu", "gpu": "h100", "tpu": "tpu-v5p"}
"""The device that a compiled program is taken to be for if none is given, by platform."""


def device_of(module: HloModule) -> str:
    """Returns the name of a device of the platform that a module was compiled for."""
    return DEVICES[platform_of(module)]


def device_count(module: HloModule) -> int:
    """Returns the number of devices of a module; 0 if it does not tell."""
    text = module.attributes.get("num_partitions", "")
    partitions = int(text) if text.isdecimal() and len(text) < 10 else 0
    replicas = module.attributes.get("replica_count", "")
    return max(partitions, int(replicas) if replicas.isdecimal() and len(replicas) < 10 else 0)


def compiled_report(
    module: HloModule,
    bill: CommunicationReport,
    spmd: Callable[[], SpmdProgram],
    meshes: Mapping[str, Mesh],
    arguments: int,
    *,
    assigned: AllocatedMemory | None = None,
    estimate: MemoryEstimate | None = None,
    annotations: Callable[[CollectiveUse], tuple[str, ...]] | None = None,
    device_bytes: int | None = None,
) -> CompiledReport:
    """Returns the report on a compiled module.

    bill: the communication of the program, as compiled for the device. spmd: makes the program that XLA's
    partitioner plans. meshes: of the program; arguments: their number. assigned: the memory as XLA
    assigned it, if known. estimate: of memory. annotations: finds where the axes of a collective come from.
    device_bytes: the memory of the device that it was compiled for, if known.
    """
    axes = CompiledAxes.of(meshes, device_count(module))
    compiler = None if bill.stage is None else bill.stage.compiler
    if bill.partitioner == "xla" and compiler is not None:
        forecast = forecast_values(spmd(), compiler, bill.model)
    else:
        forecast = reshard_values(bill.sending)
    warnings = tuple(_warnings(module, arguments))
    collectives, absent = joined_collectives(module, axes, forecast, bill.model)
    return CompiledReport(
        module.name,
        collectives,
        absent,
        tuple(bill.sending),
        bill.model,
        bill.stage_words,
        ComparedMemory.of(module, assigned, estimate, device_bytes),
        annotations or (lambda _: ()),
        bill.release,
        warnings,
    )


def _warnings(module: HloModule, arguments: int) -> Iterator[str]:
    given = len(module.entry_computation.parameters)
    if given != arguments:
        yield f"the compiled program has {given} arguments, the program {arguments}: it may be another one"
