"""The costs of kernels of a GPU as they grow by one more: found once for equal ones.

    measures = KernelMeasures(ops, H100)
    measures.begin(kernel)
    measures.extend(kernel, producer)

Equal layers have equal kernels, of which only the numbers of values differ. Not here: which kernels become
one (`kernels.py`), the times (`costs.py`). Source: openxla/xla,
xla/service/gpu/model/gpu_hlo_cost_analysis.cc.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil

from shardy_py.xla.targets.gpu.costs import TICKS, GpuDescription, combined, read_time, ticks
from shardy_py.xla.targets.gpu.kernel import Kernel, KernelShape
from shardy_py.xla.targets.gpu.kernel_ops import KernelOps

_MOST_SHARED = 256
"""The values of a kernel up to which it is looked for among equal ones: longer ones have few, and grow on."""


class KernelMeasures:
    """Measures kernels of a graph. gpu: the device for which times are estimated."""

    def __init__(self, ops: KernelOps, gpu: GpuDescription) -> None:
        self._graph, self._ops, self._gpu = ops.graph, ops, gpu
        self._shapes: dict[Hashable, KernelShape] = {}
        """By kernel, in numbers of its own; by two that become one, and which of their values are equal."""

    def begin(self, kernel: Kernel) -> None:
        """Notes what a kernel takes, which begins with its members: once for equal ones."""
        reads, own, members = self._graph.reads, kernel.own, sorted(kernel.members, reverse=True)
        for number in members:
            for each in (number, *reads[number]):
                own.setdefault(each, len(own))
        ops = tuple([(own[n], self._ops.fact(n), *[own[each] for each in reads[n]]) for n in members])
        outside = self._ops.outside
        key = kernel.rows, ops, *[outside[value] for value in own if value not in kernel.members]
        known = self._shapes.get(key)
        if known is not None:
            kernel.first = members[-1]
            kernel.take(known)
            return
        self.measure(kernel)
        self._shapes[key] = kernel.note(len(self._shapes))

    def measure(self, kernel: Kernel) -> None:
        """Finds what a kernel reads, how often, and the time that it takes."""
        root = kernel.root
        kernel.reads, kernel.places, kernel.codes = {root: {root}}, {root: 1.0}, {root: 1}
        kernel.operations, kernel.code, kernel.reduces = 0.0, 0, False
        kernel.first = min(kernel.members)
        self._add(kernel, kernel.members)

    def extend(self, kernel: Kernel, producer: Kernel) -> None:
        """Computes one more kernel in another, once for equal ones."""
        own, is_first = kernel.own, self._comes_first(producer, kernel)
        is_small = len(own) + len(producer.own) <= _MOST_SHARED
        if kernel.shape is None or producer.shape is None or not is_small:
            kernel.members |= producer.members
            self._grow(kernel, producer, is_first=is_first)
            kernel.leave()
            return
        same = [own.get(value, -1) for value in producer.own]
        for value in producer.own:
            own.setdefault(value, len(own))
        kernel.members |= producer.members
        order = () if is_first else [own[each] for each in sorted(kernel.members, reverse=True)]
        key = kernel.shape.number, producer.shape.number, is_first, *same, *order
        known = self._shapes.get(key)
        if known is not None:
            kernel.first = min(kernel.first, producer.first)
            kernel.take(known)
            return
        self._grow(kernel, producer, is_first=is_first)
        self._shapes[key] = kernel.note(len(self._shapes))

    def _grow(self, kernel: Kernel, producer: Kernel, *, is_first: bool) -> None:
        """Measures a kernel that has the members of another. is_first: whether these come before its own."""
        kernel.fill()
        if is_first:
            kernel.first = producer.first
            self._add(kernel, producer.members)
        else:
            kernel.rows = kernel.rows or producer.rows
            self.measure(kernel)

    def _comes_first(self, producer: Kernel, kernel: Kernel) -> bool:
        """True if the measures of a kernel go on from where they are when another is computed in it."""
        return producer.root < kernel.first and (kernel.rows or not producer.rows)

    def _add(self, kernel: Kernel, members: set[int]) -> None:
        """Adds ops, all before those that are there, to the measures of a kernel."""
        graph, elements = self._graph, self._ops.elements
        places, codes, at = kernel.places, kernel.codes, kernel.reads
        operations, code, reduces = kernel.operations, kernel.code, kernel.reduces
        all_operations, large = self._ops.operations, self._ops.large
        has_rows = kernel.rows
        for number in sorted(members, reverse=True) if len(members) > 1 else members:
            own = at.pop(number, None)
            if own is None:
                continue
            if len(own) == 1:
                (only,) = own
                use, count = places[only], codes[only]
            else:
                use, count = sum([places[each] for each in own]), sum([codes[each] for each in own])
            if use > 1.0 and has_rows:
                use = 1.0
            operations += use * all_operations[number]
            code += count
            reduces = reduces or large[number]
            if self._ops.elementwise[number]:
                for value in graph.reads[number]:
                    found = at.get(value)
                    if found is None:
                        at[value] = own
                    elif found is not own:
                        at[value] = found | own
                continue
            each_time = self._ops.reading[number]
            for value in graph.reads[number]:
                found = at.get(value)
                at[value] = {value} if found is None else {*found, value}
                size = elements[value]
                if size:
                    often = elements[number] / size if each_time is None else each_time
                    times = ceil(use * often * size) / size
                else:
                    times = 0
                places[value] = places.get(value, 0.0) + times
                codes[value] = codes.get(value, 0) + count
        kernel.operations, kernel.code, kernel.reduces = operations, code, reduces
        self._time(kernel)

    def _time(self, kernel: Kernel) -> None:
        """Notes how often a kernel reads what it reads, and the time that it takes."""
        places, operations = kernel.places, kernel.operations
        uses: dict[int, float] = {}
        for value, found in kernel.reads.items():
            if len(found) == 1:
                (only,) = found
                uses[value] = places[only]
            else:
                uses[value] = sum([places[each] for each in found])
        if kernel.rows:
            uses = {value: min(use, 1.0) for value, use in uses.items()}
        kernel.uses = uses
        kernel.inside.clear()
        kernel.written = ticks(self._gpu.moved(self._graph.sizes[kernel.root]))
        _, once, most, computed = self._ops.rates[kernel.root]
        sizes, again = self._ops.sizes, self._ops.again
        kernel.costs = costs = {
            value: round(sizes[value] * use / once * 1e6 * TICKS)
            if use <= 1.0  # as of `read_time`, for most
            else read_time(sizes[value], use, once, again[value], most)
            for value, use in uses.items()
        }
        kernel.read = read = sum(costs.values())
        arithmetic = ticks(operations / computed)
        kernel.time = combined(arithmetic, read + kernel.written)
        kernel.computed = combined(arithmetic, read)
