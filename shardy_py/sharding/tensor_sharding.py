"""The sharding of a tensor over a mesh: `#sdy.sharding` as plain values.

Not here: syntax (`mlir/dialects/sdy/syntax.py`), verification (`mlir/dialects/sdy/verify.py`), factors
(`projection.py`).

>>> x = AxisRef("x")
>>> str(TensorSharding("mesh", (DimensionSharding((x,), is_closed=True), DimensionSharding())))
'<@mesh, [{"x"}, {?}]>'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shardy_py.base.records import dataclass
from shardy_py.sharding.axes import AxisRef
from shardy_py.sharding.mesh import Mesh
from shardy_py.sharding.spelling import symbol_text


@dataclass(frozen=True, slots=True)
class DimensionSharding:
    """The axes that shard one dimension.

    axes: major to minor; empty: not sharded.
    is_closed: whether propagation must not shard the dimension further (an open one prints a `?`).
    priority: 0 is the highest; None counts as 0.
    """

    axes: tuple[AxisRef, ...] = ()
    is_closed: bool = False
    priority: int | None = None

    def __str__(self) -> str:
        parts = [str(axis) for axis in self.axes] + ([] if self.is_closed else ["?"])
        priority = "" if self.priority is None else f"p{self.priority}"
        return f"{{{', '.join(parts)}}}{priority}"


@dataclass(frozen=True, slots=True)
class TensorSharding:
    """The sharding of one tensor.

    mesh: the symbol name of a `sdy.mesh`, or the mesh itself (an inlined mesh).
    dimensions: one a tensor dimension.
    replicated_axes: explicitly replicated axes, which must not shard the tensor, in mesh order.
    unreduced_axes: axes along which the tensor is still to be reduced, in mesh order.
    reduction: along the unreduced axes: "sum", "max" or "min".
    """

    mesh: str | Mesh
    dimensions: tuple[DimensionSharding, ...]
    replicated_axes: tuple[AxisRef, ...] = ()
    unreduced_axes: tuple[AxisRef, ...] = ()
    reduction: str = "sum"

    @staticmethod
    def fully_open(mesh: str | Mesh, rank: int) -> TensorSharding:
        """`rank` empty open dimensions."""
        return TensorSharding(mesh, (DimensionSharding(),) * rank)

    @staticmethod
    def fully_closed(mesh: str | Mesh, rank: int) -> TensorSharding:
        """`rank` empty closed dimensions: fully replicated."""
        return TensorSharding(mesh, (DimensionSharding(is_closed=True),) * rank)

    @property
    def rank(self) -> int:
        """The number of tensor dimensions."""
        return len(self.dimensions)

    @property
    def axis_lists(self) -> list[tuple[str, tuple[AxisRef, ...]]]:
        """The lists of axes, each with what it is: "dimension 0", "replicated axes", "unreduced axes"."""
        lists = [(f"dimension {index}", d.axes) for index, d in enumerate(self.dimensions)]
        return [*lists, ("replicated axes", self.replicated_axes), ("unreduced axes", self.unreduced_axes)]

    @property
    def has_no_axes(self) -> bool:
        """Returns whether it has no axis in a dimension, none replicated, and none unreduced."""
        return not (self.replicated_axes or self.unreduced_axes or any(d.axes for d in self.dimensions))

    @property
    def is_fully_replicated(self) -> bool:
        """Returns whether no dimension is sharded."""
        return not any(d.axes for d in self.dimensions)

    def __str__(self) -> str:
        mesh = symbol_text(self.mesh) if isinstance(self.mesh, str) else f"mesh{self.mesh}"
        text = f"<{mesh}, [{', '.join(map(str, self.dimensions))}]"
        if self.replicated_axes:
            text += f", replicated={{{', '.join(map(str, self.replicated_axes))}}}"
        if self.unreduced_axes:
            reduction = "" if self.reduction == "sum" else self.reduction
            text += f", unreduced={reduction}{{{', '.join(map(str, self.unreduced_axes))}}}"
        return text + ">"


def without_manual_axes(sharding: TensorSharding, manual_axes: Sequence[str]) -> TensorSharding:
    """The sharding in the body of a value with this outer sharding."""
    return _keep(sharding, manual_axes, keep_manual=False) if manual_axes else sharding


def without_free_axes(sharding: TensorSharding, manual_axes: Sequence[str]) -> TensorSharding:
    """The outer sharding with only manual axes in its dimensions, and only free axes in its other lists."""
    return _keep(sharding, manual_axes, keep_manual=True)


def with_free_axes(
    outer: TensorSharding, inner: TensorSharding, manual_axes: Sequence[str]
) -> TensorSharding:
    """The outer sharding with the manual axes of `outer`, followed by the axes of `inner`."""
    manual = without_free_axes(outer, manual_axes).dimensions
    pairs = zip(manual, inner.dimensions, strict=True)
    dimensions = tuple(DimensionSharding(m.axes + f.axes, f.is_closed, f.priority) for m, f in pairs)
    return TensorSharding(inner.mesh, dimensions, outer.replicated_axes, outer.unreduced_axes)


def _keep(sharding: TensorSharding, manual_axes: Sequence[str], *, keep_manual: bool) -> TensorSharding:
    manual = frozenset(manual_axes)
    dimensions: list[DimensionSharding] = []
    for dimension in sharding.dimensions:
        axes = dimension.axes
        first_free = next((i for i, axis in enumerate(axes) if axis.name not in manual), len(axes))
        kept = axes[:first_free] if keep_manual else axes[first_free:]
        priority = dimension.priority if kept or not dimension.is_closed else None
        dimensions.append(replace(dimension, axes=kept, priority=priority))
    others = sharding.replicated_axes, sharding.unreduced_axes
    replicated, unreduced = (tuple(axis for axis in axes if axis.name not in manual) for axes in others)
    return TensorSharding(sharding.mesh, tuple(dimensions), replicated, unreduced, sharding.reduction)
