"""`sdy-diff`: what differs between the shardings of two programs, and what that costs.

    sdy-diff before.mlir after.mlir
    sdy-diff before.mlir after.mlir --propagate --json

This file reads the command line and writes text; what is shown is of `report/difference.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from shardy_py.cli.arguments import ArgumentParser, argument
from shardy_py.cli.shell import FAILURE, SUCCESS, Files, Source, UsageError, run_on_program
from shardy_py.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from shardy_py.graph.value_table import ValueTable
    from shardy_py.report.difference import Figures


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        "sdy-diff",
        description="What differs between the shardings of two programs, with collectives, bytes and memory.",
        epilog="Exit code: 0; 1: wrong input, or with --exit-code: the programs differ; 2: a bug.",
        allow_abbrev=False,
    )
    parser.add_argument("before", help="MLIR; '-': standard input")
    parser.add_argument("after", help="MLIR")
    parser.add_argument("--propagate", action="store_true", help="propagate through both first")
    parser.add_argument("--model", default="tpu-v5p", help="what links cost: tpu-v5e,data=tpu-dcn (tpu-v5p)")
    parser.add_argument(
        "--target", default="linear", choices=("tpu", "linear"), help="layout of memory (linear)"
    )
    parser.add_argument("--json", action="store_true", help="for tools")
    parser.add_argument("--no-progress", action="store_true", help="show no bar on a terminal")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if they differ")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_on_program("sdy-diff", lambda files: _run(_parser().parse_args(arguments), files))


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.report.difference import difference, difference_json, difference_text

    if options.before == options.after == "-":
        raise UsageError("standard input can be one of the programs only")
    with progress(6, shown=not options.no_progress) as begin:
        old, old_figures = _program(files.read(options.before), options, begin)
        new, new_figures = _program(files.read(options.after), options, begin)
    found = difference(old, new)
    if options.json:
        files.write("-", json.dumps(difference_json(found, old_figures, new_figures), indent=2) + "\n")
    else:
        files.write("-", difference_text(found, old_figures, new_figures) + "\n")
    differs = bool(found) or old_figures != new_figures
    return FAILURE if differs and options.exit_code else SUCCESS


def _program(
    source: Source, options: argparse.Namespace, begin: Callable[[str], None]
) -> tuple[ValueTable, Figures]:
    """The values of a program, propagated if asked for, and what it costs; `begin` is told of three steps."""
    from shardy_py import pipeline
    from shardy_py.graph.value_table import ValueTable
    from shardy_py.partition.cost import cost_model
    from shardy_py.report.difference import Figures
    from shardy_py.report.memory import memory_report

    with argument("--model"):
        model = cost_model(options.model)
    begin(f"reading {source.file}")
    module = pipeline.read(source.text, source.file)
    begin(f"propagating {source.file}")
    if options.propagate:
        module = pipeline.finish(pipeline.propagate(pipeline.prepare(module)))
    begin(f"what {source.file} costs")
    bill = pipeline.communication(module, model)[1]
    return ValueTable(module), Figures.of(bill, memory_report(module, options.target))


if __name__ == "__main__":
    sys.exit(main())
