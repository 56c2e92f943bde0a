"""`xla-drop-priorities`: removes the priorities of all shardings.

    before  #sdy.sharding<@mesh, [{"x"}p0, {"y", ?}p1]>
    after   #sdy.sharding<@mesh, [{"x"}, {"y", ?}]>

On its way to Shardy a program is HLO, whose shardings by mesh and axes have no priorities. Not here:
shardings by tiles, beside which HLO kept the text of the program's own.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from shardy_py.mlir.sharding_walk import transform_shardings
from shardy_py.sharding import TensorSharding


def drop_priorities(module: ModuleOp) -> None:
    """Removes the priorities of all shardings."""
    transform_shardings(module, _without_priorities)


def _without_priorities(sharding: TensorSharding) -> TensorSharding:
    if all(dimension.priority is None for dimension in sharding.dimensions):
        return sharding
    dimensions = tuple(replace(dimension, priority=None) for dimension in sharding.dimensions)
    return replace(sharding, dimensions=dimensions)
