"""The handlers of gathers and scatters: from their attributes to the planners of both.

Not here: the ways to partition them (`gathers.py`, `scatters.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.ops import TABLE
from shardy_py.ops.dimensions import GatherDimensions, ScatterDimensions
from shardy_py.xla.spmd.application import Application
from shardy_py.xla.spmd.indexed import Dimensions
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reshard import reshard


def gather(application: Application) -> list[HeldTensor]:
    """The result of a gather, of an operand at indices."""
    from shardy_py.xla.spmd.gathers import gathered_at  # most programs have few kinds of ops

    attributes = application.attributes
    operand, indices = application.operands
    shape = application.shape()
    dims = Dimensions(operand.shape, indices.shape, len(shape), GatherDimensions.of(attributes))
    indices = copied(indices, [operand])
    return [gathered_at(operand, indices, dims, attributes["slice_sizes"], shape, application.targets[0])]


def scatter(application: Application) -> Sequence[HeldTensor]:
    """The results of a scatter: as many operands, then indices, then updates. Only single ones are summed."""
    from shardy_py.xla.spmd.scatters import scattered_at

    count = len(application.targets)
    operands, indices = application.operands[:count], application.operands[count]
    updates = [copied(value, operands) for value in application.operands[count + 1 :]]
    numbers = ScatterDimensions.of(application.attributes)
    dims = Dimensions(operands[0].shape, indices.shape, len(updates[0].shape), numbers)
    combiner = TABLE[application.attributes.get("context.combiner") or ""].combiner
    found = scattered_at(
        operands,
        copied(indices, [*operands, *updates]),
        updates,
        dims,
        application.targets[0],
        is_reduction=count == 1 and combiner is not None and combiner.is_all_reduced,
    )
    return [reshard(value, target) for value, target in zip(found, application.targets, strict=True)]


def copied(value: HeldTensor, others: Sequence[HeldTensor]) -> HeldTensor:
    """A copy of a value that is among `others`: XLA makes one, so that its reshards are not theirs."""
    if value.chain is None or all(value.chain != other.chain for other in others):
        return value
    return replace(value, chain=("copy", value.chain), is_splat=False)
