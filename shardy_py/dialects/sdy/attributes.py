"""The attributes of the sdy dialect: xDSL attributes around the plain values of `sharding/`.

`syntax.py` lists how their text is read and printed, `verify.py` what they must satisfy.

>>> from shardy_py.sharding import TensorSharding
>>> TensorShardingAttr(TensorSharding.fully_open("mesh", 2)).data.rank
2
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import OpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition

from shardy_py.sharding import (
    AxisEdge,
    AxisRef,
    DimensionSharding,
    DimMapping,
    EdgeValueRef,
    Mesh,
    MeshAxis,
    PropagationStep,
    ShardingRule,
    SubAxis,
    TensorMapping,
    TensorSharding,
)
from shardy_py.text.xdsl_hooks import DialectAttribute

T = TypeVar("T")


class _Enclosed(DialectAttribute[T], OpaqueSyntaxAttribute):
    """One that is printed `#sdy<name...>`: its text does not start with `<`."""


@irdl_attr_definition
class MeshAttr(DialectAttribute[Mesh]):
    """`#sdy.mesh<["x"=2, "y"=4]>`."""

    name = "sdy.mesh"


@irdl_attr_definition
class MeshAxisAttr(_Enclosed[MeshAxis]):
    """`#sdy<mesh_axis"x"=2>`."""

    name = "sdy.mesh_axis"


@irdl_attr_definition
class SubAxisInfoAttr(_Enclosed[SubAxis]):
    """`#sdy<sub_axis_info(1)2>`."""

    name = "sdy.sub_axis_info"


@irdl_attr_definition
class AxisRefAttr(_Enclosed[AxisRef]):
    """`#sdy<axis_ref"x":(1)2>`."""

    name = "sdy.axis_ref"


@irdl_attr_definition
class DimensionShardingAttr(_Enclosed[DimensionSharding]):
    """`#sdy<dimension_sharding{"x", ?}p1>`."""

    name = "sdy.dimension_sharding"


@irdl_attr_definition
class TensorShardingAttr(DialectAttribute[TensorSharding]):
    """`#sdy.sharding<@mesh, [{"x"}, {?}]>`."""

    name = "sdy.sharding"


@irdl_attr_definition
class TensorShardingPerValueAttr(DialectAttribute[tuple[TensorSharding, ...]]):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, ...]>`: one sharding a value."""

    name = "sdy.sharding_per_value"


@irdl_attr_definition
class ManualAxesAttr(_Enclosed[tuple[str, ...]]):
    """`#sdy<manual_axes{"x", "y"}>`."""

    name = "sdy.manual_axes"


@irdl_attr_definition
class DimMappingAttr(_Enclosed[DimMapping]):
    """`#sdy<dim_mapping ij>`: the factors of a dimension."""

    name = "sdy.dim_mapping"


@irdl_attr_definition
class TensorMappingAttr(_Enclosed[TensorMapping]):
    """`#sdy<tensor_mapping[ij, k]>`: the factors of each dimension of a tensor."""

    name = "sdy.tensor_mapping"


@irdl_attr_definition
class OpShardingRuleAttr(DialectAttribute[ShardingRule]):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""

    name = "sdy.op_sharding_rule"


@irdl_attr_definition
class AxisRefListAttr(_Enclosed[tuple[AxisRef, ...]]):
    """`#sdy<axis_ref_list{"x", "y"}>`: axes, as in the reduction axes of an all-reduce."""

    name = "sdy.axis_ref_list"


@irdl_attr_definition
class ListOfAxisRefListsAttr(_Enclosed[tuple[tuple[AxisRef, ...], ...]]):
    """`#sdy<list_of_axis_ref_lists[{"x"}, {}]>`: axes by dimension."""

    name = "sdy.list_of_axis_ref_lists"


AllToAllParam = tuple[tuple[AxisRef, ...], int, int]
"""Axes, source and target dimension."""


@irdl_attr_definition
class AllToAllParamAttr(_Enclosed[AllToAllParam]):
    """`#sdy<all_to_all_param{"x"}: 0->1>`."""

    name = "sdy.all_to_all_param"


@irdl_attr_definition
class AllToAllParamListAttr(_Enclosed[tuple[AllToAllParam, ...]]):
    """`#sdy<all_to_all_param_list[{"x"}: 0->1]>`: axes, source and target dimension."""

    name = "sdy.all_to_all_param_list"


@irdl_attr_definition
class EdgeValueRefAttr(_Enclosed[EdgeValueRef]):
    """`#sdy<edge_value_ref operand-0>`."""

    name = "sdy.edge_value_ref"


@irdl_attr_definition
class AxisToPropagationDetailsAttr(_Enclosed[AxisEdge]):
    """`#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>`."""

    name = "sdy.axis_to_propagation_details"


@irdl_attr_definition
class PropagationOneStepAttr(_Enclosed[PropagationStep]):
    """`#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}>`."""

    name = "sdy.propagation_one_step"


@irdl_attr_definition
class PropagationEdgesAttr(DialectAttribute[tuple[PropagationStep, ...]]):
    """`#sdy.propagation_edges<[{step-0 = [...]}, ...]>`: how an op's values got their axes, step by step."""

    name = "sdy.propagation_edges"
