"""A sharding with its mesh: its dimensions, and the shard of each device.

    mesh = Mesh.of(data=4, model=2)
    sharding = Sharding(mesh, P("data", None))
    sharding.local_shape((32, 128))            (8, 128)

Not here: a sharding without a mesh (`partition_spec.py`), annotating a value with it (`program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import overload

from shardy_py.api.arguments import expect, shown, sizes
from shardy_py.api.foreign import as_mesh
from shardy_py.api.partition_spec import P
from shardy_py.base.counting import counted
from shardy_py.base.errors import Diagnostic, ShardyError, suggestion
from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.sdy import verify_sharding
from shardy_py.mlir.dialects.sdy.syntax_sharding import read_sharding
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.deep_stack import deep_stack
from shardy_py.mlir.text.source import Source
from shardy_py.sharding import (
    AxisRef,
    DeviceSlices,
    DimensionSharding,
    Mesh,
    TensorSharding,
    device_slices,
    local_shape,
)
from shardy_py.sharding.spelling import string_literal
from shardy_py.xla.hlo_sharding.axes import HloDetails, from_hlo_sharding
from shardy_py.xla.hlo_sharding.hlo_sharding import HloSharding
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text

Shape = tuple[int, ...]
DynamicShape = tuple[int | None, ...]
DEFAULT_MESH_NAME = "mesh"
_PREFIX = "#sdy.sharding"
_MOST_ECHOED = 200
_NO_DETAILS = HloDetails()


@dataclass(frozen=True, slots=True, init=False)
class Sharding:
    """The sharding of one tensor on one mesh.

    value: dimensions, replicated and unreduced axes, as plain data; its mesh by name.
    details: what XLA's sharding has beside these, which `to_hlo` returns again; nothing of it propagates.
    """

    mesh: Mesh
    value: TensorSharding
    details: HloDetails

    def __init__(
        self,
        mesh: Mesh,
        spec: object,
        *,
        mesh_name: str = DEFAULT_MESH_NAME,
        details: HloDetails = _NO_DETAILS,
    ) -> None:
        """Applies a spec (`P(...)`, JAX's `PartitionSpec`, a `TensorSharding`) to a mesh.

        Raises:
            ShardyError: the mesh lacks an axis, or an axis is used twice.
        """
        mesh = as_mesh(mesh)
        if isinstance(spec, TensorSharding):
            value = replace(spec, mesh=spec.mesh if isinstance(spec.mesh, str) else mesh_name)
        else:
            parts = P.of(spec)
            replicated, unreduced = (
                _in_mesh_order(axes, mesh) for axes in (parts.replicated, parts.unreduced)
            )
            value = TensorSharding(mesh_name, parts.dimensions, replicated, unreduced, parts.reduction)
        object.__setattr__(self, "mesh", mesh)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "details", details)
        check_sharding_axes(value, mesh)

    @staticmethod
    def parse(text: str, mesh: Mesh | None = None) -> Sharding:
        """Returns the sharding of sdy text: `<@mesh, [{"x"}, {?}]>` on `mesh`, or `<mesh<["x"=2]>, [...]>`.

        Raises:
            ShardyError: the text is invalid, with line and column in it.
        """
        value = parse_sharding(text)
        if isinstance(value.mesh, Mesh):
            return Sharding(value.mesh, value)
        if mesh is None:
            remedy = "pass the mesh as the second argument"
            raise ShardyError.unexpected(
                f"'{text[:_MOST_ECHOED]}'", expected="a mesh", got=f"its name only; {remedy}"
            )
        return Sharding(mesh, value)

    @staticmethod
    def from_hlo(hlo: HloSharding | str | bytes, mesh: Mesh, rank: int) -> Sharding:
        """Returns XLA's sharding of a tensor of `rank` dimensions, from its text or the bytes of its proto.

        A sharding on a single device gets that device as its mesh.

        Raises:
            ShardyError: the text is invalid, its tiles are not axes of `mesh`, or it has another rank.
        """
        expect(hlo, (str, bytes, HloSharding), "an HloSharding, its text, or the bytes of its proto")
        if isinstance(hlo, str):
            hlo = hlo_sharding_from_text(hlo)
        elif isinstance(hlo, bytes):
            hlo = hlo_sharding_from_proto(hlo)
        value = from_hlo_sharding(hlo, mesh, rank, reference=DEFAULT_MESH_NAME)
        used = value.mesh if isinstance(value.mesh, Mesh) else mesh
        return Sharding(used, value, details=HloDetails.of(hlo, mesh))

    def to_hlo(self, rank: int | None = None) -> HloSharding:
        """Returns XLA's sharding of a tensor of `rank` dimensions; `str(...)` is its text.

        Open dimensions and priorities are lost.
        """
        sharding = self if rank is None else self.for_rank(rank)
        return self.details.to_hlo(sharding.value, self.mesh)

    @property
    def dimensions(self) -> tuple[DimensionSharding, ...]:
        """The sharding of each dimension."""
        return self.value.dimensions

    @property
    def replicated_axes(self) -> tuple[AxisRef, ...]:
        """The axes that must not shard the tensor."""
        return self.value.replicated_axes

    @property
    def unreduced_axes(self) -> tuple[AxisRef, ...]:
        """The axes along which the tensor is partially reduced."""
        return self.value.unreduced_axes

    @property
    def is_fully_replicated(self) -> bool:
        """Returns whether no dimension is sharded."""
        return self.value.is_fully_replicated

    @property
    def spec(self) -> P:
        """The sharding without its mesh."""
        value = self.value
        axes = {"replicated": value.replicated_axes, "unreduced": value.unreduced_axes}
        return P(*value.dimensions, **axes, reduction=value.reduction)

    def for_rank(self, rank: int) -> Sharding:
        """Returns the sharding of a tensor of `rank` dimensions: further dimensions are not sharded.

        Raises:
            ShardyError: it has more than `rank` dimensions.
        """
        expect(rank, int, "a number of dimensions")
        missing = rank - self.value.rank
        if missing == 0 or self.mesh.is_maximal:
            return self
        if missing < 0:
            expected = f"at most {counted(rank, 'dimension')}, the rank of the tensor"
            raise ShardyError.unexpected(str(self), expected=expected, got=str(self.value.rank))
        dimensions = (*self.dimensions, *(DimensionSharding(is_closed=True),) * missing)
        return self._with_value(replace(self.value, dimensions=dimensions))

    def named(self, mesh_name: str) -> Sharding:
        """Returns the same sharding with `mesh_name` as the name of its mesh."""
        return self._with_value(replace(self.value, mesh=mesh_name))

    def _with_value(self, value: TensorSharding) -> Sharding:
        return Sharding(self.mesh, value, details=self.details)

    @overload
    def local_shape(self, shape: Shape) -> Shape: ...
    @overload
    def local_shape(self, shape: DynamicShape) -> DynamicShape: ...
    def local_shape(self, shape: DynamicShape) -> DynamicShape:
        """Returns the shape on each device, padding included, of a tensor of `shape` (None: dynamic)."""
        shape_sizes = sizes(shape)
        return local_shape(self.for_rank(len(shape_sizes)).value, self.mesh, shape_sizes)

    def device_slices(self, shape: Shape) -> DeviceSlices:
        """Returns the slice of each device in a tensor of `shape`."""
        shape_sizes = sizes(shape)
        return device_slices(self.for_rank(len(shape_sizes)).value, self.mesh, shape_sizes)

    def __str__(self) -> str:
        return str(self.value)

    def _repr_html_(self) -> str:
        from shardy_py.api.notebook import sharding_block

        return sharding_block(self)

    def _repr_svg_(self) -> str | None:
        """The shards of a tensor with one element a shard; None if there are too many."""
        from shardy_py.api.notebook import sharding_picture

        return sharding_picture(self)

    def __repr__(self) -> str:
        return f"Sharding({self.mesh}, {self.spec!r})"


def parse_sharding(text: str) -> TensorSharding:
    """Returns the sharding of sdy text, with or without `#sdy.sharding` before it.

    Raises:
        ShardyError: the text is invalid, with line and column in it.
    """
    expect(text, str, 'a sharding such as <@mesh, [{"data"}, {}]>')
    if not text.strip().removeprefix(_PREFIX).lstrip().startswith("<"):
        expected = 'sdy text such as <@mesh, [{"data"}, {}]>, or a spec such as P("data", None)'
        raise ShardyError.unexpected("invalid sharding", expected=expected, got=shown(text))
    lead = len(text) - len(text.lstrip()) + (len(_PREFIX) if text.lstrip().startswith(_PREFIX) else 0)
    cursor = Cursor(Source(" " * lead + text[lead:], "<sharding>"))
    try:
        with deep_stack():
            value = read_sharding(cursor)
        if cursor.token:
            cursor.error("expected the end of the sharding")
    except ShardyError as error:
        fault = error.first
        place = "" if fault.where is None else f" at {fault.where.line}:{fault.where.column}"
        message = f"invalid sharding '{text[:_MOST_ECHOED]}': {fault.message}{place}"
        raise ShardyError(Diagnostic(message, fault.where)) from None
    return value


def check_sharding_axes(value: TensorSharding, mesh: Mesh, others: Mapping[str, Mesh] | None = None) -> None:
    """Raises `ShardyError` if the mesh lacks an axis of a sharding, or an axis is used twice.

    others: meshes by name that may have the missing axis, for the message.
    """
    try:
        if not mesh.is_maximal:
            verify_sharding.check_priorities_and_axes(value, mesh)
    except Fault as fault:
        axis_names = ", ".join(string_literal(axis.name) for axis in mesh.axes) or "no axes"
        lacking = {axis.name for _, axes in value.axis_lists for axis in axes} - set(mesh.order)
        named = (f"; @{name} has it: {m}" for name, m in (others or {}).items() if lacking & set(m.order))
        hints = (suggestion(name, mesh.order) for name in sorted(lacking))
        known = "; ".join((f"the mesh has {axis_names}{''.join(named)}", *filter(None, hints)))
        subject = min(lacking, default=None)
        raise ShardyError(Diagnostic(f"sharding {value}: {fault}; {known}", subject=subject)) from None


def _in_mesh_order(axes: tuple[AxisRef, ...], mesh: Mesh) -> tuple[AxisRef, ...]:
    if any(axis.name not in mesh.order for axis in axes):
        return axes
    return tuple(sorted(axes, key=lambda axis: axis.order_in(mesh)))
