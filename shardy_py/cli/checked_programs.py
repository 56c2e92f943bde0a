"""The programs of a command line of `sdy-check`, each checked as its settings say; several in processes.

Of several programs one that is invalid does not keep the others from being checked. Not here: the command
line and reports (`check.py`), baselines (`check_baselines.py`), rules (`shardy_py.check`).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.plugins import load_installed_plugins, load_plugins
from shardy_py.base.records import dataclass
from shardy_py.base.terminal import without_controls
from shardy_py.cli.as_compiled import program_of
from shardy_py.cli.shell import COMMAND_LINE, STANDARD, WHOLE_FILE, Files, argument, log, rendered
from shardy_py.cli.torch_plans import NO_PLAN, TorchPlan

if TYPE_CHECKING:
    from shardy_py.api import Program, Result
    from shardy_py.check import CheckedProgram, CheckSettings, Expectation

_WORTH_A_PROCESS = 200_000
"""Bytes of programs for which another process, which loads this package again, saves time."""
_MOST_UNCOLLECTED = 500_000
"""Objects, of about 100 bytes, that may be made before garbage of earlier programs is looked for."""
_THREADED = {"jax", "torch"}
"""Packages with threads that do not survive a fork."""


@dataclass(frozen=True, slots=True)
class CheckJob:
    """A program to be checked.

    settings: its own, with the flags of the command line. given: the names of settings that are flags.
    torch_plan: of an archive of torch. strict, declared: what is expected of this program, whose axes it
    must have, and of any. has_verdict: whether the verdict is wanted. has_progress: whether
    a progress bar is shown.
    """

    name: str
    settings: CheckSettings
    input_format: str = ""
    given: frozenset[str] = frozenset()
    torch_plan: TorchPlan = NO_PLAN
    strict: tuple[str, ...] = ()
    declared: tuple[Expectation, ...] = ()
    has_verdict: bool = False
    has_progress: bool = False


def checked_program(job: CheckJob, files: Files) -> CheckedProgram:
    """Returns what is found in a program.

    Raises:
        ShardyError: the program is invalid, or a setting is for this program.
    """
    from shardy_py.check import CheckedProgram, findings_in, without_meant

    settings = job.settings
    source = files.read(job.name, job.input_format)
    options = argparse.Namespace(
        as_compiled=settings.as_compiled,
        release=settings.release,
        trip_counts=settings.trip_counts,
        source_roots=settings.source_roots,
    )
    program = program_of(source, options, has_steps=settings.propagate, torch_plan=job.torch_plan)
    result = _result(program, job)
    limits, choice = settings.limits(), settings.choice(job.name)
    with _flag(job, "model", settings.model), _flag(job, "target", settings.target):
        found = findings_in(result, choice, limits)
    with argument("--expect", *job.strict):
        findings, met = without_meant(result, found, job.strict)
    findings, more = without_meant(result, findings, (*settings.expect, *job.declared), is_strict=False)
    verdict = limits.verdict(result) if job.has_verdict and result.record is not None else None
    return CheckedProgram(
        *(source.file, findings, (*met, *more), result.release, choice.codes, limits.stage, verdict)
    )


def _flag(job: CheckJob, name: str, value: str | None) -> AbstractContextManager[None]:
    """Places errors about a part of a setting at its flag, if it was given by one."""
    return argument(f"--{name}", value or "", parts_only=True) if name in job.given else nullcontext()


def _result(program: Program, job: CheckJob) -> Result:
    """The program propagated, or as it is."""
    from shardy_py.api import Options, Result, propagate

    if job.settings.propagate:
        return propagate(program, progress=job.has_progress)

    def again(changed: Program) -> Result:
        return propagate(changed, Options())

    return Result(program, program, (), again)


def checked_programs(
    jobs: Sequence[CheckJob], files: Files, workers: int | None, plugins: Sequence[str]
) -> list[CheckedProgram]:
    """Returns what is found in each of several programs, in order; what is wrong with one is logged.

    workers: the number of processes; None: by the size of the programs. plugins: those that were loaded.
    """
    count = _worker_count(jobs) if workers is None else min(workers, len(jobs))
    if count <= 1 or any(job.name == STANDARD for job in jobs):
        return [_checked_or_faults(job, files) for job in jobs]
    # Modules that a single program does not need.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fork needs neither time to load this package nor a script that can be loaded twice. The only other
    # threads are those of numpy's BLAS, which stops them for it, and of frameworks that a caller has loaded.
    can_fork = sys.platform == "linux" and not _THREADED & set(sys.modules)
    context = get_context("fork" if can_fork else "spawn")
    executor = ProcessPoolExecutor(count, context, _start_worker, (tuple(plugins),))
    found: list[CheckedProgram] = []
    try:
        with catch_warnings():
            simplefilter("ignore", DeprecationWarning)  # of Python 3.12, on forks beside threads
            answers = executor.map(_checked_apart, jobs)
        for program, said in answers:
            log(said)
            found.append(program)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
    return found


def _worker_count(jobs: Sequence[CheckJob]) -> int:
    size = sum(os.path.getsize(job.name) for job in jobs if os.path.isfile(job.name))
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, len(jobs), size // _WORTH_A_PROCESS))


def _start_worker(plugins: Sequence[str]) -> None:
    import signal  # for processes of their own only

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the command reports the interrupt
    load_installed_plugins()  # which a fork has
    load_plugins(*plugins)


def _checked_apart(job: CheckJob) -> tuple[CheckedProgram, str]:
    """Checks a program in a process of its own; returns what it writes to standard error, too."""
    with redirect_stderr(StringIO()) as said:
        return _checked_or_faults(replace(job, has_progress=False), Files()), said.getvalue()


def _checked_or_faults(job: CheckJob, files: Files) -> CheckedProgram:
    from shardy_py.check import CheckedProgram

    try:
        return checked_program(job, files)
    except ShardyError as error:
        log(f"{rendered('sdy-check', error, files)}\n")
        faults = tuple(map(_fault, error.diagnostics))
    except RecursionError:
        faults = (Diagnostic("the program is nested too deeply"),)
        log(without_controls(f"{job.name}: error: {faults[0].message}\n"))
    finally:
        files.forget()
        if gc.get_count()[0] > _MOST_UNCOLLECTED:  # the command runs without collection, for one program
            gc.collect()
    return CheckedProgram(job.name, faults=faults)


def _fault(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with a place in a file, or none."""
    return replace(diagnostic, where=None) if diagnostic.where in (COMMAND_LINE, WHOLE_FILE) else diagnostic
