"""Rows become IRDL classes and forms."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, f32, i64
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.dialects import kinds as k
from shardy_py.mlir.dialects.definition import OpRow, Slot, filled, make_class, many, optional, slots
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.template import typed
from shardy_py.mlir.text.type_reader import ranked_tensor

TENSOR = ranked_tensor((2, 3), f32)


def test_slots() -> None:
    assert slots(lhs=k.ANY_TYPE, rest=many(k.ANY_TYPE)) == (
        Slot("lhs", k.ANY_TYPE),
        Slot("rest", k.ANY_TYPE, many=True),
    )
    assert slots(kind=optional(k.INDEX), limit=filled(k.I64, -1)) == (
        Slot("kind", k.INDEX, optional=True),
        Slot("limit", k.I64, default=IntegerAttr(-1, i64)),
    )


def test_names_that_every_op_has_get_an_underscore() -> None:
    row = OpRow(
        "demo",
        operands=slots(operands=many(k.ANY_TYPE), results=k.ANY_TYPE),
        attributes=slots(name=k.STRING),
    )
    made = make_class(row, "demo")
    assert [slot.accessor for slot in (*row.operands, *row.attributes)] == [
        "operands_",
        "results_",
        "name_",
    ]
    assert "name" in made.get_irdl_definition().properties


def test_operations_are_built_and_verified_as_any_of_xdsl() -> None:
    (value,) = test.TestOp(result_types=[TENSOR]).results
    permutation = DenseArrayBase.from_list(i64, [1, 0])
    op = op_class("transpose").create(
        operands=[value], result_types=[ranked_tensor((3, 2), f32)], properties={"permutation": permutation}
    )
    op.verify()
    assert op.operand is value  # pyright: ignore[reportAttributeAccessIssue]
    assert op.permutation is permutation  # pyright: ignore[reportAttributeAccessIssue]
    assert op.has_trait(Pure) is False
    assert op_class("constant").has_trait(Pure)


@pytest.mark.parametrize(
    ("properties", "message"),
    [({}, "permutation"), ({"permutation": IntegerAttr(1, i64)}, "i64 dense array attribute")],
)
def test_what_the_row_says_is_verified(properties: dict[str, IntegerAttr], message: str) -> None:
    (value,) = test.TestOp(result_types=[TENSOR]).results
    op = op_class("transpose").create(operands=[value], result_types=[TENSOR], properties=dict(properties))
    with pytest.raises(VerifyException, match=message):
        op.verify()


def test_kinds_accept_what_they_say() -> None:
    number, minus = IntegerAttr(3, i64), IntegerAttr(-1, i64)
    kinds = {name: kind for name, kind in vars(k).items() if isinstance(kind, k.AttributeKind)}
    accepting = [name for name, kind in kinds.items() if kind.accepts(number)]
    assert accepting == ["ANY", "TYPED", "I64", "INDEX", "COUNT"]
    assert [name for name, kind in kinds.items() if kind.accepts(minus)] == ["ANY", "TYPED", "I64"]


def test_a_template_that_names_nothing_of_the_row_is_refused() -> None:
    table = OpTable("demo", [OpRow("demo", operands=slots(input=k.ANY_TYPE), form=typed(" $other"))])
    with pytest.raises(ValueError, match="other"):
        table.syntax("demo.demo")
