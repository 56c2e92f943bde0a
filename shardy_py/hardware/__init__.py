"""Accelerators as data: arithmetic, memory, and links between devices, with the source of each figure.

`model.py` has the values, `table.py` the known devices. Imports `layout` only. Not here: costs of collectives
(`partition/cost.py`), the time of a program (`report/time/`).
"""

from shardy_py.hardware.model import Hardware, Link, NamedLink, Network
from shardy_py.hardware.table import HARDWARE, LINKS, hardware_of

__all__ = ["HARDWARE", "LINKS", "Hardware", "Link", "NamedLink", "Network", "hardware_of"]
