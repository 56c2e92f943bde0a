"""Accelerators as data: arithmetic, memory, and links between devices, with the source of each figure.

`model.py` has the values, `table.py` the known devices, `names.py` their names, `toml.py` those of users,
`placement.py` the links that axes of a mesh lie on. Imports `layout` and `sharding` only. Not here: costs of
collectives (`hardware/cost.py`), the time of a program (`report/time/`).
"""

from shardy_py.hardware.model import Hardware, Link, NamedLink, Network, WindowCosts
from shardy_py.hardware.names import ALIASES, hardware_of, known_hardware, unknown_hardware
from shardy_py.hardware.placement import (
    AxisLink,
    AxisPlacement,
    as_placement,
    default_topology,
    placement_of,
    rings_of_group,
)
from shardy_py.hardware.table import HARDWARE, LINKS

__all__ = [
    "ALIASES",
    "HARDWARE",
    "LINKS",
    "AxisLink",
    "AxisPlacement",
    "Hardware",
    "Link",
    "NamedLink",
    "Network",
    "WindowCosts",
    "as_placement",
    "default_topology",
    "hardware_of",
    "known_hardware",
    "placement_of",
    "rings_of_group",
    "unknown_hardware",
]
