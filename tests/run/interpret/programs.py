"""Runs files of StableHLO programs that check themselves; several processes, one line a failure.

    outcomes = run_files(paths)

A program is its first function, or `@main`; `check` ops and custom calls in it compare its values.
Not here: which files (`upstream.py`, `testdata.py`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from shardy_py.cli.chunks import SPLIT_MARKER, split_chunks

NEEDS_INPUTS = "the program has arguments, and no inputs come with it"


@dataclass(frozen=True)
class Outcome:
    """A program: its file, its number within it, how long it took, why it failed ("" if it passed)."""

    path: Path
    number: int
    seconds: float
    fault: str = ""


def parts(text: str) -> list[str]:
    """The programs of a file, at their lines."""
    return ["\n" * (chunk.first_line - 1) + chunk.text for chunk in split_chunks(text, SPLIT_MARKER)]


def run_program(text: str, name: str, probe_folder: str = "") -> tuple[str, str]:
    """Runs a program without inputs; returns what it prints, and the message of its fault."""
    from shardy_py.base.errors import ShardyError
    from shardy_py.mlir.dialects import parse_module
    from shardy_py.mlir.dialects.verification import verify_module
    from shardy_py.mlir.symbols import functions_of
    from shardy_py.run.interpret import Executable, Settings

    lines: list[str] = []
    try:
        module = parse_module(text, name)
        verify_module(module)
        functions = [function.sym_name.data for function in functions_of(module)]
        if not functions:
            return "", ""
        main = "main" if "main" in functions or len(functions) > 1 else functions[0]
        (function,) = (f for f in functions_of(module) if f.sym_name.data == main)
        if function.function_type.inputs.data:
            return "", NEEDS_INPUTS
        settings = Settings(write=lines.append, probe_folder=probe_folder)
        Executable(module, main, settings).run([])
    except ShardyError as error:
        return "\n".join(lines), error.first.message
    except Exception as error:
        return "\n".join(lines), f"{type(error).__name__}: {error}"
    return "\n".join(lines), ""


def run_file(path: Path) -> list[Outcome]:
    """Runs the programs of a file."""
    outcomes: list[Outcome] = []
    for number, text in enumerate(parts(path.read_text())):
        start = perf_counter()
        with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
            _, fault = run_program(text, str(path), folder)
        outcomes.append(Outcome(path, number, perf_counter() - start, fault))
    return outcomes


def run_files(paths: Iterable[Path], processes: int = 2) -> Iterator[Outcome]:
    """Runs files in processes of their own, in order."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for outcomes in pool.imap(run_file, paths, chunksize=8):
            yield from outcomes


def report(outcomes: Iterable[Outcome], root: Path) -> int:
    """Prints each failure, the kinds of failures, and the counts; returns the number of failures."""
    kinds: Counter[str] = Counter()
    count = 0
    for outcome in outcomes:
        count += 1
        if outcome.fault == NEEDS_INPUTS:
            kinds[NEEDS_INPUTS] += 1
        elif outcome.fault:
            kinds[re.sub(r"[-\d.e+()j, ]+|nan|inf", " ", outcome.fault.split("\n")[0])[:80]] += 1
            name = outcome.path.relative_to(root)
            print(f"{name}#{outcome.number}: {outcome.fault[:300]}".replace("\n", " "), flush=True)
    skipped = kinds.pop(NEEDS_INPUTS, 0)
    failed = sum(kinds.values())
    print(*(f"{number:6} {kind}" for kind, number in kinds.most_common(30)), sep="\n")
    print(f"{count - skipped} run, {count - skipped - failed} passed, {failed} failed; {skipped} need inputs")
    return failed


def command(description: str | None) -> argparse.Namespace:
    """The command line: a folder, processes, and a pattern of file names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-j", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("-k", default="", help="run only the files whose names match this regular expression")
    return parser.parse_args()


def main(description: str | None, below: str) -> int:
    """Runs the files of a checkout of StableHLO that are in or under a folder of it."""
    options = command(description)
    folder = options.folder / below if (options.folder / below).is_dir() else options.folder
    paths = [path for path in sorted(folder.rglob("*.mlir")) if re.search(options.k, path.name)]
    return min(1, report(run_files(paths, options.j), folder))


testdata = partial(main, "Runs stablehlo/testdata of a checkout of StableHLO.", "stablehlo/testdata")
interpret = partial(main, "Runs the tests of StableHLO's interpreter.", "stablehlo/tests/run/interpret")
