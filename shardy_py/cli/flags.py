"""Parses the command line of `sdy-opt` into a `Command`; the table of its flags.

Follows LLVM's command-line library: one or two dashes, `--flag=value` or `--flag value`, passes as flags that
run in the order written. Not here: effects of the flags (`driver.py`), their help
(`help.py`).

>>> parse_command(["x.mlir", "-symbol-dce", "--mlir-print-op-generic"]).is_generic
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from shardy_py.base.errors import ShardyError, closest, suggestion
from shardy_py.base.inputs.formats import FORMATS
from shardy_py.base.plugins import load_plugins
from shardy_py.base.records import dataclass
from shardy_py.base.releases import Release, named
from shardy_py.cli.arguments import INPUT_FORMAT, LOAD, TARGET, checked_target, mesh_of_sizes
from shardy_py.cli.as_compiled import AS_COMPILED, AS_WRITTEN, JAX, JAX_RELEASES, TRIP_COUNTS
from shardy_py.cli.chunks import SPLIT_MARKER
from shardy_py.cli.pass_text import PipelineElement, build_step, is_pass_or_pipeline, parse_pipeline
from shardy_py.cli.reports import REPORTS, ReportRow, Request, with_request
from shardy_py.cli.shell import argument, usage_error
from shardy_py.cli.torch_plans import MESH, PLAN, SHARDINGS, TorchPlan
from shardy_py.passes import PassCall, known_passes, pass_by_name
from shardy_py.passes.pipelines import PIPELINES

if TYPE_CHECKING:
    from shardy_py.sharding import Mesh

_PROOF = "prove"
"""The report that proves the local program."""


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
    reports_as_csv: whether they are printed as CSV.
    partitioner: whose collectives are reported; None: XLA's for programs of JAX, else Shardy's. target: the
        device whose compiler's program is reported; None: it is as partitioned.
    input_format: the name of the format of the input; "": by its content.
    mesh, plan, shardings: those of an archive of torch; see `TorchPlan`.
    as_compiled: whether the program is taken as JAX compiles it; None: for reports on programs of JAX.
    plugins: the plugins that were loaded before the rest of the command line was read.
    release: whose Shardy and XLA are followed; None: that of the file, or the newest.
    proof_shapes, bisects: how `--prove` works: see `Evidence`.
    """

    input: str = "-"
    input_format: str = ""
    mesh: Mesh | None = None
    plan: str | None = None
    shardings: str | None = None
    output: str | None = None
    steps: tuple[PipelineElement, ...] = ()
    split_marker: str | None = None
    output_split_marker: str = SPLIT_MARKER
    verify_diagnostics: str = ""
    verify: Literal["end", "each", "never"] = "end"
    allow_unregistered: bool = False
    is_generic: bool = False
    with_debuginfo: bool = False
    emits_bytecode: bool = False
    with_timing: bool = False
    hides_progress: bool = False
    print_before: tuple[str, ...] | None = ()
    print_after: tuple[str, ...] | None = ()
    reports: tuple[Request, ...] = ()
    reports_as_json: bool = False
    reports_as_csv: bool = False
    as_compiled: bool | None = None
    trip_counts: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    release: Release | None = None
    partitioner: Literal["shardy", "xla"] | None = None
    target: str | None = None
    proof_shapes: Literal["auto", "own", "small", "ops"] = "auto"
    bisects: bool = False
    shows: Literal["", "help", "version", "dialects"] = ""

    @property
    def calls(self) -> tuple[PassCall, ...]:
        """All passes in order."""
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def torch_plan(self) -> TorchPlan:
        """The plan of an archive of torch."""
        return TorchPlan(self.mesh, self.plan, self.shardings)

    @property
    def reports_on_propagation(self) -> bool:
        """True if there are reports, and a pass that propagates."""
        return bool(self.reports) and any(call.row.propagates for call in self.calls)


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag that is not a pass.

    field: the field of `Command` that it sets.
    value: the field's value if the flag has none; None: a value is required.
    reads: how its value is parsed.
    placeholder: its value in the help, choices separated by |; empty: it takes none.
    """

    name: str
    field: str
    summary: str
    value: Any = True
    reads: Literal["nothing", "boolean", "text", "names", "counts", "release", "plugin", "target", "mesh"] = (
        "boolean"
    )
    placeholder: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The valid values; empty: any."""
        return tuple(self.placeholder.split("|")) if "|" in self.placeholder else ()


