"""`Result.compile`: the table beside the forecast, errors, and the compiler itself where it is installed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.base.errors import ShardyError
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
collective      forecast  runs    bytes  compiled  runs    bytes
all_gather             1     1  3.67 MB         1     1  3.67 MB
reduce_scatter         1     1  3.67 MB         -     -        -
"""
_MEMORY = """\
memory on each device   estimate   compiled
arguments                2.62 MB    2.62 MB
results                524.29 kB  524.29 kB
aliased                      0 B        0 B
temporaries             12.58 MB   12.58 MB
total                   15.73 MB   15.73 MB
compiled: by the compiler of jax 0.10.2 for h100
"""


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(Program.parse(_TEXT), progress=False)


def test_the_table(result: Result, tmp_path: Path) -> None:
    report = result.compile("h100", python=interpreter(tmp_path, ANSWER))
    assert _TABLE in str(report)
    assert _MEMORY in str(report)
    assert str(report).endswith("The program fits: 15.73 MB of 85.90 GB.")
    (only,) = report.collectives
    assert [use.kind for use in only.before] == ["all_gather"]
    assert only.locations == ("model.py:7:8",)
    assert [use.kind for use in report.absent] == ["reduce_scatter"]
    assert report.memory.fits is True


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
    assert report.is_as_forecast
    assert report.memory.estimate is not None
    assert report.memory.held.total_bytes == pytest.approx(report.memory.estimate.total_bytes, rel=0.01)


def test_ops_that_a_compiler_names_without_lines_have_theirs(tmp_path: Path) -> None:
    """As XLA:GPU names what has no tiles: by `op_name` alone."""
    name = 'loc("jit(f)/dot"("model.py":9:8))'
    program = Program.parse(_TEXT.replace('loc("model.py":9:8)', name))
    words = 'INTERNAL: no tiles for %d = f32[8] dot(%a, %b), metadata={op_name="jit(f)/dot" stack_frame_id=2}'
    with pytest.raises(ShardyError) as caught:
        propagate(program, progress=False).compile("h100", python=interpreter(tmp_path, {"error": words}))
    assert str(caught.value.first.where) == "model.py:9:8"
    assert words in str(caught.value)
    (note,) = caught.value.first.notes
    assert (str(note.where), note.what) == ("model.py:9:8", "'stablehlo.dot_general' is named")
