"""The sharding of a value, of the arguments of a function, of its results: reading and writing them.

A value's sharding may be kept elsewhere: on the data-flow edge that it is a target of, in the attributes of
the function whose argument it is. Not here: the places (`holders.py`), all shardings of a module
(`sharding_walk.py`).

    set_sharding(value, sharding_of(other))
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ShapedType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from shardy_py.dialects.sdy.attributes import TensorShardingPerValueAttr
from shardy_py.graph.data_flow import DATA_FLOW, edge_of_target, owner_of_target
from shardy_py.graph.holders import (
    PROPERTY_OF,
    SHARDING,
    Holder,
    Place,
    attribute_list_shardings,
    read,
    write_all,
)
from shardy_py.graph.symbols import Symbols
from shardy_py.ir import operands_of
from shardy_py.sharding import TensorSharding

Shardings = tuple[TensorSharding, ...]


def sharding_of(value: SSAValue) -> TensorSharding | None:
    """The sharding of `value`; None if it has none, or cannot have one."""
    holder = holder_of(value)
    return read(holder) if holder is not None else None


def set_sharding(value: SSAValue, sharding: TensorSharding) -> None:
    """Give `value` a sharding; nothing happens if it cannot have one."""
    holder = holder_of(value)
    if holder is not None:
        write_all([(holder, sharding)])


def holder_of(value: SSAValue) -> Holder | None:
    """The place of the sharding of `value`; None for block arguments that no sharding reaches."""
    edge = edge_of_target(value)
    return own_holder(value) if edge is None else Holder(Place.PROPERTY, edge)


def shardable_value(value: SSAValue) -> SSAValue | None:
    """The value that stands for `value` where shardings are concerned: its edge, its owner, mostly itself."""
    edge = edge_of_target(value)
    if edge is not None:
        return edge.results[0]
    if isinstance(value, OpResult):
        return value
    parent = cast(Block, value.owner).parent_op()
    if parent is None or parent.name == FuncOp.name:
        return value
    return owner_of_target(value) if parent.name in DATA_FLOW else None


def own_holder(value: SSAValue) -> Holder | None:
    """The place of the sharding of `value` as it would be without data-flow edges."""
    if isinstance(value, OpResult):
        return _result_holder(value)
    block = value.owner
    assert isinstance(block, Block)
    parent = block.parent_op()
    if parent is None:
        return None
    index: int = cast(Any, value).index
    if parent.name == FuncOp.name:
        return Holder(Place.ARGUMENT, parent, index)
    if parent.name == "stablehlo.async_start":
        return holder_of(operands_of(parent)[index])
    if parent.name not in DATA_FLOW:
        return None
    owner = owner_of_target(value)
    if isinstance(owner, OpResult):
        return _result_holder(owner)
    return Holder(Place.INNER_ARGUMENT, parent, index) if owner is not None else None


def _result_holder(result: OpResult) -> Holder:
    op = result.op
    if op.name in PROPERTY_OF:
        return Holder(Place.PROPERTY, op)
    return Holder(Place.OUTER_RESULT if op.name in DATA_FLOW else Place.RESULT, op, result.index)


def given_shardings(op: Operation) -> Shardings | None:
    """The shardings in the attribute of `op`, None without the attribute."""
    given = op.attributes.get(SHARDING)
    return given.data if isinstance(given, TensorShardingPerValueAttr) else None


def set_shardings(op: Operation, shardings: Shardings) -> None:
    """Give the results of `op` their shardings, by its attribute."""
    op.attributes[SHARDING] = TensorShardingPerValueAttr(shardings)


# ---------------------------------------------------------------------- functions


def argument_shardings(function: Operation, symbols: Symbols) -> Shardings | None:
    """The shardings of the arguments, open where there is none; None if none says where data lies."""
    return _completed(function, "arg_attrs", _function_type(function).inputs.data, symbols)


def result_shardings(function: Operation, symbols: Symbols) -> Shardings | None:
    """The shardings of the results, open where there is none; None if none says where data lies."""
    return _completed(function, "res_attrs", _function_type(function).outputs.data, symbols)


def _completed(
    function: Operation, name: str, types: tuple[Attribute, ...], symbols: Symbols
) -> Shardings | None:
    given = attribute_list_shardings(function.properties.get(name))
    mesh = next((s.mesh for s in given if s is not None and not _is_maximal(s, symbols)), None)
    if mesh is None:
        return None
    return tuple(s or TensorSharding.fully_open(mesh, rank_of(t)) for s, t in zip(given, types, strict=True))


def _is_maximal(sharding: TensorSharding, symbols: Symbols) -> bool:
    mesh = symbols.mesh(sharding.mesh)
    return mesh is not None and mesh.is_maximal


def remove_result_sharding(function: Operation, index: int) -> None:
    """Take the sharding of a function's result away; empty attributes of all results go with it."""
    given = function.properties.get("res_attrs")
    if given is None:
        return
    entries = [dict(d.data) for d in cast("ArrayAttr[DictionaryAttr]", given).data]
    if entries[index].pop(SHARDING, None) is None:
        return
    if any(entries):
        function.properties["res_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
    else:
        del function.properties["res_attrs"]


def _function_type(function: Operation) -> Any:
    return function.properties["function_type"]


# ---------------------------------------------------------------------- types


def rank_of(type_: Attribute) -> int:
    """The rank of a shaped type, 0 for any other type."""
    return type_.get_num_dims() if isinstance(type_, ShapedType) else 0


def has_static_shape(type_: Attribute) -> bool:
    """Whether every dimension of a value of this type has a fixed size; not so for tokens."""
    return isinstance(type_, ShapedType) and type_.has_static_shape()
