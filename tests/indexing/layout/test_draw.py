from __future__ import annotations

import doctest
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import ArrayShape, padded_bytes, parse_array
from shardy_py.indexing.layout.draw import draw, draw_svg
from shardy_py.indexing.layout.picture import Picture, PictureLimits, picture

FIGURE_1 = """\
f32[3,5]{1,0:T(2,2)}
columns: dimension 1, rows: dimension 0
15 elements in 6 tiles of 2x2; 24 places, 9 of them padding (37.5%); 96 bytes

┌───────┬───────┬───────┐
│  0  1 │  4  5 │  8  · │
│  2  3 │  6  7 │ 10  · │
├───────┼───────┼───────┤
│ 12 13 │ 16 17 │ 20  · │
│  ·  · │  ·  · │  ·  · │
└───────┴───────┴───────┘

memory
   0: 0,0 0,1 1,0 1,1
   4: 0,2 0,3 1,2 1,3
   8: 0,4   · 1,4   ·
  12: 2,0 2,1   ·   ·
  16: 2,2 2,3   ·   ·
  20: 2,4   ·   ·   ·"""

FIGURE_2 = """\
f32[4,8]{1,0:T(2,4)(2,1)}
columns: dimension 1, rows: dimension 0
32 elements in 4 tiles of 2x4; 32 places; 128 bytes

┌─────────────┬─────────────┐
│  0┊ 2┊ 4┊ 6 │  8┊10┊12┊14 │
│  1┊ 3┊ 5┊ 7 │  9┊11┊13┊15 │
├─────────────┼─────────────┤
│ 16┊18┊20┊22 │ 24┊26┊28┊30 │
│ 17┊19┊21┊23 │ 25┊27┊29┊31 │
└─────────────┴─────────────┘
"""


def shown(text: str, *limits: int) -> Picture:
    return picture(parse_array(text), PictureLimits(*limits))


def grid(text: str, *limits: int) -> list[list[int | None]]:
    """The offsets of the first panel, None for padding."""
    rows = shown(text, *limits).panels[0].rows
    return [[None if cell.element is None else cell.offset for cell in row] for row in rows]


def test_the_first_figure_of_the_specification() -> None:
    assert draw(shown("f32[3,5]{1,0:T(2,2)}")) == FIGURE_1


def test_the_second_figure_of_the_specification() -> None:
    assert draw(shown("f32[4,8]{1,0:T(2,4)(2,1)}")).startswith(FIGURE_2)


def test_tiles_of_tiles() -> None:
    # The alternative 16-bit format: pairs of tiles share words; element (6,5) of XLA's page lies at 51.
    offsets = grid("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}")
    assert offsets[6][5] == 51
    assert offsets[0] == [0, 2, 4, 6, 16, 18, 20, 22]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[]", [[0]]),
        ("f32[]{:T(3)}", [[0, None, None]]),
        ("f32[3]", [[0, 1, 2]]),
        ("f32[5]{0:T(4)}", [[0, 1, 2, 3, 4, None, None, None]]),
        ("f32[2,3]{0,1}", [[0, 1], [2, 3], [4, 5]]),
        ("f32[2,3]{0,1:T(2,1)}", [[0, 2], [1, 3], [4, 6], [None, None]]),
        ("f32[2,2,3]{2,1,0:T(*,3,2)}", [[0, 1, 6, None], [2, 3, 8, None], [4, 5, 10, None]]),
    ],
)
def test_arrays_of_any_rank_and_order(text: str, expected: list[list[int | None]]) -> None:
    assert grid(text)[: len(expected)] == expected


def test_cells_know_their_elements() -> None:
    layouts = ("3,4,5]{0,2,1:T(2,3)(2,1)}", "2,3,4]{2,1,0:T(*,4,3)}", "3,5]{1,0:T(2,2)(3)L(7)}")
    for text in (f"f32[{layout}" for layout in layouts):
        array = parse_array(text)
        cells = [cell for panel in shown(text, 99, 99, 99).panels for row in panel.rows for cell in row]
        elements = {cell.element: cell.offset for cell in cells if cell.element is not None}
        assert len({cell.offset for cell in cells}) == len(cells)
        assert len(elements) == array.dimensions[0] * array.dimensions[1] * (array.dimensions[2:] or (1,))[0]
        for element, offset in elements.items():
            assert array.placement.offset(element) == offset, text


