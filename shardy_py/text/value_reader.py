"""Names of SSA values while a text is read: definitions, uses, uses before the definition, scopes.

A name is visible until the end of its region, also in nested regions. The verifier checks dominance.

Not here: operations and regions (`reader.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.attribute_writer import attribute_text
from shardy_py.text.cursor import Cursor
from shardy_py.text.source import Source
from shardy_py.text.syntax import SyntaxTable


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
    defined: the names of the innermost region with the offsets of their definitions.
    forward: values that are used but not defined yet.
    operand_names: the operands read since the current operation began.
    block: where operations go.
    """

    __slots__ = ("block", "defined", "forward", "operand_names", "outer_defined", "values")

    def __init__(self, source: Source, syntax: SyntaxTable) -> None:
        super().__init__(source, syntax)
        self.values: dict[str, SSAValue] = {}
        self.defined: list[tuple[str, int]] = []
        self.outer_defined: list[list[tuple[str, int]]] = []
        self.forward: dict[str, ForwardValue] = {}
        self.operand_names: list[tuple[str, int]] = []
        self.block = Block()

    def enter_scope(self) -> None:
        """Begins a region: names defined from here on end with it."""
        self.outer_defined.append(self.defined)
        self.defined = []

    def leave_scope(self) -> None:
        """Ends a region and the names defined in it."""
        values = self.values
        for name, _ in self.defined:
            del values[name]
        self.defined = self.outer_defined.pop()

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
        self.defined.append((name, offset))
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
        base = name.partition("#")[0]
        for scope in (self.defined, *reversed(self.outer_defined)):
            for other, offset in scope:
                if other in (name, base):
                    return offset
        return 0

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
