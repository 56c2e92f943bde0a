"""Reports on a program with shardings, as values and as text.

`summary.py` counts values, `local_shapes.py` has what each device holds, `difference.py` compares programs,
`memory/`, `communication/` and `explain/` are reports of their own.

    print(summary_of(module))

Its own names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
_MODULES = dict.fromkeys(__all__, "summary") | dict.fromkeys(
    ("LocalValue", "local_shapes_data", "local_shapes_text", "local_values"), "local_shapes"
)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
