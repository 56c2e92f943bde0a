"""Remarks on plans: what is likely not meant, though torch does it too.

    plan: remark: fully_shard along "dp": no input is sharded along it, so its devices compute the same batch

Not here: plans that are errors (`plans.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from shardy_py.api import Mesh, Program, Value
from shardy_py.api.remarks import say
from shardy_py.frontends.torch.plans import ParallelPlan


def say_whole_inputs(
    program: Program, plan: ParallelPlan, mesh: Mesh, inputs: Collection[str], function: str
) -> None:
    """Logs the axes of `fully_shard` along which no input is sharded. inputs: the labels of arguments."""
    values = [value for value in program.values.arguments(function) if value.label in inputs]
    say(_whole_inputs(plan, mesh, values), "plan")


def say_unreduced(plan: ParallelPlan, mesh: Mesh, trained: Collection[str]) -> None:
    """Logs the parameters outside of the modules of `fully_shard`. trained: those with gradients."""
    say(_unreduced(plan, mesh, trained), "plan")


def _unreduced(plan: ParallelPlan, mesh: Mesh, trained: Collection[str]) -> Iterator[str]:
    axes = _data_axes(plan, mesh)
    sharded = {name for group in plan.groups for name in group.parameters}
    left = [name for name in trained if name not in sharded]
    if axes and left:
        named = ", ".join((*left[:3], "...") if len(left) > 3 else left)
        yield (
            f"fully_shard along {_quoted(axes)}: torch does not reduce gradients of parameters outside of "
            f'its modules ({named}), which differ by device; add the model itself, "", to the modules'
        )


def _data_axes(plan: ParallelPlan, mesh: Mesh) -> list[str]:
    """The axes of more than one device along which `fully_shard` has parts of the batch."""
    every = dict.fromkeys(axis for group in plan.groups for axis in group.plan.every_axis)
    return [axis for axis in every if mesh.sizes[axis] > 1]


def _quoted(axes: Collection[str]) -> str:
    return ", ".join(f'"{axis}"' for axis in axes)


def _whole_inputs(plan: ParallelPlan, mesh: Mesh, inputs: Collection[Value]) -> Iterator[str]:
    sharded = [value.sharding.value for value in inputs if value.sharding is not None]
    used = {axis.name for own in sharded for dimension in own.dimensions for axis in dimension.axes}
    with_batch = [value for value in inputs if value.shape]
    left = [axis for axis in _data_axes(plan, mesh) if axis not in used]
    if left and with_batch:
        axes = _quoted(left)
        example = f'{{"{with_batch[0].label}": P({axes if len(left) == 1 else f"({axes})"})}}'
        yield (
            f"fully_shard along {axes}: no input is sharded along it, so its devices compute the same batch; "
            f"shard the batch: shardings={example}"
        )
