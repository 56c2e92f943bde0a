"""The steps that spread the images of convolutions over the rows of tiles, and put them together again.

Not here: how they are spread (`spread_images.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import SUBLANES
from shardy_py.mlir.dialects.stablehlo import SelectOp, SliceOp
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.dimensions import ConvolutionDimensions
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.tpu.records import OFFSETS, PLACED, Records, elements_of, step_of
from shardy_py.xla.buffers.tpu.spread_images import (
    Spread,
    Spreading,
    SpreadStep,
    spread_of,
    spread_steps,
    together,
)
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


class PartsOfImages(NamedTuple):
    """The parts of a value: of dimension `split`, `whole` elements in all, and what they are together.

    batch: the dimension of images.
    """

    split: int
    whole: int
    together: Spreading
    batch: int


@dataclass
class Images:
    """The values of a program that convolutions have spread, and those that are equal in all parts."""

    records: Records
    narrow: Collection[Name] = ()
    """The values that only steps at default precision read, which are put together in bf16."""
    _spread: dict[Name, PartsOfImages] = field(default_factory=dict[Name, "PartsOfImages"])
    _equal: set[Name] = field(default_factory=set[Name])
    """The values that are broadcasts, or of one element."""
    _together: set[Name] = field(default_factory=set[Name])
    _masks: set[Name] = field(default_factory=set[Name])

    def steps(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """Yields a step, behind those that it needs for what it reads of spread values."""
        if own.blocks or len(own.results) != 1:
            yield from self._put_together(own)
            return
        if COMPILED.of(own.record.name).form is NodeForm.CONVOLUTION:
            yield from self._convolution(own)
            return
        *before, last = self._put_together(own)
        yield from before
        self._note(last)
        yield last

    def whole(
        self, name: Name, type_: TensorType | None, element: str
    ) -> tuple[Name, TensorType | None, Sequence[PlannedOp]]:
        """Returns a value with its parts put together if it is spread, its type, and the steps for that.

        element: the type that is read of it.
        """
        if name not in self._spread or type_ is None:
            return name, type_, ()
        given, type_ = type_, TensorType(type_.shape, element)
        made: Name = ("whole", name, element)
        if made in self._together:
            return made, type_, ()
        self._together.add(made)
        value = self._spread[name].together
        whole = TensorType(value.type.shape, element)
        record = self.records.of(PLACED, (given,), (whole,), minor_to_major=value.minor_to_major)
        part = self._first(whole, type_)
        padded: Name = ("whole", name, element, "padded")
        steps = step_of(record, (name,), (padded,), None), step_of(part, (padded,), (made,), None)
        return made, type_, steps

    def _first(self, whole: TensorType, part: TensorType) -> OpRecord:
        """The record of a slice of the first elements along all dimensions."""
        ends = {"start_indices": (0,) * part.rank, "limit_indices": part.shape, "strides": (1,) * part.rank}
        return self.records.of(SliceOp.name, (whole,), (part,), **ends)

    def _convolution(self, own: PlannedOp) -> Iterator[PlannedOp]:
        record = own.record
        images, kernel, made = (*record.operands[:2], record.results[0])
        if images is None or kernel is None or made is None:
            yield own
            return
        name, type_ = own.operands[0], images
        whole = self._spread[name].whole if name in self._spread else 0
        spread = spread_of(record, shape_of(images), shape_of(kernel), shape_of(made), whole)
        if spread is None:
            *before, last = self._put_together(own, "bf16")
            yield from before
            attributes = {**last.record.attributes, "spread": ()}
            yield replace(last, record=replace(last.record, attributes=attributes))
            return
        if whole > (type_.shape[spread.split] or 0):
            masked, type_ = (name, "masked"), TensorType(type_.shape, "bf16")
            if masked not in self._spread:
                self._spread[masked] = self._spread[name]
                record_ = self.records.of(SelectOp.name, (images,), (type_,))
                yield step_of(record_, (name,), (masked,), own.source)
            name = masked
        for number, each in enumerate(spread_steps(record, images, spread, whole)):
            before, name = name, (own.results[0], "spread", number)
            yield step_of(self._changed(type_, each), (before,), (name,), own.source)
            type_ = each.type
        attributes = {**record.attributes, "spread": (spread.made, spread.made_part)}
        batch = ConvolutionDimensions.of(record.attributes).result_batch
        whole = spread.made_part * SUBLANES
        parts = PartsOfImages(spread.made, whole, together(record, made, spread), batch)
        self._spread[own.results[0]] = parts
        mask = yield from self._mask(shape_of(images)[_batch(record)], spread, shape_of(made))
        types = (type_, *record.operands[1:], *(type_ for _, type_ in mask))
        spread_record = OpRecord(record.name, types, record.results, attributes)
        operands = (name, *own.operands[1:], *(name for name, _ in mask))
        yield replace(own, record=spread_record, operands=operands)

    def _mask(
        self, batch: int, spread: Spread, made: tuple[int, ...]
    ) -> Generator[PlannedOp, None, Sequence[tuple[Name, TensorType]]]:
        """The table of the elements of each part that are not padding, which a convolution reads, if any is.

        batch: the images. made: the shape of the result.
        """
        size, part = made[spread.made], spread.made_part
        if part * SUBLANES == size:
            return ()
        type_ = TensorType((batch * SUBLANES, part), "i1")
        name: Name = ("mask", batch, part, size)
        if name not in self._masks:
            self._masks.add(name)
            record = self.records.of(OFFSETS, (), (type_,), value=(True, False))
            yield step_of(record, (), (name,), None)
        return ((name, type_),)

    def _changed(self, given: TensorType, each: Spreading) -> OpRecord:
        if each.step is SpreadStep.FUSED:
            return self.records.transposed(given, each.type, minor_to_major=each.minor_to_major)
        return self.records.of(PLACED, (given,), (each.type,), minor_to_major=each.minor_to_major)

    def _note(self, step: PlannedOp) -> None:
        """Notes that what is made elementwise of spread values is spread, and what is equal in all parts."""
        name, row = step.record.name, TABLE[step.record.name]
        is_elementwise = row.elementwise(step.record)
        is_equal = (
            COMPILED.of(name).form is NodeForm.BROADCAST
            or STORED.of(name).is_constant
            or elements_of(step.record.results[0]) == 1
            or (is_elementwise and bool(step.operands) and self._equal.issuperset(step.operands))
        )
        if is_equal:
            self._equal.add(step.results[0])
        elif is_elementwise and self._are_alike(step):
            found = {self._spread[each] for each in step.operands if each in self._spread}
            if len(found) == 1:
                self._spread[step.results[0]] = found.pop()
        elif step.operands and step.operands[0] in self._spread and _keeps_images(step.record):
            parts = self._spread[step.operands[0]]
            made = _of_features(parts.together, step.record)
            self._spread[step.results[0]] = parts._replace(together=made)

    def _are_alike(self, step: PlannedOp) -> bool:
        """True if all that an elementwise op reads is spread, or equal in all parts; or nothing is spread."""
        if self._spread.keys().isdisjoint(step.operands):
            return True
        return all(name in self._spread or name in self._equal for name in step.operands)

    def _adds_parts(self, own: PlannedOp) -> bool:
        """True for a reduction along the dimension that is spread: all parts are reduced.

        Those of each image are not where they have padding.
        """
        parts = self._spread.get(own.operands[0])
        if parts is None or not _reduces(own):
            return False
        dimensions = integers(own.record.attributes, "dimensions")
        given = own.record.operands[0]
        is_padded = given is not None and given.shape[parts.split] != parts.whole
        return parts.split in dimensions and (parts.batch in dimensions or not is_padded)

    def _element(self, name: Name, type_: TensorType) -> str:
        """The type in which a value is stored."""
        return "bf16" if name in self.narrow and type_.element == "f32" else type_.element

    def _put_together(self, own: PlannedOp, element: str = "") -> Iterator[PlannedOp]:
        """A step, behind those that put the parts of what it reads one behind the other.

        element: the type that it reads; "": that of the values.
        """
        is_elementwise = TABLE[own.record.name].elementwise(own.record)
        if (
            own.blocks
            or self._spread.keys().isdisjoint(own.operands)
            or (is_elementwise and self._are_alike(own))
            or _keeps_images(own.record)
            or self._adds_parts(own)
        ):
            yield own
            return
        operands = [*own.operands]
        for number, (name, type_) in enumerate(zip(own.operands, own.record.operands, strict=False)):
            if name not in self._spread or type_ is None:
                continue
            value = self._spread[name].together
            operands[number] = made = ("together", name, element)
            if made not in self._together:
                self._together.add(made)
                whole = TensorType(value.type.shape, element or self._element(name, type_))
                record = self.records.of(PLACED, (type_,), (whole,), minor_to_major=value.minor_to_major)
                if whole.shape == type_.shape:
                    yield step_of(record, (name,), (made,), own.source)
                    continue
                padded: Name = ("padded", name, element)
                yield step_of(record, (name,), (padded,), own.source)
                part = TensorType(type_.shape, whole.element)
                if _reduces(own):
                    record = self._first(whole, part)
                else:
                    record = self.records.of(PLACED, (whole,), (part,), minor_to_major=value.minor_to_major)
                yield step_of(record, (padded,), (made,), own.source)
        yield replace(own, operands=tuple(operands))


def _reduces(step: PlannedOp) -> bool:
    return COMPILED.of(step.record.name).form is NodeForm.REDUCE


def _batch(record: OpRecord) -> int:
    """The dimension of the images that a convolution reads."""
    return ConvolutionDimensions.of(record.attributes).batch


def _keeps_images(record: OpRecord) -> bool:
    """True for a slice of features, the last dimension."""
    if COMPILED.of(record.name).form is not NodeForm.SLICE or len(record.operands) != 1:
        return False
    given, made = record.operands[0], record.results[0]
    return given is not None and made is not None and given.shape[:-1] == made.shape[:-1]


def _of_features(value: Spreading, record: OpRecord) -> Spreading:
    """The parts of a slice of features one behind the other. value: those of what it is of."""
    made = record.results[0]
    shape = (*value.type.shape[:-1], *(() if made is None else made.shape[-1:]))
    return value._replace(type=replace(value.type, shape=shape))
