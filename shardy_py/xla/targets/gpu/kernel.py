"""A kernel of XLA:GPU: ops that are computed together, and what that takes.

Not here: which ops these are (`kernels.py`), times (`costs.py`).
"""

from __future__ import annotations

from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.xla.targets.gpu.costs import Grid


@dataclass(slots=True)
class Kernel:
    """Ops that are computed together.

    root: the last. members: their numbers. first: the least of them. reads: by value that is read how often
    each element is, and for which of the places at which values are used. uses, costs: how often in all, and
    the ticks that takes; inside: those of all reads, by how often other kernels compute this one, and by
    their blocks and threads, where that is known.
    places: how often each of these is computed; codes: how often code for it is there. operations: of
    arithmetic. code, branches: of the kernel. reduces: whether it has a large reduction. rows: whether it
    has whole rows, so that nothing is computed repeatedly. time: the ticks that it takes; written, read: of
    which to write and to read; computed: those without writing. operands: what it reads, in XLA's order.
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
    branches: int = 0
    reduces: bool = False
    rows: bool = False
    time: int = 0
    written: int = 0
    read: int = 0
    computed: int = 0
    operands: list[int] = field(default_factory=list[int])
