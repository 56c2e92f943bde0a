"""What is compared with the C++ Shardy, mode by mode, and how one program fares.

Not here: why C++ crashes (`explained.py`), the programs (`programs.py`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.errors import ShardyError
from shardy_py.cli.pass_text import build_step
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.passes.runner import run_passes
from tests.differential.explained import SEVERAL, UNKNOWN, crash_cause, difference_cause
from tests.differential.meshes import Width
from tests.differential.programs import wide_program
from tests.differential.reference_process import CRASHED, FAILED, ReferenceProcess
from tests.differential.refusals import refusal_cause
from tests.differential.shrink import shrink
from tests.passes.programs import ProgramWriter

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
    needs: a behaviour as new as the passes and their options; None if every release has them.
    """

    name: str
    program: Callable[[random.Random], str]
    steps: tuple[Step, ...]
    shared: tuple[Step, ...] = ()
    needs: Behaviour | None = None

    @property
    def is_registered(self) -> bool:
        """Whether the current release has the passes."""
        return self.needs is None or self.needs.holds


def wide(width: Width) -> Callable[[random.Random], str]:
    """Writes programs of a width."""
    return lambda rng: wide_program(rng, width)


def _wide(**options: float | bool) -> Callable[[random.Random], str]:
    return wide(Width(**options))  # pyright: ignore[reportArgumentType]


_SHARDED = {"annotated": 0.85, "closed": 0.9, "replicated": 0.02, "groups": False}
"""What is left to insert-explicit-reshards: most ops with shardings, most of them closed. Replicated axes are
rare, for the full version takes them again for others, and what it makes is refused. Groups are gone then."""


def _calls(rng: random.Random) -> str:
    return ProgramWriter(rng.randrange(1 << 30)).program()


PIPELINE = "sdy-propagation-pipeline"
_RESHARDS = "sdy-insert-explicit-reshards"
_FULL = (_RESHARDS, "enable-full-version=true")
_IN_FUNCTIONS = (
    _RESHARDS,
    "sdy-populate-op-sharding-rules",
    "sdy-explicit-gather-scatter-batching",
    "sdy-reshard-to-collectives",
    "sdy-optimize-collectives",
    "sdy-resolve-single-device-sharding",
)
_IN_FUNCTIONS_BEFORE = ("sdy-pad-for-divisibility",)
"""Of functions until JAX 0.10; later of the module."""
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
    Mode("pipeline", _wide(), ((PIPELINE, ""),)),
    Mode("pipeline, calls", _calls, ((PIPELINE, ""),)),
    Mode("pipeline, unreduced", _wide(unreduced=0.1), ((PIPELINE, ""),)),
    Mode("pipeline, dedup", _wide(), ((PIPELINE, "dedup-functions-fully=true"),)),
    Mode("gather batching", _wide(), (("sdy-explicit-gather-scatter-batching", ""),)),
    Mode("collectives", _wide(), (_FULL, ("sdy-reshard-to-collectives", "")), ((PIPELINE, ""),)),
    Mode("reshards", _wide(**_SHARDED), ((_RESHARDS, "enable-full-version=false"),)),
    Mode("reshards, full", _wide(**_SHARDED), (_FULL,)),
    Mode("reshards, full, unreduced", _wide(**_SHARDED, unreduced=0.04), (_FULL,)),
)

SAME, REFUSED, DIFFERENT = "same", "both refuse", "different"
CRASH, ONLY_REFERENCE, EARLIER = "C++ crashes", "C++ refuses", "not reached"
OUTCOMES = (SAME, REFUSED, EARLIER, CRASH, ONLY_REFERENCE, DIFFERENT)
"""`ONLY_REFERENCE`: C++ refuses what has a result here; `CRASH`: its process ends, whatever happens here;
`EARLIER`: it refuses the program before the passes of the mode."""


@dataclass(frozen=True)
class Outcome:
    """How a program fares in a mode.

    cause: of a crash, a refusal that we do not share, or a difference.
    program: what both sides were given.
    detail: what they say, if they differ.
    """

    kind: str
    cause: str = ""
    program: str = ""
    detail: str = ""

    @property
    def is_explained(self) -> bool:
        """Whether nothing is left to look at."""
        return self.kind in (SAME, REFUSED, EARLIER) or self.cause not in ("", UNKNOWN)

    def __str__(self) -> str:
        return f"{self.kind} ({self.cause})" if self.cause else self.kind


_OF_ITS_MAKING = re.compile(r"see current operation|error: \"[^\"]*\":\d+:\d+: (?!'[\w.]+' op)")
"""In messages of C++ on an op that its own passes made, or could not make as its types cannot be inferred:
those here may make another invalid one. Some of its passes fail without a message."""


