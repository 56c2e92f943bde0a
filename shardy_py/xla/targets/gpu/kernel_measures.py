"""The costs of kernels of a GPU as they grow by one more: found once for equal ones.

    measures = KernelMeasures(ops, H100)
    measures.begin(kernel)
    measures.extend(kernel, producer)

Equal layers have equal kernels, of which only the numbers of values differ. Not here: which kernels become
one (`kernels.py`), the times (`costs.py`). Source: openxla/xla,
xla/service/gpu/model/gpu_hlo_cost_analysis.cc.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import ceil

from shardy_py.xla.targets.gpu.costs import TICKS, GpuDescription, combined, read_time, ticks
from shardy_py.xla.targets.gpu.kernel import ROOT, Kernel, KernelOp, KernelShape, rates_together
from shardy_py.xla.targets.gpu.kernel_ops import KernelOps

_MOST_SHARED = 256
"""The ops of a kernel up to which it is looked for among equal ones: longer ones have few, and grow on."""


class KernelMeasures:
    """Measures kernels of a graph. gpu: the device for which times are estimated."""

    def __init__(self, ops: KernelOps, gpu: GpuDescription) -> None:
        self._graph, self._ops, self._gpu = ops.graph, ops, gpu
        self._shapes: dict[Hashable, KernelShape] = {}
        """By kernel, in names of its own; by two that become one, and which of their values are equal."""

    def begin(self, kernel: Kernel) -> None:
        """Notes what a kernel takes, which begins with its members: once for equal ones."""
        reads, members = self._graph.reads, sorted(kernel.members, reverse=True)
        names: dict[int, int] = {}
        for number in members:
            for each in (number, *reads[number]):
                names.setdefault(each, len(names))
        kernel.outside = {value: name for value, name in names.items() if value not in kernel.members}
        forms = () if kernel.rows else self._graph.forms
        ops = [(names[n], self._ops.fact(n), *[names[each] for each in reads[n]]) for n in members]
        moved = [(names[n], names[each]) for n in members for each in reads[n] if (n, each) in forms]
        outside = self._ops.outside
        key = kernel.rows, *ops, *moved, *[outside[value] for value in kernel.outside]
        known = self._shapes.get(key)
        if known is not None:
            kernel.take(known)
            return
        kernel.count, kernel.in_blocks = len(names), self._ops.in_blocks[kernel.root]
        kernel.rates = self._ops.rates[kernel.root]
        for number in members:
            self._begin_with(kernel, number, names)
        self._measure(kernel)
        self._shapes[key] = kernel.note(len(self._shapes))

    def _begin_with(self, kernel: Kernel, number: int, names: dict[int, int]) -> None:
        """Adds an op to a kernel, and behind it the bitcasts that it reads. names: of values, by number."""
        facts, graph = self._ops, self._graph
        given: list[tuple[int, float, int]] = []
        moved: dict[int, int] = {}
        for position, value in enumerate(graph.reads[number]):
            name, size = names[value], facts.elements[value]
            if (number, value) in graph.forms and not kernel.rows:
                if value not in moved:
                    moved[value], kernel.count = kernel.count, kernel.count + 1
                name = moved[value]
            given.append((name, facts.often(number, position), size))
        kernel.ops.append(
            (
                *(names[number], facts.operations[number], facts.large[number], facts.elementwise[number]),
                tuple(given),
            )
        )
        for value, name in moved.items():
            read = names[value], 1.0, facts.elements[value]
            kernel.ops.append((name, 0.0, False, False, (read,)))

    def _measure(self, kernel: Kernel) -> None:
        """Finds what a kernel reads, how often, and the time that it takes."""
        kernel.places, kernel.codes = {ROOT: 1.0}, {ROOT: 1}
        kernel.operations, kernel.code, kernel.reduces = 0.0, 0, False
        self._add(kernel, kernel.ops, {ROOT: frozenset((ROOT,))})

    def extend(self, kernel: Kernel, producer: Kernel) -> None:
        """Computes one more kernel in another, once for equal ones."""
        kernel.members |= producer.members
        if kernel.shape is None or producer.shape is None or kernel.count + producer.count > _MOST_SHARED:
            self._grow(kernel, producer)
            kernel.leave()
            return
        place, outside = kernel.outside[producer.root], kernel.outside
        same = [outside.get(value, -1) for value in producer.outside]
        key = kernel.shape.number, producer.shape.number, place, *same
        known = self._shapes.get(key)
        if known is None:
            self._grow(kernel, producer)
            self._shapes[key] = kernel.note(len(self._shapes))
            return
        self._join(kernel, producer)
        kernel.take(known)

    def _join(self, kernel: Kernel, producer: Kernel) -> int:
        """Adds the names of a producer and of what it reads to those of a kernel; returns the producer's."""
        outside, count = kernel.outside, kernel.count
        place = outside.pop(producer.root)
        for value, name in producer.outside.items():
            if value not in outside:
                outside[value] = count + name
        kernel.count += producer.count
        return place

    def _grow(self, kernel: Kernel, producer: Kernel) -> None:
        """Measures a kernel that has the ops of another."""
        kernel.fill()
        producer.fill()
        at = {name: kernel.reads[value] for value, name in kernel.outside.items()}
        names = [*range(kernel.count, kernel.count + producer.count)]
        names[ROOT] = self._join(kernel, producer)
        for value, name in producer.outside.items():
            names[name] = kernel.outside[value]
        added: list[KernelOp] = [
            (
                *(names[name], operations, is_large, is_elementwise),
                tuple([(names[each], often, size) for each, often, size in reads]),
            )
            for name, operations, is_large, is_elementwise, reads in producer.ops
        ]
        kernel.ops += added
        kernel.rows = kernel.rows or producer.rows
        if not kernel.rows:
            kernel.rates = rates_together(producer, kernel)
            kernel.in_blocks = kernel.in_blocks or producer.in_blocks
        self._add(kernel, added, at)

    def _add(self, kernel: Kernel, ops: Iterable[KernelOp], at: dict[int, frozenset[int]]) -> None:
        """Adds ops, all before those that are there, to the measures of a kernel.

        at: by name of what is not yet measured the places for which it is read.
        """
        places, codes, rows = kernel.places, kernel.codes, kernel.rows
        operations, code, reduces = kernel.operations, kernel.code, kernel.reduces
        for name, arithmetic, is_large, is_elementwise, reads in ops:
            own = at.pop(name, None)
            if own is None:
                continue
            if len(own) == 1:
                (only,) = own
                use, count = places[only], codes[only]
            else:
                use, count = sum([places[each] for each in own]), sum([codes[each] for each in own])
            if use > 1.0 and rows:
                use = 1.0
            operations += use * arithmetic
            code += count
            reduces = reduces or is_large
            if is_elementwise:
                for each, _, _ in reads:
                    found = at.get(each)
                    if found is None:
                        at[each] = own
                    elif found is not own:
                        at[each] = found | own
                continue
            for each, often, size in reads:
                found = at.get(each)
                at[each] = frozenset((each,)) if found is None else found | {each}
                times = ceil(use * often * size) / size if size else 0
                places[each] = places.get(each, 0.0) + times
                codes[each] = codes.get(each, 0) + count
        kernel.operations, kernel.code, kernel.reduces = operations, code, reduces
        kernel.outside = {value: name for value, name in kernel.outside.items() if name in at}
        kernel.reads = {value: at[name] for value, name in kernel.outside.items()}
        kernel.uses = self._uses(kernel)
        self._time(kernel)

    def _uses(self, kernel: Kernel) -> dict[int, float]:
        """By value that a kernel reads how often it reads each element."""
        places, uses = kernel.places, dict[int, float]()
        for value, found in kernel.reads.items():
            if len(found) == 1:
                (only,) = found
                uses[value] = places[only]
            else:
                uses[value] = sum([places[each] for each in found])
        return {value: min(use, 1.0) for value, use in uses.items()} if kernel.rows else uses

    def _time(self, kernel: Kernel) -> None:
        """Notes the time that a kernel takes."""
        kernel.inside.clear()
        kernel.written = ticks(self._gpu.moved(self._graph.sizes[kernel.root]))
        _, once, most, computed = kernel.rates
        sizes, again = self._ops.sizes, self._ops.again
        kernel.costs = costs = {
            value: int(sizes[value] * use / once * 1e6 * TICKS + 0.5)
            if use <= 1.0  # as of `read_time`, for most
            else read_time(sizes[value], use, once, again[value], most)
            for value, use in kernel.uses.items()
        }
        kernel.read = read = sum(costs.values())
        arithmetic = ticks(kernel.operations / computed)
        kernel.time = combined(arithmetic, read + kernel.written)
        kernel.computed = combined(arithmetic, read)
