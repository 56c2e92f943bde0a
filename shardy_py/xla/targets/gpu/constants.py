"""Values whose elements are constants, and what XLA computes of these.

Not here: the ops of a program (`lowering.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.indexing.layout import element_type
from shardy_py.ops import TensorType
from shardy_py.xla.spmd.from_program import source_op
from shardy_py.xla.targets.gpu.graph import BROADCAST, CONSTANT, MULTIPLY, GpuGraph
from shardy_py.xla.targets.model import DeviceNode


def is_zeros(graph: GpuGraph, number: int) -> bool:
    """Returns whether all elements of a value are one constant, which is zero by its bits."""
    if graph.kinds[number] == BROADCAST:
        (number,) = graph.reads[number]
    op = source_op(graph.step(number)) if graph.kinds[number] == CONSTANT else None
    data = getattr(getattr(op and op.properties.get("value"), "data", None), "data", b"?")
    return isinstance(data, bytes) and not any(data)


def is_constant_float(graph: GpuGraph, number: int) -> bool:
    """Returns whether all elements of a value are constants, and no integers."""
    type_ = graph.types[number]
    if graph.kinds[number] == BROADCAST:
        (number,) = graph.reads[number]
    return graph.kinds[number] == CONSTANT and type_ is not None and is_float(type_)


def is_one_number(graph: GpuGraph, number: int) -> bool:
    """Returns whether a value is a constant whose elements are all the same number."""
    op = source_op(graph.step(number)) if graph.kinds[number] == CONSTANT else None
    type_ = graph.types[number]
    data = getattr(getattr(op and op.properties.get("value"), "data", None), "data", b"")
    is_one = type_ is not None and 8 * len(data) <= max(8, element_type(type_.element).bits)
    return graph.kinds[number] == CONSTANT and (graph.elements(number) == 1 or (bool(data) and is_one))


def is_float(type_: TensorType) -> bool:
    """Returns whether elements are floating-point numbers."""
    return type_.element.startswith(("f", "bf"))


def scaled(graph: GpuGraph, node: DeviceNode, reads: Sequence[int], is_once: Sequence[bool]) -> int | None:
    """Adds a product of a value, a number and a constant: the number is multiplied by the constant first.

    reads: the two operands. is_once: whether each is read by this product only. Returns None for other
    products. Source: openxla/xla, `HandleMultiply` in
    xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
    """
    type_ = node.type
    if type_ is None or len(is_once) != 2:
        return None
    for inner, number, once in zip(reads, reads[::-1], is_once, strict=True):
        is_product = graph.kinds[inner] == MULTIPLY and once and len(graph.reads[inner]) == 2
        if not is_product or not _is_number(graph, number):
            continue
        for value, constant in (graph.reads[inner], graph.reads[inner][::-1]):
            if is_constant_float(graph, constant) and _is_number(graph, constant):
                (scalar,), (factor,) = graph.reads[number], graph.reads[constant]
                one = graph.add(MULTIPLY, (scalar, factor), graph.types[scalar])
                whole = graph.add(BROADCAST, (one,), type_, graph.nodes[number])
                return graph.add(MULTIPLY, (value, whole), type_, node)
    return None


def _is_number(graph: GpuGraph, number: int) -> bool:
    """True for one element everywhere."""
    return graph.kinds[number] == BROADCAST and graph.elements(graph.reads[number][0]) == 1
