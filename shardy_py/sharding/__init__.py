"""The vocabulary of sharding as plain frozen values: meshes, axes, tensor shardings, rules.

Imports nothing but the standard library; every other folder speaks in these values.
"""

from shardy_py.sharding.axes import AxisRef, SubAxis
from shardy_py.sharding.mesh import Mesh, MeshAxis
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
    "AxisRef",
    "DimMapping",
    "DimensionSharding",
    "Factor",
    "FactorType",
    "Mesh",
    "MeshAxis",
    "ShardingRule",
    "SubAxis",
    "TensorMapping",
    "TensorSharding",
    "factor_symbol",
]
