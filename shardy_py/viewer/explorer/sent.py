"""The collectives of a program as rows of the page, and how those of two programs differ.

Not here: the report (`shardy_py.report.communication`), the rest of the data (`document.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation

from shardy_py.base.json_values import Json
from shardy_py.report.communication import CollectiveUse, CommunicationReport
from shardy_py.report.tables import type_text

Row = list[Json]
_KIND, _AXES, _BYTES, _ITEM, _OPERAND, _PLACE = 0, 1, 3, 6, 7, 9


def collective_rows(
    report: CommunicationReport | None, text: Callable[[str], int], item_of: Callable[[CollectiveUse], int]
) -> list[Row]:
    """Returns for each: kind, axes, type, bytes of all runs, seconds, runs, item, operand, reason, place.

    text: the number of a text. item_of: the number of the item that needs it, -1 if none is drawn.
    """
    return [] if report is None else [_row(use, text, item_of(use)) for use in report.sending]


def _row(use: CollectiveUse, text: Callable[[str], int], item: int) -> Row:
    cause = use.cause
    axes = ", ".join(f"{name}={size}" for name, size in use.axes)
    words = use.kind, axes, type_text(use.type.shape, use.type.element)
    cost = use.total.bytes, use.total.seconds, use.times
    return [*map(text, words), *cost, item, cause.operand, text(cause.reason), text(cause.location)]


def differences(before: Sequence[Row], after: Sequence[Row]) -> list[list[list[int]]]:
    """Returns the collectives of two programs that differ, those with the most bytes of difference first.

    Each has the rows in the first and in the second program: those that are for one operand of one op, of
    one kind, along the same axes. What is needed by no op that both have goes by its place.
    """
    found: dict[tuple[Json, ...], tuple[list[int], list[int]]] = {}
    for side, rows in enumerate((before, after)):
        for number, row in enumerate(rows):
            where = row[_ITEM] if row[_ITEM] != -1 else f"at {row[_PLACE]}"
            key = row[_KIND], row[_AXES], where, row[_OPERAND]
            found.setdefault(key, ([], []))[side].append(number)
    sizes = [(_bytes(before, old), _bytes(after, new), old, new) for old, new in found.values()]
    changed = [each for each in sizes if each[0] != each[1]]
    return [[old, new] for _, _, old, new in sorted(changed, key=lambda each: -abs(each[1] - each[0]))]


def _bytes(rows: Sequence[Row], numbers: Sequence[int]) -> int:
    return sum(size for number in numbers if isinstance(size := rows[number][_BYTES], int))


def needed_by(
    use: CollectiveUse, of_op: Callable[[Operation | None], int], first_result: Callable[[], int]
) -> int:
    """Returns the item at which a collective is drawn: the op that needs it, else the first result."""
    made_for = use.cause.made_for
    return first_result() if made_for is None else of_op(made_for)
