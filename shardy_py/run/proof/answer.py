"""The answer of a proof: what was proven, on which shapes, within which bound; or the first wrong value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py.base.errors import Diagnostic, Position, ShardyError
from shardy_py.base.records import dataclass
from shardy_py.mlir.op_errors import place_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.composition import Composition
from shardy_py.run.proof.exactness import Exactness
from shardy_py.run.proof.findings import Tally, Wrong
from shardy_py.run.proof.names import names_in_file, printed_names
from shardy_py.run.proof.rounding import ROUNDINGS


@dataclass(frozen=True, slots=True)
class ValueFault:
    """The first wrong value.

    name: of the value in the local program, with its op. where: the line of the op in the source.
    device: its id; None: it is of no single device. index, whole_index: in the device's part, and in the
    whole tensor. execution: how often the device had executed the op before. source: the value of the whole
    program. origin: what the wrong element is, as an element of another tensor; "": unknown.
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
    source: SSAValue | None = None
    origin: str = ""

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
        got = f"{self.got} ({self.origin})" if self.origin else self.got
        return Diagnostic(what, self.where, expected=self.expected, got=got)

    def __str__(self) -> str:
        return str(self.diagnostic)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the program that fails alone.

    text: the program of it, with its shardings. ops: their number. fault: its first wrong value.
    command: proves it again.
    """

    text: str
    ops: int
    fault: str
    command: str

    def __str__(self) -> str:
        count = "1 op" if self.ops == 1 else f"{self.ops} ops"
        return f"smallest part that fails, {count}: {self.command}\n{self.fault}\n{self.text}"


def fault_of(
    wrong: Wrong, local: ModuleOp, whole: ModuleOp, sources: Mapping[SSAValue, SSAValue]
) -> ValueFault:
    """Returns the fault with names of values.

    sources: from values of `whole` to those that it is a copy of.
    """
    first = wrong.counterpart.whole[0]
    names = printed_names(local)(wrong.counterpart.value), names_in_file(whole)(first)
    source = first.owner
    op = wrong.op
    place = place_of(op)
    return ValueFault(
        f"{names[0]} = {op.name}, the part of {names[1]} = {getattr(source, 'name', 'an argument')}",
        place,
        wrong.what,
        wrong.device,
        wrong.at,
        wrong.whole_at,
        wrong.execution,
        wrong.expected,
        wrong.got,
        sources.get(first, first),
    )


@dataclass(frozen=True)
class Answer:
    """The values that a proof compared, and the first wrong one if any.

    fault: the first wrong value; None: there is none. seed: of the inputs. devices: their number.
    local_values: results of ops of the local program that stand for one of the whole program.
    tally: what was compared. is_wide: whether both ran in f64.
    runs: the runs of both programs, by what differs: padding, inputs.
    sizes: from the program's own size to that of the proof, where they differ.
    same_ops: whether the local program of those sizes has the same ops; None: the sizes are its own, or those
        of several programs.
    parts: the number of one-op programs that were proven; 0: the program was proven whole.
    branches: the number of one-op programs that were proven for branches that were not taken.
    left: ops that were not proven, with the reason, of those that were proven alone.
    partitioned: the programs that ran. smallest: a part that fails alone, if one was searched for.
    exactness: how it was proven exactly; None: in floats, and `why_floats`.
    untaken: the values of the whole program that no device computed, in branches that were not taken.
    composition: how the local program is made of the ops that were proven alone; None: they were not.
    hidden: the runs in which no result differs though the value of `fault` does; 0: a result differs.
    """

    fault: ValueFault | None
    seed: int
    devices: int
    local_values: int
    tally: Tally
    is_wide: bool = True
    runs: tuple[str, ...] = ("padding NaN",)
    sizes: tuple[tuple[int, int], ...] = ()
    same_ops: bool | None = None
    parts: int = 0
    branches: int = 0
    left: tuple[str, ...] = ()
    partitioned: Partitioned | None = field(default=None, repr=False)
    smallest: Part | None = None
    untaken: frozenset[SSAValue] = field(default=frozenset(), repr=False)
    exactness: Exactness | None = None
    why_floats: str = ""
    composition: Composition | None = None
    hidden: int = 0

    @property
    def is_equal(self) -> bool:
        """Returns whether no value was wrong."""
        return self.fault is None

    @property
    def is_complete(self) -> bool:
        """Returns whether all of the local program was proven, or it is wrong."""
        whole = self.composition is None or not self.composition.left
        return self.fault is not None or (whole and not self.left)

    def check(self) -> None:
        """Raises `ShardyError` if a value was wrong: with its place, and what was compared before."""
        if self.fault is not None:
            lines = [line.strip() for line in self._lines()]
            if self.smallest is not None:
                lines.append(str(self.smallest))
            notes = tuple(Diagnostic(line, severity="note") for line in lines)
            raise ShardyError(replace(self.fault.diagnostic, notes=notes))

    def to_json(self) -> dict[str, object]:
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
            "loose": len(tally.loose),
            "runs": list(self.runs),
            "sizes": dict(self.sizes),
            "same_ops": self.same_ops,
            "parts": self.parts,
            "untaken": len(self.untaken),
            "branches": self.branches,
            "left": list(self.left),
            "pieces": 0 if self.composition is None else self.composition.pieces,
            "not_composed": [] if self.composition is None else list(self.composition.left),
            "arithmetic": "floats" if self.exactness is None else "exact",
            "error": None if self.exactness is None else self.exactness.error,
            "degree": None if self.exactness is None else self.exactness.degree,
            "conditions": 0 if self.exactness is None else self.exactness.conditions,
            "one_sided": [] if self.exactness is None else list(self.exactness.one_sided),
            "whole_operands": [] if self.exactness is None else list(self.exactness.whole),
            "smallest": None if self.smallest is None else self.smallest.text,
        }

    def __bool__(self) -> bool:
        return self.is_equal

    def __str__(self) -> str:
        found = (self.fault, self.smallest)
        return "\n".join([*self._lines(), *(str(part) for part in found if part is not None)])

    def _lines(self) -> list[str]:
        tally = self.tally
        lines = [
            f"{'equal' if self.is_equal else 'different'}: {len(tally.compared):,} of {self.local_values:,} "
            f"values compared, {tally.elements:,} elements on {self.devices} devices"
            + ", element for element"
            * (self.exactness is not None),
            *self._arithmetic(),
        ]
        if self.parts:
            lines[1:1] = self._composed()
        if self.sizes:
            pairs = ", ".join(f"{old} -> {new}" for old, new in self.sizes)
            same = {
                None: "",
                True: "; the local program has the same ops",
                False: "; the local program has others",
            }
            lines.insert(1 + bool(self.parts), f"  smaller sizes: {pairs}{same[self.same_ops]}")
        if self.untaken:
            proven = f": their {self.branches:,} different ops were proven alone" if self.branches else ""
            lines.append(f"  {len(self.untaken):,} values are in branches that were not taken{proven}")
        if self.runs[1:] and self.exactness is None:
            lines.append(f"  runs: {', '.join(self.runs)}")
        if tally.nans:
            lines.append(f"  {tally.nans:,} tensors hold NaN")
        if tally.loose:
            lines.append(
                f"  {len(tally.loose):,} values have bounds above 0.001 of their largest element: "
                "rounded inputs change them that much"
            )
        if tally.unknown or tally.unmatched:
            lines.append(
                f"  not compared: {len(tally.unknown):,} values of unknown sharding, "
                f"{len(tally.unmatched):,} with other numbers of executions"
            )
        lines += (f"  not proven: {reason}" for reason in self.left)
        if self.hidden:
            lines.append(f"  no result differs in {self.hidden:,} runs: nothing reads what is wrong")
        return lines

    def _composed(self) -> list[str]:
        """The pieces that were proven op by op, and how the local program is made of it."""
        count = "1 op" if self.parts == 1 else f"{self.parts:,} ops, each"
        text, composition = f"  {count} as a program of its own", self.composition
        if composition is None:
            return [f"{text}; no loops, calls and order of ops"]
        made = f"{text}; the local program is made of them: {composition.pieces:,} computations"
        if not composition.left:
            return [made]
        return [f"{made}, but for those of {', '.join(composition.left)}"]

    def _arithmetic(self) -> list[str]:
        """The inputs, and how elements were compared."""
        tally, exactness = self.tally, self.exactness
        if exactness is not None:
            padding = f"; {tally.padded:,} elements of padding, another random value on each device"
            inputs = f"inputs: seed {self.seed}, {self._shapes()}{padding * bool(tally.padded)}"
            first, *others = exactness.lines()
            return [f"  {line}" for line in (inputs, first, *others)]
        kind = "f64" if self.is_wide else "the program's own types"
        rounding = f"{ROUNDINGS} roundings and {ROUNDINGS} times the effect of rounded inputs"
        why = f" ({self.why_floats})" if self.why_floats not in ("", "asked for") else ""
        return [
            f"  inputs: seed {self.seed}, {self._shapes()}; {tally.padded:,} elements of padding poisoned",
            f"  floats: run in {kind}{why}, bound {rounding}, "
            f"largest difference {_share(tally.largest)} of it",
            f"  integers: {tally.exact:,} elements compared, all must be equal; replicas bit for bit",
        ]

    def _shapes(self) -> str:
        return "smaller shapes" if self.sizes else "the program's own shapes"


def _share(largest: float) -> str:
    """The next power of ten from 0.0001 on: the digits depend on the order in which a processor sums.

    >>> _share(0.00032), _share(0.0), _share(7.0)
    ('below 0.001', 'below 0.0001', 'below 10')
    """
    return f"below {max(10.0 ** math.ceil(math.log10(largest)), 1e-4) if largest else 1e-4:g}"
