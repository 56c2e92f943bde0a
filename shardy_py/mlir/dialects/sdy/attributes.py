"""The attributes of the sdy dialect: xDSL attributes around the plain values of `sharding/`.

`syntax.py` lists how their text is read and printed, `verify.py` what they must satisfy.

>>> from shardy_py.sharding import TensorSharding
>>> TensorShardingAttr(TensorSharding.fully_open("mesh", 2)).data.rank
2
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import OpaqueSyntaxAttribute

from shardy_py import sharding
from shardy_py.mlir.text.xdsl_hooks import DialectAttribute, define_attribute

T = TypeVar("T")


class _Named(DialectAttribute[T]):
    """One that is printed `#sdy.name<...>`; definitions give the name as an argument of the class."""

    def __init_subclass__(cls, *, name: str = "", **rest: object) -> None:
        super().__init_subclass__(**rest)
        if name:
            cls.name = name
            define_attribute(cls)


class _Enclosed(_Named[T], OpaqueSyntaxAttribute):
    """One that is printed `#sdy<name...>`: its text does not start with `<`."""


class MeshAttr(_Named[sharding.Mesh], name="sdy.mesh"):
    """`#sdy.mesh<["x"=2, "y"=4]>`."""


class MeshAxisAttr(_Enclosed[sharding.MeshAxis], name="sdy.mesh_axis"):
    """`#sdy<mesh_axis"x"=2>`."""


class SubAxisInfoAttr(_Enclosed[sharding.SubAxis], name="sdy.sub_axis_info"):
    """`#sdy<sub_axis_info(1)2>`."""


class AxisRefAttr(_Enclosed[sharding.AxisRef], name="sdy.axis_ref"):
    """`#sdy<axis_ref"x":(1)2>`."""


class DimensionShardingAttr(_Enclosed[sharding.DimensionSharding], name="sdy.dimension_sharding"):
    """`#sdy<dimension_sharding{"x", ?}p1>`."""


class TensorShardingAttr(_Named[sharding.TensorSharding], name="sdy.sharding"):
    """`#sdy.sharding<@mesh, [{"x"}, {?}]>`."""


class TensorShardingPerValueAttr(_Named[tuple[sharding.TensorSharding, ...]], name="sdy.sharding_per_value"):
    """`#sdy.sharding_per_value<[<@mesh, [{"x"}]>, ...]>`: one sharding a value."""


class ManualAxesAttr(_Enclosed[tuple[str, ...]], name="sdy.manual_axes"):
    """`#sdy<manual_axes{"x", "y"}>`."""


class DimMappingAttr(_Enclosed[sharding.DimMapping], name="sdy.dim_mapping"):
    """`#sdy<dim_mapping ij>`: the factors of a dimension."""


class TensorMappingAttr(_Enclosed[sharding.TensorMapping], name="sdy.tensor_mapping"):
    """`#sdy<tensor_mapping[ij, k]>`: the factors of each dimension of a tensor."""


class OpShardingRuleAttr(_Named[sharding.ShardingRule], name="sdy.op_sharding_rule"):
    """`#sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}>`."""


class AxisRefListAttr(_Enclosed[tuple[sharding.AxisRef, ...]], name="sdy.axis_ref_list"):
    """`#sdy<axis_ref_list{"x", "y"}>`: axes, as in the reduction axes of an all-reduce."""


class ListOfAxisRefListsAttr(
    _Enclosed[tuple[tuple[sharding.AxisRef, ...], ...]], name="sdy.list_of_axis_ref_lists"
):
    """`#sdy<list_of_axis_ref_lists[{"x"}, {}]>`: axes by dimension."""


AllToAllParam = tuple[tuple[sharding.AxisRef, ...], int, int]
"""Axes, source and target dimension."""


class AllToAllParamAttr(_Enclosed[AllToAllParam], name="sdy.all_to_all_param"):
    """`#sdy<all_to_all_param{"x"}: 0->1>`."""


class AllToAllParamListAttr(_Enclosed[tuple[AllToAllParam, ...]], name="sdy.all_to_all_param_list"):
    """`#sdy<all_to_all_param_list[{"x"}: 0->1]>`: axes, source and target dimension."""


class EdgeValueRefAttr(_Enclosed[sharding.EdgeValueRef], name="sdy.edge_value_ref"):
    """`#sdy<edge_value_ref operand-0>`."""


class AxisToPropagationDetailsAttr(_Enclosed[sharding.AxisEdge], name="sdy.axis_to_propagation_details"):
    """`#sdy<axis_to_propagation_details{"x" = operand-0 -> [result-0]}>`."""


class PropagationOneStepAttr(_Enclosed[sharding.PropagationStep], name="sdy.propagation_one_step"):
    """`#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]}]}>`."""


class PropagationEdgesAttr(_Named[tuple[sharding.PropagationStep, ...]], name="sdy.propagation_edges"):
    """`#sdy.propagation_edges<[{step-0 = [...]}, ...]>`: how an op's values got their axes, step by step."""
