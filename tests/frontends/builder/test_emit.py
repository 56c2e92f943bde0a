"""Any op by its name and attributes: what does not fit, ops of other dialects, rules of custom calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator

from shardy_py.api import Mesh, P, Program, ShardyError, propagate
from shardy_py.frontends import builder
from shardy_py.frontends.builder import Argument, build, emit, ops, tensor
from shardy_py.mlir.dialects import register_dialect
from shardy_py.mlir.dialects.sdy import LoopDataFlow
from shardy_py.propagation.rules import einsum_rule

X = tensor((8, 16))
THREE: Any = 3
SIZES: Any = (8, 16)
BODY: Any = abs


@irdl_op_definition
class TurnOp(IRDLOperation):
    """Runs its region a number of times."""

    name = "turns.turn"
    start = var_operand_def(TensorType)
    times = opt_prop_def(IntegerAttr)
    end = var_result_def(TensorType)
    body = region_def("single_block")
    traits = traits_def(LoopDataFlow())


@irdl_op_definition
class OpaqueOp(IRDLOperation):
    """Nothing is known of it."""

    name = "turns.opaque"
    value = operand_def(TensorType)
    result = result_def(TensorType)


@irdl_op_definition
class EndOp(IRDLOperation):
    """Ends the region."""

    name = "turns.end"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator())


@pytest.fixture(scope="module")
def turns() -> None:
    """The dialect, registered."""
    register_dialect(Dialect("turns", [TurnOp, OpaqueOp, EndOp]))


MISUSE: tuple[tuple[Callable[..., Any], str], ...] = (
    (lambda x: emit("clamp", x), "'stablehlo.clamp' op expected 3 operands, but found 1"),
    (lambda x: emit("concatenate", dimension=0), "expected 1 or more operands, but found 0"),
    (lambda x: emit("while", x), "'stablehlo.while' op expected 2 regions"),
    (lambda x: emit("tanh", x, results=[X, X]), "'stablehlo.tanh' op requires one result"),
    (lambda x: emit("transpose", x), "requires attribute 'permutation'"),
    (lambda x: emit("tanh", x, results=[SIZES]), r"expected a type such as .*got \(8, 16\)"),
    (lambda x: emit("tanh", x, results=THREE), r"expected a list of types such as .*got 3"),
    (lambda x: emit("tanh", x, results="bf16"), "of stablehlo.tanh is not inferred"),
    (lambda x: emit("convert", x), r"pass results= \(an element type, or types\)"),
    (lambda x: emit("map", x, dimensions=(0, 1), regions=[BODY]), "expected regions of stablehlo.map"),
    (lambda x: emit("slice", x, start_indices=(0,), limit_indices=(1, 2), strides=(1, 1)), "same size"),
    (lambda x: emit("complex", *[emit("complex", x, x)[0]] * 2), "operand #0 must be .*32/64-bit float"),
    (lambda x: emit("concatenate", x, dimension=2**70), "'dimension' of stablehlo.concatenate: expected int"),
    (lambda x: emit("tanh", x, result_accuracy=1.5), "neither a ResultAccuracy nor a mapping of its fields"),
    (lambda x: ops.gather(x, x, {"dims": 1}, (1,)), "unknown field dims: expected one of offset_dims, "),
    (lambda x: ops.gather(x, x, {"offset_dims": 1}, (1,)), "'dimension_numbers' of stablehlo.gather: "),
    (
        lambda x: emit("no.op", x, results=X),
        "unknown op 'no.op'; register its dialect with .*register_dialect",
    ),
    (lambda x: emit("chlo.erf", x), "result types of chlo.erf are not inferred"),
    (lambda x: emit("chlo.erf", x, results=X, speed=1), "chlo.erf: unknown attribute 'speed'"),
    (lambda x: emit("chlo.erf", results=X), "'chlo.erf' op requires a single operand"),
    (lambda x: emit("chlo.erf", x, results=tensor((3,))), "requires compatible types for all operands"),
    (lambda x: ops.custom_call("f", [x], X, sharding_rule=THREE), "expected a sharding rule, .*got 3"),
    (lambda x: ops.custom_call("f", [x], X, sharding_rule="i -> i j"), "0th operand has rank 1"),
    (lambda x: emit("chlo.erf", x, results=X, sharding_rule="i j -> i"), "0th result has rank 1"),
    (lambda x: builder.region(lambda: x, (), "no.op"), "unknown terminator 'no.op'; register its dialect"),
)


@pytest.mark.parametrize(("function", "message"), MISUSE, ids=[message for _, message in MISUSE])
def test_misuse(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(ShardyError, match=message) as caught:
        build(function, X)
    assert caught.value.diagnostics[0].where is not None


def test_ops_of_other_dialects() -> None:
    def whole(x: Any) -> Any:
        (y,) = emit("chlo.erf", x, results=x.type)
        attributes: dict[str, Any] = {"mhlo.frontend_attributes": {"speed": "high"}}
        return emit("stablehlo.tanh", y, **attributes)

    text = build(whole, X).text()
    assert "chlo.erf %arg0 : tensor<8x16xf32> -> tensor<8x16xf32>" in text
    assert 'stablehlo.tanh %0 {mhlo.frontend_attributes = {speed = "high"}}' in text


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("name", ["turns", "stablehlo", "arith"])
def test_a_dialect_is_registered_once(name: str) -> None:
    with pytest.raises(ShardyError, match=f"there is a dialect '{name}' already"):
        register_dialect(Dialect(name, [EndOp]))


@pytest.mark.usefixtures("turns")
def test_an_op_of_a_user_s_own() -> None:
    def whole(x: Any) -> Any:
        body = builder.region(ops.tanh, [x.type], "turns.end")
        return emit("turns.turn", x, results=x.type, regions=[body], times=3)

    program = build(whole, Argument(X, P("a", None)), mesh=Mesh.of(a=2))
    assert Program.parse(program.text()).text() == program.text()
    assert "times = 3 : i64" in program.text()
    assert str(propagate(program)["result 0"].sharding) == '<@mesh, [{"a"}, {}]>'


@pytest.mark.parametrize(
    ("rule", "result", "expected"),
    [
        (None, X, "None"),
        ("i j -> i j", X, '<@mesh, [{"a"}, {"b"}]>'),
        (partial(einsum_rule, "i j -> i", reduction=["j"]), tensor((8,)), '<@mesh, [{"a"}]>'),
        (einsum_rule("i j -> j i", [(8, 16)], [(16, 8)]), tensor((16, 8)), '<@mesh, [{"b"}, {"a"}]>'),
    ],
)
@pytest.mark.parametrize(
    ("name", "attributes"), [("custom_call", {"call_target_name": "mine"}), ("turns.opaque", {})]
)
@pytest.mark.usefixtures("turns")
def test_shardings_pass_by_the_rule(
    name: str, attributes: Any, rule: Any, result: Any, expected: str
) -> None:
    program = build(
        lambda x: emit(name, x, results=result, sharding_rule=rule, **attributes),
        Argument(X, P("a", "b")),
        mesh=Mesh.of(a=2, b=4),
    )
    assert str(propagate(program)["result 0"].sharding) == expected


@pytest.mark.parametrize("size", [None, 16])
def test_manual_computations_of_sizes_not_known(size: int | None) -> None:
    def whole(x: Any) -> Any:
        return builder.manual_computation(ops.tanh, [x], [P("a", "b")], [P("a", "b")], ["a", "b"])

    program = build(whole, tensor((None, size)), mesh=Mesh.of(a=2, b=4))
    assert program["result 0"].shape == (None, size)
    assert program.values.of_op("tanh")[0].shape == (None, None if size is None else 4)
