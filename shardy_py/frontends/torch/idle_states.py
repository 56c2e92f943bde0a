"""States of parameters without gradients: those that the optimizer does not make are no arguments of a step.

    step, traced = without_idle_states(step, traced)

Which parameters have gradients is known once the step is traced, with states for all. Of a parameter that the
loss does not depend on, Adam has none.

Not here: states of the others (`optimizers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress

from shardy_py.frontends.torch.protocols import FxNode
from shardy_py.frontends.torch.trace import TracedGraph
from shardy_py.frontends.torch.training_step import TrainingStep


def without_idle_states(step: TrainingStep, traced: TracedGraph) -> tuple[TrainingStep, TracedGraph]:
    """The step and its graph without states that the optimizer makes for no parameter that has a gradient."""
    gradients = traced.outputs[1 : 1 + len(step.updated)]
    idle = [name for name, node in zip(step.updated, gradients, strict=True) if node is None]
    if step.optimizer is None or not idle:
        return step, traced
    parameters = dict(step.model.named_parameters())
    unmade = step.optimizer.unmade({name: parameters[name] for name in step.updated}, idle)
    kept = [slot.kind != "state" or slot.name not in unmade for slot in step.slots]
    changed = (keep for keep, slot in zip(kept, step.slots, strict=True) if slot.is_changed)
    inputs = tuple(compress(traced.inputs, kept))
    outputs = (
        *traced.outputs[: 1 + len(gradients)],
        *compress(traced.outputs[1 + len(gradients) :], changed),
    )
    nodes = _without(traced.nodes, set(traced.inputs).difference(inputs))
    if not {node for node in outputs if node is not None} <= {*nodes, *inputs}:
        return step, traced  # the step of another parameter depends on such a state
    graph = replace(traced, nodes=nodes, inputs=inputs, outputs=outputs)
    return replace(step, slots=tuple(compress(step.slots, kept))), graph


def _without(nodes: Sequence[FxNode], dropped: set[FxNode]) -> tuple[FxNode, ...]:
    """The nodes that do not depend on some, and the output, which is the last."""
    found: list[FxNode] = []
    for node in nodes[:-1]:
        if node in dropped or not dropped.isdisjoint(node.all_input_nodes):
            dropped.add(node)
        else:
            found.append(node)
    return (*found, nodes[-1])
