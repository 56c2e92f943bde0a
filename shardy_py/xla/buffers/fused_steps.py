"""Steps of which some are computed in what reads them, and the products that are made with these.

Not here: which values are computed where (`fusion.py`, `fusion_costs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from shardy_py.base.records import dataclass
from shardy_py.xla.buffers.facet import STORED, StoredRow
from shardy_py.xla.spmd.program import Name, PlannedOp


@dataclass(frozen=True, eq=False)
class FusedSteps:
    """Steps, which are known by their numbers, and which of their results are fused.

    reads: for each step the stored names of what it reads. users: the steps that read each value. results:
    what the program returns.
    """

    steps: Sequence[PlannedOp]
    reads: Sequence[Sequence[Name]]
    users: Mapping[Name, Sequence[int]]
    fused: Collection[Name]
    results: Collection[Name] = ()

    def products(self) -> Mapping[Name, int]:
        """The values that products make alone, and that are not returned, each with its step."""
        return {
            step.results[0]: number
            for number, step in enumerate(self.steps)
            if len(step.results) == 1 and stored_row(step).is_product
            if step.results[0] not in self.fused and step.results[0] not in self.results
        }


def made_with(given: FusedSteps, stored: Collection[Name], elements: Callable[[Name], int]) -> set[Name]:
    """Returns the products that are made with what is made of them, which is stored: the last for each value.

    stored: fused values, as `stored_by_bytes` finds them.
    """
    found: dict[Name, Name] = {}
    for product in given.products() if stored else ():
        name = product
        while name not in stored and len(readers := given.users.get(name, ())) == 1:
            (made, *_) = given.steps[readers[0]].results or (None,)
            if made not in given.fused or elements(made) != elements(name):
                break
            name = made
        if name in stored:
            found[name] = product
    return {*found.values()}


def stored_row(step: PlannedOp) -> StoredRow:
    """Returns the facts that decide how the results of a step are stored."""
    return STORED.of(step.record.name)
