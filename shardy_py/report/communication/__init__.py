"""What a sharded program sends between devices: which collectives, over which axes, caused by which line.

Not here: the passes that make reshards into collectives (`passes/`), costs (`partition/cost.py`).
"""

from shardy_py.report.communication.bill import (
    SCHEMA,
    Bill,
    Sum,
    bill_json,
    bill_text,
    communication_bill,
    seconds_text,
)
from shardy_py.report.communication.causes import Cause
from shardy_py.report.communication.collect import SENDING_KINDS, Use
from shardy_py.report.communication.halos import KIND as HALO_EXCHANGE

__all__ = [
    "HALO_EXCHANGE",
    "SCHEMA",
    "SENDING_KINDS",
    "Bill",
    "Cause",
    "Sum",
    "Use",
    "bill_json",
    "bill_text",
    "communication_bill",
    "seconds_text",
]
