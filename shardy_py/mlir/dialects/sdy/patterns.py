"""Constraints on shardings, for definitions and patterns of xDSL's users.

    sharding = prop_def(ShardingConstraint(mesh="mesh", rank=2))

    match op.properties.get("sharding"):
        case TensorShardingAttr(TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)), *_))):
            ...                                    # dimension 0 is sharded along x only

>>> from shardy_py.sharding import TensorSharding
>>> open_ = TensorShardingAttr(TensorSharding.fully_open("mesh", 2))
>>> ShardingConstraint(rank=2).matches(open_), ShardingConstraint(is_closed=True).matches(open_)
(True, False)

Not here: verifiers of sdy's own ops (`verify.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypeVar, override
from xdsl import irdl
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.sdy.attributes import TensorShardingAttr
from shardy_py.sharding import AxisRef, TensorSharding


@dataclass(frozen=True)
class ShardingConstraint(irdl.AttrConstraint):
    """A sharding that satisfies all that is given; None: not constrained.

    mesh: the name of its mesh. rank: its number of dimensions.
    axes: for each dimension, the axes it is sharded along, as they are printed (`x`, `x:(1)2`).
    is_closed: whether all dimensions are closed, or all are open.
    is_replicated: whether no dimension is sharded.
    """

    mesh: str | None = None
    rank: int | None = None
    axes: tuple[tuple[str, ...] | None, ...] | None = None
    is_closed: bool | None = None
    is_replicated: bool | None = None

    def matches(self, attribute: Attribute | None) -> bool:
        """Returns whether an attribute is such a sharding."""
        return isinstance(attribute, TensorShardingAttr) and not self._faults(attribute.data)

    @override
    def verify(self, attr: Attribute, constraint_context: irdl.VerificationContext) -> None:
        """Raises `VerifyException` with the first fact that differs."""
        if not isinstance(attr, TensorShardingAttr):
            raise VerifyException(f"{attr} should be of base attribute {TensorShardingAttr.name}")
        if faults := self._faults(attr.data):
            raise VerifyException(f"{attr}: {faults[0]}")

    @override
    def mapping_type_vars(
        self, type_var_mapping: Mapping[TypeVar, irdl.AttrConstraint | irdl.IntConstraint]
    ) -> irdl.AttrConstraint:
        """The constraint itself: it has no type variables."""
        return self

    def _faults(self, sharding: TensorSharding) -> list[str]:
        dimensions = sharding.dimensions
        given = tuple(tuple(map(_text, dimension.axes)) for dimension in dimensions)
        facts: tuple[tuple[str, object, object], ...] = (
            ("mesh", self.mesh, sharding.mesh),
            ("rank", self.rank, len(dimensions)),
            ("replicated", self.is_replicated, not any(given)),
        )
        faults = [
            f"expected {what} {expected}, got {got}"
            for what, expected, got in facts
            if expected is not None and expected != got
        ]
        if self.is_closed is not None and any(each.is_closed is not self.is_closed for each in dimensions):
            faults.append(f"expected {'closed' if self.is_closed else 'open'} dimensions")
        if self.axes is not None:
            is_same = len(given) == len(self.axes) and all(
                wanted is None or wanted == got for wanted, got in zip(self.axes, given, strict=True)
            )
            if not is_same:
                faults.append(f"expected axes {self.axes}, got {given}")
        return faults


def _text(axis: AxisRef) -> str:
    return f"{axis.name}:{axis.sub_axis}" if axis.sub_axis else axis.name
