"""Verifier of the steps of propagation edges by themselves; plain values in, messages out.

Not here: checks against their op (`verify_edges.py`).

>>> from shardy_py.sharding import AxisEdge, AxisRef
>>> value = EdgeValueRef("operand", 0)
>>> [*step_faults((PropagationStep(1, (AxisEdge(AxisRef("x"), value, (value,)),)),))]
['propagation edges have a source that is the same as a target']
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shardy_py.sharding import EdgeValueRef, PropagationStep


def step_faults(steps: Sequence[PropagationStep]) -> Iterator[str]:
    """Edges in themselves, step by step:

    - the index of a step is not negative, and no other step has it
    - an edge does not lead to where it comes from, nor twice to the same value
    """
    seen: set[int] = set()
    for step in steps:
        if step.index < 0:
            yield f"propagation edges have negative step index: {step.index}"
            return
        if step.index in seen:
            yield f"propagation edges have duplicate step index: {step.index}"
            return
        seen.add(step.index)
        fault = _target_fault(step)
        if fault is not None:
            yield fault
            return


def _target_fault(step: PropagationStep) -> str | None:
    for edge in step.edges:
        seen: set[EdgeValueRef] = set()
        for target in edge.targets:
            if target == edge.source:
                return "propagation edges have a source that is the same as a target"
            if target in seen:
                where = f"step index: {step.index} and axis: {edge.axis.name}"
                return f"propagation edges have duplicate targets for {where}"
            seen.add(target)
    return None
