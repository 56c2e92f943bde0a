"""Ops made without xDSL's checks are what `Operation.create` makes, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import StringAttr, UnknownLoc, i1, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import append_arguments, attach_operands, build_operation, changing, find_ops_where
from shardy_py.passes.export.reshards import sharding_constraint_to_reshard
from shardy_py.xla.gspmd.passes.sdy_ops import xla_sdy_export_ops

LOCATION = UnknownLoc()


def described(value: Any) -> Any:
    """A field as something that compares: values by where they come from, the rest as it is."""
    if isinstance(value, SSAValue):
        return (type(value).__name__, value.type, value.index, len(list(value.uses)))  # pyright: ignore
    if isinstance(value, tuple):
        return (type(value).__name__, *map(described, value))
    if isinstance(value, Region):
        return ("Region", len(value.blocks), value.parent is not None)
    return value if not isinstance(value, Operation | Block) else type(value).__name__


def fields(op: Operation, names: set[str]) -> dict[str, Any]:
    return {name: described(getattr(op, name)) for name in names - {"_operand_uses"}}


def test_same_fields() -> None:
    properties, attributes = {"a": StringAttr("x")}, {"b": StringAttr("y")}
    for result_types in ((), (i32,), (i32, i1)):
        for count in (0, 1, 3):
            ours_block, theirs_block = Block(arg_types=[i32]), Block(arg_types=[i32])
            ours = build_operation(
                AnyOp,
                [ours_block.args[0]] * count,
                result_types,
                properties.copy(),
                attributes.copy(),
                LOCATION,
                ours_block,
                [Region(Block())],
            )
            theirs = AnyOp.create(
                operands=[theirs_block.args[0]] * count,
                result_types=result_types,
                properties=properties.copy(),
                attributes=attributes.copy(),
                regions=[Region(Block())],
            )
            theirs.location = LOCATION
            theirs_block.add_op(theirs)
            names = vars(ours).keys() | vars(theirs).keys()
            assert fields(ours, names) == fields(theirs, names)
            for result, expected in zip(ours.results, theirs.results, strict=True):
                names = (vars(result).keys() | vars(expected).keys()) - {"op", "first_use"}
                assert [getattr(result, n) for n in names] == [getattr(expected, n) for n in names]
            ours_uses = [(use.operation is ours, use.index) for use in ours_block.args[0].uses]
            assert ours_uses == [(use.operation is theirs, use.index) for use in theirs_block.args[0].uses]
            for use, expected in zip(ours._operand_uses, theirs._operand_uses, strict=True):  # pyright: ignore
                assert use.index == expected.index
                assert (use._prev_use is None) == (expected._prev_use is None)  # pyright: ignore
                assert (use._next_use is None) == (expected._next_use is None)  # pyright: ignore


def test_ops_stand_in_order_and_can_be_erased() -> None:
    block = Block(arg_types=[i32])
    made = [build_operation(AnyOp, [block.args[0]], [i32], {}, {}, LOCATION, block) for _ in range(3)]
    assert list(block.ops) == made
    made[1].detach()
    made[1].erase()
    assert list(block.ops) == [made[0], made[2]]
    assert sorted(use.operation is made[2] for use in block.args[0].uses) == [False, True]


def test_arguments() -> None:
    block = Block(arg_types=[i32])
    made = append_arguments(block, [(i1, LOCATION), (i32, LOCATION)])
    assert [argument.index for argument in block.args] == [0, 1, 2]
    assert list(block.args[1:]) == made
    assert all(argument.owner is block for argument in made)


def test_operands_given_later() -> None:
    ours_block, theirs_block = Block(arg_types=[i32, i1]), Block(arg_types=[i32, i1])
    for block in (ours_block, theirs_block):
        block.add_op(AnyOp.create(operands=[block.args[0]]))
    ours = build_operation(AnyOp, (), (i32,), {}, {}, LOCATION, ours_block)
    attach_operands(ours, [ours_block.args[0], ours_block.args[1], ours_block.args[0]])
    theirs = AnyOp.create(result_types=(i32,))
    theirs_block.add_op(theirs)
    theirs.operands = [theirs_block.args[0], theirs_block.args[1], theirs_block.args[0]]
    assert described(tuple(ours.operands)) == described(tuple(theirs.operands))
    for ours_value, theirs_value in zip(ours_block.args, theirs_block.args, strict=True):
        found, expected = (
            [(use.operation is op, use.index) for use in value.uses]
            for value, op in ((ours_value, ours), (theirs_value, theirs))
        )
        assert found == expected
    ours.operands[1].replace_all_uses_with(ours_block.args[0])
    assert len(list(ours_block.args[0].uses)) == 4
    ours.drop_all_references()
    assert len(list(ours_block.args[0].uses)) == 1


def test_ops_of_wanted_classes_are_found_in_program_order() -> None:
    module = parse_module(
        """
        func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
          %0 = stablehlo.abs %a : tensor<8xf32>
          %1:2 = stablehlo.optimization_barrier %0, %a : tensor<8xf32>, tensor<8xf32>
          %2 = stablehlo.abs %1#0 : tensor<8xf32>
          return %2 : tensor<8xf32>
        }
        """
    )
    asked: list[str] = []

    def is_wanted(op: Operation) -> bool:
        asked.append(op.name)
        return op.name != "stablehlo.abs"

    found = [op.name for op in find_ops_where(module, is_wanted)]
    assert found == ["func.func", "stablehlo.optimization_barrier", "func.return"]
    assert asked == ["func.func", "stablehlo.abs", "stablehlo.optimization_barrier", "func.return"]


@pytest.mark.parametrize("count", [2, 40])
def test_operands_set_together(count: int) -> None:
    """Uses change at once, newest first; operands of an op with many when the block ends."""
    block = Block(arg_types=[i32, i32])
    old, new = block.args
    op = build_operation(AnyOp, [old] * count, (), {}, {}, LOCATION, block)
    with ir.operands_set_together() as changes:
        for index in range(count - 1):
            ir.replace_operand(op, index, new)
        assert [use.index for use in new.uses] == [*reversed(range(count - 1))]
        assert [use.index for use in old.uses] == [count - 1]
        assert bool(changes) is (count > 2)
    assert tuple(op.operands) == (new,) * (count - 1) + (old,)


@pytest.mark.parametrize("convert", [sharding_constraint_to_reshard, xla_sdy_export_ops])
def test_an_op_with_many_operands_is_copied_once(monkeypatch: pytest.MonkeyPatch, convert: Any) -> None:
    count = 50
    lines = [f'  %{i} = sdy.sharding_constraint %a <@mesh, [{{"x"}}]> : tensor<8xf32>' for i in range(count)]
    types = ", ".join(["tensor<8xf32>"] * count)
    returned = f"  return {', '.join(f'%{i}' for i in range(count))} : {types}"
    head = f'sdy.mesh @mesh = <["x"=2]>\nfunc.func @main(%a: tensor<8xf32>) -> ({types}) {{'
    module = parse_module("\n".join([head, *lines, returned, "}"]))
    copied: list[int] = []

    def copy(values: Any) -> Any:
        copied.append(len(values))
        return made(values)

    made = changing.SSAValues
    monkeypatch.setattr(changing, "SSAValues", copy)
    convert(module)
    assert copied.count(count) == 1
    assert "sharding_constraint" not in print_module(module)
