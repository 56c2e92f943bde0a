"""XLA's tile assignments, the device of each tile: a list of devices (V1) or a transposed iota (V2).

    devices=[2,4]0,4,1,5,2,6,3,7          V1: the devices, row-major over the tiles
    devices=[2,4]<=[4,2]T(1,0)            V2: 0, 1, 2, ... as [4,2], transposed by (1,0), as [2,4]

V2 assignments are in XLA's canonical form: no sizes of one, dimensions that stay neighbours merged. Not here:
the meaning of the tiles (`hlo_sharding.py`), the mesh axes they correspond to (`axes.py`).

>>> tiles = TileAssignment.iota((2, 4), (2, 2, 2), (1, 2, 0))
>>> str(tiles), tiles.devices
('devices=[2,4]<=[2,4]T(1,0)', (0, 4, 1, 5, 2, 6, 3, 7))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from math import gcd, prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass

DEVICE_LIMIT = 1 << 20
"""The most devices that are listed one by one, more than any machine has."""

_MOST_DEVICES = (1 << 63) - 1
_MOST_SHOWN = 16

Digit = tuple[int, int]
"""Size and stride of a digit of the device's number: `size` devices, `stride` apart."""


@dataclass(frozen=True)
class TileAssignment:
    """The devices of a grid of tiles.

    dimensions: the sizes of the grid, major to minor.
    device_list: V1: the devices, row-major over the grid; empty for V2.
    reshape_dims: V2: the sizes that the iota is given first; empty for V1.
    transpose_perm: V2: the order of these dimensions in the grid.
    """

    dimensions: tuple[int, ...]
    device_list: tuple[int, ...] = ()
    reshape_dims: tuple[int, ...] = ()
    transpose_perm: tuple[int, ...] = ()

    @staticmethod
    def iota(
        dimensions: Sequence[int],
        reshape_dims: Sequence[int] | None = None,
        transpose_perm: Sequence[int] | None = None,
    ) -> TileAssignment:
        """Returns a V2 assignment in canonical form; by default the devices are in order."""
        if reshape_dims is None:
            reshape_dims = (prod(dimensions),)
        if transpose_perm is None:
            transpose_perm = range(len(reshape_dims))
        sizes, order = canonical_iota(reshape_dims, transpose_perm)
        return TileAssignment(tuple(dimensions), (), sizes, order)

    @staticmethod
    def checked(
        dimensions: Sequence[int],
        device_list: Sequence[int],
        reshape_dims: Sequence[int] = (),
        transpose_perm: Sequence[int] = (),
    ) -> TileAssignment:
        """Returns the V2 assignment if `reshape_dims` is not empty, else V1.

        Raises:
            ShardyError: there is not one device for each tile, or the order of the iota is invalid.
        """
        if not dimensions or min(dimensions) < 1:
            raise ShardyError.unexpected("tiles", expected="positive sizes", got=_shown(dimensions))
        is_permutation = is_range(sorted(transpose_perm)) and len(transpose_perm) == len(reshape_dims)
        if reshape_dims and (not is_permutation or min(reshape_dims) < 1):
            expected = f"an order of the dimensions of {_shown(reshape_dims)}"
            raise ShardyError.unexpected("devices", expected=expected, got=_shown(transpose_perm))
        tiles = device_count("tiles", dimensions)
        count = device_count("devices", reshape_dims) if reshape_dims else len(device_list)
        if count != tiles:
            expected = f"{tiles} for tiles {_shown(dimensions)}"
            raise ShardyError.unexpected("devices", expected=expected, got=str(count))
        if reshape_dims:
            return TileAssignment.iota(dimensions, reshape_dims, transpose_perm)
        return TileAssignment(tuple(dimensions), tuple(device_list))

    @property
    def is_iota(self) -> bool:
        """Returns whether this is V2."""
        return bool(self.reshape_dims)

    @property
    def is_in_order(self) -> bool:
        """Returns whether this is V2 with the devices 0, 1, 2, ... row-major over the grid."""
        return len(self.reshape_dims) == 1

    @property
    def size(self) -> int:
        """The number of tiles."""
        return prod(self.dimensions)

    @cached_property
    def devices(self) -> tuple[int, ...]:
        """The devices, row-major over the grid.

        Raises:
            ShardyError: there are more than `DEVICE_LIMIT`.
        """
        if not self.is_iota:
            return self.device_list
        if self.size > DEVICE_LIMIT:
            expected = f"at most {DEVICE_LIMIT} to list them"
            raise ShardyError.unexpected(f"devices of {self}", expected=expected, got=str(self.size))
        return transposed(range(prod(self.reshape_dims)), self.reshape_dims, self.transpose_perm)

    def reshape(self, dimensions: Sequence[int]) -> TileAssignment:
        """The same devices in a grid of other sizes and equal volume."""
        return TileAssignment(tuple(dimensions), self.device_list, self.reshape_dims, self.transpose_perm)

    def transpose(self, perm: Sequence[int]) -> TileAssignment:
        """The grid with its dimensions in the order `perm`: V2 where XLA stays with it, else V1."""
        dimensions = tuple(self.dimensions[i] for i in perm)
        moved = [i for i in perm if self.dimensions[i] > 1]
        if moved == sorted(moved):
            return self.reshape(dimensions)
        digits = iota_digits(self.reshape_dims, self.transpose_perm)
        parts = split_digits(digits, self.dimensions) if self.is_iota else None
        if parts is not None:
            return TileAssignment.iota(dimensions, *iota_of([part for i in perm for part in parts[i]]))
        return TileAssignment(dimensions, transposed(self.devices, self.dimensions, perm))

    def with_sorted_groups(self, group_size: int) -> TileAssignment:
        """Sorts each run of `group_size` devices: V2 if the run consists of whole digits, else V1."""
        if group_size == 1:
            return self
        if self.is_iota:
            if self.reshape_dims[self.transpose_perm[-1]] == group_size:
                return self
            grouped = _iota_with_sorted_groups(self, group_size)
            if grouped is not None:
                return grouped
        devices = self.devices
        runs = (sorted(devices[start : start + group_size]) for start in range(0, len(devices), group_size))
        return TileAssignment(self.dimensions, tuple(device for run in runs for device in run))

    def as_iota(self) -> TileAssignment | None:
        """The equal V2 assignment; None if the devices are not a transposed iota."""
        if self.is_iota:
            return self
        digits = digits_of(self.device_list)
        return None if digits is None else TileAssignment.iota(self.dimensions, *iota_of(digits))

    def __str__(self) -> str:
        grid = f"devices=[{_joined(self.dimensions)}]"
        if not self.is_iota:
            return grid + _joined(self.device_list)
        order = f"T({_joined(self.transpose_perm)})" if len(self.reshape_dims) > 1 else ""
        return f"{grid}<=[{_joined(self.reshape_dims)}]{order}"


