"""`torch.export` programs as StableHLO: each node through its row, with the lines of the user's model.

Parameters and buffers become arguments with their full names (`layers.0.weight`), inputs with theirs; results
are named `output`, `output[0]`, `output['logits']`.

Some models merge dimensions before a product and split them after it: `nn.MultiheadAttention` views its
values as [length * batch, size] for its last product, as do models that use `addmm` and decomposed programs.
A sharding of the batch, the minor part of the merged dimension, does not propagate through such a view. The
product of [length, batch, size] has the same elements and propagates it (`unmerge`).

Not here: the rows (`aten/`), types and positions of nodes, unsupported nodes (`nodes.py`), shardings
(`programs.py`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from shardy_py.api import Mesh, Program, ShardyError
from shardy_py.base.narrowing import is_sequence
from shardy_py.base.records import dataclass
from shardy_py.frontends.aten import Row, find_row
from shardy_py.frontends.aten.elements import check_dense
from shardy_py.frontends.builder import Argument, RankedTensorType, Tensor, build, ops
from shardy_py.frontends.builder.insertion import current_block
from shardy_py.frontends.torch.control import control_of
from shardy_py.frontends.torch.decompositions import all_nodes, decomposed
from shardy_py.frontends.torch.effects import drop_tokens, is_token
from shardy_py.frontends.torch.exporting import check_elements
from shardy_py.frontends.torch.module_notes import called_in, note_modules
from shardy_py.frontends.torch.nodes import blamed, check, location_of, node_type
from shardy_py.frontends.torch.numbers import function_of_numbers
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.protocols import Exported, FxGraph, FxModule, FxNode, TorchTensor
from shardy_py.frontends.torch.step_names import after, gradient
from shardy_py.frontends.torch.storage import order_determinants, order_storage
from shardy_py.mlir.dialects.traits import is_dead_when_unused
from shardy_py.mlir.ir import erase
from shardy_py.mlir.typed import of_kind
from shardy_py.mlir.value_table import RESULT_INFO
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules

_VIEWS = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
_PRODUCTS = {"aten.linear.default": 0, "aten.mm.default": 0, "aten.addmm.default": 1}
"""Products, with the number of the argument whose rows are merged."""


def unmerge(graph: FxGraph) -> None:
    """Changes products of merged rows in place if all following views split the rows the same way."""
    for node in list(graph.nodes):
        place = _PRODUCTS.get(str(node.target))
        if place is None or not _is_view(node.args[place]) or not all(map(_is_view, node.users)):
            continue
        split = {_shape(user) for user in node.users}
        if len(split) == 1 and _can_split(node, place, *split):
            _split_rows(graph, node, place, *split)


def _can_split(node: FxNode, place: int, shape: tuple[int, ...]) -> bool:
    """Returns whether the product can have that shape: rows split, and nothing added to single rows."""
    rows, *behind = _shape(node)
    added = _shape(node.args[0]) if place else ()
    return len(shape) > 2 and [shape[-1]] == behind and (len(added) < 2 or added[0] != rows)


def _split_rows(graph: FxGraph, node: FxNode, place: int, shape: tuple[int, ...]) -> None:
    merged, users = node.args[place], list(node.users)
    before = (*shape[:-1], _shape(merged)[-1])
    with graph.inserting_before(node):
        rows = graph.call_function(merged.target, (merged.args[0], list(before)))
    rows.meta = {**merged.meta, "val": merged.meta["val"].reshape(before)}
    node.args = (*node.args[:place], rows, *node.args[place + 1 :])
    node.meta["val"] = users[0].meta["val"]
    for user in users:
        user.replace_all_uses_with(node)


def _is_view(node: FxNode) -> bool:
    return str(getattr(node, "target", "")) in _VIEWS


def _shape(node: FxNode) -> tuple[int, ...]:
    return tuple(node.meta["val"].shape)


def program_of(exported: Any, mesh: Mesh | None = None, name: str = "main") -> Program:
    """The program of a `torch.export.ExportedProgram` on a mesh, without shardings.

    Raises `ShardyError`, at the lines of the model, for ops without a row, dynamic sizes, and inputs that are
    not tensors.
    """
    export = torch_module("torch.export")
    if not isinstance(exported, export.ExportedProgram):
        expected = "the result of torch.export.export(model, arguments)"
        raise ShardyError.unexpected("", expected=expected, got=type(exported).__name__)
    _check_inputs(exported)
    check_elements(exported)
    graph = TorchGraph.of(decomposed(exported))
    program = build(graph.run, *graph.arguments, mesh=mesh, name=name)
    populate_expanded_op_rules(program.module)
    _label_results(program.module, graph.output_names)
    note_modules(program.module, called_in(exported))
    return program


def _check_inputs(exported: Exported) -> None:
    """Raises `ShardyError` for sparse inputs: torch's decompositions ask tensors for their strides."""
    for node in exported.graph.nodes:
        if node.op == "placeholder":
            check_dense(node.meta["val"], node.name)


