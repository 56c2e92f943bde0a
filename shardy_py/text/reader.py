"""Reads modules: MLIR text to xDSL IR.

An op's line with the names of its values cut out is its signature. The first op of a signature is read token by
token, through its assembly form or the generic form; every further one costs a dictionary look-up and the
creation of the op. That is sound because what a line means depends on its text and on the types of its
operands, which are compared, and on nothing else.

Not here: single tokens (`cursor.py`), assembly forms (`assembly.py`, `builtin_forms.py`, dialects).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.text.construct import append_argument, build_operation
from shardy_py.text.cursor import Cursor
from shardy_py.text.location_syntax import PendingLocation, read_location
from shardy_py.text.pending import ForwardValue, settle_location
from shardy_py.text.source import Source, source_location
from shardy_py.text.syntax import OpParts, OpSyntax, SyntaxTable
from shardy_py.text.type_reader import read_function_type, read_type_or_function

_VALUE = re.compile(r"(%[\w$.-]+(?:#[0-9]+)?)", re.ASCII)
_RESULT_COUNT = re.compile(r":[ \t]*([0-9]+)")
_TRAILING_LOCATION = re.compile(r" loc\((#[\w$.-]+)\)$")


@dataclass(slots=True)
class Recipe:
    """How to make another op of a signature: all but operands, results' names and place.

    name_count: how many names stand before the `=`; the others are the operands, in order.
    remake: makes the regions, None if there are none.
    """

    op_class: type[Operation]
    name_count: int
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    remake: Callable[[Attribute], Sequence[Region]] | None


@dataclass(frozen=True, slots=True)
class Argument:
    """The name, type, attributes and location of a region's argument, as an assembly form reads them."""

    name: str
    type: Attribute
    offset: int
    attributes: dict[str, Attribute]
    location: Attribute | PendingLocation | None = None


