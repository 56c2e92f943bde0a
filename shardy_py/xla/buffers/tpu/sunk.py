"""Constants that loops read, made inside them: XLA sinks constants and broadcasts of them into the bodies.

So that no value that is the same everywhere is stored while a loop runs. Nor is one that loops start with
stored beside them: of 480 broadcasts with which loops of XLA:TPU start, or the memory that it reserves
instead, nothing else reads any. Source: openxla/xla, xla/service/while_loop_constant_sinking.cc.
Not here: what a loop does not change otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from shardy_py.xla.buffers.facet import STORED
from shardy_py.xla.spmd.program import Name, PlannedOp, edited
from shardy_py.xla.targets.facet import COMPILED, NodeForm
from shardy_py.xla.targets.model import DeviceNode


def with_own_constants(
    steps: Sequence[PlannedOp],
    around: Mapping[int, DeviceNode],
    is_fixed: Callable[[PlannedOp], bool],
    made: Callable[[DeviceNode, PlannedOp, Name], PlannedOp],
) -> tuple[PlannedOp, ...]:
    """Returns the steps of a region with those that broadcast constants, instead of reading them from around.

    around: the nodes of the computations that it is in. is_fixed: whether something else knows a step, which
    stays as it is. made: the step of a node and its op, under another name.
    """
    readers = [step for step in steps if not (step.blocks or is_fixed(step))]
    names: dict[int, Name] = {name: ("inside", name, id(steps)) for name in _constants(readers, around)}
    if not names:
        return tuple(steps)
    moved = {id(step): _reading(step, names) for step in readers}
    nodes = ((around[name], inside) for name, inside in names.items())
    own = [made(node, node.step, inside) for node, inside in nodes if node.step is not None]
    return (*own, *(moved.get(id(step), step) for step in steps))


def own_starts(
    number: int, inputs: Sequence[int], around: Mapping[int, DeviceNode], readers: Mapping[int, Sequence[int]]
) -> dict[int, Name]:
    """Returns by position the own name of what a loop starts with, if that is a constant which others read.

    number: of the loop. around: see `with_own_constants`. readers: by node.
    """
    return {
        position: ("start", number, position)
        for position, each in enumerate(inputs)
        if len(readers.get(each, ())) > 1 and each in around and _is_constant(around[each], around)
    }


def _constants(steps: Iterable[PlannedOp], around: Mapping[int, DeviceNode]) -> Iterator[int]:
    """The values from around that steps read, each once, which are broadcast of one constant."""
    for name in dict.fromkeys(name for step in steps for name in step.operands):
        if isinstance(name, int) and (node := around.get(name)) is not None and _is_constant(node, around):
            yield name


def _is_constant(node: DeviceNode, around: Mapping[int, DeviceNode]) -> bool:
    if node.step is None or len(node.inputs) != 1 or COMPILED.of(node.name).form is not NodeForm.BROADCAST:
        return False
    source = around.get(node.inputs[0])
    return source is not None and source.step is not None and STORED.of(source.name).is_constant


def _reading(step: PlannedOp, names: Mapping[int, Name]) -> PlannedOp:
    if names.keys().isdisjoint(step.operands):
        return step
    operands = tuple([names.get(name, name) if isinstance(name, int) else name for name in step.operands])
    return edited(step, operands=operands)
