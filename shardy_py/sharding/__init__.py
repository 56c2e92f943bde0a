"""The vocabulary of sharding as plain frozen values: meshes, axes, tensor shardings, rules.

Imports nothing but the standard library; every other folder speaks in these values.
"""

from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.axis_lists import Axes
from shardy_py.sharding.interner import Interner
from shardy_py.sharding.mesh import Mesh, MeshAxis
from shardy_py.sharding.projection import (
    FactorSharding,
    Projection,
    TensorProjection,
    distribute_axes,
    project,
)
from shardy_py.sharding.propagation_edges import AxisEdge, EdgeNode, EdgeValueRef, PropagationStep
from shardy_py.sharding.rule import (
    DimMapping,
    Factor,
    FactorType,
    ShardingRule,
    TensorMapping,
    factor_symbol,
)
from shardy_py.sharding.tensor_sharding import DimensionSharding, TensorSharding

__all__ = [
    "Axes",
    "AxisEdge",
    "AxisRef",
    "DimMapping",
    "DimensionSharding",
    "EdgeNode",
    "EdgeValueRef",
    "Factor",
    "FactorSharding",
    "FactorType",
    "Interner",
    "Mesh",
    "MeshAxis",
    "Projection",
    "PropagationStep",
    "ShardingRule",
    "SubAxis",
    "TensorMapping",
    "TensorProjection",
    "TensorSharding",
    "distribute_axes",
    "factor_symbol",
    "project",
]
