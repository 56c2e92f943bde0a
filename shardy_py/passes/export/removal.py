"""The passes that only remove something: shardings, axes, rules, groups, debug information."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.mlir.dialects.sdy import MeshOp, OpShardingRuleAttr, ShardingGroupOp
from shardy_py.mlir.holders import RULE, SHARDING
from shardy_py.mlir.ir import erase, find_ops, ops_in, walk_pre_order
from shardy_py.mlir.movements import DroppedRules, is_recording, note
from shardy_py.mlir.record import record_of
from shardy_py.mlir.sharding_walk import transform_shardings
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.typed import dictionaries_in
from shardy_py.passes.export.module_shardings import NAMES as MODULE_SHARDINGS
from shardy_py.passes.import_.meshes import inline_replica_group_meshes, replica_group_meshes
from shardy_py.passes.options import DropShardingAndMeshOptions
from shardy_py.passes.propagate.debug_trail import NOTES
from shardy_py.passes.propagate.rule_attributes import derived_rule_attributes
from shardy_py.propagation.rules import rule_of
from shardy_py.reshard.boundary import closed_like
from shardy_py.sharding import Axes, DimensionSharding, Mesh, TensorSharding


def drop_sharding_and_mesh(module: ModuleOp, options: DropShardingAndMeshOptions) -> None:
    """`sdy-drop-sharding-and-mesh`: removes all shardings and meshes.

    before  sdy.mesh @mesh = <["x"=2]>
        func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    after   func.func @f(%arg0: tensor<8xf32>)

    Ops of the dialect, and the shardings in their properties, are kept, and so are meshes that replica groups
    name.
    """
    kept: set[str] = set()
    if options.inline_replica_group_meshes or not Behaviour.GROUPS_ARE_AXES.holds:
        inline_replica_group_meshes(module, Symbols(module).meshes())
    else:
        kept = replica_group_meshes(module)
    remove_attributes(module, {SHARDING})
    if not options.keep_module_sharding_metadata:
        for name in MODULE_SHARDINGS:
            module.attributes.pop(name, None)
    for mesh in find_ops(module, MeshOp.name):
        if not (isinstance(mesh, MeshOp) and mesh.sym_name.data in kept):
            erase(mesh)


def remove_attributes(root: Operation, names: Collection[str]) -> None:
    """Remove discardable attributes from all ops in `root`, and from function arguments and results."""
    for op in walk_pre_order(root):
        for name in names:
            op.attributes.pop(name, None)
        if isinstance(op, FuncOp):
            for place in ("arg_attrs", "res_attrs"):
                _remove_from_values(op, place, names)


def _remove_from_values(function: Operation, place: str, names: Collection[str]) -> None:
    given = function.properties.get(place)
    if given is None:
        return
    old = [dictionary.data for dictionary in dictionaries_in(given)]
    new = [{name: value for name, value in entries.items() if name not in names} for entries in old]
    if not any(new):
        del function.properties[place]
    elif new != old:
        function.properties[place] = ArrayAttr(map(DictionaryAttr, new))


def drop_sharding_rules(module: ModuleOp) -> None:
    """`sdy-drop-sharding-rules`: removes derived sharding rules; those of users are kept.

    before  stablehlo.negate %0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}>}
    after   stablehlo.negate %0
    """
    dropped: dict[Operation, OpShardingRuleAttr] = {}
    derived = derived_rule_attributes()
    for inner in ops_in(module):
        rule = inner.attributes.get(RULE) if inner.attributes else None
        if rule is not None and isinstance(rule, OpShardingRuleAttr) and not rule.data.is_custom:
            del inner.attributes[RULE]
            if id(rule) not in derived:
                dropped[inner] = rule
    if is_recording():
        note(DroppedRules(partial(_underivable, dropped)))


def _underivable(rules: Mapping[Operation, OpShardingRuleAttr]) -> dict[Operation, OpShardingRuleAttr]:
    """The rules that differ from those derived for their ops: written by users, or by passes of XLA.

    Not those of sdy's ops, which are reshards by now.
    """
    known: dict[tuple[int, int], bool] = {}

    def is_derived(op: Operation, rule: OpShardingRuleAttr) -> bool:
        record = record_of(op)
        key = id(record), id(rule)
        if key not in known:
            ways = (rule_of(record, conservative_propagation=way) for way in (False, True))
            known[key] = rule.data in ways
        return known[key]

    return {
        op: rule for op, rule in rules.items() if not (op.name.startswith("sdy.") or is_derived(op, rule))
    }


def remove_sharding_groups(module: ModuleOp) -> None:
    """`sdy-remove-sharding-groups`: erases all sharding groups.

    before  sdy.sharding_group %0 group_id=0 : tensor<8xf32>
    after   (nothing)
    """
    for group in find_ops(module, ShardingGroupOp.name):
        erase(group)


def remove_propagation_debug_info(module: ModuleOp) -> None:
    """`sdy-remove-propagation-debug-info`: removes the debug information of propagation.

    before  stablehlo.add %a, %b {sdy.sharding_origins = {x = "input: 0"}}
    after   stablehlo.add %a, %b
    """
    remove_attributes(module, NOTES)


def remove_size_one_axes(module: ModuleOp) -> None:
    """`sdy-remove-size-one-axes`: removes axes of size one, which can only conflict.

    Meshes are not changed.

    before  sdy.mesh @mesh = <["x"=1, "y"=2]>    <@mesh, [{"x", "y"}p1, {"x"}p2]>
    after   sdy.mesh @mesh = <["x"=1, "y"=2]>    <@mesh, [{"y"}p1, {}]>
    """
    meshes = [inner.mesh.data for inner in module.body.block.ops if isinstance(inner, MeshOp)]
    if any(axis.size == 1 for mesh in meshes for axis in mesh.axes):
        symbols = Symbols(module)
        transform_shardings(module, lambda s: without_size_one_axes(s, symbols.mesh(s.mesh)))


def without_size_one_axes(sharding: TensorSharding, mesh: Mesh | None) -> TensorSharding:
    """The sharding without the axes of `mesh` of size one.

    A dimension that is left empty and closed has no priority.
    """

    def kept(axes: Axes) -> Axes:
        return axes if mesh is None else tuple(axis for axis in axes if axis.size(mesh) != 1)

    def dimension(given: DimensionSharding) -> DimensionSharding:
        axes = kept(given.axes)
        return replace(given, axes=axes, priority=given.priority if axes or not given.is_closed else None)

    return replace(
        sharding,
        dimensions=tuple(map(dimension, sharding.dimensions)),
        replicated_axes=kept(sharding.replicated_axes),
        unreduced_axes=kept(sharding.unreduced_axes),
    )


def close_shardings(module: ModuleOp) -> None:
    """`sdy-close-shardings`: closes every dimension of every sharding and drops explicitly replicated axes.

    Propagation is over, so there is nothing left to be open for.

    before  %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x", ?}, {?}], replicated={"y"}>]>}
    after   %0 = stablehlo.add %a, %b {sdy.sharding = ...<[<@mesh, [{"x"}, {}]>]>}
    """
    transform_shardings(module, closed_like)
