"""Sequences of collectives between two shardings, each carried out on the axes to see where it leads."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shardy_py.base import releases
from shardy_py.reshard import axis_moves
from shardy_py.reshard.axis_moves import AxisMoves
from shardy_py.reshard.collectives import (
    AllGather,
    AllSlice,
    AllToAll,
    Collective,
    CollectivePermute,
    collectives_between,
)
from shardy_py.sharding import Axes, Mesh, MeshAxis, TensorSharding
from shardy_py.sharding.axis_lists import append_axes, total_size
from tests.propagation.notation import MESH, axes, sharding, short

Dimensions = list[Axes]
SHAPE = (48, 48, 48)


def described(source: str, target: str, shape: tuple[int, ...] = SHAPE, mesh: Mesh = MESH) -> list[str]:
    left, right = sharding(source), sharding(target)
    return list(map(spelled, collectives_between(left, right, shape[: left.rank], mesh)))


def spelled(step: Collective) -> str:
    kind = type(step).__name__
    match step:
        case AllSlice(axes=by_dimension) | AllGather(axes=by_dimension):
            detail = " " + "|".join(",".join(str(a).replace('"', "") for a in part) for part in by_dimension)
        case AllToAll(axes=moved):
            detail = f" {','.join(str(a).replace(chr(34), '') for a in moved)}: {step.source}->{step.target}"
        case CollectivePermute():
            detail = ""
    return f"{kind}{detail} to {short(step.sharding)}"


def test_nothing_to_do() -> None:
    assert described("[{a, ?}, {}]", "[{a}, {?}]") == []


def test_gather_and_slice() -> None:
    assert described("[{a, b}, {c}]", "[{a}, {}]") == ["AllGather b|c to [{a}, {}]"]
    assert described("[{a}, {}]", "[{a, b}, {c}]") == ["AllSlice b|c to [{a, b}, {c}]"]
    assert described("[{b}]", "[{b:(1)2}]") == ["AllGather b:(2)2 to [{b:(1)2}]"]


def test_exchange() -> None:
    assert described("[{a}, {}]", "[{}, {a}]") == ["AllToAll a: 0->1 to [{}, {a}]"]
    assert described("[{a, b}, {}, {}]", "[{}, {a}, {b}]") == [
        "AllToAll b: 0->2 to [{a}, {}, {b}]",
        "AllToAll a: 0->1 to [{}, {a}, {b}]",
    ]


def test_permute_replaces_axes() -> None:
    assert described("[{a}, {c}]", "[{c}, {a}]") == ["CollectivePermute to [{c}, {a}]"]
    assert described("[{b}]", "[{a, c}]") == ["CollectivePermute to [{a, c}]"]


def test_slice_before_exchange() -> None:
    """Axis "c" follows "a" where both are wanted, so it is sliced beside "a" and moves with it."""
    assert described("[{a}, {}]", "[{}, {a, c}]") == [
        "AllSlice c| to [{a, c}, {}]",
        "AllToAll a,c: 0->1 to [{}, {a, c}]",
    ]


def test_slice_before_exchange_needs_equal_parts() -> None:
    assert described("[{a}, {}]", "[{}, {a, c}]", (6, 8))[0] == "AllSlice |c to [{a}, {c}]"


def test_slice_before_exchange_leaves_no_room_for_others() -> None:
    """Where "a" and "b:(1)2" are to arrive, "b:(2)2", which replaces "c", is not sliced."""
    assert described("[{a}, {}, {c}]", "[{}, {a, b:(1)2}, {b:(2)2}]") == [
        "AllSlice b:(1)2|| to [{a, b:(1)2}, {}, {c}]",
        "CollectivePermute to [{a, b:(1)2}, {}, {b:(2)2}]",
        "AllToAll a,b:(1)2: 0->1 to [{}, {a, b:(1)2}, {b:(2)2}]",
    ]


def test_order_before_gather() -> None:
    """The axis to gather must come first, or the all-to-all could not move the other one."""
    assert described("[{a, c}, {}]", "[{}, {a}]") == [
        "CollectivePermute to [{c, a}, {}]",
        "AllToAll a: 0->1 to [{c}, {a}]",
        "AllGather c| to [{}, {a}]",
    ]


def test_each_dimension_is_visited_a_fixed_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    for rank in (20, 200):
        calls: list[str] = []
        for owner, name in ((AxisMoves, "places"), (AxisMoves, "has"), (axis_moves, "_ordered")):
            monkeypatch.setattr(owner, name, _counted(getattr(owner, name), calls))
        between = ", ".join(["{}"] * (rank - 2))
        steps = described(f"[{{a}}, {between}, {{}}]", f"[{{}}, {between}, {{a, b}}]", (48,) * rank)
        assert [step.split(" ")[0] for step in steps] == ["AllSlice", "AllToAll"]
        counts.append(len(calls))
        monkeypatch.undo()
    assert counts[0] == counts[1]


def _counted(function: Callable[..., Any], calls: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        calls.append(function.__name__)
        return function(*arguments)

    return call


def test_other_order_of_devices() -> None:
    target = sharding("[{a}]", "turned")
    assert collectives_between(sharding("[{a}]"), target, (8,), MESH) == (CollectivePermute(target),)


def test_unreduced_axes_stay() -> None:
    (step,) = collectives_between(
        sharding("[{a, b}] unreduced={c}"), sharding("[{a}] unreduced={c}"), (8,), MESH
    )
    assert step == AllGather(sharding("[{a}] unreduced={c}"), (axes("b"),))


def test_axes_that_do_not_fit_are_gathered_and_sliced() -> None:
    """Three parts in the place of eight: no permute does that, and two rounds do not finish."""
    mesh = Mesh((MeshAxis("w", 6), MeshAxis("x", 4), MeshAxis("y", 3), MeshAxis("z", 8)))
    with releases.of("0.10"):
        found = described("[{y, w}, {z}]", "[{z, w}, {y}]", (16, 5), mesh)
    assert found[-2:] == ["AllGather w,z| to [{}, {y}]", "AllSlice z,w| to [{z, w}, {y}]"]


def random_shardings(seed: int) -> Iterator[tuple[TensorSharding, TensorSharding]]:
    choice = random.Random(seed)
    for _ in range(20):
        made: list[TensorSharding] = []
        for _ in range(2):
            names = ["a", "c", "t", *choice.choice((["b"], ["b:(1)2"], ["b:(1)2", "a"], ["b:(2)2"]))]
            dimensions: list[list[str]] = [[], [], []]
            for name in choice.sample(sorted(set(names)), choice.randint(0, len(set(names)))):
                choice.choice(dimensions).append(name)
            made.append(sharding("[" + ", ".join("{" + ", ".join(part) + "}" for part in dimensions) + "]"))
        yield made[0], made[1]


@pytest.mark.parametrize("seed", range(40))
def test_every_step_has_the_sharding_of_its_result(seed: int) -> None:
    for source, target in random_shardings(seed):
        now: Dimensions = [d.axes for d in source.dimensions]
        for step in collectives_between(source, target, SHAPE, MESH):
            then: Dimensions = [d.axes for d in step.sharding.dimensions]
            carry_out(step, now, then)
            now = then
        assert now == [d.axes for d in target.dimensions]


def carry_out(step: Collective, now: Dimensions, then: Dimensions) -> None:
    """Check that `step` leads from `now` to `then`."""
    match step:
        case AllSlice(axes=by_dimension):
            assert [append_axes(old, new, MESH) for old, new in zip(now, by_dimension, strict=True)] == then
        case AllGather(axes=by_dimension):
            assert [append_axes(old, gone, MESH) for old, gone in zip(then, by_dimension, strict=True)] == now
        case AllToAll(axes=moved, source=source, target=target):
            expected = list(now)
            expected[target] = append_axes(now[target], moved, MESH)
            expected[source] = then[source]
            assert append_axes(then[source], moved, MESH) == now[source]
            assert expected == then
        case CollectivePermute():
            assert [total_size(a, MESH) for a in now] == [total_size(a, MESH) for a in then]
