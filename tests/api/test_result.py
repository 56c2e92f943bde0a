"""Results of propagation: values, followed and looked up; what would be if."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from shardy_py.api import Mesh, Options, P, Program, Result, ShardyError, propagate
from shardy_py.passes.pipelines import PROPAGATION_PIPELINE
from shardy_py.passes.propagate.auto_partition import auto_partitioner
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
    with pytest.raises(ShardyError, match="has no sharding: every device holds the whole tensor"):
        bare.device_slices("out")


def test_what_if(result: Result) -> None:
    comparison = result.what_if({"x": P(), "params['w']": P()})
    assert [change.name for change in comparison.changes] == ["%arg0", "%arg1", "%0", "%1", "result 0"]
    assert "[model.py:7:3 jit(f)/dot]" in str(comparison)
    assert repr(comparison) == "<Comparison: 5 changed>"
    assert repr(comparison.changes[0].entry) == "<ValueEntry %arg0 of func.func>"
    assert str(result.what_if({})) == "no differences"


def test_options() -> None:
    program = Program.parse(MATMUL).annotate({"x": P(None, "data"), "out": P("model", "data")})
    text = propagate(program, Options(enable_insert_explicit_collectives=True)).text()
    assert "sdy.all_" in text
    with pytest.raises(
        ShardyError, match="propagation_strategy: unknown value 'wild': expected one of 'basic', "
    ):
        Options(propagation_strategy="wild")


CALLS = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @one = <[], device_ids=[1]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> tensor<8x8xf32> {
  %0 = func.call @f(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = func.call @f(%1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  %4 = sdy.sharding_constraint %3 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
func.func private @f(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


def test_calls_and_constraints_are_followed() -> None:
    program = Program.parse(CALLS)
    found = propagate(program)
    main = [value for value in program.values if value.function == "main"]
    shardings = {str(value): str(found[value].sharding) for value in main}
    assert shardings["%0"] == '<@mesh, [{"x"}, {}]>'
    assert shardings["%2"] == shardings["%3"] == '<@mesh, [{}, {"x"}]>'
    assert shardings["%4"] == '<@mesh, [{"y"}, {}]>'
    changed = {change.name for change in found.what_if({"%arg0": P("y")}).changes}
    assert {"%0", "%1"} <= changed
    unrecorded = propagate(program, record=False)
    assert {str(value): str(unrecorded[value].sharding) for value in main} == shardings


def test_constraints_are_followed_into_collectives() -> None:
    program = Program.parse(CALLS).annotate({"%3": None, "%4": P(None, "y")})
    (constraint,) = program.values.of_op("sharding_constraint")
    found = propagate(program, Options(enable_insert_explicit_collectives=True))[constraint]
    assert (found.op_name, str(found.sharding)) == ("sdy.collective_permute", '<@mesh, [{}, {"y"}]>')


def test_reshards_that_become_one_are_followed() -> None:
    doubled = CALLS.replace(
        "return %4", '%5 = sdy.reshard %4 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>\n return %5'
    )
    program = Program.parse(doubled)
    found = propagate(program, Options(enable_insert_explicit_collectives=True))
    assert found[program["%4"]] == found[program["%5"]]


CONSTANTS = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %shared = stablehlo.iota dim = 0 : tensor<8x8xf32>
  %alike = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %unused = stablehlo.constant dense<2.0> : tensor<8x8xf32>
  %0 = stablehlo.add %arg0, %shared : tensor<8x8xf32>
  %1 = stablehlo.multiply %0, %alike : tensor<8x8xf32>
  %2 = stablehlo.subtract %1, %alike : tensor<8x8xf32>
  %3 = stablehlo.add %arg1, %shared : tensor<8x8xf32>
  %4 = func.call @f(%arg0) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %5 = func.call @f(%arg1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2, %3, %4, %5 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
func.func private @f(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize("record", [True, False])
def test_copies_of_constants_and_functions(record: bool) -> None:
    result = propagate(Program.parse(CONSTANTS), record=record)
    x, y = '<@mesh, [{"x"}, {}]>', '<@mesh, [{"y"}, {}]>'
    iota, alike, unused = result.source.values[2:5]
    for name in (iota.name, "@f:%arg0", "@f:%0", "@f:result 0"):
        assert [str(value.sharding) for value in result.copies(result.source[name])] == [x, y], name
    assert result.copies(result["%arg1"]) == (result["%arg1"],)
    assert [str(value.sharding) for value in result.copies(alike)] == [x] == [str(result[alike].sharding)]
    assert result.copies(unused) == ()
    with pytest.raises(ShardyError, match="is not in the propagated program: it is unused"):
        result[unused]
    first, second = result.copies(iota)
    with pytest.raises(
        ShardyError, match=rf"has 2 copies with different shardings .*: {first} <@.*, {second} <@.*; look"
    ):
        result[iota]
    with pytest.raises(ShardyError, match="belongs to another program; look it up in this one"):
        result[Program.parse(CONSTANTS)["result 0"]]


@pytest.mark.parametrize("record", [True, False])
def test_changes_are_of_each_use(record: bool) -> None:
    result = propagate(Program.parse(CONSTANTS), record=record)
    iota = result.source.values[2]
    _, second = result.copies(iota)
    changed = [change.name for change in result.what_if({"%arg1": P("x")}).changes]
    assert second.name in changed
    assert changed.count(second.name) == 1
    assert len(changed) == len(set(changed))
    assert "@f_0:%arg0" in changed
    assert "@f:%arg0" not in changed
    assert not result.what_if().changes


THREE_CALLS = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = func.call @f(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f(%arg1) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f(%arg2) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
"""