def _text(name: str, field: str, placeholder: str, summary: str, default: str | None = None) -> Flag:
    return Flag(name, field, summary, default, "text", placeholder)


def _constant(name: str, field: str, summary: str, value: str | bool | None = None) -> Flag:
    return Flag(name, field, summary, value, "nothing")


def _report(row: ReportRow) -> Flag:
    if row.placeholder:
        return _text(row.flag, "reports", row.placeholder, row.summary, row.default)
    return _constant(row.flag, "reports", row.summary, row.default)


GROUPS: tuple[tuple[str, tuple[Flag, ...]], ...] = (
    (
        "INPUT AND OUTPUT",
        (
            _text(
                *("o", "output", "file"),
                "Output file; - is standard output (default: standard output; none with a report)",
            ),
            _text("input-format", "input_format", "|".join(FORMATS), INPUT_FORMAT),
            _text(
                *("split-input-file", "split_marker", "marker"),
                *("Split the input at marker lines and process each part separately", SPLIT_MARKER),
            ),
            _text(
                *("output-split-marker", "output_split_marker", "marker"),
                "Marker line between the programs in the output",
            ),
            Flag("mesh", "mesh", MESH, None, "mesh", "axis=size,..."),
            _text("plan", "plan", "file:name", PLAN),
            _text("shardings", "shardings", "file:name", SHARDINGS),
            Flag("load", "plugins", LOAD[0].upper() + LOAD[1:], None, "plugin", "module"),
            Flag("allow-unregistered-dialect", "allow_unregistered", "Allow ops of unregistered dialects"),
            Flag("mlir-print-op-generic", "is_generic", "Print the generic form"),
            Flag("mlir-print-debuginfo", "with_debuginfo", "Print locations"),
            Flag("emit-bytecode", "emits_bytecode", "Write MLIR bytecode, with locations, instead of text"),
        ),
    ),
    (
        "PASSES AND CHECKS (passes and pipelines are flags of their own, listed below)",
        (
            _text(
                *("pass-pipeline", "steps", "text"),
                "Textual pass pipeline: builtin.module(sdy-a,func.func(sdy-b{x=1}))",
            ),
            _constant(
                *("as-compiled", "as_compiled"),
                *(f"{AS_COMPILED} (default for reports on programs of JAX)", True),
            ),
            _constant("as-written", "as_compiled", f"{AS_WRITTEN} (default for other programs)", False),
            Flag("jax", "release", JAX, None, "release", JAX_RELEASES),
            Flag(
                *("verify-each", "verify"),
                "Verify the IR after each pass, also within pipelines (default: after each pass and "
                "pipeline)",
                "each",
            ),
            _text(
                *("verify-diagnostics", "verify_diagnostics", "all|only-expected"),
                *("Check diagnostics against expected-* comments in the input", "all"),
            ),
        ),
    ),
    ("REPORTS", tuple(map(_report, REPORTS))),
    (
        "HOW REPORTS ARE MADE",
        (
            _text(
                *("partitioner", "partitioner", "shardy|xla"),
                "Whose collectives are reported: those of Shardy's reshards, or of XLA's SPMD partitioner "
                "(default for programs of JAX)",
            ),
            Flag("target", "target", TARGET[0].upper() + TARGET[1:], None, "target", "device"),
            Flag("trip-count", "trip_counts", TRIP_COUNTS, None, "counts", "[PLACE=]N"),
            Flag("json", "reports_as_json", "Print reports as JSON, one line per program"),
            Flag(
                "csv", "reports_as_csv", "Print the rows of the reports on memory, communication, time as CSV"
            ),
            _text(
                *("prove-shapes", "proof_shapes", "auto|own|small|ops"),
                "Prove the program as it is, with smaller sizes, or op by op (default: the first small "
                "enough)",
            ),
            Flag("bisect", "bisects", "Print the smallest part that --prove finds wrong"),
        ),
    ),
    (
        "WHILE PASSES RUN",
        (
            Flag(
                *("mlir-print-ir-before", "print_before", "Print the IR before these passes"),
                *(None, "names", "pass,..."),
            ),
            Flag(
                *("mlir-print-ir-after", "print_after", "Print the IR after these passes"),
                *(None, "names", "pass,..."),
            ),
            _constant("mlir-print-ir-before-all", "print_before", "Print the IR before each pass"),
            _constant("mlir-print-ir-after-all", "print_after", "Print the IR after each pass"),
            Flag("mlir-timing", "with_timing", "Report the time of parsing, each pass and printing"),
            Flag("no-progress", "hides_progress", "Show no progress bar on a terminal"),
        ),
    ),
    (
        "ABOUT",
        (
            _constant("help", "shows", "Print this help", "help"),
            _constant("h", "shows", "Print this help", "help"),
            _constant("version", "shows", "Print the version", "version"),
            _constant("show-dialects", "shows", "Print the registered dialects", "dialects"),
        ),
    ),
)
"""The flags with the headings of the help above them."""
FLAGS: tuple[Flag, ...] = tuple(flag for _, flags in GROUPS for flag in flags)

