"""The encodings of Shardy's attributes (bytecode.td); propagation edges have none and are text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode.entries import Encodings, EntryReader
from shardy_py.mlir.bytecode.rows import (
    BOOLEAN,
    SIGNED,
    SIGNED_LIST,
    STRING,
    STRING_ATTRIBUTE,
    Field,
    Reader,
    many,
    row,
    value_of,
)
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy import attributes as a
from shardy_py.mlir.dialects.sdy.syntax_sharding import without_usual_order
from shardy_py.mlir.dialects.sdy.verify_values import check_factor_lists, check_mesh, check_mesh_axis
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    FactorType,
    Mesh,
    MeshAxis,
    ShardingRule,
    SubAxis,
    TensorMapping,
    TensorSharding,
)

T = TypeVar("T")


def _made(
    attribute_class: Callable[..., Attribute], make: Callable[..., object], *fields: Field[object]
) -> Reader:
    """Reads an attribute around the value that `make` makes of fields."""
    return row(lambda *values: attribute_class(make(*values)), *fields)


def _sub_axis(reader: EntryReader) -> SubAxis | None:
    found = reader.optional()
    if found is None:
        return None
    if not isinstance(found, a.SubAxisInfoAttr):
        reader.fail("expected a part of an axis")
    return found.data


def _priority(reader: EntryReader) -> int | None:
    priority, is_there = reader.flagged()
    return priority if is_there else None


def _mesh(reader: EntryReader) -> str | Mesh:
    """A mesh, or the name of one."""
    found = reader.expected((SymbolRefAttr, a.MeshAttr), "a mesh")
    return found.data if isinstance(found, a.MeshAttr) else found.root_reference.data


def _reduction(reader: EntryReader) -> str:
    number = reader.signed()
    if not 0 <= number < len(REDUCTIONS):
        reader.fail(f"expected one of {', '.join(REDUCTIONS)}, got number {number}")
    return REDUCTIONS[number]


_FACTOR_TYPES = {
    "reduction": FactorType.REDUCTION,
    "need_replication": FactorType.NEED_REPLICATION,
    "permutation": FactorType.PERMUTATION,
}


def _check(check: Callable[[T], None], value: T) -> T:
    """Returns a value that satisfies the rules of its text."""
    try:
        check(value)
    except Fault as fault:
        raise ShardyError(fault.message) from None
    return value


def _axis(name: str, size: int) -> MeshAxis:
    return _check(check_mesh_axis, MeshAxis(name, size))


def _mesh_of(axes: tuple[MeshAxis, ...], device_ids: tuple[int, ...]) -> Mesh:
    return _check(check_mesh, without_usual_order(Mesh(axes, device_ids)))


def _rule(
    sizes: tuple[int, ...],
    operands: tuple[TensorMapping, ...],
    results: tuple[TensorMapping, ...],
    reduction: tuple[int, ...],
    replicated: tuple[int, ...],
    permutation: tuple[int, ...],
    blocked: tuple[int, ...],
    is_custom: bool,
) -> ShardingRule:
    """The rule of factors: their sizes, and the numbers of those of each type."""
    listed = {
        "reduction": reduction,
        "need_replication": replicated,
        "permutation": permutation,
        "blocked_propagation": blocked,
    }
    _check(lambda numbers: check_factor_lists(numbers, len(sizes)), listed)
    mapped = [factor for tensor in (*operands, *results) for dimension in tensor for factor in dimension]
    if any(not 0 <= number < len(sizes) for number in (*chain(*listed.values()), *mapped)):
        raise ShardyError(f"expected factors below {len(sizes)} in a sharding rule")
    types = {number: type_ for name, type_ in _FACTOR_TYPES.items() for number in listed[name]}
    are_blocked = frozenset(blocked)
    factors = tuple(
        Factor(size, types.get(number, FactorType.PASS_THROUGH), number in are_blocked)
        for number, size in enumerate(sizes)
    )
    return ShardingRule(factors, operands, results, is_custom)


def _all_to_all(axes: tuple[AxisRef, ...], source: int, target: int) -> a.AllToAllParam:
    return axes, source, target


def _name(reader: EntryReader) -> str:
    return STRING_ATTRIBUTE(reader).data


_AXES = many(value_of(a.AxisRefAttr, "an axis"))
_SHARDING = (_mesh, many(value_of(a.DimensionShardingAttr, "the sharding of a dimension")), _AXES)
_SHARDINGS = many(value_of(a.TensorShardingAttr, "a sharding"))
_MAPPINGS = many(value_of(a.TensorMappingAttr, "the factors of a tensor"))

SDY = Encodings(
    {
        0: row(a.ManualAxesAttr, many(_name)),
        1: _made(a.MeshAxisAttr, _axis, STRING, SIGNED),
        2: _made(a.MeshAttr, _mesh_of, many(value_of(a.MeshAxisAttr, "an axis of a mesh")), SIGNED_LIST),
        3: _made(a.SubAxisInfoAttr, SubAxis, SIGNED, SIGNED),
        4: _made(a.AxisRefAttr, AxisRef, STRING, _sub_axis),
        5: _made(a.DimensionShardingAttr, DimensionSharding, _AXES, BOOLEAN, _priority),
        6: _made(a.TensorShardingAttr, TensorSharding, *_SHARDING),
        7: row(a.TensorShardingPerValueAttr, _SHARDINGS),
        8: row(a.DimMappingAttr, SIGNED_LIST),
        9: row(a.TensorMappingAttr, many(value_of(a.DimMappingAttr, "the factors of a dimension"))),
        10: _made(
            a.OpShardingRuleAttr, _rule, SIGNED_LIST, _MAPPINGS, _MAPPINGS, *[SIGNED_LIST] * 4, BOOLEAN
        ),
        11: row(a.AxisRefListAttr, _AXES),
        12: row(a.ListOfAxisRefListsAttr, many(value_of(a.AxisRefListAttr, "a list of axes"))),
        13: _made(a.AllToAllParamAttr, _all_to_all, _AXES, SIGNED, SIGNED),
        14: row(a.AllToAllParamListAttr, many(value_of(a.AllToAllParamAttr, "a parameter"))),
        15: _made(a.TensorShardingAttr, TensorSharding, *_SHARDING, _AXES),
        16: row(a.TensorShardingPerValueAttr, _SHARDINGS),
        17: _made(a.TensorShardingAttr, TensorSharding, *_SHARDING, _AXES, _reduction),
    },
    {},
)
"""The encodings of Shardy."""
