"""All shardings of a module: transforming them, and testing whether any has some property.

Most equal attributes are one object, so functions are called once per attribute, not once per value.
Not here: shardings of single values (`value_shardings.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.mlir.holders import SHARDING, attribute_list_shardings, sharding_attributes
from shardy_py.mlir.ir import ops_in
from shardy_py.mlir.typed import dictionaries_in
from shardy_py.sharding import TensorSharding

Change = Callable[[TensorSharding], TensorSharding]


def transform_shardings(root: Operation, change: Change) -> None:
    """Replace each sharding in `root` by the result of `change`."""
    changed = _Changed(change)
    known = changed.known
    others: dict[type[Operation], tuple[str, ...]] = {}
    for op in (root, *ops_in(root)):
        if (attributes := op.attributes) and (given := attributes.get(SHARDING)) is not None:
            new = (known.get(id(given)) or changed.add(given))[1]
            if new is not given:
                attributes[SHARDING] = new
        names = others.get(op.__class__)
        if names is None:
            names = others[op.__class__] = sharding_attributes(op.__class__)
        for name in names:
            entries = op.properties if name in op.properties else op.attributes
            if (given := entries.get(name)) is not None:
                entries[name] = (known.get(id(given)) or changed.add(given))[1]


class _Changed:
    """By identity of an attribute, the attribute and its replacement."""

    def __init__(self, change: Change) -> None:
        self.known: dict[int, tuple[Attribute, Attribute]] = {}
        self._change = change
        self._values: dict[TensorSharding, TensorSharding] = {}

    def add(self, attribute: Attribute) -> tuple[Attribute, Attribute]:
        """Add an attribute; returns it with its replacement, itself if nothing changes."""
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
            dictionaries = dictionaries_in(cast("Attribute", attribute))
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


@dataclass(frozen=True, slots=True)
class Survey:
    """The attributes of a program that hold shardings, each once, and its ops of given names, in order."""

    attributes: tuple[Attribute, ...]
    ops: tuple[Operation, ...]

    def any_sharding(self, test: Callable[[TensorSharding], bool]) -> bool:
        """Returns whether `test` holds for any sharding of the program."""
        return any(_holds(attribute, test) for attribute in self.attributes)


def survey(root: Operation, *names: str, include_root: bool = True) -> Survey:
    """Returns the attributes with shardings in `root`, and the ops of these names."""
    wanted = frozenset(names)
    attributes: dict[int, Attribute] = {}
    ops: list[Operation] = []
    others: dict[type[Operation], tuple[str, ...]] = {}
    for op in (root, *ops_in(root)) if include_root else ops_in(root):
        properties = others.get(op.__class__)
        if properties is None:
            properties = others[op.__class__] = sharding_attributes(op.__class__)
        if wanted and op.name in wanted:
            ops.append(op)
        if op.attributes and (given := op.attributes.get(SHARDING)) is not None:
            attributes[id(given)] = given
        for name in properties:
            if (given := op.properties.get(name) or op.attributes.get(name)) is not None:
                attributes[id(given)] = given
    return Survey(tuple(attributes.values()), tuple(ops))


def _holds(attribute: Attribute, test: Callable[[TensorSharding], bool]) -> bool:
    if isinstance(attribute, TensorShardingAttr):
        return test(attribute.data)
    if isinstance(attribute, TensorShardingPerValueAttr):
        return any(map(test, attribute.data))
    is_list = isinstance(attribute, ArrayAttr)
    lists = attribute_list_shardings(cast(Attribute, attribute)) if is_list else ()
    return any(sharding is not None and test(sharding) for sharding in lists)
