"""The ops that XLA:TPU computes by others, too: kernels of products by groups, scatters into parts.

Not here: convolutions (`images.py`), collectives (`sends.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.storing import has_several
from shardy_py.xla.buffers.tpu.records import ELEMENT, PLACES, Records, elements_of, step_of
from shardy_py.xla.buffers.tpu.sends import spread_of_element, zeros_of
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm


@dataclass
class Expanded:
    """Expands ops; what several need is made once."""

    records: Records
    _known: set[Name] = field(default_factory=set[Name])

    def steps(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """Yields a step, behind those that XLA:TPU adds to it."""
        row = COMPILED.of(own.record.name)
        if row.is_kernel and len(own.operands) > 2:
            yield from self._kernel(own)
        elif row.form is NodeForm.SCATTER and len(own.results) == 1:
            yield from self._scatter(own)
        elif STORED.of(own.record.name).is_constant and not has_several(own.record.attributes.get("value")):
            yield from self._constant(own)
        else:
            yield own

    def _constant(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A constant; of several equal elements a broadcast of one."""
        (made,) = own.record.results
        if made is None or elements_of(made) == 1:
            yield own
            return
        element: Name = (own.results[0], "element")
        record = self.records.like(own.record, (), (TensorType((), made.element),))
        yield step_of(record, (), (element,), own.source)
        yield spread_of_element(self.records, made, element, own.results[0], own.source)

    def _kernel(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A kernel of a product by groups, behind what computes the places of groups of these sizes."""
        (left, right, groups, *others), sizes = own.record.operands, own.operands[2]
        if groups is None:
            yield own
            return
        places = TensorType((elements_of(groups) + 1,), ELEMENT.element)
        made = places, places, places, ELEMENT
        names: tuple[Name, ...] = tuple(("places", sizes, i) for i, _ in enumerate(made))
        if names[0] not in self._known:
            self._known.add(names[0])
            yield step_of(self.records.of(PLACES, (groups,), made), (sizes,), names, own.source)
        record = replace(own.record, operands=(left, right, *made, *others))
        yield replace(own, record=record, operands=(*own.operands[:2], *names, *own.operands[3:]))

    def _scatter(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """A scatter, behind what makes all that it starts with, if a device would have a part of that."""
        (given, *others), (made,) = own.record.operands, own.record.results
        if given is None or made is None or elements_of(given) >= elements_of(made):
            yield own
            return
        base: Name = (own.results[0], "base")
        yield zeros_of(self.records, made, base, own.source)
        record = replace(own.record, operands=(made, *others))
        yield replace(own, record=record, operands=(base, *own.operands[1:]))
