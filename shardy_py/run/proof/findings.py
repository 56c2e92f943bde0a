"""The findings of a comparison: the first wrong value, and counts of what was compared.

Not here: the comparison (`comparison.py`), what an answer says of them (`answer.py`).
"""

from __future__ import annotations

from dataclasses import field

from xdsl.ir import Operation, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.run.proof.correspondences import Counterpart


@dataclass(frozen=True, slots=True, eq=False)
class Wrong:
    """The first wrong value.

    op: of the local program. index: the number of its result. device: its id. at: the index in the device's
    part; () for a fault of the whole part. whole_at: the index in the whole tensor. execution: how often the
    device had executed the op before. expected, got: the elements, or what is wrong with the part.
    """

    what: str
    op: Operation
    index: int
    counterpart: Counterpart
    execution: int = 0
    device: int | None = None
    at: tuple[int, ...] | None = None
    whole_at: tuple[int, ...] | None = None
    expected: str = ""
    got: str = ""


class WrongValue(Exception):
    """Ends a run at the first wrong value."""

    def __init__(self, wrong: Wrong) -> None:
        super().__init__(wrong.what)
        self.wrong = wrong


@dataclass(eq=False)
class Tally:
    """Counts of what was compared.

    values, elements: compared tensors, and elements on all devices. padded: elements of padding left out.
    exact: elements that must be equal. largest: the largest difference as a share of the bound.
    unknown: values without a known sharding. unmatched: executions that the whole program does not have.
    nans: tensors of which an element is NaN. loose: values with a bound above a thousandth of their largest
    element, because rounded inputs change them that much.
    """

    values: int = 0
    elements: int = 0
    padded: int = 0
    exact: int = 0
    largest: float = 0.0
    nans: int = 0
    unknown: set[SSAValue] = field(default_factory=set[SSAValue])
    unmatched: set[SSAValue] = field(default_factory=set[SSAValue])
    compared: set[SSAValue] = field(default_factory=set[SSAValue])
    loose: set[SSAValue] = field(default_factory=set[SSAValue])

    def add_run(self, other: Tally) -> None:
        """Adds another run of the same programs: the largest difference, and what no run compares well."""
        self.largest = max(self.largest, other.largest)
        self.nans = min(self.nans, other.nans)
        self.loose &= other.loose
        self.compared |= other.compared

    def add(self, other: Tally) -> None:
        """Adds the tally of other programs."""
        for name in ("values", "elements", "padded", "exact", "nans"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)
        for name in ("unknown", "unmatched", "compared", "loose"):
            getattr(self, name).update(getattr(other, name))
