"""Taking attributes away, from ops and from the arguments and results of functions.

remove_attributes(module, {"sdy.sharding"})
"""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Operation

from shardy_py.ir import walk_pre_order


def remove_attributes(root: Operation, names: Collection[str]) -> None:
    """Remove the discardable attributes called `names` from all ops in `root`, arguments and results."""
    for op in walk_pre_order(root):
        for name in names:
            op.attributes.pop(name, None)
        if op.name == "func.func":
            for place in ("arg_attrs", "res_attrs"):
                _remove_from_values(op, place, names)


def _remove_from_values(function: Operation, place: str, names: Collection[str]) -> None:
    given = function.properties.get(place)
    if given is None:
        return
    old = [dictionary.data for dictionary in cast("ArrayAttr[DictionaryAttr]", given).data]
    new = [{name: value for name, value in entries.items() if name not in names} for entries in old]
    if not any(new):
        del function.properties[place]
    elif new != old:
        function.properties[place] = ArrayAttr(map(DictionaryAttr, new))
