"""The values that a compiled program sends, as the join sees them, with the axes of the program's meshes.

Not here: reading collectives (`hlo/collectives/`), the forecast (`forecast.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shardy_py.base.records import dataclass
from shardy_py.hardware.cost import AxisSize, Cost, CostModel
from shardy_py.hlo.collectives import HloCollective, SentValue, element_count
from shardy_py.hlo.text import NO_ORIGIN
from shardy_py.hlo.text.record import tensor_type
from shardy_py.ops import RAGGED
from shardy_py.report.join import SentItem, sizes_of
from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.device_groups import UNKNOWN_AXIS, axes_of_collective

_PERMUTE = "collective_permute"
_SHOWN = 8


@dataclass(frozen=True, eq=False)
class CompiledValue:
    """A value of a collective of a compiled program. issue: the number of that collective."""

    value: SentValue
    item: SentItem
    issue: int


@dataclass(frozen=True)
class CompiledAxes:
    """The axes of collectives that list devices. devices: of the program; 0: unknown."""

    meshes: tuple[Mesh, ...]
    devices: int

    @staticmethod
    def of(meshes: Mapping[str, Mesh], devices: int) -> CompiledAxes:
        """Returns the axes of a program with these meshes."""
        known = tuple(mesh for mesh in meshes.values() if mesh.axes)
        return CompiledAxes(known, devices or max((mesh.device_count for mesh in known), default=0))

    def along(self, collective: HloCollective) -> tuple[AxisSize, ...]:
        """Returns the axes that a collective is along; one for its devices if it is along none."""
        is_permute = collective.kind == _PERMUTE
        listed = collective.devices or (tuple(range(self.devices)),)
        group = tuple(device for pair in listed for device in pair) if is_permute else listed[0]
        found = axes_of_collective(group, self.meshes, is_permute=is_permute) if group else ()
        return found or ((self._group_name(group), max(len(group), 1)),)

    def _group_name(self, group: tuple[int, ...]) -> str:
        """The name of devices that are along no axis: "?" in a program with meshes, else the devices."""
        if self.meshes:
            return UNKNOWN_AXIS
        more = ",..." if len(group) > _SHOWN else ""
        return f"{{{','.join(map(str, group[:_SHOWN]))}{more}}}"


def compiled_values(collectives: Iterable[HloCollective], axes: CompiledAxes) -> tuple[CompiledValue, ...]:
    """Returns the values that collectives send, in their order."""
    found: list[CompiledValue] = []
    for number, each in enumerate(collectives):
        along = tuple(sorted(axes.along(each)))
        found += (CompiledValue(value, _item(each, value, along), number) for value in each.values)
    return tuple(found)


def _item(collective: HloCollective, value: SentValue, along: tuple[AxisSize, ...]) -> SentItem:
    whole = max(value.held, value.made, key=element_count)
    type_ = tensor_type(whole)
    origins = (value.origin,) if value.origin != NO_ORIGIN else ()
    return SentItem(
        collective.kind,
        along,
        "token" if type_ is None else type_.element,
        sizes_of(whole.sizes),
        collective.runs,
        origins,
        value.makers,
        value.readers,
        value.place,
    )


def cost_of(collective: HloCollective, along: tuple[AxisSize, ...], model: CostModel) -> Cost:
    """Returns the bytes that each device receives in one run, and the seconds it takes."""
    priced = getattr(model, collective.kind, model.all_to_all)
    held = collective.held_bytes
    return priced(along, min(held, collective.made_bytes) if collective.kind == RAGGED else held)
