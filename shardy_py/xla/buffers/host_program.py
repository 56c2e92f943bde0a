"""The program of one device as XLA's backend for the host has it, before fusion: ops, and values with types.

Not here: which ops a step becomes (`host_steps.py`), what is fused (`host_fusion.py`).

>>> program = HostProgram({"x": TensorType((8, 4))}, {"x": 128}, Aliases(), lambda type_: 4 * elements(type_))
>>> half = program.made("slice", ("x",), TensorType((4, 4)))
>>> program.sizes[half], [op.kind for op in program.ops]
(64, ['slice'])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, Storage, TensorType
from shardy_py.xla.buffers.aliases import Aliases
from shardy_py.xla.buffers.facet import STORED, host_row
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp

LIBRARY_REDUCTION = "library_reduce"
"""The kind of a reduction that a library computes."""


class HostOp(NamedTuple):
    """One op of the program of a device.

    kind: as HLO names it. reads, makes: names of values. step: what it is for, if anything. sent: the
    collective that it is. sums: those that a sum of parts is. computed: the step that it is, if it is one.
    """

    kind: str
    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    step: PlannedOp | None = None
    sent: PlannedCollective | None = None
    sums: tuple[PlannedCollective, ...] = ()
    computed: PlannedOp | None = None

    def renamed(self, alias: Mapping[Name, Name]) -> HostOp:
        """The op with the values that others stand for replaced by these, once."""
        reads = self.reads
        if not alias or not any(map(alias.__contains__, reads)):
            return self
        reads = tuple([alias.get(name, name) for name in reads])
        return HostOp(self.kind, reads, self.makes, self.step, self.sent, self.sums, self.computed)


class ProductForm(NamedTuple):
    """How the host computes a product.

    given: for each operand the type that it is reshaped to, None if it is not. is_plain: whether the result
    is not reshaped. is_by_library: whether a library computes it.
    """

    given: tuple[TensorType | None, ...]
    is_plain: bool
    is_by_library: bool


def kind_of(step: PlannedOp) -> str:
    """The name of an op without its dialect."""
    return step.record.name.rpartition(".")[2]


def elements(type_: TensorType) -> int:
    """The number of elements."""
    return prod([size or 0 for size in type_.shape])


def is_pointwise(op: HostOp) -> bool:
    """True if each element that it makes depends on the same element of its operands only."""
    step = op.computed
    return host_row(op.kind).is_pointwise or (
        step is not None
        and (STORED.of(step.record.name).is_pointwise or TABLE[step.record.name].elementwise(step.record))
    )


def is_in_place(op: HostOp) -> bool:
    """True if the op writes over its first operands."""
    step = op.computed
    return op.kind == "sort" or (step is not None and TABLE[step.record.name].storage is Storage.IN_PLACE)


@dataclass
class HostProgram:
    """The ops of a block, in program order.

    types, sizes: of values, as each device has them. alias: the value whose memory a value shares. measure:
    the bytes of a type. known: what equal ops made before, and what was sent, by the key of the collective.
    joined: by concatenation, what it puts together along which dimension. by_library: products that a library
    computes. constants: single elements that are known. barriers: values behind optimization barriers; apart:
    those computed of them, which are not merged with equal ones.
    """

    types: dict[Name, TensorType]
    sizes: dict[Name, int]
    alias: Aliases
    measure: Callable[[TensorType], int]
    ops: list[HostOp] = field(default_factory=list[HostOp])
    known: dict[Hashable, Name] = field(default_factory=dict[Hashable, Name])
    joined: dict[Name, tuple[tuple[Name, ...], int]] = field(
        default_factory=dict[Name, "tuple[tuple[Name, ...], int]"]
    )
    by_library: set[Name] = field(default_factory=set[Name])
    constants: set[Name] = field(default_factory=set[Name])
    barriers: set[Name] = field(default_factory=set[Name])
    apart: set[Name] = field(default_factory=set[Name])
    places: dict[Name, tuple[PlannedOp, Name]] = field(default_factory=dict[Name, "tuple[PlannedOp, Name]"])
    """By value the reduction that finds the place of one of its elements, and what that element is."""
    products: dict[tuple[int, ...], tuple[ProductForm, object]] = field(
        default_factory=dict[tuple[int, ...], "tuple[ProductForm, object]"]
    )
    """How products are computed, by the identities of record and types, which are kept."""
    _measured: dict[TensorType, tuple[TensorType, int]] = field(
        default_factory=dict[TensorType, "tuple[TensorType, int]"]
    )
    """One of all equal types, and its bytes."""

    def stored(self, name: Name) -> Name:
        """The value whose memory holds a value."""
        return self.alias.root(name)

    def is_behind_barrier(self, name: Name) -> bool:
        """True if a value is another one behind an optimization barrier."""
        while name in self.alias and name not in self.barriers:
            name = self.alias[name]
        return name in self.barriers

    def add(
        self,
        kind: str,
        reads: Sequence[Name],
        makes: Sequence[Name],
        step: PlannedOp | None = None,
        *,
        sent: PlannedCollective | None = None,
        sums: Sequence[PlannedCollective] = (),
    ) -> None:
        """Adds an op that is not the step itself."""
        self.ops.append(HostOp(kind, tuple(reads), tuple(makes), step, sent, tuple(sums)))

    def made(
        self,
        kind: str,
        reads: Sequence[Name],
        type_: TensorType,
        step: PlannedOp | None = None,
        into: Name | None = None,
    ) -> Name:
        """Adds an op with one result, and returns the name of that; into: the name, if it has one."""
        name = self.named(type_, into)
        self.add(kind, reads, (name,), step)
        return name

    def named(self, type_: TensorType, into: Name | None = None) -> Name:
        """The name of a new value; into: the name, if it has one."""
        if into is None:
            into = object()
        elif into in self.types and elements(self.types[into]) == elements(type_):
            return into
        known = self._measured.get(type_)
        if known is None:
            known = self._measured[type_] = type_, self.measure(type_)
        self.types[into], self.sizes[into] = known
        return into

    def sliced(self, source: Name, type_: TensorType, place: Hashable, step: PlannedOp | None) -> Name:
        """A slice of a value; equal ones, with the same `place`, are one op."""
        key = "slice", source, type_, place
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self.made("slice", (source,), type_, step)
        return known

    def is_narrow(self, name: Name) -> bool:
        """True if a value is of bf16, which the host does not compute with."""
        type_ = self.types.get(name)
        return type_ is not None and type_.element == "bf16"

    def widened(self, name: Name, step: PlannedOp | None) -> Name:
        """A value converted to f32."""
        return self.made("convert", (name,), replace(self.types[name], element="f32"), step)
