"""`sdy-compare`: a program beside what a compiler made of it, or what two compilers made of one program.

    sdy-compare model.mlir compiled.hlo
    sdy-compare dump/                       a folder of --xla_dump_to: its first stage, and its last
    sdy-compare before.hlo after.hlo        of two releases of JAX, say

Not here: the reports (`report/compiled/`).
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from shardy_py.base.inputs.formats import holds_hlo
from shardy_py.base.terminal import json_text
from shardy_py.cli.arguments import (
    add_input_format,
    add_plugins,
    add_target,
    checked_cost_model,
    command_parser,
)
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts, program_of
from shardy_py.cli.compiled_input import compiled_input
from shardy_py.cli.shell import (
    FAILURE,
    STANDARD,
    SUCCESS,
    TROUBLE,
    Files,
    InputFile,
    argument,
    run_command,
    usage_error,
)
from shardy_py.cli.torch_plans import add_torch_plan, torch_plan_of

if TYPE_CHECKING:
    from shardy_py.report.compiled import CompiledReport, VersionsReport
    from shardy_py.xla.compiled_programs import CompiledInput


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-compare", _parse, _run, arguments, failure=TROUBLE, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    description = (
        "Joins the collectives and the memory of a compiled program with the forecast, or compares what two "
        "compilers made of one program."
    )
    codes = (
        "Exit codes: 0; 1: what was compiled is not what was forecast, or the compiled programs differ, and "
        "--exit-code; 2: invalid input or command line, or an internal error."
    )
    parser = command_parser("sdy-compare", description, codes, "PROGRAM [COMPILED]")
    add = parser.add_argument
    add(
        "program",
        help="MLIR file, a folder that XLA dumped, or final HLO to compare with; '-': standard input",
    )
    add("compiled", nargs="?", help="final HLO of a compiler, or a folder that XLA dumped (default: PROGRAM)")
    add("--no-propagate", action="store_true", help="the program is already propagated")
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    add_torch_plan(parser)
    add("--model", type=checked_cost_model, help="cost model of links (default: those of the target)")
    add_target(parser)
    partitioners = "whose collectives are the forecast (default: xla, if they can be planned)"
    add("--partitioner", choices=("shardy", "xla"), help=partitioners)
    add("--json", action="store_true", help="print JSON")
    add("--csv", action="store_true", help="print the collectives of the compiled program as CSV")
    add("--sarif", metavar="FILE", help="write what is not as forecast as SARIF; '-': standard output")
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    add("--exit-code", action="store_true", help="exit with 1 if anything is not as forecast, or differs")
    options = parser.parse_args(arguments)
    if (options.json, options.csv, options.sarif == STANDARD).count(True) > 1:
        raise usage_error("standard output can take one of --json, --csv and --sarif only")
    if options.program == options.compiled == STANDARD:
        raise usage_error("only one of the programs can be standard input")
    if options.compiled is None and not os.path.isdir(options.program):
        raise usage_error("expected a compiled program, or one folder that XLA dumped")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.xla.compiled_programs import CompiledInput
    from shardy_py.xla.hlo_programs import hlo_module

    compiled = options.program if options.compiled is None else options.compiled
    if options.compiled is not None and os.path.isdir(options.program) and os.path.isdir(compiled):
        return _versions(
            compiled_input(options.program, files), compiled_input(compiled, files), options, files
        )
    source = files.read(options.program, options.input_format)
    if holds_hlo(source.content):
        first = hlo_module(source.content, source.file)
        if first.is_scheduled:
            return _versions(CompiledInput(first), compiled_input(compiled, files), options, files)
    return _joined(source, compiled, options, files)


def _versions(before: CompiledInput, after: CompiledInput, options: argparse.Namespace, files: Files) -> int:
    from shardy_py.report.compiled import versions_of

    if options.csv:
        raise usage_error("--csv is for a program and what was compiled of it")
    report = versions_of(before.module, after.module, (before.memory, after.memory))
    files.write_all(_outputs(report, options, options.program))
    return FAILURE if report and options.exit_code else SUCCESS


def _joined(source: InputFile, path: str, options: argparse.Namespace, files: Files) -> int:
    from shardy_py.api import Options, Program, propagate
    from shardy_py.api.compiled import against, module_name
    from shardy_py.api.result import Result

    def again(changed: Program) -> Result:
        return propagate(changed, Options())

    program = program_of(
        source, options, has_steps=not options.no_propagate, torch_plan=torch_plan_of(options)
    )
    compiled = compiled_input(path, files, module_name(program.module))
    if options.no_propagate:
        result = Result(program, program, (), again)
    else:
        result = propagate(program, record=True, progress=not options.no_progress)
    with argument("--model", options.model or options.target or "", parts_only=True):
        report = against(
            result, compiled, target=options.target, model=options.model, partitioner=options.partitioner
        )
    files.write_all(_outputs(report, options, source.file))
    return FAILURE if options.exit_code and not report.is_as_forecast else SUCCESS


def _outputs(
    report: CompiledReport | VersionsReport, options: argparse.Namespace, program: str
) -> list[tuple[str, str]]:
    """The outputs that are asked for, each with the name of its file."""
    from shardy_py.report.compiled import VersionsReport

    found: list[tuple[str, str]] = []
    if options.sarif is not None:
        found.append((options.sarif, json_text(report.to_sarif(program), 2) + "\n"))
    if options.json:
        found.append((STANDARD, json_text(report.to_json(), 2) + "\n"))
    elif options.csv and not isinstance(report, VersionsReport):
        found.append((STANDARD, report.to_csv()))
    elif options.sarif != STANDARD:
        found.append((STANDARD, f"{report}\n"))
    return found
