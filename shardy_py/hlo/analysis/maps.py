"""The maps of single ops, memoized by record.

Not here: the maps themselves (`ops/`), nodes that run functions (`fusion.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from shardy_py.base.errors import ShardyError
from shardy_py.base.narrowing import is_mapping
from shardy_py.base.session import SESSION
from shardy_py.indexing import IndexMap, dim, extent, range_var
from shardy_py.ops import OpRecord, TensorType, input_to_output, output_to_input

Direction = Literal["output-to-input", "input-to-output"]
Maps = tuple[IndexMap, ...]
Grid = tuple[tuple[Maps, ...], ...]
"""For each tensor of one side, for each of the other side, the maps between them."""

_MAPS = {"output-to-input": output_to_input, "input-to-output": input_to_output}
_GRIDS: dict[tuple[Hashable, Direction], tuple[OpRecord, Grid]] = SESSION.table("indexing maps of ops")


def op_maps(record: OpRecord, direction: Direction = "output-to-input") -> Grid:
    """The maps of one op without those of empty domain; the same objects for equal records."""
    key = (_signature(record), direction)
    entry = _GRIDS.get(key)
    if entry is None:
        entry = _GRIDS.setdefault(key, (record, _grid(record, direction)))
    return entry[1]


def _signature(record: OpRecord) -> Hashable:
    """Returns what equal records share; the identity of one whose attributes cannot be compared."""
    signature = record.name, record.operands, record.results, _hashable(record.attributes)
    try:
        hash(signature)
    except TypeError:
        return id(record)
    return signature


def _hashable(value: object) -> object:
    if is_mapping(value):
        pairs = value.items()
        return tuple((key, _hashable(inner)) for key, inner in pairs)
    return value


def _grid(record: OpRecord, direction: Direction) -> Grid:
    mismatch = ShardyError(f"'{record.name}' op has attributes that do not match its types")
    try:
        grid = _MAPS[direction](record)
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise mismatch from error
    sides = (record.results, record.operands)
    sources, targets = sides if direction == "output-to-input" else sides[::-1]
    for source, row in zip(sources, grid, strict=True):
        for target, maps in zip(targets, row, strict=True):
            if not all(_fits(m, source, target) for m in maps):
                raise mismatch
    return tuple(tuple(tuple(m for m in maps if _has_points(m)) for maps in row) for row in grid)


def _fits(index_map: IndexMap, source: TensorType | None, target: TensorType | None) -> bool:
    """Returns whether the ranks of the map are those of the tensors and all its variables are declared."""
    ranks = source.rank if source else 0, target.rank if target else 0
    has_ranks = (len(index_map.dims), len(index_map.results)) == ranks
    return has_ranks and index_map.used <= index_map.bounds.keys()


def _has_points(index_map: IndexMap) -> bool:
    return all(interval.size for interval in index_map.bounds.values())


def sizes_of(tensor: TensorType | None) -> tuple[int, ...]:
    """The sizes of a tensor; () for other types."""
    sizes = tensor.shape if tensor else ()
    if any(size is None for size in sizes):
        raise ShardyError.unsupported(f"dynamic dimension of {tensor}")
    return tuple(size for size in sizes if size is not None)


def everything(source: TensorType | None, target: TensorType | None) -> Maps:
    """The map from each element of `source` to every element of `target`."""
    if source is None or target is None:
        return ()
    dims, ranges = tuple(map(extent, sizes_of(source))), tuple(map(extent, sizes_of(target)))
    return (IndexMap(tuple(map(range_var, range(len(ranges)))), dims, ranges).tidied,)


@SESSION.cache(1 << 10)
def identity(tensor: TensorType) -> IndexMap:
    """The map of a tensor to itself."""
    sizes = sizes_of(tensor)
    return IndexMap(tuple(map(dim, range(len(sizes)))), tuple(map(extent, sizes)))
