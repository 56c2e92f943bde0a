"""The memory that each device needs: arguments, results and constants, the peak, the tensors alive then.

    IR -> collect.py -> liveness.py -> report.py

docs/memory.md describes the model. Not here: local shapes of one sharding (`sharding/slices.py`), layouts and
their padding (`layout/`).

    print(memory_report(module, "tpu"))
"""

from shardy_py.layout.formats import TARGETS, Target
from shardy_py.report.memory.liveness import LivenessAnalysis, Peak
from shardy_py.report.memory.report import (
    SCHEMA,
    EntryMemory,
    MemoryReport,
    PeakOp,
    TensorRow,
    Total,
    memory_json,
    memory_report,
    memory_text,
)

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
