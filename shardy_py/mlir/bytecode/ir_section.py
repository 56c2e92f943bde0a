"""Reads the ops of a bytecode file into xDSL's IR, with ops of VHLO as those of StableHLO.

What ops of the same name, attributes, properties and result types have in common is made once: a recipe, as
the reader of text has them. Values are numbered within the innermost op that is isolated from above; a value
may be used before its definition.

Not here: attributes (`entries.py`), properties (`properties.py`), orders of uses (`use_lists.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from typing_extensions import override
from xdsl.dialects.builtin import DictionaryAttr, NoneType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode.encoding import ByteCursor
from shardy_py.mlir.bytecode.entries import Entries, EntryReader
from shardy_py.mlir.bytecode.properties import named_properties, read_properties
from shardy_py.mlir.bytecode.sections import BytecodeFile, OpName, Section, Version
from shardy_py.mlir.bytecode.use_lists import UseOrders
from shardy_py.mlir.bytecode.vhlo_names import property_names
from shardy_py.mlir.bytecode.vhlo_ops import legalized
from shardy_py.mlir.ir import append_arguments, build_operation, type_of
from shardy_py.mlir.text.cursor import MAX_NESTING
from shardy_py.mlir.text.location_syntax import UNKNOWN
from shardy_py.mlir.text.recipes import default_properties, inherent_names, unregistered_class
from shardy_py.mlir.text.syntax import SyntaxTable

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _PROPERTIES = (1 << n for n in range(7))
"""The parts that an op has, as bits of its mask."""
_CAST = "builtin.unrealized_conversion_cast"
_VHLO = "vhlo."


class _Undefined(SSAValue[Attribute]):
    """Placeholder for a value whose definition follows."""

    def __init__(self, block: Block) -> None:
        super().__init__(NoneType())
        self.block = block

    @property
    @override
    def owner(self) -> Block:
        """The block of the first use."""
        return self.block


class _Recipe(NamedTuple):
    """The name, attributes and types that ops of the same encoding share."""

    op_class: type[Operation]
    result_types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]


class IrReader:
    """Reads the ops of one file.

    values: those of the innermost isolated op by number, None before their definition.
    """

    def __init__(
        self,
        file: BytecodeFile,
        entries: Entries,
        syntax: SyntaxTable,
        *,
        allow_unregistered: bool = False,
    ) -> None:
        self.file = file
        self.entries = entries
        self.syntax = syntax
        self.allow_unregistered = allow_unregistered
        self.values: list[SSAValue | None] = []
        self.orders = UseOrders()
        self._next = self._last = self._depth = self._undefined = 0
        self._recipes: dict[tuple[int, int, int, tuple[int, ...], bool], _Recipe] = {}
        self._blocks: list[Block] = []
        self._is_portable = any(op.name.startswith(_VHLO) for op in file.ops)

    def top(self) -> Block:
        """Returns the block of all ops of the file."""
        cursor = self.file.ir
        block = Block()
        self._blocks = [block]
        self._ops(cursor, block, *self._block_head(cursor, block))
        cursor.expect_end("the ops")
        if not self._is_portable:  # legalization puts uses in the order of the program
            self.orders.apply()
        return block

    # Regions

    def _region(self, cursor: ByteCursor, region: Region) -> None:
        count = cursor.count("blocks")
        if not count:
            return
        outer = self._next, self._last, self._blocks
        numbered = cursor.count("values")
        start = len(self.values)
        self.values += [None] * numbered
        self._next, self._last = start, start + numbered
        self._blocks = blocks = [Block() for _ in range(count)]
        for block in blocks:
            region.add_block(block)
        for block in blocks:
            self._ops(cursor, block, *self._block_head(cursor, block))
        if self._undefined:
            self._check_defined(cursor, start)
        del self.values[start:]
        self._next, self._last, self._blocks = outer

    def _check_defined(self, cursor: ByteCursor, start: int) -> None:
        for value in self.values[start:]:
            if isinstance(value, _Undefined):
                cursor.fail("a value is used that is never defined")

    def _regions(self, cursor: ByteCursor, op: Operation, *, is_isolated: bool) -> None:
        """Reads the regions of an op, those of an isolated one from a section of their own."""
        if self._depth >= MAX_NESTING:
            cursor.fail(f"nesting exceeds {MAX_NESTING} levels")
        self._depth += 1
        values = self.values
        if is_isolated:
            self.values = []
            if self.file.version >= Version.ISOLATED_SECTIONS:
                kind, cursor = cursor.section()
                if kind != Section.IR:
                    cursor.fail("expected the section of a region")
        for region in op.regions:
            self._region(cursor, region)
        if is_isolated and self.file.version >= Version.ISOLATED_SECTIONS:
            cursor.expect_end("the regions")
        self.values = values
        self._depth -= 1

    def _block_head(self, cursor: ByteCursor, block: Block) -> tuple[int, bool]:
        """The number of ops of a block, and whether they are in a function; reads its arguments."""
        count, has_arguments = cursor.flagged()
        if has_arguments:
            self._arguments(cursor, block)
        parent = block.parent_op()
        return cursor.bounded(count, "ops"), isinstance(parent, FuncOp)

    def _arguments(self, cursor: ByteCursor, block: Block) -> None:
        count = cursor.count("arguments")
        entries = self.entries
        given: list[tuple[Attribute, Attribute]] = []
        for _ in range(count):
            index, has_location = cursor.varint(), True
            if self.file.version >= Version.UNKNOWN_LOCATIONS_LEFT_OUT:
                index, has_location = index >> 1, bool(index & 1)
            type_ = entries.type(index, cursor)
            given.append((type_, entries.location(cursor.varint(), cursor) if has_location else UNKNOWN))
        arguments = append_arguments(block, given)
        self._define(cursor, arguments)
        if self.file.version >= Version.USE_LISTS and cursor.byte():
            self.orders.read(cursor, arguments)

    # Ops

    def _ops(self, cursor: ByteCursor, block: Block, count: int, is_in_function: bool) -> None:
        varint, entries, recipes = cursor.varint, self.entries, self._recipes
        for _ in range(count):
            start = cursor.at
            name, mask = varint(), cursor.byte()
            location = entries.location(varint(), cursor)
            attributes = varint() if mask & _ATTRIBUTES else -1
            properties = varint() if mask & _PROPERTIES else -1
            types = tuple([varint() for _ in range(cursor.count("results"))]) if mask & _RESULTS else ()
            operands = self._operands(cursor, block) if mask & _OPERANDS else ()
            key = (name, attributes, properties, types, is_in_function)
            recipe = recipes.get(key)
            if recipe is None:
                recipe = recipes[key] = self._recipe(cursor, start, *key)
            if self._is_portable and self._is_cast(recipe, operands):
                if mask & _USES:
                    self.orders.read(cursor, operands)
                self._define(cursor, operands)
                continue
            op = build_operation(
                recipe.op_class,
                operands,
                recipe.result_types,
                recipe.properties.copy(),
                recipe.attributes.copy(),
                location,
                block,
            )
            self._rest(cursor, op, mask)

    def _rest(self, cursor: ByteCursor, op: Operation, mask: int) -> None:
        """Reads what follows an op's operands, and defines its results."""
        if mask & _SUCCESSORS:
            op.successors = [self._successor(cursor) for _ in range(cursor.count("successors"))]
        if mask & _USES and self.file.version >= Version.USE_LISTS:
            self.orders.read(cursor, op.results)
        is_isolated = False
        if mask & _REGIONS:
            count, is_isolated = cursor.flagged()
            for _ in range(cursor.bounded(count, "regions")):
                op.add_region(Region())
        if op.results:
            self._define(cursor, op.results)
        if op.regions:
            self._regions(cursor, op, is_isolated=is_isolated)

    def _is_cast(self, recipe: _Recipe, operands: Sequence[SSAValue]) -> bool:
        """True if an op changes types of VHLO to those of MLIR, which are the same here."""
        return recipe.op_class.name == _CAST and recipe.result_types == tuple(map(type_of, operands))

    def _successor(self, cursor: ByteCursor) -> Block:
        index = cursor.varint()
        if index >= len(self._blocks):
            cursor.fail(f"invalid block {index}: the region has {len(self._blocks)}")
        return self._blocks[index]

    # Values

    def _operands(self, cursor: ByteCursor, block: Block) -> list[SSAValue]:
        values = self.values
        found: list[SSAValue] = []
        for _ in range(cursor.count("operands")):
            index = cursor.varint()
            if index >= len(values):
                cursor.fail(f"invalid value {index}: there are {len(values)}")
            value = values[index]
            if value is None:
                value = values[index] = _Undefined(block)
                self._undefined += 1
            found.append(value)
        return found

    def _define(self, cursor: ByteCursor, made: Sequence[SSAValue]) -> None:
        """Gives values the next numbers; those of ops outside of any region have none."""
        start = self._next
        if not self._last:
            return
        end = start + len(made)
        if end > self._last:
            cursor.fail(f"expected {self._last} values, got more")
        values = self.values
        if self._undefined:
            for index, value in enumerate(made, start):
                before = values[index]
                if before is not None:
                    before.replace_all_uses_with(value)
                    self._undefined -= 1
        values[start:end] = made
        self._next = end

    # Recipes

    def _recipe(
        self,
        cursor: ByteCursor,
        start: int,
        name: int,
        attributes: int,
        properties: int,
        types: tuple[int, ...],
        is_in_function: bool,
    ) -> _Recipe:
        if name >= len(self.file.ops):
            cursor.fail(f"invalid name {name} of an op: the file has {len(self.file.ops)}", start)
        op = self.file.ops[name]
        entries = self.entries
        given: dict[str, Attribute] = {}
        if attributes >= 0:
            dictionary = entries.attribute(attributes, cursor)
            if not isinstance(dictionary, DictionaryAttr):
                cursor.fail("expected a dictionary of attributes", start)
            given = dict(dictionary.data)
        result_types = tuple([entries.type(index, cursor) for index in types])
        new_name = op.name
        inherent: dict[str, Attribute] = {}
        try:
            if op.name.startswith(_VHLO):
                if properties >= 0:
                    names = property_names(op.name)
                    if names is None:
                        raise ShardyError("it has unknown properties")
                    given |= named_properties(self._properties(cursor, properties), names)
                new_name, given = legalized(op.name, given, is_in_function=is_in_function)
            op_class = self._class(new_name)
            if properties >= 0 and new_name is op.name:
                inherent = self._inherent(cursor, op, op_class, properties)
        except ShardyError as error:
            if error.first.message.startswith("at byte"):
                raise
            cursor.fail(f"'{op.name}' {error.first.message}", start)
        if op_class is None:
            given["op_name__"] = StringAttr(new_name)
            return _Recipe(unregistered_class(new_name), result_types, inherent, given)
        names = inherent_names(op_class)
        for key in [key for key in given if key in names]:
            inherent.setdefault(key, given.pop(key))
        for key, value in default_properties(op_class).items():
            inherent.setdefault(key, value)
        return _Recipe(op_class, result_types, inherent, given)

    def _class(self, name: str) -> type[Operation] | None:
        """The class of an op; None for one that may be unregistered."""
        syntax = self.syntax.op(name)
        if syntax is not None:
            return syntax.op_class
        dialect = name.partition(".")[0]
        if dialect in self.syntax.dialects:
            raise ShardyError(f"is unknown: dialect '{dialect}' has no such op")
        if not self.allow_unregistered:
            raise ShardyError(f"is an op of dialect '{dialect}', which is not registered")
        return None

    def _inherent(
        self, cursor: ByteCursor, op: OpName, op_class: type[Operation] | None, index: int
    ) -> dict[str, Attribute]:
        if not op.is_registered:
            dictionary = self.entries.attribute(index, cursor)
            if not isinstance(dictionary, DictionaryAttr):
                raise ShardyError("has properties that are no dictionary")
            return dict(dictionary.data)
        reader = self._properties(cursor, index)
        if op_class is None:
            raise ShardyError("has properties, and its dialect is not registered")
        return read_properties(reader, op_class, op.name, self.file.version)

    def _properties(self, cursor: ByteCursor, index: int) -> EntryReader:
        if index >= len(self.file.properties):
            cursor.fail(f"invalid properties {index}: the file has {len(self.file.properties)}")
        return EntryReader(self.entries, *self.file.properties[index])
