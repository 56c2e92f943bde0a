"""Trip counts that follow from the program, and those that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.ir import Operation

from shardy_py.api import Program
from shardy_py.base.errors import ShardyError
from shardy_py.cli.opt import main
from shardy_py.mlir import scalars
from shardy_py.mlir.loops import iterations, run_counts
from shardy_py.mlir.trip_counts import TripCounts, set_trip_counts

TEST = "(tensor<i32>, tensor<i32>) -> tensor<i1>"
UP = "%n = stablehlo.add %i, %c1 : tensor<i32>"


@dataclass(frozen=True)
class Loop:
    """A loop that carries scalars, from `%i` on; its condition is `%t`."""

    condition: str
    body: str = UP
    carried: str = "%i = %c0"
    following: str = "%n"
    before: str = ""

    @property
    def text(self) -> str:
        types = ", ".join(["tensor<i32>"] * (self.following.count(",") + 1))
        return f"""func.func @main(%x: tensor<i32>) -> tensor<i32> {{
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c10 = stablehlo.constant dense<10> : tensor<i32>
  {self.before}
  %r:{self.following.count(",") + 1} = stablehlo.while({self.carried}) : {types}
  cond {{
    {self.condition}
    stablehlo.return %t : tensor<i1>
  }} do {{
    {self.body}
    stablehlo.return {self.following} : {types}
  }} loc("model.py":12:3)
  return %r#0 : tensor<i32>
}}"""


def compared(direction: str, left: str = "%i", right: str = "%c10") -> str:
    return f"%t = stablehlo.compare {direction}, {left}, {right} : {TEST}"


SIXTEEN = "stablehlo.constant dense<16> : tensor<i32>"
WIDE = """%k = stablehlo.convert %i : (tensor<i32>) -> tensor<i64>
    %w = stablehlo.constant dense<7> : tensor<i64>
    %t = stablehlo.compare LT, %k, %w : (tensor<i64>, tensor<i64>) -> tensor<i1>"""
CASES: dict[str, tuple[Loop, int]] = {
    "less": (Loop(compared("LT")), 10),
    "less or equal": (Loop(compared("LE")), 11),
    "not equal": (Loop(compared("NE")), 10),
    "the bound first": (Loop(compared("GT", "%c10", "%i")), 10),
    "down": (Loop(compared("GT", "%i", "%c0"), UP.replace("add", "subtract"), "%i = %c10"), 10),
    "bound and step are carried": (
        Loop(
            compared("LT", "%i", "%m"),
            "%n = stablehlo.add %i, %s : tensor<i32>",
            "%i = %c0, %m = %c10, %s = %c1",
            "%n, %m, %s",
        ),
        10,
    ),
    "a bound by arithmetic": (
        Loop(compared("LT", "%i", "%b"), before="%b = stablehlo.multiply %c10, %c10 : tensor<i32>"),
        100,
    ),
    "a counter that doubles": (
        Loop(compared("LT"), "%n = stablehlo.add %i, %i : tensor<i32>", "%i = %c1"),
        4,
    ),
    "a sum is compared": (
        Loop(f"%u = stablehlo.add %i, %c1 : tensor<i32>\n    {compared('LT', '%u')}"),
        9,
    ),
    "a negation": (
        Loop(f"{compared('GE').replace('%t', '%u')}\n    %t = stablehlo.not %u : tensor<i1>"),
        10,
    ),
    "converted": (Loop(WIDE), 7),
    "a flag": (
        Loop(
            f"{compared('EQ', '%f', '%c0')}",
            f"{UP}\n    %g = stablehlo.divide %n, %c10 : tensor<i32>",
            "%i = %c0, %f = %c0",
            "%n, %g",
        ),
        10,
    ),
    "never": (Loop(compared("LT", "%c10", "%c0")), 0),
    "bits are not a sum": (
        Loop(compared("LT"), "%n = stablehlo.xor %i, %d : tensor<i32>", before=f"%d = {SIXTEEN}"),
        1,
    ),
}  # fmt: skip
UNKNOWN = {
    "a bound that is an argument": Loop(compared("LT", "%i", "%x")),
    "a step that is an argument": Loop(compared("LT"), "%n = stablehlo.add %i, %x : tensor<i32>"),
    "without end": Loop(compared("LT", "%c0", "%c10")),
    "back to the start": Loop(compared("LT"), "%n = stablehlo.xor %i, %c1 : tensor<i32>"),
}


def loop_of(text: str) -> object:
    return next(op for op in Program.parse(text).module.walk() if op.name == "stablehlo.while")


@pytest.mark.parametrize("name", CASES)
def test_known(name: str) -> None:
    loop, count = CASES[name]
    assert iterations(loop_of(loop.text)) == (count, True)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_until_given(name: str) -> None:
    program = Program.parse(UNKNOWN[name].text)
    loop = next(op for op in program.module.walk() if op.name == "stablehlo.while")
    assert iterations(loop) == (1, False)
    set_trip_counts(program.module, TripCounts.parse(["50"]))
    assert iterations(loop) == (50, True)
    set_trip_counts(program.module, TripCounts.parse(["model.py:12=60"]))
    assert iterations(loop) == (60, True)


def test_a_loop_is_followed_once_and_until_its_numbers_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program.parse(UNKNOWN["back to the start"].text)
    seen: list[str] = []
    computed = scalars.computed

    def counted(op: Operation, numbers: Sequence[scalars.Number]) -> scalars.Number | None:
        seen.append(op.name)
        return computed(op, numbers)

    monkeypatch.setattr(scalars, "computed", counted)
    runs = run_counts(program.module)
    inside = [op for op in program.module.walk() if op.parent_op() is not None]
    assert {runs(op) for op in inside if op.name == "stablehlo.xor"} == {(1, False)}
    before = len(seen)
    assert all(runs(op) for op in inside)
    assert len(seen) == before < 10


def test_a_count_that_is_known_stays() -> None:
    program = Program.parse(CASES["less"][0].text)
    set_trip_counts(program.module, TripCounts.of(50))
    loop = next(op for op in program.module.walk() if op.name == "stablehlo.while")
    assert iterations(loop) == (10, True)


def test_options_reach_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = UNKNOWN["a bound that is an argument"].text
    given = Program.parse(text, trip_count={"model.py:12": 7})
    loops = [op for p in (given, Program.parse(text).with_trip_counts(7)) for op in p.module.walk()]
    assert [iterations(op) for op in loops if op.name == "stablehlo.while"] == [(7, True)] * 2
    file = tmp_path / "p.mlir"
    file.write_text(text)
    assert main(["--trip-count", "7", str(file)]) == 0
    assert "shardy_py.trip_count = 7 : i64" in capsys.readouterr().out
    assert main(["--trip-count=many", str(file)]) != 0
    assert "--trip-count" in capsys.readouterr().err


def test_bounds_through_calls() -> None:
    inner = UNKNOWN["a bound that is an argument"].text.replace("@main", "private @f")
    main = """func.func @main() -> (tensor<i32>, tensor<i32>) {
  %n = stablehlo.constant dense<6> : tensor<i32>
  %0 = call @f(%n) : (tensor<i32>) -> tensor<i32>
  %1 = call @f(%n) : (tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<i32>, tensor<i32>
}
"""
    module = Program.parse(main + inner).module
    add = next(op for op in module.walk() if op.name == "stablehlo.add")
    assert run_counts(module)(add) == (12, True)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["many"], "trip count: expected a number of iterations from 0, or one behind a place"),
        (["model.py:12=-1"], "trip count: expected a number of iterations from 0, or one behind a place"),
        (["model.py:1=3"], "trip count: expected a place of a loop: model.py:12:3, got 'model.py:1'"),
    ],
)
def test_wrong_counts(texts: list[str], message: str) -> None:
    program = Program.parse(CASES["less"][0].text)
    with pytest.raises(ShardyError, match=message):
        set_trip_counts(program.module, TripCounts.parse(texts))
