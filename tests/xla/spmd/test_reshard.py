"""Reshards as planned: against what XLA partitions, and each way by itself."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from shardy_py.sharding import Mesh
from shardy_py.xla.spmd.all_to_all import exchanges
from shardy_py.xla.spmd.partitioned import HeldTensor
from shardy_py.xla.spmd.reductions import reduced
from shardy_py.xla.spmd.reshard import compatible, replicated, reshard
from shardy_py.xla.spmd.tiling import Tiling
from tests.xla.spmd.compiled import module_of, partitioned
from tests.xla.spmd.reshards import MESHES, differing, mesh_text, random_pairs

MESH = Mesh.of(x=4, y=2)
Spec = tuple[tuple[str, ...], ...]


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("uneven", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_bytes_are_those_of_xla(axes: int, uneven: bool) -> None:
    assert differing(random_pairs(11, 150, axes=axes, uneven=uneven)) == []


def test_rematerializations_are_those_that_xla_logs() -> None:
    pairs = [pair for pair in random_pairs(12, 90, axes=3) if pair.mesh == MESHES[1]]
    logs = [each.log for each in partitioned([module_of(mesh_text(MESHES[1]), [p.case]) for p in pairs])]
    logged = [log.count("Involuntary full rematerialization") for log in logs]
    assert logged == [len(pair.moved.rematerialized) for pair in pairs]
    assert 1 in logged


class Way(NamedTuple):
    """The collectives of a reshard of a float tensor on a mesh of 4 by 2 devices: kind, group, operand."""

    source: Spec
    target: Spec
    sent: list[tuple[str, int, tuple[int, ...]]]
    shape: tuple[int, ...] = (16, 24)


WAYS = {
    "nothing": Way((("x",), ()), (("x",), ()), []),
    "sliced replicas": Way((("x",), ()), (("x", "y"), ()), []),
    "sliced whole": Way(((), ()), (("x",), ("y",)), []),
    "permuted": Way((("x", "y"), ()), (("y", "x"), ()), [("collective_permute", 2, (2, 24))]),
    "gathered": Way((("x", "y"), ()), (("x",), ()), [("all_gather", 2, (2, 24))]),
    "permuted and gathered": Way(
        (("x", "y"), ()), (("y",), ()), [("collective_permute", 2, (2, 24)), ("all_gather", 4, (2, 24))]
    ),
    "gathered minor first": Way(
        (("x",), ("y",)), ((), ()), [("all_gather", 2, (4, 12)), ("all_gather", 4, (4, 24))]
    ),
    "exchanged": Way((("x",), ()), ((), ("x",)), [("all_to_all", 4, (4, 24))]),
    "exchanged and permuted": Way(
        (("x",), ("y",)), (("y",), ("x",)), [("all_to_all", 2, (4, 12)), ("collective_permute", 2, (8, 6))]
    ),
    "exchanged padded": Way((("x",), ()), ((), ("x",)), [("all_to_all", 4, (4, 4))], shape=(16, 3)),
    "few elements summed": Way((("x",), ()), ((), ()), [("all_reduce", 4, (2, 24))], shape=(2, 24)),
    "one element sent": Way((("x",), ()), ((), ()), [("all_reduce", 4, (1, 24))], shape=(1, 24)),
    "halo and gather": Way(
        (("x", "y"), ()), (("x",), ()), [("collective_permute", 2, (2, 2)), ("all_gather", 2, (2, 2))], (9, 2)
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_each_way(name: str) -> None:
    way = WAYS[name]
    moved = reshard(value_of(way.shape, way.source), tiling(way.target))
    assert [(each.kind, each.group_size, each.held_shape) for each in moved.collectives] == way.sent
    assert moved.local == tiling(way.target).local_shape(way.shape)
    assert moved.tiling == tiling(way.target)
    assert not moved.rematerialized


def test_without_another_way_the_whole_tensor_is_gathered() -> None:
    mesh = Mesh.of(x=2, y=2, z=2)
    source, target = Tiling.of(mesh, [("x", "y"), ()]), Tiling.of(mesh, [(), ("z",)])
    value = HeldTensor.of((8, 8), source, "f32")
    moved = reshard(value, target)
    assert moved.rematerialized == ((source, target),)
    assert moved.collectives == replicated(value).collectives


def test_tiles_change_places_in_an_order_that_keeps_them_useful() -> None:
    mesh = Mesh.of(a=2, b=2, c=2)
    source, target = Tiling.of(mesh, [("a", "b"), ("c",), ()]), Tiling.of(mesh, [(), ("a", "b"), ("c",)])
    assert exchanges(source, target) == ((1, 2), (0, 1))
    assert exchanges(source, Tiling.of(mesh, [("a",), (), ()])) is None


def test_replicas_are_dealt_out_in_order() -> None:
    partial, target = tiling((("x",), ())), tiling((("y", "x"), ()))
    near = compatible(partial, target)
    assert near == tiling((("x", "y"), ()))
    assert compatible(target, partial) is None


def value_of(shape: tuple[int, ...], spec: Spec) -> HeldTensor:
    """A float tensor for which nothing was sent."""
    return HeldTensor.of(shape, tiling(spec), "f32")


def tiling(spec: Spec) -> Tiling:
    """The tiling along axes of the mesh."""
    return Tiling.of(MESH, spec)


def test_only_equal_reshards_of_one_value_have_equal_keys() -> None:
    """XLA keeps reshards by what is asked for; starts that two have in common are sent twice."""
    mesh = Mesh.of(x=4, y=2)
    value = HeldTensor.of((16, 16), Tiling.of(mesh, [("x", "y"), ()]), "f32", name="%0")
    targets = [[("x",), ()], [(), ()], [(), ("x", "y")], [(), ("y", "x")]]
    found = [reshard(value, Tiling.of(mesh, target)).collectives for target in targets]
    keys = [[each.key for each in collectives] for collectives in found]
    assert reshard(value, Tiling.of(mesh, targets[0])).collectives[0].key == keys[0][0]
    assert found[2][0] == found[3][0]
    assert len({key for row in keys for key in row}) == sum(map(len, keys))


def test_reductions_have_no_earlier_form_of_another_shape() -> None:
    """Reshards go back to an earlier form of a value, which a result of fewer dimensions does not have."""
    by_rows, by_columns = Tiling.of(MESH, [("x",), ()]), Tiling.of(MESH, [(), ("x",)])
    value = reshard(HeldTensor.of((8, 8), by_rows, "f32"), by_columns)
    assert value.earlier
    (result,) = reduced([value], [0], ["f32"], [Tiling.of(MESH, [("x",)])])
    assert result.shape == (8,)
    assert all(each.shape == result.shape for each in result.earlier)
