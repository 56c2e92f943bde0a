"""The attributes of the sdy dialect: xDSL attributes around the plain values of `sharding/`.

Their text is read and printed in `syntax.py`; what they must satisfy is in `verify.py`.

>>> from shardy_py.sharding import TensorSharding
>>> TensorShardingAttr(TensorSharding.fully_open("mesh", 2)).data.rank
2
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition

from shardy_py.sharding import AxisRef, Mesh, ShardingRule, TensorSharding

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer

T = TypeVar("T")


class _SdyData(Data[T]):
    """An attribute that wraps a value; xDSL's own parser and printer go through our syntax."""

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> Any:
        from shardy_py.dialects.sdy.syntax import parse_for_xdsl

        return parse_for_xdsl(cls, parser)

    @override
    def print_parameter(self, printer: Printer) -> None:
        from shardy_py.dialects.sdy.syntax import print_for_xdsl

        printer.print_string(print_for_xdsl(self))

    def plain(self) -> Any:
        """The value."""
        return self.data


@irdl_attr_definition
class MeshAttr(_SdyData[Mesh]):
    """`#sdy.mesh<["x"=2, "y"=4]>`."""

    name = "sdy.mesh"


@irdl_attr_definition
class AxisRefAttr(_SdyData[AxisRef]):
    """`#sdy.axis_ref<"x":(1)2>`."""

    name = "sdy.axis_ref"


@irdl_attr_definition
class TensorShardingAttr(_SdyData[TensorSharding]):
    """`#sdy.sharding<@mesh, [{"x"}, {?}]>`."""

    name = "sdy.sharding"


@irdl_attr_definition
class TensorShardingPerValueAttr(_SdyData[tuple[TensorSharding, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, ...]>`: one sharding a value."""

    name = "sdy.sharding_per_value"


@irdl_attr_definition
class ManualAxesAttr(_SdyData[tuple[str, ...]]):
    """`#sdy<manual_axes{"x", "y"}>`."""

    name = "sdy.manual_axes"


@irdl_attr_definition
class OpShardingRuleAttr(_SdyData[ShardingRule]):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""

    name = "sdy.op_sharding_rule"


@irdl_attr_definition
class AxisRefListAttr(_SdyData[tuple[AxisRef, ...]]):
    """`#sdy.axis_ref_list<{"x", "y"}>`: axes, as in the reduction axes of an all-reduce."""

    name = "sdy.axis_ref_list"


@irdl_attr_definition
class ListOfAxisRefListsAttr(_SdyData[tuple[tuple[AxisRef, ...], ...]]):
    """`#sdy.list_of_axis_ref_lists<[{"x"}, {}]>`: axes by dimension."""

    name = "sdy.list_of_axis_ref_lists"


@irdl_attr_definition
class AllToAllParamListAttr(_SdyData[tuple[tuple[tuple[AxisRef, ...], int, int], ...]]):
    """`#sdy.all_to_all_param_list<[{"x"}: 0->1]>`: axes, source and target dimension."""

    name = "sdy.all_to_all_param_list"
