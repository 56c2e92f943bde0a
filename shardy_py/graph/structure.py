"""A program without its shardings: taken before and after, it shows whether anything else has changed.

    before = structure(module)
    ...                                 something that may touch shardings only
    change = first_change(before, structure(module))

Ops are compared by identity: an op that was replaced by an equal one counts as a change. A sharding may come
or change; one that goes counts as a change too. Not here: whether the shardings are valid (the verifiers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from shardy_py.dialects.sdy.interfaces import DATA_FLOW
from shardy_py.graph.holders import PROPERTY_OF, SHARDING
from shardy_py.ir import operands_of, walk_pre_order

Entries = Mapping[str, Attribute]

_LISTS = ("arg_attrs", "res_attrs")


@dataclass(frozen=True, slots=True)
class OpStructure:
    """All of an op but its shardings.

    shardings: the places that have one, so that one sees which are gone.
    """

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    regions: tuple[tuple[tuple[Block, tuple[SSAValue, ...]], ...], ...]
    successors: tuple[Block, ...]
    types: tuple[Attribute, ...]
    locations: tuple[object, ...]
    attributes: Entries
    properties: Entries
    shardings: frozenset[tuple[str, int]]

    def change_to(self, other: OpStructure) -> str | None:
        """What is different in `other`, as a phrase; None if nothing is."""
        for what, mine, its in (
            ("operands", self.operands, other.operands),
            ("results", self.results, other.results),
            ("regions", _flat(self.regions), _flat(other.regions)),
            ("successors", self.successors, other.successors),
        ):
            if len(mine) != len(its) or any(a is not b for a, b in zip(mine, its, strict=True)):
                return f"its {what} changed"
        if self.types != other.types:
            return "its types changed"
        if self.locations != other.locations:
            return "its location changed"
        for what, old, new in (
            ("attribute", self.attributes, other.attributes),
            ("property", self.properties, other.properties),
        ):
            for name in dict.fromkeys((*old, *new)):
                if old.get(name) != new.get(name):
                    return f"its {what} '{name}' changed"
        return "a sharding was removed" if self.shardings - other.shardings else None


def structure(module: ModuleOp) -> tuple[OpStructure, ...]:
    """The ops of `module` in program order."""
    return tuple(map(_structure_of, walk_pre_order(module)))


def first_change(before: Sequence[OpStructure], after: Sequence[OpStructure]) -> tuple[Operation, str] | None:
    """The first op at which the two differ, with what is different; None if they do not."""
    for old, new in zip(before, after, strict=False):
        if old.op is not new.op:
            was_there = any(new.op is other.op for other in before)
            return (old.op, "it was removed or moved") if was_there else (new.op, "it was added")
        change = old.change_to(new)
        if change is not None:
            return old.op, change
    if len(before) > len(after):
        return before[len(after)].op, "it was removed or moved"
    return (after[len(before)].op, "it was added") if len(after) > len(before) else None


def _structure_of(op: Operation) -> OpStructure:
    shardings: set[tuple[str, int]] = set()
    regions = tuple(tuple((block, tuple(block.args)) for block in region.blocks) for region in op.regions)
    arguments = tuple(argument for blocks in regions for _, given in blocks for argument in given)
    return OpStructure(
        op,
        tuple(operands_of(op)),
        tuple(op.results),
        regions,
        tuple(op.successors),
        tuple(value.type for value in (*op.results, *arguments)),
        (op.location, *(cast(Any, argument).location for argument in arguments)),
        _without(op.attributes, {SHARDING, *_sharding_names(op)}, shardings),
        _properties(op, shardings),
        frozenset(shardings),
    )


def _sharding_names(op: Operation) -> set[str]:
    names = {PROPERTY_OF[op.name]} if op.name in PROPERTY_OF else set[str]()
    return names.union(DATA_FLOW[op.name].sharding_properties) if op.name in DATA_FLOW else names


def _properties(op: Operation, shardings: set[tuple[str, int]]) -> Entries:
    properties = _without(op.properties, _sharding_names(op), shardings)
    for name in _LISTS:
        given = properties.pop(name, None) if op.name == "func.func" else None
        entries = cast("ArrayAttr[DictionaryAttr]", given).data if given is not None else ()
        for index, entry in enumerate(entries):
            rest = _without(entry.data, {SHARDING}, found := set[tuple[str, int]]())
            shardings.update((name, index) for _ in found)
            if rest:
                properties[f"{name}[{index}]"] = DictionaryAttr(rest)
    return properties


def _without(entries: Entries, names: set[str], found: set[tuple[str, int]]) -> dict[str, Attribute]:
    found.update((name, 0) for name in names if name in entries)
    return {name: value for name, value in entries.items() if name not in names}


def _flat(regions: tuple[tuple[tuple[Block, tuple[SSAValue, ...]], ...], ...]) -> tuple[object, ...]:
    """Blocks and arguments, with a mark where a region ends."""
    return tuple(
        part
        for blocks in regions
        for part in (*(p for block, arguments in blocks for p in (block, *arguments)), None)
    )
