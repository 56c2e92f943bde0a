"""What XLA's backend for the host runs for the steps of a block, before fusion.

A step becomes the ops of XLA's program of one device: an exchanged operand is split, sent and put together,
slices are sent to neighbours, a sum comes after the op that makes its parts, and of a value that is computed
whole each device takes its part. All of these are ops like others: they are fused (`host_fusion.py`), stored
and scheduled. Source: openxla/xla, xla/service/spmd/spmd_partitioner.cc,
xla/hlo/transforms/expanders/all_to_all_decomposer.cc.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation

from shardy_py.graph.record import combiners_of
from shardy_py.layout import element_type
from shardy_py.ops import TABLE, Storage, TensorType
from shardy_py.ops.reads import integers, structure
from shardy_py.report.memory.canonical import PRODUCTS, is_narrowed_after, is_widened
from shardy_py.spmd.model import Collective
from shardy_py.spmd.program import Name, Step
from shardy_py.spmd.walk import Sent

_WINDOW = 32
"""The elements that the host reduces at once."""
_MOST_PIECES = 64
"""Exchanges between more devices have one buffer for all pieces, which have the same bytes in all."""
_POINTWISE = frozenset(
    ("select", "clamp", "compare", "convert", "bitcast_convert", "complex", "real", "imag")
)
"""Ops that XLA counts as elementwise, beside those whose rows say so."""
_LIBRARY_ELEMENTS = 4096
"""The elements from which on the host reduces by a library, which computes elementwise operands, too."""
_LIBRARY_REDUCERS = frozenset(("add", "maximum", "minimum"))
LIBRARY_REDUCTION = "library_reduce"
_WIDENED = frozenset(("sort", "scatter", "reduce_window", "select_and_scatter"))
"""Ops that the host runs in f32 instead of bf16."""
_CONCATENATE = "stablehlo.concatenate"
_PAD = "stablehlo.pad"


class HostOp(NamedTuple):
    """One op of the program of a device.

    kind: as HLO names it. reads, makes: names of values. step: what it is for, if anything. sent: the collective
    that it is. sums: those that a sum of parts is. computed: the step whose value it computes itself.
    """

    kind: str
    reads: tuple[Name, ...]
    makes: tuple[Name, ...]
    step: Step | None = None
    sent: Collective | None = None
    sums: tuple[Collective, ...] = ()
    computed: Step | None = None


def kind_of(step: Step) -> str:
    """The name of an op without its dialect."""
    return step.record.name.rpartition(".")[2]


def bytes_of(type_: TensorType) -> int:
    """The bytes of a tensor on one device."""
    return -(-elements(type_) * element_type(type_.element).bits // 8)


def elements(type_: TensorType) -> int:
    """The number of elements."""
    return prod(size or 0 for size in type_.shape)


def is_pointwise(op: HostOp) -> bool:
    """Whether each element that it makes depends on the same element of its operands only."""
    step = op.computed
    return op.kind in _POINTWISE or (
        step is not None and bool(TABLE[step.record.name].elementwise(step.record))
    )


@dataclass
class HostOps:
    """The ops of a block.

    types: of values, as each device has them. stored: the value whose memory a value shares. sent: the
    collectives of a step. merged: what a step needs that was sent before. reads: the stored names of what a
    step reads.
    """

    types: dict[Name, TensorType]
    sizes: dict[Name, int]
    alias: dict[Name, Name]
    sent: Mapping[int, Sequence[Sent]]
    merged: Mapping[int, Sequence[Sent]]
    originals: Mapping[int, int]
    listed: list[HostOp] = field(default_factory=list[HostOp])
    known: dict[Hashable, Name] = field(default_factory=dict[Hashable, Name])
    _count: int = 0

    def stored(self, name: Name) -> Name:
        """The value whose memory holds a value."""
        while name in self.alias:
            name = self.alias[name]
        return name

    def add(self, step: Step, captured: Iterable[Name]) -> None:
        """Lists the ops of a step; captured: what its regions read."""
        original = self.originals.get(id(step), id(step))
        sent = self.sent.get(original, ())
        operands = [self.stored(name) for name in step.operands]
        sums = [each.collective for each in sent if each.collective.kind == "all_reduce"]
        moved = [each for each in sent if each.collective.kind != "all_reduce"]
        others = [self.stored(name) for name in captured]
        if not moved and not sums and original not in self.merged:
            self._compute(step, operands, others, step.results)
            return
        before, after = self._split(step, moved)
        before = [*self._halos(operands, original, has_halo=kind_of(step) in _HALOS), *before]
        pieces = self._before(step, operands, before)
        sums = self._summed_before(step, operands, sums)
        self._reuse(step, operands, original)
        if TABLE[step.record.name].collective is not None and len(step.results) == 1:
            self._written(step, operands, sums)
            return
        self._after(step, operands, [*others, *pieces], sums, after)

    def result(self, position: int, name: Name, sent: Sequence[Sent], size: int) -> Name:
        """The value that is returned, of `size` bytes: what is sent for it, and the part that is kept."""
        current = self.stored(name)
        for each in sent:
            if each.operand == position:
                current = self._send(each.collective, current, None)
        if current != self.stored(name) and self.sizes[current] != size:
            type_ = self.types[current]
            shape = (size * 8 // element_type(type_.element).bits, *([1] * (len(type_.shape) - 1)))
            current = self._made("slice", (current,), TensorType(shape, type_.element), None)
        return current

    def _split(self, step: Step, moved: Sequence[Sent]) -> tuple[list[Sent], list[Collective]]:
        """What is sent of operands, and what is sent of the result: the last of these makes the result."""
        before = [*moved]
        after: list[Collective] = []
        result = self.types.get(step.results[0]) if len(step.results) == 1 else None
        is_written = TABLE[step.record.name].collective is not None
        last = moved[-1] if moved and not is_written else None
        if (
            result is not None
            and last is not None
            and last.operand < 0
            and last.collective.made_shape == result.shape
        ):
            while before and before[-1].operand < 0:
                after.insert(0, before.pop().collective)
        return before, after

    def _before(self, step: Step, operands: list[Name], sent: Sequence[Sent]) -> list[Name]:
        """Sends operands, which are replaced by what arrives, and returns the slices that come from neighbours."""
        pieces: list[Name] = []
        halo: int | None = None
        has_halo = kind_of(step) in _HALOS
        last = -1
        wide = is_widened(step)
        widened: dict[int, Name] = {}
        for each in sent:
            collective = each.collective
            index = each.operand if each.operand >= 0 else last
            if not 0 <= index < len(operands):
                index = 0
            if not operands:
                continue
            last = index
            if wide and index not in widened:
                type_ = self.types.get(operands[index])
                if type_ is not None and type_.element != "f32":
                    operands[index] = self._made(
                        "convert", (operands[index],), replace(type_, element="f32"), step
                    )
                widened[index] = operands[index]
            if wide:
                collective = replace(collective, element_type="f32")
            source = operands[index]
            axis = self._axis(collective, source, halo if pieces else None) if has_halo else None
            if pieces and step.record.name != _CONCATENATE and axis != halo:
                operands[index] = source = self._widened(source, pieces, halo, collective.held_shape, step)
                pieces = []
                axis = self._axis(collective, source) if has_halo else None
            made = self._send(collective, source, step, original=each.collective)
            if axis is not None:
                pieces.append(made)
                halo = axis
            else:
                operands[index] = made
        if pieces and step.record.name != _CONCATENATE and last >= 0:
            operands[last] = self._widened(operands[last], pieces, halo, (), step)
            pieces = []
            if step.record.name == _PAD:
                operands[last] = self._masked(step, operands[last], halo or 0)
        return pieces

    def _masked(self, step: Step, joined: Name, axis: int) -> Name:
        """A padded value in which what other devices hold is masked; other dimensions are padded after that."""
        made, given = self.types[step.results[0]], self.types[joined]
        if len(given.shape) != len(made.shape):
            return joined
        shape = (*(made.shape[d] if d == axis else given.shape[d] for d in range(len(made.shape))),)
        type_ = replace(made, shape=shape)
        mask = self._made("compare", (), replace(type_, element="i1"), step)
        widened = self._made("pad", (joined,), type_, step)
        return self._made("select", (widened, mask), type_, step)

    def _axis(self, collective: Collective, source: Name, last: int | None = None) -> int | None:
        """The dimension of which a slice is sent to a neighbour; None if the whole is sent.

        last: the one before; if others are smaller, too, it has its final size.
        """
        type_ = self.types.get(source)
        if (
            collective.kind != "collective_permute"
            or type_ is None
            or len(type_.shape) != len(collective.held_shape)
        ):
            return None
        pairs = enumerate(zip(type_.shape, collective.held_shape, strict=True))
        axes = [axis for axis, (own, sent) in pairs if sent < (own or 0)]
        return next((axis for axis in axes if axis != last or len(axes) == 1), None)

    def _widened(
        self, source: Name, pieces: Sequence[Name], axis: int | None, kept: Sequence[int], step: Step
    ) -> Name:
        """A value with the slices that come from neighbours, and of that the part that is needed."""
        type_ = self.types[source]
        axis = axis or 0
        shape = [*type_.shape]
        if axis >= len(shape) or any(axis >= len(self.types[piece].shape) for piece in pieces):
            total = elements(type_) + sum(elements(self.types[piece]) for piece in pieces)
            return self._made("concatenate", (source, *pieces), replace(type_, shape=(total,)), step)
        sizes = [(self.types[piece].shape[axis] or 0) for piece in pieces]
        shape[axis] = (shape[axis] or 0) + sum(sizes)
        joined = self._made("concatenate", (source, *pieces), replace(type_, shape=tuple(shape)), step)
        if not kept:
            return joined
        shape[axis] = kept[axis]
        return self._made("dynamic_slice", (joined,), replace(type_, shape=tuple(shape)), step)

    def _summed_before(self, step: Step, operands: list[Name], sums: list[Collective]) -> list[Collective]:
        """Sums slices of the operand that only one device has, so that all have them; returns the other sums."""
        if len(step.results) != 1 or not operands or TABLE[step.record.name].collective is not None:
            return sums
        size = self.sizes.get(step.results[0], 0)
        left: list[Collective] = []
        for each in sums:
            held = TensorType(each.held_shape, each.element_type)
            if bytes_of(held) >= size:
                left.append(each)
                continue
            part = self._slice(operands[0], held, "summed", step)
            operands[0] = self._name(held)
            self.listed.append(HostOp("all_reduce", (part,), (operands[0],), step, sums=(each,)))
        return left

    def _halos(self, operands: Sequence[Name], original: int, *, has_halo: bool) -> Iterable[Sent]:
        """The slices that are sent again to neighbours for a step: XLA does not merge those."""
        merged = self.merged.get(original, ()) if has_halo else ()
        for each in merged:
            roots = {self.stored(root) for root in _roots(each.collective.key)}
            index = next((i for i, name in enumerate(operands) if name in roots), -1)
            if index >= 0 and self._axis(each.collective, operands[index]) is not None:
                yield Sent(each.step, each.collective, index)

    def _reuse(self, step: Step, operands: list[Name], original: int) -> None:
        """Replaces operands by what was sent of them before."""
        for each in self.merged.get(original, ()):
            key = each.collective.key
            made = self.known.get(key)
            roots = {self.stored(root) for root in _roots(key)}
            for index, name in enumerate(operands):
                if made is not None and name in roots and self.sizes[made] >= self.sizes.get(name, 0):
                    operands[index] = made
        del step

    def _written(self, step: Step, operands: Sequence[Name], sums: Sequence[Collective]) -> None:
        """A collective of the program itself: its result is what was sent, or the sum of its operand."""
        (made,) = step.results
        if sums and self._is_narrow(operands[0]):
            given = self._converted(operands[0], step)
            wide = self._name(self.types[given])
            self.listed.append(HostOp("all_reduce", (given,), (wide,), step, sums=tuple(sums)))
            self.listed.append(HostOp("convert", (wide,), (made,), step))
        elif sums:
            self.listed.append(HostOp("all_reduce", tuple(operands[:1]), (made,), step, sums=tuple(sums)))
        elif operands[0] != self.stored(step.operands[0]):
            self.alias[made] = operands[0]
        else:
            self._compute(step, operands, (), step.results)

    def _after(
        self,
        step: Step,
        operands: Sequence[Name],
        others: Sequence[Name],
        sums: Sequence[Collective],
        after: Sequence[Collective],
    ) -> None:
        """The op itself, the sum of what it makes, what is sent of it, and the part that each device keeps."""
        whole = self._whole(step, operands, sums, after)
        if not sums and not after and whole is None:
            self._compute(step, operands, others, step.results)
            return
        made = [self._name(self.types[name] if whole is None else whole) for name in step.results]
        self._compute(step, operands, others, tuple(made))
        if sums:
            summed = [self._name(self.types[name]) for name in made]
            if whole is None and not after:
                summed = [*step.results]
            self.listed.append(HostOp("all_reduce", tuple(made), tuple(summed), step, sums=tuple(sums)))
            made = summed
        for number, collective in enumerate(after):
            is_last = number == len(after) - 1
            made = [self._send(collective, made[0], step, into=step.results[0] if is_last else None)]
        if made != [*step.results]:
            for source, name in zip(made, step.results, strict=True):
                self.listed.append(HostOp("dynamic_slice", (source,), (name,), step))

    def _whole(
        self, step: Step, operands: Sequence[Name], sums: Sequence[Collective], after: Sequence[Collective]
    ) -> TensorType | None:
        """The type of what the op makes, if that is not its result: parts of a sum, or more than a device keeps."""
        if len(step.results) != 1:
            return None
        (name,) = step.results
        type_ = self.types.get(name)
        if type_ is None:
            return None
        if sums:
            element = "f32" if is_narrowed_after(step) or is_widened(step) else type_.element
            held = TensorType(sums[0].held_shape, element)
            return held if bytes_of(held) > self.sizes[name] else None
        if after:
            element = "f32" if is_widened(step) else after[0].element_type
            return TensorType(after[0].held_shape, element)
        return self._unsharded(step, operands, type_)

    def _unsharded(self, step: Step, operands: Sequence[Name], type_: TensorType) -> TensorType | None:
        """The type of a result that is computed for more than a device keeps of it; None if it is not."""
        record = step.record
        given = record.operands[0] if record.operands else None
        made = record.results[0]
        source = self.types.get(operands[0]) if operands else None
        if given is None or made is None or source is None or not _is_whole(step) or given.rank != made.rank:
            return None
        if len(source.shape) != given.rank:
            return None
        dimensions = zip(given.shape, made.shape, source.shape, strict=True)
        shape = tuple(local if old == new else new for old, new, local in dimensions)
        whole = replace(type_, shape=shape)
        return whole if elements(whole) > elements(type_) else None

    def _compute(
        self, step: Step, operands: Sequence[Name], others: Sequence[Name], makes: Sequence[Name]
    ) -> None:
        """The op itself, with what the host adds to it."""
        kind, reads, made = kind_of(step), [*operands], [*makes]
        if kind == "top_k" and len(makes) > 1:
            self._top_k(step, reads, makes)
            return
        if kind == "pad" and self.types.get(reads[0]) == self.types[makes[0]]:
            kind = "reshape"  # all that is padded is padded before it is masked
        if kind == "reduce" and len(makes) == 1:
            if self._is_by_library(step, reads[0]):
                kind = LIBRARY_REDUCTION
            elif (partial := self._windows(step, reads[0])) is not None:
                reads[0] = self._made("reduce_window", (reads[0],), partial, step)
        if kind == "dot_general":
            self._product(step, reads, made)
            return
        narrow = kind in _WIDENED and [*map(self._is_narrow, reads)]
        if narrow and any(narrow):
            reads = [
                self._converted(name, step) if is_so else name
                for name, is_so in zip(reads, narrow, strict=True)
            ]
            made = [
                self._name(replace(self.types[n], element="f32")) if self._is_narrow(n) else n for n in makes
            ]
        if len(makes) == 1 and not others and self._is_known(step, kind, reads, makes[0]):
            return
        self.listed.append(HostOp(kind, (*reads, *others), tuple(made), step, computed=step))
        for source, name in zip(made, makes, strict=True):
            if source != name:
                self.listed.append(HostOp("convert", (source,), (name,), step))

    def _is_known(self, step: Step, kind: str, reads: Sequence[Name], made: Name) -> bool:
        """Whether an equal op has made the value: XLA merges them."""
        if reads or not (is_movable(kind) or is_pointwise(HostOp(kind, (), (made,), computed=step))):
            return False
        first = self.known.setdefault((kind, id(step.record), tuple(reads), self.types.get(made)), made)
        if first != made:
            self.alias[made] = first
        return first != made

    def _product(self, step: Step, reads: Sequence[Name], makes: Sequence[Name]) -> None:
        """A product of matrices, or of batches of them: operands and result of other ranks are reshaped."""
        numbers = structure(step.record, "dot_dimension_numbers")
        given: list[Name] = []
        free: list[int] = []
        batches = False
        for side, name in zip(("lhs", "rhs"), reads, strict=False):
            type_ = self.types[name]
            batch = integers(numbers, f"{side}_batching_dimensions")
            contracted = len(integers(numbers, f"{side}_contracting_dimensions"))
            free.append(len(type_.shape) - len(batch) - contracted)
            sizes = [type_.shape[d] or 0 for d in batch if d < len(type_.shape)]
            batches = batches or 1 in sizes
            if free[-1] > 1 or contracted > 1 or 1 in sizes:
                name = self._made("reshape", (name,), TensorType((elements(type_),), type_.element), step)
            given.append(name)
        if max(free, default=0) <= 1 and not batches:
            self.listed.append(HostOp("dot_general", tuple(given), tuple(makes), step, computed=step))
            return
        type_ = self.types[makes[0]]
        flat = self._name(TensorType((elements(type_),), type_.element))
        self.listed.append(HostOp("dot_general", tuple(given), (flat,), step, computed=step))
        self.listed.append(HostOp("reshape", (flat,), tuple(makes), step))

    def _is_narrow(self, name: Name) -> bool:
        type_ = self.types.get(name)
        return type_ is not None and type_.element == "bf16"

    def _converted(self, name: Name, step: Step | None) -> Name:
        """The value in f32."""
        return self._made("convert", (name,), replace(self.types[name], element="f32"), step)

    def _is_by_library(self, step: Step, name: Name) -> bool:
        """Whether a library reduces an operand: of floats, with sums, minima or maxima, of some size.

        Source: openxla/xla, xla/backends/cpu/ynn_support.cc.
        """
        type_ = self.types.get(name)
        if (
            type_ is None
            or type_.element not in ("f32", "bf16", "f64")
            or elements(type_) < _LIBRARY_ELEMENTS
        ):
            return False
        if not isinstance(step.source, Operation):
            return True
        return all(str(each).rpartition(".")[2] in _LIBRARY_REDUCERS for each in combiners_of(step.source))

    def _windows(self, step: Step, name: Name) -> TensorType | None:
        """What is left of an operand whose windows of 32 elements are reduced first; None if they are not.

        Source: openxla/xla, xla/service/tree_reduction_rewriter.cc.
        """
        type_ = self.types.get(name)
        if type_ is None:
            return None
        reduced = integers(step.record.attributes, "dimensions")
        local = [type_.shape[d] or 0 for d in reduced if d < len(type_.shape)]
        if max(local, default=0) <= _WINDOW:
            return None
        shape = tuple(
            -(-(size or 0) // min(_WINDOW, size or 1)) if d in reduced else size
            for d, size in enumerate(type_.shape)
        )
        return replace(type_, shape=shape)

    def _top_k(self, step: Step, operands: Sequence[Name], makes: Sequence[Name]) -> None:
        """The largest elements and their places, by a kernel for f32, else by a sort of both.

        The kernel has whole rows on each device, which keeps its part of the results. Source: openxla/xla,
        xla/service/topk_rewriter.cc.
        """
        given = self.types[operands[0]]
        own = [self.types[name] for name in makes]
        wide = [replace(type_, shape=(*given.shape[:-1], *type_.shape[-1:])) for type_ in own]
        if given.element != "f32":
            places = self._made("iota", (), replace(given, element="i32"), step)
            ordered = tuple(self._name(self.types[name]) for name in (operands[0], places))
            self.listed.append(HostOp("sort", (operands[0], places), ordered, step))
            for source, name in zip(ordered, makes, strict=False):
                self.listed.append(HostOp("slice", (source,), (name,), step))
        elif wide == own:
            self.listed.append(HostOp("custom_call", tuple(operands), tuple(makes), step))
        else:
            whole = [self._name(type_) for type_ in wide]
            self.listed.append(HostOp("custom_call", tuple(operands), tuple(whole), step))
            for source, name in zip(whole, makes, strict=True):
                self.listed.append(HostOp("dynamic_slice", (source,), (name,), step))

    def _send(
        self,
        collective: Collective,
        source: Name,
        step: Step | None,
        *,
        original: Collective | None = None,
        into: Name | None = None,
    ) -> Name:
        """What arrives by a collective; original: it, as it is planned; into: the name of what arrives."""
        original = original or collective
        if collective.element_type == "bf16":
            wide = self._send(
                replace(collective, element_type="f32", key=None),
                self._converted(source, step),
                step,
                original=original,
            )
            back = self._made("convert", (wide,), replace(self.types[wide], element="bf16"), step, into)
            if original.key is not None:
                self.known[original.key] = back
            return back
        element = collective.element_type
        held = TensorType(collective.held_shape, element)
        arrived = TensorType(_made_shape(collective), element)
        if bytes_of(held) < self.sizes.get(source, 0):
            source = self._slice(source, held, collective.group, step)
        match collective.kind:
            case "all_to_all" if 1 < collective.group_size <= _MOST_PIECES:
                made = self._exchanged(collective, original, source, step, held, arrived, into)
            case "all_gather" if collective.is_strided:
                # The host puts parts one behind the other: copies with another layout are around that.
                given = self._made("copy", (source,), held, step)
                strided = self._name(arrived)
                self.listed.append(HostOp("all_gather", (given,), (strided,), step, original))
                made = self._made("copy", (strided,), arrived, step, into)
            case kind:
                made = self._name(arrived, into)
                self.listed.append(HostOp(kind, (source,), (made,), step, original))
        if original.key is not None:
            self.known[original.key] = made
        return made

    def _slice(self, source: Name, held: TensorType, group: Hashable, step: Step | None) -> Name:
        """The slice that is sent to neighbours; equal ones are one op."""
        key = "slice", source, held, group
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._made("slice", (source,), held, step)
        return known

    def _exchanged(
        self,
        collective: Collective,
        original: Collective,
        source: Name,
        step: Step | None,
        held: TensorType,
        arrived: TensorType,
        into: Name | None,
    ) -> Name:
        """An exchange: a slice for each device is sent, and those that arrive are put together and transposed."""
        count = collective.group_size
        piece = TensorType((*held.shape[:-1], -(-(held.shape[-1] or 0) // count)), held.element)
        if elements(held) % count == 0:
            piece = TensorType((elements(held) // count, *([1] * (len(held.shape) - 1))), held.element)
        given = tuple(self._made("slice", (source,), piece, step) for _ in range(count))
        parts = tuple(self._name(piece) for _ in range(count))
        self.listed.append(HostOp("all_to_all", given, parts, step, original))
        whole = self._made("concatenate", parts, held, step)
        return self._made("copy", (whole,), arrived, step, into)

    def _made(
        self,
        kind: str,
        reads: tuple[Name, ...],
        type_: TensorType,
        step: Step | None,
        into: Name | None = None,
    ) -> Name:
        name = self._name(type_, into)
        self.listed.append(HostOp(kind, reads, (name,), step))
        return name

    def _name(self, type_: TensorType, into: Name | None = None) -> Name:
        if into is None:
            self._count += 1
            into = (id(self), self._count)
        self.types[into] = type_
        self.sizes[into] = bytes_of(type_)
        return into


def is_movable(kind: str) -> bool:
    """Whether an op moves elements, or repeats them, in a loop over what it makes."""
    return kind in _MOVES


def _is_whole(step: Step) -> bool:
    """Whether the op makes a value like its operand, of which a device may keep a part only."""
    kind = kind_of(step)
    return (
        not is_movable(kind) and kind not in _HALOS and step.record.name not in PRODUCTS and not step.blocks
    )


_HALOS = frozenset(
    ("concatenate", "convolution", "pad", "reduce_window", "reverse", "select_and_scatter", "slice")
)
"""Ops that read slices of neighbours beside their own part."""
_MOVES = frozenset(
    (
        *("broadcast_in_dim", "concatenate", "copy", "dynamic_slice", "dynamic_update_slice", "gather"),
        *("iota", "pad", "reduce", "reshape", "reverse", "slice", "transpose"),
    )
)
"""Ops that are fused like elementwise ones."""


def _made_shape(collective: Collective) -> tuple[int, ...]:
    """The shape of what arrives on each device."""
    if collective.made_shape:
        return collective.made_shape
    shape = collective.held_shape
    grows = collective.kind == "all_gather" and bool(shape)
    return (shape[0] * collective.group_size, *shape[1:]) if grows else shape


def _roots(key: Hashable) -> Iterable[Name]:
    """The names of the values that a collective with this key sends."""
    return key[1:] if isinstance(key, tuple) else ()


def is_in_place(op: HostOp) -> bool:
    """Whether the op is made by writing over its first operands."""
    step = op.computed
    return op.kind == "sort" or (step is not None and TABLE[step.record.name].storage is Storage.IN_PLACE)
