"""The graph of a step without mutation and with ops without a row decomposed: each distinct call once.

torch does both by tracing the step again, op by op, which takes longer than the first trace: a step of AdamW
has the same twelve calls for each of hundreds of parameters. Here ops in place become ops with new results
(`in_place.py`), and only a function of the distinct calls is traced.

Not here: steps that change inputs or views in place, or statistics, which torch traces again (`trace.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from shardy_py.frontends.torch.class_gradients import rewrite_class_gradients
from shardy_py.frontends.torch.decompositions import (
    DecomposedBody,
    alike,
    bodies_of,
    call,
    distinct_calls,
    replaced,
    tensors_of,
)
from shardy_py.frontends.torch.foreach import is_foreach
from shardy_py.frontends.torch.in_place import without_mutation
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxModule, FxNode, TorchTensor

Part = TypeVar("Part")


def decomposed_step(
    recorded: FxModule,
    held: Mapping[str, TorchTensor],
    table: Mapping[object, object],
    ignored: Sequence[str],
) -> FxGraph | None:
    """The graph of a recorded step; None if torch has to trace the step again.

    held: the tensors that attributes are, which become inputs. table: of decompositions. ignored: namespaces
    of ops that compute nothing.
    """
    given = _with_inputs(recorded, held, ignored)
    graph = None if given is None else without_mutation(given)
    if graph is not None:
        rewrite_class_gradients(graph)
    calls = None if graph is None else distinct_calls(graph, table)
    if graph is None or calls is None:
        return None
    bodies = dict(zip(calls, _bodies(list(calls.values()), table), strict=True)) if calls else {}
    return replaced(graph, bodies, table)


def _with_inputs(
    recorded: FxModule, held: Mapping[str, TorchTensor], ignored: Sequence[str]
) -> FxGraph | None:
    """A copy of the graph with inputs in place of attributes; None for one with ops on lists."""
    graph = recorded.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    fake = torch_module("torch._guards").detect_fake_mode([node.meta["val"] for node in placeholders])
    if fake is None or any(is_foreach(node.target) for node in graph.nodes):
        return None
    copy = torch_module("torch.fx").Graph()
    values: dict[FxNode, FxNode] = {}
    for node in placeholders:
        values[node] = _copied(copy, node, values)
    inputs: dict[str, FxNode] = {}
    for name, tensor in held.items():
        inputs[name] = copy.placeholder(name)
        inputs[name].meta["val"] = fake.from_tensor(tensor)
    for node in graph.nodes:
        if node.op == "get_attr":
            values[node] = inputs[str(node.target)]
        elif node.op != "placeholder" and not str(node.target).startswith(tuple(ignored)):
            values[node] = _copied(copy, node, values)
    return copy


def _copied(graph: FxGraph, node: FxNode, values: Mapping[FxNode, FxNode]) -> FxNode:
    made = graph.node_copy(node, values.__getitem__)
    made.meta = dict(node.meta)
    return made


def _bodies(calls: Sequence[FxNode], table: Mapping[object, object]) -> list[DecomposedBody]:
    """The decomposition of each call, from one trace of all on inputs of their own."""
    torch = torch_module("torch")
    given = [[alike(node.meta["val"]) for node in tensors_of(each)] for each in calls]
    counts = [len(part) for part in given]
    flat = [tensor for part in given for tensor in part]

    def run(*tensors: object) -> list[object]:
        parts = _parts(tensors, counts)
        return [call(node, iter(part)) for node, part in zip(calls, parts, strict=True)]

    make_fx = torch_module("torch.fx.experimental.proxy_tensor").make_fx
    traced = make_fx(torch.func.functionalize(run), decomposition_table=dict(table), tracing_mode="fake")
    with torch.no_grad():
        graph = traced(*flat).graph
    nodes = list(graph.nodes)
    inputs = _parts([node for node in nodes if node.op == "placeholder"], counts)
    return bodies_of(nodes, inputs, nodes[-1].args[0])


def _parts(values: Sequence[Part], counts: Sequence[int]) -> list[Sequence[Part]]:
    """Values in parts of these lengths."""
    ends = [sum(counts[: number + 1]) for number in range(len(counts))]
    return [values[end - count : end] for end, count in zip(ends, counts, strict=True)]
