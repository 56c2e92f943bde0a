from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.report.view import describe, describe_device, draw, to_svg
from shardy_py.report.view_words import ids_text
from shardy_py.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding
from tests.sharding.random_shardings import random_case

MESH = Mesh((MeshAxis("x", 4), MeshAxis("y", 2), MeshAxis("z", 2)))
X, Y, Z = map(AxisRef, "xyz")
X_MAJOR, X_MINOR = AxisRef("x", SubAxis(1, 2)), AxisRef("x", SubAxis(2, 2))
SVG = "{http://www.w3.org/2000/svg}"


def sharded(*dimensions: tuple[AxisRef, ...], mesh: str | Mesh = "mesh") -> TensorSharding:
    return TensorSharding(mesh, tuple(DimensionSharding(axes, is_closed=True) for axes in dimensions))


def test_order_of_axes_and_sub_axes_in_words() -> None:
    words = describe(sharded((Y, X_MAJOR), (X_MINOR,)), MESH, (9, 6)).splitlines()
    assert words == [
        'sharding <@mesh, [{"y", "x":(1)2}, {"x":(2)2}]>',
        'mesh <["x"=4, "y"=2, "z"=2]>: 16 devices',
        "tensor 9x6: 54 elements; every device allocates 3x3: 9 elements (16.7%)",
        'dimension 0 of 9: sharded along "y" into 2, then "x":(1)2 (the major sub-axis of "x" = 2 x 2) into '
        "2: 4 shards of 3; the last shard is empty",
        'dimension 1 of 6: sharded along "x":(2)2 (the minor sub-axis of "x" = 2 x 2) into 2 shards of 3',
        'each element is on 2 devices, which differ along "z"',
    ]


@pytest.mark.parametrize(
    ("sharding", "mesh", "shape", "line"),
    [
        (sharded((X,)), MESH, (8,), 'dimension 0 of 8: sharded along "x" into 4 shards of 2'),
        (sharded((X,)), MESH, (7,), "; the last shard has 1"),
        (sharded((X, Y)), MESH, (9,), "shard 4 has 1; the last 3 are empty"),
        (sharded((X, Y, Z)), MESH, (16,), "each element is on one device"),
        (
            sharded((AxisRef("w", SubAxis(2, 3)),)),
            Mesh((MeshAxis("w", 24),)),
            (3,),
            'middle sub-axis of "w" = 2 x 3 x 4',
        ),
        (sharded(()), MESH, (0,), "tensor 0: 0 elements; every device allocates 0: 0 elements"),
        (sharded(), MESH, (), "tensor scalar: 1 element; every device allocates scalar: 1 element (100%)"),
        (sharded(), Mesh(device_ids=(3,)), (4, 2), "device 3 holds the whole tensor, other devices hold"),
        (sharded(()), Mesh(), (4,), "every device holds the whole tensor"),
        (
            TensorSharding("mesh", (DimensionSharding((X,), priority=2), DimensionSharding())),
            MESH,
            (8, 8),
            "into 4 shards of 2; open: propagation may shard it further; priority 2\n"
            "dimension 1 of 8: not sharded; open: propagation may shard it\n",
        ),
        (
            TensorSharding("mesh", (), (Z,), (X,), "max"),
            MESH,
            (),
            'each partial value is on 4 devices, which differ along "y", "z"\n'
            'explicitly replicated along "z"\n'
            'unreduced along "x": each element is the max of 4 partial values',
        ),
        (
            sharded((X,), mesh=Mesh((MeshAxis("x", 32),), tuple(reversed(range(32))))),
            Mesh((MeshAxis("x", 32),), tuple(reversed(range(32)))),
            (32,),
            'sharding <mesh<["x"=32], device_ids=[31, 30, 29, 28, 27, 26, 25, 24, ...]>, [{"x"}]>\n',
        ),
    ],
)
def test_words(sharding: TensorSharding, mesh: Mesh, shape: tuple[int, ...], line: str) -> None:
    assert line in describe(sharding, mesh, shape)


