"""What came out, as tables a person reads.

Collecting reads the IR (`collect.py`), counting works on plain values (`summary.py`), `tables.py` is text.

    print(summary_text(summarize(collect_values(module)), module_meshes(module)))
"""

from shardy_py.report.collect import collect_values, module_meshes
from shardy_py.report.local_shapes import LocalValue, local_values
from shardy_py.report.local_tables import local_shapes_data, local_shapes_text
from shardy_py.report.summary import ReportedValue, Role, Summary, local_shape, size_bytes, summarize
from shardy_py.report.tables import summary_text

__all__ = [
    "LocalValue",
    "ReportedValue",
    "Role",
    "Summary",
    "collect_values",
    "local_shape",
    "local_shapes_data",
    "local_shapes_text",
    "local_values",
    "module_meshes",
    "size_bytes",
    "summarize",
    "summary_text",
]
