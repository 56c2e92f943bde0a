"""What is compared with the C++ Shardy, mode by mode, and how one program fares."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context

from shardy_py.cli.pass_text import build_step
from shardy_py.dialects import parse_module, print_module
from shardy_py.dialects.verification import verify_module
from shardy_py.errors import ShardyError
from tests.differential.programs import Width, wide_program
from tests.differential.reference_process import CRASHED, FAILED, ReferenceProcess
from tests.passes.programs import ProgramWriter
from tests.passes.sharded_programs import ShardedProgram

NEWER_THAN_JAXLIB = {"sdy-verify-unreduced-axes"}
"""It changes nothing, but refuses what jaxlib's Shardy takes."""
Step = tuple[str, str]
IMPORT: tuple[Step, ...] = (
    ("sdy-import-pipeline", ""),
    ("sdy-flatten-call-graph", ""),
    ("symbol-dce", ""),
    ("sdy-import-func-calls", ""),
    ("symbol-dce", ""),
    ("sdy-apply-sharding-constraints", ""),
    ("sdy-sharding-group-import", ""),
    ("sdy-pre-order-funcs", ""),
)


@dataclass(frozen=True)
class Mode:
    """One row of the table: programs and the passes that they go through on both sides.

    shared: passes that C++ runs for both sides first, so that what follows is compared alone.
    """

    name: str
    program: Callable[[random.Random], str]
    steps: tuple[Step, ...]
    shared: tuple[Step, ...] = ()


def _wide(**options: float | bool) -> Callable[[random.Random], str]:
    width = Width(**options)  # pyright: ignore[reportArgumentType]
    return lambda rng: wide_program(rng, width)


def _sharded(unreduced: float) -> Callable[[random.Random], str]:
    return lambda rng: ShardedProgram(rng.randrange(1 << 30), unreduced).text()


def _calls(rng: random.Random) -> str:
    return ProgramWriter(rng.randrange(1 << 30)).program()


_PIPELINE = "sdy-propagation-pipeline"
_RESHARDS = "sdy-insert-explicit-reshards"
MODES: tuple[Mode, ...] = (
    Mode("rules", _wide(), (("sdy-populate-op-sharding-rules", ""),)),
    Mode(
        "rules, conservative", _wide(), (("sdy-populate-op-sharding-rules", "conservative-propagation=true"),)
    ),
    Mode("import", _wide(), IMPORT),
    Mode("import, calls", _calls, IMPORT),
    Mode("basic", _wide(), (("sdy-basic-propagate", ""),), IMPORT),
    Mode("aggressive", _wide(), (("sdy-aggressive-propagate", ""),), IMPORT),
    Mode("op priority", _wide(), (("sdy-op-priority-propagate", ""),), IMPORT),
    Mode("user priority", _wide(), (("sdy-user-priority-propagate", ""),), IMPORT),
    Mode("user priority, unreduced", _wide(unreduced=0.1), (("sdy-user-priority-propagate", ""),), IMPORT),
    Mode(
        "named computations",
        _wide(named=True, calls=False),
        (("sdy-user-priority-propagate", ""),),
        (("sdy-add-data-flow-edges", ""), ("sdy-sharding-group-import", "")),
    ),
    Mode("pipeline", _wide(), ((_PIPELINE, ""),)),
    Mode("pipeline, calls", _calls, ((_PIPELINE, ""),)),
    Mode("pipeline, unreduced", _wide(unreduced=0.1), ((_PIPELINE, ""),)),
    Mode("pipeline, dedup", _wide(), ((_PIPELINE, "dedup-functions-fully=true"),)),
    Mode("reshards", _sharded(0.0), ((_RESHARDS, "enable-full-version=false"),)),
    Mode("reshards, full", _sharded(0.0), ((_RESHARDS, "enable-full-version=true"),)),
    Mode("reshards, full, unreduced", _sharded(0.1), ((_RESHARDS, "enable-full-version=true"),)),
)

SAME, REFUSED, DIFFERENT = "same", "both refuse", "different"
CRASH, ONLY_REFERENCE = "C++ crashes", "C++ refuses"
OUTCOMES = (SAME, REFUSED, CRASH, ONLY_REFERENCE, DIFFERENT)
"""`ONLY_REFERENCE`: C++ refuses what has a result here; `CRASH`: its process ends, whatever happens here."""


def compare(mode: Mode, text: str, reference: ReferenceProcess) -> tuple[str, str]:
    """How a program fares in a mode, and, if it comes out different, what both sides say."""
    if mode.shared:
        status, text = reference.run(text, spelled(mode.shared))
        if status:
            return (CRASH if status == CRASHED else ONLY_REFERENCE), text
    status, theirs = reference.run(text, spelled(mode.steps))
    try:
        ours, message = run_ours(text, mode.steps), ""
    except ShardyError as error:
        ours, message = None, str(error)
    except Exception as error:
        return DIFFERENT, f"{text}\nours: {error!r}"
    if status == CRASHED:
        return CRASH, text
    if status == FAILED:
        return (REFUSED, "") if ours is None else (ONLY_REFERENCE, f"{text}\ntheirs: {theirs}")
    if ours == theirs:
        return SAME, ""
    return DIFFERENT, f"{text}\nours: {message or ours}\ntheirs: {theirs}"


def run_ours(text: str, steps: tuple[Step, ...]) -> str:
    """Our output, verified."""
    module = parse_module(text)
    for name, options in steps:
        for call in build_step(name, options).calls:
            if call.row.name not in NEWER_THAN_JAXLIB:
                call.build().apply(Context(), module)
    verify_module(module)
    return print_module(module)


def spelled(steps: tuple[Step, ...]) -> str:
    """The steps as MLIR's pass manager reads them."""
    return ",".join(map(_spelled_step, steps))


def _spelled_step(step: Step) -> str:
    name, options = step
    text = f"{name}{{{options}}}" if options else name
    in_function = name in ("sdy-populate-op-sharding-rules", _RESHARDS)
    return f"func.func({text})" if in_function else text
