"""The least that a reshard takes: against enumeration, Shardy's sequences, and the triangle inequality."""

from __future__ import annotations

from itertools import product
from math import ceil, prod
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import Cost, CostModel, Link
from shardy_py.reshard.collectives import (
    AllGather,
    AllSlice,
    AllToAll,
    Collective,
    CollectivePermute,
    collectives_between,
)
from shardy_py.reshard.reshard_cost import reshard_cost
from shardy_py.sharding import Axes, AxisRef, Mesh, TensorSharding
from shardy_py.sharding.slices import device_slices
from tests.conftest import examples
from tests.propagation.notation import sharding
from tests.sharding.random_shardings import random_sharding

SLOW, FAST = Link(1e6, 1e-3), Link(1e9, 1e-6)
MODEL = CostModel("test", FAST, {"slow": SLOW})
MESH = Mesh.of(x=4, y=2, slow=2)
SHAPE = (40, 40)
MESHES = (
    MESH,
    Mesh.of(x=8, slow=2),
    Mesh.of(x=6, y=3),
    Mesh.of(x=4, slow=4, y=2),
    Mesh.of(x=12),
    Mesh.of(x=2, y=2, z=2, slow=2),
)


def cost(source: str, target: str, shape: tuple[int, ...] = SHAPE) -> Cost:
    return reshard_cost(sharding(source), sharding(target), MESH, shape, 4, MODEL)


def test_nothing_is_lacking() -> None:
    assert cost("[{x}, {}]", "[{x}, {}]") == Cost()
    assert cost("[{x}, {}]", "[{x, y}, {slow}]") == Cost()
    assert cost("[{x:(1)2}, {}]", "[{x}, {}]") == Cost()
    assert cost("[]", "[]", ()) == cost("[{x}, {}]", "[{}, {}]", (0, 40)) == Cost()


@pytest.mark.parametrize(
    ("source", "target", "axis", "size"),
    [("[{x}, {}]", "[{}, {}]", "x", 4), ("[{y}, {x}]", "[{}, {x}]", "y", 2), ("[{x, y}]", "[{x}]", "y", 2)],
)
def test_one_gather_costs_its_formula(source: str, target: str, axis: str, size: int) -> None:
    shape = SHAPE[: sharding(source).rank]
    held = prod(device_slices(sharding(source), MESH, shape).local_shape) * 4
    expected = MODEL.all_gather(((axis, size),), held)
    found = cost(source, target, shape)
    assert (found.bytes, found.seconds) == (expected.bytes, pytest.approx(expected.seconds))


def test_one_exchange_costs_its_formula() -> None:
    found, expected = cost("[{x}, {}]", "[{}, {x}]"), MODEL.all_to_all((("x", 4),), 1600)
    assert (found.bytes, found.seconds) == (expected.bytes, pytest.approx(expected.seconds))


def test_axes_that_change_places() -> None:
    """Devices (1, 0) and (1, 1) of x=2, y=2 have parts 2 and 3 and need 1 and 3."""
    assert cost("[{x, y}, {}]", "[{y, x}, {}]").bytes == 800


def test_few_bytes_move_over_slow_axes() -> None:
    """Eight devices along the fast axes take in an eighth each, and pass it round among themselves."""
    found = cost("[{slow}, {}]", "[{}, {}]")
    assert found.bytes == 3200
    assert found.seconds == pytest.approx(400 / 1e6 + 2800 / 1e9 + 1e-3)


def test_hops_along_parts_of_an_axis() -> None:
    """The two halves of four devices lie two hops apart, neighbours one."""
    model = CostModel("latency", Link(1e30, 1.0))
    for target, hops in (("[{x:(1)2}]", 1.0), ("[{x:(2)2}]", 3.0), ("[{}]", 3.0)):
        found = reshard_cost(sharding("[{x}]"), sharding(target), MESH, (8,), 4, model)
        assert found.seconds == pytest.approx(hops)
    assert reshard_cost(
        sharding("[{x:(1)2}]"), sharding("[{}]"), MESH, (8,), 4, model
    ).seconds == pytest.approx(2)


def test_uneven_parts() -> None:
    """Five elements over four devices: 2, 2, 1, 0; the last lacks all five."""
    assert cost("[{x}]", "[{}]", (5,)).bytes == 20


def test_narrow_elements_are_rounded_up() -> None:
    assert reshard_cost(sharding("[{x}]"), sharding("[{}]"), MESH, (4,), 0.5, MODEL).bytes == ceil(3 * 0.5)


def test_big_meshes() -> None:
    mesh = Mesh.of(a=1024, b=1024)
    source, target = sharding("[{a}, {b}]"), sharding("[{b}, {a}]")
    whole = 1 << 20
    assert reshard_cost(source, target, mesh, (whole, whole), 1, MODEL).bytes == whole


