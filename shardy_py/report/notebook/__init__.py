"""Results in notebooks: small HTML without scripts, rows for tables, short texts.

`html.py` has the parts that reports are shown with, `palette.py` the colours of axes, `rows.py` tables as
plain values, CSV and pandas, `short.py` the texts of `repr`. They know no report: each report describes
itself with them in its `_repr_html_` and `to_rows`.
"""

from shardy_py.base.rows import Plain, Row, Rows, Tabular, csv_text, to_pandas
from shardy_py.report.notebook.html import (
    MOST_ROWS,
    Cell,
    Colours,
    Html,
    axes_html,
    block,
    colours_of,
    picture,
    preformatted,
    sharding_html,
    table_html,
    text_html,
)
from shardy_py.report.notebook.palette import PALETTE
from shardy_py.report.notebook.short import short_repr

__all__ = [
    "MOST_ROWS",
    "PALETTE",
    "Cell",
    "Colours",
    "Html",
    "Plain",
    "Row",
    "Rows",
    "Tabular",
    "axes_html",
    "block",
    "colours_of",
    "csv_text",
    "picture",
    "preformatted",
    "sharding_html",
    "short_repr",
    "table_html",
    "text_html",
    "to_pandas",
]