def canonical_iota(sizes: Sequence[int], perm: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and order of an iota without ones, and with dimensions merged that stay neighbours."""
    runs: list[list[int]] = []
    whole = [i for i in range(len(sizes)) if sizes[i] > 1]
    rank = {dimension: position for position, dimension in enumerate(whole)}
    for dimension in perm:
        if dimension not in rank:
            continue
        if runs and rank[runs[-1][-1]] + 1 == rank[dimension]:
            runs[-1].append(dimension)
        else:
            runs.append([dimension])
    ordered = sorted(runs)
    if not runs:
        return (1,), (0,)
    return tuple(prod(sizes[i] for i in run) for run in ordered), tuple(ordered.index(run) for run in runs)


def iota_digits(sizes: Sequence[int], perm: Sequence[int]) -> tuple[Digit, ...]:
    """The digits of an iota of `sizes` transposed by `perm`."""
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return tuple((sizes[i], strides[i]) for i in perm)


def iota_of(digits: Sequence[Digit]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and order of the iota with these digits: the inverse of `iota_digits`."""
    by_stride = sorted(range(len(digits)), key=lambda i: -digits[i][1])
    return tuple(digits[i][0] for i in by_stride), tuple(by_stride.index(i) for i in range(len(digits)))


def split_digits(digits: Sequence[Digit], dimensions: Sequence[int]) -> tuple[tuple[Digit, ...], ...] | None:
    """The digits of each dimension of a grid of equal volume; None if a digit is split unevenly."""
    rest = [digit for digit in reversed(digits) if digit[0] > 1]
    result: list[tuple[Digit, ...]] = []
    for size in dimensions:
        parts: list[Digit] = []
        while size > 1:
            digit_size, stride = rest.pop()
            taken = gcd(size, digit_size)
            if taken not in (size, digit_size):
                return None
            left = digit_size // taken
            parts.append((taken, stride * left))
            if left > 1:
                rest.append((left, stride))
            size //= taken
        result.append(tuple(parts))
    return tuple(result)


def digits_of(devices: Sequence[int]) -> tuple[Digit, ...] | None:
    """The digits of devices that are a transposed iota; None if they are not."""
    digits: list[Digit] = []
    rest = list(devices)
    while len(rest) > 1:
        stride = rest[1] - rest[0]
        size = next((i for i, device in enumerate(rest) if device != rest[0] + i * stride), len(rest))
        digits.append((size, stride))
        rest = rest[::size]
    digits.reverse()
    sizes, perm = iota_of(digits)
    if prod(sizes) != len(devices) or transposed(range(len(devices)), sizes, perm) != tuple(devices):
        return None
    return tuple(digits)


def transposed(values: Sequence[int], sizes: Sequence[int], perm: Sequence[int]) -> tuple[int, ...]:
    """Transposes row-major `values` of an array of `sizes`; the result is row-major too."""
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    offsets = ([digit * strides[i] for digit in range(sizes[i])] for i in perm)
    return tuple(values[sum(parts)] for parts in product(*offsets))


def device_count(what: str, sizes: Iterable[int]) -> int:
    """The number of devices of a grid of positive `sizes`; raises ShardyError if 64 bits do not hold it."""
    count = 1
    for size in sizes:
        count *= size
        if count > _MOST_DEVICES:
            raise ShardyError.unexpected(what, expected=f"at most {_MOST_DEVICES}", got="more")
    return count


def _shown(values: Sequence[int]) -> str:
    rest = ", ..." if len(values) > _MOST_SHOWN else ""
    return f"[{', '.join(map(str, values[:_MOST_SHOWN]))}{rest}]"


def is_range(values: Sequence[int]) -> bool:
    """Returns whether the values are 0, 1, 2, ... in this order."""
    return all(value == index for index, value in enumerate(values))


def _iota_with_sorted_groups(tiles: TileAssignment, group_size: int) -> TileAssignment | None:
    """The V2 assignment with its minor `group_size` devices sorted; None if a digit is split unevenly."""
    sizes, perm = list(tiles.reshape_dims), list(tiles.transpose_perm)
    grouped = 0
    for dimension in reversed(tiles.transpose_perm):
        if group_size == 1:
            break
        size = tiles.reshape_dims[dimension]
        grouped += 1
        if group_size % size == 0:
            group_size //= size
            continue
        if size % group_size:
            return None
        sizes[dimension : dimension + 1] = [size // group_size, group_size]
        perm = [i + (i > dimension) for i in perm]
        perm.insert(perm.index(dimension) + 1, dimension + 1)
        break
    return TileAssignment.iota(tiles.dimensions, sizes, perm[:-grouped] + sorted(perm[-grouped:]))


def _joined(values: Iterable[int]) -> str:
    return ",".join(map(str, values))
