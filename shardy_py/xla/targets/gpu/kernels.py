"""Which ops XLA:GPU computes in one kernel.

From the op for which it saves most time on, each is computed in all kernels that read it, if all can, and if
it takes no longer. An op whose result is also read otherwise, by a product, say, is a kernel of its own. Not
here: what kernels take (`kernel_measures.py`), the times (`costs.py`), products (`products.py`). Source:
openxla/xla, xla/backends/gpu/transforms/priority_fusion.cc.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from shardy_py.mlir.dialects.stablehlo import ScatterOp
from shardy_py.xla.targets.gpu.costs import (
    H100,
    LAUNCH,
    TICKS,
    GpuDescription,
    Rates,
    combined,
    read_time,
    ticks,
)
from shardy_py.xla.targets.gpu.diamonds import diamonds
from shardy_py.xla.targets.gpu.graph import GpuGraph
from shardy_py.xla.targets.gpu.kernel import ROOT, Kernel, rates_together
from shardy_py.xla.targets.gpu.kernel_measures import KernelMeasures
from shardy_py.xla.targets.gpu.kernel_ops import KernelOps

_MOST_OPERANDS = 96
_MOST_CODE = 10_000
_LAUNCH_TICKS = ticks(LAUNCH)
_NEVER, _ALWAYS, _ALONE = range(3)
"""The answers to whether two kernels can be one; `_ALONE`: if no other reads the first."""


class KernelFusion:
    """The kernels of a graph. gpu: the device for which times are estimated."""

    def __init__(self, graph: GpuGraph, gpu: GpuDescription = H100) -> None:
        self.graph, self.gpu = graph, gpu
        count = len(graph.kinds)
        self.ops = ops = KernelOps(graph, gpu)
        self.elements, self.elementwise, self.sizes = ops.elements, ops.elementwise, ops.sizes
        self.again = ops.again
        self.rows = ops.rows
        self.measures = KernelMeasures(ops, gpu)
        self._gains: dict[Hashable, tuple[int, int]] = {}
        """By two kernels whether they can be one, and the ticks that it saves."""
        self.kernels: list[Kernel | None] = [
            Kernel(number, {number}) if is_fused else None for number, is_fused in enumerate(ops.fused)
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
                self.measures.begin(kernel)
                kernel.operands = self._operands(kernel)
            for value in graph.reads[number] if kernel is None else kernel.outside:
                self.users[value].add(number)
                if kernel is not None:
                    self.unknown[value].add(number)
        self.read_again = [self._times_read(number) for number in range(count)]
        self.ids = [*range(count)]
        """By op a number that grows as XLA makes instructions: of equal gains, the last one is first."""
        self._next_id = count
        for number in sorted({number for number, _ in graph.forms}, reverse=True):
            self._renew(number)

    def groups(self) -> list[Kernel]:
        """The kernels of ops that are computed in kernels, in the order of their roots."""
        kernels, read_again = self.kernels, self.read_again
        numbers = [n for n in range(len(self.kernels)) if self.kernels[n] is not None]
        queue = [(-self._priority(n), -self.ids[n], n) for n in numbers]
        current = {entry[-1]: entry for entry in queue}
        heapify(queue)
        while queue:
            entry = heappop(queue)
            priority, _, number = entry
            if current.get(number) != entry or priority > 0 or self.kernels[number] is None:
                continue
            changed = self._fuse(number)
            del current[number]
            for each in changed:  # in any order: none depends on another
                if kernels[each] is not None and read_again[each] >= 0:
                    new = -self._priority(each), -self.ids[each], each
                    if current.get(each) != new:
                        current[each] = new
                        heappush(queue, new)
        found = [kernel for kernel in self.kernels if kernel is not None]
        for kernel in found:
            kernel.fill()
        return found

    def _renew(self, number: int) -> None:
        """Notes that an op becomes a kernel with others, which is a new instruction unless it was one."""
        kernel = self.kernels[number]
        if kernel is not None and len(kernel.members) == 1 and self.ids[number] < len(self.ids):
            self.ids[number] = self._next_id
            self._next_id += 1

    def _operands(self, kernel: Kernel) -> list[int]:
        """The values that a kernel reads, in XLA's order: of ops that are fused, the last one comes first."""
        if len(kernel.members) == 1:
            return [*dict.fromkeys(self._read_by(kernel.root))]
        found = (value for number in sorted(kernel.members, reverse=True) for value in self._read_by(number))
        return [*dict.fromkeys(value for value in found if value in kernel.outside)]

    def _read_by(self, number: int) -> Sequence[int]:
        """The operands of an op: last those that it reads as bitcasts, ops that are fused with it."""
        reads, forms = self.graph.reads[number], self.graph.forms
        if len(reads) < 2 or not forms:
            return reads
        return sorted(reads, key=lambda value: (number, value) in forms)

    def _fuse(self, number: int) -> set[int]:
        """Computes an op in all kernels that read it; returns the ops whose priority may be another."""
        producer = self.kernels[number]
        assert producer is not None
        kept = {each for each in self.users[number] if (each, number) in self.graph.forms}
        kept = {each for each in kept if self.kernels[each] is None}
        consumers = self.users[number] - kept
        changed = set(consumers)
        operands = producer.operands if len(producer.members) == 1 else self._operands(producer)
        for each in sorted(consumers):
            kernel = self.kernels[each]
            assert kernel is not None
            self._renew(each)
            self.measures.extend(kernel, producer)
            known = dict.fromkeys([*kernel.operands, *operands])
            kernel.operands = [value for value in known if value in kernel.outside]
            for value in kernel.outside:
                self.users[value].add(each)
            changed.update(kernel.outside)
        self.users[number] = kept
        self._forget(number, ())
        if not kept and number not in self.graph.returned_forms:
            for value in producer.outside:
                self.users[value].discard(number)
                self.saved[value] -= self.gains[value].pop(number, 0)
                self.unknown[value].discard(number)
            self.kernels[number] = None
        for each in consumers:
            self._forget(each, [*self.gains[each], *self.unknown[each]])
            kernel = self.kernels[each]
            for value in () if kernel is None else kernel.outside:
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
            way, gain = (_NEVER, 0) if consumer is None else self._gain(producer, consumer)
            if way == _NEVER or (way == _ALONE and len(self.users[number]) > 1):
                unknown.add(each)
                return -1
            gains[each] = gain
            self.saved[number] += gain
        if not gains:
            return -1
        return self.saved[number] + _LAUNCH_TICKS + producer.time - producer.computed * again

    def _gain(self, producer: Kernel, consumer: Kernel) -> tuple[int, int]:
        """When two kernels can be one, and the ticks that it saves: once for equal ones."""
        if producer.shape is None or consumer.shape is None:
            return self._found_gain(producer, consumer)
        own, other = producer.outside, consumer.outside
        key: Hashable = producer.shape.number, consumer.shape.number, other[producer.root]
        if not own.keys().isdisjoint(other):
            key = key, *[other.get(value, -1) for value in own]
        known = self._gains.get(key)
        if known is None:
            known = self._gains[key] = self._found_gain(producer, consumer)
        return known

    def _found_gain(self, producer: Kernel, consumer: Kernel) -> tuple[int, int]:
        producer.fill()
        consumer.fill()
        if not self._can(producer, consumer):
            return _NEVER, 0
        is_end = producer.in_blocks and not consumer.in_blocks
        way = _ALONE if is_end and not producer.rows and not consumer.rows else _ALWAYS
        return way, consumer.time - self._together(producer, consumer)

    def _can(self, producer: Kernel, consumer: Kernel) -> bool:
        """True if two kernels can be one; those that end with a large reduction, if nothing else reads it."""
        if producer.rows or consumer.rows:
            members = producer.members | consumer.members
            return len(producer.reads) + len(consumer.reads) <= _MOST_OPERANDS and all(
                map(self.ops.is_of_rows, members)
            )
        if producer.reduces and consumer.reduces:
            return False
        if producer.in_blocks and not consumer.in_blocks and not self._is_epilogue(producer, consumer):
            return False
        last, made = self.rows[consumer.root], producer.root
        if self.rows[made].is_in_place and self.graph.kinds[made] == ScatterOp.name:
            return False
        if last.is_in_place and self.graph.reads[consumer.root][0] == made:
            return False
        if len(producer.reads) + len(consumer.reads) > _MOST_OPERANDS:
            return False
        codes = consumer.codes
        count = sum([codes[each] for each in consumer.reads[made]])
        return producer.code * count + consumer.code <= _MOST_CODE

    def _is_epilogue(self, producer: Kernel, consumer: Kernel) -> bool:
        """True if a kernel that ends with a reduction may go on with another."""
        same = self.elements[consumer.root] == self.elements[producer.root]
        return same and all(self.elementwise[each] for each in consumer.members)

    def _together(self, producer: Kernel, consumer: Kernel) -> int:
        """The ticks of both as one kernel, which reads what else the consumer reads as before."""
        if producer.rows or consumer.rows:
            return self._together_in_rows(producer, consumer)
        made, uses, own = producer.root, producer.uses, consumer.uses
        use, rates = consumer.use_of(made), rates_together(producer, consumer)
        grid, once, most, computed = rates
        read = producer.inside.get((use, grid))
        if read is None:
            read = producer.inside[use, grid] = self._inside(uses, use, rates)
        read += consumer.read - consumer.costs[made] + consumer.written
        sizes, again = self.sizes, self.again
        for value in uses.keys() & own.keys():
            times = uses[value] * use
            both = times + own[value]
            if ROOT in producer.reads[value]:
                both -= sum([consumer.places[each] for each in consumer.reads[made] & consumer.reads[value]])
            read += read_time(sizes[value], both, once, again[value], most) - consumer.costs[value]
            read -= read_time(sizes[value], times, once, again[value], most)
        return combined(ticks((producer.operations * use + consumer.operations) / computed), read)

    def _inside(self, uses: Mapping[int, float], use: float, rates: Rates) -> int:
        """The ticks to read values, each so often as `uses` says, `use` times."""
        _, once, most, _ = rates
        sizes, again, total = self.sizes, self.again, 0
        for value, times in uses.items():
            often = times * use
            if often <= 1.0:  # as of `read_time`, for most
                total += int(sizes[value] * often / once * 1e6 * TICKS + 0.5)
            else:
                total += read_time(sizes[value], often, once, again[value], most)
        return total

    def _together_in_rows(self, producer: Kernel, consumer: Kernel) -> int:
        """`_together` of kernels that have whole rows, and so read each value once."""
        _, once, _, computed = consumer.rates
        read = consumer.written
        for value in {*producer.reads, *consumer.reads} - {producer.root}:
            times = producer.uses.get(value, 0.0) + consumer.uses.get(value, 0.0)
            read += ticks(self.sizes[value] * min(times, 1.0) / once * 1e6)
        return combined(ticks((producer.operations + consumer.operations) / computed), read)
