"""HLO modules as plain frozen values: module, computation, instruction, shape.

Not here: layouts (`indexing/layout/`), the reader (`reader.py`), instructions as `OpRecord`s (`record.py`).

>>> print(read_shape(HloCursor("(bf16[2,?]{0,1}, pred[])", "-")))
(bf16[2,?]{0,1}, pred[])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

from shardy_py.base.errors import Position, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION
from shardy_py.indexing import layout as layouts
from shardy_py.indexing.layout import (
    ELEMENT_TYPES,
    UNBOUNDED,
    ArrayShape,
    BufferShape,
    HloCursor,
    Layout,
    TupleShape,
)
from shardy_py.ops.record import Attributes

Elements: TypeAlias = "bytes | tuple[Elements, ...]"
"""The elements of an array in row-major order; of a tuple, those of each part."""
ELEMENTS = ELEMENT_TYPES | {"token", "opaque"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value.

    element: in HLO's spelling, "f32", "pred", "token"; "tuple" for a tuple.
    sizes: of the dimensions; None: unbounded. dynamic: those whose size is an upper bound (`<=8`).
    layout: None if the text has none. parts: the shapes of a tuple's elements.
    """

    element: str
    sizes: tuple[int | None, ...] = ()
    dynamic: frozenset[int] = frozenset()
    layout: Layout | None = None
    parts: tuple[Shape, ...] = ()

    @property
    def is_tuple(self) -> bool:
        """Returns whether it is a tuple of shapes."""
        return self.element == "tuple"

    @property
    def minor_to_major(self) -> tuple[int, ...]:
        """The order of dimensions in memory; row-major if the text has no layout."""
        return self.layout.minor_to_major if self.layout else tuple(reversed(range(len(self.sizes))))

    def leaves(self) -> Iterator[Shape]:
        """The shapes of all leaves in order; the shape itself if it is not a tuple."""
        if not self.is_tuple:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def __str__(self) -> str:
        """The shape in HLO's spelling."""
        if self.is_tuple:
            return f"({', '.join(map(str, self.parts))})"
        sizes = ["?" if s is None else "<=" * (d in self.dynamic) + str(s) for d, s in enumerate(self.sizes)]
        return f"{self.element}[{','.join(sizes)}]{self.layout or ''}"


def read_shape(cursor: HloCursor) -> Shape:
    """Reads the shape at the cursor: one `Shape` for arrays, tuples and tokens.

    The empty layout `{}`, which older dumps give scalars, is accepted; a layout must list all dimensions.
    """
    start = cursor.offset
    shape = layouts.read_shape(cursor)
    if cursor.at("{") and cursor.following() == "}":
        cursor.advance()
        cursor.advance()
    with cursor.errors_at(max(cursor.text.find("{", start, cursor.offset), start)):
        return _shape(shape)


@SESSION.cache(1 << 12)
def _shape(shape: layouts.Shape) -> Shape:
    match shape:
        case TupleShape(elements):
            return Shape("tuple", parts=tuple(map(_shape, elements)))
        case BufferShape(element):
            # a buffer is the array it holds
            return _shape(element)
        case ArrayShape(element, sizes, flags, order):
            if order is not None and sorted(order.minor_to_major) != [*range(len(sizes))]:
                listed = ",".join(map(str, order.minor_to_major))
                raise ShardyError(
                    f"the layout must list the dimensions 0 to {len(sizes) - 1}, got {{{listed}}}"
                )
            known = tuple(None if size == UNBOUNDED else size for size in sizes)
            dynamic = frozenset(i for i, flag in enumerate(flags) if flag and known[i] is not None)
            return Shape(element, known, dynamic, order)
        case _:
            return Shape(shape.kind)


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    name: without the `%`. opcode: as in the text, "dynamic-slice".
    operands: names of instructions of the same computation.
    attributes: by name as plain values (`attributes.py` says which); texts that are only kept are `str`.
    literal: of a constant, the text between its parentheses, or its elements.
    parameter: the number of a parameter.
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict[str, object])
    literal: str | Elements | None = None
    parameter: int | None = None
    position: Position | None = None


@dataclass(frozen=True)
class Computation:
    """Instructions, each after its operands; `root` names the result."""

    name: str
    instructions: tuple[Instruction, ...]
    root: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name."""
        return {instruction.name: instruction for instruction in self.instructions}

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number."""
        parameters = [i for i in self.instructions if i.parameter is not None]
        return tuple(sorted(parameters, key=lambda i: i.parameter or 0))


@dataclass(frozen=True)
class HloModule:
    """A module: computations in the order of the text, each after those it calls.

    attributes: those of the header, as text. tables: names and locations of the source program
    (`FileNames` and the like), as text.
    """

    name: str
    computations: tuple[Computation, ...]
    entry: str
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    tables: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def by_name(self) -> Mapping[str, Computation]:
        """The computations by name."""
        return {computation.name: computation for computation in self.computations}

    @property
    def is_scheduled(self) -> bool:
        """Returns whether instructions run in the order of the text, as of a compiled program."""
        return self.attributes.get("is_scheduled") == "true"

    @property
    def entry_computation(self) -> Computation:
        """The computation that the module runs."""
        return self.by_name[self.entry]
