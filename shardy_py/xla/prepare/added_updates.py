"""Additions to zeros with an updated part, which XLA makes updates of what is added.

    add(x, dynamic_update_slice(0, y, i))  ->  dynamic_update_slice(x, add(dynamic_slice(x, i), y), i)

The gradient of a part that starts at a value is such, as that of a block of queries in a loop. Where x is
sharded along what is updated, it is gathered for the part; zeros need not be. Source: openxla/xla,
`HandleAdd` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc. Not here: scatters
(`single_scatters.py`).
"""

from __future__ import annotations

from itertools import permutations

from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.stablehlo import DynamicUpdateSliceOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, shape_of
from shardy_py.xla.prepare import folding


def fold_added_update(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """An update of what is added to an update of zeros, with the sum of the part."""
    for value, other in permutations(operands_of(op)):
        update = folding.producer(value, DynamicUpdateSliceOp.name)
        if update is None or not folding.is_static(*operands_of(update)):
            continue
        whole, part, *starts = operands_of(update)
        if any(splats.of(whole) or b"?"):
            continue
        build = StablehloBuilder(before=op)
        total = build.binary("add", build.dynamic_slice(other, starts, shape_of(part)), part)
        return build.one("dynamic_update_slice", (other, total, *starts), other.type)
    return None
