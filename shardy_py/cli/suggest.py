"""`sdy-suggest`: shardings for the arguments of a program, found by search.

    sdy-suggest model.mlir --mesh data=8,model=4 --hardware tpu-v5p --memory 90%
    sdy-suggest model.mlir --devices 32 -o annotated.mlir --diff changes.diff
    sdy-suggest model.mlir --output-dir plans

Not here: the search (`shardy_py.search.suggest`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from shardy_py.base.byte_sizes import byte_size
from shardy_py.base.errors import ShardyError
from shardy_py.base.terminal import json_text
from shardy_py.cli.arguments import (
    EXIT_CODES,
    add_input_format,
    add_plugins,
    add_target,
    command_parser,
    count,
    mesh_of_sizes,
)
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts, program_of
from shardy_py.cli.shell import STANDARD, SUCCESS, Files, argument, run_command, usage_error

if TYPE_CHECKING:
    from shardy_py.search.assignment import AssignmentOutcome, AssignmentProblem
    from shardy_py.search.suggest import Suggestion
    from shardy_py.search.suggest.suggestion import Framework

_MOST_BYTES = 1 << 60


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-suggest", _parse, _run, arguments, loads_plugins=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    description = "Suggests shardings for the arguments of a program, by estimated step time and memory."
    parser = command_parser("sdy-suggest", description, EXIT_CODES, "PROGRAM")
    parser.headings = {"--mesh": "search"}
    add = parser.add_argument
    add("program", nargs="?", help="MLIR file; '-': standard input")
    add(
        "--iopddl",
        nargs="+",
        metavar="FILE",
        help="solve problems of the ASPLOS 2025 contest (google/iopddl) instead",
    )
    add("--mesh", type=mesh_of_sizes, metavar="AXIS=SIZE,...", help="the mesh (default: the program's)")
    add(
        "--devices",
        type=count,
        metavar="N",
        help="try all meshes of data and model axes of N devices",
    )
    devices = "device: tpu-v5p (default), h100, my.toml, ..., as for sdy-opt's --time-report"
    add("--hardware", default="tpu-v5p", type=_hardware, help=devices)
    add_target(parser)
    add("--compile", action="store_true", help="judge the last plans by the compiler of --target itself")
    add(
        "--memory",
        type=_memory,
        metavar="SIZE",
        help="most memory of a device that a plan may need: 90%% of it, 16GB, 16GiB, or a number of bytes",
    )
    add(
        "--keep",
        action="append",
        default=[],
        metavar="VALUE",
        help="keep the program's annotation of a value",
    )
    add("--time-limit", type=count, default=60, metavar="SECONDS", help="of the search (default: 60)")
    add("--tries", type=count, default=400, help="most candidates evaluated (default: 400)")
    add("--seed", type=int, default=0, help="order of the search (default: 0)")
    add(
        "--workers",
        type=count,
        metavar="N",
        help="evaluate candidates in N processes (default: in this one)",
    )
    add("-o", dest="output", metavar="FILE", help="write the program annotated with the best plan")
    add("--code", metavar="FILE", help="write the best plan as Python")
    add(
        "--framework",
        choices=("jax", "flax", "torch"),
        help="of code: flax: rules by path; torch: parallelize_module and fully_shard (default: torch for "
        "models of PyTorch, else jax)",
    )
    add("--diff", metavar="FILE", help="write what the best plan changes in the program's annotations")
    add("--output-dir", metavar="DIR", help="write each plan: plan-1.mlir, plan-1.py, plan-1.diff, ...")
    add("--json", action="store_true", help="print JSON")
    add("--explain", action="store_true", help="print bills side by side, and what changes")
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    options = parser.parse_args(arguments)
    if (options.program is None) == (options.iopddl is None):
        raise usage_error("expected a program, or problems with --iopddl")
    if options.iopddl is not None and options.output is not None and len(options.iopddl) > 1:
        raise usage_error("-o takes the solution of one problem")
    if options.mesh is not None and options.devices is not None:
        raise usage_error("--mesh and --devices cannot be used together")
    if options.iopddl is not None and options.json:
        raise usage_error("--json is for plans of a program")
    if options.compile and options.target is None:
        raise usage_error("--compile needs --target")
    if (options.output, options.code, options.diff, STANDARD if options.json else "").count(STANDARD) > 1:
        raise usage_error("standard output can take one of -o, --code, --diff and --json only")
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    return _solve(options, files) if options.iopddl is not None else _suggest(options, files)


def _solve(options: argparse.Namespace, files: Files) -> int:
    """Solves problems of the contest; each takes at most the time limit."""
    from shardy_py.search.assignment import problem_of, results_table, solution_text, solve

    results: list[tuple[AssignmentProblem, AssignmentOutcome]] = []
    for name in options.iopddl:
        source = files.read_text(name)
        problem = problem_of(source.text, source.file)
        results.append((problem, solve(problem, options.time_limit, options.seed)))
    outputs = [] if options.output is None else [(options.output, solution_text(results[0][1]) + "\n")]
    if options.output != STANDARD:
        outputs.append((STANDARD, results_table(results) + "\n"))
    files.write_all(outputs)
    return SUCCESS


def _suggest(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.search.suggesting import factorizations

    source = files.read(options.program, options.input_format)
    program = program_of(source, options)
    meshes = () if options.mesh is None else (options.mesh,)
    with (
        argument("--hardware", options.target or options.hardware, parts_only=True),
        argument("--keep", *options.keep, parts_only=True),
    ):
        suggestion = program.suggest(
            meshes if options.devices is None else factorizations(options.devices),
            hardware=options.hardware,
            target=options.target,
            memory=options.memory,
            keep=options.keep,
            time_limit=options.time_limit,
            tries=options.tries,
            seed=options.seed,
            progress=not options.no_progress,
            workers=options.workers,
            compile=options.compile,
        )
    outputs: list[tuple[str, str]] = []
    if options.output is not None:
        outputs.append((options.output, suggestion.program().text() + "\n"))
    if options.code is not None:
        outputs.append((options.code, suggestion.best.code(options.framework) + "\n"))
    if options.diff is not None:
        outputs.append((options.diff, f"{suggestion.diff()}\n"))
    if options.output_dir is not None:
        outputs += _of_plans(options.output_dir, suggestion, options.framework)
    if options.json:
        outputs.append((STANDARD, json_text(suggestion.to_json(), 2) + "\n"))
    elif STANDARD not in (options.output, options.code, options.diff):
        text = suggestion.text(options.framework)
        outputs.append((STANDARD, f"{text}\n"))
        if options.explain:
            outputs[-1] = STANDARD, f"{text}\n\n{suggestion.explain()}\n"
    files.write_all(outputs)
    return SUCCESS


def _of_plans(folder: str, suggestion: Suggestion, framework: Framework | None) -> Iterator[tuple[str, str]]:
    """The files of each plan; makes the folder."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ShardyError(f"cannot make folder '{folder}': {error.strerror or error}") from None
    for number, plan in enumerate(suggestion.plans, 1):
        stem = os.path.join(folder, f"plan-{number}")
        yield f"{stem}.mlir", f"{suggestion.program(plan).text()}\n"
        yield f"{stem}.py", f"{plan.code(framework)}\n"
        yield f"{stem}.diff", f"{suggestion.diff(plan)}\n"


def _hardware(text: str) -> str:
    from shardy_py.hardware import placement_of

    placement_of(text)
    return text


def _memory(text: str) -> str:
    """The text of a valid limit; a percentage is of the memory of the hardware, which another flag names."""
    byte_size(text, whole=_MOST_BYTES, whole_name="the memory of a device", least=1)
    return text
