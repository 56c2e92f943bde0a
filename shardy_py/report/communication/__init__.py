"""The communication of a sharded program: its collectives, their axes and costs, the lines that cause them.

Not here: the passes that turn reshards into collectives (`passes/`), costs (`hardware/cost.py`).

    print(communication_report(module, DEFAULT))
"""

from shardy_py.report.communication.agreement import Disagreement
from shardy_py.report.communication.by_xla import Rematerialization
from shardy_py.report.communication.causes import Cause
from shardy_py.report.communication.collect import SENDING_KINDS, CollectiveUse
from shardy_py.report.communication.halos import KIND as HALO_EXCHANGE
from shardy_py.report.communication.reconciled import reconciled, rejected
from shardy_py.report.communication.report import (
    PARTITIONERS,
    SCHEMA,
    CollectiveTotal,
    CommunicationReport,
    Partitioner,
    communication_json,
    communication_report,
    communication_text,
)
from shardy_py.xla.spmd.from_program import SpmdProgram

__all__ = [
    "HALO_EXCHANGE",
    "PARTITIONERS",
    "SCHEMA",
    "SENDING_KINDS",
    "Cause",
    "CollectiveTotal",
    "CollectiveUse",
    "CommunicationReport",
    "Disagreement",
    "Partitioner",
    "Rematerialization",
    "SpmdProgram",
    "communication_json",
    "communication_report",
    "communication_text",
    "reconciled",
    "rejected",
]
