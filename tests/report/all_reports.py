"""Runs every report and surface of the Python API over random programs, and lists what fails.

    python -m tests.report.all_reports --count 200 --seed 0     programs of these seeds, of all kinds in turn
    python -m tests.report.all_reports --only memory --kind large --count 20 --show

The programs are valid: any exception is a fault, but the refusals of `REFUSALS`. Faults of the same exception
at the same line are one. Not here: whether a report is right.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shardy_py import Program, Result, propagate, testing
from shardy_py.base.errors import ShardyError
from shardy_py.check import (
    baseline_text,
    findings_github,
    findings_json,
    findings_sarif,
    findings_text,
    without_baseline,
)
from shardy_py.report import local_shapes_data, local_shapes_text, local_values, view
from shardy_py.report.communication import PARTITIONERS, CommunicationReport, communication_json
from shardy_py.report.memory import memory_json
from shardy_py.report.time import time_json
from tests.differential.meshes import Width
from tests.differential.programs import is_valid, wide_program
from tests.passes.programs import ProgramWriter
from tests.passes.sharded_programs import ShardedProgram
from tests.propagation.random_programs import random_program

SECONDS = 60
"""A program that takes longer in one surface is a fault."""
REFUSALS = (
    "expected a program with one mesh",
    "XLA's partitioner: expected a mesh of at most",
    "listed devices: expected at most",
    "no choice of shardings can be scored: XLA's collectives of the program cannot be planned",
)
"""Messages of programs that a surface refuses by its documents."""
REFUSED_EDITS = ("invalid transition from unreduced to reduced",)
"""Messages of what-ifs whose edited program Shardy refuses, as another axis is propagated."""


class Slow(BaseException):
    """A surface that takes longer than `SECONDS`."""


# ---------------------------------------------------------------------- programs


Make = Callable[[random.Random, int], str]
"""Writes a program of at most so many ops in `@main`; kinds whose programs are small do not ask."""
LONGEST = 30


def _wide(**options: float | bool) -> Make:
    width = Width(**options)  # pyright: ignore[reportArgumentType]
    return lambda rng, longest: wide_program(rng, replace(width, ops=longest))


_AXIS = re.compile(r'"(\w+)"=(\d+)')


def _large(rng: random.Random, longest: int) -> str:
    """A program on a mesh with an axis of 2^31 devices or more."""
    text = ""
    while not text or "device_ids" in text:
        text = wide_program(rng, Width(unreduced=0.05, meshes=False, ops=longest))
    name, size = rng.choice(_AXIS.findall(text.partition("\n")[0]))
    return text.replace(f'"{name}"={size}', f'"{name}"={int(size) * 2 ** rng.choice((24, 31, 33))}', 1)


def _empty(rng: random.Random, longest: int) -> str:
    """A program of tensors many of which have no elements."""
    return wide_program(rng, Width(unreduced=0.02, empty=True, ops=longest), accepts=is_valid)


KINDS: dict[str, Make] = {
    "wide": _wide(),
    "wide, unreduced": _wide(unreduced=0.1),
    "annotated": _wide(annotated=0.85, closed=0.9, replicated=0.02, groups=False),
    "named": _wide(named=True, calls=False, unreduced=0.05),
    "runs": _wide(runs=True),
    "calls": lambda rng, _: ProgramWriter(rng.randrange(1 << 30)).program(),
    "sharded": lambda rng, _: ShardedProgram(rng.randrange(1 << 30), unreduced=0.1).text(),
    "small": lambda rng, _: random_program(rng.randrange(1 << 30), keeps_all=True),
    "large": _large,
    "empty": _empty,
}


@dataclass
class Case:
    """A random program and what the surfaces share: each is made once.

    seed: where the choices of surfaces come from. as_compiled: changed as XLA does before propagation.
    is_searched: whether suggestions and advice, which try many annotations, are made.
    """

    text: str
    seed: int
    as_compiled: bool
    is_searched: bool
    folder: Path

    @cached_property
    def program(self) -> Program:
        """The program; changed as XLA does before propagation, or as it is written."""
        return Program.parse(self.text, as_compiled=self.as_compiled)

    def rng(self, surface: str) -> random.Random:
        """Returns the choices of a surface: the same whichever others run."""
        return random.Random(f"{self.seed} {surface}")

    @cached_property
    def result(self) -> Result:
        """The propagated program."""
        return propagate(self.program, progress=False)


# ---------------------------------------------------------------------- surfaces


def _shown(report: Any) -> None:
    """Reads a report in every form that it has."""
    str(report)
    repr(report)
    for form in ("_repr_html_", "to_csv", "to_rows", "to_json"):
        if hasattr(report, form):
            getattr(report, form)()


def _communication(partitioner: Any) -> Callable[[Case], None]:
    def run(case: Case) -> None:
        report: CommunicationReport = case.result.communication(partitioner=partitioner)
        _shown(report)
        communication_json(report)
        for use in report.sending[:6]:
            case.result.sides(use)
            if report.partitioner == "xla" and case.is_searched:
                case.result.advice(use, tries=2)

    return run


def _memory(target: str) -> Callable[[Case], None]:
    def run(case: Case) -> None:
        for partitioner in (None, "shardy") if target == "tpu-v5e" else (None,):
            report = case.result.memory(target, partitioner=partitioner)
            _shown(report)
            memory_json(report)
            if target == "tpu-v5e":
                _ = report.estimate, report.fits

    return run


def _time(partitioner: Any, hardware: str) -> Callable[[Case], None]:
    def run(case: Case) -> None:
        report = case.result.time(hardware, partitioner=partitioner)
        _shown(report)
        time_json(report)
        report.trace(case.folder / "trace.json")
        if report.devices <= 64:
            report.chakra(case.folder / "chakra")

    return run


def _explain(case: Case) -> None:
    for value in case.result.values:
        _shown(case.result.explain(value))


def _why_not(case: Case) -> None:
    rng = case.rng("why not")
    for value in case.result.values:
        axes = [axis.name for mesh in value.meshes.values() for axis in mesh.axes]
        for dimension in range(len(value.shape or ())):
            if axes:
                _shown(case.result.why_not(value, dimension, rng.choice(axes)))


def _values(case: Case) -> None:
    for value in case.result.values:
        _shown(value)
        _ = value.local_shape, value.location, value.label
        if value.sharding is not None:
            _shown(value.sharding)
            shape = value.shape
            if shape is not None and None not in shape:
                slices = case.result.device_slices(value)
                slices.at(0)
                slices.of(0)
            with suppress(ShardyError):  # what HloSharding cannot express
                value.sharding.to_hlo(len(shape or ()))


def _local_shapes(case: Case) -> None:
    values = local_values(case.result.program.module)
    local_shapes_text(values)
    local_shapes_text(values, 0)
    local_shapes_data(values)
    for value in values[:8]:
        if value.sharding is not None and None not in value.type.shape:
            shown = (value.sharding, value.mesh, value.type.shape)
            view.describe(*shown)
            view.draw(*shown)
            view.to_svg(*shown)


def _model_explorer(case: Case) -> None:
    graphs = case.result.model_explorer()
    graphs.text()
    graphs.write_node_data(case.folder)


def _explorer(partitioner: Any) -> Callable[[Case], None]:
    return lambda case: _shown(case.result.explorer(partitioner=partitioner))


def _check(case: Case) -> None:
    findings = case.result.check()
    _shown(findings)
    for form in (findings_text, findings_json, findings_github):
        form(findings)
    findings_sarif(findings, "program.mlir")
    without_baseline(findings, baseline_text(findings, ()))


def _diff(case: Case) -> None:
    _shown(case.result.compared_with(case.result))
    _shown(case.result.compared_with(case.result, partitioner="shardy"))


def _what_if(case: Case) -> None:
    arguments = case.result.source.values.arguments()
    if arguments:
        _shown(case.result.what_if({case.rng("what if").choice(arguments): None}))


def _suggest(case: Case) -> None:
    if not case.is_searched:
        return
    suggestion = case.program.suggest(tries=3, time_limit=5, progress=False)
    _shown(suggestion)
    for plan in suggestion.plans:
        plan.code()


def _saved(case: Case) -> None:
    case.result.save(case.folder / "result.sdy")
    Result.load(case.folder / "result.sdy")


def _testing(case: Case) -> None:
    for value in case.result.values[:4]:
        if value.sharding is not None:
            testing.assert_sharding(case.result, value, value.sharding)
    with suppress(AssertionError):
        testing.assert_collectives(case.result, {}, max_bytes=1)


def _shown_result(case: Case) -> None:
    _shown(case.result)
    case.result.summary()
    case.result.text()
    case.result.program.text(generic=True, debuginfo=True)
    _shown(case.program)


def _partition(case: Case) -> None:
    local = case.result.partition()
    _shown(local)
    _shown(local.memory())
    _shown(local.communication())


SURFACES: dict[str, Callable[[Case], None]] = {
    "result": _shown_result,
    "values": _values,
    "local shapes": _local_shapes,
    **{f"communication, {name}": _communication(name) for name in PARTITIONERS},
    **{f"memory, {name}": _memory(name) for name in ("linear", "tpu", "tpu-v5e", "h100")},
    "time, xla": _time(None, "tpu-v5p"),
    "time, shardy": _time("shardy", "h100"),
    "explain": _explain,
    "why not": _why_not,
    "model_explorer": _model_explorer,
    "explorer": _explorer(None),
    "explorer, xla": _explorer("xla"),
    "check": _check,
    "diff": _diff,
    "what if": _what_if,
    "suggest": _suggest,
    "saved": _saved,
    "testing": _testing,
    "partition": _partition,
}


# ---------------------------------------------------------------------- runs


@dataclass
class Fault:
    """Exceptions of one kind at one line. first: the seed and kind of the first program."""

    first: str
    trace: str
    surfaces: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Outcome:
    """What a run found: programs by kind, those that propagation refuses, faults by place, seconds."""

    programs: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    faults: dict[str, Fault] = field(default_factory=dict[str, Fault])
    seconds: Counter[str] = field(default_factory=Counter[str])

    @property
    def valid(self) -> int:
        """The number of programs that were run."""
        return self.programs.total() - self.refused.total()

    def add(self, error: BaseException, surface: str, seed: str) -> None:
        """Adds an exception."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/shardy_py/" in frame.filename] or list(frames)
        last = own[-1]
        message = re.sub(r"\d+|'[^']*'|%\w+", "_", str(error))[:120] if isinstance(error, ShardyError) else ""
        key = f"{type(error).__name__} {os.path.relpath(last.filename)}:{last.lineno} {message}"
        trace = "".join(traceback.format_exception(error)[-12:])
        self.faults.setdefault(key, Fault(seed, trace)).surfaces[surface] += 1

    def __str__(self) -> str:
        """The table of programs, and the faults."""
        lines = [f"{self.programs.total()} programs, {self.valid} valid, others refused by propagation"]
        for name, count in self.programs.items():
            lines.append(f"  {name}: {count} programs, {self.refused[name]} refused")
        for surface, seconds in self.seconds.most_common():
            lines.append(f"  {surface}: {seconds:.1f} s")
        for key, fault in sorted(self.faults.items(), key=lambda pair: -pair[1].surfaces.total()):
            counts = ", ".join(f"{name} {count}" for name, count in fault.surfaces.items())
            lines.append(f"FAULT {key}\n    first: {fault.first}; {counts}")
        return "\n".join(lines)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Slow(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(
    seeds: Iterable[int],
    kinds: tuple[str, ...] = (),
    surfaces: tuple[str, ...] = (),
    *,
    longest: int = LONGEST,
    valid: int = sys.maxsize,
) -> Outcome:
    """Runs the surfaces over the programs of seeds, whose kinds take turns, until so many are valid."""
    outcome, chosen = Outcome(), kinds or tuple(KINDS)
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            if outcome.valid >= valid:
                break
            kind = chosen[seed % len(chosen)]
            case = case_of(kind, seed, Path(folder), longest)
            outcome.programs[kind] += 1
            _run_case(case, f"--kind '{kind}' --seed {seed}", kind, surfaces, outcome)
    return outcome


def case_of(kind: str, seed: int, folder: Path, longest: int = LONGEST) -> Case:
    """Returns the program of a seed; every other one as XLA compiles it."""
    rng = random.Random(seed)
    text = KINDS[kind](rng, longest)
    return Case(text, seed, rng.random() < 0.5, is_searched=rng.random() < 0.2, folder=folder)


def _run_case(case: Case, name: str, kind: str, surfaces: tuple[str, ...], outcome: Outcome) -> None:
    try:
        _ = case.result
    except ShardyError:
        outcome.refused[kind] += 1
        return
    except Exception as error:
        outcome.add(error, "propagation", name)
        return
    for surface, work in SURFACES.items():
        if surfaces and not any(surface.startswith(wanted) for wanted in surfaces):
            continue
        start = time.perf_counter()
        try:
            with _limited(SECONDS):
                work(case)
        except (Exception, Slow) as error:
            if not _is_refusal(surface, error):
                outcome.add(error, surface, name)
        outcome.seconds[surface] += time.perf_counter() - start  # pyright: ignore[reportArgumentType]


def _is_refusal(surface: str, error: BaseException) -> bool:
    known = (*REFUSALS, *(REFUSED_EDITS if surface == "what if" else ()))
    return isinstance(error, ShardyError) and any(words in str(error) for words in known)


def main() -> int:
    """Runs the command line; fails if there are faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", default=[], choices=tuple(KINDS))
    parser.add_argument("--only", action="append", default=[], help="surfaces that begin with this")
    parser.add_argument("--show", action="store_true", help="with the first traceback of each fault")
    parser.add_argument("--text", action="store_true", help="print the program of the seed instead")
    options = parser.parse_args()
    kinds, seeds = tuple(options.kind), range(options.seed, options.seed + options.count)
    if options.text:
        print(case_of((kinds or tuple(KINDS))[options.seed % len(kinds or KINDS)], options.seed, Path()).text)
        return 0
    outcome = Outcome()
    for start in range(seeds.start, seeds.stop, 50):
        found = run(range(start, min(start + 50, seeds.stop)), kinds, tuple(options.only))
        outcome.programs += found.programs
        outcome.refused += found.refused
        outcome.seconds += found.seconds
        for key, fault in found.faults.items():
            if key not in outcome.faults:
                outcome.faults[key] = fault
                print(f"{key}\n    {fault.first} {dict(fault.surfaces)}", file=sys.stderr, flush=True)
            else:
                outcome.faults[key].surfaces += fault.surfaces
        print(f"--- {outcome.programs.total()}, {outcome.valid} valid", file=sys.stderr, flush=True)
    print(outcome)
    if options.show:
        print("\n".join(fault.trace for fault in outcome.faults.values()))
    return bool(outcome.faults)


if __name__ == "__main__":
    sys.exit(main())
