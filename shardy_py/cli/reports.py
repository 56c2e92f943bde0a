"""The reports of `sdy-opt`: one row per flag, such as `--memory-report`.

A row has the argument of its flag and the functions that make text and JSON of the evidence after the passes.
They import what they need when they run, so that the command line is parsed without it. Not here: parsing
flags (`flags.py`), when reports are made (`driver.py`).

>>> [row.flag for row in REPORTS][:1]
['memory-report']
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from shardy_py.passes.runner import Record
    from shardy_py.report.communication import CommunicationReport
    from shardy_py.report.explain import Explanation, Reasons
    from shardy_py.report.memory import Target


@dataclass(frozen=True, slots=True)
class Evidence:
    """The input of the reports on one program.

    after: the module after the passes.
    before: a copy of the module before the passes; None unless a row needs it.
    record: the record of what the passes did to shardings; None unless a row needs it.
    """

    after: ModuleOp
    before: ModuleOp | None = None
    record: Record | None = None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One kind of report.

    key: its name in JSON.
    text, to_json: the report on a program, given the argument of the flag. They raise `ShardyError` for an
        argument that is invalid for the program.
    placeholder: the argument in the help, choices separated by |; empty: it takes none.
    default: the argument if none is given; None: one is required.
    needs_before, needs_record: the evidence that it reads besides the module after the passes.
    is_repeatable: whether the flag may be given several times, with different arguments.
    """

    flag: str
    key: str
    summary: str
    text: Callable[[Evidence, str], str]
    to_json: Callable[[Evidence, str], Any]
    placeholder: str = ""
    default: str | None = ""
    needs_before: bool = False
    needs_record: bool = False
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A requested report, and the argument of its flag."""

    row: ReportRow
    argument: str


def reports_text(requests: Sequence[Request], evidence: Evidence) -> str:
    """The reports on one program, in the order of the command line, separated by blank lines."""
    return "\n\n".join(request.row.text(evidence, request.argument) for request in requests) + "\n"


def reports_json(requests: Sequence[Request], evidence: Evidence | None) -> str:
    """The reports on one program as a line of JSON: an object by key; for repeatable ones by argument, too.

    evidence: None for a program that failed, for which the result is `null`.
    """
    if evidence is None:
        return "null\n"
    found: dict[str, Any] = {}
    for request in requests:
        made = request.row.to_json(evidence, request.argument)
        if request.row.is_repeatable:
            found.setdefault(request.row.key, {})[request.argument] = made
        else:
            found[request.row.key] = made
    return json.dumps(found) + "\n"


def with_request(requests: tuple[Request, ...], new: Request) -> tuple[Request, ...]:
    """The requests with one more, which replaces one of the same row that cannot be repeated."""
    kept = (r for r in requests if r.row is not new.row or (new.row.is_repeatable and r != new))
    return (*kept, new)


def _memory_text(evidence: Evidence, target: str) -> str:
    from shardy_py.report.memory import memory_report, memory_text

    return memory_text(memory_report(evidence.after, cast("Target", target)))


def _memory_json(evidence: Evidence, target: str) -> Any:
    from shardy_py.report.memory import memory_json, memory_report

    return memory_json(memory_report(evidence.after, cast("Target", target)))


def _explanation_text(evidence: Evidence, value: str) -> str:
    return "\n\n".join(map(str, _explanations(evidence, value)))


def _explanation_json(evidence: Evidence, value: str) -> Any:
    return [explanation.to_json() for explanation in _explanations(evidence, value)]


def _explanations(evidence: Evidence, value: str) -> Sequence[Explanation]:
    from shardy_py.report.explain import Explainer

    assert evidence.record is not None
    return Explainer(evidence.record, evidence.after).explain_named(value)


def _communication_text(evidence: Evidence, model: str) -> str:
    from shardy_py.report.communication import communication_text
    from shardy_py.report.explain import Explainer, sides

    assert evidence.record is not None
    explainer = Explainer(evidence.record, evidence.after)
    return communication_text(
        _bill(evidence, model),
        sides_of=lambda use: sides(explainer, use.cause.made_for, dict(use.axes)),
    )


def _communication_json(evidence: Evidence, model: str) -> Any:
    from shardy_py.report.communication import communication_json

    return communication_json(_bill(evidence, model))


def _bill(evidence: Evidence, model: str) -> CommunicationReport:
    from shardy_py.partition.cost import cost_model
    from shardy_py.pipeline import communication

    record = () if evidence.record is None else evidence.record.events
    return communication(evidence.after, cost_model(model), record)[1]


def _why_not_text(evidence: Evidence, question: str) -> str:
    return "\n\n".join(map(str, _reasons(evidence, question).values()))


def _why_not_json(evidence: Evidence, question: str) -> Any:
    answers = _reasons(evidence, question).items()
    return {name: [reason.to_json() for reason in reasons] for name, reasons in answers}


def _reasons(evidence: Evidence, question: str) -> Mapping[str, Reasons]:
    from shardy_py.report.explain import Explainer, WhyNot

    assert evidence.record is not None
    return WhyNot(Explainer(evidence.record, evidence.after)).named(question)


REPORTS: tuple[ReportRow, ...] = (
    ReportRow(
        "memory-report",
        "memory",
        "Report the memory per device: totals, peak, largest tensors, with padding (default: tpu)",
        _memory_text,
        _memory_json,
        placeholder="tpu|linear",
        default="tpu",
    ),
    ReportRow(
        "communication-report",
        "communication",
        "Report the communication of the program: collectives, bytes, time, the line that caused each; "
        "MODEL: tpu-v5p (default), tpu-v5e, h100-nvlink, ..., with links of axes: tpu-v5p,data=tpu-dcn",
        _communication_text,
        _communication_json,
        placeholder="MODEL",
        default="tpu-v5p",
        needs_record=True,
    ),
    ReportRow(
        "explain",
        "explanations",
        "Explain the sharding of a value: '%3', '%arg0', '%0#1', 'result 0', '@f:%3', an argument name, "
        "a source line ('model.py:12')",
        _explanation_text,
        _explanation_json,
        placeholder="VALUE",
        default=None,
        needs_record=True,
        is_repeatable=True,
    ),
    ReportRow(
        "why-not",
        "why_not",
        "Explain why a dimension of a value is not sharded along an axis: '%3,0,x'",
        _why_not_text,
        _why_not_json,
        placeholder="VALUE,DIMENSION,AXIS",
        default=None,
        needs_record=True,
        is_repeatable=True,
    ),
)
"""All reports. Their flags are among those of `flags.py`."""
