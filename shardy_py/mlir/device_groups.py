"""The groups of devices that collectives list.

Not here: groups along mesh axes (`run/interpret/mesh_groups.py`, `report/communication/`).
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Attribute

from shardy_py.mlir.plain import plain

Groups = tuple[tuple[int, ...], ...]
"""Groups of processes, or of the ids that a strategy makes them from."""


def listed_groups(attribute: Attribute) -> Groups:
    """Returns the rows of a dense matrix, without the -1 that fills shorter ones; () for other attributes."""
    table: Any = plain(attribute)
    rows = cast("Groups", table) if isinstance(table, tuple) else ()
    return tuple(tuple(device for device in row if device >= 0) for row in rows)
