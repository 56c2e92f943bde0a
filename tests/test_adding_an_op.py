"""A row in its dialect's table and a row in `ops/` define an op, as CONTRIBUTING.md promises."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32

from shardy_py import pipeline
from shardy_py.builder.ops.elementwise import functions
from shardy_py.dialects import parse_module, print_module, stablehlo, syntax_table
from shardy_py.dialects.definition import OpRow
from shardy_py.dialects.op_table import OpTable
from shardy_py.dialects.stablehlo.verify.elementwise import infer_most_specific
from shardy_py.dialects.stablehlo.verify.traits import COMPATIBLE
from shardy_py.dialects.template import Template
from shardy_py.dialects.traits import is_dead_when_unused
from shardy_py.dialects.type_tails import SAME
from shardy_py.dialects.verification import find_faults
from shardy_py.dialects.verification.rules import rules
from shardy_py.errors import ShardyError
from shardy_py.ops import TABLE, OpSpec
from shardy_py.ops.elementwise import pointwise

ROW = OpRow(
    "no_effect soft_clip(operand:float) <limit?:i64=-1> -> result:float",
    form=Template(" $operand<, limit = $limit>", SAME),
    verify=(COMPATIBLE,),
    infer=infer_most_specific,
)

PROGRAM = """\
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.soft_clip %arg0, limit = 3 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


@pytest.fixture(scope="module", autouse=True)
def new_op() -> Iterator[OpTable]:
    """The dialect with one more op."""
    with pytest.raises(ShardyError, match="soft_clip"):
        parse_module(PROGRAM)
    table, name = stablehlo.OPS, "stablehlo.soft_clip"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(table.rows, ROW.name, ROW)
        patch.setitem(table.by_class_name, ROW.class_name, ROW)
        patch.setitem(TABLE, name, OpSpec(name, pointwise, is_elementwise=True))
        _forget_unknown_ops()
        yield table
    _forget_unknown_ops()


def _forget_unknown_ops() -> None:
    syntax_table().forget_unknown_ops()
    rules.cache_clear()


def test_it_is_read_printed_and_verified() -> None:
    module = parse_module(PROGRAM)
    assert print_module(module) == PROGRAM
    assert find_faults(module) == ()
    wrong = parse_module(PROGRAM.replace("f32", "i32"))
    assert [fault.message for fault in find_faults(wrong)] == [
        "'stablehlo.soft_clip' op operand #0 must be ranked tensor of 4/6/8/16/32/64-bit float values, "
        "but got 'tensor<8xi32>'"
    ]


def test_it_has_a_class(new_op: OpTable) -> None:
    op_class = new_op.class_named("SoftClipOp")
    (value,) = test.TestOp(result_types=[TensorType(f32, [8])]).results
    op = op_class(value, limit=3)  # pyright: ignore[reportCallIssue]
    assert op.results[0].type == value.type
    assert op.properties["limit"].value.data == 3  # pyright: ignore
    assert is_dead_when_unused(op)
    assert pickle.loads(pickle.dumps(op_class)) is op_class


def test_shardings_propagate_through_it() -> None:
    text = pipeline.write(pipeline.propagate(pipeline.prepare(pipeline.read(PROGRAM))))
    assert (
        'stablehlo.soft_clip %arg0, limit = 3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"' in text
    )


def test_it_has_a_builder_function() -> None:
    assert functions()["soft_clip"].__doc__ == "`stablehlo.soft_clip` of a tensor."
