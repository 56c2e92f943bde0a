"""Truncates the shardings of arguments and results, for callers without padding or sub-axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue

from shardy_py.dialects.sdy.attributes import TensorShardingPerValueAttr
from shardy_py.dialects.traits import data_flow, required_data_flow
from shardy_py.graph.holders import (
    SHARDING,
    Holder,
    Place,
    attribute_list_shardings,
    result_shardings,
    write_all,
)
from shardy_py.graph.movements import Movement, Spot, note
from shardy_py.graph.plain import tensor_type
from shardy_py.graph.symbols import Symbols, functions_of, meshes_of
from shardy_py.ir import find_ops_where
from shardy_py.ops import TABLE
from shardy_py.partition.boundary import evenly_divided, without_sub_axes
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import Meshes, mesh_of


def update_non_divisible_input_output_shardings(module: ModuleOp) -> None:
    """`sdy-update-non-divisible-input-output-shardings`: makes boundary shardings divide dimensions.

    These are arguments and results of functions, results of calls, and data-flow edges of manual
    computations. Each dimension keeps the largest prefix of its axes that divides it.

    on <["x"=2, "y"=2]>
    before  func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
    after   func.func @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    """
    meshes = meshes_of(module)
    known: dict[tuple[int, int], tuple[TensorSharding, TensorSharding, Attribute]] = {}

    def divide(sharding: TensorSharding, type_: Attribute) -> TensorSharding:
        key = (id(sharding), id(type_))
        if key not in known:
            known[key] = (_divided(sharding, type_, meshes), sharding, type_)
        return known[key][0]

    for function in functions_of(module):
        transform_function(function, divide, "sdy-update-non-divisible-input-output-shardings")
    for inner in find_ops_where(module, _keeps_divisible):
        if data_flow(inner) is not None:
            transform_owners(inner, divide, "sdy-update-non-divisible-input-output-shardings")
        else:
            transform_results(inner, divide, "sdy-update-non-divisible-input-output-shardings")


def _keeps_divisible(op: Operation) -> bool:
    """Returns whether results of ops of this class, or owners of their edges, keep divisible shardings."""
    flow = data_flow(op)
    keeps_owners = flow is not None and flow.should_keep_edge_owner_shardings_divisible
    return keeps_owners or isinstance(op, CallOp) or TABLE[op.name].keeps_divisible


def _divided(sharding: TensorSharding, type_: Attribute, meshes: Meshes) -> TensorSharding:
    tensor = tensor_type(type_)
    if tensor is None or None in tensor.shape:
        return sharding
    shape = tuple(size or 0 for size in tensor.shape)
    return evenly_divided(sharding, shape, mesh_of(sharding, meshes))


Change = Callable[[TensorSharding, Attribute], TensorSharding]
"""Returns the new sharding of a value, given its old one and its type."""


def transform_function(function: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings of the arguments and results of `function`, and record it for a pass."""
    write_all(
        (
            *_changes(function, change, Place.ARGUMENT, pass_name),
            *_changes(function, change, Place.FUNCTION_RESULT, pass_name),
        )
    )


def _changes(
    function: Operation, change: Change, place: Place, pass_name: str
) -> Iterator[tuple[Holder, TensorSharding]]:
    is_argument = place is Place.ARGUMENT
    type_ = cast(FunctionType, function.properties["function_type"])
    types: Sequence[Attribute] = (type_.inputs if is_argument else type_.outputs).data
    shardings = attribute_list_shardings(function.properties.get("arg_attrs" if is_argument else "res_attrs"))
    for index, (sharding, value_type) in enumerate(zip(shardings, types, strict=False)):
        if sharding is not None and (new := change(sharding, value_type)) is not sharding:
            holder = Holder(place, function, index)
            block = function.regions[0].first_block
            _note(
                block.args[index] if is_argument and block is not None else holder, sharding, new, pass_name
            )
            yield holder, new


def _note(spot: Spot, old: TensorSharding, new: TensorSharding, pass_name: str) -> None:
    if old is not new and old != new:
        note(Movement(spot, spot, pass_name, old=old, new=new))


def transform_results(op: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings in `sdy.sharding` of `op`."""
    shardings = result_shardings(op)
    if shardings:
        new = _changed(shardings, op.results, change, pass_name)
        op.attributes[SHARDING] = TensorShardingPerValueAttr(new)


def transform_owners(op: Operation, change: Change, pass_name: str) -> None:
    """Change the shardings of the owners of data-flow edges of `op`, as the region sees them."""
    flow = required_data_flow(op)
    for owners, shardings, give in (
        (
            flow.block_argument_edge_owners(op),
            flow.block_argument_edge_owner_shardings(op),
            flow.set_block_argument_edge_owner_shardings,
        ),
        (
            flow.op_result_edge_owners(op),
            flow.op_result_edge_owner_shardings(op),
            flow.set_op_result_edge_owner_shardings,
        ),
    ):
        if shardings:
            give(op, _changed(shardings, owners, change, pass_name))


def _changed(
    shardings: Sequence[TensorSharding], values: Sequence[SSAValue], change: Change, pass_name: str
) -> tuple[TensorSharding, ...]:
    result: list[TensorSharding] = []
    for old, value in zip(shardings, values, strict=True):
        new = change(old, value.type)
        _note(value, old, new, pass_name)
        result.append(new)
    return tuple(result)


def remove_sub_axes_in_input_output_shardings(module: ModuleOp) -> None:
    """`sdy-remove-sub-axes-in-input-output-shardings`: truncates shardings of main at sub-axes.

    Open dimensions are cut before their first sub-axis; closed ones were fixed by the user and stay.

    before  func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2, ?}]>})
    after   func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}]>})
    """
    transform_function(
        Symbols(module).main(),
        lambda sharding, _: without_sub_axes(sharding),
        "sdy-remove-sub-axes-in-input-output-shardings",
    )
