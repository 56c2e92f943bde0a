"""Differences between the collectives of a local program and those that were forecast, with causes.

The forecast counts what Shardy's reshards require; the partitioner exchanges, gathers or merges where these
are not enough. Both trace their collectives to ops of the whole program, so differences are listed op by op.

    stablehlo.reverse at f.py:7: collective_permute 131.07 kB instead of halo_exchange 131.07 kB: permutes
    exchange the halo

Not here: the two reports (`report.py`), causes (`causes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from shardy_py.base.records import dataclass
from shardy_py.report.communication.collect import SENDING_KINDS, CollectiveUse
from shardy_py.report.communication.halos import KIND as HALO
from shardy_py.report.tables import bytes_text

_PERMUTE, _REDUCING = "collective_permute", frozenset({"all_reduce", "reduce_scatter"})


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An op of the whole program whose collectives in the local program are not the forecast ones.

    forecast, local: by kind, the bytes that each device receives in all runs.
    reason: of the difference, in words.
    """

    op: str
    location: str
    forecast: Mapping[str, int]
    local: Mapping[str, int]
    reason: str

    def __str__(self) -> str:
        place = f" at {self.location}" if self.location else ""
        return f"{self.op}{place}: {_kinds(self.local)} instead of {_kinds(self.forecast)}: {self.reason}"


def disagreements(
    forecast: Iterable[CollectiveUse], local: Iterable[CollectiveUse]
) -> tuple[Disagreement, ...]:
    """Returns the ops with other collectives, or bytes, than forecast, most bytes first."""
    sides = [_by_op(uses) for uses in (forecast, local)]
    found: list[Disagreement] = []
    for key in dict.fromkeys((*sides[0], *sides[1])):
        before, after = (side.get(key, _NOTHING) for side in sides)
        if before.bytes != after.bytes:
            reason = _reason(before.bytes, after.bytes, after.reason)
            found.append(Disagreement(*key, before.bytes, after.bytes, reason))
    return tuple(sorted(found, key=lambda each: -max(_total(each.forecast), _total(each.local))))


@dataclass(frozen=True, slots=True)
class _Sent:
    """By kind, the bytes that are sent because of an op, and the reason of most of them."""

    bytes: Mapping[str, int]
    reason: str


_NOTHING = _Sent({}, "")


def _by_op(uses: Iterable[CollectiveUse]) -> dict[tuple[str, str], _Sent]:
    """Returns what is sent because of each op, by its name and location."""
    groups: dict[tuple[str, str], list[CollectiveUse]] = {}
    for use in uses:
        if use.kind in SENDING_KINDS and use.total.bytes:
            groups.setdefault((use.cause.op, use.cause.location), []).append(use)
    found: dict[tuple[str, str], _Sent] = {}
    for key, members in groups.items():
        sent: Counter[str] = Counter()
        for use in members:
            sent[use.kind] += use.total.bytes
        found[key] = _Sent(sent, max(members, key=lambda use: use.total.bytes).cause.reason)
    return found


def _reason(forecast: Mapping[str, int], local: Mapping[str, int], cause: str) -> str:
    """Returns why the kinds or bytes differ; the first that holds."""
    for holds, reason in (
        (set(local) < set(forecast), "an equal collective of another op serves it, or it needs none"),
        (not forecast, f"Shardy inserts no reshard, but {cause}"),
        (HALO in forecast and set(local) == {_PERMUTE}, "permutes exchange the halo"),
        (HALO in forecast, "the halo is not exchanged: whole parts are gathered"),
        (
            _REDUCING & set(forecast) and not _REDUCING & set(local),
            "parts of the result are gathered",
        ),
        (set(forecast) == set(local), "the parts that are sent have other sizes"),
    ):
        if holds:
            return reason
    return "the partitioner moves the same parts by other collectives"


def _total(sent: Mapping[str, int]) -> int:
    return sum(sent.values())


def _kinds(sent: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {bytes_text(count)}" for kind, count in sorted(sent.items())) or "no collective"
