"""The same program with smaller sizes, partitioned by the same passes.

    shrunk(Case.of(partitioned))

Sizes become smaller so that each dimension has the same kinds of parts wherever it is sharded. The passes
may still decide otherwise for other sizes, so the ops of both local programs are compared; sizes that are not
quite as small are tried then.

Not here: the sizes (`sizes.py`, `resizing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.case import Case
from shardy_py.run.proof.resizing import Resizing
from shardy_py.run.proof.sizes import KEPT
from shardy_py.sharding import AxisRef, Mesh
from shardy_py.sharding.axis_lists import total_size
from shardy_py.sharding.meshes import resolve

LEAST = tuple(KEPT * times for times in (1, 2, 3, 4))
"""The smallest sizes of dimensions, in the order in which they are tried."""
WHOLE = (KEPT // 2, KEPT // 2 - 1)
"""The smallest sizes of dimensions that are sharded nowhere, tried while the program stays large."""
LARGE = 1 << 22
"""The elements of a program that is large though its sizes are small, as images that are halved often."""


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk:
    """A program with smaller sizes.

    sizes: from old sizes to new ones. same_ops: whether the local program has the same ops in the same order
    as that of the program's own sizes.
    """

    partitioned: Partitioned
    sizes: tuple[tuple[int, int], ...]
    same_ops: bool


def shrunk(case: Case) -> Shrunk | None:
    """Returns the program with smaller sizes; None if none can be smaller, or no pass accepts them."""
    resizing = Resizing(case.whole, parts_of(case))
    names = _names(case.local)
    first: Shrunk | None = None
    for resized in _resized(resizing):
        module, sizes = resized
        try:
            partitioned = case.partitioned.again(module)
        except ShardyError:
            continue
        found = Shrunk(partitioned, tuple(sorted(sizes.items())), _names(partitioned.local) == names)
        if found.same_ops:
            return found
        first = first or found
    return first


def _resized(resizing: Resizing) -> Iterator[tuple[ModuleOp, Mapping[int, int]]]:
    """The program with smaller sizes, those that are better first."""
    if resizing.elements(KEPT) > LARGE:
        small = (whole for whole in WHOLE if resizing.elements(KEPT, whole) <= LARGE)
        resized = resizing.resized(KEPT, next(small, WHOLE[-1]))
        yield from () if resized is None else (resized,)
    for least in LEAST:
        resized = resizing.resized(least)
        if resized is None:
            return
        yield resized


def parts_of(case: Case) -> Mapping[SSAValue, list[set[int]]]:
    """Returns the numbers of parts of each dimension of values of the whole program."""
    parts: dict[SSAValue, list[set[int]]] = {}
    for counterpart in case.found.values():
        sharding = counterpart.sharding
        if sharding is None:
            continue
        mesh = resolve(sharding.mesh, case.partitioned.meshes)
        for whole in counterpart.whole:
            rows = parts.setdefault(whole, [set() for _ in sharding.dimensions])
            for row, dimension in zip(rows, sharding.dimensions, strict=True):
                row.update(_prefix_sizes(dimension.axes, mesh))
    return parts


def _prefix_sizes(axes: tuple[AxisRef, ...], mesh: Mesh) -> Iterator[int]:
    """The numbers of parts along the first axes, then along more and more of them."""
    return (total_size(axes[:count], mesh) for count in range(1, len(axes) + 1))


def _names(module: ModuleOp) -> list[str]:
    return [op.name for op in walk_pre_order(module)]
