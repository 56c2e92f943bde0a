r"""Tables as plain values: dictionaries, CSV, and pandas if it is installed.

>>> print(csv_text([{"name": "a,b", "bytes": 12}, {"name": "c", "bytes": None}]), end="")
name,bytes
"a,b",12
c,

Not here: which rows a report has (its `to_rows`), tables of text (`report/tables.py`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib import import_module
from io import StringIO
from typing import ClassVar

from shardy_py.base.errors import ShardyError
from shardy_py.base.patterns import on_use
from shardy_py.base.terminal import without_controls

_FORMULA = on_use(r"\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n]")
_NUMBER = on_use(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
Plain = str | int | float | bool | None
Row = dict[str, Plain]
Rows = list[Row]


class Tabular(ABC):
    """An object with rows: a report, findings, a comparison. `columns` are those of each row, in order."""

    __slots__ = ()
    columns: ClassVar[tuple[str, ...]]

    @abstractmethod
    def to_rows(self) -> Rows:
        """Returns the rows, of plain values."""

    def to_csv(self) -> str:
        """Returns the rows as CSV, with a header."""
        return csv_text(self.to_rows(), self.columns)

    def to_pandas(self) -> object:
        """Returns the rows as a `pandas.DataFrame`. Raises `ShardyError` if pandas is not installed."""
        return to_pandas(self.to_rows(), self.columns)


def csv_text(rows: Iterable[Row], columns: Sequence[str] = ()) -> str:
    """Returns rows as CSV with a header line; lines end as on Unix.

    columns: of the header, also if there are no rows; by default those of the first row. Texts are escaped as
    for a terminal, and so that spreadsheets do not take them for formulas.
    """
    listed = [*rows]
    names = [*columns] or [*(listed[0] if listed else ())]
    out = StringIO()
    import csv  # few reports become CSV

    writer = csv.writer(out, lineterminator="\n")
    if names:
        writer.writerow(names)
    writer.writerows([_csv_cell(row.get(name)) for name in names] for row in listed)
    return out.getvalue()


def _csv_cell(cell: Plain) -> Plain:
    if not isinstance(cell, str):
        return cell
    return without_controls(without_formula(cell), lines=False)


def without_formula(text: str) -> str:
    """Returns a text so that a spreadsheet shows it: an apostrophe precedes what could begin a formula.

    Names of programs may be anything. Numbers stay numbers.

    >>> [without_formula(text) for text in ("=1+1", "@f:%0", "-1.5e-3", "%arg0")]
    ["'=1+1", "'@f:%0", '-1.5e-3', '%arg0']
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def to_pandas(rows: Iterable[Row], columns: Sequence[str] = ()) -> object:
    """Returns rows as a `pandas.DataFrame`.

    Raises:
        ShardyError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ShardyError("to_pandas needs pandas, which is not installed; pip install pandas") from None
    return pandas.DataFrame([*rows], columns=[*columns] or None)
