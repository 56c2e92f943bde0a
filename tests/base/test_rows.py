"""Rows of reports: the figures of the report, as CSV and in pandas, from Python and from commands."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from shardy_py import P, Program, Result, ShardyError, propagate
from shardy_py.base import rows as rows_module
from shardy_py.base.rows import Tabular, csv_text
from shardy_py.check import Findings, Limits, check
from shardy_py.cli.check import main as sdy_check
from shardy_py.cli.diff import main as sdy_diff
from shardy_py.cli.opt import main as sdy_opt

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = str(EXAMPLES / "mlp.mlir")


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.load(SMALL), progress=False)


@pytest.fixture(scope="module")
def tables(result: Result) -> tuple[Tabular, ...]:
    findings = check(result, limits=Limits(replicated_bytes=1, reshard_bytes=1))
    compared = result.what_if({"%arg0": P(None, None)})
    return result.communication(), result.memory("tpu"), compared, findings


def test_rows_are_plain_and_have_the_columns(tables: tuple[Tabular, ...]) -> None:
    for table in tables:
        rows = table.to_rows()
        assert rows
        for row in rows:
            assert tuple(row) == table.columns
            assert all(cell is None or type(cell) in (str, int, float, bool) for cell in row.values())


def test_rows_add_up_to_the_report(result: Result) -> None:
    bill, memory = result.communication(partitioner="shardy"), result.memory()
    assert sum(row["total_bytes"] for row in bill.to_rows()) == bill.total.bytes  # type: ignore[misc]
    at_peak = [row["padded_bytes"] for row in memory.to_rows() if row["is_at_peak"]]
    assert sum(at_peak) == memory.entries[0].peak.bytes.padded_bytes  # type: ignore[arg-type]


def test_csv_is_read_back(tables: tuple[Tabular, ...]) -> None:
    for table in tables:
        read = [*csv.DictReader(StringIO(table.to_csv()))]
        assert [*read[0]] == [*table.columns]
        texts = [{k: "" if v is None else str(v) for k, v in row.items()} for row in table.to_rows()]
        assert read == texts


def test_empty_tables_have_a_header() -> None:
    assert Findings().to_csv() == ",".join(Findings.columns) + "\n"
    assert csv_text([]) == ""


def test_control_characters_are_escaped() -> None:
    assert csv_text([{"a": "x\ny\x1b,"}]) == 'a\n"x\\0Ay\\1B,"\n'


def test_pandas(tables: tuple[Tabular, ...]) -> None:
    pytest.importorskip("pandas")
    for table in tables:
        frame = table.to_pandas()
        assert [*frame.columns] == [*table.columns]
        assert len(frame) == len(table.to_rows())
    assert len(Findings().to_pandas()) == 0


def test_without_pandas(tables: tuple[Tabular, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(rows_module, "import_module", missing)
    with pytest.raises(ShardyError, match=r"needs pandas, which is not installed; pip install"):
        tables[0].to_pandas()


def run_opt(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = sdy_opt([SMALL, "--sdy-propagation-pipeline", *arguments, "-o", "/dev/null"])
    out, err = capsys.readouterr()
    return code, out, err


def test_sdy_opt_prints_csv(capsys: pytest.CaptureFixture[str], result: Result) -> None:
    code, out, _ = run_opt(capsys, "--memory-report=linear", "--communication-report", "--csv")
    memory, bill = out.split("\n\n")
    assert code == 0
    assert memory + "\n" == result.memory().to_csv()
    assert bill.startswith("kind,axes,")


@pytest.mark.parametrize("other", ["--explain=%arg0", "--json --memory-report", ""])
def test_csv_needs_a_report_with_rows(capsys: pytest.CaptureFixture[str], other: str) -> None:
    code, _, err = run_opt(capsys, "--csv", *other.split())
    assert code == 1
    assert "for the --csv option" in err


def test_sdy_check_prints_csv(capsys: pytest.CaptureFixture[str]) -> None:
    sdy_check([SMALL, "--format", "csv", "--fail-on", "never"])
    assert capsys.readouterr().out.split("\n")[0] == ",".join(Findings.columns)


def test_sdy_diff_prints_csv(capsys: pytest.CaptureFixture[str], result: Result, tmp_path: Path) -> None:
    result.program.save(tmp_path / "after.mlir")
    sdy_diff([SMALL, str(tmp_path / "after.mlir"), "--csv"])
    lines = capsys.readouterr().out.strip().split("\n")
    assert lines[0] == "value,now,before,after,location"
    assert len(lines) > 1
    assert sdy_diff([SMALL, SMALL, "--csv", "--json"]) == 2
    assert "--json and --csv cannot be used together" in capsys.readouterr().err


def test_cells_of_csv_are_no_formulas() -> None:
    texts = [
        "=1",
        "+x",
        "-x",
        "@SUM(1)",
        "\t=1",
        "\r=1",
        " =1",
        "\uff1d1",
        "-1.5e3",
        "+2",
        "-",
        "a=b",
        ".5",
        "-.5",
    ]
    read = [row[0] for row in csv.reader(StringIO(csv_text([{"a": text} for text in texts])))][1:]
    assert read[:8] == ["'=1", "'+x", "'-x", "'@SUM(1)", "'\t=1", "'\\0D=1", "' =1", "'\uff1d1"]
    assert read[8:] == ["-1.5e3", "+2", "'-", "a=b", ".5", "-.5"]
