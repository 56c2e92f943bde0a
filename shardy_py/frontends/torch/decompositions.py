"""Ops without a row, decomposed by torch: each distinct call once, for models of any number of layers.

torch decomposes a program by tracing all of it again, which takes longer than its export. Here a program of
the distinct calls (op, shapes, other arguments) is decomposed, and each call of the model is replaced by the
nodes of its kind:

    aten.silu(x: 8x64)   80 times      ->  one call, decomposed into sigmoid and mul, copied 80 times

Programs that change inputs or views in place, or run graphs (`torch.cond`), are decomposed as a whole.

Not here: the rows (`aten/`), the conversion of the nodes (`export.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy as shallow_copy
from typing import Any

from shardy_py.base.narrowing import is_mapping, is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten import keeps_whole
from shardy_py.frontends.torch.calls import without_own_warnings
from shardy_py.frontends.torch.composites import rewrite_composites
from shardy_py.frontends.torch.in_place import without_mutation
from shardy_py.frontends.torch.nodes import aten_of_prim, is_unknown, not_decomposed, updates_statistics
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import Exported, FxGraph, FxNode, TorchProgram, TorchTensor
from shardy_py.frontends.torch.whole_ops import right_decompositions

MOST_ROUNDS = 4
"""The most rounds of decomposition."""

_META = ("stack_trace", "nn_module_stack", "custom")
"""The keys of metadata that nodes of a decomposition get from the call."""


@dataclass(frozen=True, eq=False)
class Decomposed:
    """A decomposed program; as `torch.export.ExportedProgram`, as far as it is used."""

    graph: FxGraph
    graph_signature: object
    constants: Mapping[str, TorchTensor]
    call_spec: Any
    state_dict: Mapping[str, object]

    @property
    def graph_module(self) -> Decomposed:
        """The module that holds the graph, and no other."""
        return self

    def modules(self) -> Iterator[Decomposed]:
        """The modules with graphs."""
        yield self


@without_own_warnings()
def decomposed(exported: TorchProgram) -> Exported:
    """The program with ops without a row decomposed as far as torch can; `exported` does not change.

    Raises `ShardyError` if torch cannot decompose it.
    """
    table = _table()
    graph = without_mutation(exported.graph)
    if graph is not None:
        rewrite_composites(graph)
    calls = None if graph is None else distinct_calls(graph, table)
    if calls is None:
        return _decomposed_whole(exported)
    bodies: dict[object, DecomposedBody] = {}
    if calls:
        program = _program_of(list(calls.values()))
        found = None if program is None else _bodies(_decomposed_whole(program))
        if found is None:
            return _decomposed_whole(exported)
        bodies = dict(zip(calls, found, strict=True))
    graph = replaced(graph, bodies, table)
    return Decomposed(
        graph, exported.graph_signature, exported.constants, exported.call_spec, exported.state_dict
    )


# ---------------------------------------------------------------------- distinct calls


def _table() -> dict[object, object]:
    """torch's decompositions of ops that are not kept whole."""
    decompositions = torch_module("torch.export").default_decompositions()
    return {op: function for op, function in decompositions.items() if not keeps_whole(str(op))}


def _is_decomposed(node: FxNode, table: Mapping[object, object]) -> bool:
    """Returns whether torch decomposes a call: it has no row, or the row is that of another overload."""
    return node.target in table or is_unknown(node)


def distinct_calls(graph: FxGraph, table: Mapping[object, object]) -> dict[object, FxNode] | None:
    """The first node of each kind of call to decompose; None for a program to be decomposed as a whole."""
    fake = torch_module("torch._subclasses").FakeTensor
    found: dict[object, FxNode] = {}
    for node in graph.nodes:
        if node.op not in ("placeholder", "call_function", "output"):
            return None
        if node.op != "call_function" or node.target is operator.getitem:
            continue
        if not hasattr(node.target, "_schema") or not _is_static(node.meta.get("val"), fake):
            return None
        if updates_statistics(node):
            return None
        if _is_decomposed(node, table):
            found.setdefault(_kind(node), node)
    return found


def _is_static(value: object, fake: type[TorchTensor]) -> bool:
    if is_sequence(value):
        return all(_is_static(part, fake) for part in value)
    return value is None or (isinstance(value, fake) and all(type(n) is int for n in value.shape))


def _kind(node: FxNode) -> tuple[object, ...]:
    """The op with its arguments; tensors by type and strides. Calls of one kind decompose equally."""
    return node.target, _key(node.args), _key(node.kwargs)


def _key(given: Any) -> Any:
    if is_sequence(given):
        return tuple(map(_key, given))
    if is_mapping(given):
        return tuple((name, _key(part)) for name, part in given.items())
    if hasattr(given, "meta"):
        tensor = given.meta["val"]
        return tensor.dtype, tensor.shape, tensor.stride(), tensor.device, tensor.requires_grad
    return type(given), given


