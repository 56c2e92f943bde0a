"""`sdy-check`: lint for sharded programs, for people and for CI.

    sdy-check model.mlir
    sdy-check model.mlir --sarif report.sarif --baseline known.json --fail-on warning

This file reads the command line and writes text; the rules are in `shardy_py.check`.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, cast

from shardy_py.cli.arguments import ArgumentParser, argument
from shardy_py.cli.shell import FAILURE, SUCCESS, Files, UsageError, run_on_program

if TYPE_CHECKING:
    from shardy_py.check import Choice, Finding, Level, Limits

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        "sdy-check",
        description="Lint for sharded programs: propagates, and finds what costs memory or time.",
        epilog="Exit code: 0: no finding of the level of --fail-on; 1: findings, or wrong input; 2: a bug.",
        allow_abbrev=False,
    )
    parser.add_argument("program", nargs="?", help="MLIR; '-': standard input")
    parser.add_argument("--select", default="", metavar="CODES", help="only these rules: SDY001,SDY003")
    parser.add_argument("--ignore", default="", metavar="CODES", help="not these rules")
    parser.add_argument("--level", action="append", default=[], metavar="CODE=LEVEL", help="a rule's level")
    parser.add_argument(
        "--fail-on",
        default="warning",
        choices=("error", "warning", "note", "never"),
        help="the level from which on the exit code is 1 (warning)",
    )
    parser.add_argument(
        "--replicated-bytes",
        default="64M",
        metavar="SIZE",
        help="SDY001 speaks of tensors from this size on: 65536, 64K, 64M, 1G (64M)",
    )
    parser.add_argument(
        "--reshard-bytes",
        default="1M",
        metavar="SIZE",
        help="SDY003, SDY007 speak from so many bytes on that each device takes in (1M)",
    )
    parser.add_argument("--model", help="what links cost (tpu-v5p); SDY007 needs one: tpu-v5p,data=tpu-dcn")
    parser.add_argument("--no-propagate", action="store_true", help="the program is propagated already")
    parser.add_argument("--no-progress", action="store_true", help="show no bar on a terminal")
    parser.add_argument("--json", action="store_true", help="for tools, on standard output")
    parser.add_argument("--sarif", metavar="FILE", help="for code hosts; '-': standard output")
    parser.add_argument("--baseline", metavar="FILE", help="leave out what this file lists")
    parser.add_argument(
        "--write-baseline", metavar="FILE", help="list all findings in this file, exit with 0"
    )
    parser.add_argument("--rules", action="store_true", help="show the rules")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The console script: runs the command line, returns the exit code."""
    return run_on_program("sdy-check", lambda files: _run(_parser().parse_args(arguments), files))


def _run(options: argparse.Namespace, files: Files) -> int:
    from shardy_py.api import Options, Program, propagate
    from shardy_py.api.result import Result
    from shardy_py.check import RULES, baseline_text, check, without_baseline

    if options.rules:
        files.write("-", "".join(f"{r.code}  {r.level:7}  {r.name:24} {r.summary}\n" for r in RULES))
        return SUCCESS
    if options.program is None:
        raise UsageError("expected a program, or --rules")
    if (options.sarif, options.write_baseline).count("-") + options.json > 1:
        raise UsageError("standard output can take one of --json, --sarif and --write-baseline only")
    choice, limits = _choice(options), _limits(options)
    source = files.read(options.program)
    program = Program.parse(source.text, source.file)
    if options.no_propagate:
        result = Result(program, program, (), lambda changed: propagate(changed, Options()))
    else:
        result = propagate(program, progress=not options.no_progress)
    found = check(result, choice, limits)
    if options.write_baseline is not None:
        files.write(options.write_baseline, baseline_text(found))
    if options.baseline is not None:
        known = files.read(options.baseline).text
        with argument("--baseline"):
            found = without_baseline(found, known)
    _show(found, options, source.file, files)
    return FAILURE if _fails(found, options.fail_on) and options.write_baseline is None else SUCCESS


def _show(found: tuple[Finding, ...], options: argparse.Namespace, program: str, files: Files) -> None:
    from shardy_py.check import findings_json, findings_sarif, findings_text

    if options.sarif is not None:
        files.write(options.sarif, json.dumps(findings_sarif(found, program), indent=2) + "\n")
    if options.json:
        files.write("-", json.dumps(findings_json(found), indent=2) + "\n")
    elif "-" not in (options.sarif, options.write_baseline):
        files.write("-", findings_text(found) + "\n")


def _choice(options: argparse.Namespace) -> Choice:
    from shardy_py.check import Choice

    levels: dict[str, str] = {}
    for text in options.level:
        code, equals, level = text.partition("=")
        if not equals:
            raise UsageError(f"argument --level: expected CODE=LEVEL, got: '{text}'")
        levels[code] = level
    with argument("--select"):
        selected = Choice(_codes(options.select)).selected
    with argument("--ignore"):
        ignored = Choice(_codes(options.ignore)).selected
    with argument("--level"):
        return Choice(selected, ignored, cast("dict[str, Level]", levels))


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _limits(options: argparse.Namespace) -> Limits:
    from shardy_py.check import Limits
    from shardy_py.partition.cost import cost_model

    with argument("--model"):
        model = None if options.model is None else cost_model(options.model)
    sizes = (
        _size("--replicated-bytes", options.replicated_bytes),
        _size("--reshard-bytes", options.reshard_bytes),
    )
    return Limits(*sizes, model)


def _size(name: str, text: str) -> int:
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    digits = text[: len(text) - len(unit)]
    if unit not in _UNITS or not (digits.isascii() and digits.isdigit()) or len(digits) > 18:
        raise UsageError(f"argument {name}: expected bytes such as 64M, got: '{text}'")
    return int(digits) * _UNITS[unit]


def _fails(found: tuple[Finding, ...], fail_on: str) -> bool:
    from shardy_py.check import LEVELS

    if fail_on == "never":
        return False
    return any(LEVELS.index(finding.level) >= LEVELS.index(fail_on) for finding in found)  # pyright: ignore


if __name__ == "__main__":
    sys.exit(main())
