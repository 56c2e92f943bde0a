"""`Result.compile`: the table beside the forecast, errors, and the compiler itself where it is installed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.report.ahead_of_time import compiled_json
from shardy_py.xla.compilers import VARIABLE
from tests.xla.compilers.fake import ANSWER, OUT_OF_MEMORY, interpreter

_TEXT = """
sdy.mesh @mesh = <["data"=8]>
func.func public @main(
    %x: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32> loc("model.py":7:8)
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0]
      : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<1024x1024xf32> loc("model.py":9:8)
  return %1 : tensor<1024x1024xf32>
}
"""
_TABLE = """\
Compiled for h100 by XLA:GPU of jax 0.10.2, beside the forecast

collective      forecast  runs  bytes of results  compiled  runs  bytes of results
all_gather             1     1           4.19 MB         1     1           4.19 MB
reduce_scatter         1     1         524.29 kB         -     -                 -

memory        forecast   compiled  ratio
arguments      2.62 MB    2.62 MB   1.00
results      524.29 kB  524.29 kB   1.00
aliased            0 B        0 B      -
"""


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.parse(_TEXT), progress=False)


def test_the_table(result: Result, tmp_path: Path) -> None:
    report = result.compile("h100", python=interpreter(tmp_path, ANSWER))
    assert str(report).startswith(_TABLE)
    assert "all_gather     1           4.19 MB  no          model.py:7:8 jit(f)/dot" in str(report)
    assert str(report).endswith("The program fits: 15.73 MB of 85.90 GB.")
    assert repr(report) == "<compiled for h100: 1 collectives, 15.73 MB>"
    assert compiled_json(report)["fits"] is True
    assert report.to_csv().startswith(
        "kind,name,runs,result_bytes,is_overlapped,lines\nall_gather,s,1,4194304,"
    )


def test_lines_have_names(result: Result, tmp_path: Path) -> None:
    result.compile("h100", python=interpreter(tmp_path, ANSWER, request=tmp_path / "request"))
    program = json.loads((tmp_path / "request").read_text())["program"]
    assert '"stablehlo.dot_general"(' in program


def test_errors_name_the_largest_tensors(result: Result, tmp_path: Path) -> None:
    with pytest.raises(ShardyError) as caught:
        result.compile("tpu-v5e", python=interpreter(tmp_path, {"error": OUT_OF_MEMORY}))
    notes = [note.what for note in caught.value.first.notes]
    assert any(note.startswith("largest as forecast: ") and "model.py" in note for note in notes)


def test_a_host_has_no_compiler_of_its_own(result: Result) -> None:
    with pytest.raises(ShardyError, match="compile: expected a GPU or a TPU"):
        result.compile("cpu")


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no interpreter with a compiler")
def test_the_compiler_itself(result: Result) -> None:
    try:
        report = result.compile("h100")
    except ShardyError as error:
        if "not installed" in str(error):
            pytest.skip(str(error))
        raise
    assert report.by_kind == report.forecast
    assert report.answer.memory.total == pytest.approx(report.memory.total_bytes, rel=0.01)
