"""The answer of a proof: what was proven, on which shapes, within which bound; or the first wrong value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from shardy_py.dialects.registry import syntax_table
from shardy_py.errors import Diagnostic, Position, ShardyError
from shardy_py.graph.op_errors import place_of
from shardy_py.proof.comparison import Tally, Wrong
from shardy_py.proof.rounding import ROUNDINGS
from shardy_py.text.naming import ValueNames


@dataclass(frozen=True, slots=True)
class Fault:
    """The first wrong value.

    name: of the value in the local program, with its op. where: the line of the op in the source.
    device: its id; None: it is of no single device. index, whole_index: in the device's part, and in the
    whole tensor. execution: how often the device had executed the op before. whole_name: of the value in the
    whole program.
    """

    name: str
    where: Position | None
    what: str
    device: int | None
    index: tuple[int, ...] | None
    whole_index: tuple[int, ...] | None
    execution: int
    expected: str
    got: str
    whole_name: str = ""

    @property
    def diagnostic(self) -> Diagnostic:
        """The fault as an error with its place."""
        where = "" if self.device is None else f" on device {self.device}"
        if self.index is not None:
            where += f" at {list(self.index)}"
            if self.whole_index not in (None, self.index):
                where += f", {list(self.whole_index or ())} of the whole tensor"
        if self.execution:
            where += f", execution {self.execution}"
        what = f"{self.name}: {self.what}{where}"
        return Diagnostic(what, self.where, expected=self.expected, got=self.got)

    def __str__(self) -> str:
        return str(self.diagnostic)


def fault_of(wrong: Wrong, local: ModuleOp, whole: ModuleOp) -> Fault:
    """Returns the fault with names of values."""
    first = wrong.counterpart.whole[0]
    names = [
        ValueNames(module, syntax_table()).of.get(id(value), "a value")
        for module, value in ((local, wrong.counterpart.value), (whole, first))
    ]
    source = first.owner
    op = wrong.op
    place = place_of(op)
    return Fault(
        f"{names[0]} = {op.name}, the part of {names[1]} = {getattr(source, 'name', 'an argument')}",
        place,
        wrong.what,
        wrong.device,
        wrong.at,
        wrong.whole_at,
        wrong.execution,
        wrong.expected,
        wrong.got,
        names[1],
    )


@dataclass(frozen=True)
class Answer:
    """The values that a proof compared, and the first wrong one if any.

    fault: the first wrong value; None: there is none. seed: of the inputs. devices: their number.
    local_values: results of ops of the local program that stand for one of the whole program.
    tally: what was compared. is_wide: whether both ran in f64.
    """

    fault: Fault | None
    seed: int
    devices: int
    local_values: int
    tally: Tally
    is_wide: bool = True

    @property
    def is_equal(self) -> bool:
        """Returns whether no value was wrong."""
        return self.fault is None

    def check(self) -> None:
        """Raises `ShardyError` if a value was wrong: with its place, and what was compared before."""
        if self.fault is not None:
            notes = tuple(Diagnostic(line.strip(), severity="note") for line in self._lines())
            raise ShardyError(replace(self.fault.diagnostic, notes=notes))

    def to_json(self) -> dict[str, Any]:
        """Returns the answer for JSON."""
        tally = self.tally
        return {
            "is_equal": self.is_equal,
            "fault": None if self.fault is None else str(self.fault),
            "seed": self.seed,
            "devices": self.devices,
            "local_values": self.local_values,
            "compared_values": len(tally.compared),
            "elements": tally.elements,
            "exact_elements": tally.exact,
            "padding": tally.padded,
            "largest_difference": tally.largest,
            "unknown": len(tally.unknown),
            "unmatched": len(tally.unmatched),
        }

    def __bool__(self) -> bool:
        return self.is_equal

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *([] if self.fault is None else [str(self.fault)])])

    def _lines(self) -> list[str]:
        tally = self.tally
        kind = "f64" if self.is_wide else "the program's own types"
        rounding = f"{ROUNDINGS} roundings and {ROUNDINGS} times the effect of rounded inputs"
        lines = [
            f"{'equal' if self.is_equal else 'different'}: {len(tally.compared):,} of {self.local_values:,} "
            f"values compared, {tally.elements:,} elements on {self.devices} devices",
            f"  inputs: seed {self.seed}, the program's own shapes; "
            f"{tally.padded:,} elements of padding poisoned",
            f"  floats: run in {kind}, bound {rounding}, largest difference {_share(tally.largest)} of it",
            f"  integers: {tally.exact:,} elements compared, all must be equal; replicas bit for bit",
        ]
        if tally.nans:
            lines.append(f"  {tally.nans:,} tensors hold only NaN")
        if tally.unknown or tally.unmatched:
            lines.append(
                f"  not compared: {len(tally.unknown):,} values of unknown sharding, "
                f"{len(tally.unmatched):,} with other numbers of executions"
            )
        return lines


def _share(largest: float) -> str:
    """The next power of ten: the digits depend on the order in which a processor sums.

    >>> _share(0.00032), _share(0.0), _share(7.0)
    ('below 0.001', '0', 'below 10')
    """
    return f"below {10.0 ** math.ceil(math.log10(largest)):g}" if largest else "0"
