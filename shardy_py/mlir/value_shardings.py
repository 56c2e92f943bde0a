"""Reading and writing the shardings of values, of functions, and of calls.

The sharding of a value may be held elsewhere: by the data-flow edge of which it is a target, or by the
attributes of the function whose argument it is. Not here: the places (`holders.py`), all shardings of a
module (`sharding_walk.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ShapedType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from shardy_py.mlir.data_flow import edge_of_target, owner_of_target
from shardy_py.mlir.dialects.sdy import PropagationBarrierOp
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingPerValueAttr
from shardy_py.mlir.dialects.traits import data_flow, data_flow_trait
from shardy_py.mlir.holders import (
    SHARDING,
    Holder,
    Place,
    attribute_list_shardings,
    read,
    sharding_attributes,
    write_all,
)
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import dictionaries_in, function_type_of, index_of
from shardy_py.ops import TABLE, Control
from shardy_py.sharding import TensorSharding

Shardings = tuple[TensorSharding, ...]


def sharding_of(value: SSAValue) -> TensorSharding | None:
    """The sharding of `value`; None if it has none or cannot have one."""
    if type(value) is OpResult and holds_its_own(value.op.__class__):  # nearly all: without holders
        given = value.op.attributes.get(SHARDING)
        data = given.data if isinstance(given, TensorShardingPerValueAttr) else ()
        return data[value.index] if value.index < len(data) else None
    holder = holder_of(value)
    return read(holder) if holder is not None else None


def set_sharding(value: SSAValue, sharding: TensorSharding) -> None:
    """Set the sharding of `value`, if it can have one."""
    set_value_shardings([(value, sharding)])


def set_value_shardings(changes: Iterable[tuple[SSAValue, TensorSharding]]) -> None:
    """Set the shardings of values that can have one; those of the results of one op together."""
    held = ((holder_of(value), sharding) for value, sharding in changes)
    write_all((holder, sharding) for holder, sharding in held if holder is not None)


def holder_of(value: SSAValue) -> Holder | None:
    """The place of the sharding of `value`; None for block arguments that no sharding reaches."""
    edge = edge_of_target(value)
    return own_holder(value) if edge is None else Holder(Place.PROPERTY, edge)


def shardable_value(value: SSAValue) -> SSAValue | None:
    """The value that holds the sharding of `value`: its data-flow edge, owner, or itself; None if none."""
    edge = edge_of_target(value)
    if edge is not None:
        return edge.results[0]
    if isinstance(value, OpResult):
        return value
    parent = cast(Block, value.owner).parent_op()
    if parent is None or parent.name == FuncOp.name:
        return value
    return owner_of_target(value) if data_flow(parent) is not None else None


def own_holder(value: SSAValue) -> Holder | None:
    """The place of the sharding of `value`, ignoring data-flow edges."""
    if isinstance(value, OpResult):
        return _result_holder(value)
    block = value.owner
    assert isinstance(block, Block)
    parent = block.parent_op()
    if parent is None:
        return None
    index: int = index_of(value)
    if parent.name == FuncOp.name:
        return Holder(Place.ARGUMENT, parent, index)
    if TABLE[parent.name].control is Control.ASYNC:
        return holder_of(operands_of(parent)[index])
    if data_flow(parent) is None:
        return None
    owner = owner_of_target(value)
    if isinstance(owner, OpResult):
        return _result_holder(owner)
    return Holder(Place.INNER_ARGUMENT, parent, index) if owner is not None else None


def _result_holder(result: OpResult) -> Holder:
    op = result.op
    if data_flow(op) is None and sharding_attributes(type(op)):
        return Holder(Place.PROPERTY, op)
    return Holder(Place.OUTER_RESULT if data_flow(op) is not None else Place.RESULT, op, result.index)


def set_shardings(op: Operation, shardings: Shardings) -> None:
    """Set the attribute `sdy.sharding` of `op`, one sharding per result."""
    op.attributes[SHARDING] = TensorShardingPerValueAttr(shardings)


def before_barriers(value: SSAValue, known: Mapping[SSAValue, SSAValue] = MappingProxyType({})) -> SSAValue:
    """The value before all propagation barriers that define `value`; `known`: those of some results."""
    while isinstance(value, OpResult) and isinstance(value.op, PropagationBarrierOp):
        found = known.get(value)
        if found is not None:
            return found
        value = operands_of(value.op)[0]
    return value


@lru_cache(maxsize=4096)
def holds_its_own(op_class: type[Operation]) -> bool:
    """Returns whether ops of a class hold the shardings of their results in `sdy.sharding`."""
    return data_flow_trait(op_class) is None and not sharding_attributes(op_class)


class ShardingReader:
    """Reads shardings of many values fast; arguments of a function are read together.

    While it is used, no barrier whose result it was asked for through barriers gets another operand.
    """

    def __init__(self) -> None:
        self._arguments: dict[int, tuple[Attribute, tuple[TensorSharding | None, ...]]] = {}
        self._before: dict[SSAValue, SSAValue] = {}

    def of(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of `value`, as `sharding_of`."""
        if type(value) is OpResult:  # faster than isinstance: an ABC
            op = value.op
            if holds_its_own(op.__class__):
                given = op.attributes.get(SHARDING)
                return given.data[value.index] if isinstance(given, TensorShardingPerValueAttr) else None
        elif isinstance(value, BlockArgument):
            function = value.owner.parent_op()
            if isinstance(function, FuncOp):
                return self._argument(function, value.index)
        return sharding_of(value)

    def through_barriers(self, value: SSAValue) -> TensorSharding | None:
        """The sharding of the value before all propagation barriers that define `value`."""
        found = before_barriers(value, self._before)
        if found is not value:
            self._before[value] = found
        return self.of(found)

    def _argument(self, function: Operation, index: int) -> TensorSharding | None:
        attributes = function.properties.get("arg_attrs")
        if attributes is None:
            return None
        known = self._arguments.get(id(function))
        if known is None or known[0] is not attributes:
            known = self._arguments[id(function)] = (attributes, attribute_list_shardings(attributes))
        return known[1][index]


