"""Results of propagation: values, followed and looked up; what would be if."""

from __future__ import annotations

import pytest

from shardy_py.api import Options, P, Program, Result, ShardyError, propagate
from tests.api.programs import MATMUL


@pytest.fixture(scope="module")
def result() -> Result:
    return propagate(
        Program.parse(MATMUL, "matmul.mlir").annotate({"x": P("data"), "params['w']": P(None, "model")})
    )


def test_source_stays(result: Result) -> None:
    assert result.source["out"].sharding is None
    assert str(result["out"].sharding) == '<@mesh, [{"data"}, {"model"}]>'


def test_values_are_followed(result: Result) -> None:
    dot = result[result.source["model.py:7"]]
    assert (dot.name, dot.local_shape) == ("%0", (8, 32))
    assert result[result.source["out"]].local_shape == (8, 32)
    slices = result.device_slices("out")
    assert slices.offsets[-1].tolist() == [24, 32]


def test_no_slices(result: Result) -> None:
    bare = propagate(Program.parse(MATMUL))
    with pytest.raises(ShardyError, match="has no sharding: every device holds all of it"):
        bare.device_slices("out")


def test_what_if(result: Result) -> None:
    comparison = result.what_if({"x": P(), "params['w']": P()})
    assert [change.name for change in comparison.changes] == ["%arg0", "%arg1", "%0", "%1", "result 0"]
    assert "[model.py:7:3 jit(f)/dot]" in str(comparison)
    assert str(result.what_if({})) == "no differences"


def test_options() -> None:
    program = Program.parse(MATMUL).annotate({"x": P(None, "data"), "out": P("model", "data")})
    text = propagate(program, Options(explicit_collectives=True)).text()
    assert "sdy.all_" in text
    with pytest.raises(ShardyError, match="expected a strategy among"):
        Options(strategy="wild")
