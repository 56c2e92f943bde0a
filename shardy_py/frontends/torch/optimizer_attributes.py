"""Attributes in which an optimizer keeps states: counts, lists of tensors, tables by parameter.

    self.count, self.slow = 0, [p.clone() for p in parameters]

A step may run on other parameters, so states do not have the objects themselves: parameters, groups and
optimizers are `OwnPlace`s in them.

Not here: the step in which they change (`optimizers.py`), copies (`optimizer_copies.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from copy import copy as shallow
from operator import attrgetter
from random import Random
from typing import TypeGuard

from shardy_py.base.records import dataclass
from shardy_py.frontends.torch.placements import is_tensor, torch_module
from shardy_py.frontends.torch.traced import Traced

Attributes = dict[str, Traced]
"""Attributes of an optimizer by name."""
_VERSION = attrgetter("_version")
"""How often a tensor was written to."""
_LISTS = (list, tuple, set, frozenset, deque)


@dataclass(frozen=True, slots=True)
class OwnPlace:
    """Stands for what each copy of an optimizer has its own of.

    name: that of a parameter, or a number. is_address: of `id(parameter)`, which tables have as keys.
    """

    name: str
    is_address: bool = False

    def __str__(self) -> str:
        return self.name


def replaced(value: Traced, replace: Callable[[Traced], Traced]) -> Traced:
    """Returns a copy of lists and mappings with other leaves and keys; what is replaced is one leaf."""
    found = replace(value)
    if found is not value:
        return found
    if _is_mapping(value):
        copy = shallow(value)  # of its own class, which may have defaults
        items = [(replace(key), replaced(each, replace)) for key, each in copy.items()]
        copy.clear()
        copy.update(items)
        return copy
    if type(value) in _LISTS:
        parts = (replaced(each, replace) for each in value)
        return deque(parts, value.maxlen) if isinstance(value, deque) else type(value)(parts)
    return shallow(value) if isinstance(value, Random) else value


@dataclass(frozen=True, eq=False)
class AttributesBefore:
    """Attributes as they are before a step: their leaves, and how often their tensors were written to."""

    leaves: Mapping[str, list[tuple[object, int]]]

    @staticmethod
    def of(attributes: Attributes) -> AttributesBefore:
        """Notes their leaves."""
        return AttributesBefore({name: _versions(value) for name, value in attributes.items()})

    def changed(self, attributes: Attributes) -> frozenset[str]:
        """Returns the names of attributes that are others now, or whose tensors were written to."""
        return frozenset(n for n, value in attributes.items() if not self._is_same(n, _versions(value)))

    def _is_same(self, name: str, now: list[tuple[object, int]]) -> bool:
        before = self.leaves.get(name)
        return before is not None and len(before) == len(now) and all(map(_is_same, before, now))


def has_tensors(value: object) -> bool:
    """Returns whether an attribute has tensors."""
    return any(is_tensor(leaf) for leaf in torch_module("torch.utils._pytree").tree_leaves(value))


def _is_mapping(value: object) -> TypeGuard[dict[object, Traced]]:
    return isinstance(value, dict)


def _versions(value: object) -> list[tuple[object, int]]:
    leaves = torch_module("torch.utils._pytree").tree_leaves(value)
    return [(leaf, _VERSION(leaf) if is_tensor(leaf) else 0) for leaf in leaves]


def _is_same(before: tuple[object, int], now: tuple[object, int]) -> bool:
    (old, old_version), (new, version) = before, now
    if isinstance(old, int | float | OwnPlace) and type(old) is type(new):
        return old == new
    return old is new and old_version == version
