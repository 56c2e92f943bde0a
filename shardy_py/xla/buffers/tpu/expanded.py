"""The ops that XLA:TPU computes by others, too: kernels of products by groups, scatters into parts.

Not here: convolutions (`images.py`), collectives (`sends.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import SelectOp, TransposeOp
from shardy_py.ops import TABLE, OpRecord, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.buffers.needed_orders import needed_orders
from shardy_py.xla.buffers.storing import has_several
from shardy_py.xla.buffers.tpu.records import ELEMENT, NOTHING, PLACED, PLACES, Records, elements_of, step_of
from shardy_py.xla.buffers.tpu.sends import spread_of_element, zeros_of
from shardy_py.xla.buffers.tpu.sparse_cores import on_sparse_cores, runs_on_sparse_cores
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.parts import shape_of


def _turns_rows(record: OpRecord) -> bool:
    """True for a transpose of matrices that has another dimension as its last one."""
    order, made = integers(record.attributes, "permutation"), record.results[0]
    if made is None or len(order) < 2 or order[-1] == len(order) - 1:
        return False
    return all((made.shape[d] or 0) > 1 for d in (-1, order.index(len(order) - 1)))


@dataclass
class Expanded:
    """Expands ops; what several need is made once. sparse_cores: whether those run scatters of elements."""

    records: Records
    sparse_cores: bool = False
    _turned: dict[Name, PlannedOp] = field(default_factory=dict[Name, PlannedOp])
    """The transposes that change which dimension is in lanes, by their results."""
    _known: set[Name] = field(default_factory=set[Name])

    def steps(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """Yields a step, behind those that XLA:TPU adds to it."""
        row = COMPILED.of(own.record.name)
        if own.record.name == TransposeOp.name and _turns_rows(own.record):
            self._turned[own.results[0]] = own
        elif self._turned and TABLE[own.record.name].elementwise(own.record):
            yield from self._in_order(own)
            return
        if row.is_kernel and len(own.operands) > 2:
            yield from self._kernel(own)
        elif row.form is NodeForm.SCATTER and len(own.results) == 1:
            for step in self._scatter(own):
                is_apart = self.sparse_cores and runs_on_sparse_cores(step)
                yield from on_sparse_cores(self.records, step) if is_apart else (step,)
        elif STORED.of(own.record.name).is_constant and not has_several(own.record.attributes.get("value")):
            yield from self._constant(own)
        else:
            yield own

    def has_transposed(self, names: Iterable[Name]) -> bool:
        """Returns whether one of these values is transposed, so that a copy may be read instead."""
        return not self._turned.keys().isdisjoint(names)

    def _in_order(self, own: PlannedOp) -> Iterator[PlannedOp]:
        """An elementwise op, behind a copy of what is transposed if it reads that itself, too."""
        operands = [*own.operands]
        for number, name in enumerate(own.operands):
            step = self._turned.get(name)
            if step is not None and step.operands[0] in own.operands:
                operands[number] = copy = ("turned", name)
                if copy not in self._known:
                    self._known.add(copy)
                    record = self.records.of(PLACED, step.record.operands, step.record.results)
                    yield step_of(record, step.operands, (copy,), own.source)
        yield replace(own, operands=tuple(operands))

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

    def masked(self, own: PlannedOp) -> tuple[PlannedOp, PlannedOp | None]:
        """Returns a scatter whose results are summed, and the mask of what it starts with, in its order.

        One device starts with the value, the others with zeros.
        """
        base, *others = own.operands
        given, made = own.record.operands[0], own.record.results[0]
        if given is None or made is None:
            return own, None
        shapes = [() if type_ is None else shape_of(type_) for type_ in own.record.operands]
        order = dict(needed_orders(own.record, shapes, shape_of(made))).get(0)
        fixed = {} if order is None else {"minor_to_major": order.minor_to_major}
        masked: Name = (own.results[0], "masked")
        record = self.records.of(SelectOp.name, (TensorType((), "i1"), given, given), (given,), **fixed)
        mask = step_of(record, (NOTHING, base, NOTHING), (masked,), own.source)
        return replace(own, operands=(masked, *others)), mask

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