_READERS = {"release": named, "target": checked_target, "mesh": mesh_of_sizes}
_BY_NAME = {flag.name: flag for flag in FLAGS}
_REPORT_BY_FLAG = {row.flag: row for row in REPORTS}


def parse_command(arguments: list[str]) -> Command:
    """The command of a command line (without the program's name)."""
    words = _words(arguments)
    for word in words:
        if word.flag is not None and word.flag.reads == "plugin":
            with argument(dashed(word.flag.name)):
                load_plugins(word.value or "")
    command, inputs = Command(), list[str]()
    has_passes = has_text = False
    for word in words:
        if word.name is None:
            inputs.append(word.text)
        elif word.flag is None:
            command = _add_step(command, word.text, word.name, word.value or "")
            has_passes = True
        else:
            command = _apply(command, word.flag, word.value)
            has_text |= word.flag.field == "steps"
    if has_passes and has_text:
        raise usage_error("'-pass-pipeline' option can't be used with individual pass options")
    if command.emits_bytecode and command.split_marker is not None:
        raise usage_error("for the --emit-bytecode option: cannot be used with --split-input-file")
    if command.reports_as_json and not command.reports:
        flags = " or ".join(f"--{row.flag}" for row in REPORTS)
        raise usage_error(f"for the --json option: requires a report; add {flags}")
    if command.reports_as_csv:
        flags = " or ".join(f"--{row.flag}" for row in REPORTS if row.has_rows)
        if not command.reports or not all(request.row.has_rows for request in command.reports):
            raise usage_error(f"for the --csv option: requires {flags}, and no other report")
        if command.reports_as_json:
            raise usage_error("for the --csv option: cannot be used with --json")
    for name, is_used in (("prove-shapes", command.proof_shapes != "auto"), ("bisect", command.bisects)):
        if is_used and not any(request.row.flag == _PROOF for request in command.reports):
            raise usage_error(f"for the --{name} option: requires --{_PROOF}")
    if len(inputs) > 1:
        raise usage_error(
            f"Too many positional arguments specified!\n"
            f"Can specify at most 1 positional arguments, got: {', '.join(inputs)}. See: sdy-opt --help"
        )
    return replace(command, input=inputs[0]) if inputs else command


