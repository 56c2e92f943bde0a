"""Warnings about ops that are computed on whole tensors, each with the op, the reason and the bytes.

Every gather that is not due to the sharding rule of an op has one; docs/limits.md lists the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from xdsl.ir import Operation, SSAValue

from shardy_py.base.errors import warn
from shardy_py.mlir.op_errors import place_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import name_of
from shardy_py.mlir.stablehlo_builder import element_of
from shardy_py.mlir.text.dense import element_size
from shardy_py.passes.export.communication_ops import sizes_of


def tensor_bytes(value: SSAValue) -> int:
    """The bytes of a whole tensor; 0 for other types, and for dynamic sizes."""
    return prod(sizes_of(value)) * element_size(element_of(value)) if tensor_type(value.type) else 0


def warn_whole(op: Operation, reason: str, gathered: Iterable[SSAValue]) -> None:
    """Warns that `op` is computed on whole tensors, or on whole dimensions of them."""
    sent = sum(map(tensor_bytes, gathered))
    warn(f"'{name_of(op)}' op is not partitioned: {reason}; {sent} bytes are whole", place_of(op))