def tied_names(exported: Exported) -> tuple[tuple[str, ...], ...]:
    """The full names of parameters and buffers that share a tensor.

    On the device `meta` they are one object: storages are shared by all that an archive holds.
    """
    names_by_tensor: dict[object, list[str]] = {}
    targets = {spec.target for spec in exported.graph_signature.input_specs}
    for name, tensor in exported.state_dict.items():
        if name in targets:
            is_meta = tensor.device.type == "meta"
            place = id(tensor) if is_meta else (tensor.untyped_storage()._cdata, tensor.storage_offset())
            key = (place, tensor.dtype, tuple(tensor.shape), tensor.stride())
            names_by_tensor.setdefault(key, []).append(name)
    return tuple(tuple(names) for names in names_by_tensor.values() if len(names) > 1)


@dataclass(frozen=True, eq=False)
class TorchGraph:
    """A graph of torch that runs on builder tensors.

    inputs: the nodes of the arguments. arguments: their types and names; an input with the name of a
        parameter, buffer or output is `x (input)`.
    constants: tensors of the graph by node name; those without data (of a model on the device `meta`) are
        arguments. output_names: one a result.
    """

    nodes: tuple[FxNode, ...]
    inputs: tuple[FxNode, ...]
    arguments: tuple[Argument, ...]
    constants: Mapping[str, TorchTensor]
    output_names: tuple[str, ...]

    @staticmethod
    def of(exported: Exported) -> TorchGraph:
        """The graph of a decomposed program. Raises `ShardyError` for unsupported nodes."""
        drop_tokens(exported.graph, exported.graph_signature.output_specs)
        check(all_nodes(exported))
        for module in exported.graph_module.modules():
            if hasattr(module, "graph"):
                order_storage(module.graph)
                order_determinants(module.graph)
                unmerge(module.graph)
        nodes = tuple(exported.graph.nodes)
        placeholders = {node.name: node for node in nodes if node.op == "placeholder"}
        inputs: list[FxNode] = []
        arguments: list[Argument] = []
        constants: dict[str, TorchTensor] = {}
        outputs = _output_names(exported)
        specs = [spec for spec in exported.graph_signature.input_specs if not is_token(spec)]
        reserved = {*outputs, *(spec.target for spec in specs)}
        for spec in specs:
            node = placeholders[spec.arg.name]
            if spec.kind.name == "CONSTANT_TENSOR" and _has_data(exported.constants[spec.target]):
                constants[node.name] = exported.constants[spec.target]
            elif isinstance(node_type(node), RankedTensorType):
                own = f"{spec.arg.name} (input)" if spec.arg.name in reserved else spec.arg.name
                inputs.append(node)
                arguments.append(Argument(node_type(node), name=spec.target or own))
        return TorchGraph(nodes, tuple(inputs), tuple(arguments), constants, outputs)

    def run(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Builds the ops of all nodes, given tensors for the inputs."""
        values: dict[FxNode, object] = dict(zip(self.inputs, tensors, strict=True))
        blocks = [of_kind(tensor.value.owner, Block) for tensor in tensors[:1]]
        for node in self.nodes:
            match node.op:
                case "placeholder":
                    if node.name in self.constants:
                        values[node] = ops.constant(_array(self.constants[node.name], node))
                    elif node not in values:
                        values[node] = node.meta.get("val")
                case "get_attr":
                    values[node] = _attribute(node)
                case "call_function":
                    values[node] = _run(node, values, blocks)
                case _:
                    outputs: Sequence[FxNode] = node.args[0]
                    results = tuple(_result(values, result) for result in outputs if _is_node(result))
                    _drop_unused(blocks, results)
                    return results
        return ()


def _run_graph(
    module: FxModule, tensors: Sequence[object], shape: tuple[int, ...] = ()
) -> tuple[object, ...]:
    """The results of a graph in control flow, given values for its inputs.

    shape: of the tensors that inputs have in place of tensors without dimensions.
    """
    nodes = list(module.graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    values: dict[FxNode, object] = dict(zip(inputs, tensors, strict=True))
    blocks = [current_block()]
    for node in nodes:
        match node.op:
            case "get_attr":
                values[node] = _attribute(node)
            case "call_function":
                values[node] = _run(node, values, blocks, shape)
            case "output":
                results = _with_tensors(node.args[0], values)
                return tuple(results) if is_sequence(results) else (results,)
            case _:
                pass
    return ()


def _attribute(node: FxNode) -> object:
    """An attribute of the module of a node: a graph, or a constant."""
    found = node.graph.owning_module
    for name in node.target.split("."):
        found = getattr(found, name)
    return ops.constant(_array(found, node)) if hasattr(found, "dtype") else found


def _drop_unused(blocks: Sequence[Block], results: Sequence[Tensor]) -> None:
    """Removes ops that rows built for unused results."""
    returned = {id(tensor.value) for tensor in results}
    for block in blocks:
        for op in reversed(list(block.ops)):
            if is_dead_when_unused(op) and not any(r.first_use or id(r) in returned for r in op.results):
                erase(op)


def _run(
    node: FxNode, values: Mapping[FxNode, object], blocks: Sequence[Block], shape: tuple[int, ...] = ()
) -> Any:
    """The result of a node, whose location its ops get."""
    arguments, keywords = (_with_tensors(given, values) for given in (node.args, node.kwargs))
    if node.target is operator.getitem:
        return _item(node, *arguments)
    last = blocks[0].last_op if blocks else None
    result = _called(node, _row(node), arguments, keywords, shape)
    if blocks:
        location = location_of(node)
        op = blocks[0].first_op if last is None else last.next_op
        while op is not None:
            for inner in op.walk():
                if op is inner or not isinstance(inner.location, NameLoc):
                    inner.location = location
            op = op.next_op
    return result


def _row(node: Any) -> Row:
    """The translation of an op: its row, or that of control flow, or of numbers."""
    if (control := control_of(node.target)) is not None:
        return partial(control, _run_graph)
    return function_of_numbers(node.target) or find_row(str(node.target)) or partial(_computed, node)


def _computed(node: FxNode, out: object, *arguments: object, **keywords: object) -> Tensor:
    """A constant that torch computes, on the host."""
    own = {argument.name for argument in node.target._schema.arguments}
    on_host = {"device": "cpu"} if "device" in own else {}
    return ops.constant(_array(node.target(*arguments, **(keywords | on_host)), node))


def _called(
    node: FxNode,
    row: Row,
    arguments: Sequence[object],
    keywords: Mapping[str, object],
    shape: tuple[int, ...],
) -> Any:
    wanted = node_type(node)
    if shape and isinstance(wanted, RankedTensorType) and _has_shape(arguments, shape):
        wanted = RankedTensorType((*shape, *wanted.shape), wanted.element_type)
    try:
        result = row(wanted, *arguments, **keywords)
    except ShardyError as error:
        raise blamed(node, error.diagnostics[0].message) from None
    except TypeError as error:
        raise blamed(node, f"its row cannot be called with these arguments: {error}") from None
    types = cast("tuple[object, ...]", wanted if isinstance(wanted, tuple) else (wanted,))
    results = result if isinstance(wanted, tuple) and isinstance(result, Sequence) else (result,)
    for tensor, type_ in zip(results, types, strict=False):
        if isinstance(tensor, Tensor) and isinstance(type_, RankedTensorType) and tensor.type != type_:
            raise blamed(node, f"its row: expected {type_.text}, got {tensor.type.text}")
    return result


def _has_shape(given: object, shape: tuple[int, ...]) -> bool:
    """Returns whether one of the tensors among arguments has that shape."""
    if is_sequence(given):
        return any(_has_shape(part, shape) for part in given)
    return isinstance(given, Tensor) and given.shape == shape


def _item(node: FxNode, parts: Sequence[Any], index: int) -> Any:
    part = parts[index]
    if part is None:
        raise blamed(node.args[0], f"result {index} is unsupported; use the others only")
    return part


def _with_tensors(given: object, values: Mapping[FxNode, object]) -> Any:
    """The arguments of a node with tensors in place of nodes."""

    def replaced(part: Any) -> object:
        return values[part] if _is_node(part) else part

    return torch_module("torch.fx.node").map_aggregate(given, replaced)


def _is_node(part: object) -> bool:
    return isinstance(part, torch_module("torch.fx").Node)


def _result(values: Mapping[FxNode, object], node: FxNode) -> Tensor:
    tensor = values.get(node)
    if not isinstance(tensor, Tensor):
        raise ShardyError.unsupported(
            f"the result {node!r}, which is not a tensor,", remedy="return tensors only"
        )
    return tensor


def _has_data(tensor: TorchTensor) -> bool:
    fake = torch_module("torch._subclasses").FakeTensor
    return not (tensor.is_meta or isinstance(tensor, fake))


def _array(tensor: Any, node: Any) -> Any:
    """The elements of a tensor, in numpy."""
    plain = tensor.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":
        import ml_dtypes

        return plain.float().numpy().astype(ml_dtypes.bfloat16)
    try:
        return plain.numpy(force=True)
    except (TypeError, RuntimeError) as error:
        raise blamed(node, f"the constant cannot be converted to numpy: {error}") from None


# ---------------------------------------------------------------------- names

_NAMES: dict[str, Callable[[str], str] | None] = {
    "USER_OUTPUT": None,
    "LOSS_OUTPUT": None,
    "GRADIENT_TO_PARAMETER": gradient,
    "GRADIENT_TO_USER_INPUT": gradient,
}
"""By kind, the name of a result from that of its target; None: named by its place. Others are `after`."""


def _output_names(exported: Exported) -> tuple[str, ...]:
    """`output` with its path in the model's result; for other results what they are: `w.bias gradient`."""
    pytree = torch_module("torch.utils._pytree")
    spec = exported.call_spec.out_spec
    leaves = pytree.tree_flatten_with_path(pytree.tree_unflatten(range(spec.num_leaves), spec))[0]
    user = iter([f"output{pytree.keystr(path)}" for path, _ in leaves])
    names: list[str] = []
    for spec in exported.graph_signature.output_specs:
        if is_token(spec):
            continue
        named = _NAMES.get(spec.kind.name, after)
        name = next(user, "output") if named is None else named(str(spec.target))
        if not hasattr(spec.arg, "value"):
            names.append(name)
    return tuple(names)


def _label_results(module: ModuleOp, names: Sequence[str]) -> None:
    """Gives the results of the function the names by which values are looked up."""
    function = next(op for op in module.body.block.ops if isinstance(op, FuncOp))
    entries = [DictionaryAttr({RESULT_INFO: StringAttr(name)}) for name in names]
    if entries:
        function.properties["res_attrs"] = ArrayAttr(entries)
