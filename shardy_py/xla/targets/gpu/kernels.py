"""Which ops XLA:GPU computes in one kernel.

From the op for which it saves most time on, each is computed in all kernels that read it, if all can, and if
it takes no longer. An op whose result is also read otherwise, by a product, say, is a kernel of its own. Not
here: the times (`costs.py`), products (`products.py`). Source: openxla/xla,
xla/backends/gpu/transforms/priority_fusion.cc, xla/service/gpu/model/gpu_hlo_cost_analysis.cc.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from math import ceil

from shardy_py.mlir.dialects.stablehlo import ConcatenateOp, PadOp, ReduceWindowOp, ScatterOp
from shardy_py.xla.targets.gpu.costs import (
    H100,
    LAUNCH,
    TICKS,
    GpuDescription,
    combined,
    read_time,
    ticks,
)
from shardy_py.xla.targets.gpu.diamonds import diamonds, reduces_rows
from shardy_py.xla.targets.gpu.expanded import BLOCK
from shardy_py.xla.targets.gpu.graph import REDUCE, WINDOW, GpuGraph
from shardy_py.xla.targets.gpu.kernel import Kernel
from shardy_py.xla.targets.gpu.kernel_rates import KernelRates, Rates
from shardy_py.xla.targets.parts import bytes_of

_MOST_OPERANDS = 96
_MOST_CODE = 10_000
_MOST_BRANCHES = 10
_LAUNCH_TICKS = ticks(LAUNCH)
_LARGE_REDUCTION = 16
"""The elements of which one is made, from which on a reduction is not computed with another."""


class KernelFusion:
    """The kernels of a graph. gpu: the device for which times are estimated."""

    def __init__(self, graph: GpuGraph, gpu: GpuDescription = H100) -> None:
        self.graph, self.gpu = graph, gpu
        count = len(graph.kinds)
        self.elements = [graph.elements(number) for number in range(count)]
        several = {n for n, kind in enumerate(graph.kinds) if kind == REDUCE and graph.types[n] is None}
        for user, reads in enumerate(graph.reads) if several else ():
            for number in several.intersection(reads):  # its results, which are of one shape
                self.elements[number] = self.elements[user]
        self.elementwise = [graph.is_elementwise(number) for number in range(count)]
        self.sizes = [0 if type_ is None else bytes_of(type_) for type_ in graph.types]
        self.again = [gpu.again(size) for size in self.sizes]
        self.rows = [graph.row(number) for number in range(count)]
        self.fused = [
            row.is_fused and (graph.types[n] is not None or n in several) for n, row in enumerate(self.rows)
        ]
        self.operations = [self._operations(number) for number in range(count)]
        self.branches = [row.branches for row in self.rows]
        self.large = [self._is_large_reduction(number) for number in range(count)]
        self.reading = [self._reading(number) for number in range(count)]
        """How often ops read each element of an operand; None: one for each element that they make."""
        self.rates = KernelRates(graph, self.elements, gpu)
        self.kernels: list[Kernel | None] = [
            Kernel(number, {number}) if is_fused else None for number, is_fused in enumerate(self.fused)
        ]
        for each in reversed(diamonds(graph, graph.users())):
            kernel = self.kernels[each.root]
            if kernel is not None:
                kernel.members, kernel.rows = set(each.members), True
        self.returned = set(graph.results) - graph.returned_forms
        self.users: list[set[int]] = [set() for _ in range(count)]
        returned = set(graph.results)
        self.gains: list[dict[int, int]] = [{} for _ in range(count)]
        """By op the ticks that each kernel saves which it is computed in, where that is known."""
        self.saved = [0] * count
        """By op the sum of the ticks that are known."""
        self.unknown: list[set[int]] = [set() for _ in range(count)]
        """By op the kernels that read it of which that is not known."""
        for number in range(count - 1, -1, -1):
            kernel = self.kernels[number]
            if kernel is not None and not self.users[number] and number not in returned:
                self.kernels[number] = None
                continue
            if kernel is not None:
                self._measure(kernel)
                kernel.operands = self._operands(kernel)
            for value in graph.reads[number] if kernel is None else kernel.reads:
                self.users[value].add(number)
                if kernel is not None:
                    self.unknown[value].add(number)
        self.read_again = [self._times_read(number) for number in range(count)]

    def _operations(self, number: int) -> float:
        """The operations of arithmetic of an op."""
        row, type_ = self.rows[number], self.graph.types[number]
        is_short = row.is_narrow and type_ is not None and type_.element in ("bf16", "f16")
        cycles = 3 if is_short else row.cycles
        if self.graph.kinds[number] == REDUCE:
            given = self.elements[self.graph.reads[number][0]]
            return cycles * max(given - self.elements[number], 0)
        if self._is_scan(number):
            cycles *= BLOCK - 1
        return cycles * self.elements[number]

    def _is_scan(self, number: int) -> bool:
        """True for the sums up to each element in blocks."""
        return self.graph.kinds[number] == WINDOW and self.graph.nodes[number] is None

    def groups(self) -> list[Kernel]:
        """The kernels of ops that are computed in kernels, in the order of their roots."""
        queue = [(-self._priority(n), -n, n) for n in range(len(self.kernels)) if self.kernels[n] is not None]
        current = {number: priority for priority, _, number in queue}
        heapify(queue)
        while queue:
            priority, _, number = heappop(queue)
            if current.get(number) != priority or priority > 0 or self.kernels[number] is None:
                continue
            changed = self._fuse(number)
            del current[number]
            for each in sorted(changed):
                if self.kernels[each] is not None:
                    new = -self._priority(each)
                    if current.get(each) != new:
                        current[each] = new
                        heappush(queue, (new, -each, each))
        return [kernel for kernel in self.kernels if kernel is not None]

    def _operands(self, kernel: Kernel) -> list[int]:
        """The values that a kernel reads, in XLA's order: of ops that are fused, the last one comes first."""
        found = (value for number in sorted(kernel.members, reverse=True) for value in self._read_by(number))
        return [*dict.fromkeys(value for value in found if value in kernel.reads)]

    def _read_by(self, number: int) -> list[int]:
        """The operands of an op: last those that it reads as bitcasts, ops that are fused with it."""
        reads, forms = self.graph.reads[number], self.graph.forms
        return sorted(reads, key=lambda value: (number, value) in forms) if forms else [*reads]

    def _fuse(self, number: int) -> set[int]:
        """Computes an op in all kernels that read it; returns the ops whose priority may be another."""
        producer = self.kernels[number]
        assert producer is not None
        kept = {each for each in self.users[number] if (each, number) in self.graph.forms}
        kept = {each for each in kept if self.kernels[each] is None}
        consumers = self.users[number] - kept
        changed = set(consumers)
        operands = producer.operands if len(producer.members) == 1 else self._operands(producer)
        for each in consumers:
            kernel = self.kernels[each]
            assert kernel is not None
            self._extend(kernel, producer)
            known = dict.fromkeys([*kernel.operands, *operands])
            kernel.operands = [value for value in known if value in kernel.reads]
            for value in kernel.reads:
                self.users[value].add(each)
            changed.update(kernel.reads)
        self.users[number] = kept
        self._forget(number, ())
        if not kept and number not in self.graph.returned_forms:
            for value in producer.reads:
                self.users[value].discard(number)
                self.saved[value] -= self.gains[value].pop(number, 0)
                self.unknown[value].discard(number)
            self.kernels[number] = None
        for each in consumers:
            self._forget(each, [*self.gains[each], *self.unknown[each]])
            kernel = self.kernels[each]
            for value in () if kernel is None else kernel.reads:
                self.saved[value] -= self.gains[value].pop(each, 0)
                self.unknown[value].add(each)
        return changed

    def _forget(self, number: int, readers: Iterable[int]) -> None:
        """Forgets what is saved by computing an op in others, now that it or these are other ones."""
        self.gains[number].clear()
        self.saved[number], self.unknown[number] = 0, set(readers)

    def _times_read(self, number: int) -> int:
        """How often an op is read beside the kernels that it may be computed in; -1 if it is in none.

        An op outside of kernels may read a bitcast of it, which XLA does not ask whether it can be fused, and
        takes for a kernel.
        """
        if number in self.returned:
            return -1
        forms, several, count = set[Hashable](), self.graph.bitcasts, 0
        for each in self.users[number] - self.unknown[number]:
            if (each, number) not in self.graph.forms:
                return -1
            if (each, number) in several:
                count += several[each, number]
            else:
                forms.add(self.graph.forms[each, number])
        return len(forms) + count + (number in self.graph.returned_forms)

    def _measure(self, kernel: Kernel) -> None:
        """Notes what a kernel reads, how often, and the time that it takes."""
        root = kernel.root
        kernel.reads, kernel.places, kernel.codes = {root: {root}}, {root: 1.0}, {root: 1}
        kernel.operations, kernel.code, kernel.branches, kernel.reduces = 0.0, 0, 0, False
        kernel.first = min(kernel.members)
        self._add(kernel, kernel.members)

    def _extend(self, kernel: Kernel, producer: Kernel) -> None:
        """Computes one more kernel in another, whose measures go on from there if it comes first."""
        kernel.members |= producer.members
        if producer.root < kernel.first and kernel.rows == (kernel.rows or producer.rows):
            kernel.first = min(producer.members)
            self._add(kernel, producer.members)
        else:
            kernel.rows = kernel.rows or producer.rows
            self._measure(kernel)

    def _add(self, kernel: Kernel, members: set[int]) -> None:
        """Adds ops, all before those that are there, to the measures of a kernel."""
        graph, elements = self.graph, self.elements
        places, codes, at = kernel.places, kernel.codes, kernel.reads
        operations, code, branches, reduces = kernel.operations, kernel.code, kernel.branches, kernel.reduces
        all_operations, all_branches, large = self.operations, self.branches, self.large
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
            branches += count * all_branches[number]
            reduces = reduces or large[number]
            if self.elementwise[number]:
                for value in graph.reads[number]:
                    found = at.get(value)
                    if found is None:
                        at[value] = own
                    elif found is not own:
                        at[value] = found | own
                continue
            each_time = self.reading[number]
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
        kernel.operations, kernel.code, kernel.branches, kernel.reduces = operations, code, branches, reduces
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
        kernel.written = ticks(self.gpu.moved(self.graph.sizes[kernel.root]))
        _, once, most, computed = self.rates[kernel.root]
        sizes, again = self.sizes, self.again
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

    def _reading(self, number: int) -> float | None:
        """How often an op reads each element of an operand; None: so that it reads one for each it makes."""
        if self._is_scan(number):
            return float(BLOCK)
        kinds = REDUCE, ConcatenateOp.name, ReduceWindowOp.name, PadOp.name, ScatterOp.name
        return 1.0 if self.graph.kinds[number] in kinds else None

    def _is_large_reduction(self, number: int) -> bool:
        if self.graph.kinds[number] != REDUCE:
            return False
        given = self.elements[self.graph.reads[number][0]]
        return given >= _LARGE_REDUCTION * max(self.elements[number], 1)

    def _priority(self, number: int) -> int:
        """The ticks that is saved by computing an op in all that read it; negative if it cannot be."""
        producer, again = self.kernels[number], self.read_again[number]
        if producer is None or again < 0:
            return -1
        # Of most users the gain is known: they could be one kernel with it before, and neither has changed.
        gains, unknown, kernels = self.gains[number], self.unknown[number], self.kernels
        while unknown:
            each = unknown.pop()
            consumer = kernels[each]
            if consumer is None or not self._can(producer, consumer):
                unknown.add(each)
                return -1
            gains[each] = gain = consumer.time - self._together(producer, consumer)
            self.saved[number] += gain
        if not gains:
            return -1
        return self.saved[number] + _LAUNCH_TICKS + producer.time - producer.computed * again

    def _can(self, producer: Kernel, consumer: Kernel) -> bool:
        """True if two kernels can be one."""
        if producer.rows or consumer.rows:
            members = producer.members | consumer.members
            return len(producer.reads) + len(consumer.reads) <= _MOST_OPERANDS and all(
                map(self._is_of_rows, members)
            )
        if producer.reduces and (consumer.reduces or not self._is_epilogue(producer, consumer)):
            return False
        last, made = self.rows[consumer.root], producer.root
        if self.rows[made].is_in_place and self.graph.kinds[made] == ScatterOp.name:
            return False
        if last.is_in_place and self.graph.reads[consumer.root][0] == made:
            return False
        if len(producer.reads) + len(consumer.reads) > _MOST_OPERANDS:
            return False
        codes = consumer.codes
        count = sum([codes.get(each, 1) for each in consumer.reads[made]])
        branches = count * producer.branches + consumer.branches
        if branches > _MOST_BRANCHES:
            return False
        return (producer.code * count + consumer.code) << branches <= _MOST_CODE

    def _is_of_rows(self, number: int) -> bool:
        """True if an op may be in a kernel that has whole rows."""
        if self.graph.kinds[number] == REDUCE:
            return reduces_rows(self.graph, number) or self.graph.step(number) is None
        return self.rows[number].has_rows

    def _is_epilogue(self, producer: Kernel, consumer: Kernel) -> bool:
        """True if a kernel that ends with a reduction may go on with another."""
        number = producer.root
        is_only = len(self.users[number]) == 1
        same = self.elements[consumer.root] == self.elements[number]
        return is_only and same and all(self.elementwise[each] for each in consumer.members)

    def _together(self, producer: Kernel, consumer: Kernel) -> int:
        """The ticks of both as one kernel, which reads what else the consumer reads as before."""
        if producer.rows or consumer.rows:
            return self._together_in_rows(producer, consumer)
        made, uses, own = producer.root, producer.uses, consumer.uses
        use, rates = own[made], self.rates[consumer.root]
        grid, once, most, computed = rates
        read = producer.inside.get((use, grid))
        if read is None:
            read = producer.inside[use, grid] = self._inside(uses, use, rates)
        read += consumer.read - consumer.costs[made] + consumer.written
        sizes, again = self.sizes, self.again
        for value in uses.keys() & own.keys():
            times = uses[value] * use
            both = times + own[value]
            if producer.reads[value] == {made}:
                both -= sum([consumer.places[each] for each in consumer.reads[made] & consumer.reads[value]])
            read += read_time(sizes[value], both, once, again[value], most) - consumer.costs[value]
            read -= read_time(sizes[value], times, once, again[value], most)
        return combined(round((producer.operations * use + consumer.operations) / computed * TICKS), read)

    def _inside(self, uses: Mapping[int, float], use: float, rates: Rates) -> int:
        """The ticks to read values, each so often as `uses` says, `use` times."""
        _, once, most, _ = rates
        sizes, again, total = self.sizes, self.again, 0
        for value, times in uses.items():
            often = times * use
            if often <= 1.0:  # as of `read_time`, for most
                total += round(sizes[value] * often / once * 1e6 * TICKS)
            else:
                total += read_time(sizes[value], often, once, again[value], most)
        return total

    def _together_in_rows(self, producer: Kernel, consumer: Kernel) -> int:
        """`_together` of kernels that have whole rows, and so read each value once."""
        _, once, _, computed = self.rates[consumer.root]
        read = consumer.written
        for value in {*producer.reads, *consumer.reads} - {producer.root}:
            times = producer.uses.get(value, 0.0) + consumer.uses.get(value, 0.0)
            read += ticks(self.sizes[value] * min(times, 1.0) / once * 1e6)
        return combined(ticks((producer.operations + consumer.operations) / computed), read)
