"""Padding with negative edges, which XLA computes as a slice of what is padded otherwise.

    pad(x, low=-1, high=2)  ->  slice(pad(x, high=2))

Not here: the padding of convolutions (`convolutions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.mlir.dialects.stablehlo import PadOp, SliceOp
from shardy_py.ops import TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.graph import GpuGraph
from shardy_py.xla.targets.model import DeviceNode


def add_cut(graph: GpuGraph, node: DeviceNode, made: TensorType, reads: Sequence[int]) -> int | None:
    """Adds a slice of what is padded, where edges are negative; None if none is.

    Source: openxla/xla, `HandlePad` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
    """
    if node.step is None:
        return None
    names = "edge_padding_low", "edge_padding_high", "interior_padding"
    low, high, inside = (integers(node.step.record.attributes, name) for name in names)
    if len(low) != made.rank or min(*low, *high, 0) >= 0:
        return None
    sizes = zip(made.shape, low, high, strict=True)
    whole = TensorType(
        tuple([(size or 0) + max(-first, 0) + max(-last, 0) for size, first, last in sizes]), made.element
    )
    source = reads[0]
    if max(*low, *high, *inside) > 0:
        source = graph.add(PadOp.name, reads, whole)
    return graph.add(SliceOp.name, (source,), made, node)
