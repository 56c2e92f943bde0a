"""The syntax of ops, attributes and dialects, as dialects register it for the reader and the printer.

Not here: the assembly forms themselves (`assembly.py` for the declarative ones, the dialects for the others),
the list of dialects (`mlir/dialects/registry.py`, which provides the table of the process).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from shardy_py.base.records import dataclass

if TYPE_CHECKING:
    from xdsl.context import Context

    from shardy_py.mlir.text.cursor import Cursor
    from shardy_py.mlir.text.op_writer import OpWriter
    from shardy_py.mlir.text.reader import OpReader


@dataclass(slots=True)
class OpParts:
    """The parts of an op, as an assembly form reads them.

    place: the offset that is the op's location; None: that of its name.
    remake: makes new regions, each op at the given location, if the op's own line describes them completely;
        further ops of that signature then need no reading, and no verifier looks at the ops in them for more
        than their signature. None: the regions have text of their own.
    """

    operands: Sequence[SSAValue] = ()
    result_types: Sequence[Attribute] = ()
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    regions: Sequence[Region] = ()
    remake: Callable[[Attribute | None], Sequence[Region]] | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class AssemblyForm:
    """An op's own syntax: a reader beside a printer.

    read: called with the cursor behind the op's name; returns the parts, raises `ShardyError`.
    write: writes all behind the op's name, with the leading space.
    summary: a hashable value that determines the text of the op's regions, if they are part of the op's line.
        Absent or None: the regions have text of their own.
    """

    read: Callable[[OpReader], OpParts]
    write: Callable[[OpWriter, Any], None]
    summary: Callable[[Any], Hashable | None] | None = None


@dataclass(frozen=True, slots=True)
class OpSyntax:
    """The syntax of one op.

    form: None: generic form only.
    result_names: hints for names of results, by index ("cst", "values"); None: numbered.
    argument_names: hint for the names of the arguments of a region's entry block ("iterArg").
    generic_properties: the properties that the generic form shows, where they are others than the op has.
    default_dialect: dialect whose name is left out in the op's regions ("func" in func.func).
    """

    op_class: type[Operation]
    form: AssemblyForm | None = None
    result_names: Callable[[Operation], Sequence[str | None]] | None = None
    argument_names: Callable[[Operation, int], Sequence[str | None]] | None = None
    generic_properties: Callable[[Operation], Mapping[str, Attribute]] | None = None
    default_dialect: str | None = None


AttributeWriter = Callable[[Any], str]
"""Returns the text of an attribute of the class that it is registered for."""

_names: dict[type[Operation], str] = {}


def operation_name(op_class: type[Operation]) -> str:
    """The name of an op's class, which an operand or property called `name` may hide."""
    found = _names.get(op_class)
    if found is None:
        name: object = getattr(op_class, "name", None)
        if not isinstance(name, str) and issubclass(op_class, IRDLOperation):
            name = op_class.get_irdl_definition().name
        found = _names[op_class] = str(name)
    return found


@dataclass(frozen=True, slots=True)
class AttributeSyntax:
    """A dialect's attribute or type `#dialect.mnemonic`: reads what follows the mnemonic, `<` included.

    write: the text behind the mnemonic.
    """

    attribute_class: type[Attribute]
    read: Callable[[Cursor], Attribute]
    write: AttributeWriter


@dataclass(frozen=True)
class DialectSyntax:
    """The syntax of a dialect.

    op: the syntax of an op by its full name, None if the dialect has no such op; called once a name.
    attributes, types: by mnemonic; printed `#dialect.mnemonic<...>` and `!dialect.mnemonic<...>`.
    enclosed: attributes printed `#dialect<mnemonic...>`, by mnemonic: enums (`write` gives " KEYWORD") and
        others whose text does not start with `<`.
    is_opaque: whether its attributes and types are kept as the text they are.
    unknown_attribute, unknown_type: messages for other names: `{0}` the name, `{1}` the dialect.
    """

    name: str
    op: Callable[[str], OpSyntax | None]
    attributes: dict[str, AttributeSyntax] = field(default_factory=dict[str, AttributeSyntax])
    types: dict[str, AttributeSyntax] = field(default_factory=dict[str, AttributeSyntax])
    enclosed: dict[str, AttributeSyntax] = field(default_factory=dict[str, AttributeSyntax])
    is_opaque: bool = False
    unknown_attribute: str = "unknown attribute `{0}` in dialect `{1}`"
    unknown_type: str = "unknown type `{0}` in dialect `{1}`"


