"""Rewrites of single ops: folds, unused inputs of regions, regions that always run once.

before  %0 = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<8xf32>) -> tensor<8xf32>
        %1 = chlo.mulhi %constant, %x
after   %0 = chlo.constant dense<1.0> : tensor<8xf32>
        %1 = chlo.mulhi %x, %constant

MLIR applies folds with whatever patterns it is given, so they have no label and always apply.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, cast

from xdsl.ir import Attribute, Operation
from xdsl.traits import Commutative

from shardy_py.mlir.dialects.chlo import op_class
from shardy_py.mlir.dialects.sdy import ManualComputationOp, OpShardingRuleAttr, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.sdy.interfaces import manual_axes
from shardy_py.mlir.dialects.stablehlo import CaseOp
from shardy_py.mlir.dialects.traits import constant_of, is_foldable_constant
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import build_operation, inline_region, operands_of, replace_operand
from shardy_py.mlir.movements import replace_op
from shardy_py.mlir.plain import plain, tensor_type
from shardy_py.mlir.symbols import meshes_of, module_of
from shardy_py.mlir.text.builtin_attributes import is_complex, is_integral
from shardy_py.mlir.text.dense import element_size, make_dense, store_integer
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.mlir.typed import element_type_of, property_of
from shardy_py.passes.rewrites.driver import Rewrite
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import common_mesh, resolve


def _remove_unused_inputs(op: Operation) -> bool:
    block = op.regions[0].blocks[0]
    used = [argument.first_use is not None for argument in block.args]
    if all(used):
        return False
    shardings = _shardings(op, "in_shardings")
    for argument in [a for a in block.args if a.first_use is None]:
        block.erase_arg(argument)
    op.operands = [value for value, is_used in zip(operands_of(op), used, strict=True) if is_used]
    kept = tuple(sharding for sharding, is_used in zip(shardings, used, strict=True) if is_used)
    op.properties["in_shardings"] = TensorShardingPerValueAttr(kept)
    return True


def _inline_over_axes_of_size_one(op: Operation) -> bool:
    shardings = (*_shardings(op, "in_shardings"), *_shardings(op, "out_shardings"))
    if shardings:
        mesh = common_mesh(shardings, meshes := meshes_of(module_of(op)))
        sizes = resolve(mesh, meshes).sizes if mesh is not None else {}
        if prod(sizes.get(axis, 1) for axis in manual_axes(op)) != 1:
            return False
    inline_region(op, op.regions[0], operands_of(op))
    return True


def _inline_chosen_branch(op: Operation) -> bool:
    index = constant_of(operands_of(op)[0])
    if index is None or not is_foldable_constant(index):
        return False
    number = int(next(iter(cast(Any, index.properties["value"]).get_values())))
    if not 0 <= number < len(op.regions):
        return False
    inline_region(op, op.regions[number])
    return True


def _shardings(op: Operation, name: str) -> tuple[TensorSharding, ...]:
    return property_of(op, name, TensorShardingPerValueAttr).data


REGION_REWRITES: tuple[Rewrite, ...] = (
    Rewrite(ManualComputationOp, _remove_unused_inputs),
    Rewrite(ManualComputationOp, _inline_over_axes_of_size_one),
    Rewrite(CaseOp, _inline_chosen_branch),
)


def put_constants_last(op: Operation) -> bool:
    """Swaps the operands of a binary op if only the first is a constant; returns whether it did."""
    operands = operands_of(op)
    if len(operands) != 2 or constant_of(operands[0]) is None or constant_of(operands[1]) is not None:
        return False
    replace_operand(op, 0, operands[1])
    replace_operand(op, 1, operands[0])
    if operands[0].type != operands[1].type:
        _swap_operands_of_rule(op)
    return True


def _swap_operands_of_rule(op: Operation) -> None:
    """Swaps the mappings of the rule that an op has: it was written for the operands before.

    Shardy leaves the rule, and refuses the op if its ranks or sizes no longer fit. Operands of one type
    always fit, and keep the rule as it is, as there.
    """
    attribute = op.attributes.get(RULE)
    if isinstance(attribute, OpShardingRuleAttr):
        rule = attribute.data
        op.attributes[RULE] = OpShardingRuleAttr(replace(rule, operands=rule.operands[::-1]))


def _fold_constant_like(op: Operation) -> bool:
    """Makes the constant in place; it is hoisted with all others in the next round."""
    tensor = tensor_type(operands_of(op)[0].type)
    type_ = op.results[0].type
    element = element_type_of(type_)
    if tensor is None or None in tensor.shape:
        return False
    value = make_dense(type_, _bytes(plain(op.properties["value"]), element))
    replace_op(op, build_operation(op_class("constant"), (), (type_,), {"value": value}, {}, op.location))
    return True


def _bytes(number: complex, element: Attribute) -> bytes:
    if is_complex(element):
        return b"".join(_bytes(part, element.element_type) for part in (number.real, number.imag))
    if is_integral(element):
        return store_integer(int(number.real), element)
    return FORMATS[element.name].encode(number.real).to_bytes(element_size(element), "little")


FOLDS: tuple[Rewrite, ...] = (
    Rewrite(op_class("constant_like"), _fold_constant_like),
    Rewrite(Commutative, put_constants_last, reads_few=True),
)