def test_a_device_in_words() -> None:
    assert describe_device(sharded((Y, X_MAJOR), (X_MINOR,)), MESH, (10, 6), 11).splitlines() == [
        'device 11: position 11 of the mesh, "x"=2, "y"=1, "z"=1',
        'dimension 0 of 10: shard 3 of 0 to 3 ("y"=1, "x":(1)2=1): elements 9:10, then 2 of padding',
        'dimension 1 of 6: shard 0 of 0 to 1 ("x":(2)2=0): elements 0:3',
        "holds [9:10, 0:3]: 3 elements of 9 allocated",
        "devices 10, 11 hold the same elements",
    ]


def test_devices_in_words() -> None:
    permuted = Mesh((MeshAxis("x", 4),), (3, 2, 1, 0))
    assert 'device 0: position 3 of the mesh, "x"=3' in describe_device(sharded((X,)), permuted, (3,), 0)
    assert "no elements, 1 of padding" in describe_device(sharded((X,)), permuted, (3,), 0)
    unreduced = TensorSharding("mesh", (), unreduced_axes=(X,))
    assert 'its values are partial, to be reduced along "x"' in describe_device(unreduced, MESH, (), 0)
    one = Mesh(device_ids=(3,))
    assert describe_device(sharded(), one, (4,), 1) == "device 1 holds nothing: the tensor is on device 3"
    assert "device 3: position 0 of the mesh\n" in describe_device(sharded(), one, (4,), 3)
    huge = Mesh((MeshAxis("x", 1 << 40),))
    assert "holds [5:6]: 1 element of 1 allocated" in describe_device(sharded((X,)), huge, (9,), 5)


def test_boxes() -> None:
    assert draw(sharded((Y, X_MAJOR), (X_MINOR,)), MESH, (9, 6)) == (
        'down: dimension 0 along "y", "x":(1)2; across: dimension 1 along "x":(2)2\n'
        "     0:3        3:6\n"
        "    ┌──────────┬──────────┐\n"
        "0:3 │ 0, 1     │ 4, 5     │\n"
        "    ├──────────┼──────────┤\n"
        "3:6 │ 8, 9     │ 12, 13   │\n"
        "    ├──────────┼──────────┤\n"
        "6:9 │ 2, 3     │ 6, 7     │\n"
        "    ├──────────┼──────────┤\n"
        "9:9 │ (10, 11) │ (14, 15) │\n"
        "    └──────────┴──────────┘"
    )


def test_boxes_of_ranks_0_and_1() -> None:
    assert draw(sharded(), MESH, ()) == "┌──────┐\n│ 0-15 │\n└──────┘"
    assert draw(sharded((Z,)), MESH, (4,)).splitlines() == [
        'across: dimension 0 along "z"',
        " 0:2                2:4",
        "┌──────────────────┬──────────────────┐",
        "│ 0, 2, 4, ... (8) │ 1, 3, 5, ... (8) │",
        "└──────────────────┴──────────────────┘",
    ]


def test_list_of_rank_3() -> None:
    assert draw(sharded((X,), (), (Y,)), MESH, (3, 2, 4)).splitlines() == [
        'dimension 0 along "x"; dimension 1 not sharded; dimension 2 along "y"',
        "[0:1, 0:2, 0:2]  0, 1",
        "[0:1, 0:2, 2:4]  2, 3",
        "[1:2, 0:2, 0:2]  4, 5",
        "[1:2, 0:2, 2:4]  6, 7",
        "[2:3, 0:2, 0:2]  8, 9",
        "[2:3, 0:2, 2:4]  10, 11",
        "[3:3, 0:2, 0:2]  (12, 13)",
        "[3:3, 0:2, 2:4]  (14, 15)",
    ]


