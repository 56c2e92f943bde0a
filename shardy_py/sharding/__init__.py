"""Sharding as plain frozen values: meshes, axes, tensor shardings, rules.

The slices on each device (`slices.py`) need numpy and are imported on first use; the rest needs nothing but
the standard library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.projection import (
    FactorSharding,
    Projection,
    TensorProjection,
    distribute_axes,
    project,
)
from shardy_py.sharding.rule import (
    AxisEdge,
    DimMapping,
    EdgeNode,
    EdgeValueRef,
    Factor,
    FactorType,
    PropagationStep,
    ShardingRule,
    TensorMapping,
    factor_symbol,
)
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

if TYPE_CHECKING:
    from shardy_py.sharding.slices import DeviceSlices, Slice, device_slices, local_shape, slice_of

__all__ = [
    "Axes",
    "AxisEdge",
    "AxisRef",
    "DeviceSlices",
    "DimMapping",
    "DimensionSharding",
    "EdgeNode",
    "EdgeValueRef",
    "Factor",
    "FactorSharding",
    "FactorType",
    "Mesh",
    "MeshAxis",
    "Projection",
    "PropagationStep",
    "ShardingRule",
    "Slice",
    "SubAxis",
    "TensorMapping",
    "TensorProjection",
    "TensorSharding",
    "device_slices",
    "distribute_axes",
    "factor_symbol",
    "local_shape",
    "project",
    "slice_of",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module("shardy_py.sharding.slices"), name)
