"""Locations that are made when asked for are those that the reader gives when it reads token by token."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from copy import deepcopy

import pytest
from xdsl.dialects import test as dialect
from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc
from xdsl.ir import Operation

from shardy_py.mlir.dialects import parse_module, syntax_table
from shardy_py.mlir.dialects.stablehlo import AddOp
from shardy_py.mlir.ir import convert, keeps_place, walk_pre_order

LINES = "".join(f"  %{i + 1} = stablehlo.add %{i}, %{i} : tensor<8xf32>\n" for i in range(9))
TEXT = f"func.func @f(%0: tensor<8xf32>) {{\n{LINES}  return\n}}\n"


def additions() -> Sequence[Operation]:
    """The ops, but for the last, behind which is another token than behind the others: it is read."""
    return [op for op in walk_pre_order(parse_module(TEXT, "f.mlir")) if isinstance(op, AddOp)][:-1]


def test_locations_are_made_once() -> None:
    for number, op in enumerate(additions()):
        location = op.location
        assert type(location) is FileLineColLoc
        assert (location.filename.data, location.line.data, location.column.data) == ("f.mlir", number + 2, 8)
        assert op.location is location


def test_a_location_that_is_set_takes_precedence() -> None:
    op = additions()[-1]
    assert "location" not in vars(op)
    op.location = UnknownLoc()
    assert op.location == UnknownLoc()


def test_copies_have_the_location() -> None:
    op = additions()[-1]
    assert op.clone().location == deepcopy(op).location == op.location


def test_an_op_of_another_class_has_the_location() -> None:
    op = additions()[-1]
    assert keeps_place(AddOp)
    assert not keeps_place(dialect.TestOp)
    convert(op, dialect.TestOp)
    assert isinstance(op.location, FileLineColLoc)
    assert op.location.line.data == 9


def test_an_op_without_place_has_no_location() -> None:
    with pytest.raises(AttributeError):
        _ = object.__new__(AddOp).location
    assert not hasattr(AddOp, "location")


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="how this release stores fields")
def test_fields_stay_in_the_object() -> None:
    """An op that gets a dictionary of its own takes twice the memory."""
    table = syntax_table().op("stablehlo.subtract")
    assert table is not None
    made = [table.op_class.create(operands=(), result_types=()) for _ in range(100)]
    assert all("location" in vars(op) for op in made)
    text = TEXT.replace("add", "subtract")
    op = [op for op in walk_pre_order(parse_module(text)) if type(op) is table.op_class][-2]
    assert sys.getsizeof(vars(op)) < 300
