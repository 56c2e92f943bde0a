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


def _whole_inputs(plan: ParallelPlan, mesh: Mesh, inputs: Collection[Value]) -> Iterator[str]:
    sharded = [value.sharding.value for value in inputs if value.sharding is not None]
    used = {axis.name for own in sharded for dimension in own.dimensions for axis in dimension.axes}
    with_batch = [value for value in inputs if value.shape]
    every = dict.fromkeys(axis for group in plan.groups for axis in group.plan.every_axis)
    left = [axis for axis in every if axis not in used and mesh.sizes[axis] > 1]
    if left and with_batch:
        axes = ", ".join(f'"{axis}"' for axis in left)
        example = f'{{"{with_batch[0].label}": P({axes if len(left) == 1 else f"({axes})"})}}'
        yield (
            f"fully_shard along {axes}: no input is sharded along it, so its devices compute the same batch; "
            f"shard the batch: shardings={example}"
        )
