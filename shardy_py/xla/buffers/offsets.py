"""The offsets that a device looks up in tables by its number, to know which part of a tensor it has.

A table has an offset for each device, and is fetched into VMEM before it is read; what is read is one element
in HBM. Where the numbers of parts are those of devices they are computed instead, without a table. Source:
openxla/xla, `MakePartitionOffsets` in xla/service/spmd/spmd_partitioner_util.cc, and 130 programs with such
tables that XLA:TPU compiled for v5p.

>>> tile_numbers(Tiling((2, 1), 2, (0, 2, 1, 3)), 0)
(0, 1, 0, 1)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Final

from shardy_py.base.deferred import np
from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord, TensorType
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.tiling import Tiling

TABLE: Final = "hlo.table"
LOOK_UP: Final = "hlo.look-up"
"""The table of an offset, and the op that reads one of its elements; no program has them."""
_ELEMENT: Final = TensorType((1,), "i32")


def tile_numbers(tiling: Tiling, dimension: int) -> tuple[int, ...]:
    """Returns by device the number of its tile along a dimension."""
    grid = tiling.grid
    numbers = np.empty(grid.size, np.int64)
    numbers[grid.reshape(-1)] = np.indices(grid.shape)[dimension].reshape(-1)
    return tuple(numbers.tolist())


@dataclass
class Offsets:
    """The offsets that the steps of one block have looked up, by what they are."""

    _known: set[Name] = field(default_factory=set[Name])

    def of(
        self, tiling: Tiling, dimension: int, size: int, source: object, *, is_counted: bool = False
    ) -> Iterator[PlannedOp]:
        """Yields the steps that look up an offset, unless another step has done so.

        size: of a tile. source: the op for which it is. is_counted: whether the table has numbers of tiles.
        """
        name = self.name(tiling, dimension, size, is_counted=is_counted)
        yield from self.at(name, tile_numbers(tiling, dimension), 1 if is_counted else size, source)

    def at(self, name: Name, numbers: tuple[int, ...], size: int, source: object) -> Iterator[PlannedOp]:
        """Yields the steps that look up an offset of a name, unless another step has done so.

        numbers: of the tile of each device. size: by which the table has them multiplied.
        """
        if name in self._known:
            return
        self._known.add(name)
        if numbers == tuple(range(len(numbers))):
            yield PlannedOp(OpRecord(LOOK_UP, (), (_ELEMENT,)), (), (name,), (None,), source=source)
            return
        type_ = TensorType((len(numbers),), "i32")
        table: Name = ("table", id(self), numbers, size)
        if table not in self._known:
            self._known.add(table)
            yield PlannedOp(OpRecord(TABLE, (), (type_,)), (), (table,), (None,), source=source)
        record = OpRecord(LOOK_UP, (type_,), (_ELEMENT,))
        yield PlannedOp(record, (table,), (name,), (None,), source=source)

    def name(self, tiling: Tiling, dimension: int, size: int, *, is_counted: bool = False) -> Name:
        """The name of an offset."""
        return ("offset", id(self), tile_numbers(tiling, dimension), size, is_counted)
