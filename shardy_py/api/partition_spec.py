"""Partition specs: `P("data", None, ("x", "y"))`, one entry a dimension.

Not here: the mesh of the axes (`sharding.py`).

>>> P("data", None, ("x", "y:(1)2"), UNCONSTRAINED, unreduced={"model"}).dimensions[2].axes
(AxisRef(name='x', sub_axis=None), AxisRef(name='y', sub_axis=SubAxis(pre_size=1, size=2)))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Final, cast

from shardy_py.api.arguments import expect, expect_flags, expect_one_of, shown
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import REDUCTIONS
from shardy_py.sharding import AxisRef, DimensionSharding, SubAxis

AxesLike = str | AxisRef | Iterable[str | AxisRef]
"""The axes of one dimension, major to minor; a sub-axis is written as in sdy: `y:(1)2`."""

_SUB_AXIS = re.compile(r"(?P<name>.+):\((?P<pre_size>\d{1,18})\)(?P<size>\d{1,18})\Z", re.DOTALL)


class _Unconstrained:
    """The type of `UNCONSTRAINED`."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED: Final = _Unconstrained()
"""A dimension that propagation may shard (`{?}`)."""


def dim(*axes: str | AxisRef, open: bool = False, priority: int | None = None) -> DimensionSharding:
    """Returns the sharding of one dimension.

    open: propagation may add further axes.
    priority: 0 is propagated first; None counts as 0. Raises `ShardyError` for a negative one.

    >>> str(dim("x", open=True, priority=1))
    '{"x", ?}p1'
    """
    if priority is not None and (not isinstance(priority, int) or priority < 0):  # pyright: ignore
        raise ShardyError.unexpected("", expected="a priority of at least 0", got=repr(priority))
    expect_flags(open=open)
    return DimensionSharding(tuple(map(axis, axes)), not open, priority)


def axis(spelled: str | AxisRef) -> AxisRef:
    """Returns an axis or sub-axis from its name. Raises `ShardyError` for other types.

    >>> str(axis("x")), str(axis("x:(2)4"))
    ('"x"', '"x":(2)4')
    """
    if isinstance(spelled, AxisRef):
        return spelled
    expect(spelled, str, "the name of a mesh axis")
    match = _SUB_AXIS.match(spelled)
    if match is None:
        return AxisRef(spelled)
    return AxisRef(match["name"], SubAxis(int(match["pre_size"]), int(match["size"])))


Part = None | str | AxisRef | DimensionSharding | _Unconstrained | Iterable[str | AxisRef]
"""The entry of one dimension; None: not sharded."""


@dataclass(frozen=True, slots=True, init=False)
class P:
    """The sharding of a tensor without its mesh; further dimensions are not sharded.

    dimensions: of the first dimensions.
    replicated: axes that must not shard the tensor. unreduced: axes along which it is partially reduced.
    reduction: "sum", "max" or "min".
    """

    dimensions: tuple[DimensionSharding, ...]
    replicated: tuple[AxisRef, ...]
    unreduced: tuple[AxisRef, ...]
    reduction: str

    def __init__(
        self, *parts: Part, replicated: AxesLike = (), unreduced: AxesLike = (), reduction: str = "sum"
    ) -> None:
        """Raises `ShardyError` for an invalid entry, or an unknown reduction."""
        expect_one_of("reduction", reduction, REDUCTIONS)
        object.__setattr__(self, "dimensions", tuple(map(_dimension, parts)))
        object.__setattr__(self, "replicated", _sorted(_axes(replicated)))
        object.__setattr__(self, "unreduced", _sorted(_axes(unreduced)))
        object.__setattr__(self, "reduction", reduction)

    if not TYPE_CHECKING:

        @property
        def partitions(self) -> object:
            """Raises `ShardyError`: JAX asks its own specs for this."""
            got, remedy = repr(self), f"pass jax.sharding.{str(self).replace('P(', 'PartitionSpec(', 1)}"
            raise ShardyError.unexpected(
                "spec", expected="a PartitionSpec of JAX", got=f"{got} of shardy_py", remedy=remedy
            )

    @staticmethod
    def of(spec: object) -> P:
        """Returns a spec from a `P`, JAX's `PartitionSpec`, or a tuple of entries."""
        if isinstance(spec, P):
            return spec
        unreduced = getattr(spec, "unreduced", None) or ()
        parts = getattr(spec, "partitions", spec)  # JAX does not let specs with unreduced axes be iterated
        if not isinstance(parts, Iterable) or isinstance(parts, str | bytes):
            remedy = "pass its .spec" if hasattr(spec, "spec") else ""
            expected = 'a sharding such as P("data", None)'
            raise ShardyError.unexpected("", expected=expected, got=shown(spec), remedy=remedy)
        return P(*(_foreign(part) for part in cast("Iterable[object]", parts)), unreduced=unreduced)

    def __repr__(self) -> str:
        parts = [_spelled(dimension) for dimension in self.dimensions]
        for name, axes in (("replicated", self.replicated), ("unreduced", self.unreduced)):
            if axes:
                parts.append(f"{name}={{{', '.join(repr(_name(a)) for a in axes)}}}")
        if self.reduction != REDUCTIONS[0]:
            parts.append(f"reduction={self.reduction!r}")
        return f"P({', '.join(parts)})"


def _dimension(part: Part) -> DimensionSharding:
    match part:
        case DimensionSharding():
            return part
        case None:
            return DimensionSharding(is_closed=True)
        case _Unconstrained():
            return DimensionSharding()
        case Set() | Mapping():
            expected = "a tuple, because the axes of a dimension are ordered"
            raise ShardyError.unexpected("", expected=expected, got=shown(cast(object, part)))
        case _:
            return DimensionSharding(_axes(part), is_closed=True)


def _axes(axes: AxesLike) -> tuple[AxisRef, ...]:
    if isinstance(axes, str | AxisRef):
        return (axis(axes),)
    try:
        return tuple(axis(a) for a in axes)
    except TypeError:
        raise ShardyError.unexpected("", expected="names of mesh axes", got=repr(axes)) from None


def _sorted(axes: tuple[AxisRef, ...]) -> tuple[AxisRef, ...]:
    return tuple(sorted(axes, key=lambda axis: axis.order))


def _foreign(part: object) -> Part:
    """Converts JAX's constant for unconstrained dimensions."""
    return UNCONSTRAINED if "UNCONSTRAINED" in type(part).__name__.upper() else part  # pyright: ignore


def _name(ref: AxisRef) -> str:
    return f"{ref.name}:{ref.sub_axis}" if ref.sub_axis else ref.name


def _spelled(dimension: DimensionSharding) -> str:
    names = [repr(_name(axis)) for axis in dimension.axes]
    if dimension.priority is not None or (names and not dimension.is_closed):
        options = "" if dimension.is_closed else ", open=True"
        options += "" if dimension.priority is None else f", priority={dimension.priority}"
        return f"dim({', '.join(names)}{options})".replace("(, ", "(")
    if not names:
        return "None" if dimension.is_closed else "UNCONSTRAINED"
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
