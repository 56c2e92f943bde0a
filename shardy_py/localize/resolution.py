"""The state that resolvers of permutation factors share: meshes, shardings, channels, padding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.ir import Attribute, Operation

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.localize.halo_exchange import DeviceNumbers, zero_of
from shardy_py.mlir.dialects.sdy import MeshOp, OpShardingRuleAttr
from shardy_py.mlir.holders import RULE
from shardy_py.mlir.ir import place_at_start
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value, shape_of
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.options import ResolvePermutationFactorsOptions
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import Mesh, ShardingRule, TensorSharding
from shardy_py.sharding.axis_lists import total_size


@dataclass
class Resolution:
    """The state of the pass on one module."""

    symbols: Symbols
    reader: ShardingReader
    devices: DeviceNumbers
    options: ResolvePermutationFactorsOptions

    @property
    def has_reversals_only(self) -> bool:
        """True if Shardy's pass exchanges for reversals only, and in another way."""
        return not (Behaviour.PARTS_ARE_EXCHANGED.holds or self.options.enable_windowed_halo_exchange)

    def rule(self, op: Operation) -> ShardingRule | None:
        """The sharding rule of an op, derived unless it has one as an attribute."""
        given = op.attributes.get(RULE)
        if isinstance(given, OpShardingRuleAttr):
            return given.data
        return rule_of(record_of(op))

    @cached_property
    def meshes(self) -> dict[str, Mesh]:
        """The meshes by symbol; `mesh_named` adds to them."""
        return self.symbols.meshes()

    def sharded(self, value: Value) -> tuple[TensorSharding, Mesh] | None:
        """The sharding of a tensor of static shape and its mesh; None if replicated, or on one device."""
        sharding = self.reader.of(value)
        tensor = tensor_type(value.type)
        if sharding is None or sharding.is_fully_replicated or tensor is None or None in tensor.shape:
            return None
        mesh = self.symbols.mesh(sharding.mesh)
        return None if mesh is None or mesh.is_maximal else (sharding, mesh)

    def mesh_named(self, mesh: Mesh, wanted: str, op: Operation) -> str:
        """The symbol of a mesh: of the last equal one in the module, else of a new one at its start."""
        for name, found in reversed(self.meshes.items()):
            if found == mesh:
                return name
        made = MeshOp(wanted, mesh)
        made.location = op.location
        place_at_start(made, self.symbols.module.body.block)
        name = self.symbols.insert(made)
        self.meshes[name] = mesh
        return name


def parts_of(sharding: TensorSharding, mesh: Mesh) -> list[int]:
    """The number of parts of each dimension."""
    return [total_size(dimension.axes, mesh) for dimension in sharding.dimensions]


def padded_high(build: StablehloBuilder, value: Value, shape: Sequence[int], padding: Value | None) -> Value:
    """`value` padded behind its elements to `shape`, with zeros by default; itself if it has that shape."""
    have = shape_of(value)
    if list(have) == list(shape):
        return value
    none = [0] * len(have)
    high = [wanted - size for wanted, size in zip(shape, have, strict=True)]
    return build.pad(value, padding or zero_of(build, value), none, high)


def cut_to(build: StablehloBuilder, value: Value, type_: Attribute) -> Value:
    """The first elements of `value` along each dimension, as many as `type_` has; itself if all."""
    tensor = tensor_type(type_)
    assert tensor is not None
    if value.type == type_:
        return value
    return build.slice(value, [0] * len(tensor.shape), [size or 0 for size in tensor.shape])
