"""What the text mentions before it says it: values used before their definition, aliases of locations.

Not here: the reader that keeps them (`reader.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Block, SSAValue

if TYPE_CHECKING:
    from shardy_py.text.cursor import Cursor


class ForwardValue(SSAValue[Attribute]):
    """Stands for a value whose definition has not been read yet."""

    def __init__(self, type_: Attribute, name: str, offset: int, block: Block) -> None:
        super().__init__(type_)
        self.name, self.offset, self.block = name, offset, block

    @property
    def owner(self) -> Block:
        """The block of the first use."""
        return self.block

    def settle(self, value: SSAValue, cursor: Cursor) -> None:
        """Puts the defined value in its own place; fails on a use that its definition does not dominate."""
        from shardy_py.text.attribute_writer import type_text

        if value.type != self.type:
            cursor.error(
                f"definition of SSA value '{self.name}' has type '{type_text(value.type)}', but previously used with "
                f"type '{type_text(self.type)}'",
                self.offset,
            )
        for use in list(self.uses):
            block = getattr(value.owner, "parent", None) if not isinstance(value.owner, Block) else value.owner
            if use.operation.parent is block or block is self.block:
                cursor.error(f"operand #{use.index} does not dominate this use", self.offset)
        self.replace_all_uses_with(value)


def resolve_location(location: Any, aliases: dict[str, Attribute], cursor: Cursor, depth: int = 0) -> Attribute:
    """The location with aliases like `#loc3` replaced by what the end of the file says of them."""
    if depth > 100:
        cursor.error("location aliases nest too deep")
    if isinstance(location, NameLoc):
        name = location.desc.data
        if name[:1] == "#":
            found = aliases.get(name[1:])
            if found is None:
                cursor.error(f"operation location alias was never defined: {name}")
            return resolve_location(found, aliases, cursor, depth + 1)
        inner = resolve_location(location.location, aliases, cursor, depth + 1)
        return location if inner is location.location else NameLoc(location.desc, inner)
    if isinstance(location, CallSiteLoc):
        return CallSiteLoc(
            resolve_location(location.callee, aliases, cursor, depth + 1),
            resolve_location(location.caller, aliases, cursor, depth + 1),
        )
    if isinstance(location, FusedLoc):
        parts: Any = location.locations
        return FusedLoc([resolve_location(p, aliases, cursor, depth + 1) for p in parts.data], location.metadata)
    return location
