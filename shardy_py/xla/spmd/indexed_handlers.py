"""The handlers of gathers and scatters: from their attributes to the planners of both.

Not here: the ways to partition them (`gathers.py`, `scatters.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.xla.spmd.application import Application
from shardy_py.xla.spmd.gathers import gathered_at
from shardy_py.xla.spmd.indexed import Dimensions
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard
from shardy_py.xla.spmd.scatters import scattered_at


def gather(application: Application) -> list[HeldTensor]:
    """The result of a gather, of an operand at indices."""
    attributes, numbers = application.attributes, application.attributes["dimension_numbers"]
    operand, indices = application.operands
    shape = application.shape()
    dims = Dimensions(
        operand.shape,
        indices.shape,
        len(shape),
        offsets=numbers["offset_dims"],
        collapsed=numbers["collapsed_slice_dims"],
        index_map=numbers["start_index_map"],
        vector=numbers["index_vector_dim"],
        batching=numbers.get("operand_batching_dims", ()),
        indices_batching=numbers.get("start_indices_batching_dims", ()),
    )
    indices = copied(indices, [operand])
    return [gathered_at(operand, indices, dims, attributes["slice_sizes"], shape, application.targets[0])]


_REDUCTIONS = frozenset(
    f"stablehlo.{name}" for name in ("add", "multiply", "minimum", "maximum", "and", "or")
)
"""The ops that XLA reduces by with an all-reduce."""


def scatter(application: Application) -> Sequence[HeldTensor]:
    """The results of a scatter: as many operands, then indices, then updates. Only single ones are summed."""
    count = len(application.targets)
    operands, indices = application.operands[:count], application.operands[count]
    updates = [copied(value, operands) for value in application.operands[count + 1 :]]
    numbers = application.attributes["scatter_dimension_numbers"]
    dims = Dimensions(
        operands[0].shape,
        indices.shape,
        len(updates[0].shape),
        offsets=numbers["update_window_dims"],
        collapsed=numbers["inserted_window_dims"],
        index_map=numbers["scatter_dims_to_operand_dims"],
        vector=numbers["index_vector_dim"],
        batching=numbers.get("input_batching_dims", ()),
        indices_batching=numbers.get("scatter_indices_batching_dims", ()),
    )
    combiner = application.attributes.get("context.combiner")
    found = scattered_at(
        operands,
        copied(indices, [*operands, *updates]),
        updates,
        dims,
        application.targets[0],
        is_reduction=count == 1 and combiner in _REDUCTIONS,
    )
    return [reshard(value, target) for value, target in zip(found, application.targets, strict=True)]


def copied(value: HeldTensor, others: Sequence[HeldTensor]) -> HeldTensor:
    """A copy of a value that is among `others`: XLA makes one, so that its reshards are not theirs."""
    if value.chain is None or all(value.chain != other.chain for other in others):
        return value
    return replace(value, chain=("copy", value.chain), is_splat=False)
