"""The places in the IR that hold shardings, and how they are read and written.

    results of most ops               attribute `sdy.sharding`: one sharding per result
    arguments, results of functions   `sdy.sharding` in `arg_attrs`, `res_attrs`
    edges, constraints, collectives   a property of the op (`ShardingProperty`)
    ops with data-flow edges          where their interface keeps them

`Holder` names one such place. Not here: which value belongs to which place (`slots.py`,
`value_shardings.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ShapedType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardy_py.mlir.dialects.sdy.attributes import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.mlir.dialects.traits import ShardingProperty, data_flow_trait, required_data_flow
from shardy_py.mlir.typed import dictionaries_in, dictionary_at, function_type_of, of_kind
from shardy_py.sharding import TensorSharding

OPENED = {
    "arg_attrs": "mhlo.allow_spmd_sharding_propagation_to_parameters",
    "res_attrs": "mhlo.allow_spmd_sharding_propagation_to_output",
}
"""The attributes of modules made of HLO that tell which shardings of `@main` propagation may extend: a
boolean for each argument or result, or one for all, as the header of HLO has them."""
SHARDING = "sdy.sharding"
RULE = "sdy.sharding_rule"


@lru_cache(maxsize=4096)
def sharding_attributes(op_class: type[Operation]) -> tuple[str, ...]:
    """The attributes and properties of an op that hold shardings, other than `sdy.sharding`."""
    if op_class is FuncOp:
        return ("arg_attrs", "res_attrs")
    trait, flow = op_class.get_trait(ShardingProperty), data_flow_trait(op_class)
    return (() if trait is None else (trait.name,)) + (() if flow is None else flow.sharding_properties)


class Place(Enum):
    """The kinds of places; INNER_ARGUMENT, OUTER_RESULT: owners of data-flow edges that the op lacks."""

    RESULT = 0
    PROPERTY = 1
    ARGUMENT = 2
    FUNCTION_RESULT = 3
    INNER_ARGUMENT = 4
    OUTER_RESULT = 5


_LISTS = {Place.ARGUMENT: "arg_attrs", Place.FUNCTION_RESULT: "res_attrs"}


class Holder(NamedTuple):
    """The place of one sharding on `op`: its kind and its index among those of this kind."""

    place: Place
    op: Operation
    position: int = 0


def function_results(function: Operation, count: int) -> tuple[Holder, ...]:
    """The places of the first `count` results of a function."""
    return tuple(Holder(Place.FUNCTION_RESULT, function, index) for index in range(count))


def read(holder: Holder) -> TensorSharding | None:
    """The sharding at `holder`."""
    op, index = holder.op, holder.position
    match holder.place:
        case Place.RESULT:
            return _at(result_shardings(op), index)
        case Place.PROPERTY:
            return _value(op.properties.get(sharding_attributes(type(op))[0]))
        case Place.ARGUMENT | Place.FUNCTION_RESULT:
            return attribute_list_sharding(op.properties.get(_LISTS[holder.place]), index)
        case Place.INNER_ARGUMENT:
            return required_data_flow(op).block_argument_edge_owner_sharding(op, index)
        case Place.OUTER_RESULT:
            return _at(required_data_flow(op).op_result_edge_owner_shardings(op), index)


def write_only_results(changes: Iterable[tuple[Operation, TensorSharding]]) -> None:
    """Write the shardings of the only results of ops; equal shardings share an attribute."""
    lists: dict[TensorSharding, TensorShardingPerValueAttr] = {}
    by_identity: dict[int, tuple[TensorSharding, TensorShardingPerValueAttr]] = {}
    for op, sharding in changes:
        known = by_identity.get(id(sharding))
        if known is None:
            attribute = lists.setdefault(sharding, TensorShardingPerValueAttr((sharding,)))
            known = by_identity[id(sharding)] = sharding, attribute
        op.attributes[SHARDING] = known[1]


def write_all(changes: Iterable[tuple[Holder, TensorSharding]]) -> None:
    """Write shardings to their places, those of one op together."""
    by_op: dict[tuple[Place, int], tuple[Operation, dict[int, TensorSharding]]] = {}
    for holder, sharding in changes:
        op, place = holder.op, holder.place
        if place is Place.PROPERTY:
            op.properties[sharding_attributes(type(op))[0]] = TensorShardingAttr(sharding)
        else:
            by_op.setdefault((place, id(op)), (op, {}))[1][holder.position] = sharding
    for (place, _), (op, shardings) in by_op.items():
        _write_many(place, op, shardings)


def _write_many(place: Place, op: Operation, shardings: Mapping[int, TensorSharding]) -> None:
    match place:
        case Place.ARGUMENT | Place.FUNCTION_RESULT:
            types = function_type_of(op)
            count = len(types.inputs if place is Place.ARGUMENT else types.outputs)
            name = _LISTS[place]
            count = max(count, 1 + max(shardings))
            op.properties[name] = _with_shardings(op.properties.get(name), count, shardings)
        case Place.INNER_ARGUMENT:
            flow = required_data_flow(op)
            olds = flow.block_argument_edge_owner_shardings(op)
            new = _completed(flow.block_argument_edge_owners(op), olds, shardings)
            flow.set_block_argument_edge_owner_shardings(op, new)
        case Place.OUTER_RESULT:
            flow = required_data_flow(op)
            olds = flow.op_result_edge_owner_shardings(op)
            new = _completed(flow.op_result_edge_owners(op), olds, shardings)
            flow.set_op_result_edge_owner_shardings(op, new)
        case _:
            new = _completed(op.results, result_shardings(op), shardings)
            op.attributes[SHARDING] = TensorShardingPerValueAttr(new)


def result_shardings(op: Operation) -> tuple[TensorSharding, ...]:
    """The shardings in `sdy.sharding` of an op, () if it has none."""
    attribute = op.attributes.get(SHARDING)
    return attribute.data if isinstance(attribute, TensorShardingPerValueAttr) else ()


def attribute_list_shardings(attributes: Attribute | None) -> tuple[TensorSharding | None, ...]:
    """The shardings in `arg_attrs` or `res_attrs`, None for values without; () without the list."""
    return tuple(_value(dictionary.data.get(SHARDING)) for dictionary in _dictionaries(attributes))


def attribute_list_sharding(attributes: Attribute | None, index: int) -> TensorSharding | None:
    """The sharding of one value in `arg_attrs` or `res_attrs`; None without the list or beyond its end."""
    if attributes is None or index >= len(of_kind(attributes, ArrayAttr).data):
        return None
    return _value(dictionary_at(attributes, index).data.get(SHARDING))


def _dictionaries(attributes: Attribute | None) -> Sequence[DictionaryAttr]:
    return () if attributes is None else dictionaries_in(attributes)


def _value(attribute: Attribute | None) -> TensorSharding | None:
    return attribute.data if isinstance(attribute, TensorShardingAttr) else None


def _at(
    shardings: Sequence[TensorSharding] | Sequence[TensorSharding | None], index: int
) -> TensorSharding | None:
    return shardings[index] if index < len(shardings) else None


def _completed(
    values: Sequence[Any], olds: Sequence[TensorSharding], news: Mapping[int, TensorSharding]
) -> tuple[TensorSharding, ...]:
    """A sharding for each value: the new one, the old one, or an open one."""
    mesh = next(iter(news.values())).mesh
    ranks = (v.type.get_num_dims() if isinstance(v.type, ShapedType) else 0 for v in values)
    return tuple(
        news.get(index) or _at(olds, index) or TensorSharding.fully_open(mesh, rank)
        for index, rank in enumerate(ranks)
    )


def _with_shardings(
    attributes: Attribute | None, count: int, shardings: Mapping[int, TensorSharding]
) -> ArrayAttr[DictionaryAttr]:
    olds = _dictionaries(attributes)
    entries = [*olds, *(DictionaryAttr({}) for _ in range(count - len(olds)))]
    for index, sharding in shardings.items():
        named = {**entries[index].data, SHARDING: TensorShardingAttr(sharding)}
        entries[index] = DictionaryAttr(dict(sorted(named.items())))
    return ArrayAttr(entries)
