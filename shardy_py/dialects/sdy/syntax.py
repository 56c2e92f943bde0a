"""The text of sdy's attributes: a reader beside each printer.

Printing is `str` of the values in `sharding/`; reading is here, one function a value, with Shardy's messages.

>>> from shardy_py.text.cursor import Cursor
>>> from shardy_py.text.source import Source
>>> str(read_sharding(Cursor(Source('<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'))))
'<@mesh, [{"x", "y":(1)2}, {?}p1], replicated={"z"}>'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType

from shardy_py.dialects.sdy.attributes import (
    AllToAllParamListAttr,
    AxisRefAttr,
    AxisRefListAttr,
    ListOfAxisRefListsAttr,
    ManualAxesAttr,
    MeshAttr,
    OpShardingRuleAttr,
    TensorShardingAttr,
    TensorShardingPerValueAttr,
)
from shardy_py.dialects.sdy.verify_axes import factor_list_faults, mesh_axis_faults, mesh_faults
from shardy_py.sharding import (
    AxisRef,
    DimensionSharding,
    Factor,
    FactorType,
    Mesh,
    MeshAxis,
    ShardingRule,
    SubAxis,
    TensorSharding,
    factor_symbol,
)
from shardy_py.text.assembly import Spelling
from shardy_py.text.attribute_writer import string_literal
from shardy_py.text.cursor import Cursor
from shardy_py.text.source import Source
from shardy_py.text.syntax import AttributeSyntax

if TYPE_CHECKING:
    from xdsl.parser import AttrParser

_PRIORITY = re.compile(r"p(0|[1-9][0-9]*)\Z", re.ASCII)
_FACTOR = re.compile(r"z_([1-9][0-9]*)|([i-z])", re.ASCII)
_MAX = 2**63 - 1

PROPAGATION_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")
REDUCTIONS = ("sum", "max", "min")
_I32 = IntegerType(32)


# ---------------------------------------------------------------------- axes and meshes


def read_axis_ref(cursor: Cursor) -> AxisRef:
    """`"x"` or `"x":(2)4`."""
    name = cursor.string()
    if not cursor.accept(":"):
        return AxisRef(name)
    cursor.expect("(")
    pre_size = cursor.integer()
    cursor.expect(")")
    return AxisRef(name, SubAxis(pre_size, cursor.integer()))


def read_axes(cursor: Cursor) -> tuple[AxisRef, ...]:
    """`{"x", "y"}`."""
    return tuple(cursor.items(lambda: read_axis_ref(cursor), "{", "}"))


def axes_text(axes: Iterable[AxisRef]) -> str:
    """`{"x", "y"}`."""
    return f"{{{', '.join(map(str, axes))}}}"


def read_mesh(cursor: Cursor) -> Mesh:
    """`<["x"=2, "y"=4], device_ids=[...]>`."""
    start = cursor.offset
    cursor.expect("<")
    axes = cursor.items(lambda: _read_mesh_axis(cursor))
    device_ids: list[int] = []
    if cursor.accept(","):
        cursor.expect("device_ids")
        cursor.expect("=")
        device_ids = cursor.integers()
    cursor.expect(">")
    mesh = _without_usual_order(Mesh(tuple(axes), tuple(device_ids)))
    for fault in mesh_faults(mesh):
        cursor.form_error(fault, start)
    return mesh


def _without_usual_order(mesh: Mesh) -> Mesh:
    """The same mesh without the device ids 0, 1, 2, ... that it has anyway."""
    count = len(mesh.device_ids)
    is_usual = bool(mesh.axes) and count == mesh.device_count and mesh.device_ids == tuple(range(count))
    return Mesh(mesh.axes) if is_usual else mesh


def _read_mesh_axis(cursor: Cursor) -> MeshAxis:
    start = cursor.offset
    name = cursor.string()
    cursor.expect("=")
    axis = MeshAxis(name, cursor.integer())
    for fault in mesh_axis_faults(axis):
        cursor.form_error(fault, start)
    return axis


def read_manual_axes(cursor: Cursor) -> tuple[str, ...]:
    """`{"x", "y"}`: full axes by name."""
    return tuple(cursor.items(cursor.string, "{", "}"))


def manual_axes_text(axes: Iterable[str]) -> str:
    """`{"x", "y"}`."""
    return f"{{{', '.join(map(string_literal, axes))}}}"


# ---------------------------------------------------------------------- shardings


def read_dimension_sharding(cursor: Cursor) -> DimensionSharding:
    """`{"x", ?}p1`."""
    cursor.expect("{")
    axes: list[AxisRef] = []
    is_closed = True
    while not cursor.accept("}"):
        if axes:
            cursor.expect(",")
        if cursor.accept("?"):
            is_closed = False
            cursor.expect("}")
            break
        axes.append(read_axis_ref(cursor))
    priority = _read_priority(cursor) if cursor.is_identifier() else None
    return DimensionSharding(tuple(axes), is_closed, priority)


def _read_priority(cursor: Cursor) -> int:
    token = cursor.advance()
    match = _PRIORITY.match(token)
    if match is None:
        if re.match(r"p[0-9]+\Z", token, re.ASCII):
            cursor.error(f"priorities with leading zeros are not allowed, got: {token}")
        cursor.error(f"expecting priority in format 'p<number>', got: {token}")
    if len(match[1]) > 19 or int(match[1]) > _MAX:
        cursor.error(f"expecting integer priority, got: {token}")
    return int(match[1])


def read_mesh_or_reference(cursor: Cursor) -> str | Mesh:
    """`@mesh` or `mesh<...>`."""
    if cursor.accept("mesh"):
        return read_mesh(cursor)
    return cursor.symbol()


def read_sharding(cursor: Cursor) -> TensorSharding:
    """`<@mesh, [{"x"}, {?}], replicated={...}, unreduced=max{...}>`."""
    cursor.expect("<")
    mesh = read_mesh_or_reference(cursor)
    cursor.expect(",")
    dimensions = tuple(cursor.items(lambda: read_dimension_sharding(cursor)))
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    reduction = "sum"
    while cursor.accept(","):
        if not replicated and cursor.accept("replicated"):
            cursor.expect("=")
            replicated = read_axes(cursor)
        elif not unreduced and cursor.accept("unreduced"):
            if cursor.accept("=") and cursor.token in REDUCTIONS:
                reduction = cursor.advance()
            unreduced = read_axes(cursor)
        else:
            cursor.error("failed to parse Sdy_TensorSharding, expected valid named axis list after comma")
    cursor.expect(">")
    return TensorSharding(mesh, dimensions, replicated, unreduced, reduction)


def read_sharding_list(cursor: Cursor) -> tuple[TensorSharding, ...]:
    """`[<@mesh, [...]>, ...]`; each may have its prefix `#sdy.sharding`."""

    def read() -> TensorSharding:
        cursor.accept("#sdy.sharding")
        return read_sharding(cursor)

    return tuple(cursor.items(read))


def sharding_list_text(shardings: Iterable[TensorSharding]) -> str:
    """`[<@mesh, [...]>, ...]`."""
    return f"[{', '.join(map(str, shardings))}]"


def _read_per_value(cursor: Cursor) -> tuple[TensorSharding, ...]:
    cursor.expect("<")
    shardings = read_sharding_list(cursor)
    cursor.expect(">")
    return shardings


# ---------------------------------------------------------------------- rules


def read_rule(cursor: Cursor) -> ShardingRule:
    """`<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""
    start = cursor.offset
    cursor.expect("<")
    operands = tuple(cursor.items(lambda: _read_tensor_mapping(cursor), "(", ")"))
    cursor.expect("->")
    results = tuple(cursor.items(lambda: _read_tensor_mapping(cursor), "(", ")"))
    sizes = _read_factor_sizes(cursor) if cursor.at("{") else []
    listed = {name: _read_listed(cursor, name) for name in _LISTED}
    is_custom = cursor.accept(",")
    if is_custom:
        cursor.expect("custom")
    cursor.expect(">")
    for fault in factor_list_faults(listed, len(sizes)):
        cursor.error(fault, start)
    types = {index: type_ for name, type_ in _TYPES for index in listed[name]}
    blocked = set(listed["blocked_propagation"])
    factors = tuple(
        Factor(size, types.get(index, FactorType.PASS_THROUGH), index in blocked)
        for index, size in enumerate(sizes)
    )
    return ShardingRule(factors, operands, results, is_custom)


_TYPES = (
    ("reduction", FactorType.REDUCTION),
    ("need_replication", FactorType.NEED_REPLICATION),
    ("permutation", FactorType.PERMUTATION),
)
_LISTED = ("reduction", "need_replication", "permutation", "blocked_propagation")


def _read_tensor_mapping(cursor: Cursor) -> tuple[tuple[int, ...], ...]:
    return tuple(cursor.items(lambda: _read_dim_mapping(cursor)))


def _read_dim_mapping(cursor: Cursor) -> tuple[int, ...]:
    return _factor_indices(cursor, cursor.advance()) if cursor.is_identifier() else ()


def _factor_indices(cursor: Cursor, symbols: str) -> tuple[int, ...]:
    """The factors that a run of symbols like `ijz_1` names."""
    indices: list[int] = []
    at = 0
    while at < len(symbols):
        match = _FACTOR.match(symbols, at)
        if match is None:
            cursor.error(f"expecting symbol from 'i' to 'z'. Received: '{symbols[at]}'")
        indices.append(17 + int(match[1]) if match[1] else ord(match[2]) - ord("i"))
        at = match.end()
        if match[2] == "z" and symbols[at : at + 1] == "_":
            cursor.error(f"expecting positive integer without leading zeros. Received: '{symbols[at + 1 :]}'")
    return tuple(indices)


def _read_factor_sizes(cursor: Cursor) -> list[int]:
    expected = iter(range(1 << 30))

    def read() -> int:
        index = _factor_indices(cursor, cursor.keyword())
        wanted = next(expected)
        if len(index) != 1:
            cursor.error(f"expecting single factor symbol: {''.join(map(factor_symbol, index[1:]))}")
        if index[0] != wanted:
            cursor.error(
                "expecting factor indices to be ordered like an iota ([0,1,2,...], e.g. {i=#, j=#, ...}). "
                f"Expecting factor index symbol '{factor_symbol(wanted)}', received: '{factor_symbol(index[0])}'"
            )
        cursor.expect("=")
        return cursor.integer()

    return cursor.items(read, "{", "}")


def _read_listed(cursor: Cursor, name: str) -> tuple[int, ...]:
    if not cursor.accept(name):
        return ()
    cursor.expect("=")
    return tuple(
        index
        for found in cursor.items(lambda: _factor_indices(cursor, cursor.keyword()), "{", "}")
        for index in found
    )


# ---------------------------------------------------------------------- collectives


def read_axis_lists(cursor: Cursor) -> tuple[tuple[AxisRef, ...], ...]:
    """`[{"x"}, {}]`."""
    return tuple(cursor.items(lambda: read_axes(cursor)))


def axis_lists_text(lists: Iterable[Iterable[AxisRef]]) -> str:
    """`[{"x"}, {}]`."""
    return f"[{', '.join(map(axes_text, lists))}]"


AllToAllParam = tuple[tuple[AxisRef, ...], int, int]


def read_all_to_all(cursor: Cursor) -> tuple[AllToAllParam, ...]:
    """`[{"x"}: 0->1, {"y"}: 2->3]`."""

    def read() -> AllToAllParam:
        axes = read_axes(cursor)
        cursor.expect(":")
        source = cursor.integer()
        cursor.expect("->")
        return axes, source, cursor.integer()

    return tuple(cursor.items(read))


def all_to_all_text(params: Iterable[AllToAllParam]) -> str:
    """`[{"x"}: 0->1, {"y"}: 2->3]`."""
    return "[" + ", ".join(f"{axes_text(axes)}: {source}->{target}" for axes, source, target in params) + "]"


# ---------------------------------------------------------------------- enums kept as integers


def _enum_spelling(keywords: tuple[str, ...]) -> Spelling:
    def read(cursor: Cursor) -> Any:
        start = cursor.offset
        word = cursor.keyword()
        if word not in keywords:
            cursor.error(f"expected one of: {', '.join(keywords)}; got: {word}", start)
        return IntegerAttr(keywords.index(word), _I32)

    return Spelling(read, lambda attribute: keywords[attribute.value.data])


DIRECTION = _enum_spelling(PROPAGATION_DIRECTIONS)
REDUCTION = _enum_spelling(REDUCTIONS)


# ---------------------------------------------------------------------- tables


def _in_angles(read: Callable[[Cursor], Any]) -> Callable[[Cursor], Any]:
    def read_inside(cursor: Cursor) -> Any:
        cursor.expect("<")
        found = read(cursor)
        cursor.expect(">")
        return found

    return read_inside


def _spelling(attribute_class: Any, read: Callable[[Cursor], Any], write: Callable[[Any], str]) -> Spelling:
    return Spelling(lambda cursor: attribute_class(read(cursor)), lambda attribute: write(attribute.data))


def _stripped(attribute_class: Any, read: Callable[[Cursor], Any], write: Callable[[Any], str]) -> Spelling:
    """The spelling in an op's form: without the prefix; the attribute in full, or its alias, is taken too."""
    bare = _spelling(attribute_class, read, write)

    def read_either(cursor: Cursor) -> Any:
        if cursor.token[:1] != "#":
            return bare.read(cursor)
        start = cursor.offset
        found = cursor.attribute()
        if not isinstance(found, attribute_class):
            cursor.error("invalid kind of attribute specified", start)
        return found

    return Spelling(read_either, bare.write)


MESH = _stripped(MeshAttr, read_mesh, str)
SHARDING = _stripped(TensorShardingAttr, read_sharding, str)
SHARDING_LIST = _stripped(TensorShardingPerValueAttr, read_sharding_list, sharding_list_text)
MANUAL_AXES = _stripped(ManualAxesAttr, read_manual_axes, manual_axes_text)
AXES = _stripped(AxisRefListAttr, read_axes, axes_text)
AXIS_LISTS = _stripped(ListOfAxisRefListsAttr, read_axis_lists, axis_lists_text)
ALL_TO_ALL = _stripped(AllToAllParamListAttr, read_all_to_all, all_to_all_text)

_BEHIND_MNEMONIC = {
    "mesh": (MeshAttr, _spelling(MeshAttr, read_mesh, str)),
    "sharding": (TensorShardingAttr, _spelling(TensorShardingAttr, read_sharding, str)),
    "sharding_per_value": (
        TensorShardingPerValueAttr,
        _spelling(TensorShardingPerValueAttr, _read_per_value, lambda v: f"<{sharding_list_text(v)}>"),
    ),
    "op_sharding_rule": (OpShardingRuleAttr, _spelling(OpShardingRuleAttr, read_rule, str)),
    "axis_ref": (
        AxisRefAttr,
        _spelling(AxisRefAttr, _in_angles(read_axis_ref), lambda v: f"<{v}>"),
    ),
    "list_of_axis_ref_lists": (
        ListOfAxisRefListsAttr,
        _spelling(ListOfAxisRefListsAttr, _in_angles(read_axis_lists), lambda v: f"<{axis_lists_text(v)}>"),
    ),
    "all_to_all_param_list": (
        AllToAllParamListAttr,
        _spelling(AllToAllParamListAttr, _in_angles(read_all_to_all), lambda v: f"<{all_to_all_text(v)}>"),
    ),
}
_ENCLOSED = {
    "manual_axes": (ManualAxesAttr, _spelling(ManualAxesAttr, read_manual_axes, manual_axes_text)),
    "axis_ref_list": (AxisRefListAttr, _spelling(AxisRefListAttr, read_axes, axes_text)),
}

ATTRIBUTES = {
    name: AttributeSyntax(attribute_class, s.read, s.write)
    for name, (attribute_class, s) in _BEHIND_MNEMONIC.items()
}
"""`#sdy.name<...>` by name."""

ENCLOSED = {
    name: AttributeSyntax(attribute_class, s.read, s.write)
    for name, (attribute_class, s) in _ENCLOSED.items()
}
"""`#sdy<name...>` by name."""

_BY_CLASS: dict[Any, AttributeSyntax] = {
    s.attribute_class: s for s in (*ATTRIBUTES.values(), *ENCLOSED.values())
}


def parse_for_xdsl(attribute_class: type, parser: AttrParser) -> Any:
    """The value of an attribute whose body xDSL's parser has reached."""
    lexer: Any = parser
    start: int = lexer.pos
    cursor = Cursor(Source(lexer.lexer.input.content, lexer.lexer.input.name), offset=start)
    made: Any = _BY_CLASS[attribute_class].read(cursor)
    lexer._resume_from(cursor.previous_end)
    return made.data


def print_for_xdsl(attribute: Any) -> str:
    """The text of an attribute behind its mnemonic."""
    return _BY_CLASS[type(attribute)].write(attribute)
