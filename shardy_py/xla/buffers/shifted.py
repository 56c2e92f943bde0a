"""The values that XLA:TPU stores with the sum of their exponentials: rows less their largest elements.

`log_softmax` of logits subtracts the largest element of each row, and adds up the exponentials. With what
makes the logits, or reads their sum over devices, this is one fusion, of the sums and the differences, if
these are read elsewhere, too, and rows have two dimensions or more. In other programs the largest elements
are stored, and subtracted again in each reader. Source: the HLO of XLA:TPU for 40 small programs, and 10 such
fusions in 466.

A softmax reads the exponentials again, and they are stored. That is so unless a product reads the quotients
as they are, which computes the exponentials itself; it does not if what they are of is a product itself.
Largest elements of bf16 are found before a conversion, so that nothing is one fusion with them: the logits of
a loss stay bf16. Source: the HLO for 60 programs of attention.

Not here: the other fusions of several values (`several_results.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import MaximumOp
from shardy_py.ops import TABLE, TensorType
from shardy_py.ops.reads import integers
from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.targets.facet import COMPILED, NodeForm

_RANK = 3
_SPREADING = frozenset({NodeForm.BROADCAST, NodeForm.RESHAPE, NodeForm.CONVERT})


def shifted_values(
    steps: Sequence[PlannedOp],
    reads: Sequence[Sequence[Name]],
    users: Mapping[Name, Sequence[int]],
    types: Mapping[Name, TensorType],
) -> set[Name]:
    """Returns the values less their largest elements, or the exponentials, that are stored with their sums.

    reads: for each step the stored names of what it reads. users: the steps that read each value.
    """
    search = _Search(types)
    for step, names in zip(steps, reads, strict=True):
        if len(step.results) == 1:
            search.add(step, names)
    found = set[Name]()
    for name, source in search.shifted.items():
        own = users.get(name, ())
        powers = [each for each in own if STORED.of(steps[each].record.name).sums_shifted]
        if len(own) > 1 and powers and source in search.made:
            found.add(name)
        elif len(own) == 1 and powers:
            (power,) = steps[powers[0]].results
            if search.is_whole(source) or not _is_weighting(power, steps, users):
                found |= {power}.intersection(_summed(power, steps, users, search))
    return found


def _summed(
    name: Name, steps: Sequence[PlannedOp], users: Mapping[Name, Sequence[int]], search: _Search
) -> Iterator[Name]:
    """A value if something else reads it than what sums its rows."""
    readers = [steps[each] for each in users.get(name, ())]
    if len(readers) > 1 and any(search.is_of_rows(step, name) for step in readers):
        yield name


def _is_weighting(name: Name, steps: Sequence[PlannedOp], users: Mapping[Name, Sequence[int]]) -> bool:
    """True if a product reads a value, or what one op makes of it; not if that is converted first."""
    names = {name, *(made for each in users.get(name, ()) for made in steps[each].results)}
    readers = {each for own in names for each in users.get(own, ())}
    products = (steps[each] for each in readers if STORED.of(steps[each].record.name).is_product)
    return any(not names.isdisjoint(step.operands) for step in products)


@dataclass
class _Search:
    """made: values that are made with products, also summed over devices; products: those that are one.
    largest: by the reduced rows of a value, as they are spread, that value; shifted: by such a value less
    its largest elements. wide: by what is converted from bf16, that."""

    types: Mapping[Name, TensorType]
    made: set[Name] = field(default_factory=set[Name], init=False)
    products: set[Name] = field(default_factory=set[Name], init=False)
    largest: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)
    shifted: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)
    wide: dict[Name, Name] = field(default_factory=dict[Name, Name], init=False)

    def add(self, step: PlannedOp, reads: Sequence[Name]) -> None:
        """Adds a step behind those that make what it reads."""
        (name,), record = step.results, step.record
        row, form = TABLE[record.name], COMPILED.of(record.name).form
        sources = [self.largest[each] for each in reads if each in self.largest]
        if STORED.of(record.name).is_product:
            self.made.add(name)
            self.products.add(name)
        elif form is NodeForm.REDUCE and reads and self.is_of_rows(step, reads[0]):
            self.largest[name] = self.wide.get(reads[0], reads[0])
        elif sources and row.elementwise(record) and sources[0] in reads:
            self.shifted[name] = sources[0]
        elif sources and (record.name == MaximumOp.name or form in _SPREADING):
            self.largest[name] = sources[0]
        elif row.elementwise(record) or row.collective is not None:
            if not self.made.isdisjoint(reads):
                self.made.add(name)
            if form is NodeForm.CONVERT and self._is_narrow(reads[0]):
                self.wide[name] = reads[0]

    def is_whole(self, name: Name) -> bool:
        """True for a product as it is: one with a dimension of one element is reshaped behind it."""
        type_ = self.types.get(name)
        return name in self.products and type_ is not None and 1 not in type_.shape

    def is_of_rows(self, step: PlannedOp, source: Name) -> bool:
        """True for a reduction along the last of at least three dimensions."""
        type_ = self.types.get(source)
        if type_ is None or type_.rank < _RANK or COMPILED.of(step.record.name).form is not NodeForm.REDUCE:
            return False
        return integers(step.record.attributes, "dimensions") == (type_.rank - 1,)

    def _is_narrow(self, name: Name) -> bool:
        type_ = self.types.get(name)
        return type_ is not None and type_.element == "bf16"
