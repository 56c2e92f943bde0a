"""The op graphs that programs and results return, and their text in the language of Graphviz.

    graph = result.graph()
    networkx.dag_longest_path(graph, weight="local_bytes")

docs/graph.md describes nodes and edges. Not here: building the graph (`propagation/graph/from_module.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.ir import Operation

from shardy_py.api.arguments import expect_flags, expect_one_of
from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import TARGETS
from shardy_py.propagation.graph.from_module import op_graph
from shardy_py.propagation.op_graph import OpGraph, plain
from shardy_py.propagation.rules import rule_of
from shardy_py.report.time.by_op import local_work_by_op, work_of_op
from shardy_py.report.time.local_work import DeviceWork

if TYPE_CHECKING:
    from shardy_py.api.program import Program
    from shardy_py.api.result import Result

_SHOWN = ("op", "type", "sharding")
"""The attributes of a node that its label shows."""


def graph_of_program(
    program: Program, *, is_plain: bool, target: str, local: Mapping[Operation, DeviceWork] | None = None
) -> OpGraph:
    """Returns the op graph of a program; local: the work of ops on each device, as far as it is known."""
    expect_one_of("target", target, TARGETS)
    expect_flags(plain=is_plain)

    def work_of(op: Operation) -> dict[str, float]:
        whole = work_of_op(op)
        found = {"flops": whole.all_flops, "transcendentals": whole.transcendentals}
        own = None if local is None else local.get(op)
        if own is not None:
            found |= {"local_flops": own.all_flops, "local_transcendentals": own.transcendentals}
        return found

    values = program.values.table
    graph = op_graph(program.module, rule_of, target=target, values=values, work_of=work_of)
    return plain(graph) if is_plain else graph


def graph_of_result(result: Result, *, is_plain: bool, target: str) -> OpGraph:
    """Returns the op graph of the propagated program, with the work of each device if XLA can plan it."""
    try:
        local = local_work_by_op(result.forecasts.planned_by_xla)
    except ShardyError:  # dynamic shapes, or more devices than are listed
        local = None
    return graph_of_program(result.program, is_plain=is_plain, target=target, local=local)


def dot(graph: OpGraph) -> str:
    """Returns a graph as Graphviz reads it; networkx writes that too, with pydot."""
    lines = ["digraph {", "  node [shape=box];"]
    for key, data in graph.nodes(data=True):
        label = "\n".join(filter(None, (key, *(str(data[name]) for name in _SHOWN))))
        lines.append(f"  {_quoted(key)} [label={_quoted(label)}];")
    for maker, user, data in graph.edges(data=True):
        style = "" if data["kind"] == "operand" else f" [style=dashed, label={_quoted(data['kind'])}]"
        lines.append(f"  {_quoted(maker)} -> {_quoted(user)}{style};")
    return "\n".join([*lines, "}\n"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
