"""Rewrites of manual computations: unused inputs go, and one over axes of size one is only its body."""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import Operation

from shardy_py.dialects.sdy import TensorShardingPerValueAttr
from shardy_py.dialects.sdy.interfaces import manual_axes
from shardy_py.graph.symbols import meshes_of, module_of
from shardy_py.ir import erase, operands_of, place_before, replace_uses, take_out, terminator_of
from shardy_py.passes.rewrites.record import Rewrite
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import common_mesh, resolve

MANUAL = "sdy.manual_computation"


def _unused_inputs(op: Operation) -> bool:
    block = op.regions[0].blocks[0]
    used = [argument.first_use is not None for argument in block.args]
    if all(used):
        return False
    shardings = _shardings(op, "in_shardings")
    for argument in [a for a in block.args if a.first_use is None]:
        block.erase_arg(argument)
    op.operands = [value for value, is_used in zip(operands_of(op), used, strict=True) if is_used]
    kept = tuple(sharding for sharding, is_used in zip(shardings, used, strict=True) if is_used)
    op.properties["in_shardings"] = TensorShardingPerValueAttr(kept)
    return True


def _inlined(op: Operation) -> bool:
    """A computation over manual axes of size one is nothing but its body."""
    block = op.regions[0].blocks[0]
    terminator = terminator_of(op.regions[0])
    assert terminator is not None
    shardings = (*_shardings(op, "in_shardings"), *_shardings(op, "out_shardings"))
    if shardings:
        mesh = common_mesh(shardings, meshes := meshes_of(module_of(op)))
        sizes = resolve(mesh, meshes).sizes if mesh is not None else {}
        if prod(sizes.get(axis, 1) for axis in manual_axes(op)) != 1:
            return False
    for argument, value in zip(block.args, operands_of(op), strict=True):
        replace_uses(argument, value)
    for result, value in zip(op.results, operands_of(terminator), strict=True):
        replace_uses(result, value)
    inner = block.first_op
    while inner is not None and inner is not terminator:
        following = inner.next_op
        take_out(inner)
        place_before(inner, op)
        inner = following
    erase(op)
    return True


def _shardings(op: Operation, name: str) -> tuple[TensorSharding, ...]:
    return cast(TensorShardingPerValueAttr, op.properties[name]).data


MANUAL_REWRITES: tuple[Rewrite, ...] = (Rewrite(MANUAL, _unused_inputs), Rewrite(MANUAL, _inlined))
