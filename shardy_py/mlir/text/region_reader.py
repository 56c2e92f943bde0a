"""Reads regions: names of SSA values with their scopes, blocks, labels, arguments.

A name is visible until the end of its region, also in nested regions, and may be used before its definition.
The verifier checks dominance.

Not here: the operations in regions (`reader.py`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import append_arguments, keep_file_name
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.location_syntax import PendingLocation, read_location
from shardy_py.mlir.text.source import Source, source_location
from shardy_py.mlir.text.syntax import SyntaxTable
from shardy_py.mlir.text.type_reader import read_type_or_function


class ForwardValue(SSAValue[Attribute]):
    """Placeholder for a value whose definition has not been read yet.

    offset: where it was used first.
    """

    def __init__(self, type_: Attribute, offset: int, block: Block) -> None:
        super().__init__(type_)
        self.offset, self.block = offset, block

    @property
    def owner(self) -> Block:
        """The block of the first use."""
        return self.block


class ValueReader(Cursor):
    """Reads operands and maps names to values.

    values: the values of the names in scope; `%a` and `%a#0` are both there.
    offsets: where the names of `values` are defined, in the same order.
    scopes: the number of names that are visible outside of each region around the cursor.
    forward: values that are used but not defined yet.
    operand_names: the operands read since the current operation began.
    block: where operations go.
    """

    __slots__ = ("block", "forward", "offsets", "operand_names", "scopes", "values")

    def __init__(self, source: Source, syntax: SyntaxTable) -> None:
        super().__init__(source, syntax)
        self.values: dict[str, SSAValue] = {}
        self.offsets: list[int] = []
        self.scopes: list[int] = []
        self.forward: dict[str, ForwardValue] = {}
        self.operand_names: list[tuple[str, int]] = []
        self.block = Block()

    def enter_scope(self) -> None:
        """Begins a region: names defined from here on end with it."""
        self.scopes.append(len(self.offsets))

    def leave_scope(self) -> None:
        """Ends a region and the names defined in it."""
        outer, forget = self.scopes.pop(), self.values.popitem
        for _ in range(len(self.offsets) - outer):
            forget()
        del self.offsets[outer:]

    def check_all_defined(self) -> None:
        """Fails on names that were used but never defined, each a message of its own."""
        offsets = sorted(value.offset for value in self.forward.values())
        if offsets:
            message = "use of undeclared SSA value name"
            raise ShardyError(*[Diagnostic(message, self.source.position(offset)) for offset in offsets])

    # Definitions

    def define(self, name: str, value: SSAValue, offset: int) -> None:
        """Binds `name` to `value`; fails if it is bound already."""
        if name in self.values:
            place = self.place_of(name)
            self.error(f"redefinition of SSA value '{name}'", offset, ("previously defined here", place))
        self.values[name] = value
        self.offsets.append(offset)
        if self.forward:
            for alternative in (name, name + "#0"):
                forward = self.forward.pop(alternative, None)
                if forward is not None:
                    self._settle(forward, name, value, offset)

    def _settle(self, forward: ForwardValue, name: str, value: SSAValue, offset: int) -> None:
        """Replaces a placeholder by the value."""
        if value.type != forward.type:
            base, _, number = name.partition("#")
            self.error(
                f"definition of SSA value '{base}#{number or 0}' has type '{attribute_text(value.type)}'",
                offset,
                (f"previously used here with type '{attribute_text(forward.type)}'", forward.offset),
            )
        forward.replace_all_uses_with(value)

    def place_of(self, name: str) -> int:
        """The offset of the definition of a name in scope."""
        names = name, name.partition("#")[0]
        return next((at for other, at in zip(self.values, self.offsets, strict=True) if other in names), 0)

    # Uses

    def operand_name(self) -> tuple[str, int]:
        """The name of an operand, with its offset, to `resolve` when its type is known."""
        if self.token[:1] != "%":
            self.wrong_token("expected SSA operand")
        found = (self.token, self.offset)
        self.operand_names.append(found)
        self.advance()
        return found

    def operand_list(self) -> list[tuple[str, int]]:
        """Names of operands separated by commas, possibly none."""
        names: list[tuple[str, int]] = []
        if self.token[:1] == "%":
            names.append(self.operand_name())
            while self.accept(","):
                names.append(self.operand_name())
        return names

    def resolve(self, names: Sequence[tuple[str, int]], types: Sequence[Attribute]) -> list[SSAValue]:
        """The values of names; fails where their types differ from `types`."""
        if len(names) != len(types):
            counts = f"got {len(names)} operands and {len(types)} types"
            offset = names[0][1] if names else None
            self.form_error(f"number of operands and types do not match: {counts}", offset)
        return [
            self._resolve(name, offset, type_) for (name, offset), type_ in zip(names, types, strict=True)
        ]

    def _resolve(self, name: str, offset: int, type_: Attribute) -> SSAValue:
        value = self.values.get(name)
        if value is None and "#" in name:
            base, _, number = name.partition("#")
            value = self.values.get(base)
            if value is not None and number.strip("0"):
                self.error("reference to invalid result number", offset)
        if value is None:
            value = self.forward.get(name)
        if value is None:
            made = self.forward[name] = ForwardValue(type_, offset, self.block)
            return made
        if value.type is not type_ and value.type != type_:
            prior = value.offset if isinstance(value, ForwardValue) else self.place_of(name)
            self.error(
                f"use of value '{name.partition('#')[0]}' expects different type than prior uses: "
                f"'{attribute_text(type_)}' vs '{attribute_text(value.type)}'",
                offset,
                ("prior use here", prior),
            )
        return value


@dataclass(frozen=True, slots=True)
class RegionArgument:
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
        self.pending_locations: list[tuple[Operation | BlockArgument, PendingLocation]] = []

    @abstractmethod
    def operation(self) -> None:
        """The operation at the cursor, put at the end of the current block."""

    def arguments(
        self, opening: str = "(", closing: str = ")", *, allow_attributes: bool = False
    ) -> list[RegionArgument]:
        """`(%a: type {attributes}, ...)`: the arguments of a region."""

        def read() -> RegionArgument:
            name, offset = self.token, self.offset
            if name[:1] != "%":
                self.form_error("expected SSA identifier")
            self.advance()
            self.expect(":")
            type_ = read_type_or_function(self)
            attributes = self.attribute_dictionary() if allow_attributes and self.at("{") else {}
            location = read_location(self) if self.at("loc") else None
            return RegionArgument(name, type_, offset, attributes, location)

        return self.items(read, opening, closing)

    def region(
        self, arguments: Sequence[RegionArgument] = (), *, default_dialect: str | None = None
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

    def _blocks(self, region: Region, arguments: Sequence[RegionArgument]) -> None:
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

    def _block_argument(self) -> RegionArgument:
        name, offset = self.token, self.offset
        if name[:1] != "%":
            self.wrong_token("expected SSA operand")
        self.advance()
        self.expect(":", " and type for SSA operand")
        type_ = read_type_or_function(self)
        return RegionArgument(name, type_, offset, {}, read_location(self) if self.at("loc") else None)

    def _add_arguments(self, arguments: Sequence[RegionArgument]) -> None:
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
                keep_file_name(made, argument.name)

    def _check_entry_names(self, arguments: Sequence[RegionArgument]) -> None:
        seen: dict[str, int] = {}
        for argument in arguments:
            name = argument.name
            if name in seen or name in self.values:
                note = ("previously referenced here", seen[name] if name in seen else self.place_of(name))
                self.error(f"region entry argument '{name}' is already in use", argument.offset, note)
            if name:
                seen[name] = argument.offset

    def _argument_location(self, argument: RegionArgument) -> Attribute | None:
        """The location of an argument; that of its name while its alias is not defined."""
        given = argument.location
        if given is None or isinstance(given, PendingLocation):
            return source_location(self.source, argument.offset)
        return given

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
