"""Parses the command line of `sdy-opt` into a `Command`; the table of its flags.

Follows LLVM's command-line library: one or two dashes, `--flag=value` or `--flag value`, passes as flags that
run in the order written. Not here: effects of the flags (`driver.py`), their help (`help.py`).

>>> parse_command(["x.mlir", "-symbol-dce", "--mlir-print-op-generic"]).is_generic
True
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from shardy_py.cli.pass_text import Step, build_step, is_pass_or_pipeline, parse_pipeline
from shardy_py.cli.reports import REPORTS, ReportRow, Request, with_request
from shardy_py.cli.shell import usage_error
from shardy_py.errors import ShardyError
from shardy_py.passes import PASSES, pass_by_name
from shardy_py.passes.pipelines import PIPELINES

SPLIT_MARKER = "// -----"


@dataclass(frozen=True, slots=True)
class Command:
    """The parsed command line.

    output: the file for the programs; None: standard output, or no file at all if there are reports.
    steps: passes and pipelines in order.
    split_marker: the line that ends a chunk of the input; None: the input is a single chunk.
    verify_diagnostics: "all": also unexpected diagnostics fail; "only-expected": they do not; "": off.
    verify: the input always; also after each step ("end"), after each pass ("each"), or only it ("never").
    print_before, print_after: names of the passes before and after which the IR is dumped; None: all.
    reports: the reports to print to standard output.
    reports_as_json: whether they are printed as JSON, one line per program.
    """

    input: str = "-"
    output: str | None = None
    steps: tuple[Step, ...] = ()
    split_marker: str | None = None
    output_split_marker: str = SPLIT_MARKER
    verify_diagnostics: str = ""
    verify: Literal["end", "each", "never"] = "end"
    allow_unregistered: bool = False
    is_generic: bool = False
    with_debuginfo: bool = False
    with_timing: bool = False
    hides_progress: bool = False
    print_before: tuple[str, ...] | None = ()
    print_after: tuple[str, ...] | None = ()
    reports: tuple[Request, ...] = ()
    reports_as_json: bool = False
    shows: Literal["", "help", "version", "dialects"] = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag that is not a pass.

    field: the field of `Command` that it sets.
    value: the field's value if the flag has none; None: a value is required.
    reads: how its value is parsed.
    placeholder: its value in the help, choices separated by |; empty: it takes none.
    """

    name: str
    summary: str
    field: str
    value: Any = True
    reads: Literal["nothing", "boolean", "text", "names"] = "boolean"
    placeholder: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The valid values; empty: any."""
        return tuple(self.placeholder.split("|")) if "|" in self.placeholder else ()


def _report_flag(row: ReportRow) -> Flag:
    reads = "text" if row.placeholder else "nothing"
    return Flag(row.flag, row.summary, "reports", row.default, reads, row.placeholder)


FLAGS: tuple[Flag, ...] = (
    Flag(
        "o",
        "Output file; - is standard output (default: standard output; none with a report)",
        "output",
        None,
        "text",
        "file",
    ),
    Flag(
        "pass-pipeline",
        "Textual pass pipeline: builtin.module(sdy-a,func.func(sdy-b{x=1}))",
        "steps",
        None,
        "text",
        "text",
    ),
    Flag(
        "split-input-file",
        "Split the input at marker lines and process each part separately",
        "split_marker",
        SPLIT_MARKER,
        "text",
        "marker",
    ),
    Flag(
        "output-split-marker",
        "Marker line between the programs in the output",
        "output_split_marker",
        None,
        "text",
        "marker",
    ),
    Flag(
        "verify-diagnostics",
        "Check diagnostics against expected-* comments in the input",
        "verify_diagnostics",
        "all",
        "text",
        "all|only-expected",
    ),
    Flag(
        "verify-each",
        "Verify the IR after each pass, also within pipelines (default: after each pass and pipeline)",
        "verify",
        "each",
    ),
    Flag("allow-unregistered-dialect", "Allow operations of unregistered dialects", "allow_unregistered"),
    Flag("mlir-print-op-generic", "Print the generic form", "is_generic"),
    Flag("mlir-print-debuginfo", "Print locations", "with_debuginfo"),
    Flag(
        "mlir-print-ir-before", "Print the IR before these passes", "print_before", None, "names", "pass,..."
    ),
    Flag("mlir-print-ir-after", "Print the IR after these passes", "print_after", None, "names", "pass,..."),
    Flag("mlir-print-ir-before-all", "Print the IR before each pass", "print_before", None, "nothing"),
    Flag("mlir-print-ir-after-all", "Print the IR after each pass", "print_after", None, "nothing"),
    Flag("mlir-timing", "Report the execution time of parsing, each pass and printing", "with_timing"),
    Flag("no-progress", "Show no progress bar on a terminal", "hides_progress"),
    *map(_report_flag, REPORTS),
    Flag("json", "Print reports as JSON, one line per program", "reports_as_json"),
    Flag("show-dialects", "Print the registered dialects", "shows", "dialects", "nothing"),
    Flag("help", "Print this help", "shows", "help", "nothing"),
    Flag("h", "Print this help", "shows", "help", "nothing"),
    Flag("version", "Print the version", "shows", "version", "nothing"),
)

_BY_NAME = {flag.name: flag for flag in FLAGS}
_REPORT_BY_FLAG = {row.flag: row for row in REPORTS}


def parse_command(arguments: list[str]) -> Command:
    """The command of a command line (without the program's name)."""
    command, inputs, waiting = Command(), list[str](), list(reversed(arguments))
    has_passes = has_text = False
    while waiting:
        argument = waiting.pop()
        if argument == "--":
            inputs += reversed(waiting)
            break
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
            continue
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        flag = _BY_NAME.get(name)
        if flag is None:
            command = _add_step(command, argument, name, value)
            has_passes = True
            continue
        if flag.value is None and flag.reads != "nothing" and not equals:
            if not waiting:
                raise usage_error(f"for the {_dashed(name)} option: requires a value!")
            equals, value = "=", waiting.pop()
        command = _apply(command, flag, value if equals else None)
        has_text |= flag.field == "steps"
    if has_passes and has_text:
        raise usage_error("'-pass-pipeline' option can't be used with individual pass options")
    if command.reports_as_json and not command.reports:
        flags = " or ".join(f"--{row.flag}" for row in REPORTS)
        raise usage_error(f"for the --json option: requires a report; add {flags}")
    if len(inputs) > 1:
        raise usage_error(
            f"Too many positional arguments specified!\n"
            f"Can specify at most 1 positional arguments, got: {', '.join(inputs)}. See: sdy-opt --help"
        )
    return replace(command, input=inputs[0]) if inputs else command


def _apply(command: Command, flag: Flag, text: str | None) -> Command:
    if flag.name == "pass-pipeline":
        assert text is not None
        return replace(command, steps=parse_pipeline(text))
    value = flag.value if text is None else _read(flag, text)
    if flag.field == "reports":
        value = with_request(command.reports, Request(_REPORT_BY_FLAG[flag.name], value))
    return replace(command, **{flag.field: value})


def _read(flag: Flag, text: str) -> Any:
    match flag.reads:
        case "nothing":
            raise _invalid(flag, f"does not allow a value! '{text}' specified.")
        case "text":
            if flag.choices and text not in flag.choices:
                raise _invalid(flag, f"Cannot find option named '{text}'!")
            return text
        case "names":
            names = tuple(filter(None, text.split(",")))
            for name in names:
                if pass_by_name(name) is None:
                    raise _invalid(flag, f"Cannot find option named '{name}'!")
            return names
        case "boolean":
            if text.lower() not in ("true", "false", "1", "0"):
                raise _invalid(flag, f"'{text}' is invalid value for boolean argument! Try 0 or 1")
            is_true = text.lower() in ("true", "1")
            return is_true if flag.value is True else flag.value if is_true else "never"


def _invalid(flag: Flag, fact: str) -> ShardyError:
    return usage_error(f"for the {_dashed(flag.name)} option: {fact}")


def _add_step(command: Command, argument: str, name: str, options: str) -> Command:
    if not is_pass_or_pipeline(name):
        raise usage_error(_unknown(argument, name))
    return replace(command, steps=(*command.steps, build_step(name, options)))


def _unknown(argument: str, name: str) -> str:
    from difflib import get_close_matches

    known = [row.name for row in (*FLAGS, *PASSES, *PIPELINES)]
    close = get_close_matches(name, known, 1)
    hint = f"\nsdy-opt: Did you mean '{_dashed(close[0])}'?" if close else ""
    return f"Unknown command line argument '{argument}'.  Try: 'sdy-opt --help'{hint}"


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"
