"""What each device has to hold: bytes of arguments, results and constants, the peak, and what is alive then.

    IR -> collect.py -> program.py -> liveness.py -> report.py -> text.py, to_json.py

docs/memory.md states the model. Not here: local shapes of one sharding (`sharding/local.py`), layouts and
their padding (`layout/`).

    print(memory_text(memory_report(module, "tpu")))
"""

from shardy_py.report.memory.liveness import Liveness, Peak
from shardy_py.report.memory.report import EntryMemory, MemoryReport, Place, TensorRow, Total, memory_report
from shardy_py.report.memory.sizes import TARGETS, Bytes, Target, tensor_size
from shardy_py.report.memory.text import memory_text
from shardy_py.report.memory.to_json import SCHEMA, memory_json

__all__ = [
    "SCHEMA",
    "TARGETS",
    "Bytes",
    "EntryMemory",
    "Liveness",
    "MemoryReport",
    "Peak",
    "Place",
    "Target",
    "TensorRow",
    "Total",
    "memory_json",
    "memory_report",
    "memory_text",
    "tensor_size",
]