# ---------------------------------------------------------------------- a program of the calls


@dataclass(frozen=True, eq=False)
class DecomposedBody:
    """The decomposition of a call: its inputs in the order of the call's tensors, its nodes and results."""

    inputs: tuple[FxNode, ...]
    nodes: tuple[FxNode, ...]
    results: object


def _program_of(calls: Sequence[FxNode]) -> TorchProgram | None:
    """An exported program that makes each call on inputs of its own; None if torch cannot export it."""
    torch = torch_module("torch")

    class CallsModule(torch.nn.Module):
        def forward(self, inputs: Sequence[Sequence[object]]) -> object:
            return [call(node, iter(given)) for node, given in zip(calls, inputs, strict=True)]

    given = [[alike(node.meta["val"]) for node in tensors_of(call)] for call in calls]
    try:
        return torch.export.export(CallsModule(), (given,))
    except Exception:  # what torch cannot export in this form is decomposed as a whole
        return None


def alike(tensor: Any) -> object:
    """Another tensor of that type, without elements: torch takes equal inputs for one."""
    with tensor.fake_mode:
        return torch_module("torch").empty_strided(
            tensor.shape,
            tensor.stride(),
            dtype=tensor.dtype,
            device=tensor.device,
            requires_grad=tensor.requires_grad,
        )


def call(node: FxNode, tensors: Iterator[object]) -> object:
    """The results of a node's op on these tensors, in the place of the nodes among its arguments."""
    arguments, keywords = (_mapped(part, lambda _: next(tensors)) for part in (node.args, node.kwargs))
    return (aten_of_prim(node.target) or node.target)(*arguments, **keywords)


def tensors_of(node: FxNode) -> list[FxNode]:
    """The nodes among the arguments of a call, in order."""
    found: list[FxNode] = []
    for part in (node.args, node.kwargs):
        _mapped(part, found.append)
    return found


def _mapped(given: object, function: Callable[[FxNode], object]) -> Any:
    """Arguments with the results of a function in place of nodes."""
    return torch_module("torch.fx.node").map_arg(given, function)


def _bodies(program: Exported) -> list[DecomposedBody] | None:
    """The decomposition of each call; None if calls change their inputs, or share or lift constants."""
    signature = program.graph_signature
    if any(spec.kind.name != "USER_OUTPUT" for spec in signature.output_specs):
        return None
    if any(spec.kind.name != "USER_INPUT" for spec in signature.input_specs):
        return None
    pytree = torch_module("torch.utils._pytree")
    nodes = list(program.graph.nodes)
    placeholders = iter([node for node in nodes if node.op == "placeholder"])
    ((inputs,), _) = pytree.tree_unflatten(list(placeholders), program.call_spec.in_spec)
    results = pytree.tree_unflatten(list(nodes[-1].args[0]), program.call_spec.out_spec)
    return bodies_of(nodes, inputs, results)


def bodies_of(
    nodes: Sequence[FxNode], inputs: Sequence[Sequence[FxNode]], results: Sequence[object]
) -> list[DecomposedBody]:
    """The decomposition of each call of a graph that makes them apart, by its inputs and results."""
    count = len(inputs)
    owner = {node: number for number, given in enumerate(inputs) for node in given}
    own: list[list[FxNode]] = [[] for _ in range(count)]
    for node in _owned(nodes, owner, results):
        own[owner[node]].append(node)
    return [DecomposedBody(tuple(inputs[n]), tuple(own[n]), results[n]) for n in range(count)]


def _owned(nodes: Sequence[FxNode], owner: dict[FxNode, int], results: Sequence[object]) -> list[FxNode]:
    """The nodes of calls in order; `owner` gets the number of the call of each."""
    calls = [node for node in nodes if node.op == "call_function"]
    for node in calls:
        owners = {owner[given] for given in node.all_input_nodes if given in owner}
        if owners:
            owner[node] = owners.pop()
    for number, result in enumerate(results):
        pending = [node for node in _leaves(result) if node not in owner]
        while pending:
            node = pending.pop()
            owner[node] = number
            pending += [given for given in node.all_input_nodes if given not in owner]
    changed = True
    while changed:  # what has no inputs, as `full`, belongs to its users
        changed = False
        for node in reversed(calls):
            users = [user for user in node.users if user in owner]
            if node not in owner and users:
                owner[node], changed = owner[users[0]], True
    return [node for node in calls if node in owner]


def _leaves(result: object) -> list[FxNode]:
    found: list[FxNode] = []
    _mapped(result, found.append)
    return found


# ---------------------------------------------------------------------- the calls replaced


