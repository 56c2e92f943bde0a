"""The answers of a page as data: the verdict, what changes remove, differences, compiled programs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from shardy_py import P, Program, Result, ShardyError, propagate
from shardy_py.base.errors import Position
from shardy_py.report.verdict import SourceFix
from shardy_py.viewer.explorer import document
from shardy_py.viewer.explorer.judged import edited_lines
from shardy_py.viewer.explorer.sent import Row, differences
from shardy_py.viewer.explorer_file import subject_of
from tests.report.compiled.compiled_program import COMPILED, PROGRAM
from tests.report.verdict.test_causes import program
from tests.viewer.explorer.test_page import explorer_data


def _data(result: Result, *others: Result, **options: Any) -> dict[str, Any]:
    return explorer_data(result.explorer(*others, **options).html)


def test_a_cause_has_its_collectives_and_its_remedy() -> None:
    result = program(has_lines=True)
    made = _data(result, partitioner="xla")
    (cause,) = made["verdict"]["causes"]
    assert cause["rows"] == [0, 1, 2]
    assert made["texts"][made["items"]["label"][cause["item"]]] == "dot_general"
    assert cause["origins"] == [*result.verdict(partitioner="xla").causes[0].origins]
    assert cause["best"] is None
    helped = _data(propagate(Program.parse(PROGRAM)))["verdict"]
    assert [cause["best"] for cause in helped["causes"]] == [None, *helped["changes"]]


def test_a_change_has_what_it_removes() -> None:
    result = propagate(Program.parse(PROGRAM))
    verdict, made = result.verdict(), _data(result)
    assert verdict.changes
    for change, shown in zip(verdict.changes, made["verdict"]["changes"], strict=True):
        assert shown["bytes"] == [change.before.bytes, change.after.bytes]
        gone = sum(made["collectives"][row][3] for row in shown["removed"])
        assert gone == sum(e.before for e in change.effects if e.after == 0)
        added = sum(size for _, _, size in shown["added"])
        less = sum(e.before - e.after for e in change.effects if 0 < e.after < e.before)
        assert gone + less - added == change.saved_bytes
        assert len(shown["less"]) == sum(0 < e.after < e.before for e in change.effects)


def test_a_change_of_a_line_is_shown_as_one() -> None:
    line = 'y = f("\u00e9", x @ down)  # sums'
    start, end = (Position("model.py", 6, len(line[: line.index(part)].encode())) for part in ("x @", ")  #"))
    fix = SourceFix(start, end, "constrained(x @ down)")
    files = {"model.py": ["", "", "", "", "", f"{line}  "]}

    def lines(file: str) -> list[str]:
        return files.get(file, [])

    new = 'y = f("\u00e9", constrained(x @ down))  # sums'
    assert [*edited_lines([fix], lines)] == [["model.py", 6, line, new]]
    elsewhere = replace(fix, start=replace(start, file="other.py"))
    assert [*edited_lines([elsewhere, replace(fix, end=replace(end, line=7))], lines)] == []


def test_collectives_of_one_op_are_compared() -> None:
    first: list[Row] = [[0, 1, 2, 100, 0.1, 1, 7, 0, 3, 4], [0, 1, 2, 50, 0.1, 1, 8, 0, 3, 4]]
    second: list[Row] = [[0, 1, 2, 50, 0.1, 1, 8, 0, 3, 9], [5, 1, 2, 20, 0.1, 1, -1, 0, 3, 9]]
    assert differences(first, second) == [[[0], []], [[], [1]]]
    assert differences(first, first) == []


def test_two_programs_have_their_differences() -> None:
    result = program(has_lines=True)
    after = result.what_if({"x": P(None, None)}).after
    made = _data(result, after)
    sent, other = made["collectives"], made["other"]["collectives"]
    found = made["other"]["differences"]
    assert found
    moved = sum(sum(other[n][3] for n in new) - sum(sent[n][3] for n in old) for old, new in found)
    assert moved == sum(row[3] for row in other) - sum(row[3] for row in sent)
    codes = [[row[0] for row in rows] for rows in (made["findings"], made["other"]["findings"])]
    assert codes == [[f.code for f in each.check()] for each in (result, after)]


def test_findings_are_at_their_values() -> None:
    result = program(has_lines=True)
    made = _data(result)
    found = result.check()
    assert len(made["findings"]) == len(found) > 0
    names = {
        made["texts"][n]: item for n, item in zip(made["values"]["name"], made["values"]["item"], strict=True)
    }
    assert [row[5] for row in made["findings"]] == [names.get(f.subject, -1) for f in found]


def test_a_compiled_program_is_joined_to_the_rows() -> None:
    result = propagate(Program.parse(PROGRAM, "model.mlir"))
    made, report = _data(result, compiled=COMPILED), result.against(COMPILED)
    compiled = made["compiled"]
    assert compiled["bytes"] == [576, report.total.bytes]
    rows = {each["name"]: [before[4] for before in each["before"]] for each in compiled["collectives"]}
    kinds = {name: [made["texts"][made["collectives"][n][0]] for n in each] for name, each in rows.items()}
    assert kinds == {"sum.1": ["all_reduce"], "gather": ["all_gather"]}
    labels = [made["texts"][made["items"]["label"][each["item"]]] for each in compiled["collectives"]]
    assert labels == ["dot_general", "reshard"]
    assert compiled["collectives"][0]["changes"] == ["bf16 widened to f32"]


def test_what_was_forecast_and_is_not_there_is_listed() -> None:
    lines = [line for line in COMPILED.splitlines() if "all-gather" not in line]
    text = "\n".join(lines).replace("%c, %gather", "%c, %r")
    result = propagate(Program.parse(PROGRAM, "model.mlir"))
    (absent,) = _data(result, compiled=text)["compiled"]["absent"]
    assert absent[:2] == ["all_gather", "x=4"]
    assert absent[6] >= 0, "its row in the forecast"


def test_a_compiled_program_is_for_one_program() -> None:
    result = propagate(Program.parse(PROGRAM, "model.mlir"))
    with pytest.raises(ShardyError, match="compared with one program"):
        result.explorer(result, compiled=COMPILED)


def test_a_subject_without_answers_has_none() -> None:
    result = program(has_lines=False)
    made = document(subject_of(result, "model", result.communication(), has_sources=False))
    assert [json.dumps(made[key]) for key in ("verdict", "findings", "compiled")] == ["null"] * 3
