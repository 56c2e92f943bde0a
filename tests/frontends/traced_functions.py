"""Programs of functions of tensors with gradients, traced as training steps are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shardy_py import Mesh, Program
from shardy_py.frontends.builder import Argument, build
from shardy_py.frontends.torch.export import TorchGraph
from shardy_py.frontends.torch.nodes import check, node_type
from shardy_py.frontends.torch.trace import Places, trace
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules


def program_of_function(
    function: Callable[..., Sequence[Any]],
    tensors: Sequence[Any],
    names: Sequence[str],
    mesh: Mesh | None = None,
) -> Program:
    """The program of a function that returns tensors; names: those of its arguments."""
    traced = trace(function, tensors, Places({}))
    check(traced.nodes)
    arguments = tuple(
        Argument(node_type(node), name=name) for node, name in zip(traced.inputs, names, strict=True)
    )
    graph = TorchGraph(traced.nodes, traced.inputs, arguments, traced.constants, ())
    program = build(graph.run, *arguments, mesh=mesh)
    populate_expanded_op_rules(program.module)
    return program
