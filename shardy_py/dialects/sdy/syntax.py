"""Tables of the syntax of sdy's attributes: `#sdy.name<...>`, `#sdy<name...>`, bare in an op's form.

Readers and printers are in `syntax_axes.py`, `syntax_sharding.py`, `syntax_rule.py`,
`syntax_collectives.py` and `syntax_edges.py`; `syntax_parameters.py` has what they share.

>>> from shardy_py.sharding import AxisRef
>>> ENCLOSED["axis_ref"].write(attributes.AxisRefAttr(AxisRef("x")))
'"x"'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, IntegerType

from shardy_py.dialects.sdy import attributes
from shardy_py.dialects.sdy.syntax_axes import (
    axes_text,
    manual_axes_text,
    read_axes,
    read_axis_ref,
    read_manual_axes,
    read_mesh,
    read_mesh_axis,
    read_sub_axis,
)
from shardy_py.dialects.sdy.syntax_collectives import (
    all_to_all_param_text,
    all_to_all_text,
    axis_lists_text,
    read_all_to_all,
    read_all_to_all_list,
    read_axis_lists,
)
from shardy_py.dialects.sdy.syntax_edges import (
    edges_text,
    read_axis_edge,
    read_edge_value,
    read_edges,
    read_step,
)
from shardy_py.dialects.sdy.syntax_rule import (
    dim_mapping_text,
    read_dim_mapping,
    read_rule,
    read_tensor_mapping,
    tensor_mapping_text,
)
from shardy_py.dialects.sdy.syntax_sharding import (
    REDUCTIONS,
    read_dimension_sharding,
    read_per_value,
    read_sharding,
    read_sharding_list,
    sharding_list_text,
)
from shardy_py.text.assembly import Spelling
from shardy_py.text.cursor import Cursor
from shardy_py.text.syntax import AttributeSyntax

__all__ = [
    "ALL_TO_ALL",
    "ATTRIBUTES",
    "AXES",
    "AXIS_LISTS",
    "DIRECTION",
    "ENCLOSED",
    "MANUAL_AXES",
    "MESH",
    "PROPAGATION_DIRECTIONS",
    "REDUCTION",
    "REDUCTIONS",
    "SHARDING",
    "SHARDING_LIST",
    "manual_axes_text",
    "read_sharding",
]

PROPAGATION_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")
_I32 = IntegerType(32)

# ---------------------------------------------------------------------- enums kept as integers


def _enum_spelling(keywords: tuple[str, ...], name: str) -> Spelling:
    """The spelling of the enum that an op has as attribute `name`; a string is read like the keyword."""

    def read(cursor: Cursor) -> Any:
        start = cursor.offset
        is_string = cursor.token[:1] == '"'
        if not is_string and cursor.token not in keywords:
            cursor.form_error(
                "expected string or keyword containing one of the following enum values for attribute "
                f"'{name}' [{', '.join(keywords)}]"
            )
        word = cursor.string() if is_string else cursor.advance()
        if word not in keywords:
            cursor.form_error(f'invalid {name} attribute specification: "{word}"', start)
        return IntegerAttr(keywords.index(word), _I32)

    def write(attribute: Any) -> str:
        index: int = attribute.value.data
        return keywords[index]

    return Spelling(read, write)


DIRECTION = _enum_spelling(PROPAGATION_DIRECTIONS, "allowed_direction")
REDUCTION = _enum_spelling(REDUCTIONS, "reduction_op")


# ---------------------------------------------------------------------- bare, in the forms of ops


def _stripped(attribute_class: Any, read: Callable[[Cursor], Any], write: Callable[[Any], str]) -> Spelling:
    """The spelling in an op's form: without the prefix; the attribute in full, or its alias, is taken too."""

    def read_either(cursor: Cursor) -> Any:
        if cursor.token[:1] != "#":
            return attribute_class(read(cursor))
        start = cursor.offset
        found = cursor.attribute()
        if not isinstance(found, attribute_class):
            cursor.form_error("invalid kind of attribute specified", start)
        return found

    def write_data(attribute: Any) -> str:
        return write(attribute.data)

    return Spelling(read_either, write_data)


MESH = _stripped(attributes.MeshAttr, read_mesh, str)
SHARDING = _stripped(attributes.TensorShardingAttr, read_sharding, str)
SHARDING_LIST = _stripped(attributes.TensorShardingPerValueAttr, read_sharding_list, sharding_list_text)
MANUAL_AXES = _stripped(attributes.ManualAxesAttr, read_manual_axes, manual_axes_text)
AXES = _stripped(attributes.AxisRefListAttr, read_axes, axes_text)
AXIS_LISTS = _stripped(attributes.ListOfAxisRefListsAttr, read_axis_lists, axis_lists_text)
ALL_TO_ALL = _stripped(attributes.AllToAllParamListAttr, read_all_to_all_list, all_to_all_text)


# ---------------------------------------------------------------------- behind their names


def _syntax(
    attribute_class: Any, read: Callable[[Cursor], Any], write: Callable[[Any], str] = str
) -> AttributeSyntax:
    return AttributeSyntax(
        attribute_class, lambda cursor: attribute_class(read(cursor)), lambda attribute: write(attribute.data)
    )


def _behind_space(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Keeps a text that starts with a letter apart from the name before it."""
    return lambda value: f" {text}" if (text := write(value)) else ""


ATTRIBUTES = {
    "mesh": _syntax(attributes.MeshAttr, read_mesh),
    "sharding": _syntax(attributes.TensorShardingAttr, read_sharding),
    "sharding_per_value": _syntax(
        attributes.TensorShardingPerValueAttr, read_per_value, lambda v: f"<{sharding_list_text(v)}>"
    ),
    "op_sharding_rule": _syntax(attributes.OpShardingRuleAttr, read_rule),
    "propagation_edges": _syntax(attributes.PropagationEdgesAttr, read_edges, edges_text),
}
"""`#sdy.name<...>` by name."""

ENCLOSED = {
    "mesh_axis": _syntax(attributes.MeshAxisAttr, read_mesh_axis),
    "sub_axis_info": _syntax(attributes.SubAxisInfoAttr, read_sub_axis),
    "axis_ref": _syntax(attributes.AxisRefAttr, read_axis_ref),
    "axis_ref_list": _syntax(attributes.AxisRefListAttr, read_axes, axes_text),
    "manual_axes": _syntax(attributes.ManualAxesAttr, read_manual_axes, manual_axes_text),
    "dimension_sharding": _syntax(attributes.DimensionShardingAttr, read_dimension_sharding),
    "dim_mapping": _syntax(attributes.DimMappingAttr, read_dim_mapping, _behind_space(dim_mapping_text)),
    "tensor_mapping": _syntax(attributes.TensorMappingAttr, read_tensor_mapping, tensor_mapping_text),
    "list_of_axis_ref_lists": _syntax(attributes.ListOfAxisRefListsAttr, read_axis_lists, axis_lists_text),
    "all_to_all_param": _syntax(attributes.AllToAllParamAttr, read_all_to_all, all_to_all_param_text),
    "all_to_all_param_list": _syntax(attributes.AllToAllParamListAttr, read_all_to_all_list, all_to_all_text),
    "edge_value_ref": _syntax(attributes.EdgeValueRefAttr, read_edge_value, _behind_space(str)),
    "axis_to_propagation_details": _syntax(attributes.AxisToPropagationDetailsAttr, read_axis_edge),
    "propagation_one_step": _syntax(attributes.PropagationOneStepAttr, read_step),
}
"""`#sdy<name...>` by name."""
