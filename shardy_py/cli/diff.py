"""`sdy-diff`: compares the shardings of two programs, and their costs.

    sdy-diff before.mlir after.mlir
    sdy-diff before.mlir after.mlir --propagate --json

Not here: the comparison (`report/difference.py`).
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import TYPE_CHECKING, Any

from shardy_py.base.errors import Position, located
from shardy_py.base.progress import progress
from shardy_py.base.terminal import json_text
from shardy_py.cli.arguments import add_input_format, add_plugins, checked_cost_model, command_parser
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts, program_of
from shardy_py.cli.shell import (
    FAILURE,
    STANDARD,
    SUCCESS,
    TROUBLE,
    Files,
    InputFile,
    argument,
    log,
    run_command,
    usage_error,
)
from shardy_py.cli.torch_plans import add_torch_plan, torch_plan_of
from shardy_py.cli.understood import write_remarks

if TYPE_CHECKING:
    from collections.abc import Callable

    from xdsl.dialects.builtin import ModuleOp

    from shardy_py.mlir.value_table import ValueTable
    from shardy_py.report.communication import Partitioner
    from shardy_py.report.difference import Figures
    from shardy_py.xla.spmd.from_program import SpmdProgram


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-diff", _parse, _run, arguments, failure=TROUBLE, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    description = "Compares the shardings, collectives, bytes and memory of two programs."
    codes = (
        "Exit codes: 0; 1: the programs differ and --exit-code; "
        "2: invalid input or command line, or an internal error."
    )
    parser = command_parser("sdy-diff", description, codes, "BEFORE AFTER")
    add = parser.add_argument
    links = "cost model of links: tpu-v5e,data=tpu-dcn (default: those of the target, or of tpu-v5p)"
    add("before", help="MLIR file; '-': standard input")
    add("after", help="MLIR file")
    add("--propagate", action="store_true", help="propagate through both programs first")
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    add_torch_plan(parser)
    add("--model", type=checked_cost_model, help=links)
    partitioners = "whose collectives are compared (default: xla for programs of JAX, else shardy)"
    add("--partitioner", choices=("shardy", "xla"), help=partitioners)
    layouts = (
        "device whose compiler's programs are compared: h100, tpu-v5p, ...; or a memory layout: tpu, linear "
        "(default: linear, the programs as partitioned)"
    )
    add("--target", default="linear", type=_target, metavar="DEVICE", help=layouts)
    add("--json", action="store_true", help="print JSON")
    add("--csv", action="store_true", help="print the changed values as CSV")
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    add("--exit-code", action="store_true", help="exit with 1 if the programs differ")
    options = parser.parse_args(arguments)
    if options.json and options.csv:
        raise usage_error("--json and --csv cannot be used together")
    if options.before == options.after == STANDARD:
        raise usage_error("only one of the programs can be standard input")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.base.rows import csv_text
    from shardy_py.report.difference import difference, difference_json, difference_text
    from shardy_py.report.difference_shown import COLUMNS, change_rows

    with progress(6, shown=not options.no_progress) as begin:
        old, old_costs = _placed(files.read(options.before, options.input_format), options, begin)
        new, new_costs = _placed(files.read(options.after, options.input_format), options, begin)
        old_figures, new_figures = old_costs(options.partitioner), new_costs(options.partitioner)
        if old_figures.partitioner != new_figures.partitioner:
            old_figures, new_figures = old_costs("shardy"), new_costs("shardy")
    delta = difference(old, new)
    if options.json:
        files.show(json_text(difference_json(delta, old_figures, new_figures), 2))
    elif options.csv:
        files.show(csv_text(change_rows(delta.changes), COLUMNS).rstrip("\n"))
    else:
        files.show(difference_text(delta, old_figures, new_figures))
    differs = bool(delta) or old_figures != new_figures
    return FAILURE if differs and options.exit_code else SUCCESS


def _target(text: str) -> str:
    from shardy_py.xla.buffers.chips import target_of

    target_of(text)
    return text


def _placed(
    source: InputFile, options: argparse.Namespace, begin: Callable[[str], None]
) -> tuple[ValueTable, Callable[[Partitioner | None], Figures]]:
    """A program as `_program` returns it; diagnostics without a place are at its start."""
    with located(Position(source.file, 1, 1)):
        table, costs = _program(source, options, begin)

    def placed(partitioner: Partitioner | None) -> Figures:
        with located(Position(source.file, 1, 1)):
            return costs(partitioner)

    return table, placed


def _program(
    source: InputFile, options: argparse.Namespace, begin: Callable[[str], None]
) -> tuple[ValueTable, Callable[[Partitioner | None], Figures]]:
    """The values of a program, propagated if requested, and its costs; calls `begin` for three steps."""
    from shardy_py.api import pipeline
    from shardy_py.indexing.layout.formats import TARGETS
    from shardy_py.mlir.ir import renew_uses
    from shardy_py.mlir.movements import recorded
    from shardy_py.mlir.value_table import ValueTable
    from shardy_py.report.communication.of_program import communication, sending_program
    from shardy_py.report.difference import Figures
    from shardy_py.report.memory import memory_report
    from shardy_py.xla.gspmd.missing import remarks_on_missing
    from shardy_py.xla.spmd.inlined import spmd_program
    from shardy_py.xla.targets.stage import model_of, stage_of

    begin(f"reading {source.file}")
    program = program_of(source, options, has_steps=options.propagate, torch_plan=torch_plan_of(options))
    module, given = program.module, program.copy().module if options.propagate else None
    write_remarks(remarks_on_missing(module), source.file, log)
    begin(f"propagating {source.file}")

    def propagated(module: ModuleOp) -> ModuleOp:
        return pipeline.finish(pipeline.propagate(pipeline.prepare(module)))

    def again(changed: Callable[[ModuleOp], ModuleOp]) -> ModuleOp:
        assert given is not None
        module = changed(given)
        renew_uses(module)
        return propagated(module)

    with recorded() as events:
        if options.propagate:
            module = propagated(module)

    @cache
    def planned() -> SpmdProgram:
        return spmd_program(module, again=None if given is None else again)

    def costs(partitioner: Partitioner | None) -> Figures:
        begin(f"costs of {source.file}")
        stage = None if options.target in TARGETS else stage_of(options.target)
        about: Any = {"partitioner": partitioner, "taken": program.taken, "spmd": planned}
        model = model_of(options.model, stage)
        with argument("--model", options.model or options.target, parts_only=True):
            bill = communication(module, model, events, **about, stage=stage)[1]
        about["partitioner"] = bill.partitioner
        made = memory_report(module, options.target, lambda: sending_program(module, events, **about)[0])
        return Figures.of(bill, made)

    return ValueTable(module), costs