def compare(mode: Mode, text: str, reference: ReferenceProcess, *, explains: bool = True) -> Outcome:
    """How a program fares; without the cause, which takes more runs, if not `explains`."""
    if mode.shared:
        status, shared = reference.run(text, spelled(mode.shared))
        if status == CRASHED:
            return Outcome(
                CRASH, _crash_cause(mode.shared, text, shared, reference) if explains else "", text, shared
            )
        if status == FAILED:
            return Outcome(EARLIER, "", text, shared)
        text = shared
    status, theirs = reference.run(text, spelled(mode.steps))
    try:
        ours, message = run_ours(text, mode.steps), ""
    except ShardyError as error:
        ours, message = None, str(error)
    except Exception as error:
        return Outcome(DIFFERENT, "", text, f"ours: {error!r}")
    if status == CRASHED:
        return Outcome(
            CRASH, _crash_cause(mode.steps, text, theirs, reference) if explains else "", text, theirs
        )
    if status == FAILED:
        if ours is not None:
            cause = _refusal_cause(mode.steps, text, theirs, reference) if explains else ""
            return Outcome(ONLY_REFERENCE, cause, text, f"theirs: {theirs}")
        first = message.splitlines()[0].partition("error: ")[2]
        is_same = first in theirs or _OF_ITS_MAKING.search(theirs) or "error:" not in theirs
        return Outcome(REFUSED if is_same else DIFFERENT, "", text, f"ours: {message}\ntheirs: {theirs}")
    if ours == theirs:
        return Outcome(SAME)
    cause = _difference_cause(mode, text, message, reference) if explains else ""
    return Outcome(DIFFERENT, cause, text, f"ours: {message or ours}\ntheirs: {theirs}")


def made_small(mode: Mode, text: str, outcome: Outcome, reference: ReferenceProcess) -> Outcome:
    """The outcome of a smaller program that fares alike."""
    after = replace(mode, shared=())  # the program of the outcome has been through these
    if mode.shared and compare(after, outcome.program, reference).kind == outcome.kind:
        mode, text = after, outcome.program

    def fails(smaller: str) -> bool:
        found = compare(mode, smaller, reference)
        is_alike = (found.kind, found.cause) == (outcome.kind, outcome.cause)
        return is_alike and (found.kind != CRASH or _last_check(found) == _last_check(outcome))

    return compare(mode, shrink(text, fails), reference)


def _last_check(crash: Outcome) -> str:
    """The signal and the check that ended C++, without the time."""
    return re.sub(r"F\d{4} \S+ +\d+ ", "", crash.detail)


def _crash_cause(steps: tuple[Step, ...], text: str, words: str, reference: ReferenceProcess) -> str:
    return _cause_of((*map(_spelled_step, steps),), text, words, reference, CRASHED)


def _refusal_cause(steps: tuple[Step, ...], text: str, message: str, reference: ReferenceProcess) -> str:
    return _cause_of((*map(_spelled_step, steps),), text, message, reference, FAILED)


_UNKNOWN_PASS = "does not refer to a registered pass"


def _cause_of(
    passes: tuple[str, ...], text: str, words: str, reference: ReferenceProcess, status: str
) -> str:
    """Why passes end with that status: for the program, or for what one of them makes for another."""

    def again(other: str) -> str:
        found, output = reference.run(other, ",".join(passes))
        return output if found == status else ""

    cause = (crash_cause if status == CRASHED else refusal_cause)(text, words, again)
    if cause not in (SEVERAL, UNKNOWN):
        return cause
    if len(passes) == 1:
        passes = _parts(reference.pipeline(passes[0]))
    for each in passes if len(passes) > 1 else ():
        found, output = reference.run(text, each)
        if _UNKNOWN_PASS in output and found:  # one that dumps, which a pipeline has and Python does not
            continue
        if found == status:
            return _cause_of((each,), text, output, reference, status)
        if found:
            break
        text = output
    return cause


def _parts(pipeline: str) -> tuple[str, ...]:
    """The passes of a pipeline as MLIR spells it."""
    inner = pipeline.removeprefix("builtin.module(")[:-1]
    parts, depth, start = list[str](), 0, 0
    for index, letter in enumerate(inner + ","):
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and not depth:
            parts.append(inner[start:index])
            start = index + 1
    return tuple(parts)


def _difference_cause(mode: Mode, text: str, refusal: str, reference: ReferenceProcess) -> str:
    after = replace(mode, shared=())  # the program has been through these
    return difference_cause(
        text, refusal, lambda other: compare(after, other, reference, explains=False).kind == SAME
    )


def run_ours(text: str, steps: tuple[Step, ...]) -> str:
    """Our output; the module is verified before and after."""
    module = parse_module(text)
    verify_module(module)
    for name, options in steps:
        run_passes(module, build_step(name, options).calls, verify="never")
    verify_module(module)
    return print_module(module)


def spelled(steps: tuple[Step, ...]) -> str:
    """The steps as MLIR's pass manager reads them."""
    return ",".join(map(_spelled_step, steps))


def _spelled_step(step: Step) -> str:
    name, options = step
    text = f"{name}{{{options}}}" if options else name
    before = () if Behaviour.PARTS_ARE_EXCHANGED.holds else _IN_FUNCTIONS_BEFORE
    return f"func.func({text})" if name in _IN_FUNCTIONS + before else text
