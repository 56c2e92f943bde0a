"""What the text mentions before it says it: values used before their definition, aliases of locations.

Not here: the reader that keeps them (`reader.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, SSAValue

from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.location_syntax import LOCATIONS, PendingLocation

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
        if value.type != self.type:
            cursor.error(
                f"definition of SSA value '{self.name}' has type '{attribute_text(value.type)}', but previously used with "
                f"type '{attribute_text(self.type)}'",
                self.offset,
            )
        for use in list(self.uses):
            block = getattr(value.owner, "parent", None) if not isinstance(value.owner, Block) else value.owner
            if use.operation.parent is block or block is self.block:
                cursor.error(f"operand #{use.index} does not dominate this use", self.offset)
        self.replace_all_uses_with(value)


def settle_location(location: PendingLocation, aliases: dict[str, Attribute], cursor: Cursor) -> Attribute:
    """The location that an alias stands for, now that the whole text is read."""
    found = aliases.get(location.alias)
    if found is None:
        cursor.error("operation location alias was never defined", location.offset)
    if not isinstance(found, LOCATIONS):
        cursor.error(f"expected location, but found '{attribute_text(found)}'", location.offset)
    return found