class OpReader(Cursor):
    """Reads operations, regions and blocks.

    values: what the names in scope stand for; `%a` and `%a#0` are both there.
    """

    __slots__ = (
        "block",
        "blocks",
        "default_dialects",
        "defined",
        "forward",
        "operand_names",
        "pending_locations",
        "recipes",
        "remake",
        "values",
    )

    def __init__(self, source: Source, syntax: SyntaxTable, *, allow_unregistered: bool = False) -> None:
        super().__init__(source, syntax)
        self.allow_unregistered = allow_unregistered
        self.values: dict[str, SSAValue] = {}
        self.defined: list[str] = []
        self.forward: dict[str, list[ForwardValue]] = {}
        self.block: Block = Block()
        self.blocks: dict[str, Block] | None = None
        self.recipes: dict[str, dict[str, Recipe]] = {}
        self.remake: Callable[[Attribute], Sequence[Region]] | None = None
        self.default_dialects: list[str] = ["builtin"]
        self.operand_names: list[tuple[str, int]] = []
        self.pending_locations: list[tuple[Any, PendingLocation]] = []

    # ------------------------------------------------------------------ whole sources

    def module(self) -> ModuleOp:
        """The whole source: one module, or ops that get a module around them."""
        top = self.block
        while self.token:
            if self.token[0] in "#!" or self.token == "{-#":
                self._top_level_definition()
            else:
                self.operation()
        self._end_isolated_scope()
        for holder, location in self.pending_locations:
            holder.location = settle_location(location, self.aliases, self)
        first = top.first_op
        if isinstance(first, ModuleOp) and first is top.last_op:
            first.detach()
            return first
        module = ModuleOp(Region(top))
        module.location = FileLineColLoc(self.source.file_attribute, IntAttr(0), IntAttr(0))
        return module

    def _top_level_definition(self) -> None:
        start = self.offset
        if self.accept("{-#"):
            while self.token != "#-}":
                if not self.token:
                    self.error("expected '#-}'", start)
                self.advance()
            self.advance()
            return
        name, is_type = self.token[1:], self.token[0] == "!"
        if "." in name:
            self.error("attribute names with a '.' are reserved for dialect-defined names")
        table = self.type_aliases if is_type else self.aliases
        if name in table:
            self.error(f"redefinition of {'type' if is_type else 'attribute'} alias id '{name}'")
        self.advance()
        self.expect("=", f" in {'type' if is_type else 'attribute'} alias definition")
        table[name] = read_type_or_function(self) if is_type else self.attribute()

    # ------------------------------------------------------------------ operations

    def operation(self) -> None:
        """The operation at the cursor, put at the end of the current block."""
        text = self.text
        start = self.offset
        end = text.find("\n", start)
        if end < 0:
            end = len(text)
        line = text[start:end]
        location: Any = None
        if line[-1:] == ")" and (match := _TRAILING_LOCATION.search(line)):
            location = self.aliases.get(match[1][1:]) or PendingLocation(match[1][1:], start + match.start(1))
            line = line[: match.start()]
        parts = _VALUE.split(line)
        key = "%".join(parts[::2])
        dialect = self.default_dialects[-1]
        recipes = self.recipes.get(dialect)
        if recipes is None:
            recipes = self.recipes[dialect] = {}
        recipe = recipes.get(key)
        if recipe is not None and self._repeat(recipe, parts, start, location):
            self.end = end
            self.advance()
            return
        self.operand_names = []
        op, names = self._read_operation()
        if location is None and self.previous_end > end:
            return
        whole_line = text[self.previous_end : end].strip() in ("",) if location is None else self.previous_end == end
        if whole_line and (not op.regions or self.remake) and not op.successors:
            used = [name for name, _ in self.operand_names]
            if (
                len(parts) // 2 == len(names) + len(used)
                and len(set(used)) == len(used)
                and all(self.values.get(n) is v for n, v in zip(used, op.operands, strict=False))
                and len(used) == len(op.operands)
                and "//" not in line
            ):
                recipes[key] = Recipe(
                    type(op),
                    len(names),
                    tuple(v.type for v in op.operands),
                    tuple(r.type for r in op.results),
                    dict(op.properties),
                    dict(op.attributes),
                    self.remake,
                )

    def _repeat(self, recipe: Recipe, parts: list[str], start: int, location: Any) -> bool:
        """Makes the op of a known signature; False where a name or type calls for a closer look."""
        count = recipe.name_count
        values = self.values
        try:
            operands = [values[name] for name in parts[1 + 2 * count :: 2]]
        except KeyError:
            return False
        for value, type_ in zip(operands, recipe.operand_types, strict=True):
            if value._type is not type_ and value._type != type_:  # pyright: ignore[reportPrivateUsage]
                return False
        names = parts[1 : 2 * count : 2]
        for name in names:
            if name in values or name in self.forward:
                return False
        place = location if location is not None else source_location(self.source, start)
        op = build_operation(
            recipe.op_class,
            operands,
            recipe.result_types,
            recipe.properties.copy(),
            recipe.attributes.copy(),
            place,
            self.block,
            recipe.remake(place) if recipe.remake is not None else (),
        )
        if type(location) is PendingLocation:
            self.pending_locations.append((op, location))
        if count == 1 and len(op.results) == 1:
            name = names[0]
            values[name] = op.results[0]
            self.defined.append(name)
        elif count:
            self._define_results(op, [(n, 0, start) for n in names])
        return True

    def _read_operation(self) -> tuple[Operation, list[tuple[str, int, int]]]:
        start = self.offset
        names = self._result_names() if self.token[:1] == "%" else []
        place = self.offset
        token = self.token
        if token[:1] == '"':
            op = self.nested(lambda: self._generic(start))
        elif self.is_identifier():
            op = self.nested(lambda: self._custom(start))
        else:
            self.error("expected operation name in quotes")
        if self.at("loc"):
            self._location_of(op)
        if names:
            if not op.results:
                self.error("cannot name an operation with no results", start)
            total = sum(max(count, 1) for _, count, _ in names)
            if total != len(op.results):
                self.error(
                    f"operation defines {len(op.results)} results but was provided {total} to bind", start
                )
            self._define_results(op, names)
        del place
        return op, names

    def _result_names(self) -> list[tuple[str, int, int]]:
        """`%a, %b:2 =`: names with counts (0: none written) and offsets."""
        names: list[tuple[str, int, int]] = []
        while True:
            if self.token[:1] != "%" or "#" in self.token:
                self.error("expected valid ssa identifier")
            name, offset, count = self.token, self.offset, 0
            self.advance()
            if self.at(":"):
                self.advance()
                at = self.offset
                count = self.integer()
                if count < 1:
                    self.error("expected named operation to have at least 1 result", at)
            names.append((name, count, offset))
            if not self.accept(","):
                break
        self.expect("=", " after SSA name")
        return names

    def _define_results(self, op: Operation, names: list[tuple[str, int, int]]) -> None:
        results = iter(op.results)
        for name, count, offset in names:
            self.define(name, next(results), offset)
            if count > 1 or len(names) == 1:
                first = self.values[name]
                self._bind(f"{name}#0", first, offset)
                for index in range(1, max(count, len(op.results) if len(names) == 1 else 1)):
                    self._bind(f"{name}#{index}", next(results), offset)

    def define(self, name: str, value: SSAValue, offset: int) -> None:
        """Makes `name` stand for `value` from here on; fails if it stands for another already."""
        if name in self.values:
            self.error(f"redefinition of SSA value '{name}'", offset)
        self._bind(name, value, offset)

    def _bind(self, name: str, value: SSAValue, offset: int) -> None:
        self.values[name] = value
        self.defined.append(name)
        waiting = self.forward.pop(name, None)
        if waiting:
            for forward in waiting:
                forward.settle(value, self)

    def _generic(self, start: int) -> Operation:
        name_offset = self.offset
        name = self.string()
        if not name:
            self.error("empty operation name is invalid", name_offset)
        operands = self.items(self.operand_name, "(", ")")
        successors = self.items(self._successor) if self.at("[") else []
        properties: dict[str, Attribute] = {}
        if self.at("<"):
            self.advance()
            properties = self.attribute_dictionary()
            self.expect(">")
        syntax = self._syntax_of(name, name_offset)
        regions: list[Region] = []
        if self.at("("):
            regions = self.items(lambda: self._generic_region(syntax), "(", ")")
        attributes = self.attribute_dictionary() if self.at("{") else {}
        self.expect(":", " followed by operation type")
        at = self.offset
        if not self.at("("):
            self.error("expected function type", at)
        type_ = read_function_type(self)
        if len(type_.inputs) != len(operands):
            self.error(
                f"expected {len(operands)} operand type{'' if len(operands) == 1 else 's'} but had {len(type_.inputs)}",
                at,
            )
        parts = OpParts(
            self.resolve(operands, type_.inputs.data),
            type_.outputs.data,
            properties,
            attributes,
            regions,
        )
        return self._make(syntax.op_class if syntax else None, name, parts, start, successors)

    def _generic_region(self, syntax: OpSyntax | None) -> Region:
        return self.region(
            is_isolated=syntax.is_isolated if syntax else False,
            default_dialect=None,
        )

    def _custom(self, start: int) -> Operation:
        name = self.token
        name_offset = self.offset
        if "." not in name:
            name = f"{self.default_dialects[-1]}.{name}"
        syntax = self.syntax.op(name) if self.syntax else None
        if syntax is None:
            self.error(f"custom op '{self.token}' is unknown", name_offset)
        if syntax.form is None:
            if syntax.op_class.parse.__func__ is Operation.parse.__func__:
                self.error(f"custom op '{name}' has no custom assembly form", name_offset)
            from shardy_py.text.xdsl_fallback import read_custom

            return read_custom(self, syntax.op_class, name, start)
        self.advance()
        outer, self.custom_op = self.custom_op, name
        parts = syntax.form.read(self)
        self.custom_op = outer
        return self._make(syntax.op_class, name, parts, start, [])

    def _syntax_of(self, name: str, offset: int) -> OpSyntax | None:
        syntax = self.syntax.op(name) if self.syntax else None
        if syntax is None and not self.allow_unregistered:
            dialect = name.partition(".")[0]
            known = self.syntax is not None and (dialect in self.syntax.dialects or "." not in name)
            if known:
                self.error(
                    f"unregistered operation '{name}' found in dialect ('{dialect}') that does not allow unknown "
                    "operations",
                    offset,
                )
            self.error(
                "operation being parsed with an unregistered dialect. If this is intended, please use "
                "-allow-unregistered-dialect with the MLIR tool used",
                offset,
            )
        return syntax

    def _make(
        self, op_class: type[Operation] | None, name: str, parts: OpParts, start: int, successors: list[Block]
    ) -> Operation:
        location = source_location(self.source, start)
        if op_class is None:
            op_class = unregistered_class(name)
            parts.attributes["op_name__"] = StringAttr(name)
        else:
            if parts.attributes:
                inherent = inherent_names(op_class)
                for key in [key for key in parts.attributes if key in inherent]:
                    parts.properties[key] = parts.attributes.pop(key)
            for key, value in default_properties(op_class).items():
                parts.properties.setdefault(key, value)
        op = build_operation(
            op_class,
            list(parts.operands),
            tuple(parts.result_types),
            parts.properties,
            parts.attributes,
            location,
            self.block,
            parts.regions,
        )
        self.remake = parts.remake
        if successors:
            op.successors = successors
        return op

    def _location_of(self, holder: Any) -> None:
        location = read_location(self)
        holder.location = location
        if isinstance(location, PendingLocation):
            self.pending_locations.append((holder, location))

    # ------------------------------------------------------------------ operands

    def operand_name(self) -> tuple[str, int]:
        """The name of an operand, with its offset, to `resolve` when its type is known."""
        token = self.token
        if token[:1] != "%":
            self.error("expected SSA operand")
        found = (token, self.offset)
        self.operand_names.append(found)
        self.advance()
        return found

    def operand_list(self) -> list[tuple[str, int]]:
        """Names of operands separated by commas; none if no name stands here."""
        names: list[tuple[str, int]] = []
        if self.token[:1] == "%":
            names.append(self.operand_name())
            while self.accept(","):
                names.append(self.operand_name())
        return names

    def resolve(self, names: Sequence[tuple[str, int]], types: Sequence[Attribute]) -> list[SSAValue]:
        """The values that names stand for; fails where their types differ from `types`."""
        if len(names) != len(types):
            self.form_error(
                f"number of operands and types do not match: got {len(names)} operands and {len(types)} types",
                names[0][1] if names else None,
            )
        return [self._resolve(name, offset, type_) for (name, offset), type_ in zip(names, types, strict=True)]

    def _resolve(self, name: str, offset: int, type_: Attribute) -> SSAValue:
        value = self.values.get(name)
        if value is None:
            if "#" in name and (base := self.values.get(name.partition("#")[0])) is not None:
                if name.endswith("#0"):
                    return self._typed(base, name, offset, type_)
                self.error("reference to invalid result number", offset)
            made = ForwardValue(type_, name, offset, self.block)
            self.forward.setdefault(name, []).append(made)
            return made
        return self._typed(value, name, offset, type_)

    def _typed(self, value: SSAValue, name: str, offset: int, type_: Attribute) -> SSAValue:
        if value.type is not type_ and value.type != type_:
            from shardy_py.text.attribute_writer import type_text

            self.error(
                f"use of value '{name}' expects different type than prior uses: '{type_text(type_)}' vs "
                f"'{type_text(value.type)}'",
                offset,
            )
        return value

    # ------------------------------------------------------------------ regions

    def arguments(self, opening: str = "(", closing: str = ")", *, allow_attributes: bool = False) -> list[Argument]:
        """`(%a: type {attributes}, ...)`: the arguments of a region."""

        def read() -> Argument:
            name, offset = self.token, self.offset
            if name[:1] != "%":
                self.error("expected SSA identifier")
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
        is_isolated: bool = False,
        default_dialect: str | None = None,
    ) -> Region:
        """`{ ... }`, with an entry block that has `arguments` if any are given."""
        self.expect("{")
        outer_block, outer_blocks, outer_defined = self.block, self.blocks, self.defined
        outer_scope = (self.values, self.forward, self.custom_op)
        self.custom_op = ""
        if is_isolated:
            self.values, self.forward = {}, {}
        self.defined = []
        self.default_dialects.append(default_dialect or "builtin")
        self.blocks = {}
        region = Region()
        try:
            self.nested(lambda: self._blocks(region, arguments))
        finally:
            self.default_dialects.pop()
        if is_isolated:
            self._end_isolated_scope()
        else:
            for name in self.defined:
                del self.values[name]
        self.values, self.forward, self.custom_op = outer_scope
        self.block, self.blocks, self.defined = outer_block, outer_blocks, outer_defined
        return region

    def _end_isolated_scope(self) -> None:
        unsettled = [forward for waiting in self.forward.values() for forward in waiting]
        if unsettled:
            first = min(unsettled, key=lambda forward: forward.offset)
            self.error("use of undeclared SSA value name", first.offset)

    def _blocks(self, region: Region, arguments: Sequence[Argument]) -> None:
        assert self.blocks is not None
        if not arguments and self.accept("}"):
            return
        unlabelled = self.token[:1] != "^"
        if unlabelled or arguments:
            self._enter(Block(), region)
            for argument in arguments:
                self._add_argument(argument)
            self._block_body()
        while self.token[:1] == "^":
            self._labelled_block(region)
        missing = [label for label, block in self.blocks.items() if block.parent is None]
        if missing:
            self.error(f"reference to an undefined block '{missing[0]}'")
        self.expect("}")

    def _enter(self, block: Block, region: Region) -> None:
        region.add_block(block)
        self.block = block

    def _labelled_block(self, region: Region) -> None:
        assert self.blocks is not None
        label, offset = self.token, self.offset
        self.advance()
        block = self.blocks.setdefault(label, Block())
        if block.parent is not None:
            self.error(f"redefinition of block '{label}'", offset)
        self._enter(block, region)
        if self.at("("):
            for argument in self.arguments():
                self._add_argument(argument)
        self.expect(":", " after block name")
        self._block_body()

    def _add_argument(self, argument: Argument) -> None:
        place = source_location(self.source, argument.offset)
        made = append_argument(self.block, argument.type, argument.location or place)
        if isinstance(argument.location, PendingLocation):
            self.pending_locations.append((made, argument.location))
        self.define(argument.name, made, argument.offset)

    def _block_body(self) -> None:
        token = self.token
        while token and token != "}" and token[0] != "^":
            self.operation()
            token = self.token
        if not token:
            self.error("expected '}'")

    def _successor(self) -> Block:
        label = self.token
        if label[:1] != "^" or self.blocks is None:
            self.error("expected block name")
        self.advance()
        return self.blocks.setdefault(label, Block())


