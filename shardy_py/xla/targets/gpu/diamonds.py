"""Normalizations that XLA:GPU computes in one kernel: of a value, and of what is reduced of its rows.

    subtract(x, broadcast(reduce(x)))

The kernel has whole rows, and so have those that it is fused with later. Between the ops may be others that
read one value, or one value and a number. Source: openxla/xla,
xla/backends/gpu/transforms/softmax_rewriter_triton.cc.
"""

from __future__ import annotations

from collections.abc import Iterator

from shardy_py.base.records import dataclass
from shardy_py.ops.reads import integers
from shardy_py.xla.targets.gpu.graph import BROADCAST, CONSTANT, REDUCE, GpuGraph

_SHORT = 32
"""Elements of a row that is reduced after the columns."""
_REGISTERS = 0.4 * 65536
"""The elements of a row, padded to a power of two, that a block holds: in this part of its registers. Source:
openxla/xla, xla/service/gpu/model/gpu_indexing_performance_model.cc."""


@dataclass(frozen=True, slots=True)
class Diamond:
    """A normalization. root: the op that makes it. source: the value. members: ops between, and the root."""

    root: int
    source: int
    members: frozenset[int]


def diamonds(graph: GpuGraph, users: list[list[int]]) -> list[Diamond]:
    """The normalizations of a graph, in program order. users: those of each value."""
    found = (_diamond(graph, users, number) for number in range(len(graph.kinds)))
    return [each for each in found if each is not None]


def reduces_rows(graph: GpuGraph, number: int) -> bool:
    """True if a reduction is of the last dimension only."""
    step, type_ = graph.step(number), graph.types[graph.reads[number][0]]
    if step is None or type_ is None:
        return False
    given = step.record.operands[0]
    rank = type_.rank if given is None else given.rank
    return [*integers(step.record.attributes, "dimensions")] == [rank - 1]


def reduces_columns(graph: GpuGraph, number: int) -> bool:
    """True if a reduction keeps the last dimension, or reduces few elements of it beside others."""
    step, type_ = graph.step(number), graph.types[graph.reads[number][0]]
    if step is None or type_ is None or not type_.shape:
        return number in graph.columns
    given = step.record.operands[0]
    if given is None or given.rank != type_.rank:
        return False
    dimensions = integers(step.record.attributes, "dimensions")
    is_short = len(dimensions) > 1 and (type_.shape[-1] or 0) < _SHORT
    return type_.rank - 1 not in dimensions or is_short


def _diamond(graph: GpuGraph, users: list[list[int]], root: int) -> Diamond | None:
    reads = graph.reads[root]
    if len(reads) != 2 or not graph.is_elementwise(root):
        return None
    members = {root}
    broadcast = _behind(graph, users, reads[1], BROADCAST, members)
    reduction = (
        None if broadcast is None else _behind(graph, users, graph.reads[broadcast][0], REDUCE, members)
    )
    if broadcast is None or reduction is None or not reduces_rows(graph, reduction):
        return None
    if len(users[broadcast]) > 1 or len(users[reduction]) > 1 or not _is_of_rows(graph, broadcast):
        return None
    source = graph.reads[reduction][0]
    if not _fits(graph, source) or _is_turned(graph, source):
        return None
    while _is_trivial(graph, users, source):
        members.add(source)
        source = _main(graph, source)
    for number in _chain(graph, users, reads[0], source):
        if number < 0:
            return None
        members.add(number)
    return Diamond(root, source, frozenset(members))


def _fits(graph: GpuGraph, number: int) -> bool:
    """True if a block holds a row of a value."""
    type_ = graph.types[number]
    row = (type_.shape[-1] or 1) if type_ is not None and type_.rank else 1
    return 1 << (row - 1).bit_length() <= _REGISTERS


def _is_turned(graph: GpuGraph, number: int) -> bool:
    """True if rows of a value are not contiguous in memory."""
    size = graph.elements(number)
    while number not in graph.turned and graph.is_elementwise(number):
        kept = [each for each in graph.reads[number] if graph.elements(each) == size]
        wide = [each for each in kept if graph.kinds[each] != BROADCAST]
        if not wide:
            return False
        number = wide[0]
    return number in graph.turned


def _behind(graph: GpuGraph, users: list[list[int]], number: int, kind: str, members: set[int]) -> int | None:
    """The op of a kind behind trivial ones, which become members."""
    while graph.kinds[number] != kind:
        if not _is_trivial(graph, users, number):
            return None
        members.add(number)
        number = _main(graph, number)
    members.add(number)
    return number


def _chain(graph: GpuGraph, users: list[list[int]], number: int, source: int) -> Iterator[int]:
    """The trivial ops from a value back to the source; -1 if they do not lead there."""
    while number != source:
        if not _is_trivial(graph, users, number):
            yield -1
            return
        yield number
        number = _main(graph, number)


def _is_trivial(graph: GpuGraph, users: list[list[int]], number: int) -> bool:
    """True if an op reads one value only, and is read by one op."""
    reads = graph.reads[number]
    distinct = [*dict.fromkeys(reads)]
    if len(users[number]) > 1 or not graph.is_elementwise(number):
        return False
    others = [each for each in distinct if not _is_number(graph, each)]
    return len(reads) <= 2 and len(others) == 1


def _main(graph: GpuGraph, number: int) -> int:
    """The operand of a trivial op that has elements of its own."""
    return next(each for each in graph.reads[number] if not _is_number(graph, each))


def _is_number(graph: GpuGraph, number: int) -> bool:
    """True if all elements are one constant."""
    if graph.kinds[number] == BROADCAST:
        return any(graph.kinds[each] == CONSTANT for each in graph.reads[number])
    return graph.kinds[number] == CONSTANT and graph.elements(number) == 1


def _is_of_rows(graph: GpuGraph, number: int) -> bool:
    """True if a broadcast repeats elements along the last dimension."""
    step, type_ = graph.step(number), graph.types[number]
    if step is None or type_ is None:
        return False
    dimensions = integers(step.record.attributes, "broadcast_dimensions")
    given = step.record.operands[0]
    last = type_.rank - 1
    if last not in dimensions:
        return True
    sizes = dict(zip(dimensions, () if given is None else given.shape, strict=False))
    return sizes.get(last) == 1
