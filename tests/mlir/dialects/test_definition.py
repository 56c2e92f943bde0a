"""Rows become IRDL classes and forms."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, f32, i64
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from shardy_py.mlir.dialects.definition import OpRow, Slot, make_class, slots
from shardy_py.mlir.dialects.kinds import KINDS, Notation
from shardy_py.mlir.dialects.op_table import OpTable
from shardy_py.mlir.dialects.stablehlo import op_class
from shardy_py.mlir.dialects.template import typed
from shardy_py.mlir.text.type_reader import ranked_tensor

TENSOR = ranked_tensor((2, 3), f32)


def test_slots() -> None:
    assert slots("lhs rest* kind?:index limit:i64=-1") == (
        Slot("lhs"),
        Slot("rest", many=True),
        Slot("kind", optional=True, kind="index"),
        Slot("limit", kind="i64", default="-1"),
    )
    with pytest.raises(ValueError, match="invalid slot 'a-b'"):
        slots("a-b")


def test_names_that_every_op_has_get_an_underscore() -> None:
    row = OpRow("demo(operands* results) <name:string>")
    made = make_class(row, Notation("demo", KINDS))
    assert [slot.accessor for slot in (*row.operand_slots, *row.attribute_slots)] == [
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
    assert [name for name, kind in KINDS.items() if kind.accepts(number)] == [
        "any",
        "typed",
        "i64",
        "index",
        "count",
    ]
    assert [name for name, kind in KINDS.items() if kind.accepts(minus)] == ["any", "typed", "i64"]


def test_a_template_that_names_nothing_of_the_row_is_refused() -> None:
    table = OpTable([OpRow("demo(input) -> result", form=typed(" $other"))], Notation("demo", KINDS))
    with pytest.raises(ValueError, match="other"):
        table.syntax("demo.demo")
