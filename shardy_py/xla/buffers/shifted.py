"""The values that XLA:TPU stores with the sum of their exponentials: a product less its largest elements.

`log_softmax` of logits subtracts the largest element of each row, and adds up the exponentials. With what
makes the logits, or reads their sum over devices, this is one fusion, of the sums and the differences, if
these are read elsewhere, too, and rows have two dimensions or more. In other programs the largest elements
are stored, and subtracted again in each reader. Source: the HLO of XLA:TPU for 40 small programs, and 10 such
fusions in 466.

Not here: the other fusions of several values (`several_results.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.ops import TABLE, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_RANK = 3


def shifted_values(
    steps: Sequence[PlannedOp],
    reads: Sequence[Sequence[Name]],
    users: Mapping[Name, Sequence[int]],
    types: Mapping[Name, TensorType],
) -> set[Name]:
    """Returns the products less their largest elements that are stored with the sums of their exponentials.

    reads: for each step the stored names of what it reads. users: the steps that read each value.
    """
    search = _Search(types)
    for step, names in zip(steps, reads, strict=True):
        if len(step.results) == 1:
            search.add(step, names)
    readers = ((name, users.get(name, ())) for name in search.shifted)
    return {
        name
        for name, own in readers
        if len(own) > 1 and any(STORED.of(steps[each].record.name).sums_shifted for each in own)
    }


@dataclass
class _Search:
    """made: values that are made with products, also summed over devices. largest: by what is made of the
    reduced rows of such a value alone, that value."""

    types: Mapping[Name, TensorType]
    made: set[Name] = field(default_factory=set[Name], init=False)
    largest: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)
    shifted: set[Name] = field(default_factory=set[Name], init=False)

    def add(self, step: PlannedOp, reads: Sequence[Name]) -> None:
        """Adds a step behind those that make what it reads."""
        (name,), record = step.results, step.record
        row, form = TABLE[record.name], COMPILED.of(record.name).form
        sources = [self.largest[each] for each in reads if each in self.largest]
        if STORED.of(record.name).is_product:
            self.made.add(name)
        elif form is NodeForm.REDUCE and reads and reads[0] in self.made and self._is_of_rows(step, reads[0]):
            self.largest[name] = reads[0]
        elif sources and row.elementwise(record) and sources[0] in reads:
            self.shifted.add(name)
        elif sources and (row.elementwise(record) or form in (NodeForm.BROADCAST, NodeForm.RESHAPE)):
            self.largest[name] = sources[0]
        elif (row.elementwise(record) or row.collective is not None) and not self.made.isdisjoint(reads):
            self.made.add(name)

    def _is_of_rows(self, step: PlannedOp, source: Name) -> bool:
        """True for a reduction along the last of at least three dimensions."""
        type_ = self.types.get(source)
        if type_ is None or type_.rank < _RANK:
            return False
        return integers(step.record.attributes, "dimensions") == (type_.rank - 1,)
