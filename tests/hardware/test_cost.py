"""Costs of collectives."""

from __future__ import annotations

import re

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hardware.cost import PRESETS, Cost, CostModel, Link, cost_model

SLOW, FAST = Link(1e6, 1e-3), Link(1e9, 1e-6)
MODEL = CostModel("test", FAST, {"slow": SLOW})


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


def test_several_axes_take_their_time_one_after_another() -> None:
    axes = (("x", 4), ("slow", 2))
    assert MODEL.all_to_all(axes, 800).bytes == 700
    assert MODEL.all_to_all(axes, 800).seconds == pytest.approx(600 / 1e9 + 3e-6 + 400 / 1e6 + 1e-3)
    assert MODEL.collective_broadcast(axes, 800).bytes == 800
    assert MODEL.collective_broadcast(axes, 800).seconds == pytest.approx(800 / 1e9 + 3e-6 + 800 / 1e6 + 1e-3)


@pytest.mark.parametrize(("held", "scattered", "reduced"), [(4, 4, 7), (9, 8, 16), (16, 14, 28), (0, 0, 0)])
def test_bytes_that_do_not_divide_are_rounded_up_once(held: int, scattered: int, reduced: int) -> None:
    """Over 8 devices, 7 / 8 and 14 / 8 of what they hold."""
    axes = (("x", 4), ("y", 2))
    assert MODEL.reduce_scatter(axes, held).bytes == scattered
    assert MODEL.all_reduce(axes, held).bytes == reduced


def test_from_one_device_is_a_gather_backwards_and_a_broadcast() -> None:
    cut, copied = (("x", 4),), (("slow", 2),)
    found = MODEL.from_one_device(cut, copied, 100)
    assert found.bytes == 100
    there = MODEL.all_gather(cut, 100).seconds + MODEL.collective_broadcast(copied, 100).seconds
    assert found.seconds == pytest.approx(there)


def test_collectives_that_move_nothing_are_free() -> None:
    assert MODEL.all_gather((("x", 1),), 100) == MODEL.collective_permute((("x", 1),), 100) == Cost()


@pytest.mark.parametrize("name", PRESETS)
def test_presets_name_their_source(name: str) -> None:
    """A page to read and the figures there; links of axes leave it as it is."""
    page, _, figures = cost_model(f"{name},data=tpu-dcn").source.partition(": ")
    assert page.startswith("https://")
    assert re.search(r"\d", figures)


def test_text_of_models() -> None:
    model = cost_model("tpu-v5e,data=tpu-dcn,x=1e9:2e-6")
    assert model.link_of("data") == PRESETS["tpu-dcn"].link
    assert model.link_of("x") == Link(1e9, 2e-6)
    assert model.link_of("y") == PRESETS["tpu-v5e"].link


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abacus", "unknown cost model 'abacus': expected one of"),
        ("tpu-v5p,x", "hardware: expected topology=SIZES or AXIS=LINK, got 'x'"),
        ("tpu-v5p,x=abacus", "unknown link 'abacus'"),
        ("tpu-v5p,x=a:b", "unknown link 'a:b'"),
        ("tpu-dcn,x", "cost model: expected AXIS=LINK, got 'x'"),
        ("tpu-dcn,x=abacus", "unknown cost model 'abacus'"),
        ("tpu-dcn,x=a:b", "link: expected BYTES_PER_SECOND:SECONDS, got 'a:b'"),
        ("tpu-v5p,x=0:1", "a bandwidth above 0"),
        ("tpu-v5p,x=inf:0", "a bandwidth above 0"),
        ("tpu-v5p,x=1:nan", "a latency of at least 0"),
    ],
)
def test_texts_that_are_no_model(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        cost_model(text)
