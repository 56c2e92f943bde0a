"""`sdy-explicit-gather-scatter-batching`: makes batch dimensions of gathers and scatters explicit.

Where the component of the indices that selects dimension 0 just counts rows, dimension 0 is a batch dimension
of both; said so, propagation need not replicate it. An op is left alone unless that can be proved.

    before  %i = iota   %v = concatenate %i, %j   gather %a, %v  collapsed_slice_dims = [0, 1]
    after   gather %a, %j  collapsed_slice_dims = [1], operand_batching_dims = [0], ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from shardy_py.graph.cloning import clone
from shardy_py.graph.index_components import counts_rows, shape_of, without_component
from shardy_py.graph.rewiring import replace_op
from shardy_py.ir import replace_operand
from shardy_py.passes.rewrites import Rewrite, apply_rewrites


@dataclass(frozen=True, slots=True)
class Fields:
    """The names that gather and scatter have for the same parts of their dimension numbers."""

    property: str
    index_map: str
    dropped: str
    batching: str
    indices_batching: str


GATHER = Fields(
    "dimension_numbers",
    "start_index_map",
    "collapsed_slice_dims",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
SCATTER = Fields(
    "scatter_dimension_numbers",
    "scatter_dims_to_operand_dims",
    "inserted_window_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


@dataclass(frozen=True)
class ExplicitGatherScatterBatchingPass(ModulePass):
    """Turns implicit batch dimensions of gathers and scatters into explicit ones."""

    name = "sdy-explicit-gather-scatter-batching"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rewrites(op, REWRITES)


def make_explicit(op: Operation, fields: Fields) -> bool:
    """Rewrite `op` if dimension 0 of its first operand is a batch dimension in disguise; whether it is."""
    numbers = cast(Any, op.properties[fields.property])
    indices = op.operands[_indices_position(op)]
    component = _row_component(numbers.data, op.operands[0], indices, fields)
    if component is None:
        return False
    batched = replace(
        numbers.data,
        **{
            fields.index_map: _without_zero(getattr(numbers.data, fields.index_map)),
            fields.dropped: _without_zero(getattr(numbers.data, fields.dropped)),
            fields.batching: (0,),
            fields.indices_batching: (0,),
        },
    )
    fewer = without_component(op, indices, numbers.data.index_vector_dim, component)
    new = clone(op, {})
    replace_operand(new, _indices_position(op), fewer)
    new.properties[fields.property] = type(numbers)(batched)
    replace_op(op, new)
    return True


def _row_component(numbers: Any, operand: SSAValue, indices: SSAValue, fields: Fields) -> int | None:
    """The component of the indices that selects dimension 0 of `operand`, if it counts the rows of both."""
    index_map: tuple[int, ...] = getattr(numbers, fields.index_map)
    vector_dimension: int = numbers.index_vector_dim
    shape, rows = shape_of(indices), shape_of(operand)[:1]
    if (
        getattr(numbers, fields.batching)
        or 0 not in index_map
        or 0 not in getattr(numbers, fields.dropped)
        or not 0 < vector_dimension < len(shape)
        or shape[vector_dimension] <= 1
        or shape[:1] != rows
    ):
        return None
    component = index_map.index(0)
    return component if counts_rows(indices, vector_dimension, component) else None


def _indices_position(op: Operation) -> int:
    """Indices follow the operands: one of a gather, one half of a scatter's other operands."""
    return len(op.operands) // 2


def _without_zero(dimensions: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dimension for dimension in dimensions if dimension)


REWRITES: tuple[Rewrite, ...] = (
    Rewrite("stablehlo.gather", partial(make_explicit, fields=GATHER)),
    Rewrite("stablehlo.scatter", partial(make_explicit, fields=SCATTER)),
)
