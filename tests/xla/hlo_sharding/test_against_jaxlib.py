"""1,000 random shardings both ways against the HloSharding of jaxlib, where that is installed."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.sharding import TensorSharding
from shardy_py.xla.hlo_sharding.axes import (
    from_hlo_sharding,
    to_hlo_sharding,
    to_named_hlo_sharding,
)
from shardy_py.xla.hlo_sharding.proto import hlo_sharding_from_proto, hlo_sharding_to_proto
from shardy_py.xla.hlo_sharding.text import hlo_sharding_from_text
from tests.xla.hlo_sharding.hlo_shardings import random_mesh, random_sharding

pytestmark = pytest.mark.reference
hlo: Any = pytest.importorskip("jaxlib._hlo", reason="needs jaxlib")

REJECTED_TEXT = (
    "replicated",
    "{REPLICATED}",
    "{replicated} x",
    "{{{replicated}}}",
    "{maximal}",
    "{maximal device=1,2}",
    "{manual devices=[2]0,1}",
    "{shard_as 1}",
    "{replicated shard_as}",
    "{device=1}",
    "{devices=[1]3}",
    "{devices=[]}",
    "{devices=[2,4]<=[2,2,2]}",
    "{devices=[2,1,4]<=[8]T(1,0) last_tile_dim_replicate}",
    "{devices=[2,2]<=[2,2]T(0,2)}",
    "{devices=[2,2]<=[4] last_tile_dims={foo}}",
    "{mesh['x'=4], [{'x'}p1]}",
)
REJECTED_PROTOS = ("0803", "08031a0102", "08031a010322020001", "0801", "080122020102", "0807")


def divided(random: Random, count: int) -> list[int]:
    """Sizes of dimensions whose product is `count`."""
    sizes: list[int] = []
    while count > 1:
        size = random.choice([d for d in range(2, count + 1) if count % d == 0])
        sizes.append(size)
        count //= size
    for _ in range(random.randint(0, 2)):
        sizes.insert(random.randint(0, len(sizes)), 1)
    return sizes


def random_text(random: Random) -> str:
    """A tiled sharding in V1 or V2, with subgroups."""
    count = random.choice([2, 4, 6, 8, 12, 16, 24, 36, 64])
    dimensions = divided(random, count)
    sizes = divided(random, count)
    order = random.sample(range(len(sizes)), len(sizes))
    devices = "<=[" + ",".join(map(str, sizes)) + "]"
    if len(sizes) > 1:
        devices += "T(" + ",".join(map(str, order)) + ")"
    if random.random() < 0.3:
        devices = ",".join(map(str, random.sample(range(count), count)))
    tail = ""
    choice = random.random()
    if choice < 0.3:
        tail = " last_tile_dim_replicate"
    elif choice < 0.8:
        types = random.choices(
            ["manual", "replicated", "unreduced"], k=random.randint(1, min(3, len(dimensions)))
        )
        tail = f" last_tile_dims={{{', '.join(types)}}}"
    return f"{{devices=[{','.join(map(str, dimensions))}]{devices}{tail}}}"


def assert_equal(ours: Any, theirs: Any) -> None:
    """Equal text, equal bytes, equal devices, from either side's bytes."""
    assert str(ours) == str(theirs)
    message = hlo_sharding_to_proto(ours)
    assert message == theirs.to_proto().SerializeToString()
    proto = hlo.OpSharding()
    proto.ParseFromString(message)
    # Not `ours`: XLA merges subgroups when it reads text and finds only then that they are all there is.
    assert str(hlo_sharding_from_proto(message)) == str(hlo.HloSharding.from_proto(proto))
    if theirs.is_tiled():
        assert list(ours.tile_assignment_devices) == list(theirs.tile_assignment_devices())
        assert list(ours.tile_assignment_dimensions) == list(theirs.tile_assignment_dimensions())
        types = [int(kind) for kind in ours.all_subgroup_types]
        assert types == [kind.value for kind in theirs.subgroup_types()] or ours.replicate_on_last_tile_dim


