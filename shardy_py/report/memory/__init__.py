"""The memory that each device needs: arguments, results and constants, the peak, the tensors alive then.

    IR -> collect.py -> program.py -> liveness.py -> report.py, with the values of rows.py

docs/memory.md describes the model. Not here: local shapes of one sharding (`sharding/local.py`), layouts and
their padding (`layout/`).

    print(memory_report(module, "tpu"))
"""

from shardy_py.layout.formats import TARGETS, Target
from shardy_py.report.memory.liveness import LivenessAnalysis, Peak
from shardy_py.report.memory.report import SCHEMA, MemoryReport, memory_json, memory_report, memory_text
from shardy_py.report.memory.rows import EntryMemory, PeakOp, TensorRow, Total

__all__ = [
    "SCHEMA",
    "TARGETS",
    "EntryMemory",
    "LivenessAnalysis",
    "MemoryReport",
    "Peak",
    "PeakOp",
    "Target",
    "TensorRow",
    "Total",
    "memory_json",
    "memory_report",
    "memory_text",
]
