"""A kernel of XLA:GPU: ops that are computed together, and what that takes.

Kernels of equal layers are equal but for the numbers of their values. What a kernel takes is found once for
all of them: it is kept in names of its own (`KernelShape`). Not here: which ops are in a kernel
(`kernels.py`), times (`costs.py`).
"""

from __future__ import annotations

from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.xla.targets.gpu.costs import NO_RATES, Grid, Rates

ROOT = 0
"""The name of the last op of a kernel in it."""
KernelOp = tuple[int, float, bool, bool, tuple[tuple[int, float, int], ...]]
"""An op of a kernel: its name there, its operations of arithmetic, whether it is a large reduction, whether
it is elementwise, and what it reads: the name, how often it reads each element, and how many there are.

A kernel has an op twice that is computed in it on two ways, as XLA copies it each time. Names are numbers."""


@dataclass(frozen=True, slots=True)
class KernelShape:
    """The costs of a kernel in its own names; the fields are those of `Kernel`.

    number: of the shape. reads: the places of each value that it reads, in the order of `Kernel.outside`.
    """

    number: int
    ops: tuple[KernelOp, ...]
    count: int
    reads: tuple[frozenset[int], ...]
    uses: tuple[float, ...]
    costs: tuple[int, ...]
    places: tuple[tuple[int, float], ...]
    codes: tuple[tuple[int, int], ...]
    operations: float
    code: int
    reduces: bool
    rows: bool
    in_blocks: bool
    rates: Rates
    time: int
    written: int
    read: int
    computed: int


@dataclass(slots=True)
class Kernel:
    """Ops that are computed together.

    root: the last. members: their numbers. ops: each after those that read it. reads: by value that is read
    for which of the places at which values are used, by the names of these. uses, costs: how often each
    element is read in all, and the ticks that takes; inside: those of all reads, by how often other kernels
    compute this one, and by their blocks and threads, where that is known.
    places: how often each of these is computed; codes: how often code for it is there. operations: of
    arithmetic. code: of the kernel. reduces: whether it has a large reduction. rows: whether it has whole
    rows, so that nothing is computed repeatedly. in_blocks: whether it ends with a reduction by blocks of
    threads, before elementwise ops. rates: those of its last op, or of this reduction. time: the ticks that
    it takes; written, read: of which to write and to read; computed: those without writing. operands: what
    it reads, in XLA's order.
    outside: by value that it reads, its name. count: of names. shape: what it takes, in these; None of a
    large one, which shares nothing. is_filled: whether the fields that follow from the shape are set, too.
    """

    root: int
    members: set[int]
    ops: list[KernelOp] = field(default_factory=list[KernelOp])
    reads: dict[int, frozenset[int]] = field(default_factory=dict[int, "frozenset[int]"])
    uses: dict[int, float] = field(default_factory=dict[int, float])
    costs: dict[int, int] = field(default_factory=dict[int, int])
    inside: dict[tuple[float, Grid], int] = field(default_factory=dict["tuple[float, Grid]", int])
    places: dict[int, float] = field(default_factory=dict[int, float])
    codes: dict[int, int] = field(default_factory=dict[int, int])
    operations: float = 0
    code: int = 1
    reduces: bool = False
    rows: bool = False
    in_blocks: bool = False
    rates: Rates = NO_RATES
    time: int = 0
    written: int = 0
    read: int = 0
    computed: int = 0
    operands: list[int] = field(default_factory=list[int])
    outside: dict[int, int] = field(default_factory=dict[int, int])
    count: int = 0
    shape: KernelShape | None = None
    is_filled: bool = True

    def take(self, shape: KernelShape) -> None:
        """Makes the kernel one of a shape, whose fields are filled when they are needed."""
        self.shape, self.is_filled, self.count = shape, False, shape.count
        self.rows, self.time, self.computed = shape.rows, shape.time, shape.computed
        self.in_blocks, self.rates = shape.in_blocks, shape.rates

    def note(self, number: int) -> KernelShape:
        """Returns the shape of a kernel that was measured, which becomes its own. number: of the shape."""
        self.shape = KernelShape(
            number,
            tuple(self.ops),
            self.count,
            (*self.reads.values(),),
            (*self.uses.values(),),
            (*self.costs.values(),),
            (*self.places.items(),),
            (*self.codes.items(),),
            *(self.operations, self.code, self.reduces, self.rows, self.in_blocks, self.rates),
            *(self.time, self.written, self.read, self.computed),
        )
        self.is_filled = True
        return self.shape

    def leave(self) -> None:
        """Makes a kernel that was measured one without a shape."""
        self.shape, self.is_filled = None, True

    def use_of(self, value: int) -> float:
        """Returns how often each element of a value is computed, if it is computed in the kernel."""
        return sum([self.places[each] for each in self.reads[value]])

    def fill(self) -> None:
        """Sets the fields that follow from the shape."""
        shape = self.shape
        if self.is_filled or shape is None:
            return
        self.ops = [*shape.ops]
        self.reads = dict(zip(self.outside, shape.reads, strict=True))
        self.uses = dict(zip(self.outside, shape.uses, strict=True))
        self.costs = dict(zip(self.outside, shape.costs, strict=True))
        self.places, self.codes = dict(shape.places), dict(shape.codes)
        self.operations, self.code = shape.operations, shape.code
        self.reduces, self.written, self.read = shape.reduces, shape.written, shape.read
        self.inside = {}
        self.is_filled = True


def rates_together(producer: Kernel, consumer: Kernel) -> Rates:
    """Returns the rates of both as one kernel: those of the reduction that the producer ends with, if any."""
    return producer.rates if producer.in_blocks and not consumer.in_blocks else consumer.rates
