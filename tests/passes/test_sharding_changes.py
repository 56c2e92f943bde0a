"""The functions on shardings behind the passes that clean up and compare them."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import TensorType, f32

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.sdy.syntax_sharding import read_sharding
from shardy_py.mlir.dialects.stablehlo.attributes import TokenType
from shardy_py.mlir.symbols import Symbols
from shardy_py.mlir.text.cursor import Cursor
from shardy_py.mlir.text.source import Source
from shardy_py.passes.export.removal import without_size_one_axes
from shardy_py.passes.import_.manual_axes_cleanup import common_mesh, naming_all
from shardy_py.sharding import AxisRef, Mesh, MeshAxis, TensorSharding

MESH = Mesh((MeshAxis("x", 2), MeshAxis("one", 1), MeshAxis("y", 4)))


def sharding(text: str) -> TensorSharding:
    return read_sharding(Cursor(Source(text)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('<@mesh, [{"one", "x"}p1, {"one"}p2]>', '<@mesh, [{"x"}p1, {}]>'),
        ('<@mesh, [{"one", ?}p1], replicated={"one"}>', "<@mesh, [{?}p1]>"),
        (
            '<@mesh, [{}], replicated={"x"}, unreduced=max{"one", "y"}>',
            '<@mesh, [{}], replicated={"x"}, unreduced=max{"y"}>',
        ),
        ('<@mesh, [{"y":(1)2}]>', '<@mesh, [{"y":(1)2}]>'),
    ],
)
def test_without_size_one_axes(given: str, expected: str) -> None:
    assert str(without_size_one_axes(sharding(given), MESH)) == expected


@pytest.mark.parametrize(
    ("given", "axes", "expected"),
    [
        ('<@other, [{"x"}]>', ("x",), '<@other, [{"x"}]>'),
        ('<@other, [{"x"}]>', ("x", "y"), '<@mesh, [{"x"}], replicated={"y"}>'),
        ('<@mesh, [{"y":(1)2}]>', ("x", "y"), '<@mesh, [{"y":(1)2}], replicated={"x", "y":(2)2}>'),
        ('<@mesh, [{}], replicated={"y":(2)2}>', ("y",), '<@mesh, [{}], replicated={"y"}>'),
        ('<@mesh, [{?}], unreduced={"x"}>', ("x",), '<@mesh, [{?}], unreduced={"x"}>'),
    ],
)
def test_naming_all(given: str, axes: tuple[str, ...], expected: str) -> None:
    named = naming_all(sharding(given), TensorType(f32, [8]), tuple(map(AxisRef, axes)), "mesh", MESH)
    assert str(named) == expected


def test_tokens_name_no_axes() -> None:
    given = sharding("<@mesh, []>")
    assert naming_all(given, TokenType(), (AxisRef("x"),), "mesh", MESH) is given


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a", "b"), "a"),
        (("empty", "a"), "a"),
        (("a", "empty"), "a"),
        (("empty", "empty"), "empty"),
        (("a", "c"), None),
        ((), None),
    ],
)
def test_common_mesh(names: tuple[str, ...], expected: str | None) -> None:
    module = parse_module("""
      sdy.mesh @a = <["x"=2]>
      sdy.mesh @b = <["x"=2]>
      sdy.mesh @c = <["x"=4]>
      sdy.mesh @empty = <[]>""")
    assert common_mesh([TensorSharding.fully_open(name, 1) for name in names], Symbols(module)) == expected
