"""The report on Shardy's partitioner: the forecast of its reshards, and what the local program sends instead.

The forecast names values and shardings of the whole program. For an op whose collectives in the local program
are of other kinds, bytes or runs, those count: reshapes without a common factor gather, equal collectives are
merged. Permutes that exchange halos are still called that.

Not here: the two reports (`report.py`), the differences in words (`agreement.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.report.communication.collect import SENDING_KINDS, CollectiveUse
from shardy_py.report.communication.halos import KIND as HALO
from shardy_py.report.communication.report import CommunicationReport

_PERMUTE = "collective_permute"
Key = tuple[str, str]
"""The name and the location of the op that requires a collective."""


def reconciled(forecast: CommunicationReport, local: CommunicationReport) -> CommunicationReport:
    """Returns the forecast with the collectives of the local program where it has others.

    Nothing is left out then, so that warnings of what is not counted are dropped.
    """
    sides = _by_op(forecast.collectives), _by_op(local.collectives)
    differing = {
        key for key in (*sides[0], *sides[1]) if _sent(sides[0].get(key)) != _sent(sides[1].get(key))
    }
    uses: list[CollectiveUse] = []
    done: set[Key] = set()
    for use in forecast.collectives:
        key = _key(use)
        if use.kind not in SENDING_KINDS or key not in differing:
            uses.append(use)
        elif key not in done:
            done.add(key)
            uses += _named(sides[1].get(key, ()), sides[0][key])
    for key, others in sides[1].items():
        if key in differing - done:
            uses += others
    return replace(forecast, collectives=tuple(uses), warnings=())


def rejected(forecast: CommunicationReport, error: ShardyError) -> CommunicationReport:
    """Returns the forecast for a program that the partitioner rejects, which a warning says."""
    message = f"what Shardy's reshards send, not what a local program does: {error.first.message}"
    return replace(forecast, warnings=(*forecast.warnings, Diagnostic(message, error.first.where)))


def _by_op(uses: Iterable[CollectiveUse]) -> dict[Key, list[CollectiveUse]]:
    found: dict[Key, list[CollectiveUse]] = {}
    for use in uses:
        if use.kind in SENDING_KINDS:
            found.setdefault(_key(use), []).append(use)
    return found


def _named(local: Iterable[CollectiveUse], forecast: Iterable[CollectiveUse]) -> list[CollectiveUse]:
    """Returns the collectives of an op; its permutes are exchanges of halos if these were forecast alone."""
    kinds = {use.kind for use in forecast}
    is_halo = HALO in kinds and _PERMUTE not in kinds
    return [replace(use, kind=HALO) if is_halo and use.kind == _PERMUTE else use for use in local]


def _key(use: CollectiveUse) -> Key:
    return use.cause.op, use.cause.location


def _sent(uses: Iterable[CollectiveUse] | None) -> Counter[tuple[str, int, int]]:
    """Returns the kinds, bytes and runs of collectives, with their number; halos are sent by permutes."""
    kinds = ((_PERMUTE if use.kind == HALO else use.kind, use) for use in uses or ())
    return Counter((kind, use.cost.bytes, use.times) for kind, use in kinds)
