"""A result as the compiler of a device makes it: what is compiled, and the forecast beside it.

Not here: the report (`report/ahead_of_time.py`), running the compiler (`xla/compilers/`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shardy_py.api.arguments import expect
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hardware import AxisPlacement, Hardware
from shardy_py.mlir.symbols import Symbols
from shardy_py.report.ahead_of_time import AheadOfTimeReport, devices_of, forecast_by_kind, name_locations
from shardy_py.report.tables import bytes_text
from shardy_py.xla.buffers.estimate import MemoryEstimate
from shardy_py.xla.compilers import OutOfMemoryError, compile_ahead
from shardy_py.xla.targets.of_program import CompiledProgram
from shardy_py.xla.targets.stage import CompileStage, stage_of

if TYPE_CHECKING:
    from shardy_py.api.result import Result

_SHOWN = 5
"""The tensors that are named beside an error."""


def compiled(
    result: Result, target: AxisPlacement | Hardware | str, python: str | None = None
) -> AheadOfTimeReport:
    """Returns the report on a program as compiled; see `Result.compile`.

    Raises:
        ShardyError: as there.
    """
    expect(target, (str, Hardware, AxisPlacement), "the name of a device such as 'h100'")
    if python is not None:
        expect(python, str, "the path of a Python interpreter")
    stage = stage_of(target)
    assert stage is not None
    if stage.compiler is None or stage.placement.hardware.compiler == "cpu":
        expected = "a GPU or a TPU, which have a compiler of their own"
        raise ShardyError.unexpected("compile", expected=expected, got=stage.device)
    source = result.source.copy()
    name_locations(source.module)
    mesh = devices_of(Symbols(source.module).meshes().values())
    try:
        answer = compile_ahead(source.text(debuginfo=True), stage.placement, mesh, python)
    except OutOfMemoryError as error:
        raise OutOfMemoryError(_with_largest(error.first, _memory(result, stage))) from error
    made = CompiledProgram.of(result.forecasts.spmd("xla"), stage.compiler)
    return AheadOfTimeReport(stage, answer, forecast_by_kind(made), _memory(result, stage))


def _memory(result: Result, stage: CompileStage) -> MemoryEstimate:
    return result.memory(stage.placement, partitioner="xla").estimate


def _with_largest(error: Diagnostic, forecast: MemoryEstimate) -> Diagnostic:
    """An error of a compiler, with the largest tensors at the peak of the forecast."""
    largest = (
        f"largest as forecast: {bytes_text(each.bytes)} of {each.name} [{each.location}]"
        for each in forecast.largest[:_SHOWN]
    )
    return replace(error, notes=(*error.notes, *(Diagnostic(text, severity="note") for text in largest)))
