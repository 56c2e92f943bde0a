"""The assertions for users' test suites pass and fail as they say."""

from __future__ import annotations

import pytest

from shardy_py.api import UNCONSTRAINED, Mesh, P, Program, Sharding, ShardyError, propagate
from shardy_py.testing import assert_collectives, assert_sharding
from tests.api.programs import MATMUL

BASE = Program.parse(MATMUL, "m.mlir")
PROGRAM = BASE.annotate({"x": P("data"), "params['w']": P(None, "model")})
SUMMED = BASE.annotate({"x": P(None, "data"), "params['w']": P("data"), "out": P()})


@pytest.mark.parametrize(
    "expected",
    [
        P("data", "model"),
        ("data", "model"),
        '<@mesh, [{"data"}, {"model", ?}]>',
        Sharding(Mesh.of(data=4, model=2), P("data", "model")),
    ],
)
def test_the_sharding_it_has(expected: object) -> None:
    assert_sharding(PROGRAM, "out", expected)  # pyright: ignore


def test_a_result_is_not_propagated_again() -> None:
    assert_sharding(propagate(PROGRAM, record=False), "out", P("data", "model"))
    assert_sharding(BASE, "out", P(UNCONSTRAINED))


def test_another_sharding_fails_with_the_reason() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_sharding(PROGRAM, "out", P("model"))
    text = str(caught.value)
    assert 'expected [{"model"}, {}]' in text
    assert 'got      [{"data"}, {"model"}]' in text
    assert "from the argument sharding of %arg0 (x)" in text


def test_unknown_names() -> None:
    with pytest.raises(ShardyError, match="unknown value"):
        assert_sharding(PROGRAM, "nothing", P())
    with pytest.raises(ShardyError, match="unknown mesh '@m'"):
        assert_sharding(PROGRAM, "out", "<@m, [{}, {}]>")
    with pytest.raises(ShardyError, match="unknown axis name"):
        assert_sharding(PROGRAM, "out", P("z"))


def test_collectives() -> None:
    assert_collectives(PROGRAM, {})
    assert_collectives(SUMMED, {"all_reduce": 1}, max_bytes=1 << 20, max_seconds=1)
    assert_collectives(SUMMED, max_bytes=1 << 20)


@pytest.mark.parametrize(
    ("expected", "limits", "message"),
    [
        ({}, {}, "expected 0 all_reduce, got 1"),
        ({"all_reduce": 1, "all_gather": 2}, {}, "expected 2 all_gather, got 0"),
        (None, {"max_bytes": 12287}, "expected at most 12,287 bytes, got 12,288"),
        (None, {"max_seconds": 1e-9}, "expected at most 1e-09 s on tpu-v5p, got"),
    ],
)
def test_other_collectives_fail_with_the_bill(
    expected: dict[str, int] | None, limits: dict[str, float], message: str
) -> None:
    with pytest.raises(AssertionError, match=message) as caught:
        assert_collectives(SUMMED, expected, **limits)  # pyright: ignore
    assert "stablehlo.dot_general reduces a sharded dimension" in str(caught.value)


def test_no_collective_of_that_name() -> None:
    with pytest.raises(ShardyError, match="unknown collective 'gather'"):
        assert_collectives(SUMMED, {"gather": 1})


def test_the_mesh_that_has_the_axes_is_meant() -> None:
    text = """
    sdy.mesh @one = <["a"=2]>
    sdy.mesh @alone = <[], device_ids=[1]>
    sdy.mesh @two = <["a"=2, "b"=2]>
    func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.tanh %arg0 : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """
    with pytest.raises(AssertionError, match=r"expected \[\{\"b\"\}\]\s+got      \[\{\}\]"):
        assert_sharding(Program.parse(text), "result 0", P("b"))
    with pytest.raises(ShardyError, match="unknown axis name"):
        assert_sharding(Program.parse(text), "result 0", P("c"))
