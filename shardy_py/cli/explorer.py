"""`shardy-explorer`: writes a program, propagated, as one HTML file in which it can be looked at.

    shardy-explorer model.mlir -o model.html
    shardy-explorer before.mlir after.mlir -o both.html
    shardy-explorer model.mlir --compiled compiled.hlo

Not here: the page (`shardy_py.viewer.explorer`).
"""

from __future__ import annotations

import argparse
from pathlib import PurePath
from typing import TYPE_CHECKING

from shardy_py.cli.arguments import (
    EXIT_CODES,
    add_input_format,
    add_plugins,
    add_source_roots,
    add_target,
    checked_cost_model,
    command_parser,
)
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts, program_of
from shardy_py.cli.compiled_input import compiled_input
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, argument, run_command, usage_error
from shardy_py.cli.torch_plans import add_torch_plan, torch_plan_of

if TYPE_CHECKING:
    from shardy_py.api.result import Result


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("shardy-explorer", _parse, _run, arguments, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    description = "Writes an HTML file that shows a program with its shardings and collectives."
    parser = command_parser("shardy-explorer", description, EXIT_CODES, "PROGRAM [OTHER]")
    add = parser.add_argument
    html = "HTML file; '-': standard output (default: named as the program)"
    links = "cost model of links (default: those of the target, or of tpu-v5p)"
    add("program", help="MLIR file; '-': standard input")
    add("other", nargs="?", help="MLIR file to compare with")
    compiled = "final HLO of a compiler, or a folder that XLA dumped, to show beside the forecast"
    add("--compiled", metavar="HLO", help=compiled)
    add("-o", "--output", metavar="FILE", help=html)
    add("--model", type=checked_cost_model, help=links)
    add_target(parser)
    partitioners = "whose collectives are shown (default: xla for programs of JAX, else shardy)"
    add("--partitioner", choices=("shardy", "xla"), help=partitioners)
    add("--no-propagate", action="store_true", help="the programs are already propagated")
    add("--no-source", action="store_true", help="leave out the lines of Python files that the program names")
    add_source_roots(parser)
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    add_torch_plan(parser)
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    options = parser.parse_args(arguments)
    if [options.program, options.other, options.compiled].count(STANDARD) > 1:
        raise usage_error("only one of the programs can be standard input")
    if options.other is not None and options.compiled is not None:
        raise usage_error("--compiled is for one program")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    names = [name for name in (options.program, options.other) if name is not None]
    results = [_result(name, options, files) for name in names]
    titles = [_title(name) for name in names] + [""]
    compiled = None
    if options.compiled is not None:
        from shardy_py.api.compiled import module_name

        compiled = compiled_input(options.compiled, files, module_name(results[0].source.module))
    flag = "--target" if options.model is None else "--model"
    with argument(flag, options.model or options.target or "", parts_only=True):
        page = results[0].explorer(
            *results[1:],
            titles=(titles[0], titles[1]),
            compiled=compiled,
            model=options.model,
            target=options.target,
            partitioner=options.partitioner,
            has_sources=not options.no_source,
        )
    output = options.output or f"{_title(options.program).partition('.')[0]}.html"
    files.write(output, page.html)
    return SUCCESS if output == STANDARD else files.show(f"{output}: {len(page.html) / 1000:,.0f} kB")


def _title(name: str) -> str:
    return "program" if name == STANDARD else PurePath(name).name


def _result(name: str, options: argparse.Namespace, files: Files) -> Result:
    from shardy_py.api import Options, Program, propagate
    from shardy_py.api.result import Result

    def again(changed: Program) -> Result:
        return propagate(changed, Options())

    source = files.read(name, options.input_format)
    program = program_of(
        source, options, has_steps=not options.no_propagate, torch_plan=torch_plan_of(options)
    )
    if options.no_propagate:
        return Result(program, program, (), again)
    return propagate(program, record=True, progress=not options.no_progress)
