"""Indexing maps: the elements of an operand that each element of a result reads, as symbolic affine maps.

`layout/` has the maps from the elements of an array to memory: element types, tiles, padding, bitcasts.
Not here: the maps of ops (`ops/`), sharding rules from maps (`propagation/rules/`).
"""

from shardy_py.indexing.bounds import Constraint, Interval, bounds_of, extent
from shardy_py.indexing.domain import (
    cardinality,
    connected,
    evaluate_points,
    is_empty,
    point_chunks,
    points,
    points_array,
    reads,
)
from shardy_py.indexing.expr import Division, Expr, Variable, constant, dim, range_var, runtime, weighted_sum
from shardy_py.indexing.index_map import IndexMap
from shardy_py.indexing.parse import parse_expr, parse_map
from shardy_py.indexing.reverse import inverse, reverse
from shardy_py.indexing.rewrite import simplify_expr

__all__ = [
    "Constraint",
    "Division",
    "Expr",
    "IndexMap",
    "Interval",
    "Variable",
    "bounds_of",
    "cardinality",
    "connected",
    "constant",
    "dim",
    "evaluate_points",
    "extent",
    "inverse",
    "is_empty",
    "parse_expr",
    "parse_map",
    "point_chunks",
    "points",
    "points_array",
    "range_var",
    "reads",
    "reverse",
    "runtime",
    "simplify_expr",
    "weighted_sum",
]
