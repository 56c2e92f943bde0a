"""The text of what collectives take: axes by dimension, and moves of axes between dimensions.

>>> from shardy_py.text.source import Source
>>> all_to_all_text(read_all_to_all_list(Cursor(Source('[{"x"}: 0->1, {"y"}: 2->3]'))))
'[{"x"}: 0->1, {"y"}: 2->3]'
"""

from __future__ import annotations

from collections.abc import Iterable

from shardy_py.dialects.sdy.attributes import AllToAllParam, AllToAllParamAttr, AxisRefListAttr
from shardy_py.dialects.sdy.syntax_axes import axes_text, read_axes, read_listed_axis
from shardy_py.dialects.sdy.syntax_parameters import (
    bare_or_full,
    integer_parameter,
    list_parameter,
    optional_list,
)
from shardy_py.sharding import AxisRef
from shardy_py.text.cursor import Cursor


def read_axis_lists(cursor: Cursor) -> tuple[tuple[AxisRef, ...], ...]:
    """`[{"x"}, {}]`."""
    return optional_list(
        cursor,
        "ListOfAxisRefLists",
        "value",
        "AxisRefListAttr",
        lambda: bare_or_full(cursor, AxisRefListAttr, read_axes),
    )


def axis_lists_text(lists: Iterable[Iterable[AxisRef]]) -> str:
    """`[{"x"}, {}]`."""
    return f"[{', '.join(map(axes_text, lists))}]"


def read_all_to_all(cursor: Cursor) -> AllToAllParam:
    """`{"x"}: 0->1`."""
    owner = "AllToAllParamAttr"
    cursor.expect("{")
    axes = list_parameter(cursor, owner, "axes", "AxisRefAttr", lambda: read_listed_axis(cursor))
    cursor.expect("}")
    cursor.expect(":")
    source = integer_parameter(cursor, owner, "src_dim")
    cursor.expect("->")
    return axes, source, integer_parameter(cursor, owner, "tgt_dim")


def all_to_all_param_text(param: AllToAllParam) -> str:
    """`{"x"}: 0->1`."""
    axes, source, target = param
    return f"{axes_text(axes)}: {source}->{target}"


def read_all_to_all_list(cursor: Cursor) -> tuple[AllToAllParam, ...]:
    """`[{"x"}: 0->1, {"y"}: 2->3]`."""
    return optional_list(
        cursor,
        "AllToAllParamList",
        "value",
        "AllToAllParamAttr",
        lambda: bare_or_full(cursor, AllToAllParamAttr, read_all_to_all),
    )


def all_to_all_text(params: Iterable[AllToAllParam]) -> str:
    """`[{"x"}: 0->1, {"y"}: 2->3]`."""
    return f"[{', '.join(map(all_to_all_param_text, params))}]"