@dataclass(frozen=True, slots=True)
class _Word:
    """A flag or pass (`name`) with its value, or an input, which has no name."""

    text: str
    name: str | None = None
    value: str | None = None

    @property
    def flag(self) -> Flag | None:
        return _BY_NAME.get(self.name or "")


def _words(arguments: list[str]) -> list[_Word]:
    words, waiting = list[_Word](), list(reversed(arguments))
    while waiting:
        text = waiting.pop()
        if text == "--":
            return words + [_Word(each) for each in reversed(waiting)]
        if text == "-" or not text.startswith("-"):
            words.append(_Word(text))
            continue
        name, equals, value = text.removeprefix("-").removeprefix("-").partition("=")
        flag = _BY_NAME.get(name)
        if flag and flag.value is None and flag.reads != "nothing" and not equals:
            if not waiting:
                raise usage_error(f"for the {dashed(name)} option: requires a value!")
            equals, value = "=", waiting.pop()
        words.append(_Word(text, name, value if equals else None))
    return words


def _apply(command: Command, flag: Flag, text: str | None) -> Command:
    if flag.name == "pass-pipeline":
        assert text is not None
        return replace(command, steps=parse_pipeline(text))
    value: Any = flag.value if text is None else _read(flag, text)
    if flag.field == "reports":
        value = with_request(command.reports, Request(_REPORT_BY_FLAG[flag.name], value))
    if flag.field in ("trip_counts", "plugins"):
        value = (*getattr(command, flag.field), value)
    return replace(command, **{flag.field: value})


def _read(flag: Flag, text: str) -> object:
    match flag.reads:
        case "nothing":
            raise _invalid(flag, f"does not allow a value! '{text}' specified.")
        case "counts":
            from shardy_py.mlir.trip_counts import TripCounts  # xDSL takes time to load

            with argument(dashed(flag.name)):
                TripCounts.parse([text])
            return text
        case "plugin":
            return text
        case "release" | "target" | "mesh":
            with argument(dashed(flag.name)):
                return _READERS[flag.reads](text)
        case "text":
            if flag.choices and text not in flag.choices:
                raise _unknown_value(flag, text, flag.choices)
            return text
        case "names":
            names = tuple(filter(None, text.split(",")))
            for name in names:
                if pass_by_name(name) is None:
                    raise _unknown_value(flag, name, [row.name for row in known_passes()])
            return names
        case "boolean":
            if text.lower() not in ("true", "false", "1", "0"):
                raise _invalid(flag, f"'{text}' is invalid value for boolean argument! Try 0 or 1")
            is_true = text.lower() in ("true", "1")
            return is_true if flag.value is True else flag.value if is_true else "never"


def _invalid(flag: Flag, fact: str) -> ShardyError:
    return usage_error(f"for the {dashed(flag.name)} option: {fact}")


def _unknown_value(flag: Flag, text: str, known: Sequence[str]) -> ShardyError:
    listed = f"\nnote: its values: {', '.join(flag.choices)}" if flag.choices else ""
    hint = suggestion(text, known)
    return _invalid(flag, f"Cannot find option named '{text}'!{hint and f' {hint}'}{listed}")


def _add_step(command: Command, argument: str, name: str, options: str) -> Command:
    if not is_pass_or_pipeline(name):
        close = closest(name, [row.name for row in (*FLAGS, *known_passes(), *PIPELINES)])
        hint = f"\nsdy-opt: Did you mean '{dashed(close[0])}'?" if close else ""
        raise usage_error(f"Unknown command line argument '{argument}'.  Try: 'sdy-opt --help'{hint}")
    return replace(command, steps=(*command.steps, build_step(name, options)))


def dashed(name: str) -> str:
    """Returns a flag as it is written on the command line."""
    return f"-{name}" if len(name) == 1 else f"--{name}"
