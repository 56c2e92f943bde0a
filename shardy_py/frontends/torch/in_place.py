"""Ops that work in place as ops with new results, in exported graphs.

    batch_norm = aten.batch_norm(conv2d, ...)           batch_norm = aten.batch_norm(conv2d, ...)
    relu_ = aten.relu_(batch_norm)                  ->  relu = aten.relu(batch_norm)
    add = aten.add(batch_norm, relu_)                   add = aten.add(relu, relu)

torch does this by tracing the whole program again. Here a node is replaced if all that is used of its tensor
afterwards is the tensor itself; which nodes share memory is known by the storage of their fake tensors.

Not here: inputs and views that change in place; torch decomposes such programs (`decompositions.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import FxGraph, FxNode

_WITHOUT_EFFECT = "aten.detach_.default"
"""The op that changes no elements; export calls it for constants that are made in the model."""


def is_in_place(node: FxNode) -> bool:
    """Returns whether a node calls an op that changes an argument."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and schema.is_mutable


def without_mutation(graph: FxGraph) -> FxGraph | None:
    """A copy of the graph in which in-place ops have new results.

    None if one changes an input, a part of a tensor, or a tensor of which a view is used afterwards.
    """
    copy = _copy(graph)
    if not any(map(is_in_place, copy.nodes)):
        return copy
    sharing: dict[int, list[FxNode]] = defaultdict(list)
    for node in list(copy.nodes):
        made = _replaced(node, sharing) if is_in_place(node) else node
        if made is None:
            return None
        for storage in _storages(made):
            sharing[storage].append(made)
    return copy


def _copy(graph: FxGraph) -> FxGraph:
    copy = torch_module("torch.fx").Graph()
    values: dict[FxNode, FxNode] = {}
    for node in graph.nodes:
        values[node] = copy.node_copy(node, values.__getitem__)
        values[node].meta = dict(node.meta)
        if node.op == "placeholder":
            values[node].name = node.name  # by which the signature knows it, though it may be Python's
    return copy


def _storages(node: FxNode) -> set[int]:
    """The memory of the tensors of a node: of several, if it has several results."""
    leaves = torch_module("torch.utils._pytree").tree_leaves(node.meta.get("val"))
    fake = torch_module("torch._subclasses").FakeTensor
    return {leaf.untyped_storage()._cdata for leaf in leaves if isinstance(leaf, fake)}


def _replaced(node: FxNode, sharing: Mapping[int, Sequence[FxNode]]) -> FxNode | None:
    """The node with a new result that stands for an in-place node; None if there is none.

    sharing: the earlier nodes by their memory.
    """
    if str(node.target) == _WITHOUT_EFFECT:
        (same,) = node.all_input_nodes
        node.replace_all_uses_with(same)
        node.graph.erase_node(node)
        return same
    op = _functional(node.target)
    place = _place(node)
    if op is None or place is None or _promotes(node):
        return None

    def is_later(user: FxNode) -> bool:
        return node < user

    (storage,) = _storages(node)
    same = sharing[storage]
    # Programs that were read from a file have fake tensors that share nothing.
    if node.args[0] not in same or any(each.op != "call_function" for each in same):
        return None
    after = [each for each in same if any(is_later(user) for user in each.users)]
    if any(_place(each) != place for each in (node.args[0], *after)):
        return None
    with node.graph.inserting_before(node):
        made = node.graph.call_function(op, node.args, node.kwargs)
    made.meta = node.meta
    for each in after:
        each.replace_all_uses_with(made, delete_user_cb=is_later)
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)
    return made


def _functional(op: Any) -> Any:
    """The op without mutation that has the same overload and arguments; None if there is none."""
    namespace, _, rest = str(op).partition(".")
    name, _, overload = rest.partition(".")
    written = [
        argument.alias_info is not None and argument.alias_info.is_write for argument in op._schema.arguments
    ]
    is_view = any(tag.name == "inplace_view" for tag in op.tags)
    if not name.endswith("_") or written != [True] + [False] * (len(written) - 1) or is_view:
        return None
    packet = getattr(getattr(torch_module("torch").ops, namespace), name[:-1], None)
    return getattr(packet, overload, None)


def _promotes(node: FxNode) -> bool:
    """Returns whether the new result may have another type than the changed tensor."""
    own = node.args[0].meta["val"]
    others = [given.meta.get("val") for given in node.all_input_nodes if given is not node.args[0]]
    types = {getattr(other, "dtype", own.dtype) for other in others}
    return any(each.is_floating_point or each.is_complex for each in types - {own.dtype})


def _place(node: FxNode) -> tuple[object, ...] | None:
    """The place of a node's tensor in its storage; None for several tensors, dynamic sizes, and `vmap`."""
    value = node.meta["val"]
    if not isinstance(value, torch_module("torch._subclasses").FakeTensor):
        return None
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    return (value.dtype, value.ndim, *numbers) if all(type(n) is int for n in numbers) else None
