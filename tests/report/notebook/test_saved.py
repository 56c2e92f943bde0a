"""Programs, results and reports that are saved or pickled, also to another process."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shardy_py import Options, P, Program, Result, ShardyError, propagate

EXAMPLES = Path(__file__).parents[3] / "examples"
SMALL = EXAMPLES / "mlp.mlir"


def result_of(path: Path, **options: bool) -> Result:
    return propagate(Program.load(path), Options(**options), progress=False)


def loaded(result: Result, folder: Path) -> Result:
    result.save(folder / "run.shardy")
    return Result.load(folder / "run.shardy")


def pickled(result: Result, folder: Path) -> Result:
    return pickle.loads(pickle.dumps(result))


def bill_text(result: Result) -> str:
    """The report without the verdict, whose lines of source files are those at hand."""
    return str(replace(result.communication(partitioner="shardy"), verdict=None))


def assert_equal(old: Result, new: Result, values: int = 10) -> None:
    assert new.text() == old.text()
    assert new.source.text(debuginfo=True) == old.source.text(debuginfo=True)
    assert [(str(v), v.sharding, v.location, v.label) for v in new.values] == [
        (str(v), v.sharding, v.location, v.label) for v in old.values
    ]
    assert new.communication() == old.communication()
    assert bill_text(new) == bill_text(old)
    assert str(new.memory("tpu-v5p")) == str(old.memory("tpu-v5p"))
    assert new.memory().to_rows() == old.memory().to_rows()
    assert new.options == old.options
    assert new.warnings == old.warnings
    sharded = [value.name for value in old.values if value.sharding][:: max(1, len(old.values) // values)]
    assert sharded
    for name in dict.fromkeys(sharded):
        assert str(new.explain(name)) == str(old.explain(name))


@pytest.mark.parametrize("way", [loaded, pickled])
def test_results_come_back(way: Callable[[Result, Path], Result], tmp_path: Path) -> None:
    result = result_of(SMALL)
    assert_equal(result, way(result, tmp_path))


def test_options_come_back(tmp_path: Path) -> None:
    result = result_of(SMALL, conservative_propagation=True, enable_insert_explicit_collectives=True)
    assert_equal(result, loaded(result, tmp_path))


def test_a_large_result_comes_back(tmp_path: Path) -> None:
    result = result_of(EXAMPLES / "transformer_train.mlir")
    assert_equal(result, loaded(result, tmp_path), values=4)


def test_results_without_a_record_come_back(tmp_path: Path) -> None:
    result = propagate(Program.load(SMALL), record=False, progress=False)
    assert loaded(result, tmp_path).record is None


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        result_of(SMALL).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_programs_come_back(tmp_path: Path) -> None:
    program = Program.load(EXAMPLES / "transformer_train.mlir")
    program.save(tmp_path / "program.mlir")
    for other in (Program.load(tmp_path / "program.mlir"), pickle.loads(pickle.dumps(program))):
        assert other.text(debuginfo=True) == program.text(debuginfo=True)
        assert [v.location for v in other.values] == [v.location for v in program.values]


def test_reports_come_back() -> None:
    result = result_of(EXAMPLES / "transformer_train.mlir")
    for model in ("tpu-v5p", "tpu-v5p,data=tpu-dcn"):
        bill = result.communication(model)
        other = pickle.loads(pickle.dumps(bill))
        assert other == bill
        assert (other.to_rows(), other.by_line) == (bill.to_rows(), bill.by_line)
    assert len(pickle.dumps(bill)) < 200_000  # without the program
    for partitioner in (None, "shardy"):
        memory = result.memory("tpu-v5p", partitioner=partitioner)
        again = pickle.loads(pickle.dumps(memory))
        assert str(again) == str(memory)
        assert again.estimate == memory.estimate
        assert pickle.loads(pickle.dumps(again)).estimate == memory.estimate


def test_saved_runs_are_compared(tmp_path: Path) -> None:
    before = result_of(SMALL)
    after = propagate(before.source.annotate({"%arg0": P(None, None)}), progress=False)
    first, second = tmp_path / "before", tmp_path / "after"
    before.save(first)
    after.save(second)
    compared = Result.load(first).compared_with(Result.load(second))
    assert [str(change) for change in compared.changes]
    assert str(compared) == str(before.compared_with(after))
    assert compared.to_rows()[0]["value"] == str(compared.changes[0].entry)
    assert "no differences" in str(Result.load(first).compared_with(before))


def test_another_process_reads_them(tmp_path: Path) -> None:
    result = result_of(SMALL)
    values = {"result": result, "bill": result.communication(), "memory": result.memory()}
    (tmp_path / "values").write_bytes(pickle.dumps(values))
    script = (
        "import pickle, sys; v = pickle.load(open(sys.argv[1], 'rb')); print(v['bill']); print(v['memory'])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "values")], capture_output=True, text=True, check=True
    )
    assert str(result.memory()) in run.stdout


def test_other_shardings_are_kept_with_a_warning(tmp_path: Path) -> None:
    result = result_of(SMALL)
    other = propagate(result.source.annotate({"%arg0": P(None, None)}), progress=False)
    result.save(tmp_path / "run")
    document = json.loads(gzip.decompress((tmp_path / "run").read_bytes()))
    document["propagated"] = other.program.text(debuginfo=True)
    (tmp_path / "run").write_bytes(gzip.compress(json.dumps(document).encode()))
    kept = Result.load(tmp_path / "run")
    assert kept.text() == other.text()
    assert kept.record is None
    assert "propagates other shardings than the saved ones" in str(kept.warnings[0])


def _packed(**changes: object) -> bytes:
    document = {"format": "shardy_py result", "version": 1, "source": "", "propagated": ""}
    return gzip.compress(json.dumps({**document, "options": {}, "is_recorded": True, **changes}).encode())


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (b"", "another file"),
        (b"module {}", "another file"),
        (gzip.compress(b"x" * 1000)[:-9], "another file"),
        (gzip.compress(b"module {}"), "invalid JSON"),
        (gzip.compress(b"\xff\xfe{"), "invalid JSON"),
        (gzip.compress(b"[" * 200_000), "invalid JSON"),
        (gzip.compress(b"[]"), "other JSON"),
        (_packed(version=2), "version 2"),
        (_packed(source=3), "an invalid field 'source'"),
        (_packed(options=[]), "an invalid field 'options'"),
    ],
    ids=("empty", "MLIR", "truncated", "text", "bytes", "deep", "list", "version", "source", "options"),
)
def test_other_files_are_rejected(data: bytes, got: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(data)
    with pytest.raises(ShardyError, match="as result.save writes it, got " + got):
        Result.load(tmp_path / "run")


def test_faults_of_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ShardyError, match="cannot open input file"):
        Result.load(tmp_path / "missing")
    with pytest.raises(ShardyError, match="cannot open output file"):
        result_of(SMALL).save(tmp_path / "missing" / "run")
    (tmp_path / "run").write_bytes(_packed(source="func.func @f("))
    with pytest.raises(ShardyError, match="expected"):
        Result.load(tmp_path / "run")


def test_a_small_file_of_a_huge_text_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shardy_py.api.saved._LARGEST", 1 << 20)
    path = tmp_path / "bomb.shardy"
    path.write_bytes(gzip.compress(b" " * (1 << 24)))
    with pytest.raises(ShardyError, match="more than 1 MiB of text"):
        Result.load(path)