def test_large_meshes_are_shortened() -> None:
    mesh = Mesh((MeshAxis("x", 256), MeshAxis("y", 256), MeshAxis("z", 16)))
    lines = draw(sharded((X,), (Y,)), mesh, (10_000, 100_000)).splitlines()
    assert max(map(len, lines)) <= 112
    assert len(lines) == 2 + 12 * 2 + 1
    assert lines[-2].startswith("10000:10000 │ (1044480-1044495) │")  # the last part is always there
    assert lines[-4].split() == ["...", *("│", "...") * 5, "│"]
    listed = draw(sharded((X,), (Y,), ()), mesh, (256, 256, 3)).splitlines()
    assert (len(listed), listed[-1]) == (1 + 24 + 1, "... 65,512 more shards")
    svg = to_svg(sharded((X,), (Y,), (Z,)), mesh, (256, 256, 16))
    assert len(svg) < 1_000_000
    assert "... 244 more" in svg


@pytest.mark.parametrize("seed", [seed for seed in range(60) if random_case(seed)[1].axes])
def test_pictures_show_every_device(seed: int) -> None:
    """In boxes, lists and SVG of small meshes each device stands as often as it holds a part: once."""
    sharding, mesh, shape = random_case(seed)
    picture = draw(sharding, mesh, shape)
    svg = ElementTree.fromstring(to_svg(sharding, mesh, shape))
    titles = [t.text.partition(": ")[2] for t in svg.iterfind(f"{SVG}rect/{SVG}title") if t.text]
    boxes = picture if len(shape) > 2 else "".join(re.findall("│.*│", picture))
    for texts in (titles, re.findall(r"  (.*)|│ ([^│]*)", boxes)):
        flat = " ".join(text if isinstance(text, str) else "".join(text) for text in texts)
        if "..." in picture or "..." in flat:
            continue
        shown: list[int] = []
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", flat):
            shown += range(int(first), int(last or first) + 1)
        assert sorted(shown) == list(range(mesh.device_count)), picture


def test_svg() -> None:
    svg = ElementTree.fromstring(to_svg(sharded((X,), (Y,)), MESH, (7, 6)))
    assert svg.findtext(f"{SVG}desc") == describe(sharded((X,), (Y,)), MESH, (7, 6))
    titles = [t.text for t in svg.iterfind(f"{SVG}rect/{SVG}title")]
    assert titles[0] == "[0:2, 0:3]: 0, 1"
    assert titles[-1] == "[6:7, 3:6]: 14, 15"
    heights = [
        float(r.attrib["height"]) for r in svg.iterfind(f"{SVG}rect") if r.find(f"{SVG}title") is not None
    ]
    assert heights == [40.0] * 6 + [20.0] * 2  # the last part of 1 is half of a part of 2
    texts = [t.text for t in svg.iterfind(f"{SVG}text")]
    assert 'down: dimension 0 of 7, along "x"' in texts
    fills = {r.attrib.get("style") for r in svg.iterfind(f"{SVG}rect") if r.find(f"{SVG}title") is not None}
    assert len(fills) == 8


def test_svg_of_padding_and_of_panels() -> None:
    svg = ElementTree.fromstring(to_svg(sharded((X,), (), ()), MESH, (3, 2, 2)))
    assert [r.find(f"{SVG}title") is not None for r in svg.iterfind(f"{SVG}rect[@class='e']")] == [True]
    texts = [t.text for t in svg.iterfind(f"{SVG}text")]
    assert [text for text in texts if text and text.startswith("[")] == [
        *("[0:1, :, :]", "[1:2, :, :]", "[2:3, :, :]", "[3:3, :, :]")
    ]


@pytest.mark.parametrize("show", [describe, draw, to_svg])
def test_what_does_not_fit(show: Callable[..., str]) -> None:
    with pytest.raises(ShardyError, match="got a dynamic size"):
        show(sharded((X,)), MESH, (None,))
    with pytest.raises(ShardyError, match="expected rank 2 of the tensor, got rank 1"):
        show(sharded((X,)), MESH, (4, 4))


@pytest.mark.parametrize(
    ("ids", "text"),
    [((), ""), ((5,), "5"), ((1, 2), "1, 2"), ((1, 2, 3), "1-3"), ((0, 2, 3, 4, 9, 10), "0, 2-4, 9, 10")],
)
def test_ids(ids: tuple[int, ...], text: str) -> None:
    assert ids_text(ids) == text
