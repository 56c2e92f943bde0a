"""The annotations that meet at a collective: by hand, and on real programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py import Program, Result, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.report.explain.explaining import final_sharding
from tests.report.explain.test_why_not import T, argument, arguments, function

DOT = (
    "  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : "
    f"({T}, {T}) -> {T}\n  return %0 : {T}"
)
REVERSE = f"  %0 = stablehlo.reverse %arg0, dims = [0] : {T}\n  return %0 : {T}"
RESULT = f"({T} {{sdy.sharding = #sdy.sharding<@mesh, "
LEFT = "the argument sharding of %arg0 [-:2:17]"
RIGHT = "the argument sharding of %arg1 [-:2:93]"
REPLICATED_RESULT = RESULT + "[{}, {}]>})"

CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "two meet at a product": (
        function(arguments('[{?}, {"x"}]', '[{?}, {"x"}]'), DOT),
        (
            f'"x" on operand 0 is from {LEFT}',
            f'"x" on operand 1, result 0 and result 0 of @main are from {RIGHT}',
        ),
    ),
    "a contraction that both shard": (
        function(arguments('[{?}, {"x"}]', '[{"x"}, {?}]'), DOT, REPLICATED_RESULT),
        (
            f'"x" on operand 0 is from {LEFT}',
            f'"x" on operand 1 is from {RIGHT}',
        ),
    ),
    "a result that is asked for in another way": (
        function(argument(0, '[{"x"}, {}]'), f"  return %arg0 : {T}", RESULT + '[{}, {"x"}]>})'),
        (
            f'"x" on operand 0 is from {LEFT}',
            '"x" on result 0 of @main is from the result sharding of result 0 [-:2:1]',
        ),
    ),
    "a halo": (
        function(argument(0, '[{"x"}, {}]'), REVERSE),
        (f'"x" on operand 0, result 0 and result 0 of @main are from {LEFT}',),
    ),
    "the program asks for it": (
        function(
            argument(0, '[{"x"}, {}]'),
            f"  %0 = sdy.reshard %arg0 <@mesh, [{{}}, {{}}]> : {T}\n  return %0 : {T}",
        ),
        (),
    ),
}


def sides_in(result: Result) -> tuple[str, ...]:
    (use,) = result.communication().sending
    return tuple(map(str, result.sides(use)))


@pytest.mark.parametrize("name", CASES)
def test_what_meets(name: str) -> None:
    text, expected = CASES[name]
    assert sides_in(propagate(Program.parse(text, "-"))) == expected


def test_changing_one_side_ends_the_collective() -> None:
    result = propagate(Program.parse(CASES["two meet at a product"][0]))
    assert result.communication().counts == {"all_gather": 1}
    for value in ("%arg0", "%arg1"):
        assert "all_gather" not in result.what_if({value: None}).after.communication().counts


def test_only_recorded_sides() -> None:
    text = CASES["two meet at a product"][0]
    result = propagate(Program.parse(text), record=False)
    with pytest.raises(ShardyError, match="propagation was not recorded"):
        sides_in(result)
    other = propagate(Program.parse(text))
    (use,) = other.communication().sending
    assert propagate(Program.parse(text)).sides(use) == ()


@pytest.mark.parametrize("program", ["constraints", "embedding_scatter"])
def test_sides_name_what_explain_knows(program: str, corpus: Callable[[str], str]) -> None:
    result = propagate(Program.parse(corpus(program)))
    values = {id(value.entry.value): value for value in result.values}
    for use in result.communication(partitioner="shardy").sending:
        op = None if use.cause.is_explicit else use.cause.made_for
        named = {(side.axis, str(side.annotation)) for side in result.sides(use)}
        for value in () if op is None else op.operands:
            (explanation,) = result.explain(values[id(value)])
            for axis in explanation.axes:
                name = axis.axis.split(":")[0].strip('"')
                known = {(name, str(chain.annotation)) for chain in axis.chains}
                assert known <= named or name not in use.axis_names


@pytest.mark.parametrize("name", ["moe", "constraints", "embedding_scatter"])
def test_every_side_has_its_axis(name: str, corpus: Callable[[str], str]) -> None:
    """The annotation has the axis, and so have the tensors; implicit collectives have a side."""
    result = propagate(Program.parse(corpus(name)))
    for use in result.communication().sending:
        found, op = result.sides(use), use.cause.made_for
        assert found or use.cause.is_explicit, use
        for side in found:
            assert f'"{side.axis}"' in side.annotation.sharding
            assert side.axis in use.axis_names
            for tensor in side.tensors:
                kind, number, *around = tensor.split(" ")
                assert op is not None
                if not around:
                    value = (op.operands if kind == "operand" else op.results)[int(number)]
                    sharding = final_sharding(value)
                    assert sharding is not None
                    assert side.axis in {axis.name for d in sharding.dimensions for axis in d.axes}
