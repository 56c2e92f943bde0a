"""`sdy-check`: lint for sharded programs, for people and for CI.

    sdy-check model.mlir
    sdy-check models/ --sarif report.sarif --baseline known.json --fail-on warning
    sdy-check model.pt2 --mesh dp=2,tp=4 --plan plan.py:PLAN

Not here: which programs and settings those are (`check_selection.py`), how they are checked
(`checked_programs.py`), baselines (`check_baselines.py`), the rules (`shardy_py.check`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shardy_py.base.byte_sizes import byte_size
from shardy_py.base.errors import ShardyError
from shardy_py.base.terminal import has_colors, json_text
from shardy_py.cli.arguments import (
    add_input_format,
    add_plugins,
    add_source_roots,
    add_target,
    checked_cost_model,
    command_parser,
)
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts
from shardy_py.cli.check_baselines import Baselines, new_baseline
from shardy_py.cli.check_selection import selection
from shardy_py.cli.checked_programs import CheckJob, checked_program, checked_programs
from shardy_py.cli.shell import (
    FAILURE,
    STANDARD,
    SUCCESS,
    TROUBLE,
    Files,
    argument,
    run_command,
    usage_error,
)
from shardy_py.cli.torch_plans import add_torch_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardy_py.check import CheckedProgram, Level

_EXIT_CODES = (
    "Exit codes: 0: no finding at or above the level of --fail-on; 1: findings; "
    "2: invalid input or command line, or an internal error."
)


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-check", _parse, _run, arguments, failure=TROUBLE, loads_plugins=True)


def _parser() -> argparse.ArgumentParser:
    description = "Lint for sharded programs: propagates, and reports what costs memory or time."
    parser = command_parser("sdy-check", description, _EXIT_CODES, "PROGRAM ...")
    add = parser.add_argument
    codes: Any = {"type": _rules, "metavar": "CODES"}
    levels: Any = {"type": _level, "dest": "levels", "action": "append", "metavar": "CODE=LEVEL"}
    size: Any = {"type": byte_size, "metavar": "SIZE"}
    fails: Any = {"choices": ("error", "warning", "note", "never")}
    large = "minimum size of a tensor for SDY001: 65536, 64M, 64MiB, 64MB (default: 64M, which is 64MiB)"
    slow = "minimum bytes received per device for SDY003 and SDY007 (default: 1M)"
    padding = "minimum bytes of padding on each device for SDY002 (default: 1M)"
    links = "cost model of links (default: tpu-v5p); SDY007 requires one: tpu-v5p,data=tpu-dcn"
    programs = "files, folders, patterns such as 'models/**/*.mlir'; '-': standard input"
    add("programs", nargs="*", metavar="PROGRAM", help=programs)
    add("--select", **codes, help="run only these rules: SDY001,SDY003")
    add("--ignore", **codes, help="skip these rules")
    add("--level", **levels, help="change the level of a rule")
    add(
        "--fail-on", **fails, help="minimum level of findings for which the exit code is 1 (default: warning)"
    )
    add("--replicated-bytes", **size, help=large)
    add("--reshard-bytes", **size, help=slow)
    add("--padding-bytes", **size, help=padding)
    add("--model", type=checked_cost_model, help=links)
    add_target(parser)
    partitioners = "whose collectives are checked (default: xla for programs of JAX, else shardy)"
    add("--partitioner", choices=("shardy", "xla"), help=partitioners)
    propagated = "the program is already propagated"
    _add_switch(parser, "--propagate", "propagate the program (default)", "--no-propagate", propagated)
    add_torch_plan(parser)
    add_source_roots(parser)
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    formats = "how findings are printed (default: text); github: annotations of a workflow"
    add("--format", choices=("text", "json", "csv", "github", "junit"), default="text", help=formats)
    add("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    colors = "colours in text: by default on a terminal, unless NO_COLOR is set, or if FORCE_COLOR is"
    add("--color", choices=("auto", "always", "never"), default="auto", help=colors)
    meant = "expected communication, which is not reported: all_gather:fsdp, all_reduce:data:model.py:36"
    add("--expect", action="append", default=[], metavar="KIND:AXES", help=meant)
    add("--sarif", metavar="FILE", help="write findings as SARIF, for code hosts; '-': standard output")
    add("--baseline", metavar="FILE", help="skip the findings listed in this file")
    add("--write-baseline", metavar="FILE", help="list all findings in this file and exit with 0")
    fix = "remove the findings that are gone from the baseline; new ones are reported as without it"
    add("--fix-baseline", action="store_true", help=fix)
    quiet = "leave out the verdict: what costs most and what to change, for which changes are tried"
    _add_switch(parser, "--verdict", "show the verdict (default)", "--no-verdict", quiet)
    asked = "changes that are tried for the verdict alone (default: by the size of the program, none above "
    add("--tries", type=lambda text: _count(text, least=0), metavar="N", help=f"{asked}20,000 values)")
    add("--help-uri", default="", metavar="URI", help="where docs/check.md is published, for SARIF")
    add("--config", metavar="FILE", help="a pyproject.toml whose [tool.sdy-check] is used for all programs")
    add("--isolated", action="store_true", help="use no pyproject.toml")
    forced = "leave out programs that the settings exclude also if they are named"
    add("--force-exclude", action="store_true", help=forced)
    parallel = "processes that check programs (default: by their size, at most one a processor)"
    add("--workers", type=_count, metavar="N", help=parallel)
    add("--rules", action="store_true", help="list the rules")
    return parser


def _add_switch(parser: argparse.ArgumentParser, on: str, on_help: str, off: str, off_help: str) -> None:
    """Adds a flag and its opposite; without either, the settings decide."""
    parser.add_argument(on, action="store_true", default=None, help=on_help)
    parser.add_argument(off, action="store_false", dest=on.removeprefix("--"), help=off_help)


def _parse(arguments: list[str]) -> argparse.Namespace:
    options = _parser().parse_args(arguments)
    if (options.sarif, options.write_baseline).count(STANDARD) + (options.format != "text") > 1:
        raise usage_error("standard output can take one of --format, --sarif and --write-baseline only")
    if options.fix_baseline and options.write_baseline is not None:
        raise usage_error("--fix-baseline and --write-baseline cannot be used together")
    if options.config is not None and options.isolated:
        raise usage_error("--config and --isolated cannot be used together")
    levels: list[tuple[str, Level]] = options.levels or []
    with argument("--level", *map("=".join, levels)):
        from shardy_py.check import Choice

        options.levels = dict(Choice(levels=dict(levels)).levels) or None
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.check import RULES

    if options.rules:
        files.write(STANDARD, "".join(f"{r.code}  {r.level:7}  {r.name:26} {r.summary}\n" for r in RULES))
        return SUCCESS
    selected = selection(options, files)
    baselines = Baselines.read(options, selected.jobs, files)
    jobs = [replace(job, declared=baselines.declared(job)) for job in selected.jobs]
    if selected.is_one:
        programs = [checked_program(jobs[0], files)]
    else:
        programs = checked_programs(jobs, files, options.workers, getattr(options, "plugins", ()))
    outputs: list[tuple[str, str]] = []
    if options.write_baseline is not None:
        new = new_baseline(programs, options, is_one=selected.is_one)
        outputs.append((options.write_baseline, new))
    programs, fixed = baselines.without_known(jobs, programs)
    color = options.format == "text" and has_colors(sys.stdout, options.color)
    outputs += fixed
    outputs += _reports(programs, options, jobs, is_one=selected.is_one, color=color)
    files.write_all(outputs, styled=color)
    if any(program.faults for program in programs):
        return TROUBLE
    fails = any(
        job.settings.fails(finding.level)
        for job, program in zip(jobs, programs, strict=True)
        for finding in program.findings
    )
    return FAILURE if fails and options.write_baseline is None else SUCCESS


def _reports(
    programs: Sequence[CheckedProgram],
    options: argparse.Namespace,
    jobs: Sequence[CheckJob],
    *,
    is_one: bool,
    color: bool,
) -> Iterator[tuple[str, str]]:
    """The reports on findings, each with the name of its file."""
    from shardy_py.check import checked_junit, checked_sarif, findings_sarif

    if options.sarif is not None:
        uri = options.help_uri
        if is_one:
            (only,) = programs
            release, verdict = only.release, only.verdict
            log = findings_sarif(only.findings, only.program, release=release, verdict=verdict, help_uri=uri)
        else:
            log = checked_sarif(programs, help_uri=uri)
        yield options.sarif, json_text(log, 2) + "\n"
    if options.format == "junit":
        settings = [job.settings for job in jobs]
        yield STANDARD, checked_junit(programs, [each.fails for each in settings])
    elif options.format != "text" or STANDARD not in (options.sarif, options.write_baseline):
        form = options.format
        text = _one(programs[0], form, color=color) if is_one else _several(programs, form, color=color)
        yield STANDARD, text


def _one(program: CheckedProgram, form: str, *, color: bool) -> str:
    """The report on the only program."""
    from shardy_py.check import findings_github, findings_json, findings_text

    found, met, stage, verdict = program.findings, program.met, program.stage, program.verdict
    match form:
        case "json":
            release = program.release
            return (
                json_text(findings_json(found, met, release=release, stage=stage, verdict=verdict), 2) + "\n"
            )
        case "csv":
            return found.to_csv()
        case "github":
            return findings_github(found)
        case _:
            return findings_text(found, met, stage, verdict, color=color) + "\n"


def _several(programs: Sequence[CheckedProgram], form: str, *, color: bool) -> str:
    """The report on several programs."""
    from shardy_py.check import checked_csv, checked_github, checked_json, checked_text

    match form:
        case "json":
            return json_text(checked_json(programs), 2) + "\n"
        case "csv":
            return checked_csv(programs)
        case "github":
            return checked_github(programs)
        case _:
            return checked_text(programs, color=color) + "\n"


def _rules(text: str) -> tuple[str, ...]:
    from shardy_py.check import Choice

    return Choice(tuple(code.strip() for code in text.split(",") if code.strip())).selected


def _level(text: str) -> tuple[str, str]:
    code, equals, level = text.partition("=")
    if not equals:
        raise ShardyError.unexpected("", expected="CODE=LEVEL", got=f"'{text}'")
    return code, level


def _count(text: str, least: int = 1) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 4 and int(text) >= least):
        raise ShardyError.unexpected("", expected=f"a number from {least} to 999", got=f"'{text[:60]}'")
    return int(text)
