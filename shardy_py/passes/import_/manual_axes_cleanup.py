"""`sdy-manual-axes-cleanup`: completes and sorts the manual axes of manual computations.

Every in- and out-sharding refers to every manual axis: axes that shard no dimension are replicated. The
manual axes are in the order of the mesh.

    before  in_shardings=[<@mesh, [{"x"}]>] manual_axes={"y", "x"}                        mesh ["x"=2, "y"=2]
    after   in_shardings=[<@mesh, [{"x"}], replicated={"y"}>] manual_axes={"x", "y"}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, ShapedType
from xdsl.ir import Attribute

from shardy_py.base.errors import Diagnostic, ShardyError
from shardy_py.mlir.dialects.sdy import ManualAxesAttr, ManualComputationOp, TensorShardingPerValueAttr
from shardy_py.mlir.ir import find_ops, terminator_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.source import position_of
from shardy_py.sharding import AxisRef, Mesh, TensorSharding
from shardy_py.sharding.axis_lists import difference, sort_and_merge

_NO_SHARDINGS = (
    "op has manual_axes when there are no in/out shardings and the body is not empty. This isn't allowed at "
    "this stage, please contact the Shardy team or file a bug."
)


def manual_axes_cleanup(module: ModuleOp) -> None:
    """Completes and sorts the manual axes of manual computations."""
    symbols = Symbols(module)
    faults: list[Diagnostic] = []
    for computation in find_ops(module, ManualComputationOp.name):
        assert isinstance(computation, ManualComputationOp)
        if computation.in_shardings.data or computation.out_shardings.data:
            clean_up(computation, symbols)
        elif computation.manual_axes.data and computation.body.blocks[0].first_op is not terminator_of(
            computation.body
        ):
            faults.append(Diagnostic(_NO_SHARDINGS, position_of(computation.location)))
    if faults:
        raise ShardyError(*faults)


def clean_up(computation: ManualComputationOp, symbols: Symbols) -> None:
    """Sorts the manual axes and add them to the shardings that lack them."""
    reference = common_mesh((*computation.in_shardings.data, *computation.out_shardings.data), symbols)
    mesh = symbols.mesh(reference) if reference is not None else None
    if reference is None or mesh is None:
        text = "'sdy.manual_computation' op expected inputs and outputs to have a common mesh"
        raise ShardyError(Diagnostic(text, position_of(computation.location)))
    given = computation.manual_axes.data
    manual_axes = tuple(sorted(given, key=mesh.order.__getitem__))
    if manual_axes != given:
        computation.manual_axes = ManualAxesAttr(manual_axes)
    axes = tuple(map(AxisRef, manual_axes))
    for name, values in (("in_shardings", computation.operands), ("out_shardings", computation.results)):
        old = computation.properties[name]
        assert isinstance(old, TensorShardingPerValueAttr)
        new = tuple(
            naming_all(sharding, value.type, axes, reference, mesh)
            for sharding, value in zip(old.data, values, strict=True)
        )
        if new != old.data:
            computation.properties[name] = TensorShardingPerValueAttr(new)


def naming_all(
    sharding: TensorSharding, type_: Attribute, axes: tuple[AxisRef, ...], reference: str | Mesh, mesh: Mesh
) -> TensorSharding:
    """The sharding with its unused axes among `axes` as replicated axes, on the mesh `reference`."""
    if not isinstance(type_, ShapedType):
        return sharding
    named = [axis for dimension in sharding.dimensions for axis in dimension.axes]
    missing = difference(axes, (*named, *sharding.replicated_axes, *sharding.unreduced_axes), mesh)
    if not missing:
        return sharding
    replicated = sort_and_merge((*sharding.replicated_axes, *missing), mesh)
    return replace(sharding, mesh=reference, replicated_axes=replicated)


def common_mesh(shardings: Iterable[TensorSharding], symbols: Symbols) -> str | Mesh | None:
    """The reference of the mesh of all shardings, except empty meshes; None if there are two."""
    reference: str | Mesh | None = None
    mesh: Mesh | None = None
    for sharding in shardings:
        other = symbols.mesh(sharding.mesh)
        if mesh is None or mesh == Mesh():
            reference, mesh = sharding.mesh, other
        elif other not in (mesh, Mesh()):
            return None
    return reference
