"""Convolutions of reversed kernels, which XLA:TPU makes convolutions with reversed windows.

    convolution(x, reverse(w))  ->  convolution(x, w), windows reversed

The gradient of a convolution is such: its kernel is then gathered as that of the convolution is, and both
gathers may be one. Its pass (`convolution-folding`, before it partitions) is not public; from what it makes
of networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.mlir.dialects.stablehlo import ReverseOp
from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import ConvolutionDimensions
from shardy_py.xla.spmd.program import PlannedOp, edited
from shardy_py.xla.targets.stable_sorts import Recorded

_REVERSAL = "window_reversal"


def with_reversed_window(
    step: PlannedOp, reverse: PlannedOp | None, recorded: Recorded
) -> Sequence[PlannedOp]:
    """Returns the convolution of a kernel before it was reversed; () if another op, or none, made the kernel.

    reverse: the op that made it.
    """
    if reverse is None or reverse.record.name != ReverseOp.name:
        return ()
    dimensions: tuple[int, ...] = tuple(reverse.record.attributes["dimensions"])
    made = recorded(step.record, ("reversed", dimensions), lambda: _reversed(step.record, dimensions))
    if made is None:
        return ()
    return (edited(step, made, operands=(step.operands[0], reverse.operands[0])),)


def _reversed(record: OpRecord, dimensions: Sequence[int]) -> OpRecord | None:
    """The convolution with windows reversed along dimensions of its kernel; None if others are reversed."""
    spatial = ConvolutionDimensions.of(record.attributes).kernel_spatial
    if not set(spatial).issuperset(dimensions):
        return None
    before = record.attributes.get(_REVERSAL) or (False,) * len(spatial)
    turned = tuple(bool(own) != (d in dimensions) for own, d in zip(before, spatial, strict=True))
    return replace(record, attributes={**record.attributes, _REVERSAL: turned})
