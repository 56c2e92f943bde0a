"""The reader's memory of ops: facts derived from an op's class, and lines seen before.

A class gives its properties, their defaults, and a syntax of its own. A line seen before is a recipe for
another op of the same signature: the text of the line without the names of values. What a line means depends
on that, on the types of its operands, on the dialect whose name may be left out, and on the token behind it,
which may go on with the op; all four are compared.

Not here: reading a line for the first time (`reader.py`), syntax that dialects register (`syntax.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, PropertyDef

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import keeps_place


@lru_cache(maxsize=4096)
def _property_definitions(op_class: type[Operation]) -> dict[str, PropertyDef]:
    is_defined = issubclass(op_class, IRDLOperation)
    return op_class.get_irdl_definition().properties if is_defined else {}


_UNDECLARED: dict[type[Operation], tuple[str, ...]] = {FuncOp: ("no_inline",), CallOp: ("no_inline",)}
"""Properties of MLIR's ops that xDSL's classes lack."""


@lru_cache(maxsize=4096)
def inherent_names(op_class: type[Operation]) -> frozenset[str]:
    """The names of an op's properties, which move out of its attribute dictionary."""
    return frozenset((*_property_definitions(op_class), *_UNDECLARED.get(op_class, ())))


@lru_cache(maxsize=4096)
def default_properties(op_class: type[Operation]) -> dict[str, Attribute]:
    """The properties with defaults, which the text of an op may omit."""
    definitions = _property_definitions(op_class)
    return {name: p.default_value for name, p in definitions.items() if p.default_value is not None}


@lru_cache(maxsize=4096)
def _property_storage(op_class: type[Operation]) -> dict[str, Callable[[Attribute], bool]]:
    constraints = {name: getattr(p, "constr", None) for name, p in _property_definitions(op_class).items()}
    found = {name: getattr(constraint, "storage", None) for name, constraint in constraints.items()}
    return {name: storage for name, storage in found.items() if storage is not None}


def refused_property(op_class: type[Operation], properties: Mapping[str, Attribute]) -> str | None:
    """The name of a property whose attribute is of a class that the op cannot hold, None if all are fine."""
    for name, accepts in _property_storage(op_class).items():
        if name in properties and not accepts(properties[name]):
            return name
    return None


def has_own_syntax(op_class: type[Operation]) -> bool:
    """True if the class has a `parse` method for a custom form."""
    return op_class.parse.__func__ is not Operation.parse.__func__


@lru_cache(maxsize=4096)
def unregistered_class(name: str) -> type[Operation]:
    """The class of an unregistered op."""
    return UnregisteredOp.with_name(name)


VALUE = re.compile(r"(%[\w$.#-]+)", re.ASCII)
"""The name of a value, in a line to be split into names and signature."""

LONGEST_LINE = 4096
"""Longer lines are read token by token: cutting them up again for each op on them would cost too much."""


Repeats = dict[int, list[Operation]]
"""By identity of a block, ops in it, in order, that equal one before them there in all but their operands.

Their class, types, properties and attributes need no second look of a verifier.
"""


@dataclass(slots=True)
class Recipe:
    """Template of the ops of a signature: all but operands, names of results, and place.

    name_count: the number of names before the `=`; the others are the operands, in order.
    result_counts: the counts `:2` behind those names, 0 where none is written.
    name_shift: offset of the op's name from the end of the last result's name (or the start of the line).
    location: the location, where the line spells it.
    remake: makes the regions, None if there are none.
    followers: the tokens, or their first characters, that may follow without belonging to the op.
    part_count: the number of parts of the line, split by `VALUE`.
    block: where the last op of the signature is; repeats: those of all signatures in this block.
    is_plain: whether the op has one result, no regions, and a location that can be made when asked for.
    """

    op_class: type[Operation]
    name_count: int
    result_counts: tuple[int, ...]
    name_shift: int
    operand_types: list[Attribute]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    location: Attribute | None
    remake: Callable[[Attribute | None], Sequence[Region]] | None
    followers: set[str] = field(default_factory=set[str])

    block: Block | None = None
    repeats: list[Operation] = field(default_factory=list[Operation])
    part_count: int = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.part_count = 2 * (self.name_count + len(self.operand_types)) + 1
        has_place = self.location is not None or keeps_place(self.op_class)
        self.is_plain = (
            self.name_count == 1 and len(self.result_types) == 1 and self.remake is None and has_place
        )


def follower(token: str) -> str:
    """The token after an op as a recipe keeps it: the whole word, or the kind of token."""
    first = token[:1]
    return token if first.isalpha() or first == "_" else first


def signature(parts: list[str]) -> str:
    """The signature of a line split by `VALUE`."""
    return "%".join(parts[::2])


def repeated_signature(parts: list[str]) -> str:
    """A signature that also records which names are equal.

    >>> repeated_signature(VALUE.split("%0 = add %1, %1"))
    '% = add %, %|0,1,1'
    """
    names = parts[1::2]
    return f"{signature(parts)}|{','.join([str(names.index(name)) for name in names])}"


def is_plain(names: Sequence[str], operands: Sequence[SSAValue], values: dict[str, SSAValue]) -> bool:
    """True if an op's operands are the values of the names in its line, in that order."""
    return len(names) == len(operands) and all(
        values.get(name) is value for name, value in zip(names, operands, strict=True)
    )
