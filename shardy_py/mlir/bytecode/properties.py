"""The properties of ops: since version 5 an op has its inherent attributes apart from its dictionary.

An op's properties are the numbers of its attributes in the order of their names, which its class tells; those
that may be absent have a flag. Sizes of segments of operands and results are behind them since version 6.

Not here: ops of VHLO (`vhlo_names.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from typing_extensions import TypeIs
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, OptPropertyDef

from shardy_py.mlir.bytecode.entries import EntryReader
from shardy_py.mlir.bytecode.sections import Version

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")
_LARGEST_INDEX_BITS = 8


class Property(NamedTuple):
    """A property; is_optional: whether it may be absent, or has a default."""

    name: str
    is_optional: bool = False


def _optional(names: str) -> tuple[Property, ...]:
    return tuple(Property(name, is_optional=True) for name in names.split())


_UNDECLARED: dict[str, tuple[Property, ...]] = {
    "builtin.module": _optional("sym_visibility"),
    "func.func": _optional("no_inline"),
    "func.call": _optional("no_inline arg_attrs res_attrs"),
}
"""Properties of MLIR's ops that xDSL's classes lack."""

_ADDED: dict[str, tuple[str, ...]] = {
    "func.func": ("no_inline",),
    "func.call": ("arg_attrs res_attrs", "no_inline"),
    "chlo.top_k": ("is_stable",),
    "sdy.all_reduce": ("reduction_op",),
    "sdy.reduce_scatter": ("reduction_op",),
    "stablehlo.custom_call": ("result_tilings",),
    "stablehlo.collective_broadcast": ("has_dynamic_root",),
    "stablehlo.dot_general": ("algorithm",),
    "stablehlo.recv": ("source_target_pairs",),
    "stablehlo.send": ("source_target_pairs",),
    **{
        f"stablehlo.{name}": ("result_accuracy",)
        for name in (
            *("cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one"),
            *("logistic", "rsqrt", "sine", "sqrt", "tan", "tanh"),
        )
    },
}
"""Properties that ops got later, those that came last first: files of before have fewer."""


def _is_irdl(op_class: type[Operation]) -> TypeIs[type[IRDLOperation]]:
    return issubclass(op_class, IRDLOperation)


@lru_cache(maxsize=4096)
def declared(op_class: type[Operation], name: str) -> tuple[Property, ...]:
    """Returns the properties of a class, sorted by name, without sizes of segments."""
    found = [
        Property(key, isinstance(each, OptPropertyDef) or each.default_value is not None)
        for key, each in (op_class.get_irdl_definition().properties.items() if _is_irdl(op_class) else ())
        if key not in _SEGMENTS
    ]
    return tuple(sorted((*found, *_UNDECLARED.get(name, ()))))


def _segments(op_class: type[Operation]) -> dict[str, int]:
    """The number of segments of operands and of results, if a class has properties of their sizes."""
    if not _is_irdl(op_class):
        return {}
    made = op_class.get_irdl_definition()
    sides = (made.operands, made.results)
    return {key: len(side) for key, side in zip(_SEGMENTS, sides, strict=True) if key in made.properties}


def read_properties(
    reader: EntryReader, op_class: type[Operation], name: str, version: int
) -> dict[str, Attribute]:
    """Returns the properties of an op of a class.

    Raises:
        ShardyError: they are others than the class has.
    """
    segments = _segments(op_class)
    properties = list(declared(op_class, name))
    if version < Version.NATIVE_SEGMENT_SIZES:
        properties = sorted([*properties, *map(Property, segments)])
        segments = {}
    if not segments:
        properties = _as_many(properties, _ADDED.get(name, ()), _count(reader))
    found: dict[str, Attribute] = {}
    for key, is_optional in properties:
        attribute = reader.optional() if is_optional else reader.attribute()
        if attribute is not None:
            found[key] = attribute
    for key, length in segments.items():
        found[key] = DenseArrayBase.from_list(i32, _sparse(reader, length))
    if not reader.is_at_end:
        reader.fail(f"properties of '{name}': expected {len(properties)}, got more")
    return found


def named_properties(reader: EntryReader, names: Sequence[str]) -> dict[str, Attribute]:
    """Returns properties of which none may be absent, by name."""
    found = {key: reader.attribute() for key in names}
    reader.expect_end("the properties")
    return found


def _count(reader: EntryReader) -> int:
    """The number of properties that follow."""
    start, count = reader.at, 0
    while not reader.is_at_end:
        reader.varint()
        count += 1
    reader.at = start
    return count


def _as_many(properties: list[Property], added: Sequence[str], count: int) -> list[Property]:
    """The properties without those that an op got last, until there are no more than a file has."""
    for names in added:
        if len(properties) <= count:
            break
        properties = [each for each in properties if each.name not in names.split()]
    return properties


def _sparse(reader: EntryReader, length: int) -> list[int]:
    """Sizes that are mostly zero: all up to the last that is not, or those that are not by their index."""
    sizes = [0] * length
    count, is_sparse = reader.flagged()
    if count > length:
        reader.fail(f"expected at most {length} sizes of segments, got {count}")
    if not is_sparse or not count:
        sizes[:count] = [reader.varint() for _ in range(count)]
        return _checked(reader, sizes)
    bits = reader.varint()
    if bits > _LARGEST_INDEX_BITS:
        reader.fail(f"expected at most {_LARGEST_INDEX_BITS} bits of an index, got {bits}")
    for _ in range(count):
        value = reader.varint()
        index = value & ((1 << bits) - 1)
        if index >= length:
            reader.fail(f"invalid segment {index}: there are {length}")
        sizes[index] = value >> bits
    return _checked(reader, sizes)


def _checked(reader: EntryReader, sizes: list[int]) -> list[int]:
    if max(sizes, default=0) >= 1 << 31:
        reader.fail("the size of a segment exceeds 32 bits")
    return sizes
