"""Partitions and proves the programs of the corpus: `python -m tests.reshard.corpus [NAME...]`.

Prints a table: devices, sizes if they are smaller, ops compared, seconds. `--shapes=small` proves all with
smaller sizes, `--shapes=ops` op by op.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import get_args

from shardy_py import Program, propagate
from shardy_py.base.errors import InternalError, ShardyError
from shardy_py.run.proof import Answer, ProofOptions, Shapes, prove
from tests.conftest import corpus_names, corpus_text
from tests.run.interpret.custom_functions import register

COLUMNS = ("program", "devices", "shapes", "values", "elements", "partitioned", "proven", "")


def proven(name: str, shapes: Shapes = "auto") -> tuple[bool, str]:
    """Whether a program is equal, and its row."""
    register()
    try:
        source = Program.parse(corpus_text(name), f"{name}.mlir")
        result = propagate(source)
        start = perf_counter()
        local = result.partition()
        partitioned = perf_counter()
        answer = prove(local.partitioned, ProofOptions(shapes=shapes))
    except (ShardyError, InternalError) as error:
        return False, f"| {name} | | | | | | | {type(error).__name__}: {str(error).splitlines()[0]} |"
    seconds = f"{partitioned - start:.2f} s | {perf_counter() - partitioned:.1f} s"
    return (
        answer.is_equal,
        f"| {name} | {answer.devices} | {_shapes(answer)} | {_counts(answer)} | {seconds} | {_end(answer)} |",
    )


def _shapes(answer: Answer) -> str:
    if not answer.sizes:
        return "own"
    same = {True: "same ops", False: "other ops", None: "op by op"}[answer.same_ops]
    return f"{', '.join(f'{old} -> {new}' for old, new in answer.sizes)}; {same}"


def _counts(answer: Answer) -> str:
    count = len(answer.tally.compared)
    alone = f" and {len(answer.untaken)} in branches" if answer.untaken else ""
    return f"{count:,} of {answer.local_values:,}{alone} | {answer.tally.elements:,}"


def _end(answer: Answer) -> str:
    return "equal" if answer.fault is None else str(answer.fault)


def main() -> int:
    """Prints the table; fails if a program is not equal."""
    options = [argument for argument in sys.argv[1:] if argument.startswith("--shapes=")]
    shapes = next((s for s in get_args(Shapes) if f"--shapes={s}" in options), "auto")
    names = [argument for argument in sys.argv[1:] if argument not in options] or corpus_names()
    equal = 0
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    for name in names:
        is_equal, row = proven(name, shapes)
        equal += is_equal
        print(row, flush=True)
    print(f"\n{equal} of {len(names)} equal")
    return int(equal < len(names))


if __name__ == "__main__":
    sys.exit(main())
