"""`xla-sdy-stablehlo-export-shardings`: converts shardings over axes to GSPMD's `mhlo.sharding`.

Meshes and sharding rules are erased. Several results of an op get a tuple of shardings.

    before  sdy.mesh @mesh = <["x"=4, "y"=2]>
            func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
    after   func.func @f(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"})

Requires a module without ops of sdy: see `xla-sdy-export-ops`. The inverse: `xla-sdy-import-shardings`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from shardy_py.dialects.sdy import ManualAxesAttr, MeshOp, TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.errors import Diagnostic, ShardyError
from shardy_py.graph.holders import RULE, SHARDING
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.symbols import functions_of, meshes_of, top_level_ops
from shardy_py.gspmd.encoding import MANUAL_MARK, XLA_SHARDING, Entries, is_control_flow, rewrite_entries
from shardy_py.gspmd.sharding.axes import to_hlo_sharding, to_named_hlo_sharding
from shardy_py.gspmd.sharding.hlo_sharding import HloSharding
from shardy_py.ir import erase, walk_pre_order
from shardy_py.passes.options import ExportShardingsOptions
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of


def xla_sdy_stablehlo_export_shardings(module: ModuleOp, options: ExportShardingsOptions) -> None:
    """Converts shardings over axes to `mhlo.sharding`, and erases the meshes."""
    exporter = _Exporter(meshes_of(module), is_named=options.enable_hlo_sharding_v3)
    for function in functions_of(module):
        rewrite_entries(function, lambda place, index, entries: exporter.exported(entries))
        for inner in walk_pre_order(function, include_root=False):
            is_missing = is_control_flow(inner) and not inner.attributes.keys() & {SHARDING, MANUAL_MARK}
            with errors_at(inner):
                _export_op(inner, exporter)
            if is_missing and options.add_missing_sharding_to_control_flow:
                inner.attributes.setdefault(XLA_SHARDING, _spelled(HloSharding.replicated()))
    for inner in list(top_level_ops(module)):
        if isinstance(inner, MeshOp):
            erase(inner)


def _export_op(op: Operation, exporter: _Exporter) -> None:
    op.attributes.pop(RULE, None)
    if op.name.startswith("sdy."):
        raise ShardyError(
            Diagnostic("not representable without sdy", remedy="run xla-sdy-export-ops before this pass")
        )
    op.attributes = exporter.exported(op.attributes)


class _Exporter:
    """Converts shardings on the meshes of one module, each value once."""

    def __init__(self, meshes: Mapping[str, Mesh], *, is_named: bool) -> None:
        self._meshes = meshes
        self._convert = to_named_hlo_sharding if is_named else to_hlo_sharding
        self._converted: dict[tuple[TensorSharding, tuple[str, ...]], HloSharding] = {}

    def exported(self, entries: Entries) -> Entries:
        """The attributes of an op, argument or result with `mhlo.sharding` instead of `sdy.sharding`."""
        given, mark = entries.pop(SHARDING, None), entries.pop(MANUAL_MARK, None)
        manual = mark.data if isinstance(mark, ManualAxesAttr) else ()
        if isinstance(given, TensorShardingAttr):
            entries[XLA_SHARDING] = _spelled(self._of(given.data, manual))
        elif isinstance(given, TensorShardingPerValueAttr):
            found = [self._of(sharding, manual) for sharding in given.data]
            entries[XLA_SHARDING] = _spelled(found[0] if len(found) == 1 else HloSharding.tuple_of(found))
        return entries

    def _of(self, sharding: TensorSharding, manual: tuple[str, ...]) -> HloSharding:
        key = (sharding, manual)
        if key not in self._converted:
            if isinstance(sharding.mesh, str) and sharding.mesh not in self._meshes:
                raise ShardyError.unknown("mesh", sharding.mesh, self._meshes)
            self._converted[key] = self._convert(sharding, mesh_of(sharding, self._meshes), manual)
        return self._converted[key]


def _spelled(sharding: HloSharding) -> StringAttr:
    return StringAttr(sharding.text(include_metadata=True))
