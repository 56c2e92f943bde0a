"""`sdy-propagate-through-expanded-ops`: continues propagation through ops that XLA expands.

%arg0: [{"x"}]
before  %0 = chlo.square %arg0 {sdy.sharding_rule = ...<([i])->([i]) {i=8}>} : tensor<8xf32>
        %1 = stablehlo.negate %0 : tensor<8xf32>
after   %0 = chlo.square %arg0 {<@mesh, [{"x"}]>, ...}
        %1 = stablehlo.negate %0 {<@mesh, [{"x"}]>}

Shardy has no rules for these ops: its propagation stops there, and values after them would be gathered. Only
values without a sharding get one, and none of the arguments and results of functions and calls. Runs after
`xla-populate-expanded-op-rules`; other programs stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation

from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.holders import RULE, SHARDING, Holder, Place, function_results, read, write_all
from shardy_py.mlir.ir import find_ops_where, operands_of, walk_pre_order
from shardy_py.mlir.record import record_of
from shardy_py.mlir.symbols import meshes_of
from shardy_py.mlir.value_shardings import ShardingReader, rank_of
from shardy_py.passes.export.equal_constants import constant_or_scalar_merger
from shardy_py.passes.export.removal import close_shardings
from shardy_py.passes.import_.constants import constant_or_scalar_splitter
from shardy_py.passes.import_.data_flow_edges import add_data_flow_edges, sink_data_flow_edges
from shardy_py.passes.options import SinkDataFlowEdgesOptions, UserPriorityPropagateOptions
from shardy_py.passes.propagate.propagating import user_priority_propagate
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import TensorSharding
from shardy_py.sharding.meshes import meshes_with_axes

_LISTS = ("arg_attrs", "res_attrs")


def propagate_through_expanded_ops(module: ModuleOp) -> None:
    """Propagates once more if such an op has sharded and whole tensors."""
    reader = ShardingReader()
    mesh = next(iter(meshes_with_axes(meshes_of(module))), None)
    if mesh is None or not any(_stops(op, reader) for op in walk_pre_order(module, include_root=False)):
        return
    ruled = {op for op in walk_pre_order(module, include_root=False) if RULE in op.attributes}
    borders = _borders(module)
    kept = {op: _shardings_of(op) for op in borders}
    _close(borders, mesh)
    with collected_warnings():  # propagation has given them before
        constant_or_scalar_splitter(module)
        add_data_flow_edges(module)
        user_priority_propagate(module, UserPriorityPropagateOptions(keep_sharding_rules=True))
    constant_or_scalar_merger(module)
    sink_data_flow_edges(module, SinkDataFlowEdgesOptions())
    close_shardings(module)
    for op in walk_pre_order(module, include_root=False):
        if RULE in op.attributes and op not in ruled:
            del op.attributes[RULE]
    for op, shardings in kept.items():
        _restore(op, shardings)


def _stops(op: Operation, reader: ShardingReader) -> bool:
    """True if Shardy's propagation stopped at an op: it has no rule there, and tensors without a sharding."""
    if RULE not in op.attributes or op.name.startswith("sdy.") or rule_of(record_of(op)) is not None:
        return False
    values = [value for value in (*operands_of(op), *op.results) if rank_of(value.type)]
    sharded = [(s := reader.of(value)) is not None and not s.is_fully_replicated for value in values]
    return any(sharded) and not all(sharded)


def _borders(module: ModuleOp) -> list[Operation]:
    """The functions and calls: propagation between them is over."""
    return find_ops_where(module, lambda op: isinstance(op, (FuncOp, CallOp)))


def _shardings_of(op: Operation) -> Mapping[str, Attribute | None]:
    """The attributes that hold the shardings of a function or a call."""
    if isinstance(op, FuncOp):
        return {name: op.properties.get(name) for name in _LISTS}
    return {SHARDING: op.attributes.get(SHARDING)}


def _restore(op: Operation, shardings: Mapping[str, Attribute | None]) -> None:
    attributes = op.properties if isinstance(op, FuncOp) else op.attributes
    for name, value in shardings.items():
        if value is None:
            attributes.pop(name, None)
        else:
            attributes[name] = value


def _close(borders: list[Operation], mesh: str) -> None:
    """Gives arguments and results without a sharding a closed one without axes."""
    holders: list[tuple[Holder, int]] = []
    for op in borders:
        if isinstance(op, FuncOp):
            types = op.function_type
            results = function_results(op, len(types.outputs))
            holders += [(h, rank_of(t)) for h, t in zip(results, types.outputs, strict=True)]
            arguments = [Holder(Place.ARGUMENT, op, index) for index in range(len(types.inputs))]
            holders += [(h, rank_of(t)) for h, t in zip(arguments, types.inputs, strict=True)]
        else:
            made = [Holder(Place.RESULT, op, index) for index in range(len(op.results))]
            holders += [(h, rank_of(r.type)) for h, r in zip(made, op.results, strict=True)]
    write_all((h, TensorSharding.fully_closed(mesh, rank)) for h, rank in holders if read(h) is None)
