"""Reads modules: MLIR text to xDSL IR.

The first op of a signature is read token by token, through its assembly form or the generic form; further
ones are read by their lines (`line_reader.py`).

Not here: single tokens (`cursor.py`), names of values and regions (`region_reader.py`), whole sources
(`module_reader.py`), assembly forms (`assembly.py`, `builtin_forms.py`, dialects).
"""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, FunctionType, StringAttr
from xdsl.ir import Attribute, Operation, Region

from shardy_py.base.counting import plural
from shardy_py.mlir.ir import build_operation
from shardy_py.mlir.text.attribute_writer import attribute_text, dictionary_entries
from shardy_py.mlir.text.line_reader import LineReader, split_location
from shardy_py.mlir.text.location_syntax import read_location
from shardy_py.mlir.text.recipes import (
    LONGEST_LINE,
    VALUE,
    Recipe,
    default_properties,
    follower,
    has_own_syntax,
    inherent_names,
    is_plain,
    refused_property,
    repeated_signature,
    signature,
    unregistered_class,
)
from shardy_py.mlir.text.region_reader import RegionArgument
from shardy_py.mlir.text.source import Source, source_location
from shardy_py.mlir.text.syntax import OpParts, OpSyntax, SyntaxTable
from shardy_py.mlir.text.type_reader import read_type_or_function

__all__ = ["OpReader", "RegionArgument"]

_HLO = (
    "expected MLIR, got HLO text; Program.parse reads it, and all commands do; or pass StableHLO, which "
    "`lowered.as_text()` prints in JAX"
)
_REGISTRATION = (
    "https://mlir.llvm.org/getting_started/Faq/#registered-loaded-dependent-whats-up-with-dialects-management"
)