def test_changes_are_of_each_call() -> None:
    """The third call changes over from the copy that it shared with the second to that of the first."""
    program = Program.parse(THREE_CALLS).annotate({"%arg0": P("x"), "%arg1": P("y"), "%arg2": P("y")})
    changes = propagate(program).what_if({"%arg2": P("x")}).changes
    found = {(change.name, str(change.new_entry)) for change in changes if "@f" in change.name}
    assert found == {("@f_0:%arg0", "@f:%arg0"), ("@f_0:result 0", "@f:result 0")}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.copies("%0"), "expected a Value of the source program, got '%0'; result.source"),
        (lambda r: r.memory("gpu"), "unknown target 'gpu': expected one of 'tpu', 'linear'"),
        (lambda r: r.communication(3), "expected a CostModel, or the text of one, got 3"),
        (lambda r: r.why_not("out", "0", "data"), "expected the number of a dimension, got '0'"),
        (lambda r: r.why_not("out", 0, 3), "expected an axis such as .*, got 3"),
        (lambda r: r.what_if(mesh="x"), "expected a Mesh such as .*, got 'x'"),
        (lambda r: r.what_if(mesh={"@m": Mesh.of()}), "unknown mesh '@m': expected '@mesh'"),
        (lambda r: propagate(r.source, cast(Any, {})), "expected Options such as .*, got {}"),
        (
            lambda r: Options(conservative_propagation=cast(Any, "no")),
            "Options, conservative_propagation: expected a value like False, got 'no'",
        ),
    ],
)
def test_arguments(result: Result, call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call(result)


def test_another_mesh_takes_the_place_of_the_only_one() -> None:
    larger = Mesh.of(data=8, model=2)
    program = Program.parse(MATMUL.replace("@mesh", "@grid")).annotate({"x": P("data")})
    assert propagate(program).what_if(mesh=larger).after["out"].local_shape == (4, 64)
    two = propagate(program.with_mesh(larger, "other"))
    with pytest.raises(ShardyError, match="2 meshes, @other, @grid; pass the new one by name"):
        two.what_if(mesh=larger)
    assert two.what_if(mesh={"@grid": larger}).after["out"].local_shape == (4, 64)


def test_what_if_leaves_the_dump_alone(tmp_path: Path) -> None:
    result = propagate(Program.parse(CALLS), Options(dump_directory=str(tmp_path)))
    dumped = {file: file.read_text() for file in tmp_path.rglob("*.mlir")}
    assert dumped
    result.what_if({"%arg0": P("y")})
    assert {file: file.read_text() for file in tmp_path.rglob("*.mlir")} == dumped


def test_text_of_answers(result: Result) -> None:
    assert repr(result) == "<Result of @main>"
    assert str(result) == result.text()
    # An op is located at jit(f)/dot.
    heading = "Communication of XLA's SPMD partitioner (partitioner: xla), as partitioned"
    assert str(result.communication()) == f"{heading}\nThe program needs no communication."
    with pytest.raises(ShardyError, match="expected a Program, got 'text'"):
        propagate("text")  # pyright: ignore[reportArgumentType]


def test_numbers_and_keys_that_are_none(result: Result) -> None:
    assert result[0] == result.values[0] == result["x"]  # pyright: ignore[reportArgumentType]
    assert len({result["x"], result["x"], result["out"]}) == 2
    with pytest.raises(ShardyError, match="the name, source location or number of a value, got None"):
        result[None]  # pyright: ignore[reportArgumentType]
    with pytest.raises(IndexError, match="expected a number below 5"):
        result.values[5]


SWITCHES = [option.field_name for option in PROPAGATION_PIPELINE.options if isinstance(option.default, bool)]


@pytest.mark.parametrize("name", SWITCHES)
def test_options_are_those_of_the_pipeline(name: str) -> None:
    program = Program.parse(CALLS.replace("8x8", "7x7"))
    value: dict[str, Any] = {name: not getattr(Options(), name)}
    with auto_partitioner(lambda module: None):
        assert (
            propagate(program, Options(**value)).text()
            == program.run(PROPAGATION_PIPELINE.name, **value).text()
        )


def test_priorities_of_ops_can_be_left_out() -> None:
    program = Program.parse(MATMUL).annotate({"x": P(None, "data"), "out": P("model")})
    calls = [
        call
        for call in Options(run_op_priority_propagation=False).passes()
        if call.row.name == "sdy-user-priority-propagate"
    ]
    assert dict(calls[0].options)["run_op_priority_propagation"] is False
    assert propagate(program, Options(run_op_priority_propagation=False)).text()


def test_answers_print(result: Result) -> None:
    text = str(result.explain("out"))
    assert text.startswith("result 0")
    assert "dim 0 is sharded along data" in text
    reasons = result.why_not("out", 0, "model")
    assert str(reasons).splitlines()[0] == "why is dimension 0 of result 0 (out) not sharded along model?"
    assert reasons[0].message in str(reasons)
    assert str(reasons[0]).startswith(f"{reasons[0].kind}: ")
    with pytest.raises(ShardyError, match="propagation was not recorded"):
        propagate(result.source, record=False).explain("out")


def test_a_bill_is_made_once_a_model() -> None:
    found = propagate(Program.parse(CALLS))
    assert found.communication() is found.communication("tpu-v5p")
    slow = found.communication("tpu-v5p,x=tpu-dcn")
    assert slow is found.communication("tpu-v5p,x=tpu-dcn")
    assert slow.total.bytes == found.communication().total.bytes
    assert slow.total.seconds > found.communication().total.seconds
