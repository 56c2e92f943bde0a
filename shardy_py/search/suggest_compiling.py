"""Judges plans by the compiler of the device itself, ahead of time: `suggest(target=..., compile=True)`.

Plans that it gives more memory than the device has, or rejects, come last. Not here: the search
(`suggesting.py`), what `Result.compile` does (`api/ahead_of_time.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shardy_py.api.program import Program
from shardy_py.api.propagating import propagate
from shardy_py.base.errors import ShardyError
from shardy_py.search.suggest import Plan
from shardy_py.search.suggest.judged import Judged
from shardy_py.sharding import Mesh
from shardy_py.xla.compilers import OutOfMemoryError, compile_ahead
from shardy_py.xla.targets.stage import CompileStage

_SMALL = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"


def require_compiler(stage: CompileStage | None, mesh: Mesh, python: str | None) -> CompileStage:
    """Returns the stage if its compiler is installed: before a search, not after it.

    Raises:
        ShardyError: no target is given, or its compiler is not known or not installed.
    """
    if stage is None or stage.compiler is None or stage.placement.hardware.compiler == "cpu":
        got = "none" if stage is None else stage.device
        raise ShardyError.unexpected(
            "compile", expected="target= a GPU or a TPU, which have a compiler of their own", got=got
        )
    compile_ahead(_SMALL, stage.placement, tuple(axis.size for axis in mesh.axes) or (1,), python)
    return stage


def judged(
    plans: Sequence[Plan],
    annotate: Callable[[Plan], Program],
    stage: CompileStage,
    python: str | None,
    limit: int | None,
) -> tuple[tuple[Plan, ...], tuple[Judged, ...]]:
    """Returns the plans in the order of the compiler's verdicts, and these.

    limit: the most bytes of a device; None: its memory.
    """
    most = limit or stage.placement.hardware.memory_bytes
    found = [(plan, _judged(annotate(plan), stage, python, most)) for plan in plans]
    found.sort(key=lambda each: each[1].excess)  # else the fastest first
    return tuple(plan for plan, _ in found), tuple(verdict for _, verdict in found)


def _judged(program: Program, stage: CompileStage, python: str | None, most: int) -> Judged:
    try:
        report = propagate(program, progress=False).compile(stage.placement, python=python)
    except OutOfMemoryError as error:
        return Judged(None, None, most, f"out of memory: {error.first.what}")
    except ShardyError as error:
        return Judged(None, None, most, error.first.what)
    held = report.memory.held
    return Judged(held.total_bytes, report.total.bytes, most, by=held.by)
