"""Indexing maps of whole computations, and what follows from them.

Works on flat functions (`function.py`), converted from HLO (`from_hlo.py`) or StableHLO (`from_mlir.py`, the
only file that uses xDSL, loaded on demand). Maps of single ops are in `ops/`, the maps themselves in
`indexing/`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardy_py.hlo.analysis.coalescing import Coalescing, coalescing
from shardy_py.hlo.analysis.communication import Communication, communication, rule_communication, rule_maps
from shardy_py.hlo.analysis.from_hlo import hlo_function, hlo_functions
from shardy_py.hlo.analysis.function import Body, Function, Node, function_of
from shardy_py.hlo.analysis.fusion import function_maps, node_maps
from shardy_py.hlo.analysis.image import Image, image_of
from shardy_py.hlo.analysis.maps import Direction, Grid, op_maps
from shardy_py.hlo.analysis.strided import Progression, StridedBox
from shardy_py.hlo.analysis.tiles import StridedTile, SymbolicTile, propagate_tile, symbolic_tile
from shardy_py.hlo.analysis.utilization import Utilization, operand_utilization

if TYPE_CHECKING:
    from shardy_py.hlo.analysis.from_mlir import mlir_function, mlir_functions

__all__ = [
    "Body",
    "Coalescing",
    "Communication",
    "Direction",
    "Function",
    "Grid",
    "Image",
    "Node",
    "Progression",
    "StridedBox",
    "StridedTile",
    "SymbolicTile",
    "Utilization",
    "coalescing",
    "communication",
    "function_maps",
    "function_of",
    "hlo_function",
    "hlo_functions",
    "image_of",
    "mlir_function",
    "mlir_functions",
    "node_maps",
    "op_maps",
    "operand_utilization",
    "propagate_tile",
    "rule_communication",
    "rule_maps",
    "symbolic_tile",
]


def __getattr__(name: str) -> object:
    if name not in ("mlir_function", "mlir_functions"):
        raise AttributeError(name)
    return getattr(import_module("shardy_py.hlo.analysis.from_mlir"), name)
