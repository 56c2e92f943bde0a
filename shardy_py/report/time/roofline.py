"""The time of a group of fused ops: that of the unit that takes longest.

Matrix units, vector units and memory work at the same time. Not here: what the group computes (`graph.py`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from shardy_py.hardware import Hardware
from shardy_py.ops import OpRecord
from shardy_py.report.time.local_work import DeviceWork

FUNCTION_FLOPS = 8
"""Vector operations for which a transcendental function counts: an assumption."""
ANGLE_FUNCTIONS = 10
"""For how many of these a function of an angle counts on a TPU, which has units for other functions only, and
takes multiples of a turn off without branches: an assumption."""


class Roofline(NamedTuple):
    """The seconds of a group, and what takes them."""

    seconds: float
    bound: Literal["compute", "memory"]


def roofline(hardware: Hardware, record: OpRecord, work: DeviceWork, size_bytes: float) -> Roofline:
    """Returns the time of a group; record: of its last op, whose element type products have."""
    return slowest(hardware, product_rate(hardware, record), work, size_bytes)


def product_rate(hardware: Hardware, record: OpRecord) -> float:
    """Returns the flop/s of products of the element type of an op."""
    operand = next((type_ for type_ in record.operands if type_ is not None), None)
    element = "f32" if operand is None else operand.element
    return hardware.flops_per_second(element, precision_of(record))


def slowest(hardware: Hardware, rate: float, work: DeviceWork, size_bytes: float) -> Roofline:
    """Returns the time of the unit that takes longest. rate: flop/s of products."""
    products = work.product_flops / rate
    functions = work.transcendentals
    if work.angles and hardware.target == "tpu":
        functions += (ANGLE_FUNCTIONS - 1) * work.angles
    others = (work.flops + FUNCTION_FLOPS * functions) / hardware.vector_flops
    compute, memory = max(products, others), size_bytes / hardware.memory_bytes_per_second
    return Roofline(compute, "compute") if compute > memory else Roofline(memory, "memory")


def precision_of(record: OpRecord) -> str:
    """Returns the precision that JAX requests for a product: that of its first operand."""
    given: tuple[object, ...] = record.attributes.get("precision_config") or ()
    return str(given[0]) if given else "DEFAULT"
