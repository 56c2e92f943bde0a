"""The time of a step: a roofline of each group of fused ops, and the bill of communication on real links.

    SpmdProgram -> graph.py (timed nodes) -> interval.py (overlapped and serial) -> report.py

docs/time.md describes the model. Not here: devices and links (`hardware/`), costs of collectives
(`hardware/cost.py`), what is fused (`report/memory/`).
"""

from shardy_py.report.time.graph import TimedBlock, TimedNode
from shardy_py.report.time.local_work import DeviceWork
from shardy_py.report.time.report import SCHEMA, TimeReport, time_json, time_report, time_text

__all__ = [
    "SCHEMA",
    "DeviceWork",
    "TimeReport",
    "TimedBlock",
    "TimedNode",
    "time_json",
    "time_report",
    "time_text",
]
