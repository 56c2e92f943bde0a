"""Facts that the reader derives from an op's class: properties, their defaults, a syntax of its own.

Not here: the syntax that dialects register for their ops (`syntax.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Operation


@lru_cache(maxsize=4096)
def _property_definitions(op_class: Any) -> dict[str, Any]:
    definition: Any = getattr(op_class, "get_irdl_definition", None)
    return definition().properties if definition else {}


@lru_cache(maxsize=4096)
def inherent_names(op_class: Any) -> frozenset[str]:
    """The names of an op's properties, which move out of its attribute dictionary."""
    return frozenset(_property_definitions(op_class))


@lru_cache(maxsize=4096)
def default_properties(op_class: Any) -> dict[str, Attribute]:
    """The properties with defaults, which the text of an op may omit."""
    definitions = _property_definitions(op_class)
    return {name: p.default_value for name, p in definitions.items() if p.default_value is not None}


@lru_cache(maxsize=4096)
def _property_storage(op_class: Any) -> dict[str, Callable[[Attribute], bool]]:
    constraints = {name: getattr(p, "constr", None) for name, p in _property_definitions(op_class).items()}
    found = {name: getattr(constraint, "storage", None) for name, constraint in constraints.items()}
    return {name: storage for name, storage in found.items() if storage is not None}


def refused_property(op_class: Any, properties: Mapping[str, Attribute]) -> str | None:
    """The name of a property whose attribute is of a class that the op cannot hold, None if all are fine."""
    for name, accepts in _property_storage(op_class).items():
        if name in properties and not accepts(properties[name]):
            return name
    return None


def has_own_syntax(op_class: Any) -> bool:
    """Whether the class has a `parse` method for a custom form."""
    base: Any = Operation
    return op_class.parse.__func__ is not base.parse.__func__


@lru_cache(maxsize=4096)
def unregistered_class(name: str) -> type[Operation]:
    """The class of an unregistered op."""
    return UnregisteredOp.with_name(name)
