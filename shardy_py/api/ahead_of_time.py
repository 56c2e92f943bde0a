"""A result beside what the compiler of a device itself makes of its program: `Result.compile`.

Not here: the report (`compiled.py`), running the compiler (`xla/compilers/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, NameLoc, StringAttr

from shardy_py.api.arguments import expect
from shardy_py.api.compiled import against
from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.hardware import AxisPlacement, Hardware
from shardy_py.hlo.buffers import memory_of
from shardy_py.hlo.text import read_module
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.location_names import name_stack
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.report.compiled import CompiledReport
from shardy_py.report.tables import bytes_text
from shardy_py.sharding import Mesh
from shardy_py.xla.compiled_programs import CompiledInput
from shardy_py.xla.compilers import OutOfMemoryError, compile_ahead
from shardy_py.xla.targets.stage import CompileStage, stage_of

if TYPE_CHECKING:
    from shardy_py.api.result import Result

_SHOWN = 5
"""The tensors, or lines, that are named beside an error."""
_OP_NAME = re.compile(r'op_name="([^"]+)"')


def compiled(
    result: Result, target: AxisPlacement | Hardware | str, python: str | None = None
) -> CompiledReport:
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
    _name_locations(source.module)
    mesh = _devices_of(Symbols(source.module).meshes().values())
    try:
        answer = compile_ahead(source.text(debuginfo=True), stage.placement, mesh, python)
    except OutOfMemoryError as error:
        raise OutOfMemoryError(_with_largest(error.first, result, stage)) from error
    except ShardyError as error:
        raise ShardyError(_with_lines(error.first, source.module)) from error
    module = read_module(answer.hlo)
    memory = replace(answer.memory, largest=memory_of(module).largest)
    made = CompiledInput(module, memory, stage.placement.hardware.memory_bytes)
    return against(result, made, target=stage.placement, model=None, partitioner="xla")


def _devices_of(meshes: Iterable[Mesh]) -> tuple[int, ...]:
    """The sizes of the axes of the mesh with most devices; (1,) without one."""
    found = max(meshes, key=lambda mesh: mesh.device_count, default=None)
    return tuple(axis.size for axis in found.axes) or (1,) if found is not None else (1,)


def _name_locations(module: ModuleOp) -> None:
    """Gives ops whose location is a line alone their name, too: XLA forgets lines without one."""
    for op in walk_pre_order(module):
        location = op.location
        if isinstance(location, FileLineColLoc):
            op.location = NameLoc(StringAttr(op.name), location)


def _with_lines(error: Diagnostic, module: ModuleOp) -> Diagnostic:
    """An error of a compiler that names ops as HLO does, without lines: with those of the program."""
    names = dict.fromkeys(_OP_NAME.findall(error.what))
    if error.where is not None or not names:
        return error
    named = ((name_stack(op.location), op) for op in walk_pre_order(module))
    places = {position_of(op.location): op.name for name, op in named if name in names}
    found = [(place, name) for place, name in places.items() if place is not None][:_SHOWN]
    notes = (Diagnostic(f"'{name}' is named", place, "note") for place, name in found)
    return replace(error, where=found[0][0] if found else None, notes=(*error.notes, *notes))


def _with_largest(error: Diagnostic, result: Result, stage: CompileStage) -> Diagnostic:
    """An error of a compiler, with the largest tensors at the peak of the forecast."""
    forecast = result.memory(stage.placement, partitioner="xla").estimate
    largest = (
        f"largest as forecast: {bytes_text(each.bytes)} of {each.name} [{each.location}]"
        for each in forecast.largest[:_SHOWN]
    )
    return replace(error, notes=(*error.notes, *(Diagnostic(text, severity="note") for text in largest)))
