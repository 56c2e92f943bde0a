"""Reads whole sources: a module, aliases, metadata; `read_module` is the way in.

Not here: operations (`reader.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.base.session import SESSION
from shardy_py.mlir.ir import set_location
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.cursor import MAX_NESTING
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.location_aliases import LocationAliases, aliases_at_end
from shardy_py.mlir.text.location_syntax import LOCATIONS, PendingLocation
from shardy_py.mlir.text.reader import OpReader
from shardy_py.mlir.text.recipes import Repeats
from shardy_py.mlir.text.resources import Resources, read_file_metadata, whole_module
from shardy_py.mlir.text.source import Source
from shardy_py.mlir.text.syntax import SyntaxTable
from shardy_py.mlir.text.type_reader import read_type_or_function


class ModuleReader(OpReader):
    """Reads a source from its beginning to its end."""

    __slots__ = ()

    def module(self) -> ModuleOp:
        """The whole source: one module, or ops that get a module around them."""
        top = self.block
        resources: Resources = {}
        while token := self.token:
            if token == "{-#":
                read_file_metadata(self, resources)
            elif token[0] in "#!":
                known = self.later_locations
                if known is None or known.start != self.offset:
                    known = LocationAliases(self, self.offset)
                if known.locations:
                    known.define(self)
                else:
                    self._alias_definition()
            else:
                if self.later_locations is None:
                    self.later_locations = aliases_at_end(self)
                self.operation()
        self.check_all_defined()
        self._settle_locations()
        location = FileLineColLoc(self.source.file_attribute, IntAttr(0), IntAttr(0))
        return whole_module(top, location, resources)

    def _alias_definition(self) -> None:
        is_type = self.token[0] == "!"
        what = "type" if is_type else "attribute"
        name = self.token[1:]
        if "." in name:
            self.error(f"{what} names with a '.' are reserved for dialect-defined names")
        table = self.type_aliases if is_type else self.aliases
        if name in table:
            self.error(f"redefinition of {what} alias id '{name}'")
        self.advance()
        self.expect("=", f" in {what} alias definition")
        read = (lambda: read_type_or_function(self)) if is_type else self.attribute
        table[name] = self.measure_alias(("!" if is_type else "#") + name, read)

    def _settle_locations(self) -> None:
        """Puts locations in the places of their aliases, once the whole text has been read."""
        settled: dict[str, Attribute] = {}
        for holder, pending in self.pending_locations:
            location = settled.get(pending.alias)
            if location is None:
                location = settled[pending.alias] = self._settled(pending)
            set_location(holder, location)

    def _settled(self, location: PendingLocation) -> Attribute:
        found = self.aliases.get(location.alias)
        if found is None:
            self.error("operation location alias was never defined", location.offset)
        if not isinstance(found, LOCATIONS):
            self.error(f"expected location, but found '{attribute_text(found)}'", location.offset)
        return found


def read_module(
    text: str, file: str, *, syntax: SyntaxTable, allow_unregistered: bool, first_line: int
) -> tuple[ModuleOp, Repeats]:
    """The module that `text` spells, and those of its ops that a verifier need not look at again.

    Raises `ShardyError` with the place of the first mistake.
    """
    try:
        reader = ModuleReader(Source(text, file, first_line), syntax, allow_unregistered=allow_unregistered)
        return _module(reader), reader.repeats
    except ShardyError as error:
        from shardy_py.mlir.text.other_languages import explained

        raise explained(error, text, file, first_line) from None


def _module(reader: ModuleReader) -> ModuleOp:
    with SESSION.program(is_read=True), deep_stack():
        try:
            return reader.module()
        except RecursionError:
            position = reader.source.position(reader.offset)
            raise ShardyError(Diagnostic(f"nesting exceeds {MAX_NESTING} levels", position)) from None
        except VerifyException as error:
            message = str(error).strip().splitlines() or ["invalid attribute"]
            raise ShardyError(Diagnostic(message[0], reader.source.position(reader.offset))) from None
