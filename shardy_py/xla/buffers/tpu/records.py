"""Records of ops on what a device holds, also of ops that no program has; equal ones are one.

>>> records = Records()
>>> row = TensorType((8,), "f32")
>>> records.of(LOOK_UP, (row,), (row,)) is records.of(LOOK_UP, (row,), (row,))
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod
from types import MappingProxyType
from typing import Final

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import SliceOp, TransposeOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.spmd.program import Name, PlannedOp, alike
from shardy_py.xla.targets.parts import shape_of

COPIED: Final = "hlo.copy"
"""A copy, in memory of its own."""
LOOK_UP: Final = "hlo.look-up"
"""One element of a table of offsets."""
OFFSETS: Final = "hlo.table"
"""A table of offsets."""
PLACED: Final = "hlo.placed"
"""A value in memory of its own, not fused: pieces of another one, or with padding."""
PLACES: Final = "hlo.places"
"""The places of groups, which a kernel of a product by groups reads."""

ELEMENT: Final = TensorType((1,), "i32")
OFFSET: Final = TensorType((), "i32")
"""The types of what is looked up, and of how an op reads it."""
NOTHING: Final[Name] = ("none",)
"""The name of a value that is not a tensor and that no step makes."""

Types = tuple[TensorType | None, ...]
_NO_ATTRIBUTES: Mapping[str, object] = MappingProxyType({})


@dataclass
class Records:
    """The records of a program; those of the program are kept, so that their identities are their own."""

    _known: dict[tuple[object, ...], tuple[OpRecord, object]] = field(
        default_factory=dict[tuple[object, ...], tuple[OpRecord, object]]
    )
    _programs: dict[int, OpRecord] = field(default_factory=dict[int, OpRecord])
    """By the identity of a record on what a device holds, that of the program."""

    def like(self, record: OpRecord, operands: Types, results: Types) -> OpRecord:
        """Returns the record of an op of the program on what a device holds."""
        key = id(record), operands, results
        known = self._known.get(key)
        if known is None:
            made = OpRecord(record.name, operands, results, record.attributes)
            known = self._known[key] = made, record
            self._programs[id(made)] = record
        return known[0]

    def in_program(self, record: OpRecord) -> OpRecord:
        """Returns the record of the program that one on what a device holds is like, or itself."""
        return self._programs.get(id(record), record)

    def of(self, name: str, operands: Types, results: Types, **attributes: object) -> OpRecord:
        """Returns a record of an op that the program does not have."""
        key = name, operands, results, tuple(attributes.items())
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = OpRecord(name, operands, results, attributes), None
        return known[0]

    def transposed(self, given: TensorType | None, made: TensorType, **attributes: object) -> OpRecord:
        """Returns the record of a copy of the same elements in another order in memory."""
        return self.of(TransposeOp.name, (given,), (made,), permutation=tuple(range(made.rank)), **attributes)

    def sliced(self, given: TensorType | None, dimension: int, start: int, size: int) -> OpRecord:
        """Returns the record of a slice along a dimension, of `size` elements from `start` on."""
        shape = () if given is None else shape_of(given)
        at = [int(d == dimension) for d in range(len(shape))]
        sizes = tuple([size if own else whole for own, whole in zip(at, shape, strict=True)])
        starts = tuple([start * own for own in at])
        fixed = {
            "start_indices": starts,
            "limit_indices": tuple([first + own for first, own in zip(starts, sizes, strict=True)]),
            "strides": (1,) * len(shape),
        }
        made = None if given is None else TensorType(sizes, given.element)
        return self.of(SliceOp.name, (given,), (made,), **fixed)


def least_order(type_: TensorType) -> tuple[int, ...]:
    """Returns the dimensions of a value in the order with the least padding, minor to major."""
    return tuple(reversed(least_padded(type_)))


def step_of(record: OpRecord, reads: tuple[Name, ...], makes: tuple[Name, ...], source: object) -> PlannedOp:
    """Returns the step of a record, whose results have no tilings. source: the op for which it is."""
    return PlannedOp(record, reads, makes, (None,) * len(makes), source=source)


def step_like(step: PlannedOp, reads: tuple[Name, ...], makes: tuple[Name, ...], source: object) -> PlannedOp:
    """Returns a step of a record as another one of it, whose results have no tilings either."""
    made = alike(step, reads, makes, source)
    made.tensors = ()
    return made


def named(number: Name) -> Name:
    """Returns the name of a node's value, which is its number; -1 stands for no node."""
    return NOTHING if number == -1 else number


def elements_of(type_: TensorType | None) -> int:
    """Returns the number of elements of a type; 0 of none."""
    return 0 if type_ is None else prod(shape_of(type_))


def of_rank(type_: TensorType | None, like: TensorType | None) -> TensorType | None:
    """Returns a type without further dimensions of one element than another one has."""
    if type_ is None or like is None or type_.rank <= like.rank:
        return type_
    surplus, shape = type_.rank - like.rank, list[int | None]()
    for size in type_.shape:
        if size == 1 and surplus:
            surplus -= 1
        else:
            shape.append(size)
    return TensorType(tuple(shape), type_.element)