_MOST_NAMES = 1 << 12
"""The names of ops that are kept before those that no dialect knows are forgotten."""


@dataclass
class SyntaxTable:
    """The dialects that text is read and printed with.

    context: an xDSL context with the dialects that have no syntax here, and those that have.
    verify: raises a `VerifyException` with the first fault of an op, whatever its regions hold.
    by_text: memo of dialects' attributes.
    absent: dialects of the context that are unknown here.
    foreign: dialects whose ops are read as those of others, and whose other ops are unknown.
    """

    dialects: dict[str, DialectSyntax]
    context: Callable[[], Context]
    verify: Callable[[Operation], None]
    by_text: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    absent: frozenset[str] = frozenset()
    foreign: dict[str, DialectSyntax] = field(default_factory=dict[str, DialectSyntax])
    _ops: dict[str, OpSyntax | None] = field(default_factory=dict[str, OpSyntax | None])
    _prefixes: dict[type, tuple[str, AttributeSyntax, str]] | None = None

    def op(self, name: str) -> OpSyntax | None:
        """The syntax of an op by its full name; None if no dialect knows it."""
        if name in self._ops:
            return self._ops[name]
        prefix = name.partition(".")[0]
        dialect = self.dialects.get(prefix) or self.foreign.get(prefix)
        found = dialect.op(name) if dialect else None
        if found is None and (op_class := self._class_in_context(name)) is not None:
            found = OpSyntax(op_class)
        if found is None and len(self._ops) >= _MOST_NAMES:
            self.forget_unknown_ops()
        self._ops[name] = found
        return found

    def _class_in_context(self, name: str) -> type[Operation] | None:
        context = self.context()
        dialect = name.partition(".")[0]
        if dialect in self.absent or dialect not in context.registered_dialect_names:
            return None
        found = context.get_optional_op(name)
        return found if found is not None and found.name == name else None

    def without(self, names: Iterable[str]) -> SyntaxTable:
        """A table in which the dialects of these names are unregistered."""
        absent = self.absent.union(names)
        dialects = {name: dialect for name, dialect in self.dialects.items() if name not in absent}
        return SyntaxTable(dialects, self.context, self.verify, self.by_text, absent, self.foreign)

    def forget_unknown_ops(self) -> None:
        """Forgets which ops are unknown, after a dialect has been added to the context."""
        self._ops = {name: found for name, found in self._ops.items() if found is not None}

    def prefix_and_syntax(self, attribute_class: type) -> tuple[str, AttributeSyntax, str] | None:
        """The text before a dialect's attribute, its syntax, and the text after it; None if unknown."""
        if self._prefixes is None:
            self._prefixes = {}
            for dialect in self.dialects.values():
                for mnemonic, syntax in dialect.attributes.items():
                    self._prefixes[syntax.attribute_class] = (f"#{dialect.name}.{mnemonic}", syntax, "")
                for mnemonic, syntax in dialect.types.items():
                    self._prefixes[syntax.attribute_class] = (f"!{dialect.name}.{mnemonic}", syntax, "")
                for mnemonic, syntax in dialect.enclosed.items():
                    self._prefixes[syntax.attribute_class] = (f"#{dialect.name}<{mnemonic}", syntax, ">")
        return self._prefixes.get(attribute_class)


_providers: list[Callable[[], SyntaxTable]] = []


def provide_table(make: Callable[[], SyntaxTable]) -> None:
    """Registers the factory of the table of the process, which is called when it is first needed."""
    _providers.append(make)


@cache
def syntax_table() -> SyntaxTable:
    """The one table of the process."""
    return _providers[-1]()