@pytest.mark.parametrize(
    ("source", "target", "mesh", "message"),
    [
        ("[{x}]", "[{}, {}]", MESH, "expected rank 2 of the tensor, got rank 1"),
        ("[{}, {}]", "[{z}, {}]", MESH, "unknown axis 'z'"),
        ("[{}, {}]", "[{}, {}]", Mesh.of(x=1 << 40), "listed devices: expected at most 16,777,216, got "),
    ],
)
def test_invalid_reshards(source: str, target: str, mesh: Mesh, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        reshard_cost(sharding(source), sharding(target), mesh, SHAPE, 4, MODEL)


def shardings(seed: int, count: int) -> tuple[Mesh, tuple[int, ...], list[TensorSharding]]:
    random = Random(seed)
    mesh = random.choice(MESHES)
    shape = tuple(random.choice((1, 3, 8, 12, 13)) for _ in range(random.randint(1, 3)))
    return mesh, shape, [random_sharding(random, mesh, len(shape)) for _ in range(count)]


@given(st.integers(0, 1 << 40), st.sampled_from([1, 1000, 1 << 24]))
@settings(deadline=None, max_examples=examples(200))
def test_no_detour_is_cheaper(seed: int, element_bytes: int) -> None:
    """Also over shardings that take axes apart at other places, of 6 into 2 and 3 and into 3 and 2."""
    mesh, shape, (a, b, c) = shardings(seed, 3)
    direct, there, back = (
        reshard_cost(source, target, mesh, shape, element_bytes, MODEL)
        for source, target in ((a, c), (a, b), (b, c))
    )
    assert direct.seconds <= (there.seconds + back.seconds) * (1 + 1e-12)
    assert direct.bytes <= there.bytes + back.bytes


@given(st.integers(0, 1 << 40))
@settings(deadline=None, max_examples=examples(60))
def test_against_enumeration(seed: int) -> None:
    """Elements counted one by one, device by device and slice of the slow axes by slice."""
    mesh, shape, (source, target) = shardings(seed, 2)
    model = CostModel("no latency", Link(1e9, 0.0), {"slow": Link(1e6, 0.0), "y": Link(1e8, 0.0)})
    before, after = (elements(sharding, mesh, shape) for sharding in (source, target))
    levels = [axes for axes in (("slow",), ("slow", "y"), tuple(mesh.sizes)) if set(axes) <= set(mesh.sizes)]
    if "slow" not in mesh.sizes and "y" in mesh.sizes:
        levels.insert(0, ("y",))
    seconds, lacking = 0.0, 0.0
    for number, axes in enumerate(levels):
        lacking = slice_lacks(before, after, mesh, axes) * 8
        faster = min((speed(model, mesh, level) for level in levels[number + 1 :]), default=float("inf"))
        seconds += lacking * (1 / speed(model, mesh, axes) - 1 / faster)
    found = reshard_cost(source, target, mesh, shape, 8, model)
    assert (found.bytes, found.seconds) == (lacking, pytest.approx(seconds))


def speed(model: CostModel, mesh: Mesh, axes: tuple[str, ...]) -> float:
    """Of the fastest of `axes`, the last level of them."""
    return max(model.link_of(axis).bytes_per_second for axis in axes if mesh.sizes[axis] > 1)


def elements(sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...]) -> list[set[tuple[int, ...]]]:
    """The elements on each device, by position in the mesh."""
    slices = device_slices(sharding, mesh, shape)
    parts = [slices.at(position).index for position in range(mesh.device_count)]
    return [set(product(*(range(part.start, part.stop) for part in index))) for index in parts]


def slice_lacks(
    before: list[set[tuple[int, ...]]],
    after: list[set[tuple[int, ...]]],
    mesh: Mesh,
    axes: tuple[str, ...],
) -> float:
    """The most elements a device that devices with the same coordinates along `axes` lack together."""
    names = list(mesh.sizes)
    slices: dict[tuple[int, ...], list[int]] = {}
    for position, place in enumerate(product(*map(range, mesh.sizes.values()))):
        slices.setdefault(tuple(place[names.index(axis)] for axis in axes), []).append(position)
    return max(
        len(set().union(*(after[p] for p in members)) - set().union(*(before[p] for p in members)))
        / len(members)
        for members in slices.values()
    )


@given(st.integers(0, 1 << 40))
@settings(deadline=None, max_examples=examples(100))
def test_no_sequence_of_shardy_is_faster(seed: int) -> None:
    """Parts are even, as the formulas of collectives take them to be; latency is another matter."""
    random = Random(seed)
    mesh = random.choice([mesh for mesh in MESHES if mesh.device_count in (16, 32)])
    model = CostModel("no latency", Link(1e9, 0.0), {"slow": Link(1e6, 0.0), "y": Link(1e8, 0.0)})
    shape = (64, 64)
    source, target = (random_sharding(random, mesh, 2) for _ in range(2))
    source, target = (TensorSharding("mesh", s.dimensions) for s in (source, target))
    least = reshard_cost(source, target, mesh, shape, 8, model)
    taken, now = Cost(), source
    for step in collectives_between(source, target, shape, mesh):
        held = prod(device_slices(now, mesh, shape).local_shape) * 8
        taken += step_cost(step, now, held, mesh, model)
        now = step.sharding
    assert least.bytes <= taken.bytes
    assert least.seconds <= taken.seconds * (1 + 1e-12)


def step_cost(step: Collective, now: TensorSharding, held: int, mesh: Mesh, model: CostModel) -> Cost:
    match step:
        case AllSlice():
            return Cost()
        case AllGather(axes=by_dimension):
            return model.all_gather(sized([axis for part in by_dimension for axis in part], mesh), held)
        case AllToAll(axes=moved):
            return model.all_to_all(sized(moved, mesh), held)
        case CollectivePermute():
            used = [axis for s in (now, step.sharding) for d in s.dimensions for axis in d.axes]
            return model.collective_permute(sized(used, mesh), held)


def sized(axes: list[AxisRef] | Axes, mesh: Mesh) -> list[tuple[str, int]]:
    return [(axis.name, axis.size(mesh)) for axis in axes]
