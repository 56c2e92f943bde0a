"""Where mesh axes lie, and the links they get."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hardware import Link, default_topology, placement_of
from shardy_py.hardware.cost import CostModel
from shardy_py.sharding import Mesh, MeshAxis


def links(text: str, **sizes: int) -> dict[str, tuple[str, float]]:
    mesh = Mesh(tuple(MeshAxis(name, size) for name, size in sizes.items()))
    found = placement_of(text).links(mesh)
    return {each.axis: (each.where, each.link.bytes_per_second / 1e9) for each in found}


@pytest.mark.parametrize(
    ("devices", "dimensions", "expected"),
    [
        (8, 3, (2, 2, 2)),
        (16, 3, (2, 2, 4)),
        (128, 3, (4, 4, 8)),
        (32, 2, (4, 8)),
        (256, 2, (16, 16)),
        (7, 2, (1, 7)),
        (5, 1, (5,)),
    ],
)
def test_the_default_torus_is_compact(devices: int, dimensions: int, expected: tuple[int, ...]) -> None:
    assert default_topology(devices, dimensions) == expected


def test_rings_use_both_directions_and_lines_one() -> None:
    assert links("tpu-v5e", data=16, model=16) == {
        "data": ("y of a torus of 16x16", 100.0),
        "model": ("x of a torus of 16x16", 100.0),
    }
    assert links("tpu-v5e", data=8, model=8)["model"] == ("x of a torus of 8x8", 50.0)


def test_an_axis_of_several_torus_axes_has_the_sum_of_their_links() -> None:
    assert links("tpu-v5e", model=256) == {"model": ("x, y of a torus of 16x16", 200.0)}


def test_axes_that_share_a_torus_axis_share_its_links() -> None:
    """The minor one is a line; the major one has every fourth device, so that four of them use each link."""
    assert links("tpu-v5e,topology=16x1,data=x,model=x", data=4, model=4) == {
        "data": ("x of a torus of 16x1", 25.0),
        "model": ("x of a torus of 16x1", 50.0),
    }


def test_places_can_be_given() -> None:
    found = links("tpu-v5p,topology=4x4x8,data=z,model=xy,pod=beyond", pod=2, data=8, model=16)
    assert found == {
        "pod": ("tpu-dcn", 6.25),
        "data": ("z of a torus of 4x4x8", 200.0),
        "model": ("x, y of a torus of 4x4x8", 400.0),
    }
    assert links("h100,data=50e9:1e-6", data=2, model=8)["data"] == ("50e9:1e-6", 50.0)


def test_axes_that_do_not_fit_go_beyond() -> None:
    assert links("h100", data=4, model=8) == {
        "data": ("infiniband-ndr", 50.0),
        "model": ("switch h100-nvlink", 450.0),
    }
    assert links("h100", data=32) == {"data": ("h100-nvlink and infiniband-ndr", 400.0)}
    assert links("tpu-v5e", pod=2, data=256)["pod"] == ("tpu-v5e-dcn", 3.125)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abacus", "unknown hardware 'abacus'"),
        ("tpu-v5e,x", "hardware: expected topology=SIZES or AXIS=LINK, got 'x'"),
        ("tpu-v5e,topology=4", "topology of tpu-v5e: expected 2 sizes such as 4x4, got '4'"),
        ("tpu-v5e,topology=4x" + "9" * 5000, "topology of tpu-v5e: expected 2 sizes such as 4x4, got '4x999"),
        ("h100,topology=4x4", "topology of h100: expected none: it has a switch, got '4x4'"),
        ("tpu-v5e,data=z", "unknown link 'z'"),
        ("tpu-v5e,data=1:0:1", "unknown link '1:0:1'"),
    ],
)
def test_invalid_texts_are_errors(text: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        placement_of(text)


def test_bytes_of_an_all_to_all_cross_several_links_of_a_torus() -> None:
    """A quarter of the time of an all-gather: the book "How to Scale Your Model", part 3."""
    (ring,) = placement_of("tpu-v5e,topology=16x1").links(Mesh.of(x=16))
    model = CostModel("ring", Link(ring.link.bytes_per_second, 0.0, ring.link.crossings))
    moved, gathered = model.all_to_all((("x", 16),), 16_000), model.all_gather((("x", 16),), 16_000)
    assert moved.bytes == 15_000
    assert moved.seconds == pytest.approx(gathered.seconds / 4 * 16 / 15)
    (switched,) = placement_of("h100").links(Mesh.of(x=8))
    assert switched.link.crossings == 1


def test_an_axis_must_fit_where_it_is_put() -> None:
    with pytest.raises(ShardyError, match="axis 'data' of 8 devices does not fit on x of a torus of 4x4"):
        links("tpu-v5e,topology=4x4,data=x", data=8)


def test_devices_of_a_chip() -> None:
    """The minor axis has the chiplets: alone on them their link, or the whole links of the chip."""
    assert links("tpu7x", model=2) == {"model": ("devices of a chip of 2", 600.0)}
    assert links("tpu7x", data=64, model=2) == {
        "data": ("x, y, z of a torus of 4x4x4", 300.0),
        "model": ("devices of a chip of 2", 600.0),
    }
    assert links("tpu7x", data=16, model=8) == {
        "data": ("y, z of a torus of 4x4x4", 200.0),
        "model": ("chip, x of a torus of 4x4x4", 200.0),
    }
    assert links("tpu7x,topology=4x4x4,data=xy", data=16, model=8)["model"] == (
        "chip, z of a torus of 4x4x4",
        200.0,
    )
    assert links("tpu-v3", data=16, model=2)["model"] == ("devices of a chip of 2", 140.0)
    assert links("trn2", data=16, model=4) == {
        "data": ("x, y of a torus of 4x4", 160.0),
        "model": ("devices of a chip of 4", 320.0),
    }


def test_devices_of_a_chip_share_its_links() -> None:
    """One ring through both chiplets of each chip takes half the time of two rings, one through each."""
    both, one = (
        CostModel(text, link.link)
        for text, sizes in (("both", {"x": 8}), ("one", {"x": 4, "y": 2}))
        for link in placement_of("tpu7x,topology=4x1x1").links(Mesh.of(sizes))[:1]
    )
    assert both.link.bytes_per_second == 2 * one.link.bytes_per_second
    assert links("tpu7x", x=3) == {"x": ("z of a torus of 1x1x3", 100.0)}  # a line, whose other chiplets idle