def replaced(graph: Any, bodies: Mapping[object, DecomposedBody], table: Mapping[object, object]) -> FxGraph:
    """A copy of the graph in which calls are replaced by their bodies."""
    copy = torch_module("torch.fx").Graph()
    values: dict[object, Any] = {}
    for node in graph.nodes:
        if node.op == "call_function" and node.target is operator.getitem:
            parts = values[node.args[0]]
            if is_sequence(parts):
                values[node] = parts[node.args[1]]
                continue
        elif node.op == "call_function" and _is_decomposed(node, table):
            values[node] = _inlined(copy, node, bodies[_kind(node)], values)
            continue
        made = copy.create_node(
            node.op,
            node.target,
            _mapped(node.args, values.__getitem__),
            _mapped(node.kwargs, values.__getitem__),
            node.name,
        )
        made.meta = dict(node.meta)
        if node.op == "placeholder":
            made.name = node.name  # by which the signature knows it
        values[node] = made
    for node in reversed(list(copy.nodes)):
        if node.target is operator.getitem and not node.users:
            copy.erase_node(node)  # rows need not make results that nothing uses
    return copy


def _inlined(copy: Any, call: FxNode, body: DecomposedBody, values: Mapping[object, object]) -> object:
    """The results of a body with the arguments of a call, whose place in the model its nodes get."""
    own = dict(zip(body.inputs, (values[node] for node in tensors_of(call)), strict=True))
    place = {key: call.meta[key] for key in _META if key in call.meta}
    for node in body.nodes:
        arguments, keywords = (_mapped(part, own.__getitem__) for part in (node.args, node.kwargs))
        made = copy.create_node(node.op, node.target, arguments, keywords)
        made.meta = {**node.meta, **place}
        own[node] = made
    return _mapped(body.results, own.__getitem__)


# ---------------------------------------------------------------------- whole programs


def _decomposed_whole(exported: TorchProgram) -> TorchProgram:
    """The program decomposed by torch, with more decompositions until nothing changes."""
    decompositions = torch_module("torch.export").default_decompositions()
    updating = {node.target for node in all_nodes(exported) if updates_statistics(node)}
    kept = {op for op in decompositions if keeps_whole(str(op))} - updating
    table = {op: function for op, function in decompositions.items() if op not in kept}
    exported = _plain_copy(exported)
    try:
        with right_decompositions():
            exported = exported.run_decompositions(table)
    except RuntimeError as error:
        raise not_decomposed(exported.graph.nodes, error) from None
    before: set[object] = set()
    restored: set[str] = set()  # ops that prims stand for, which torch would decompose into prims again
    for _ in range(MOST_ROUNDS):
        unknown = {node.target for node in all_nodes(exported) if is_unknown(node)}
        plain = [op for op in unknown if str(op).removesuffix(".default") not in restored]
        more = torch_module("torch._decomp").get_decompositions(plain)
        prims = {op: function for op in unknown if (function := aten_of_prim(op))}
        restored |= {f"aten.{function.__name__}" for function in prims.values()}
        more |= prims
        if unknown == before or not more:
            break
        exported, before = _simpler(exported, table, more), unknown
    return exported


def _plain_copy(exported: TorchProgram) -> TorchProgram:
    """The program without torch's checks of its inputs: sizes are fixed, and bases of views are lost here.

    Weights on the device `meta` have storages of their own: torch loads all of an archive with one, and takes
    them for views of each other.
    """
    program = shallow_copy(exported)
    vars(program).update({"_guards_code": []} if hasattr(exported, "_guards_code") else {})
    weights = exported.state_dict
    made = {id(each): _without_data(each) for each in weights.values() if each.device.type == "meta"}
    vars(program)["_state_dict"] = {name: made.get(id(each), each) for name, each in weights.items()}
    return program


def _without_data(tensor: TorchTensor) -> object:
    """A tensor or parameter of the same type on the device `meta`."""
    torch = torch_module("torch")
    made = torch.empty_like(tensor, requires_grad=False)
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    return torch.nn.Parameter(made, requires_grad=tensor.requires_grad) if is_parameter else made


def all_nodes(exported: Exported) -> Iterator[FxNode]:
    """The nodes of the graph, and of those in its control flow."""
    for module in exported.graph_module.modules():
        if hasattr(module, "graph"):
            yield from module.graph.nodes


def _simpler(
    exported: TorchProgram, table: Mapping[object, object], more: Mapping[object, object]
) -> TorchProgram:
    """The program with more ops decomposed, except those where torch fails because they work in place."""
    try:
        with right_decompositions():
            return exported.run_decompositions({**table, **more})
    except (AssertionError, RuntimeError):
        if len(more) == 1:
            return exported
    for op, function in more.items():
        exported = _simpler(exported, table, {op: function})
    return exported
