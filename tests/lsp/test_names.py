"""Names in text: with each value renamed by its definition and uses, a program stays the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.lsp.names import names_in
from shardy_py.lsp.places import LineTable
from shardy_py.mlir.dialects import parse_module, print_module

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("pipeline", "dialects/stablehlo", "dialects/sdy", "passes")
_LARGEST = 20_000


def programs(folder: str) -> list[str]:
    paths = sorted((ROOT / "filecheck" / folder).glob("*.mlir"))[::4]
    parts = [part for path in paths for part in path.read_text().split("// -----")]
    return [part for part in parts if len(part) < _LARGEST]


def renamed(text: str) -> str:
    """The text with a name for each value that no other has."""
    index = names_in(text)
    numbers = {id(each): number for number, each in enumerate(index.definitions)}
    for start, end, definition in reversed(index.occurrences):
        if definition is not None and text[start] == "%":
            part = text[start:end].removeprefix(definition.name)
            text = f"{text[:start]}%value_{numbers[id(definition)]}{part}{text[end:]}"
    return text


@pytest.mark.parametrize("folder", FOLDERS)
def test_definitions_and_uses_are_those_of_mlir(folder: str) -> None:
    checked = 0
    for text in programs(folder):
        try:
            expected = print_module(parse_module(text))
        except ShardyError:
            continue
        assert print_module(parse_module(renamed(text))) == expected, text
        checked += 1
    assert checked > 3


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("%a, %b:2 = foo.op", ["%a", "%b"]),
        ("%a = foo.op {x = %", ["%a"]),
        ("func.func @f(%a: i1, %b", ["@f", "%a"]),
        ("func.func private @f() loc(unknown)\n%0 = call @f()", ["@f", "%0"]),
        ('"func.func"() <{sym_name = "g"}> ({^bb0(%a: i1):})', ["@g", "%a"]),
        ("#map = affine_map<(d0) -> (d0)>\n!t = i32\n%0 = foo.op #map : !t", ["#map", "!t", "%0"]),
        ('sdy.mesh @"a b" = <["x"=2]>\n// %c = @d\nfoo.op @"a b", "%e = @f"', ["@a b"]),
        ("%0 = foo.scan (%i = %c) { %d = foo.next %i } { foo.yield %i }", ["%0", "%i", "%d"]),
    ],
)
def test_definitions_in_text_that_may_be_half_typed(text: str, names: list[str]) -> None:
    assert [each.name for each in names_in(text).definitions] == names


def test_uses_are_those_of_the_region() -> None:
    text = (
        "func.func @f(%a: i1) { foo.use %a }\n"
        "func.func @g(%a: i1) { %0 = foo.loop(%i = %a) { foo.use %i, %a } { foo.use %i }\n"
        "  %1 = foo.loop(%i = %0) { foo.use %i, %late }\n  %late = foo.op }"
    )
    found = {each.key: len(each.uses) for each in names_in(text).definitions if each.name[0] == "%"}
    assert found == {
        ("f", "%a", 0): 1,
        ("g", "%a", 0): 2,
        ("g", "%0", 0): 1,
        ("g", "%i", 0): 2,
        ("g", "%1", 0): 0,
        ("g", "%i", 1): 1,
        ("g", "%late", 0): 1,
    }


def test_the_time_is_linear() -> None:
    for part in ("%a, ", "%a = ", "{", "(%a: ", "@a ", '"', "^a(%b: i1, "):
        names_in(part * 5_000)


@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\nab\r\nc", "\U0001f600x\n\u00e9"])
def test_places_count_units_of_utf16(text: str) -> None:
    lines = LineTable(text)
    for offset in range(len(text) + 1):
        line, column = lines.place(offset)
        assert lines.offset(line, column) == offset
        before = text[:offset].split("\n")
        assert (line, column) == (len(before) - 1, len(before[-1].encode("utf-16-le", "surrogatepass")) // 2)
    assert lines.offset(99, 0) == len(text)
    assert lines.offset(0, 99) == len(text.partition("\n")[0])
