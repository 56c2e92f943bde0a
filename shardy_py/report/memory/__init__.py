"""The memory that each device needs: arguments, results and constants, the peak, the tensors alive then.

    IR -> collect.py -> liveness.py -> report.py

docs/memory.md describes the model. Not here: local shapes of one sharding (`sharding/slices.py`), layouts and
their padding (`indexing/layout/`).

    print(memory_report(module, "tpu"))
"""

from shardy_py.indexing.layout.formats import TARGETS, Target
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
from shardy_py.xla.buffers.chips import CHIPS, Chip
from shardy_py.xla.buffers.estimated import MemoryEstimate
from shardy_py.xla.buffers.liveness import LivenessAnalysis, Peak

__all__ = [
    "CHIPS",
    "SCHEMA",
    "TARGETS",
    "Chip",
    "EntryMemory",
    "LivenessAnalysis",
    "MemoryEstimate",
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
