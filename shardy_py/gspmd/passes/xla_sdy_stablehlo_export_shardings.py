"""`xla-sdy-stablehlo-export-shardings`: turns shardings over axes into GSPMD's `mhlo.sharding`.

The meshes go with their last use, sharding rules too. Several results of an op become a tuple of shardings.

    before  sdy.mesh @mesh = <["x"=4, "y"=2]>
            func.func @f(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
    after   func.func @f(%arg0: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[4,2]T(1,0)}"})

Ops of sdy have to be gone: see `xla-sdy-export-ops`. The way back is `xla-sdy-import-shardings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from shardy_py.dialects.sdy import ManualAxesAttr, MeshOp, TensorShardingAttr, TensorShardingPerValueAttr
from shardy_py.errors import ShardyError
from shardy_py.graph.holders import RULE, SHARDING
from shardy_py.graph.op_errors import errors_at
from shardy_py.graph.symbols import functions_of, meshes_of, top_level_ops
from shardy_py.gspmd.frontend_attributes import (
    CONTROL_FLOW,
    MANUAL_AXES,
    XLA_SHARDING,
    Entries,
    rewrite_entries,
)
from shardy_py.gspmd.sharding.axes import to_hlo_sharding, to_named_hlo_sharding
from shardy_py.gspmd.sharding.hlo_sharding import HloSharding
from shardy_py.ir import erase, walk_pre_order
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of


@dataclass(frozen=True)
class XlaSdyStablehloExportShardingsPass(ModulePass):
    """Turns shardings over axes into `mhlo.sharding`, and removes the meshes.

    add_missing_sharding_to_control_flow: loops and branches without a sharding get `{replicated}`, where no
        axis is manual.
    enable_hlo_sharding_v3: spell shardings by mesh and axes, as newer versions of XLA take them.
    """

    name = "xla-sdy-stablehlo-export-shardings"
    add_missing_sharding_to_control_flow: bool = False
    enable_hlo_sharding_v3: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        exporter = _Exporter(meshes_of(op), is_named=self.enable_hlo_sharding_v3)
        for function in functions_of(op):
            rewrite_entries(function, lambda place, index, entries: exporter.entries(entries))
            for inner in walk_pre_order(function, include_root=False):
                is_missing = inner.name in CONTROL_FLOW and not inner.attributes.keys() & {
                    SHARDING,
                    MANUAL_AXES,
                }
                with errors_at(inner):
                    exporter.export_op(inner)
                if is_missing and self.add_missing_sharding_to_control_flow:
                    inner.attributes.setdefault(XLA_SHARDING, _spelled(HloSharding.replicated()))
        for inner in list(top_level_ops(op)):
            if inner.name == MeshOp.name:
                erase(inner)


class _Exporter:
    """Converts shardings on the meshes of one module, each value once."""

    def __init__(self, meshes: Mapping[str, Mesh], *, is_named: bool) -> None:
        self._meshes = meshes
        self._is_named = is_named
        self._known: dict[tuple[TensorSharding, tuple[str, ...]], HloSharding] = {}

    def entries(self, entries: Entries) -> Entries:
        """The attributes of an argument or result."""
        given = entries.pop(SHARDING, None)
        manual = _manual_axes(entries.pop(MANUAL_AXES, None))
        if isinstance(given, TensorShardingAttr):
            entries[XLA_SHARDING] = _spelled(self._convert(given.data, manual))
        return entries

    def export_op(self, op: Operation) -> None:
        """Convert the shardings of the results of `op`."""
        given = op.attributes.pop(SHARDING, None)
        manual = _manual_axes(op.attributes.pop(MANUAL_AXES, None))
        op.attributes.pop(RULE, None)
        if op.name.startswith("sdy."):
            raise ShardyError("cannot be said without sdy; run xla-sdy-export-ops before")
        if isinstance(given, TensorShardingPerValueAttr):
            found = [self._convert(sharding, manual) for sharding in given.data]
            op.attributes[XLA_SHARDING] = _spelled(
                found[0] if len(found) == 1 else HloSharding.tuple_of(found)
            )

    def _convert(self, sharding: TensorSharding, manual: tuple[str, ...]) -> HloSharding:
        key = (sharding, manual)
        if key not in self._known:
            if isinstance(sharding.mesh, str) and sharding.mesh not in self._meshes:
                raise ShardyError(f"unknown mesh: @{sharding.mesh}")
            convert = to_named_hlo_sharding if self._is_named else to_hlo_sharding
            self._known[key] = convert(sharding, mesh_of(sharding, self._meshes), manual)
        return self._known[key]


def _spelled(sharding: HloSharding) -> StringAttr:
    return StringAttr(sharding.text(include_metadata=True))


def _manual_axes(given: Attribute | None) -> tuple[str, ...]:
    return given.data if isinstance(given, ManualAxesAttr) else ()
