"""A result beside what a compiler made of its program: `Result.against`.

Not here: the report (`report/compiled/`), reading files (`xla/compiled_programs.py`).
"""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Protocol

from xdsl.dialects.builtin import ModuleOp

from shardy_py.base.errors import ShardyError
from shardy_py.hlo.text import HloModule
from shardy_py.mlir.symbols import MAIN, function_name, functions_of
from shardy_py.report.communication import CollectiveUse
from shardy_py.report.compiled import CompiledReport, compiled_report, device_of
from shardy_py.report.verdict.causes import origins_of
from shardy_py.xla.compiled_programs import CompiledInput, compiled_in, compiled_module
from shardy_py.xla.targets.stage import CompileStage, model_of, stage_of

if TYPE_CHECKING:
    from shardy_py.api.result import Result
    from shardy_py.hardware import AxisPlacement, Hardware
    from shardy_py.hardware.cost import CostModel
    from shardy_py.report.communication import Partitioner


class HasHloText(Protocol):
    """A compiled program that prints its HLO, as `jax.stages.Compiled` does."""

    def as_text(self) -> str | None:
        """Returns its HLO."""
        ...


Compiled = str | PathLike[str] | HasHloText | HloModule | CompiledInput
"""A compiled program: HLO as text, the path of a file or of a folder that XLA dumped, JAX's
object, or as it was read."""


def read_compiled(compiled: Compiled, name: str = "") -> CompiledInput:
    """Returns a compiled program.

    name: of the module that is meant, of those that a folder has.

    Raises:
        ShardyError: it is none, cannot be read, or is invalid.
    """
    if isinstance(compiled, CompiledInput):
        return compiled
    if isinstance(compiled, HloModule):
        return CompiledInput(compiled)
    if isinstance(compiled, (str, PathLike)):
        text = fspath(compiled)
        return CompiledInput(compiled_module(text)) if "\n" in text else compiled_in(text, name)
    as_text = getattr(compiled, "as_text", None)
    text = as_text() if callable(as_text) else None
    if not isinstance(text, str):
        expected = "HLO text, the path of a file or folder, or a jax.stages.Compiled"
        got = f"a {type(compiled).__name__}"
        raise ShardyError.unexpected("the compiled program", expected=expected, got=got)
    return CompiledInput(compiled_module(text))


def module_name(module: ModuleOp) -> str:
    """Returns the name of a module; "" if it has none."""
    return "" if module.sym_name is None else module.sym_name.data


def against(
    result: Result,
    compiled: Compiled,
    *,
    target: AxisPlacement | Hardware | str | None,
    model: CostModel | str | None,
    partitioner: Partitioner | None,
) -> CompiledReport:
    """Returns the report on a compiled program.

    compiled: as for `read_compiled`. target, model, partitioner: as for
    `Result.communication`; target None: by what the module was compiled for.

    Raises:
        ShardyError: the compiled program cannot be read, or as `communication`.
    """
    read = read_compiled(compiled, module_name(result.program.module))
    stage = stage_of(device_of(read.module) if target is None else target)
    assert stage is not None
    bill = result.forecasts.priced(model_of(model, stage), partitioner, stage)[1]
    known: dict[int, tuple[str, ...]] = {}

    def annotations(use: CollectiveUse) -> tuple[str, ...]:
        key = id(use.cause.made_for)
        if key not in known:
            known[key] = () if result.record is None else origins_of(result.sides(use, most_chains=1))
        return known[key]

    memory = result.memory(_layouts(stage), partitioner=partitioner)
    return compiled_report(
        read.module,
        bill,
        lambda: result.forecasts.spmd("xla"),
        result.program.meshes,
        _argument_count(result.source.module),
        assigned=read.memory,
        estimate=None if memory.not_estimated else memory.estimate,
        annotations=annotations,
        device_bytes=read.device_bytes,
    )


def _argument_count(module: ModuleOp) -> int:
    """The number of arguments of @main, else of the first function; 0 without one."""
    functions = [*functions_of(module)]
    main = [each for each in functions if function_name(each) == MAIN] or functions[:1]
    return len(main[0].function_type.inputs) if main else 0


def _layouts(stage: CompileStage) -> AxisPlacement | str:
    """The target of the estimate of memory: hosts have linear layouts."""
    return "linear" if stage.placement.hardware.compiler == "cpu" else stage.placement
