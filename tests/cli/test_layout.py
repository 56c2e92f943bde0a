from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from shardy_py.cli.layout import main

FIGURE_1 = "f32[3,5]{1,0:T(2,2)}"


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def test_draw(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", FIGURE_1]) == 0
    out = capsys.readouterr().out
    assert "│ 12 13 │ 16 17 │ 20  · │\n" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(("no_color", "colored"), [("", True), ("1", False)])
def test_color_on_terminals(monkeypatch: pytest.MonkeyPatch, no_color: str, colored: bool) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert main(["draw", FIGURE_1]) == 0
    assert ("\x1b[" in terminal.getvalue()) is colored


def test_terminals_without_box_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    octets = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(octets, encoding="ascii"))
    assert main(["draw", FIGURE_1]) == 0
    assert b"| 12 13 | 16 17 | 20  . |\n" in octets.getvalue()


def test_svg_goes_to_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "layout.svg"
    assert main(["draw", FIGURE_1, "--svg", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_text().startswith("<svg xmlns=")
    assert main(["draw", FIGURE_1, "--svg", str(tmp_path / "missing" / "x.svg")]) == 1
    assert "cannot open output file" in capsys.readouterr().err


def test_limits_and_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "f32[300,300]", "--target", "tpu", "--rows", "2", "--columns", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[4:] == [
        "┌──────────────",
        "│   0   1   2 …",
        "│ 128 129 130 …",
        "└──────────────",
        "… 302 more rows and 381 more columns",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["index", FIGURE_1, "2,3"], "17\n"),
        (["index", FIGURE_1, "--offset", "17"], "2,3\n"),
        (["index", FIGURE_1, "--offset", "23"], "padding\n"),
        (["index", "f32[]", ""], "0\n"),
        (["index", "f32[9,9]", "1,1", "--target", "tpu"], "129\n"),
        (["bytes", "bf16[3,5]"], "bf16[3,5]{1,0}\nunpadded 30\npadded   30\npadding  0 (0.0%)\n"),
        (
            ["bytes", "bf16[3,5]", "--target", "tpu"],
            "bf16[3,5]{1,0:T(4,128)(2,1)}\nunpadded 30\npadded   1024\npadding  994 (97.1%)\n",
        ),
        (
            ["bytes", f"({FIGURE_1}, token[])"],
            f"({FIGURE_1}, token[])\nunpadded 60\npadded   96\npadding  36 (37.5%)\n",
        ),
        (
            ["steps", "f32[3,5]{1,0:T(2,2)}"],
            "Pad(high=(1, 1), dimensions=(4, 6))\nReshape(dimensions=(2, 2, 3, 2))\n"
            "Transpose(permutation=(0, 2, 1, 3), dimensions=(2, 3, 2, 2))\nReshape(dimensions=(24,))\n",
        ),
        (["steps", "f32[3]"], "nothing moves\n"),
    ],
)
def test_answers(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["draw", "f32[3,5]{1,0:T(2;2)}"],
            "<shape>:1:17: error: expected ',' or ')', got ';'\nf32[3,5]{1,0:T(2;2)}\n" + " " * 16 + "^\n",
        ),
        (["draw", ""], "<shape>:1:1: error: "),
        (
            ["draw", "(f32[3])"],
            "<shape>:1:1: error: expected the shape of an array, got (f32[3])\n(f32[3])\n^\n",
        ),
        (["draw", "f32[?]"], "the unbounded array f32[?]{0} is unsupported"),
        (["draw", "f32[3]{0:T(0)}"], "expected sizes of at least 1, got 0"),
        (["draw", "f32[3]{0:D(C)}"], "sparse array"),
        (["bytes", "(f32[3])", "--target", "tpu"], "--target requires a single array"),
        (["bytes", "f32[3]", "--target", "gpu"], "invalid choice: 'gpu'"),
        (["index", FIGURE_1], "expected either the coordinates of an element or --offset"),
        (["index", FIGURE_1, "x"], "expected coordinates like 2,3, got 'x'"),
        (["index", FIGURE_1, "1"], "2 coordinates, got 1"),
        (["index", FIGURE_1, "3,0"], "dimension 0: expected a coordinate from 0 to 2, got 3"),
        (["index", FIGURE_1, "--offset", "24"], "the buffer: expected a coordinate from 0 to 23, got 24"),
        (["draw", FIGURE_1, "--rows", "0"], "expected a number from 1 to 99999, got '0'"),
        (["paint", FIGURE_1], "invalid choice: 'paint'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_mistakes_are_told_in_words(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""
