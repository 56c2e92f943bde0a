"""The offsets that a device looks up in tables by its number, to know which part of a tensor it has.

A table has an offset for each device, and is fetched into VMEM before it is read; what is read is one element
in HBM. Where the numbers of parts are those of devices they are computed instead, without a table. Source:
openxla/xla, `MakePartitionOffsets` in xla/service/spmd/spmd_partitioner_util.cc, and 130 programs with such
tables that XLA:TPU compiled for v5p.

>>> tile_numbers(Tiling((2, 1), 2, (0, 2, 1, 3)), 0)
(0, 1, 0, 1)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import field

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.tpu.records import ELEMENT, LOOK_UP, OFFSETS, Records, step_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling


def tile_numbers(tiling: Tiling, dimension: int) -> tuple[int, ...]:
    """Returns by device the number of its tile along a dimension."""
    grid = tiling.grid
    numbers = np.empty(grid.size, np.int64)
    numbers[grid.reshape(-1)] = np.indices(grid.shape)[dimension].reshape(-1)
    return tuple(numbers.tolist())


@dataclass
class Offsets:
    """The offsets that the steps of one computation have looked up, by their names. devices: their number."""

    records: Records
    devices: int
    _known: set[Name] = field(default_factory=set[Name])

    def of_tile(self, tiling: Tiling, dimension: int, size: int, source: object) -> Iterator[PlannedOp]:
        """Yields the steps that look up where a tile begins, unless others have done so.

        size: of a tile. source: the op for which it is.
        """
        numbers = tile_numbers(tiling, dimension)
        name, is_linear = self.tile(tiling, dimension, size), numbers == tuple(range(len(numbers)))
        yield from self._looked_up(name, (numbers, size), source, is_linear=is_linear)

    def of_count(self, tiling: Tiling, dimension: int, size: int, source: object) -> Iterator[PlannedOp]:
        """Yields the steps that look up the number of a tile, and multiply it by the size of one."""
        numbers = tile_numbers(tiling, dimension)
        name, is_linear = self.count(tiling, dimension, size), numbers == tuple(range(len(numbers)))
        yield from self._looked_up(name, (numbers, 1), source, is_linear=is_linear)

    def of_group(self, group: tuple[int, ...]) -> Iterator[PlannedOp]:
        """Yields the steps that look up the place of a device in its group. group: the first one."""
        yield from self._looked_up(self.place(group), group, None, is_linear=len(group) == self.devices)

    def tile(self, tiling: Tiling, dimension: int, size: int) -> Name:
        """Returns the name of where a tile begins."""
        return "offset", id(self), tile_numbers(tiling, dimension), size

    def count(self, tiling: Tiling, dimension: int, size: int) -> Name:
        """Returns the name of the number of a tile, by the size of one."""
        return "count", id(self), tile_numbers(tiling, dimension), size

    def place(self, group: tuple[int, ...]) -> Name:
        """Returns the name of the place of a device in its group."""
        return "place", id(self), group

    def _looked_up(
        self, name: Name, entries: Hashable, source: object, *, is_linear: bool
    ) -> Iterator[PlannedOp]:
        """The steps that look up an element. entries: of the table. is_linear: whether there is none."""
        if name in self._known:
            return
        self._known.add(name)
        if is_linear:
            yield step_of(self.records.of(LOOK_UP, (), (ELEMENT,)), (), (name,), source)
            return
        type_ = TensorType((self.devices,), ELEMENT.element)
        table: Name = ("table", id(self), entries)
        if table not in self._known:
            self._known.add(table)
            yield step_of(self.records.of(OFFSETS, (), (type_,)), (), (table,), source)
        yield step_of(self.records.of(LOOK_UP, (type_,), (ELEMENT,)), (table,), (name,), source)
