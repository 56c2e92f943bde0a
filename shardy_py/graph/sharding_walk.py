"""Every sharding of a module, changed by one function of its value.

Equal attributes are one object for most of a program, so the function is called once an attribute, not once a
value. Not here: shardings of single values (`value_shardings.py`).

    transform_shardings(module, TensorSharding.closed)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation

from shardy_py.dialects.sdy.attributes import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.dialects.sdy.interfaces import DATA_FLOW
from shardy_py.graph.holders import PROPERTY_OF, SHARDING
from shardy_py.ir import walk_pre_order
from shardy_py.sharding import TensorSharding

Change = Callable[[TensorSharding], TensorSharding]


def sharding_properties() -> dict[str, tuple[str, ...]]:
    """The ops that keep shardings in properties, or attributes of their own, and in which."""
    return {
        **{name: (prop,) for name, prop in PROPERTY_OF.items()},
        **{name: flow.sharding_properties for name, flow in DATA_FLOW.items() if flow.sharding_properties},
        "func.func": ("arg_attrs", "res_attrs"),
    }


def transform_shardings(root: Operation, change: Change) -> None:
    """Replace each sharding that `root` and the ops in it hold by what `change` makes of it."""
    changed = _Changed(change)
    known = changed.known
    holding = sharding_properties()
    for op in walk_pre_order(root):
        if (given := op.attributes.get(SHARDING)) is not None:
            new = (known.get(id(given)) or changed.add(given))[1]
            if new is not given:
                op.attributes[SHARDING] = new
        if op.name in holding:
            for name in holding[op.name]:
                entries = op.properties if name in op.properties else op.attributes
                if (given := entries.get(name)) is not None:
                    new = (known.get(id(given)) or changed.add(given))[1]
                    if new is not given:
                        entries[name] = new


class _Changed:
    """The new attribute of each old one, by identity; the old ones are kept alive."""

    def __init__(self, change: Change) -> None:
        self.known: dict[int, tuple[Attribute, Attribute]] = {}
        self._change = change
        self._values: dict[TensorSharding, TensorSharding] = {}

    def add(self, attribute: Attribute) -> tuple[Attribute, Attribute]:
        """The attribute and its successor: itself if nothing changes."""
        pair = self.known[id(attribute)] = (attribute, self._replaced(attribute))
        return pair

    def _value(self, sharding: TensorSharding) -> TensorSharding:
        new = self._values.get(sharding)
        if new is None:
            new = self._values[sharding] = self._change(sharding)
        return new

    def _replaced(self, attribute: Attribute) -> Attribute:
        if isinstance(attribute, TensorShardingAttr):
            new = self._value(attribute.data)
            return attribute if new == attribute.data else TensorShardingAttr(new)
        if isinstance(attribute, TensorShardingPerValueAttr):
            news = tuple(map(self._value, attribute.data))
            return attribute if news == attribute.data else TensorShardingPerValueAttr(news)
        if isinstance(attribute, ArrayAttr):
            dictionaries = cast("ArrayAttr[DictionaryAttr]", attribute).data
            replaced = tuple(map(self._dictionary, dictionaries))
            same = all(new is old for new, old in zip(replaced, dictionaries, strict=True))
            return cast(Attribute, attribute if same else ArrayAttr(replaced))
        return attribute

    def _dictionary(self, dictionary: DictionaryAttr) -> DictionaryAttr:
        given = dictionary.data.get(SHARDING)
        if given is None:
            return dictionary
        new = (self.known.get(id(given)) or self.add(given))[1]
        return dictionary if new is given else DictionaryAttr({**dictionary.data, SHARDING: new})
