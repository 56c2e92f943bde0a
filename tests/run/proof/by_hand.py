"""Local programs written by hand, with what corresponds to what by the names of values."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py import Program
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.movements import Copies, Localized
from shardy_py.mlir.symbols import meshes_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.sharding import TensorSharding


def partitioned_by_hand(whole: str, local: str, pairs: Mapping[str, tuple[str, str]]) -> Partitioned:
    """The whole and the local program; `pairs`: value of the local one -> of the whole one, dimensions."""
    modules = [parse_module(text) for text in (whole, local)]
    (mesh,) = meshes_of(modules[0])
    values = [_by_name(module) for module in modules]
    origin: dict[SSAValue, SSAValue] = {}
    events: list[object] = []
    for name, (other, sharding) in pairs.items():
        origin[values[0][other]] = values[0][other]
        events.append(Copies({values[0][other]: values[1][name]}))
        events.append(Localized(values[1][name], _sharding(mesh, sharding)))
    return Partitioned(*modules, origin, tuple(events), meshes_of(modules[0]))


def _by_name(module: ModuleOp) -> dict[str, SSAValue]:
    entries = Program(module).values.table.entries
    return {entry.name: entry.value for entry in entries if entry.value is not None}


def _sharding(mesh: str, text: str) -> TensorSharding:
    argument = f"%a: tensor<1xf32> {{sdy.sharding = #sdy.sharding<@{mesh}, {text}>}}"
    module = parse_module(f'sdy.mesh @{mesh} = <["z"=1]>\nfunc.func @f({argument}) {{ return }}')
    (function,) = (op for op in module.walk() if op.name == "func.func")
    return function.properties["arg_attrs"].data[0].data["sdy.sharding"].data
