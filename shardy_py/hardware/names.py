"""The names of devices: those of the table, shorter ones, and those that JAX gives as `device_kind`.

One table and one reader for all reports, flags and arguments. Not here: the devices (`table.py`), the places
of mesh axes (`placement.py`).

>>> hardware_of("v5e").name, hardware_of("TPU v5 lite").name, hardware_of("NVIDIA H100 80GB HBM3").name
('tpu-v5e', 'tpu-v5e', 'h100')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shardy_py.base.errors import ShardyError, closest, folded
from shardy_py.hardware.model import Hardware
from shardy_py.hardware.table import HARDWARE

ALIASES: Mapping[str, tuple[str, ...]] = {
    "tpu-v2": ("v2",),
    "tpu-v3": ("v3",),
    "tpu-v4": ("v4",),
    "tpu-v5e": ("v5e", "v5litepod", "tpu-v5-lite", "tpu-v5litepod"),
    "tpu-v5p": ("v5p",),
    "tpu-v6e": ("v6e", "tpu-v6-lite", "trillium"),
    "tpu7x": ("tpu-v7x", "v7x", "7x", "tpu7", "ironwood"),
    "a100-40gb": ("nvidia-a100-sxm4-40gb",),
    "a100-80gb": ("nvidia-a100-sxm4-80gb",),
    "h100": ("nvidia-h100", "nvidia-h100-80gb-hbm3", "h100-sxm"),
    "h200": ("nvidia-h200",),
    "b200": ("nvidia-b200",),
    "mi300x": ("amd-instinct-mi300x",),
    "trn2": ("trainium2",),
}
"""Further names by device. Case, `-`, `_`, `.` and spaces make no difference in any name."""

_BY_FOLDED: Mapping[str, str] = {folded(name): name for name in HARDWARE} | {
    folded(alias): name for name, aliases in ALIASES.items() for alias in aliases
}


def known_hardware(name: str) -> Hardware | None:
    """Returns the device of that name; None if it is unknown."""
    found = _BY_FOLDED.get(folded(name))
    return None if found is None else HARDWARE[found]


def hardware_of(name: str) -> Hardware:
    """Returns the device of that name; raises a `ShardyError` for others."""
    found = known_hardware(name)
    if found is None:
        raise unknown_hardware("hardware", name, HARDWARE)
    return found


def unknown_hardware(kind: str, name: str, known: Iterable[str]) -> ShardyError:
    """Returns the error for a name that is not known; it suggests a device by its shorter names, too."""
    names = tuple(known)
    similar = [] if closest(name, names) else closest(name, _BY_FOLDED)
    remedy = f"did you mean '{_BY_FOLDED[similar[0]]}'?" if similar else ""
    return ShardyError.unknown(kind, name, names, remedy=remedy)
