"""The maps of single ops, remembered: one look-up an op where ops are alike.

Not here: how they are made (`ops/`), nodes that run functions (`fusion.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.indexing import IndexMap, dim, extent, range_var
from shardy_py.ops import OpRecord, TensorType, input_to_output, output_to_input
from shardy_py.session import SESSION

Direction = Literal["output-to-input", "input-to-output"]
Maps = tuple[IndexMap, ...]
Grid = tuple[tuple[Maps, ...], ...]
"""For each tensor on the side that is asked, for each on the other side, the maps between them."""

_OF = {"output-to-input": output_to_input, "input-to-output": input_to_output}
_KNOWN: dict[tuple[int, Direction], tuple[OpRecord, Grid]] = SESSION.table("indexing maps of ops")


def op_maps(record: OpRecord, direction: Direction = "output-to-input") -> Grid:
    """The maps of one op, those of empty domain left out."""
    key = (id(record), direction)
    known = _KNOWN.get(key)
    if known is None:
        known = _KNOWN[key] = record, _made(record, direction)
    return known[1]


def _made(record: OpRecord, direction: Direction) -> Grid:
    misfit = ShardyError(Diagnostic(f"'{record.name}' op has attributes that do not fit its types"))
    try:
        grid = _OF[direction](record)
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise misfit from error
    sides = (record.results, record.operands)
    sources, targets = sides if direction == "output-to-input" else sides[::-1]
    for source, row in zip(sources, grid, strict=True):
        for target, maps in zip(targets, row, strict=True):
            if not all(_fits(m, source, target) for m in maps):
                raise misfit
    return tuple(tuple(tuple(m for m in maps if _has_points(m)) for maps in row) for row in grid)


def _fits(index_map: IndexMap, source: TensorType | None, target: TensorType | None) -> bool:
    """Whether the map goes from the one tensor to the other."""
    ranks = (source.rank if source else 0, target.rank if target else 0)
    return (
        len(index_map.dims),
        len(index_map.results),
    ) == ranks and index_map.used <= index_map.bounds.keys()


def _has_points(index_map: IndexMap) -> bool:
    return all(interval.size for interval in index_map.bounds.values())


def sizes_of(tensor: TensorType | None) -> tuple[int, ...]:
    """The sizes of a tensor; () for what is none."""
    sizes = tensor.shape if tensor else ()
    if any(size is None for size in sizes):
        raise ShardyError(f"a dimension of {tensor} is known only at run time")
    return tuple(size for size in sizes if size is not None)


def everything(source: TensorType | None, target: TensorType | None) -> Maps:
    """The map by which each element of `source` goes with each of `target`."""
    if source is None or target is None:
        return ()
    dims, ranges = tuple(map(extent, sizes_of(source))), tuple(map(extent, sizes_of(target)))
    return (IndexMap(tuple(map(range_var, range(len(ranges)))), dims, ranges).tidied,)


@lru_cache(1 << 10)
def identity(tensor: TensorType) -> IndexMap:
    """The map of a tensor to itself."""
    sizes = sizes_of(tensor)
    return IndexMap(tuple(map(dim, range(len(sizes)))), tuple(map(extent, sizes)))
