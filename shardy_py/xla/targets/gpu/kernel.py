"""A kernel of XLA:GPU: ops that are computed together, and what that takes.

Kernels of equal layers are equal but for the numbers of their values. What a kernel takes is found once for
all of them: it is kept in numbers of its own (`KernelShape`). Not here: which ops are in a kernel
(`kernels.py`), times (`costs.py`).
"""

from __future__ import annotations

from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.xla.targets.gpu.costs import Grid


@dataclass(frozen=True, slots=True)
class KernelShape:
    """The costs of a kernel, where values are those of `Kernel.own`; the fields are those of `Kernel`.

    number: of the shape. reads: each value with its places.
    """

    number: int
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    uses: tuple[float, ...]
    costs: tuple[int, ...]
    places: tuple[tuple[int, float], ...]
    codes: tuple[tuple[int, int], ...]
    operations: float
    code: int
    reduces: bool
    rows: bool
    time: int
    written: int
    read: int
    computed: int


@dataclass(slots=True)
class Kernel:
    """Ops that are computed together.

    root: the last. members: their numbers. first: the least of them. reads: by value that is read how often
    each element is, and for which of the places at which values are used. uses, costs: how often in all, and
    the ticks that takes; inside: those of all reads, by how often other kernels compute this one, and by
    their blocks and threads, where that is known.
    places: how often each of these is computed; codes: how often code for it is there. operations: of
    arithmetic. code: of the kernel. reduces: whether it has a large reduction. rows: whether it
    has whole rows, so that nothing is computed repeatedly. time: the ticks that it takes; written, read: of
    which to write and to read; computed: those without writing. operands: what it reads, in XLA's order.
    own: by value that it computes or reads, a number that is that of the same one in equal kernels.
    outside: by value that it reads, this number. shape: what it takes, in these numbers; None of a large one,
    which shares nothing. is_filled: whether the fields that follow from the shape are set, too.
    """

    root: int
    members: set[int]
    first: int = 0
    reads: dict[int, set[int]] = field(default_factory=dict[int, "set[int]"])
    uses: dict[int, float] = field(default_factory=dict[int, float])
    costs: dict[int, int] = field(default_factory=dict[int, int])
    inside: dict[tuple[float, Grid], int] = field(default_factory=dict["tuple[float, Grid]", int])
    places: dict[int, float] = field(default_factory=dict[int, float])
    codes: dict[int, int] = field(default_factory=dict[int, int])
    operations: float = 0
    code: int = 1
    reduces: bool = False
    rows: bool = False
    time: int = 0
    written: int = 0
    read: int = 0
    computed: int = 0
    operands: list[int] = field(default_factory=list[int])
    own: dict[int, int] = field(default_factory=dict[int, int])
    outside: dict[int, int] = field(default_factory=dict[int, int])
    shape: KernelShape | None = None
    is_filled: bool = True

    def take(self, shape: KernelShape) -> None:
        """Makes the kernel one of a shape, whose fields are filled when they are needed."""
        values = [*self.own]
        self.shape, self.is_filled = shape, False
        self.outside = {values[own]: own for own, _ in shape.reads}
        self.rows, self.time, self.computed = shape.rows, shape.time, shape.computed

    def note(self, number: int) -> KernelShape:
        """Returns the shape of a kernel that was measured, which becomes its own. number: of the shape."""
        own = self.own
        self.shape = KernelShape(
            number,
            tuple([(own[value], tuple([own[each] for each in at])) for value, at in self.reads.items()]),
            (*self.uses.values(),),
            (*self.costs.values(),),
            tuple([(own[value], often) for value, often in self.places.items()]),
            tuple([(own[value], count) for value, count in self.codes.items()]),
            *(self.operations, self.code, self.reduces, self.rows),
            *(self.time, self.written, self.read, self.computed),
        )
        self.outside, self.is_filled = {value: own[value] for value in self.reads}, True
        return self.shape

    def leave(self) -> None:
        """Makes a kernel that was measured one without a shape."""
        self.shape, self.is_filled, self.own = None, True, {}
        self.outside = dict.fromkeys(self.reads, -1)

    def fill(self) -> None:
        """Sets the fields that follow from the shape."""
        shape, values = self.shape, [*self.own]
        if self.is_filled or shape is None:
            return
        self.reads = {values[own]: {values[each] for each in at} for own, at in shape.reads}
        self.uses = dict(zip(self.reads, shape.uses, strict=True))
        self.costs = dict(zip(self.reads, shape.costs, strict=True))
        self.places = {values[own]: often for own, often in shape.places}
        self.codes = {values[own]: count for own, count in shape.codes}
        self.operations, self.code = shape.operations, shape.code
        self.reduces, self.written, self.read = shape.reduces, shape.written, shape.read
        self.inside = {}
        self.is_filled = True
