"""Reads regions: their blocks, labels and arguments.

Not here: the operations in them (`reader.py`), names of values (`value_reader.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Block, Region

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.ir import append_arguments
from shardy_py.text.location_syntax import PendingLocation, read_location
from shardy_py.text.source import Source, source_location
from shardy_py.text.syntax import SyntaxTable
from shardy_py.text.type_reader import read_type_or_function
from shardy_py.text.value_reader import ValueReader


@dataclass(frozen=True, slots=True)
class Argument:
    """The name, type, attributes and location of a region's argument, as an assembly form reads them."""

    name: str
    type: Attribute
    offset: int
    attributes: dict[str, Attribute]
    location: Attribute | PendingLocation | None = None


class RegionReader(ValueReader, ABC):
    """Reads regions; `operation` reads the ops of their blocks.

    blocks: the blocks of the innermost region by label, with the offset of the first mention.
    default_dialects: the dialects whose names may be left out, of the regions around the cursor.
    pending_locations: ops and arguments whose location is an alias that is not defined yet.
    """

    __slots__ = ("blocks", "default_dialects", "pending_locations")

    def __init__(self, source: Source, syntax: SyntaxTable) -> None:
        super().__init__(source, syntax)
        self.blocks: dict[str, tuple[Block, int]] | None = None
        self.default_dialects: list[str] = ["builtin"]
        self.pending_locations: list[tuple[Any, PendingLocation]] = []

    @abstractmethod
    def operation(self) -> None:
        """The operation at the cursor, put at the end of the current block."""

    def arguments(
        self, opening: str = "(", closing: str = ")", *, allow_attributes: bool = False
    ) -> list[Argument]:
        """`(%a: type {attributes}, ...)`: the arguments of a region."""

        def read() -> Argument:
            name, offset = self.token, self.offset
            if name[:1] != "%":
                self.form_error("expected SSA identifier")
            self.advance()
            self.expect(":")
            type_ = read_type_or_function(self)
            attributes = self.attribute_dictionary() if allow_attributes and self.at("{") else {}
            location = read_location(self) if self.at("loc") else None
            return Argument(name, type_, offset, attributes, location)

        return self.items(read, opening, closing)

    def region(
        self,
        arguments: Sequence[Argument] = (),
        *,
        default_dialect: str | None = None,
    ) -> Region:
        """`{ ... }`, with an entry block that has `arguments` if any are given."""
        self.expect("{", " to begin a region")
        outer_block, outer_blocks, outer_names = self.block, self.blocks, self.operand_names
        self.enter_scope()
        self.default_dialects.append(default_dialect or "builtin")
        self.blocks = {}
        region = Region()
        self.nested(lambda: self._blocks(region, arguments))
        self.default_dialects.pop()
        self.leave_scope()
        self.block, self.blocks, self.operand_names = outer_block, outer_blocks, outer_names
        return region

    def _blocks(self, region: Region, arguments: Sequence[Argument]) -> None:
        assert self.blocks is not None
        if not arguments and self.accept("}"):
            return
        if arguments and self.token[:1] == "^":
            self.error("invalid block name in region with named arguments")
        if self.token[:1] != "^":
            self._enter(Block(), region)
            self._check_entry_names(arguments)
            self._add_arguments(arguments)
            self._block_body()
        while self.token[:1] == "^":
            self._labelled_block(region)
        missing = [offset for block, offset in self.blocks.values() if block.parent is None]
        if missing:
            position = self.source.position
            raise ShardyError(
                *[Diagnostic("reference to an undefined block", position(at)) for at in sorted(missing)]
            )
        self.advance()

    def _enter(self, block: Block, region: Region) -> None:
        region.add_block(block)
        self.block = block

    def _labelled_block(self, region: Region) -> None:
        label, offset = self.token, self.offset
        block = self.successor()
        if block.parent is not None:
            self.error(f"redefinition of block '{label}'", offset)
        self._enter(block, region)
        if self.at("("):
            self._add_arguments(self.items(self._block_argument, "(", ")"))
        self.expect(":", " after block name")
        self._block_body()

    def _block_argument(self) -> Argument:
        name, offset = self.token, self.offset
        if name[:1] != "%":
            self.wrong_token("expected SSA operand")
        self.advance()
        self.expect(":", " and type for SSA operand")
        type_ = read_type_or_function(self)
        return Argument(name, type_, offset, {}, read_location(self) if self.at("loc") else None)

    def _add_arguments(self, arguments: Sequence[Argument]) -> None:
        """Gives the current block its arguments."""
        for made, argument in zip(
            append_arguments(self.block, [(a.type, self._argument_location(a)) for a in arguments]),
            arguments,
            strict=True,
        ):
            if isinstance(argument.location, PendingLocation):
                self.pending_locations.append((made, argument.location))
            if argument.name:
                self.define(argument.name, made, argument.offset)

    def _check_entry_names(self, arguments: Sequence[Argument]) -> None:
        seen: dict[str, int] = {}
        for argument in arguments:
            name = argument.name
            if name in seen or name in self.values:
                note = ("previously referenced here", seen[name] if name in seen else self.place_of(name))
                self.error(f"region entry argument '{name}' is already in use", argument.offset, note)
            if name:
                seen[name] = argument.offset

    def _argument_location(self, argument: Argument) -> Any:
        return argument.location or source_location(self.source, argument.offset)

    def _block_body(self) -> None:
        token = self.token
        while token != "}" and token[:1] != "^":
            self.operation()
            token = self.token

    def successor(self) -> Block:
        """`^label`: the block of that label, which may be defined later."""
        label, offset = self.token, self.offset
        if label[:1] != "^" or self.blocks is None:
            self.wrong_token("expected block name")
        self.advance()
        return self.blocks.setdefault(label, (Block(), offset))[0]
