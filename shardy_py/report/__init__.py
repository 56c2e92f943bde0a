"""Reports on a program with shardings, as values and as text.

`summary.py` counts values, `local_shapes.py` has what each device holds, `difference.py` compares programs,
`memory/`, `communication/` and `explain/` are reports of their own.

    print(summary_of(module))
"""

from shardy_py.report.local_shapes import LocalValue, local_shapes_data, local_shapes_text, local_values
from shardy_py.report.summary import ReportedValue, Summary, collect_values, summarize, summary_of

__all__ = [
    "LocalValue",
    "ReportedValue",
    "Summary",
    "collect_values",
    "local_shapes_data",
    "local_shapes_text",
    "local_values",
    "summarize",
    "summary_of",
]