def test_slices_along_the_major_dimensions() -> None:
    text = draw(shown("f32[3,3,3]{2,1,0:T(2,2,2)}", 9, 9, 9))
    titles = re.findall(r"^\[.*$", text, re.MULTILINE)
    assert titles == ["[0,:,:]", "[1,:,:]", "[2,:,:]", "[3,:,:] padding"]
    assert "… and 997 more like these along the major dimensions" in draw(shown("f32[10,100,2,2]", 9, 9, 3))


def test_large_arrays_show_their_head() -> None:
    text = draw(shown("bf16[99999999999,4000000000,4000000000]{2,1,0:T(8,128)(2,1)}", 4, 5, 1))
    assert "│   0┊  2┊  4┊  6┊  8 …" in text
    assert "│ 257┊259┊261┊263┊265 …" in text
    assert "… 3999999996 more rows and 3999999995 more columns" in text
    assert "… and 99999999998 more like these" in text
    assert "memory" not in text
    assert max(map(len, text.splitlines()[3:])) < 80


def test_nothing_to_draw() -> None:
    text = draw(shown("f32[0,3]{1,0:T(2,2)}"))
    assert text.splitlines()[2] == "0 elements in 0 tiles of 2x2; 0 places; 0 bytes"


def test_padding_without_a_cell_is_counted() -> None:
    assert "40 places, 25 of them padding (62.5%), 16 not shown" in draw(shown("f32[3,5]{1,0:T(2,2)(3)L(5)}"))


def test_color_changes_the_color_alone() -> None:
    plain, colored = (draw(shown("f32[3,5]{1,0:T(2,2)}"), color=color) for color in (False, True))
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    assert len(set(re.findall(r"48;5;(\d+)m", colored))) == 6


def test_svg() -> None:
    root = ElementTree.fromstring(draw_svg(shown("f32[4,8]{1,0:T(2,4)(2,1)}")))
    kinds = [element.get("class") for element in root.iter() if element.tag.endswith("rect")]
    assert {kind: kinds.count(kind) for kind in kinds} == {"cell": 32, "part": 16, "tile": 4}
    texts = [element.text for element in root.iter() if element.get("class") == "index"]
    assert [int(text or "") for text in texts[:8]] == [0, 2, 4, 6, 8, 10, 12, 14]
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert titles[9] == "(1, 1) at 3"


def test_svg_of_every_kind_is_well_formed() -> None:
    for text in ("f32[]", "f32[0,3]{1,0:T(2,2)}", "f32[99,99,99]{2,1,0:T(8,128)}", "s4[3,5]{1,0:T(2,2)E(4)}"):
        root = ElementTree.fromstring(draw_svg(shown(text, 4, 4, 2)))
        width = int(root.get("width") or 0)
        for element in root.iter():
            assert int(element.get("x") or 0) + int(element.get("width") or 0) <= width


def test_the_figures_stand_in_the_documentation(root: Path) -> None:
    page = (root / "docs" / "layout.md").read_text()
    assert FIGURE_1 in page
    assert FIGURE_2 in page
    assert draw(shown("f32[4,8]{1,0:T(2,4)(2,1)}")) in page


def test_the_documentation_is_executed(root: Path) -> None:
    result = doctest.testfile(str(root / "docs" / "layout.md"), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[8,8]{1,0:T" + "(2,2)" * 3000 + "}", "tiles T: expected at most 32, got 3000"),
        ("f32[8,8]{1,0:T(" + "2," * 2999 + "2)}", "dimensions after tiling: expected at most 200, got 3002"),
        ("f32[" + "2," * 9999 + "2]", "dimensions of an array in memory: expected at most 200, got 10000"),
        ("f32[" + "9223372036854775807," * 299 + "2]", "expected at most 200, got 300"),
    ],
)
@pytest.mark.parametrize("read", [picture, padded_bytes])
def test_limits_of_layouts(read: Callable[[ArrayShape], object], text: str, message: str) -> None:
    with pytest.raises(ShardyError) as error:
        read(parse_array(text))
    assert message in str(error.value)


def test_the_largest_layouts_are_drawn() -> None:
    largest = "9223372036854775807"
    tiled = f"f32[{largest},{largest}]{{1,0:T" + f"({largest},{largest})" * 32 + f"L({largest})}}"
    for text in (tiled, f"f32[{','.join([largest] * 200)}]"):
        assert draw(picture(parse_array(text), PictureLimits(2, 2, 2)))


def test_a_picture_has_a_most_of_cells() -> None:
    with pytest.raises(ShardyError, match="at most 131072 places, got 1000000; lower the limits of rows"):
        picture(parse_array("f32[1000,1000]"), PictureLimits(9999, 9999, 1))