class OpReader(LineReader):
    """Reads operations.

    place: the offset that is the location of the op read last.
    """

    __slots__ = ("place",)

    def __init__(self, source: Source, syntax: SyntaxTable, *, allow_unregistered: bool = False) -> None:
        super().__init__(source, syntax, allow_unregistered=allow_unregistered)
        self.place = 0

    # Operations

    def operation(self) -> None:
        """The operation at the cursor, and those after it on lines of known signatures."""
        if self.known_lines():
            return
        start = self.offset
        end = self.text.find("\n", start, start + LONGEST_LINE)
        if end < 0 or not self.use_recipes:
            self._read_operation()
            return
        line, alias, _ = split_location(self.text[start:end])
        self._read_line(VALUE.split(line), end, has_alias_location=alias is not None)

    def _read_line(self, parts: list[str], end: int, *, has_alias_location: bool) -> None:
        """Reads the operation at the cursor; keeps a recipe of it if it fills its line."""
        start = self.offset
        self.operand_names = []
        op, names = self._read_operation()
        if self.previous_end > end or self.text[self.previous_end : end].strip():
            return
        if (op.regions and self.remake is None) or op.successors:
            return
        used = [name for name, _ in self.operand_names]
        on_line = parts[1::2]
        if on_line != [name for name, _, _ in names] + used or not is_plain(used, op.operands, self.values):
            return
        if signature(parts).count("%") != len(on_line):
            return  # a `%` in a string would count as a name
        has_own_location = (
            not has_alias_location
            and self.text[self.previous_end - 1] == ")"
            and (
                type(op.location) is not FileLineColLoc
                or op.location.filename is not self.source.file_attribute
            )
        )
        key = signature(parts) if len(set(on_line)) == len(on_line) else repeated_signature(parts)
        recipes = self.known_recipes()
        recipe = recipes.get(key)
        if recipe is None:
            recipe = recipes[key] = Recipe(
                type(op),
                len(names),
                tuple([count for _, count, _ in names]),
                self.place - start - sum(map(len, parts[: 2 * len(names)])),
                [value.type for value in op.operands],
                tuple([result.type for result in op.results]),
                dict(op.properties),
                dict(op.attributes),
                op.location if has_own_location else None,
                self.remake,
            )
        recipe.followers.add(follower(self.token))

    def _read_operation(self) -> tuple[Operation, list[tuple[str, int, int]]]:
        """Reads an operation; returns it and the names of its results."""
        start = self.offset
        names = self._result_names() if self.token[:1] == "%" else []
        self.place = self.offset
        if self.token[:1] == '"':
            op = self.nested(self._generic)
        elif self.is_identifier():
            op = self.nested(self._custom)
        else:
            self.wrong_token("expected operation name in quotes")
        if self.at("loc"):
            self.locate(op, read_location(self))
        if names:
            if not op.results:
                self.error("cannot name an operation with no results", start)
            total = sum([max(count, 1) for _, count, _ in names])
            if total != len(op.results):
                self.error(
                    f"operation defines {len(op.results)} results but was provided {total} to bind", start
                )
            self.define_results(op, names)
        return op, names

    def _result_names(self) -> list[tuple[str, int, int]]:
        """`%a, %b:2 =`: names with counts (0: none written) and offsets."""
        names: list[tuple[str, int, int]] = []
        while True:
            name, offset, count = self.token, self.offset, 0
            if name[:1] != "%":
                self.wrong_token("expected valid ssa identifier")
            if "#" in name:
                self.error("expected '=' after SSA name", offset + name.index("#"))
            self.advance()
            if self.accept(":"):
                if not self.is_integer():
                    self.wrong_token("expected integer number of results")
                at = self.offset
                count = self.integer()
                if count < 1:
                    self.error("expected named operation to have at least 1 result", at)
            names.append((name, count, offset))
            if not self.accept(","):
                break
        self.expect("=", " after SSA name")
        return names

    def _generic(self) -> Operation:
        """An operation in generic form, the cursor on its quoted name."""
        start = self.offset
        name = self.string()
        if not name:
            self.error("empty operation name is invalid", start)
        syntax = self._syntax_of(name, start)
        self.expect("(", " to start operand list")
        operands = self.operand_list()
        self.expect(")", " to end operand list")
        successors = self.items(self.successor) if self.at("[") else []
        properties: dict[str, Attribute] | None = None
        if self.accept("<"):
            properties = self.attribute_dictionary()
            self.expect(">", " after properties")
        regions: list[Region] = []
        if self.accept("("):
            regions.append(self.region())
            while self.accept(","):
                regions.append(self.region())
            self.expect(")", " to end region list")
        attributes = self.attribute_dictionary() if self.at("{") else {}
        self.expect(":", " followed by operation type")
        at = self.offset
        type_ = read_type_or_function(self)
        if not isinstance(type_, FunctionType):
            self.error("expected function type", at)
        inputs, outputs = type_.inputs.data, type_.outputs.data
        if len(inputs) != len(operands):
            expected = f"{len(operands)} {plural(len(operands), 'operand type')}"
            self.error(f"expected {expected} but had {len(inputs)}", at)
        if properties is not None and syntax is not None:
            properties = self._known_properties(syntax.op_class, name, properties, start)
        parts = OpParts(self.resolve(operands, inputs), outputs, properties or {}, attributes, regions)
        op = self._make(syntax.op_class if syntax else None, name, parts, start)
        if successors:
            op.successors = successors
        return op

    def _known_properties(
        self, op_class: type[Operation], name: str, properties: dict[str, Attribute], start: int
    ) -> dict[str, Attribute]:
        """Returns the properties that the op defines; as in MLIR, others are dropped.

        Raises:
            ShardyError: the op has no properties, or an attribute is of a class that it cannot hold as one.
        """
        inherent = inherent_names(op_class)
        refused = refused_property(op_class, properties)
        fault = None
        if not inherent:
            fault = "this operation has empty properties"
        elif refused is not None:
            shown = attribute_text(properties[refused])
            fault = f"Invalid attribute `{refused}` in property conversion: {shown}"
        if fault is not None:
            self.error(
                f"invalid properties {{{dictionary_entries(properties)}}} for op {name}: {fault}", start
            )
        if properties.keys() <= inherent:
            return properties
        return {key: value for key, value in properties.items() if key in inherent}

    def _custom(self) -> Operation:
        """An operation in its own form, the cursor on its name."""
        start = self.offset
        syntax, name = self._custom_syntax()
        if syntax.form is None:
            if not has_own_syntax(syntax.op_class):
                self.error(f"custom op '{name}' has no custom assembly form", start)
            from shardy_py.mlir.text.xdsl_bridge import read_custom

            assert self.syntax is not None
            return read_custom(self, start, self.syntax.context())
        self.advance()
        outer, self.custom_op = self.custom_op, name
        parts = syntax.form.read(self)
        self.custom_op = outer
        return self._make(syntax.op_class, name, parts, start)

    def _custom_syntax(self) -> tuple[OpSyntax, str]:
        """The syntax of the op at the cursor, and its full name."""
        table, token = self.syntax, self.token
        assert table is not None
        dialect = self.default_dialects[-1]
        full = [token] if "." in token else [f"{dialect}.{token}", f"builtin.{token}", f"func.{token}"]
        for name in full:
            syntax = table.op(name)
            if syntax is not None:
                return syntax, name
        if token == "HloModule":
            self.error(_HLO)
        if "." not in token:
            self.error(f"custom op '{token}' is unknown (tried '{full[0]}' as well)")
        dialect = token.partition(".")[0]
        if dialect in table.dialects:
            self.error(f"custom op '{token}' is unknown")
        known = ", ".join(sorted(table.dialects))
        note = f"Available dialects: {known}; for more info on dialect registration see {_REGISTRATION}"
        return self.error(
            f"Dialect `{dialect}' not found for custom op '{token}' ", None, (note, self.offset)
        )

    def _syntax_of(self, name: str, offset: int) -> OpSyntax | None:
        """The syntax of an op in generic form, None if it may be unregistered; fails if it must not be."""
        table = self.syntax
        syntax = table.op(name) if table else None
        if syntax is not None or table is None:
            return syntax
        dialect = name.partition(".")[0]
        if dialect in table.dialects:
            self.error(
                f"unregistered operation '{name}' found in dialect ('{dialect}') that does not allow unknown "
                "operations",
                offset,
            )
        if not self.allow_unregistered:
            self.error(
                "operation being parsed with an unregistered dialect. If this is intended, please use "
                "-allow-unregistered-dialect with the MLIR tool used"
            )
        return None

    def _make(self, op_class: type[Operation] | None, name: str, parts: OpParts, start: int) -> Operation:
        if op_class is None:
            op_class = unregistered_class(name)
            parts.attributes["op_name__"] = StringAttr(name)
        else:
            if parts.attributes:
                inherent = inherent_names(op_class)
                for key in [key for key in parts.attributes if key in inherent]:
                    parts.properties.setdefault(key, parts.attributes.pop(key))
            for key, value in default_properties(op_class).items():
                parts.properties.setdefault(key, value)
        self.remake = parts.remake
        self.place = start if parts.place is None else parts.place
        return build_operation(
            op_class,
            list(parts.operands),
            tuple(parts.result_types),
            parts.properties,
            parts.attributes,
            source_location(self.source, self.place),
            self.block,
            parts.regions,
        )
