"""Layers of PyTorch as the arguments of a program hold them: sharded along which axis, and by which style.

    "layers.0.up.weight"  [{"tp", "dp"}, {}], gathered along dp      columns along tp

Not here: layers and what reads them (`torch_layers.py`), their styles (`torch_styled.py`), the words for
other values (`torch_words.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Block, Operation, SSAValue, Use

from shardy_py.base.session import SESSION, Identities
from shardy_py.mlir.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardy_py.mlir.location_names import name_in
from shardy_py.mlir.module_paths import BACKWARD, GATHERS, outer_name
from shardy_py.mlir.value_shardings import sharding_of
from shardy_py.search.advice.torch_layers import TorchLayer, model_of
from shardy_py.search.advice.torch_styled import StyledLayers, styled
from shardy_py.sharding import TensorSharding

_LAYERS: Identities[Mapping[str, TorchLayer]] = SESSION.identities("layers of torch")


def layers_in(function: Operation) -> Mapping[str, TorchLayer]:
    """Returns the layers of a function by path; the same for a function that is asked again."""
    known = _LAYERS.get(id(function))
    return _LAYERS.remember(function, model_of(function).layers) if known is None else known[0]


def held_along(
    block: Block,
    axis: str,
    size: int,
    layers: Mapping[str, TorchLayer],
    changed: Mapping[str, bool] | None = None,
) -> StyledLayers:
    """Returns the layers whose weights an axis of that size shards, by columns or rows.

    changed: whether layers are sharded by rows whatever the arguments say, by path.
    """
    is_row_of = dict(changed or {})
    for argument in block.args:
        path, _, kind = name_in(argument.location).rpartition(".")
        dimension = _dimension_along(sharding_of(argument), axis)
        if kind == "weight" and path in layers and dimension is not None:
            is_row_of.setdefault(path, dimension == layers[path].row_dimension)
    held = [path for path in layers if path in is_row_of]
    columns = [path for path in held if not is_row_of[path]]
    return styled(columns, [path for path in held if is_row_of[path]], layers, size)


def gathered_axes(parameter: SSAValue) -> list[str]:
    """Returns the axes along which `fully_shard` shards a parameter, which it gathers where it is used."""
    gathers = (sharding_of(use.operation.results[0]) for use in parameter.uses if is_gather(use))
    whole = {axis.name for each in gathers if each is not None for axis in each.replicated_axes}
    sharding = sharding_of(parameter)
    dimensions = () if sharding is None else sharding.dimensions
    return [axis.name for each in dimensions for axis in each.axes if axis.name in whole]


def is_gather(use: Use) -> bool:
    """Returns whether a use of a parameter is its gather by `fully_shard`."""
    return isinstance(use.operation, ShardingConstraintOp | ReshardOp) and is_of_gather(use.operation)


def is_of_gather(op: Operation) -> bool:
    """Returns whether an op has the name that gathers by `fully_shard` have."""
    return outer_name(op).removesuffix(BACKWARD).rpartition("/")[2] == GATHERS


def _dimension_along(sharding: TensorSharding | None, axis: str) -> int | None:
    dimensions = () if sharding is None else sharding.dimensions
    return next((d for d, each in enumerate(dimensions) if axis in {a.name for a in each.axes}), None)
