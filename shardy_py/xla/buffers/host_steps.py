"""Which ops the host runs for the steps of a block, which XLA's partitioner makes of them.

What is sent of operands comes before an op, sums of its parts and what is sent of its result after it. Of a
value that is computed for more than a device keeps, it takes its part. All of these are ops like others: they
are fused, stored and scheduled. Source: openxla/xla, xla/service/spmd/spmd_partitioner.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout import element_type
from shardy_py.mlir.dialects.stablehlo import DotGeneralOp
from shardy_py.ops import TABLE, Storage, TensorType
from shardy_py.xla.buffers.canonical import is_narrowed_after, is_widened
from shardy_py.xla.buffers.facet import STORED, host_row
from shardy_py.xla.buffers.host_compute import compute
from shardy_py.xla.buffers.host_plain import PlainSteps
from shardy_py.xla.buffers.host_program import HostOp, HostProgram, elements, kind_of
from shardy_py.xla.buffers.host_sends import (
    cut,
    halo_axis,
    masked,
    sent,
    sources_of,
    with_halo,
    within_windows,
)
from shardy_py.xla.buffers.library import held_types
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent


@dataclass
class HostSteps:
    """Adds the ops of steps to a program.

    sent: the collectives of a step, by its identity. merged: what it needs that was sent before. originals:
    by the identity of a step with copied operands, that of the step in the program.
    """

    program: HostProgram
    sent: Mapping[int, Sequence[Sent]]
    merged: Mapping[int, Sequence[Sent]]
    originals: Mapping[int, int]
    plain: PlainSteps = field(init=False)

    def __post_init__(self) -> None:
        self.plain = PlainSteps(self.program)

    def add_all(self, steps: Iterable[PlannedOp], captured: Callable[[PlannedOp], Iterable[Name]]) -> None:
        """Adds the ops of steps; captured: what the regions of a step read."""
        known, renamed, add = self.plain.known.get, self.program.alias.keys(), self.program.ops.append
        originals, sent, merged = self.originals, self.sent.keys(), self.merged.keys()
        for step in steps:
            kind, reads, number = known(id(step.plan_key)), step.operands, id(step)
            number = originals.get(number, number) if originals else number
            is_here = renamed.isdisjoint(reads)
            if kind and is_here and number not in sent and number not in merged:
                add(HostOp(kind, reads, step.results, step, None, (), step))  # nearly all
            else:
                self._add_ops(step, number, captured(step), is_renamed=not is_here)

    def _add_ops(self, step: PlannedOp, number: int, captured: Iterable[Name], *, is_renamed: bool) -> None:
        """number: the identity of the step in the program."""
        program, reads, before = self.program, step.operands, len(self.program.ops)
        planned, again = self.sent.get(number, ()), self.merged.get(number, ())
        is_alone = not (planned or again)
        kind = self.plain.kind(step) if is_alone else None
        if kind is None and is_alone and not reads:
            if not self.plain.is_known(step):
                self._add(step, captured, planned, again)
                self.plain.note(step)
        elif kind is None:
            self._add(step, captured, planned, again)
        else:
            reads = tuple(map(program.stored, reads)) if is_renamed else reads
            program.ops.append(HostOp(kind, reads, step.results, step, computed=step))
        if is_renamed and program.barriers and any(map(program.is_behind_barrier, step.operands)):
            program.apart.update(name for op in program.ops[before:] for name in op.makes)

    def _add(
        self, step: PlannedOp, captured: Iterable[Name], planned: Sequence[Sent], again: Sequence[Sent]
    ) -> None:
        operands = [self.program.stored(name) for name in step.operands]
        others = [self.program.stored(name) for name in captured]
        if not planned and not again:
            compute(self.program, step, operands, others, step.results)
            return
        reduced = [each for each in planned if each.collective.kind == "all_reduce"]
        moved = [each for each in planned if each.collective.kind != "all_reduce"]
        before, after = self._split(step, moved)
        pieces = self._before(step, operands, [*self._halos(step, operands, again), *before])
        sums = self._summed_before(step, operands, reduced)
        if again:
            self._widen(step, operands, self._reuse(operands, again))
        if TABLE[step.record.name].collective is not None and len(step.results) == 1:
            self._written(step, operands, sums)
        else:
            self._after(step, operands, [*others, *pieces], sums, after)

    def result(self, position: int, name: Name, planned: Sequence[Sent], size: int) -> Name:
        """The value that is returned, of `size` bytes: what is sent for it, and the part that is kept."""
        program = self.program
        current = program.stored(name)
        for each in planned:
            if each.operand == position:
                current = sent(program, each.collective, current, None)
        if current != program.stored(name) and program.sizes[current] != size:
            type_ = program.types[current]
            shape = (size * 8 // element_type(type_.element).bits, *([1] * (len(type_.shape) - 1)))
            current = program.made("slice", (current,), TensorType(shape, type_.element))
        return current

    def _split(self, step: PlannedOp, moved: Sequence[Sent]) -> tuple[list[Sent], list[PlannedCollective]]:
        """Transfers of operands, and of the result: the last of these makes the result."""
        before = [*moved]
        after: list[PlannedCollective] = []
        result = self.program.types.get(step.results[0]) if len(step.results) == 1 else None
        is_written = TABLE[step.record.name].collective is not None
        is_product = step.record.name == DotGeneralOp.name
        last = moved[-1] if moved and not is_written else None
        if (
            result is not None
            and last is not None
            and (is_product or _large(last.collective.made_shape) == _large(result.shape))
        ):
            while before and before[-1].operand < 0:
                after.insert(0, before.pop().collective)
        return before, after

    def _before(self, step: PlannedOp, operands: list[Name], moved: Sequence[Sent]) -> list[Name]:
        """Sends operands, which are replaced by what arrives; returns slices of neighbours beside them."""
        program, joins = self.program, kind_of(step) != "concatenate"
        pieces: list[Name] = []
        halo: int | None = None
        last = 0
        is_wide = bool(moved and operands) and is_widened(step, self._arrived(step, operands, moved))
        for each in moved if operands else ():
            collective = each.collective
            last = each.operand if 0 <= each.operand < len(operands) else last
            if is_wide:
                collective = replace(collective, element_type="f32")
                type_ = program.types.get(operands[last])
                if type_ is not None and type_.element != "f32":
                    operands[last] = program.widened(operands[last], step)
            axis = self._axis(step, collective, operands[last], halo if pieces else None)
            if pieces and joins and axis != halo:
                joined = with_halo(program, operands[last], pieces, halo or 0, step)
                operands[last] = cut(program, joined, collective.held_shape[halo or 0], halo or 0, step)
                pieces = []
                axis = self._axis(step, collective, operands[last], None)
            made = sent(program, collective, operands[last], step, original=each.collective)
            if axis is None:
                operands[last] = within_windows(program, made, step) if each.operand == last else made
            else:
                pieces.append(made)
                halo = axis
        if not pieces or not joins:
            return pieces
        operands[last] = with_halo(program, operands[last], pieces, halo or 0, step)
        if kind_of(step) == "pad":
            operands[last] = masked(program, operands[last], halo or 0, step)
        return []

    def _arrived(
        self, step: PlannedOp, operands: Sequence[Name], moved: Sequence[Sent]
    ) -> tuple[TensorType | None, ...]:
        """The types of what a product reads and makes once its operands are sent; () of other ops."""
        if not STORED.of(step.record.name).is_product:
            return ()
        types = self.program.types
        return held_types(step.record, map(types.get, operands), types.get(step.results[0]), moved)

    def _axis(
        self, step: PlannedOp, collective: PlannedCollective, source: Name, last: int | None
    ) -> int | None:
        return (
            halo_axis(self.program, collective, source, last)
            if STORED.of(step.record.name).has_halo
            else None
        )

    def _halos(self, step: PlannedOp, operands: Sequence[Name], again: Sequence[Sent]) -> Iterable[Sent]:
        """The slices that are sent again to neighbours for a step: XLA does not merge those."""
        for each in again if STORED.of(step.record.name).has_halo else ():
            index = next((i for i, name in enumerate(operands) if name in self._roots(each)), -1)
            if index >= 0 and halo_axis(self.program, each.collective, operands[index], None) is not None:
                yield Sent(each.step, each.collective, index)

    def _reuse(self, operands: list[Name], again: Sequence[Sent]) -> list[int]:
        """Replaces operands by what was sent of them before; returns their indices."""
        sizes = self.program.sizes
        places: dict[Name, list[int]] = {}
        replaced: list[int] = []
        for index, name in enumerate(operands):
            places.setdefault(name, []).append(index)
        for each in again:
            made = self.program.known.get(each.collective.key)
            if made is None:
                continue
            for name in places.keys() & self._roots(each):
                if sizes[made] >= sizes.get(name, 0):
                    indices = places.pop(name)
                    places.setdefault(made, []).extend(indices)
                    replaced += indices
                    for index in indices:
                        operands[index] = made
        return replaced

    def _widen(self, step: PlannedOp, operands: list[Name], indices: Iterable[int]) -> None:
        """Converts operands of a product that the host computes in f32."""
        narrow = [i for i in dict.fromkeys(indices) if self.program.is_narrow(operands[i])]
        if narrow and is_widened(step, self._arrived(step, operands, ())):
            for index in narrow:
                operands[index] = self.program.widened(operands[index], step)

    def _roots(self, each: Sent) -> set[Name]:
        """The values that a collective sends."""
        return {self.program.stored(name) for name in sources_of(each)}

    def _summed_before(
        self, step: PlannedOp, operands: list[Name], sums: Sequence[Sent]
    ) -> list[PlannedCollective]:
        """Sums slices of an operand that only one device has, so that all have them; returns other sums."""
        if len(step.results) != 1 or not operands or TABLE[step.record.name].collective is not None:
            return [each.collective for each in sums]
        size, own = self.program.sizes.get(step.results[0], 0), self.program.types.get(step.results[0])
        left: list[PlannedCollective] = []
        for reduced in sums:
            each, of = reduced.collective, max(reduced.operand, 0)
            held = TensorType(each.held_shape, each.element_type)
            # The result may be wider than what is planned to be summed: a product that the host makes in f32.
            if self.program.measure(held if own is None else replace(held, element=own.element)) >= size:
                left.append(each)
            else:
                part = self.program.sliced(operands[of], held, "summed", step)
                operands[of] = self._summed(part, (each,), step)
        return left

    def _summed(
        self, part: Name, sums: Sequence[PlannedCollective], step: PlannedOp, into: Name | None = None
    ) -> Name:
        """The sum of what all devices have."""
        made = self.program.named(self.program.types[part], into)
        self.program.add("all_reduce", (part,), (made,), step, sums=sums)
        return made

    def _written(self, step: PlannedOp, operands: Sequence[Name], sums: Sequence[PlannedCollective]) -> None:
        """A collective of the program itself: its result is what was sent, or the sum of its operand."""
        (made,), given = step.results, operands[0]
        if sums and self.program.is_narrow(given):
            wide = self._summed(self.program.widened(given, step), sums, step)
            self.program.add("convert", (wide,), (made,), step)
        elif sums:
            self._summed(given, sums, step, made)
        elif given != self.program.stored(step.operands[0]):
            self.program.alias[made] = given
        else:
            compute(self.program, step, operands, (), step.results)

    def _after(
        self,
        step: PlannedOp,
        operands: Sequence[Name],
        others: Sequence[Name],
        sums: Sequence[PlannedCollective],
        after: Sequence[PlannedCollective],
    ) -> None:
        """The op, the sum of what it makes, what is sent of it, and the part that each device keeps."""
        program = self.program
        whole = self._whole(step, operands, sums, after)
        if not sums and not after and whole is None:
            compute(program, step, operands, others, step.results)
            return
        made = [program.named(program.types[name] if whole is None else whole) for name in step.results]
        if sums and TABLE[step.record.name].storage is Storage.IN_PLACE:
            # Only the first device has what is updated; the others start with what changes no sum.
            first, *rest = operands
            operands = [program.made("select", (first,), program.types[made[0]], step), *rest]
        compute(program, step, operands, others, made)
        if sums:
            is_last = whole is None and not after
            is_narrow = STORED.of(step.record.name).is_product and program.is_narrow(made[0])
            given = [program.widened(made[0], step)] if is_narrow else made
            target = [*step.results] if is_last else [program.named(program.types[name]) for name in made]
            summed = [program.named(program.types[given[0]])] if is_narrow else target
            program.add("all_reduce", given, summed, step, sums=sums)
            if is_narrow:
                program.add("convert", summed, target, step)
            made = target
        for number, collective in enumerate(after, 1):
            is_whole = _large(collective.made_shape) == _large(program.types[step.results[0]].shape)
            into = step.results[0] if number == len(after) and is_whole else None
            made = [sent(program, collective, made[0], step, into=into)]
        if made != [*step.results]:
            for source, name in zip(made, step.results, strict=True):
                program.add("dynamic_slice", (source,), (name,), step)

    def _whole(
        self,
        step: PlannedOp,
        operands: Sequence[Name],
        sums: Sequence[PlannedCollective],
        after: Sequence[PlannedCollective],
    ) -> TensorType | None:
        """The type of what an op makes, if that is not its result: parts of a sum, or more than is kept."""
        type_ = self.program.types.get(step.results[0]) if len(step.results) == 1 else None
        if type_ is None:
            return None
        if sums:
            held = replace(type_, shape=sums[0].held_shape)
            on_device = self._arrived(step, operands, ())
            is_wide = is_narrowed_after(step, on_device) or is_widened(step, on_device)
            held = replace(held, element="f32") if is_wide else held
            return held if self.program.measure(held) > self.program.sizes[step.results[0]] else None
        if after:
            is_wide = is_widened(step, self._arrived(step, operands, ()))
            return TensorType(after[0].held_shape, "f32" if is_wide else after[0].element_type)
        return self._unsharded(step, operands, type_)

    def _unsharded(self, step: PlannedOp, operands: Sequence[Name], type_: TensorType) -> TensorType | None:
        """The type of a result that is computed for more than a device keeps of it; None if it is not."""
        given = step.record.operands[0] if step.record.operands else None
        made = step.record.results[0]
        source = self.program.types.get(operands[0]) if operands else None
        if given is None or made is None or source is None or not _is_whole(step):
            return None
        if not len(source.shape) == given.rank == made.rank:
            return None
        dimensions = zip(given.shape, made.shape, source.shape, strict=True)
        whole = replace(type_, shape=tuple(local if old == new else new for old, new, local in dimensions))
        return whole if elements(whole) > elements(type_) else None


def _large(shape: Iterable[int | None]) -> tuple[int | None, ...]:
    """The sizes that are not 1."""
    return tuple(size for size in shape if size != 1)


def _is_whole(step: PlannedOp) -> bool:
    """True if the op makes a value like its operand, of which a device may keep a part only."""
    row = STORED.of(step.record.name)
    is_other = host_row(kind_of(step)).is_movable or row.has_halo or row.is_product
    return not is_other and not step.blocks