@pytest.mark.parametrize("seed", range(10))
def test_random_text(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        text = random_text(random)
        assert_equal(hlo_sharding_from_text(text), hlo.HloSharding.from_string(text))


@pytest.mark.parametrize("text", REJECTED_TEXT)
def test_text_it_rejects_is_an_error(text: str) -> None:
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        hlo.HloSharding.from_string(text)
    with pytest.raises(ShardyError):
        hlo_sharding_from_text(text)


@pytest.mark.parametrize("message", REJECTED_PROTOS)
def test_messages_it_rejects_are_errors(message: str) -> None:
    proto = hlo.OpSharding()
    proto.ParseFromString(bytes.fromhex(message))
    with pytest.raises(Exception, match="RET_CHECK"):
        hlo.HloSharding.from_proto(proto)
    with pytest.raises(ShardyError):
        hlo_sharding_from_proto(bytes.fromhex(message))


@pytest.mark.parametrize("seed", range(40))
def test_shardings_by_axes_become_those_of_xla(seed: int) -> None:
    """XLA's own export of 25 shardings each, read back from the HLO that it makes."""
    jax_mlir: Any = pytest.importorskip("jaxlib._jax", reason="needs jaxlib").mlir
    random = Random(seed)
    mesh = random_mesh(random, with_device_ids=seed % 4 == 3)
    shardings = [random_sharding(random, mesh) for _ in range(25)]
    module = f"module {{ sdy.mesh @mesh = {mesh} func.func @main({_arguments(shardings)}) {{ return }} }}"
    text = jax_mlir.mlir_module_to_xla_computation(module).as_hlo_text()
    found = dict(re.findall(r"parameter\((\d+)\), sharding=(\{.*?\}), frontend", text))
    assert len(found) == len(shardings)
    for index, sharding in enumerate(shardings):
        ours = to_hlo_sharding(sharding, mesh)
        assert str(ours) == found[str(index)], (mesh, sharding)
        assert_equal(ours, hlo.HloSharding.from_string(found[str(index)]))


@pytest.mark.parametrize("seed", range(10))
def test_shardings_by_mesh_and_axes(seed: int) -> None:
    """Text, bytes, and what XLA makes of them by tiles, with manual axes."""
    random = Random(seed)
    for _ in range(50):
        mesh = random_mesh(random)
        sharding = random_sharding(random, mesh)
        manual = [name for name in mesh.sizes if f'"{name}"' not in str(sharding) and random.random() < 0.5]
        ours = to_named_hlo_sharding(sharding, mesh, manual)
        theirs = hlo.HloSharding.from_string(str(ours))
        assert str(theirs) == str(ours)
        assert hlo_sharding_to_proto(ours) == theirs.to_proto().SerializeToString()
        assert (
            hlo_sharding_from_text(str(ours)) == hlo_sharding_from_proto(hlo_sharding_to_proto(ours)) == ours
        )
        tiles = hlo.HloSharding.v3_to_v2_sharding(theirs)
        assert str(to_hlo_sharding(sharding, mesh, manual)) == str(tiles)


def _arguments(shardings: list[TensorSharding]) -> str:
    return ", ".join(
        f"%arg{index}: tensor<{'1x' * sharding.rank}f32> {{sdy.sharding = #sdy.sharding{sharding}}}"
        for index, sharding in enumerate(shardings)
    )


@pytest.mark.parametrize("seed", range(20))
def test_named_shardings_of_jax(seed: int) -> None:
    """JAX's own way there, and its way back to a partition spec."""
    jax: Any = pytest.importorskip("jax", reason="needs jax")
    implementation: Any = pytest.importorskip("jax._src.sharding_impls", reason="needs jax")
    random = Random(seed)
    mesh = random_mesh(random)
    abstract = jax.sharding.AbstractMesh(
        tuple(axis.size for axis in mesh.axes),
        tuple(axis.name for axis in mesh.axes),
        axis_types=(jax.sharding.AxisType.Auto,) * len(mesh.axes),
    )
    for _ in range(10):
        sharding = random_sharding(random, mesh, unreduced=False)
        if any(axis.sub_axis for d in sharding.dimensions for axis in d.axes):
            continue
        spec = jax.sharding.PartitionSpec(*(tuple(a.name for a in d.axes) for d in sharding.dimensions))
        named = jax.sharding.NamedSharding(abstract, spec)
        theirs = named._to_xla_hlo_sharding(sharding.rank)
        ours = to_hlo_sharding(sharding, mesh)
        assert_equal(ours, theirs)
        if any(axis.size == 1 for axis in mesh.axes):
            continue
        (parsed,) = implementation.parse_flatten_op_sharding(theirs, abstract)
        back = from_hlo_sharding(hlo_sharding_from_text(str(theirs)), mesh, sharding.rank)
        axes = [tuple(axis.name for axis in d.axes) for d in back.dimensions]
        entries = [e if isinstance(e, tuple) else (e,) if e is not None else () for e in parsed]
        assert axes == entries + [()] * (sharding.rank - len(entries))
