"""`sdy-check`: lint for sharded programs, for people and for CI.

    sdy-check model.mlir
    sdy-check model.mlir --sarif report.sarif --baseline known.json --fail-on warning
    sdy-check model.pt2 --mesh dp=2,tp=4 --plan plan.py:PLAN

Not here: the rules (`shardy_py.check`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, cast

from shardy_py.base.byte_sizes import byte_size
from shardy_py.base.errors import ShardyError
from shardy_py.base.releases import Release
from shardy_py.base.terminal import json_text
from shardy_py.cli.arguments import (
    add_input_format,
    add_plugins,
    add_source_roots,
    add_target,
    checked_cost_model,
    command_parser,
    read_cost_model,
)
from shardy_py.cli.as_compiled import add_flags, add_release, add_trip_counts, program_of
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
from shardy_py.cli.torch_plans import add_torch_plan, planned_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shardy_py.check import Findings, Level, Met
    from shardy_py.report.verdict import Verdict

_EXIT_CODES = (
    "Exit codes: 0: no finding at or above the level of --fail-on; 1: findings; "
    "2: invalid input or command line, or an internal error."
)


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_command("sdy-check", _parse, _run, arguments, failure=TROUBLE, loads_plugins=True)


def _parser() -> argparse.ArgumentParser:
    description = "Lint for sharded programs: propagates, and reports what costs memory or time."
    parser = command_parser("sdy-check", description, _EXIT_CODES, "PROGRAM")
    add = parser.add_argument
    codes: Any = {"type": _rules, "default": "", "metavar": "CODES"}
    levels: Any = {"type": _level, "action": "append", "default": [], "metavar": "CODE=LEVEL"}
    size: Any = {"type": byte_size, "metavar": "SIZE"}
    fails: Any = {"default": "warning", "choices": ("error", "warning", "note", "never")}
    large = "minimum size of a tensor for SDY001: 65536, 64M, 64MiB, 64MB (default: 64M, which is 64MiB)"
    slow = "minimum bytes received per device for SDY003 and SDY007 (default: 1M)"
    padding = "minimum bytes of padding on each device for SDY002 (default: 1M)"
    links = "cost model of links (default: tpu-v5p); SDY007 requires one: tpu-v5p,data=tpu-dcn"
    add("program", nargs="?", help="MLIR file; '-': standard input")
    add("--select", **codes, help="run only these rules: SDY001,SDY003")
    add("--ignore", **codes, help="skip these rules")
    add("--level", **levels, help="change the level of a rule")
    add(
        "--fail-on", **fails, help="minimum level of findings for which the exit code is 1 (default: warning)"
    )
    add("--replicated-bytes", **size, default="64M", help=large)
    add("--reshard-bytes", **size, default="1M", help=slow)
    add("--padding-bytes", **size, default="1M", help=padding)
    add("--model", type=checked_cost_model, help=links)
    add_target(parser)
    partitioners = "whose collectives are checked (default: xla for programs of JAX, else shardy)"
    add("--partitioner", choices=("shardy", "xla"), help=partitioners)
    add("--no-propagate", action="store_true", help="the program is already propagated")
    add_torch_plan(parser)
    add_source_roots(parser)
    add_plugins(parser)
    add_input_format(parser)
    add_flags(parser, default=None)
    add_release(parser)
    add_trip_counts(parser)
    add("--no-progress", action="store_true", help="show no progress bar on a terminal")
    formats = "how findings are printed: text, JSON, CSV, or annotations of a GitHub workflow (default: text)"
    add("--format", choices=("text", "json", "csv", "github"), default="text", help=formats)
    add("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    meant = "expected communication, which is not reported: all_gather:fsdp, all_reduce:data:model.py:36"
    add("--expect", action="append", default=[], metavar="KIND:AXES", help=meant)
    add("--sarif", metavar="FILE", help="write findings as SARIF, for code hosts; '-': standard output")
    add("--baseline", metavar="FILE", help="skip the findings listed in this file")
    add("--write-baseline", metavar="FILE", help="list all findings in this file and exit with 0")
    quiet = "leave out the verdict: what costs most and what to change, for which changes are tried"
    add("--no-verdict", action="store_true", help=quiet)
    add("--help-uri", default="", metavar="URI", help="where docs/check.md is published, for SARIF")
    add("--rules", action="store_true", help="list the rules")
    return parser


def _parse(arguments: list[str]) -> argparse.Namespace:
    options = _parser().parse_args(arguments)
    if options.program is None and not options.rules:
        raise usage_error("expected a program, or --rules")
    if (options.sarif, options.write_baseline).count(STANDARD) + (options.format != "text") > 1:
        raise usage_error("standard output can take one of --format, --sarif and --write-baseline only")
    with argument("--level", *map("=".join, options.level)):
        from shardy_py.check import Choice

        levels = cast("dict[str, Level]", dict(options.level))
        options.choice = Choice(options.select, options.ignore, levels)
    return options


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.api import Options, Program, propagate
    from shardy_py.api.result import Result
    from shardy_py.check import (
        LEVELS,
        RULES,
        Limits,
        baseline_text,
        expected_in,
        findings_in,
        without_baseline,
        without_meant,
    )
    from shardy_py.xla.targets.stage import stage_of

    if options.rules:
        files.write(STANDARD, "".join(f"{r.code}  {r.level:7}  {r.name:26} {r.summary}\n" for r in RULES))
        return SUCCESS
    source = files.read(options.program, options.input_format)
    baseline = None if options.baseline is None else files.read_text(options.baseline).text
    program = planned_program(source, options)
    program = program or program_of(source, options, has_steps=not options.no_propagate)
    if options.no_propagate:

        def again(changed: Program) -> Result:
            return propagate(changed, Options())

        result = Result(program, program, (), again)
    else:
        result = propagate(program, progress=not options.no_progress)
    model = None if options.model is None else read_cost_model(options.model)
    limits = Limits(
        *(options.replicated_bytes, options.reshard_bytes, model, options.partitioner),
        padding_bytes=options.padding_bytes,
        stage=stage_of(options.target),
    )
    declared = ()
    if baseline is not None:
        with argument("--baseline"):
            declared = expected_in(baseline)
    with argument("--model", options.model or "", parts_only=True):
        found = findings_in(result, options.choice, limits)
    with argument("--expect", *options.expect):
        findings, met = without_meant(result, found, (*options.expect, *declared))
    new_baseline = baseline_text(findings, options.expect)
    if baseline is not None:
        with argument("--baseline"):
            findings = without_baseline(findings, baseline)
    outputs = [] if options.write_baseline is None else [(options.write_baseline, new_baseline)]
    shows = options.sarif is not None or (options.format in ("text", "json") and not options.write_baseline)
    has_verdict = shows and not options.no_verdict and result.record is not None
    verdict = limits.verdict(result) if has_verdict else None
    outputs += _reports(findings, met, options, source.file, result.release, verdict)
    files.write_all(outputs)
    failing = () if options.fail_on == "never" else LEVELS[LEVELS.index(options.fail_on) :]
    fails = options.write_baseline is None and any(finding.level in failing for finding in findings)
    return FAILURE if fails else SUCCESS


def _reports(
    findings: Findings,
    met: tuple[Met, ...],
    options: argparse.Namespace,
    program: str,
    release: Release,
    verdict: Verdict | None,
) -> Iterator[tuple[str, str]]:
    """The reports on findings, each with the name of its file."""
    from shardy_py.check import findings_github, findings_json, findings_sarif, findings_text
    from shardy_py.xla.targets.stage import stage_of

    stage = stage_of(options.target)
    if options.sarif is not None:
        uri = options.help_uri
        log = findings_sarif(findings, program, release=release, verdict=verdict, help_uri=uri)
        yield options.sarif, json_text(log, 2) + "\n"
    if options.format == "json":
        data = findings_json(findings, met, release=release, stage=stage, verdict=verdict)
        yield STANDARD, json_text(data, 2) + "\n"
    elif options.format == "csv":
        yield STANDARD, findings.to_csv()
    elif options.format == "github":
        yield STANDARD, findings_github(findings)
    elif STANDARD not in (options.sarif, options.write_baseline):
        yield STANDARD, findings_text(findings, met, stage, verdict) + "\n"


def _rules(text: str) -> tuple[str, ...]:
    from shardy_py.check import Choice

    return Choice(tuple(code.strip() for code in text.split(",") if code.strip())).selected


def _level(text: str) -> tuple[str, str]:
    code, equals, level = text.partition("=")
    if not equals:
        raise ShardyError.unexpected("", expected="CODE=LEVEL", got=f"'{text}'")
    return code, level
