"""Costs of collectives, and of the cheapest way between two shardings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.errors import ShardyError
from shardy_py.partition.cheapest import reshard_cost
from shardy_py.partition.cost import PRESETS, Cost, CostModel, Link, cost_model
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, TensorSharding

SLOW, FAST = Link(1e6, 1e-3), Link(1e9, 1e-6)
MODEL = CostModel("test", FAST, {"slow": SLOW})
MESH = Mesh.of(x=4, y=2, slow=2)


def sharding(*dimensions: tuple[str, ...]) -> TensorSharding:
    return TensorSharding(
        "mesh", tuple(DimensionSharding(tuple(map(AxisRef, axes)), is_closed=True) for axes in dimensions)
    )


def test_formulas_on_one_axis() -> None:
    assert MODEL.all_gather((("x", 4),), 100) == Cost(300, 300 / 1e9 + 3e-6)
    assert MODEL.reduce_scatter((("x", 4),), 400) == Cost(300, 300 / 1e9 + 3e-6)
    assert MODEL.all_reduce((("x", 4),), 400) == Cost(600, 2 * (300 / 1e9 + 3e-6))
    assert MODEL.all_to_all((("x", 4),), 400) == Cost(300, 300 / 1e9 + 3e-6)
    assert MODEL.collective_permute((("x", 4),), 400) == Cost(400, 400 / 1e9 + 1e-6)


def test_slow_axes_are_gathered_while_parts_are_small() -> None:
    first = MODEL.all_gather((("x", 4), ("slow", 2)), 100)
    assert first == MODEL.all_gather((("slow", 2), ("x", 4)), 100)
    assert first.bytes == 700
    assert first.seconds == pytest.approx(100 / 1e6 + 1e-3 + 600 / 1e9 + 3e-6)


def test_what_moves_nothing_costs_nothing() -> None:
    assert MODEL.all_gather((("x", 1),), 100) == MODEL.collective_permute((("x", 1),), 100) == Cost()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_say_where_they_are_from(name: str) -> None:
    assert PRESETS[name].source
    assert cost_model(name) == PRESETS[name]


def test_text_of_models() -> None:
    model = cost_model("tpu-v5e,data=tpu-dcn,x=1e9:2e-6")
    assert model.link_of("data") == PRESETS["tpu-dcn"].link
    assert model.link_of("x") == Link(1e9, 2e-6)
    assert model.link_of("y") == PRESETS["tpu-v5e"].link


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abacus", "there is no cost model 'abacus'; there are tpu-v5p"),
        ("tpu-v5p,x", "expected AXIS=LINK in a cost model, got: 'x'"),
        ("tpu-v5p,x=abacus", "there is no cost model 'abacus'"),
        ("tpu-v5p,x=a:b", "expected BYTES_PER_SECOND:SECONDS as a link, got: 'a:b'"),
        ("tpu-v5p,x=0:1", "a bandwidth above 0"),
    ],
)
def test_texts_that_are_no_model(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        cost_model(text)


def test_cheapest_ways() -> None:
    def cost(source: TensorSharding, target: TensorSharding) -> Cost:
        return reshard_cost(source, target, MESH, 3200, MODEL)

    assert cost(sharding(("x",), ()), sharding(("x",), ())) == Cost()
    assert cost(sharding(("x",), ()), sharding(("x", "y"), ())) == Cost()
    assert cost(sharding(("x",), ()), sharding((), ())) == MODEL.all_gather((("x", 4),), 800)
    assert cost(sharding(("x",), ()), sharding((), ("x",))) == MODEL.all_to_all((("x", 4),), 800)
    assert cost(sharding(("x", "y"), ()), sharding(("y", "x"), ())).bytes == 400
    # Cut first, over the fast axis: half as much then goes over the slow one.
    assert (
        cost(sharding(("slow",), ()), sharding((), ())).seconds
        < MODEL.all_gather((("slow", 2),), 1600).seconds
    )


def test_parts_of_axes() -> None:
    from shardy_py.sharding import SubAxis

    part = AxisRef("x", SubAxis(1, 2))
    source = TensorSharding("mesh", (DimensionSharding((part,)),))
    target = TensorSharding("mesh", (DimensionSharding((AxisRef("x"),)),))
    assert reshard_cost(source, target, MESH, 800, MODEL) == Cost()
    assert reshard_cost(target, source, MESH, 800, MODEL) == MODEL.all_gather((("x", 2),), 200)


def test_ranks_must_agree() -> None:
    with pytest.raises(ShardyError, match="of rank 1 and 2 have no way"):
        reshard_cost(sharding(()), sharding((), ()), MESH, 8, MODEL)


@st.composite
def shardings(draw: st.DrawFn) -> TensorSharding:
    axes = draw(st.permutations([axis.name for axis in MESH.axes]))
    dimensions: list[list[str]] = [[], []]
    for axis in axes:
        place = draw(st.integers(0, 2))
        if place < 2:
            dimensions[place].append(axis)
    return sharding(*map(tuple, dimensions))


@given(shardings(), shardings(), shardings(), st.sampled_from([64, 6400, 1 << 30]))
@settings(deadline=None, max_examples=60)
def test_no_detour_is_cheaper(a: TensorSharding, b: TensorSharding, c: TensorSharding, size: int) -> None:
    direct = reshard_cost(a, c, MESH, size, MODEL).seconds
    detour = reshard_cost(a, b, MESH, size, MODEL).seconds + reshard_cost(b, c, MESH, size, MODEL).seconds
    assert direct <= detour * (1 + 1e-12)
