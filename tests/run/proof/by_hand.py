"""Local programs written by hand, with what corresponds to what by the names of values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from shardy_py import Program
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.movements import Copies, Localized
from shardy_py.mlir.symbols import meshes_of
from shardy_py.passes.partitioned import Partitioned
from shardy_py.run.proof.case import arguments_of
from shardy_py.sharding import TensorSharding


def partitioned_by_hand(whole: str, local: str, pairs: Mapping[str, tuple[str, str]]) -> Partitioned:
    """The whole and the local program; `pairs`: value of the local one -> of the whole one, dimensions."""
    modules = [parse_module(text) for text in (whole, local)]
    return _partitioned(modules, [_by_name(module) for module in modules], pairs)


def partitioned_as_written(whole: str, local: str, shardings: Mapping[str, str]) -> Partitioned:
    """The same with the names that the texts have, which are those of the whole program's values, too."""
    modules = [parse_module(text) for text in (whole, local)]
    values = [_as_written(*pair) for pair in zip((whole, local), modules, strict=True)]
    return _partitioned(modules, values, {name: (name, text) for name, text in shardings.items()})


def _partitioned(
    modules: list[ModuleOp], values: list[dict[str, SSAValue]], pairs: Mapping[str, tuple[str, str]]
) -> Partitioned:
    (mesh,) = meshes_of(modules[0])
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


def _as_written(text: str, module: ModuleOp) -> dict[str, SSAValue]:
    """The arguments and results in the order of the text; each op has one result."""
    results = [result for op in module.walk() for result in op.results]
    names = re.findall(r"^\s*(%\w+) = ", text, re.MULTILINE)
    found: dict[str, SSAValue] = dict(zip(names, results, strict=True))
    found.update({f"%arg{n}": value for n, value in enumerate(arguments_of(module))})
    return found


def _sharding(mesh: str, text: str) -> TensorSharding:
    argument = f"%a: tensor<1xf32> {{sdy.sharding = #sdy.sharding<@{mesh}, {text}>}}"
    module = parse_module(f'sdy.mesh @{mesh} = <["z"=1]>\nfunc.func @f({argument}) {{ return }}')
    (function,) = (op for op in module.walk() if op.name == "func.func")
    return function.properties["arg_attrs"].data[0].data["sdy.sharding"].data
