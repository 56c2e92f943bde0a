"""The bill: all collectives of a program, summed by kind, by axis and by source line; as text and JSON.

    bill = communication_bill(module, DEFAULT)
    bill.total.bytes
    print(bill_text(bill))

Not here: finding them (`collect.py`), what they cost (`partition/cost.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from shardy_py.errors import ShardyError
from shardy_py.partition.cost import DEFAULT, Cost, CostModel
from shardy_py.report.collect import module_meshes
from shardy_py.report.communication.causes import Cause, Causes
from shardy_py.report.communication.collect import SENDING_KINDS, Use, collect_uses
from shardy_py.report.tables import bytes_text, table

SCHEMA = 1
UNKNOWN_PLACE = "(no location)"
MOST_TRACED = 5
"""Of so many collectives a text tells what meets there."""


@dataclass(frozen=True, slots=True)
class Sum:
    """Collectives of one kind, axis or line: how many, how often they run in all, what that costs."""

    key: str
    count: int
    times: int
    cost: Cost


@dataclass(frozen=True)
class Bill:
    """What a program sends between devices.

    uses: its collectives in program order, those that send nothing (`all_slice`) among them.
    model: the machine that seconds are of.
    """

    uses: tuple[Use, ...]
    model: CostModel

    @cached_property
    def sending(self) -> tuple[Use, ...]:
        """The collectives that send anything."""
        return tuple(use for use in self.uses if use.kind in SENDING_KINDS)

    @property
    def total(self) -> Cost:
        """The cost of all."""
        return sum((use.total for use in self.uses), Cost())

    @property
    def counts(self) -> dict[str, int]:
        """How many collectives of each kind the program has."""
        return {entry.key: entry.count for entry in self.by_kind}

    @property
    def by_kind(self) -> tuple[Sum, ...]:
        """The sums of each kind, the dearest first."""
        return _sums(self.uses, lambda use: use.kind)

    @property
    def by_axes(self) -> tuple[Sum, ...]:
        """The sums of each set of axes, the dearest first."""
        return _sums(self.sending, lambda use: ", ".join(name for name, _ in use.axes) or "(none)")

    @property
    def by_line(self) -> tuple[Sum, ...]:
        """The sums of each line of the source, the dearest first."""
        return _sums(self.sending, lambda use: _line(use.cause))

    def __str__(self) -> str:
        return bill_text(self)


def communication_bill(
    module: ModuleOp,
    model: CostModel = DEFAULT,
    record: Iterable[object] = (),
    originals: Mapping[Operation, Operation] | None = None,
) -> Bill:
    """The bill of a module whose reshards have become collectives.

    record: what the passes noted. originals: by op, that of the module before.
    Raises `ShardyError` when the model has links of an axis that no mesh of the module has.
    """
    known = dict.fromkeys(axis.name for mesh in module_meshes(module).values() for axis in mesh.axes)
    unknown = next((axis for axis in model.by_axis if axis not in known), None)
    if known and unknown is not None:
        names = ", ".join(f'"{name}"' for name in known)
        raise ShardyError(
            f'the cost model has a link of axis "{unknown}"; the axes of the program are {names}'
        )
    return Bill(collect_uses(module, model, Causes(record, originals)), model)


def bill_text(
    bill: Bill, most: int = 20, sides_of: Callable[[Use], Sequence[object]] = lambda use: ()
) -> str:
    """The sums, then the dearest collectives, at most `most` of each; what meets at the dearest few.

    sides_of: what that is, each in a phrase.
    """
    if not bill.sending:
        return "The program needs no communication."
    heads = ("collective", "axes", "lines")
    sums = (bill.by_kind, bill.by_axes, bill.by_line)
    parts = [_sum_table(head, rows[:most], len(rows)) for head, rows in zip(heads, sums, strict=True)]
    dearest = sorted(bill.sending, key=lambda use: (-use.total.seconds, -use.total.bytes))
    rows = [("collective", "axes", "tensor", "times", "bytes", "time", "for", "at")]
    rows += [_row(use) for use in dearest[:most]]
    listing = table(rows, left=(0, 1, 2, 6, 7)) + _rest(len(dearest) - most)
    total = bill.total
    count = len(bill.sending)
    summary = (
        f"{count} collective{'s' if count > 1 else ''}; each device takes in {bytes_text(total.bytes)} "
        f"in {seconds_text(total.seconds)} on {bill.model.name}."
    )
    notes = [summary]
    if any(use.is_estimate for use in bill.sending):
        notes.append("*: within a loop whose number of turns is not known; counted once.")
    met = [_met(use, sides) for use in dearest[:MOST_TRACED] if (sides := sides_of(use))]
    traced = ["\n".join(["the dearest, with what to change:", *met])] if met else []
    return "\n\n".join([*parts, listing, *traced, "\n".join(notes)])


def _met(use: Use, sides: Iterable[object]) -> str:
    head = f"  {use.kind} over {_axes(use)} at {use.cause.location or UNKNOWN_PLACE}"
    return "\n".join([head, *(f"    {side}" for side in sides)])


def bill_json(bill: Bill) -> dict[str, Any]:
    """The bill for tools; docs/communication.md describes the schema."""
    return {
        "schema": SCHEMA,
        "model": {"name": bill.model.name, "source": bill.model.source},
        "total": _cost_json(bill.total),
        "by_kind": [_sum_json(entry) for entry in bill.by_kind],
        "by_axes": [_sum_json(entry) for entry in bill.by_axes],
        "by_line": [_sum_json(entry) for entry in bill.by_line],
        "collectives": [_use_json(use) for use in bill.uses],
    }


def seconds_text(seconds: float) -> str:
    """Seconds in the unit that leaves at least one.

    >>> seconds_text(0), seconds_text(2.5e-6), seconds_text(0.25), seconds_text(3)
    ('0 s', '2.50 us', '250.00 ms', '3.00 s')
    """
    if seconds == 0:
        return "0 s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


def _sums(uses: Iterable[Use], key: Callable[[Use], str]) -> tuple[Sum, ...]:
    groups: dict[str, list[Use]] = {}
    for use in uses:
        groups.setdefault(key(use), []).append(use)
    sums = [
        Sum(name, len(members), sum(use.times for use in members), sum((u.total for u in members), Cost()))
        for name, members in groups.items()
    ]
    return tuple(sorted(sums, key=lambda entry: (-entry.cost.seconds, -entry.cost.bytes, entry.key)))


def _line(cause: Cause) -> str:
    """File and line, or the name that the source gives."""
    place = cause.position
    return f"{place.file}:{place.line}" if place is not None else cause.location or UNKNOWN_PLACE


def _sum_table(head: str, rows: tuple[Sum, ...], count: int) -> str:
    lines = [(head, "count", "runs", "bytes", "time")]
    lines += [
        (
            row.key,
            f"{row.count:,}",
            f"{row.times:,}",
            bytes_text(row.cost.bytes),
            seconds_text(row.cost.seconds),
        )
        for row in rows
    ]
    return table(lines) + _rest(count - len(rows))


def _rest(count: int) -> str:
    return f"\n... and {count} more" if count > 0 else ""


def _axes(use: Use) -> str:
    return ", ".join(f"{name}={size}" for name, size in use.axes)


def _row(use: Use) -> tuple[str, ...]:
    sizes = "x".join("?" if size is None else str(size) for size in use.type.shape)
    star = "*" if use.is_estimate else ""
    return (
        use.kind,
        _axes(use),
        f"{sizes}{'x' if sizes else ''}{use.type.element}",
        f"{use.times:,}{star}",
        bytes_text(use.cost.bytes),
        seconds_text(use.cost.seconds),
        use.cause.reason,
        use.cause.location or UNKNOWN_PLACE,
    )


def _cost_json(cost: Cost) -> dict[str, float]:
    return {"bytes": cost.bytes, "seconds": cost.seconds}


def _sum_json(entry: Sum) -> dict[str, Any]:
    return {"key": entry.key, "count": entry.count, "runs": entry.times, **_cost_json(entry.cost)}


def _use_json(use: Use) -> dict[str, Any]:
    cause = use.cause
    return {
        "kind": use.kind,
        "axes": [{"name": name, "size": size} for name, size in use.axes],
        "value": use.value,
        "function": use.function,
        "shape": list(use.type.shape),
        "element_type": use.type.element,
        "source": None if use.source is None else str(use.source),
        "target": None if use.target is None else str(use.target),
        "held_bytes": use.held_bytes,
        **_cost_json(use.cost),
        "times": use.times,
        "is_estimate": use.is_estimate,
        "cause": {
            "op": cause.op,
            "operand": cause.operand,
            "reason": cause.reason,
            "location": cause.location,
            "is_explicit": cause.is_explicit,
        },
    }
