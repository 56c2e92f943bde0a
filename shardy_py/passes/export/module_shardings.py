"""The shardings of the arguments and results of main as attributes of the module, which a local program has.

    module attributes {sdy.output_shardings = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{}]>]>,
                       sdy.parameters_shardings = #sdy.sharding_per_value<[<mesh<["x"=2]>, [{"x"}]>]>}

Meshes are inlined. A result without a sharding has that of the returned value; any other value without one is
replicated over the first mesh with axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from shardy_py.mlir.dialects.sdy import TensorShardingPerValueAttr
from shardy_py.mlir.holders import attribute_list_shardings
from shardy_py.mlir.ir import operands_of, terminator_of
from shardy_py.mlir.value_shardings import ShardingReader, rank_of
from shardy_py.reshard.reshard_plan import global_mesh
from shardy_py.sharding import Mesh, TensorSharding
from shardy_py.sharding.meshes import mesh_of

_PLACES = (("sdy.parameters_shardings", "arg_attrs"), ("sdy.output_shardings", "res_attrs"))
NAMES = frozenset(name for name, _ in _PLACES)
"""The names of the attributes."""


def write_module_shardings(module: ModuleOp, main: FuncOp, meshes: Mapping[str, Mesh]) -> None:
    """Writes the attributes of the module."""
    name = global_mesh(dict(meshes))
    everyone = meshes[name] if name is not None else Mesh()
    types = main.function_type
    for (attribute, place), values in zip(_PLACES, (types.inputs.data, types.outputs.data), strict=True):
        given = attribute_list_shardings(main.properties.get(place)) or (None,) * len(values)
        if place == "res_attrs":
            given = tuple(own or other for own, other in zip(given, _returned(main), strict=True))
        shardings = [
            TensorSharding.fully_closed(everyone, rank_of(type_))
            if sharding is None
            else replace(sharding, mesh=mesh_of(sharding, meshes))
            for sharding, type_ in zip(given, values, strict=True)
        ]
        module.attributes[attribute] = TensorShardingPerValueAttr(tuple(shardings))


def _returned(main: FuncOp) -> list[TensorSharding | None]:
    reader, terminator = ShardingReader(), terminator_of(main.body) if main.body.blocks else None
    if terminator is None:
        return [None] * len(main.function_type.outputs)
    return [reader.of(value) for value in operands_of(terminator)]
