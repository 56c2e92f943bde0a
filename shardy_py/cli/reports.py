"""The reports of `sdy-opt`: one row per flag, such as `--memory-report`.

A row has the argument of its flag and the function that answers from the evidence after the passes, which
imports what it needs when it runs, so that the command line is parsed without it. Not here: parsing flags
(`flags.py`), when reports are made (`driver.py`).

>>> [row.flag for row in REPORTS][:1]
['memory-report']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from shardy_py.base.errors import ShardyError
from shardy_py.base.json_values import JsonObject
from shardy_py.base.records import dataclass
from shardy_py.base.releases import KEY, current
from shardy_py.base.terminal import json_text
from shardy_py.cli.flag_values import in_flag

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from shardy_py.cli.propagated import BeforePasses
    from shardy_py.passes.partitioned import Partitioned
    from shardy_py.passes.runner import Record
    from shardy_py.report.communication import Partitioner
    from shardy_py.report.explain import Explainer
    from shardy_py.report.time import TimeReport
    from shardy_py.run.proof import Shapes
    from shardy_py.xla.prepare.taken import Taken


@dataclass(frozen=True, slots=True)
class Evidence:
    """The input of the reports on one program.

    after: the module after the passes.
    record: the record of what the passes did to shardings; None unless a row needs it.
    partitioned: the program before and after the passes; None unless a row needs it.
    proof_shapes: of the programs that a proof runs.
    bisects: whether it searches the smallest part that fails.
    partitioner: whose collectives are reported; None: as `report.communication.of_program` decides.
    taken: how the program is taken; None: by the rule for what is in it.
    target: the device whose compiler's program is reported; None: it is as partitioned.
    before: the program before the passes, for rows that try changes; None: none is tried.
    """

    after: ModuleOp
    record: Record | None = None
    partitioned: Partitioned | None = None
    proof_shapes: Shapes = "auto"
    bisects: bool = False
    partitioner: Partitioner | None = None
    taken: Taken | None = None
    target: str | None = None
    before: BeforePasses | None = None


class FlagReport(NamedTuple):
    """A report on a program, rendered when called; `csv` of reports with rows."""

    text: Callable[[], str]
    data: Callable[[], Any]
    csv: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One kind of report.

    key: its name in JSON.
    answer: the report on a program, given the argument of the flag; raises `ShardyError` for an argument
        that is invalid for the program.
    placeholder: the argument in the help, choices separated by |; empty: it takes none.
    default: the argument if none is given, "" for one that depends on `--target`; None: one is required.
    needs_record: whether it reads the record of the passes.
    needs_whole: whether it reads the program before the passes, too.
    is_repeatable: whether the flag may be given several times, with different arguments.
    has_rows: whether it can be CSV.
    check: raises `ShardyError` for an argument that is invalid for any program.
    tries: whether it propagates the program before the passes again: changed, or as a compiler simplifies it.
    needs_shardings: whether it says little about a program without shardings and the lines of its source.
    """

    flag: str
    key: str
    answer: Callable[[Evidence, str], FlagReport]
    placeholder: str = ""
    default: str | None = ""
    summary: str = ""
    needs_record: bool = False
    needs_whole: bool = False
    is_repeatable: bool = False
    has_rows: bool = False
    check: Callable[[str], object] = str
    needs_shardings: bool = True
    tries: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A requested report, and the argument of its flag."""

    row: ReportRow
    argument: str

    def __post_init__(self) -> None:
        if self.argument != self.row.default:
            with in_flag(f"--{self.row.flag}", self.argument):
                self.row.check(self.argument)

    def answer(self, evidence: Evidence) -> FlagReport:
        """Returns the report on a program; errors about a part of the argument are placed there."""
        with in_flag("--target", evidence.target or ""), in_flag(f"--{self.row.flag}", self.argument):
            return self.row.answer(evidence, self.argument)


def reports_text(requests: Sequence[Request], evidence: Evidence) -> str:
    """Returns the reports on one program, in the order of the command line, separated by blank lines."""
    return "\n\n".join(request.answer(evidence).text() for request in requests) + "\n"


def reports_json(requests: Sequence[Request], evidence: Evidence | None) -> str:
    """Returns a line of JSON: the release, and an object by key; for repeatable reports by argument, too.

    evidence: None for a program that failed, for which the result is `null`.
    """
    if evidence is None:
        return "null\n"
    fields: dict[str, Any] = {KEY: current().name}
    for request in requests:
        data = _without_release(request.answer(evidence).data())
        if request.row.is_repeatable:
            fields.setdefault(request.row.key, {})[request.argument] = data
        else:
            fields[request.row.key] = data
    return json_text(fields) + "\n"


def _without_release(report: object) -> object:
    """A report as part of a document that names the release itself."""
    if not isinstance(report, dict):
        return report
    return {name: value for name, value in cast("JsonObject", report).items() if name != KEY}


def reports_csv(requests: Sequence[Request], evidence: Evidence) -> str:
    """Returns the rows of the reports on one program, each with a header, separated by blank lines."""
    answers = [request.answer(evidence) for request in requests]
    return "\n".join(answer.csv() for answer in answers if answer.csv is not None)


def with_request(requests: tuple[Request, ...], new: Request) -> tuple[Request, ...]:
    """Returns the requests with one more, which replaces one of the same row that cannot be repeated."""
    kept = (r for r in requests if r.row is not new.row or (new.row.is_repeatable and r != new))
    return (*kept, new)


def _memory(evidence: Evidence, target: str) -> FlagReport:
    from shardy_py.cli.propagated import sending
    from shardy_py.report.memory import memory_json, memory_report
    from shardy_py.xla.gspmd.understanding import require_reportable

    require_reportable(evidence.after)
    report = memory_report(
        evidence.after, target or evidence.target or _DEFAULT_LAYOUTS, lambda: sending(evidence)[0]
    )
    return FlagReport(lambda: str(report), lambda: memory_json(report), report.to_csv)


def _communication(evidence: Evidence, model: str) -> FlagReport:
    from shardy_py.cli.propagated import communication_of, verdict_on
    from shardy_py.report.communication import communication_json, communication_text

    report = communication_of(evidence, model)
    advised = replace(report, verdict=lambda: verdict_on(evidence, report))
    return FlagReport(lambda: communication_text(advised), lambda: communication_json(report), report.to_csv)


def _compiled(evidence: Evidence, target: str) -> FlagReport:
    from shardy_py.cli.propagated import compiled_for

    report = compiled_for(evidence, target)
    return FlagReport(lambda: str(report), report.to_json, report.to_csv)


def _verdict(evidence: Evidence, model: str) -> FlagReport:
    from shardy_py.cli.propagated import communication_of, verdict_on
    from shardy_py.report.verdict import verdict_json

    found = verdict_on(evidence, communication_of(evidence, model))
    return FlagReport(lambda: str(found), lambda: verdict_json(found))


def _time(evidence: Evidence, hardware: str) -> FlagReport:
    from shardy_py.report.time import time_json

    report = _time_report(evidence, hardware)
    return FlagReport(lambda: str(report), lambda: time_json(report), report.to_csv)


def _time_trace(evidence: Evidence, argument: str) -> FlagReport:
    path, _, hardware = argument.partition(",")
    _time_report(evidence, hardware).trace(path)
    return FlagReport(lambda: f"The trace of a step is in {path}.", lambda: {"file": path})


def _chakra(evidence: Evidence, argument: str) -> FlagReport:
    folder, _, hardware = argument.partition(",")
    files = _time_report(evidence, hardware).chakra(folder)
    said = f"Traces of {len(files) - 1} devices are in {folder}."
    return FlagReport(lambda: said, lambda: {"files": [*map(str, files)]})


def _time_report(evidence: Evidence, hardware: str) -> TimeReport:
    from shardy_py.cli.propagated import sending
    from shardy_py.hardware import placement_of
    from shardy_py.report.time import time_report
    from shardy_py.xla.gspmd.understanding import require_reportable
    from shardy_py.xla.targets.stage import CompileStage, stage_of

    require_reportable(evidence.after)
    stage = stage_of(evidence.target)
    placement = stage.placement if stage and not hardware else placement_of(hardware or DEFAULT_HARDWARE)
    if stage is not None:
        stage = CompileStage(placement)
    program, bill = sending(evidence, placement, has_stage=stage is not None)
    return time_report(program, placement, bill=bill if bill.partitioner == "shardy" else None, stage=stage)


def _explanation(evidence: Evidence, value: str) -> FlagReport:
    answers = _explainer(evidence).explain_named(value)
    return FlagReport(lambda: str(answers), lambda: [answer.to_json() for answer in answers])


def _why_not(evidence: Evidence, question: str) -> FlagReport:
    from shardy_py.report.explain import WhyNot

    reasons_by_name = WhyNot(_explainer(evidence)).named(question)
    data = {name: [reason.to_json() for reason in reasons] for name, reasons in reasons_by_name.items()}
    return FlagReport(lambda: "\n\n".join(map(str, reasons_by_name.values())), lambda: data)


def _proof(evidence: Evidence, seed: str) -> FlagReport:
    from shardy_py.run.proof import ProofOptions, bisected, prove

    assert evidence.partitioned is not None
    is_float = seed == _FLOATS
    own = 0 if is_float else _seed(seed)
    options = ProofOptions(seed=own, shapes=evidence.proof_shapes, floats=is_float)
    answer = prove(evidence.partitioned, options)
    if evidence.bisects:
        answer = bisected(answer, options)
    answer.check()
    return FlagReport(lambda: str(answer), lambda: answer.to_json())


def _check_proof(text: str) -> None:
    if text != _FLOATS:
        _seed(text, f", or {_FLOATS}")


def _seed(text: str, instead: str = "") -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _SEED_DIGITS):
        expected = f"the seed, a number from 0 with at most {_SEED_DIGITS} digits{instead}"
        raise ShardyError.unexpected("", expected=expected, got=f"'{text[:60]}'")
    return int(text)


def _check_target(text: str) -> None:
    from shardy_py.xla.buffers.chips import target_of

    target_of(text)


def _check_model(text: str) -> None:
    from shardy_py.hardware.cost import cost_model

    cost_model(text)


def _check_hardware(text: str) -> None:
    from shardy_py.hardware import placement_of

    placement_of(text)


def _check_file_and_hardware(text: str) -> None:
    _check_hardware(text.partition(",")[2] or DEFAULT_HARDWARE)


def _explainer(evidence: Evidence) -> Explainer:
    from shardy_py.report.explain import Explainer

    assert evidence.record is not None
    return Explainer(evidence.record, evidence.after)


_FLOATS = "floats"
_SEED_DIGITS = 18
_DEFAULT_LAYOUTS = "linear"
DEFAULT_HARDWARE = "tpu-v5p"
"""The hardware of the reports on time."""

REPORTS: tuple[ReportRow, ...] = (
    ReportRow(
        *("memory-report", "memory", _memory, "TARGET", ""),
        "Report the memory per device: what XLA allocates, values alive at once, largest tensors; TARGET: "
        "the layouts linear (default) or tpu; or a device such as tpu-v5p, for whether it fits, too",
        check=_check_target,
        needs_record=True,
        has_rows=True,
        tries=True,
    ),
    ReportRow(
        *("verdict", "verdict", _verdict, "MODEL", ""),
        "Report what costs most, the source lines and annotations it is from, and which changes help, each "
        "tried; MODEL: as of --communication-report",
        check=_check_model,
        needs_record=True,
        tries=True,
    ),
    ReportRow(
        *("communication-report", "communication", _communication, "MODEL", ""),
        "Report the communication of the program: collectives, bytes, time, the line that caused each; "
        "MODEL: tpu-v5p (default), tpu-v5e, h100, ..., with links of axes: tpu-v5p,data=tpu-dcn",
        check=_check_model,
        needs_record=True,
        has_rows=True,
        tries=True,
    ),
    ReportRow(
        *("time-report", "time", _time, "HARDWARE", ""),
        "Report the time of a step: with perfect overlap and without, what bounds it, MFU; HARDWARE: tpu-v5p "
        "(default), h100, my.toml, ..., with places of axes: tpu-v5e,topology=4x4,data=x,pod=beyond",
        check=_check_hardware,
        needs_record=True,
        has_rows=True,
        tries=True,
    ),
    ReportRow(
        *("compile", "compiled", _compiled, "HARDWARE", None),
        "Compile the program for a device by its own compiler, in the Python of SHARDY_COMPILER_PYTHON: "
        "collectives and memory, beside the forecast",
        check=_check_hardware,
        needs_record=True,
        has_rows=True,
        tries=True,
    ),
    ReportRow(
        *("time-trace", "time_trace", _time_trace, "FILE[,HARDWARE]", None),
        "Write a trace of a step on one device, which Perfetto opens (default hardware: tpu-v5p)",
        check=_check_file_and_hardware,
        needs_record=True,
        tries=True,
    ),
    ReportRow(
        *("chakra", "chakra", _chakra, "DIR[,HARDWARE]", None),
        "Write a Chakra execution trace of a step for each device, which ASTRA-sim reads",
        check=_check_file_and_hardware,
        needs_record=True,
        tries=True,
    ),
    ReportRow(
        *("explain", "explanations", _explanation, "VALUE", None),
        "Explain the sharding of a value: '%3', '%arg0', '%0#1', 'result 0', '@f:%3', an argument name, "
        "a source line ('model.py:12'), all of an op ('op=dot_general')",
        needs_record=True,
        is_repeatable=True,
    ),
    ReportRow(
        *("why-not", "why_not", _why_not, "VALUE,DIMENSION,AXIS", None),
        "Explain why a dimension of a value is not sharded along an axis: '%3,0,x'",
        needs_record=True,
        is_repeatable=True,
    ),
    ReportRow(
        *("prove", "proof", _proof, "SEED", "0"),
        "Run the program before and after the passes, the latter on all devices, on inputs from a seed, and "
        "compare op by op; the first wrong value is an error",
        check=_check_proof,
        needs_record=True,
        needs_whole=True,
        needs_shardings=False,
    ),
)
"""All reports. Their flags are among those of `flags.py`."""
