"""Prints modules as MLIR does, in pretty or generic form.

The text of an op follows from its class, attributes and types, except for the names of its operands: the
text with holes for the names is memoised by the identity of the others, so most ops cost one look-up.

Not here: attributes and types (`attribute_writer.py`), names of values (`naming.py`), what assembly forms
print through (`op_writer.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from typing_extensions import override
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.text.attribute_writer import attribute_text, dictionary_entries, spelled_out, use_aliases
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.naming import AliasTable, ValueNames
from shardy_py.mlir.text.op_writer import INCOMPLETE, OpWriter, is_valid
from shardy_py.mlir.text.resources import resources_text
from shardy_py.mlir.text.syntax import SyntaxTable, operation_name
from shardy_py.sharding.spelling import string_literal

_HOLE = "\0"
_INDENT = "  "
_NO_NAME = "<<UNKNOWN SSA VALUE>>"


class ModuleWriter(OpWriter):
    """Writes operations with all that they hold."""

    def __init__(
        self, names: ValueNames, syntax: SyntaxTable, aliases: AliasTable, *, generic: bool, debuginfo: bool
    ) -> None:
        super().__init__(debuginfo=debuginfo)
        self.syntax = syntax
        self.names = names
        self.aliases = aliases
        self.generic = generic
        self._holes: list[SSAValue] | None = None
        self._templates: dict[object, tuple[str, Operation]] = {}
        self._default_dialect: list[str] = [""]
        self._block_labels: dict[int, tuple[int, str]] = {}

    @override
    def operand(self, value: SSAValue) -> None:
        self.pieces.append(self.operand_text(value))

    def operand_text(self, value: SSAValue) -> str:
        """The name of a value, to be written next."""
        if self._holes is None:
            return self.names.of.get(id(value), _NO_NAME)
        self._holes.append(value)
        return _HOLE

    def label(self, block: Block) -> str:
        """The label of a block of a region that is being written."""
        return self._block_labels[id(block)][1]

    def captured(self, write: Callable[[], None]) -> str:
        """Returns what `write` writes through this writer, indented as at the outermost level."""
        outer = (self.pieces, self._holes, self.indent)
        self.pieces, self._holes, self.indent = [], None, ""
        write()
        text = "".join(self.pieces)
        self.pieces, self._holes, self.indent = outer
        return text

    @override
    def region(
        self,
        region: Region,
        *,
        default_dialect: str | None = None,
        hide_arguments: bool = False,
        label_empty: bool = False,
        hide_terminators: bool = False,
    ) -> None:
        holes, self._holes = self._holes, None
        self._default_dialect.append(default_dialect or "")
        outer = self.indent
        self.pieces.append("{\n")
        self.indent = outer + _INDENT
        for index, block in enumerate(region.blocks):
            self._block_labels[id(block)] = (index, f"^bb{index}")
        is_entry = True
        for block in region.blocks:
            is_shown = bool(block.args) and not hide_arguments
            if not is_entry or is_shown or (label_empty and block.first_op is None):
                self._label(block, outer)
            is_entry = False
            op = block.first_op
            last = block.last_op if hide_terminators else None
            while op is not None and op is not last:
                self.operation(op)
                op = op.next_op
        self.indent = outer
        self.pieces.append(outer + "}")
        self._default_dialect.pop()
        self._holes = holes

    # ------------------------------------------------------------------ operations

    def operation(self, op: Operation) -> None:
        """Writes an operation with its indentation and the end of its line."""
        end = f" loc({self._operation_location(op)})\n" if self.debuginfo else "\n"
        names = self.names
        pieces = self.pieces
        summary = self._summary(op) if op.regions else None
        if (op.regions and summary is None) or op.successors:
            pieces.append(self.indent)
            if op.results:
                pieces.append(names.prefix[id(op)])
            self._body(op)
            pieces.append(end)
            return
        attributes, properties = op.attributes, op.properties
        operands = operands_of(op)
        key = (
            op.__class__,
            self._default_dialect[-1],
            summary,
            *properties,
            *map(id, properties.values()),
            *attributes,
            *map(id, attributes.values()),
            *[id(v.type) for v in operands],
            *[id(r.type) for r in op.results],
        )
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = (self._template(op), op)
        of = names.of
        if operands:
            try:
                body = template[0] % tuple([of[id(v)] for v in operands])
            except KeyError:
                body = template[0] % tuple([of.get(id(v), _NO_NAME) for v in operands])
        else:
            body = template[0] % ()
        if op.results:
            pieces.append(f"{self.indent}{names.prefix[id(op)]}{body}{end}")
        else:
            pieces.append(f"{self.indent}{body}{end}")

    def _operation_location(self, op: Operation) -> str:
        self.aliases.defers = True
        text = attribute_text(op.location)
        self.aliases.defers = False
        return text

    def _summary(self, op: Operation) -> Hashable | None:
        """The regions as the op's own line describes them, None if they are printed in full."""
        syntax = None if self.generic else self.syntax.op(operation_name(type(op)))
        if syntax is None or syntax.form is None or syntax.form.summary is None:
            return None
        return syntax.form.summary(op)

    def _template(self, op: Operation) -> str:
        """The op's text with `%s` for each operand, in the order of the operands."""
        outer = self.pieces
        self.pieces, self._holes = [], []
        self._body(op)
        text = "".join(self.pieces).replace("%", "%%")
        holes = self._holes
        self.pieces, self._holes = outer, None
        operands = list(op.operands)
        if self.is_collecting:
            return "%.0s" * len(operands)
        if [id(v) for v in holes] == [id(v) for v in operands]:
            return text.replace(_HOLE, "%s")
        parts = text.split(_HOLE)
        if len(set(map(id, operands))) < len(operands) or len(holes) > len(operands):
            # operands are not printed once each in order: spell the names out, this text is not shared
            names = [self.names.of[id(v)].replace("%", "%%") for v in holes]
            filler = "%.0s" * len(operands)
            return filler + "".join(p + n for p, n in zip(parts, [*names, ""], strict=True))
        raise AssertionError("an assembly form prints operands out of order")

    def _body(self, op: Operation) -> None:
        name = operation_name(type(op))
        syntax = None if self.generic else self.syntax.op(name)
        if syntax is None or syntax.form is None:
            if syntax is not None and type(op).print is not Operation.print:
                from shardy_py.mlir.text.xdsl_bridge import write_custom

                write_custom(self, op)
                return
            self.generic_form(op)
            return
        dialect = self._default_dialect[-1]
        if dialect and name.startswith(dialect + "."):
            name = name[len(dialect) + 1 :]
        elif name.startswith("builtin."):
            name = name[8:]
        written, held = len(self.pieces), len(self._holes or ())
        self.pieces.append(name)
        try:
            syntax.form.write(self, op)
        except INCOMPLETE:
            if is_valid(op):
                raise
            del self.pieces[written:]
            if self._holes is not None:
                del self._holes[held:]
            self.generic_form(op)

    def generic_form(self, op: Operation) -> None:
        """Writes `"name"(operands) <{properties}> ({regions}) {attributes} : type`."""
        if self.is_collecting:
            self._collect_generic(op)
            return
        name = op.op_name.data if isinstance(op, UnregisteredOp) else operation_name(type(op))
        self.pieces.append(string_literal(name))
        self.pieces.append("(")
        self.operands(op.operands)
        self.pieces.append(")")
        if op.successors:
            labels = ", ".join([self.label(block) for block in op.successors])
            self.pieces.append(f"[{labels}]")
        if properties := self._generic_properties(op):
            self.pieces.append(f" <{{{dictionary_entries(properties)}}}>")
        if op.regions:
            self.pieces.append(" (")
            for index, region in enumerate(op.regions):
                if index:
                    self.pieces.append(", ")
                self.region(region, label_empty=True)
            self.pieces.append(")")
        shown = {k: v for k, v in op.attributes.items() if k != "op_name__"}
        if shown:
            self.pieces.append(f" {{{dictionary_entries(shown)}}}")
        self.pieces.append(" : ")
        self.function_type(op)

    def _generic_properties(self, op: Operation) -> Mapping[str, Attribute]:
        if isinstance(op, UnregisteredOp):
            return op.properties
        syntax = self.syntax.op(operation_name(type(op)))
        shown = None if syntax is None else syntax.generic_properties
        return op.properties if shown is None else shown(op)

    def _collect_generic(self, op: Operation) -> None:
        """Visits the attributes of an op in generic form in the order in which MLIR does."""
        for region in op.regions:
            self.region(region, label_empty=True)
        for value in (*op.operands, *op.results):
            attribute_text(value.type)
        if isinstance(op, UnregisteredOp):
            dictionary_entries(op.attributes)
        elif Behaviour.GENERIC_ALIASES_START_OUTSIDE.holds:
            dictionary_entries(op.attributes)
            dictionary_entries(self._generic_properties(op))
        else:
            dictionary_entries({**self._generic_properties(op), **op.attributes})

    # ------------------------------------------------------------------ blocks

    def _label(self, block: Block, indent: str) -> None:
        self.pieces.append(f"{indent}{self.label(block)}")
        if block.args:
            self.pieces.append("(")
            for index, argument in enumerate(block.args):
                if index:
                    self.pieces.append(", ")
                self.argument(argument)
            self.pieces.append(")")
        self.pieces.append(f":{self._predecessors(block)}\n")

    def _predecessors(self, block: Block) -> str:
        """The comment after a label that lists the predecessors of its block."""
        blocks = [use.operation.parent for use in block.uses]
        labels = [label for _, label in sorted([self._block_labels[id(found)] for found in blocks])]
        if labels:
            return (
                f"  // pred: {labels[0]}"
                if len(labels) == 1
                else f"  // {len(labels)} preds: {', '.join(labels)}"
            )
        is_entry = block.parent is not None and block.parent.blocks[0] is block
        return "" if is_entry else "  // no predecessors"


def print_module(
    module: Operation, *, syntax: SyntaxTable, generic: bool = False, debuginfo: bool = False
) -> str:
    """Returns the text of a module (or any operation), with a newline at its end."""
    names = ValueNames(module, syntax, generic=generic)
    aliases = AliasTable()

    def write(*, is_collecting: bool = False) -> str:
        writer = ModuleWriter(names, syntax, aliases, generic=generic, debuginfo=debuginfo)
        writer.is_collecting = is_collecting
        with use_aliases(aliases), deep_stack():
            writer.operation(module)
        return "".join(writer.pieces)

    if not debuginfo:
        text = write()
        if not aliases.entries:
            return text + resources_text(module, text)
        aliases = AliasTable()
    write(is_collecting=True)
    with use_aliases(aliases):
        aliases.give_names(spelled_out)
    text = aliases.definitions(behind=False) + write() + aliases.definitions(behind=True)
    return text + resources_text(module, text)
