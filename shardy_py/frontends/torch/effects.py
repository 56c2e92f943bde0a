"""Ops with effects, as checks of errors are, without the tokens that order them in torch.

before  with_effects(token, aten._linalg_check_errors, info, ...)        a token, then the op's results
after   aten._linalg_check_errors(info, ...)
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

from shardy_py.frontends.torch.protocols import FxGraph, FxNode, Spec


def drop_tokens(graph: FxGraph, output_specs: Iterable[Spec]) -> None:
    """Replaces ops with tokens by plain ones, and drops results that are tokens, in place."""
    for node in list(graph.nodes):
        if getattr(node.target, "__name__", "") == "with_effects":
            _replace(graph, node)
    output = next(node for node in graph.nodes if node.op == "output")
    pairs = zip(output.args[0], output_specs, strict=True)
    output.args = (tuple(result for result, spec in pairs if not is_token(spec)),)


def is_token(spec: Spec) -> bool:
    """Returns whether an input or output of an exported program is a token."""
    return spec.kind.name == "TOKEN"


def _replace(graph: FxGraph, node: FxNode) -> None:
    token, op, *arguments = node.args
    with graph.inserting_before(node):
        plain = graph.call_function(op, tuple(arguments), dict(node.kwargs))
    _, *values = node.meta["val"] if isinstance(node.meta.get("val"), tuple | list) else (None,)
    plain.meta = {**node.meta, "val": values[0] if len(values) == 1 else tuple(values)}
    for user in list(node.users):
        assert user.target is operator.getitem
        place = user.args[1]
        if place and len(values) > 1:
            user.args = (plain, place - 1)
        else:
            user.replace_all_uses_with(plain if place else token)
            graph.erase_node(user)
    graph.erase_node(node)
