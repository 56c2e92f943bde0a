"""Gathers of single elements, which XLA:TPU makes of places in a row, and puts back into tiles.

    take_along_axis(x, i)  ->  j = places flat;  y = x[j] flat;  y as i is

Places are one number each, row-major in a row; so are the elements that are found. Both are in memory of
their own, unless no element moves: tiles of 128 lanes are such rows. Places of one dimension are clamped once
they are in a row, those of several are computed before that. What is gathered from stays as it is. So are
values of one element everywhere in a row at once. Source: the HLO of XLA:TPU for 14 such gathers on v5p, and
9 on v6e. Not here: gathers of rows (`needed_orders.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from types import MappingProxyType

from shardy_py.base.records import dataclass
from shardy_py.indexing.layout.formats import LANES, SUBLANES
from shardy_py.mlir.dialects.stablehlo import AddOp, ClampOp, GatherOp, MultiplyOp, ReshapeOp
from shardy_py.ops import OpRecord, TensorType
from shardy_py.ops.dimensions import GatherDimensions
from shardy_py.xla.buffers.local_sizes import least_padded
from shardy_py.xla.buffers.tpu.records import NOTHING, PLACED, Records, elements_of, step_of
from shardy_py.xla.buffers.tpu.sends import spread_of_element
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of

_FLAT: Mapping[str, object] = MappingProxyType(
    {"dimension_numbers": MappingProxyType({"index_vector_dim": 1})}
)
"""The attributes of a gather of elements into a row of them."""


def with_flat_gathers(
    steps: Sequence[PlannedOp], records: Records, is_fixed: Callable[[PlannedOp], bool]
) -> list[PlannedOp]:
    """Returns steps with gathers of single elements as those of rows of places.

    is_fixed: whether something else knows a step, which stays as it is.
    """
    makers = {step.results[0]: step for step in steps if len(step.results) == 1}
    found: list[PlannedOp] = []
    for step in steps:
        if is_fixed(step) or not _gathers_elements(step):
            found.append(step)
        else:
            found += _Flat(records, step, makers.get(step.operands[1])).steps()
    return found


def _gathers_elements(step: PlannedOp) -> bool:
    """True for a gather of several single elements."""
    if step.record.name != GatherOp.name or len(step.operands) != 2 or None in step.record.operands:
        return False
    (made,) = step.record.results
    if made is None or elements_of(made) <= 1:
        return False
    offsets = GatherDimensions.of(step.record.attributes).offsets
    return prod(shape_of(made)[d] for d in offsets) == 1


@dataclass
class _Flat:
    """Makes the steps of one gather. maker: the step that makes the places."""

    records: Records
    own: PlannedOp
    maker: PlannedOp | None
    made: list[PlannedOp] = field(default_factory=list[PlannedOp])

    def steps(self) -> list[PlannedOp]:
        """The steps; the last one has the result of the gather."""
        (base, places), (made,) = self.own.record.operands, self.own.record.results
        assert places is not None
        assert made is not None
        count = (elements_of(made),)
        numbers, elements = TensorType(count, places.element), TensorType(count, made.element)
        at, dimensions = self.own.operands[1], GatherDimensions.of(self.own.record.attributes)
        if len(dimensions.index_map) + len(dimensions.batching) > 1:
            at = self._in_a_row(*self._numbers(at, places), numbers)
        else:
            at = self._in_bounds(self._in_a_row(at, places, numbers), numbers)
        record = replace(self.own.record, operands=(base, numbers), results=(elements,), attributes=_FLAT)
        operands, own = (self.own.operands[0], at), self.own.results
        if made.shape == count:
            return [*self.made, replace(self.own, record=record, operands=operands)]
        found: Name = (own[0], "elements")
        self.made.append(replace(self.own, record=record, operands=operands, results=(found,)))
        back = self.records.of(ReshapeOp.name, (elements,), (made,))
        if not _stays(made):
            back = self.records.of(PLACED, (elements,), (made,), minor_to_major=_rows(made))
        return [*self.made, step_of(back, (found,), own, self.own.source)]

    def _in_a_row(self, at: Name, given: TensorType, numbers: TensorType) -> Name:
        """Makes a row of places."""
        if given.shape == numbers.shape:
            return at
        if _stays(given) and elements_of(given) == elements_of(numbers):
            return self._add(self.records.of(ReshapeOp.name, (given,), (numbers,)), (at,), "places")
        if not _is_in_rows(given):
            record = self.records.of(PLACED, (given,), (given,), minor_to_major=_rows(given))
            at = self._add(record, (at,), "rows")
        return self._add(self.records.of(PLACED, (given,), (numbers,)), (at,), "places")

    def _numbers(self, at: Name, given: TensorType) -> tuple[Name, TensorType]:
        """Makes one number of places in several dimensions, also of those put together for the gather."""
        reads, types = (at, NOTHING), (given, given)
        if self.maker is not None and COMPILED.of(self.maker.record.name).form is NodeForm.JOIN:
            parts = [type_ for type_ in self.maker.record.operands if type_ is not None]
            if parts == [parts[0]] * len(self.maker.operands):
                reads, types = self.maker.operands, tuple(parts)
        scaled = self._add(
            self.records.of(MultiplyOp.name, types[:1] * 2, types[:1]), (reads[0], NOTHING), "scaled"
        )
        record = self.records.of(AddOp.name, types, types[:1])
        return self._add(record, (scaled, *reads[1:]), "numbers"), types[0]

    def _in_bounds(self, at: Name, numbers: TensorType) -> Name:
        """Clamps a row of places."""
        bound: Name = (self.own.results[0], "bound")
        self.made.append(spread_of_element(self.records, numbers, NOTHING, bound, self.own.source))
        clamp = self.records.of(ClampOp.name, (numbers, numbers, numbers), (numbers,))
        return self._add(clamp, (bound, at, bound), "in bounds")

    def _add(self, record: OpRecord, reads: tuple[Name, ...], name: str) -> Name:
        """The name of what a step makes that is added."""
        made: Name = (self.own.results[0], name)
        self.made.append(step_of(record, reads, (made,), self.own.source))
        return made


def _rows(type_: TensorType) -> tuple[int, ...]:
    """The row-major order, in which dimensions of one element are the most major."""
    dimensions = range(type_.rank)
    return tuple(sorted(dimensions, key=lambda d: (type_.shape[d] == 1, -d)))


def _is_in_rows(type_: TensorType) -> bool:
    """True if a value is row-major in the order with the least padding."""
    shape = tuple([size for size in type_.shape if size != 1])
    return least_padded(TensorType(shape, type_.element)) == (*range(len(shape)),)


def _stays(type_: TensorType) -> bool:
    """True if elements in a row are where they are in tiles, row-major."""
    *outer, lanes = [size for size in shape_of(type_) if size != 1] or [1]
    return not outer or (lanes == LANES and prod(outer) % SUBLANES == 0)
