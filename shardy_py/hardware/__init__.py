"""Accelerators as data: arithmetic, memory, and links between devices, with the source of each figure.

`model.py` has the values, `table.py` the known devices, `toml.py` those of users, `placement.py` the links
that axes of a mesh lie on. Imports `layout` and `sharding` only. Not here: costs of collectives
(`partition/cost.py`), the time of a program (`report/time/`).
"""

from shardy_py.hardware.model import Hardware, Link, NamedLink, Network
from shardy_py.hardware.placement import AxisLink, AxisPlacement, default_topology, placement_of
from shardy_py.hardware.table import HARDWARE, LINKS, hardware_of

__all__ = [
    "HARDWARE",
    "LINKS",
    "AxisLink",
    "AxisPlacement",
    "Hardware",
    "Link",
    "NamedLink",
    "Network",
    "default_topology",
    "hardware_of",
    "placement_of",
]
