"""Programs built in Python: functions of tensors, traced; no text, no MLIR to know.

    from shardy_py.frontends.builder import build, ops, tensor

    program = build(lambda x, w: ops.tanh(x @ w), tensor((8, 16)), tensor((16, 4)))

`ops` has StableHLO's ops by their names, `emit` any op of any dialect from attributes.
"""

from shardy_py.frontends.builder import ops
from shardy_py.frontends.builder.bodies import region
from shardy_py.frontends.builder.build import Argument, build, call, composite
from shardy_py.frontends.builder.contraction import dot_general, einsum
from shardy_py.frontends.builder.ops import convolution
from shardy_py.frontends.builder.regions import (
    case,
    if_,
    map_,
    reduce,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    reduce_window,
    scatter,
    select_and_scatter,
    sort,
    while_loop,
)
from shardy_py.frontends.builder.shardings import (
    manual_computation,
    propagation_barrier,
    sharding_constraint,
    sharding_group,
)
from shardy_py.frontends.builder.tensor import Tensor, emit, matmul
from shardy_py.frontends.builder.types import RankedTensorType, tensor

__all__ = [
    "Argument",
    "RankedTensorType",
    "Tensor",
    "build",
    "call",
    "case",
    "composite",
    "convolution",
    "dot_general",
    "einsum",
    "emit",
    "if_",
    "manual_computation",
    "map_",
    "matmul",
    "ops",
    "propagation_barrier",
    "reduce",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "region",
    "scatter",
    "select_and_scatter",
    "sharding_constraint",
    "sharding_group",
    "sort",
    "tensor",
    "while_loop",
]
