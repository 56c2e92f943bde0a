"""Ops that move elements: reverse, transpose, slice, pad, concatenate, broadcasts, reshapes, iota."""

from __future__ import annotations

import numpy as np

from shardy_py.compute.lanes import Array, Compute, behind_lanes
from shardy_py.ops import OpRecord


def reverse(record: OpRecord, operand: Array) -> Array:
    """StableHLO's specification, "reverse"."""
    return np.flip(operand, behind_lanes(record.attributes["dimensions"]))


COMPUTE: dict[str, Compute] = {"stablehlo.reverse": reverse}
"""The function of each op."""