# ---------------------------------------------------------------------- functions


def function_argument_shardings(function: Operation, symbols: Symbols) -> Shardings | None:
    """The shardings of the arguments, open where there is none; None if all are absent or maximal."""
    return _completed(function, "arg_attrs", function_type_of(function).inputs.data, symbols)


def function_result_shardings(function: Operation, symbols: Symbols) -> Shardings | None:
    """The shardings of the results, open where there is none; None if all are absent or maximal."""
    return _completed(function, "res_attrs", function_type_of(function).outputs.data, symbols)


def _completed(
    function: Operation, name: str, types: tuple[Attribute, ...], symbols: Symbols
) -> Shardings | None:
    given = attribute_list_shardings(function.properties.get(name))
    resolved = ((s.mesh, symbols.mesh(s.mesh)) for s in given if s is not None)
    mesh = next((name for name, mesh in resolved if mesh is None or not mesh.is_maximal), None)
    if mesh is None:
        return None
    return tuple(s or TensorSharding.fully_open(mesh, rank_of(t)) for s, t in zip(given, types, strict=True))


def remove_result_shardings(function: Operation, indices: Iterable[int]) -> None:
    """Remove the shardings of some results of a function, and `res_attrs` if it becomes empty."""
    given = function.properties.get("res_attrs")
    entries = [dict(d.data) for d in dictionaries_in(given)] if given else []
    removed = [entries[index].pop(SHARDING, None) for index in indices] if entries else []
    if any(sharding is not None for sharding in removed):
        del function.properties["res_attrs"]
        if any(entries):
            function.properties["res_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in entries])


# ---------------------------------------------------------------------- types


def rank_of(type_: Attribute) -> int:
    """The rank of a shaped type, 0 for any other type."""
    return type_.get_num_dims() if isinstance(type_, ShapedType) else 0


def has_static_shape(type_: Attribute) -> bool:
    """Returns whether all dimensions of a type are static; False for types without a shape, as tokens."""
    return isinstance(type_, ShapedType) and type_.has_static_shape()
