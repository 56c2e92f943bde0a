"""IR as MLIR bytecode, which MLIR's tools and jaxlib read: `write_bytecode`.

Version 1 of the format: attributes of ops are dictionaries, also inherent ones, which readers of later
versions move to the properties. Attributes and types are written as text, as MLIR does for dialects without
encodings of their own, so that each dialect of the text can be written.

Source: MLIR, "Bytecode Format". Not here: reading; portable artifacts of VHLO.

>>> from shardy_py.mlir.bytecode import read_bytecode
>>> from shardy_py.mlir.dialects import parse_module
>>> module = parse_module("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
>>> data = write_bytecode(module)
>>> data[:4], str(read_bytecode(data)) == str(module)
(b'ML\\xefR', True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from shardy_py.base.bytecode import MAGIC
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.bytecode.sections import Section, Version
from shardy_py.mlir.ir import blocks_of, operands_of, type_of, walk_pre_order, written_name
from shardy_py.mlir.text.attribute_writer import attribute_text
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.location_syntax import UNKNOWN
from shardy_py.mlir.text.resources import resources_of

_PRODUCER = b"shardy_py\0"
_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS = (1 << n for n in range(5))


def write_bytecode(module: ModuleOp) -> bytes:
    """Returns a module as MLIR bytecode, with its locations.

    Raises:
        ShardyError: the module has resources (`dense_resource`), whose values are not in its attributes.
    """
    if resources_of(module):
        raise ShardyError.unsupported("writing dense_resource values as bytecode", remedy="write text")
    with deep_stack():
        names = _Names()
        for op in walk_pre_order(module):
            names.note(op)
        names.number()
        ir = [_varint(1 << 1), *_op(module, names, {}, {}, 0)]
    sections = (
        (Section.STRINGS, names.string_section()),
        (Section.DIALECTS, names.dialect_section()),
        (Section.ATTRIBUTES, names.entry_section()),
        (Section.ATTRIBUTE_SIZES, names.size_section()),
        (Section.IR, b"".join(ir)),
    )
    written = (bytes([kind]) + _varint(len(content)) + content for kind, content in sections)
    return b"".join((MAGIC, _varint(Version.DIALECT_VERSIONS), _PRODUCER, *written))


def _varint(value: int) -> bytes:
    """An unsigned integer of 64 bits: the zeros at the low end of its first byte count those that follow.

    >>> _varint(5), _varint(4096)
    (b'\\x0b', b'\\x02@')
    """
    for following in range(8):
        if value < 1 << 7 * (following + 1):
            return ((value << following + 1) | 1 << following).to_bytes(following + 1, "little")
    return b"\0" + value.to_bytes(8, "little")


def _dialect_of(attribute: Attribute) -> str:
    """The dialect of an attribute or type; MLIR's own have no prefix."""
    dialect, dot, _ = attribute.name.partition(".")
    return dialect if dot else "builtin"


