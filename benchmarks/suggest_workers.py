"""Suggestions by several workers: `python benchmarks/suggest_workers.py [NAME] [--workers 1 2]`.

For each number of processes: seconds until the answer, with the start of the processes; CPU seconds of all,
and of the busiest worker and this process together, which a loaded machine does not change much. The answers
are compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from os import getloadavg, sysconf, times
from pathlib import Path
from time import perf_counter, process_time

from programs import ROOT, corpus_program

sys.path.insert(0, str(ROOT))

from shardy_py import Program
from shardy_py.report.tables import table

UNLIMITED = 36_000
"""Seconds: the search ends by itself, or by the number of candidates."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="transformer_train_12")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tries", type=int, default=400)
    given = parser.parse_args()
    found = corpus_program(given.name)
    if found is None:
        sys.exit(f"no program '{given.name}' in the corpus")
    program = Program.parse(found.text, given.name, as_compiled=True)
    rows = [("workers", "seconds", "ratio", "CPU", "busiest", "ratio", "candidates")]
    first, first_busy, answers = 0.0, 0.0, set[str]()
    for count in given.workers:
        cpu, own, start = _cpu(), process_time(), perf_counter()
        with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as executor:
            suggestion = program.suggest(
                executor=executor, time_limit=UNLIMITED, tries=given.tries, progress=False
            )
            seconds = perf_counter() - start
            busy = process_time() - own + max(map(_cpu_of, multiprocessing.active_children()))
        first, first_busy = first or seconds, first_busy or busy
        answers.add(str(suggestion))
        found_ = f"{seconds:.1f} s", f"{first / seconds:.2f}", f"{_cpu() - cpu:.1f} s"
        bound = f"{busy:.1f} s", f"{first_busy / busy:.2f}"
        rows.append((str(count), *found_, *bound, str(suggestion.tried)))
    print(table(rows, left=()))
    print(f"answers equal: {len(answers) == 1}; load of the machine at the end: {getloadavg()[0]:.1f}")


def _cpu_of(process: multiprocessing.process.BaseProcess) -> float:
    """The CPU seconds of a process that runs."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / sysconf("SC_CLK_TCK")


def _cpu() -> float:
    """The CPU seconds of this process and of those that have ended."""
    found = times()
    return found.user + found.system + found.children_user + found.children_system


if __name__ == "__main__":
    main()