_inherent: dict[type[Operation], frozenset[str]] = {}
_unregistered_classes: dict[str, type[Operation]] = {}


def inherent_names(op_class: Any) -> frozenset[str]:
    """The names of an op's properties: what its attribute dictionary may hold but must not keep."""
    found = _inherent.get(op_class)
    if found is None:
        definition: Callable[[], Any] | None = getattr(op_class, "get_irdl_definition", None)
        found = frozenset(definition().properties) if definition else frozenset[str]()
        _inherent[op_class] = found
    return found


_defaults: dict[type[Operation], dict[str, Attribute]] = {}


def default_properties(op_class: Any) -> dict[str, Attribute]:
    """The properties that an op has also where its text leaves them out."""
    found = _defaults.get(op_class)
    if found is None:
        definition: Callable[[], Any] | None = getattr(op_class, "get_irdl_definition", None)
        properties: dict[str, Any] = definition().properties if definition else {}
        found = {name: p.default_value for name, p in properties.items() if p.default_value is not None}
        _defaults[op_class] = found
    return found


def unregistered_class(name: str) -> type[Operation]:
    """The class of an op that no dialect knows."""
    return _unregistered_classes.get(name) or _unregistered_classes.setdefault(name, UnregisteredOp.with_name(name))


def parse_module(
    text: str, file: str = "-", *, syntax: SyntaxTable, allow_unregistered: bool = False, first_line: int = 1
) -> ModuleOp:
    """The module that `text` spells. Raises `ShardyError` with the place of the first mistake."""
    reader = OpReader(Source(text, file, first_line), syntax, allow_unregistered=allow_unregistered)
    try:
        return reader.module()
    except RecursionError:
        raise ShardyError(Diagnostic("nesting too deep", reader.source.position(reader.offset))) from None
