"""The command line into a `Command`: which flags exist and how they are read.

Reads as LLVM's command-line library does: one or two dashes, `--flag=value` or `--flag value`, passes as
flags that run in the order written. Not here: what the flags do (`driver.py`), their help (`help.py`).

>>> parse_command(["x.mlir", "-symbol-dce", "--mlir-print-op-generic"]).is_generic
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

from shardy_py.cli.pass_text import PipelineError, Step, build_step, is_pass_or_pipeline, parse_pipeline
from shardy_py.cli.reports import REPORTS, ReportRow, Request, with_request
from shardy_py.cli.shell import UsageError
from shardy_py.passes import PASSES, pass_by_name
from shardy_py.passes.pipelines import PIPELINES

SPLIT_MARKER = "// -----"


@dataclass(frozen=True, slots=True)
class Command:
    """What the command line asks for.

    output: the file for the programs; None: standard output, or no file at all if there are reports.
    steps: passes and pipelines in order.
    split_marker: the line that ends a chunk of the input; None: the input is one.
    verify_diagnostics: "all": also unexpected diagnostics fail; "only-expected": they do not; "": off.
    verify: the input always; also after each step ("end"), after each pass ("each"), or only it ("never").
    print_before, print_after: names of passes whose IR is dumped; None: every pass.
    reports: what is reported on standard output.
    reports_as_json: whether that is JSON, a line a program.
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
    """One flag that is no pass.

    field: the field of `Command` it sets.
    value: what it sets without a value of its own; None: a value is required.
    reads: how a value given is read.
    placeholder: the value in the help, words to choose from with | between; empty: takes none.
    """

    name: str
    summary: str
    field: str
    value: Any = True
    reads: Literal["nothing", "boolean", "text", "names"] = "boolean"
    placeholder: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values allowed; empty: any."""
        return tuple(self.placeholder.split("|")) if "|" in self.placeholder else ()


def _report_flag(row: ReportRow) -> Flag:
    reads = "text" if row.placeholder else "nothing"
    return Flag(row.flag, row.summary, "reports", row.default, reads, row.placeholder)


FLAGS: tuple[Flag, ...] = (
    Flag(
        "o",
        "Output file; - is standard output (default: standard output, nowhere with a report)",
        "output",
        None,
        "text",
        "file",
    ),
    Flag(
        "pass-pipeline",
        "The passes as text: builtin.module(sdy-a,func.func(sdy-b{x=1}))",
        "steps",
        None,
        "text",
        "text",
    ),
    Flag(
        "split-input-file",
        "Treat the parts between marker lines as programs of their own",
        "split_marker",
        SPLIT_MARKER,
        "text",
        "marker",
    ),
    Flag(
        "output-split-marker",
        "The marker line between the programs written",
        "output_split_marker",
        None,
        "text",
        "marker",
    ),
    Flag(
        "verify-diagnostics",
        "Compare diagnostics with the expected-* comments of the input",
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
    Flag(
        "allow-unregistered-dialect", "Accept operations of dialects nobody registered", "allow_unregistered"
    ),
    Flag("mlir-print-op-generic", "Print the generic form", "is_generic"),
    Flag("mlir-print-debuginfo", "Print locations", "with_debuginfo"),
    Flag(
        "mlir-print-ir-before", "Print the IR before these passes", "print_before", None, "names", "pass,..."
    ),
    Flag("mlir-print-ir-after", "Print the IR after these passes", "print_after", None, "names", "pass,..."),
    Flag("mlir-print-ir-before-all", "Print the IR before each pass", "print_before", None, "nothing"),
    Flag("mlir-print-ir-after-all", "Print the IR after each pass", "print_after", None, "nothing"),
    Flag("mlir-timing", "Report the time of reading, each pass and printing", "with_timing"),
    Flag("no-progress", "Show no progress bar on a terminal, however long it takes", "hides_progress"),
    *map(_report_flag, REPORTS),
    Flag("json", "Print reports as JSON, a line a program", "reports_as_json"),
    Flag("show-dialects", "List the dialects", "shows", "dialects", "nothing"),
    Flag("help", "Show this text", "shows", "help", "nothing"),
    Flag("h", "Show this text", "shows", "help", "nothing"),
    Flag("version", "Show the version", "shows", "version", "nothing"),
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
                raise UsageError(f"for the {_dashed(name)} option: requires a value!")
            equals, value = "=", waiting.pop()
        command = _apply(command, flag, value if equals else None)
        has_text |= flag.field == "steps"
    if has_passes and has_text:
        raise UsageError("'-pass-pipeline' option can't be used with individual pass options")
    if command.reports_as_json and not command.reports:
        flags = " or ".join(f"--{row.flag}" for row in REPORTS)
        raise UsageError(f"for the --json option: there is no report to print; add {flags}")
    if len(inputs) > 1:
        raise UsageError(
            f"Too many positional arguments specified!\n"
            f"Can specify at most 1 positional arguments, got: {', '.join(inputs)}. See: sdy-opt --help"
        )
    return replace(command, input=inputs[0]) if inputs else command


def _apply(command: Command, flag: Flag, text: str | None) -> Command:
    if flag.name == "pass-pipeline":
        assert text is not None
        return replace(command, steps=_checked(lambda: parse_pipeline(text)))
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


def _invalid(flag: Flag, fact: str) -> UsageError:
    return UsageError(f"for the {_dashed(flag.name)} option: {fact}")


def _add_step(command: Command, argument: str, name: str, options: str) -> Command:
    if not is_pass_or_pipeline(name):
        raise UsageError(_unknown(argument, name))
    return replace(command, steps=(*command.steps, *_checked(lambda: (build_step(name, options),))))


def _checked(build: Callable[[], tuple[Step, ...]]) -> tuple[Step, ...]:
    try:
        return build()
    except PipelineError as error:
        raise UsageError(str(error)) from None


def _unknown(argument: str, name: str) -> str:
    known = [row.name for row in (*FLAGS, *PASSES, *PIPELINES)]
    close = get_close_matches(name, known, 1)
    hint = f"\nsdy-opt: Did you mean '{_dashed(close[0])}'?" if close else ""
    return f"Unknown command line argument '{argument}'.  Try: 'sdy-opt --help'{hint}"


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"