class _Names:
    """The strings, dialects, names of ops, attributes and types of a module, and their numbers.

    Attributes and types are known by their texts: equal ones that are several objects are one.
    """

    def __init__(self) -> None:
        self._strings: dict[str, int] = {}
        self._dialects: dict[str, int] = {}
        self._ops: dict[str, int] = {}
        self._texts: dict[int, tuple[Attribute, str]] = {}
        self._dictionaries: dict[tuple[object, ...], DictionaryAttr] = {}
        self._entries: tuple[dict[str, str], dict[str, str]] = {}, {}
        """The dialects of attributes, and of types, by their texts."""
        self._numbers: tuple[dict[str, int], dict[str, int]] = {}, {}

    def note(self, op: Operation) -> None:
        """Notes what an op has, but for the ops in its regions."""
        self._ops.setdefault(written_name(op), 0)
        self._note(op.location or UNKNOWN, 0)
        attributes = self.attributes_of(op)
        if attributes is not None:
            self._note(attributes, 0)
        for result in op.results:
            self._note(type_of(result), 1)
        for block in blocks_of(op):
            for argument in block.args:
                self._note(type_of(argument), 1)
                self._note(_location_of(argument), 0)

    def attributes_of(self, op: Operation) -> DictionaryAttr | None:
        """All attributes of an op, inherent ones too; None if it has none."""
        entries = {**op.properties, **op.attributes}
        key = (*entries, *map(id, entries.values()))
        if key and key not in self._dictionaries:
            self._dictionaries[key] = DictionaryAttr(entries)
        return self._dictionaries[key] if key else None

    def _note(self, attribute: Attribute, kind: int) -> None:
        self._entries[kind].setdefault(self._text(attribute), _dialect_of(attribute))

    def _text(self, attribute: Attribute) -> str:
        known = self._texts.get(id(attribute))
        if known is None:  # the attribute is kept: its identity stays its own
            known = self._texts[id(attribute)] = attribute, attribute_text(attribute)
        return known[1]

    def number(self) -> None:
        """Numbers all that was noted: by dialect, in the order of the program."""
        names = (name.partition(".")[0] for name in self._ops)
        dialects = dict.fromkeys((*names, *(each for kind in self._entries for each in kind.values())))
        self._dialects = {name: number for number, name in enumerate(dialects)}
        self._ops = _numbered(self._ops, lambda name: self._dialects[name.partition(".")[0]])
        self._numbers = (
            _numbered(self._entries[0], lambda text: self._dialects[self._entries[0][text]]),
            _numbered(self._entries[1], lambda text: self._dialects[self._entries[1][text]]),
        )
        for text in (*self._dialects, *map(_name_in_dialect, self._ops)):
            self._strings.setdefault(text, len(self._strings))

    def op(self, op: Operation) -> bytes:
        """The number of the name of an op."""
        return _varint(self._ops[written_name(op)])

    def attribute(self, attribute: Attribute) -> bytes:
        """The number of an attribute."""
        return _varint(self._numbers[0][self._text(attribute)])

    def type(self, value: SSAValue) -> bytes:
        """The number of the type of a value."""
        return _varint(self._numbers[1][self._text(type_of(value))])

    def string_section(self) -> bytes:
        """The strings, whose sizes come last string first."""
        texts = [text.encode() + b"\0" for text in self._strings]
        sizes = (_varint(len(text)) for text in reversed(texts))
        return b"".join((_varint(len(texts)), *sizes, *texts))

    def dialect_section(self) -> bytes:
        """The dialects, and the names of ops by dialect."""
        found = [
            _varint(len(self._dialects)),
            *(_varint(self._strings[name] << 1) for name in self._dialects),
        ]
        for dialect, group in groupby(self._ops, lambda name: name.partition(".")[0]):
            strings = [_varint(self._strings[_name_in_dialect(name)]) for name in group]
            found += _varint(self._dialects[dialect]), _varint(len(strings)), *strings
        return b"".join(found)

    def entry_section(self) -> bytes:
        """The texts of attributes, then of types, each with a zero behind it."""
        return b"".join(text.encode() + b"\0" for kind in self._numbers for text in kind)

    def size_section(self) -> bytes:
        """The numbers of attributes and types, and their sizes by dialect."""
        found = [_varint(len(kind)) for kind in self._numbers]
        for dialects, kind in zip(self._entries, self._numbers, strict=True):
            for dialect, group in groupby(kind, dialects.__getitem__):
                sizes = [_varint(len(text.encode()) + 1 << 1) for text in group]
                found += _varint(self._dialects[dialect]), _varint(len(sizes)), *sizes
        return b"".join(found)


def _numbered(texts: Iterable[str], dialect_of: Callable[[str], int]) -> dict[str, int]:
    """Numbers texts, those of a dialect together."""
    return {text: number for number, text in enumerate(sorted(texts, key=dialect_of))}


def _name_in_dialect(name: str) -> str:
    return name.partition(".")[2]


def _location_of(value: SSAValue) -> Attribute:
    return getattr(value, "location", None) or UNKNOWN


def _op(
    op: Operation, names: _Names, values: dict[SSAValue, int], blocks: dict[Block, int], first: int
) -> Iterator[bytes]:
    """The pieces of an op with its regions.

    values: numbers of values that its operands may be. blocks: those that it may branch to. first: the first
    number that is free for values in its regions.
    """
    attributes, operands = names.attributes_of(op), operands_of(op)
    parts = (attributes, op.results, operands, op.successors, op.regions)
    bits = (_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS)
    yield names.op(op)
    yield bytes([sum(bit for bit, part in zip(bits, parts, strict=True) if part)])
    yield names.attribute(op.location or UNKNOWN)
    if attributes:
        yield names.attribute(attributes)
    if op.results:
        yield _varint(len(op.results))
        yield from map(names.type, op.results)
    if operands:
        yield _varint(len(operands))
        yield from (_varint(values[operand]) for operand in operands)
    if op.successors:
        yield _varint(len(op.successors))
        yield from (_varint(blocks[block]) for block in op.successors)
    if op.regions:
        is_isolated = op.has_trait(IsolatedFromAbove)
        yield _varint(len(op.regions) << 1 | is_isolated)
        inner = dict[SSAValue, int]() if is_isolated else values
        for region in op.regions:
            yield from _region(region, names, inner, 0 if is_isolated else first)


def _region(region: Region, names: _Names, values: dict[SSAValue, int], first: int) -> Iterator[bytes]:
    """The pieces of a region: its values have numbers from `first` on, and those inside it the next ones."""
    blocks = {block: number for number, block in enumerate(region.blocks)}
    yield _varint(len(blocks))
    if not blocks:
        return
    own = [
        value
        for block in blocks
        for value in (*block.args, *(each for op in block.ops for each in op.results))
    ]
    for number, value in enumerate(own, first):
        values[value] = number
    yield _varint(len(own))
    for block in blocks:
        ops = [*block.ops]
        yield _varint(len(ops) << 1 | bool(block.args))
        if block.args:
            yield _varint(len(block.args))
            for argument in block.args:
                yield names.type(argument)
                yield names.attribute(_location_of(argument))
        for op in ops:
            yield from _op(op, names, values, blocks, first + len(own))
