# ruff: noqa: E501  the lines are the subject
"""Reading by recipe gives what reading token by token gives, whatever stands on a line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import print_module, syntax_table
from shardy_py.mlir.text.module_reader import ModuleReader
from shardy_py.mlir.text.source import Source

CORPUS = Path(__file__).resolve().parents[3] / ".." / "shared" / "corpus"


def outcome(text: str, *, use_recipes: bool) -> str:
    reader = ModuleReader(Source(text), syntax_table(), allow_unregistered=True)
    reader.use_recipes = use_recipes
    try:
        return print_module(reader.module(), generic=True, debuginfo=True)
    except ShardyError as error:
        return str(error)


def assert_same(text: str) -> None:
    assert outcome(text, use_recipes=True) == outcome(text, use_recipes=False), text


@pytest.mark.parametrize(
    "text",
    [
        # names in strings and comments
        '%a = "t.a"() : () -> i32\n"t.b"(%a) {s = "%a"} : (i32) -> ()\n"t.b"(%a) {s = "%b"} : (i32) -> ()\n',
        '%a = "t.a"() : () -> i32 // %b\n%b = "t.a"() : () -> i32 // %b\n"t.b"(%b) : (i32) -> () // loc(#loc)\n',
        '"t.a"() {s = "50%"} : () -> ()\n"t.a"() {s = "50%b"} : () -> ()\n',
        # several ops on a line, ops over several lines
        '"t.a"() : () -> () "t.a"() : () -> ()\n"t.a"() : () -> ()\n"t.a"() : () -> () "t.a"() : () -> ()\n',
        '"t.a"() : () -> ()\n"t.a"() : () -> ()\n  loc("x")\n"t.a"() : () -> ()\n',
        "func.func @f() {\n  return\n}\nfunc.func @g(%a: i32) -> i32 {\n  return\n    %a : i32\n}\n",
        # locations
        '"t.a"() : () -> () loc("x")\n"t.a"() : () -> () loc("x")\n"t.a"() : () -> () loc(#l)\n'
        '"t.a"() : () -> () loc(#m)\n#l = loc("y")\n#m = loc("z")\n',
        '"t.a"() {x = loc(#l)} : () -> ()\n#l = loc("y")\n',
        '%a = "t.a"() : () -> i32\n    %bcd = "t.a"() : () -> i32\n%e, %f = "t.x"() : () -> (i32, i32)\n'
        '%gg, %hhh = "t.x"() : () -> (i32, i32)\n',
        # repeated operands
        '%a = "t.a"() : () -> i32\n%b = "t.a"() : () -> i32\n"t.b"(%a, %a) : (i32, i32) -> ()\n'
        '"t.b"(%a, %b) : (i32, i32) -> ()\n"t.b"(%b, %b) : (i32, i32) -> ()\n',
        # groups of results
        '%a:2 = "t.a"() : () -> (i32, f32)\n%b:2 = "t.a"() : () -> (i32, f32)\n"t.b"(%b#1, %a#0) : (f32, i32) -> ()\n',
        '%a, %b:2 = "t.a"() : () -> (i32, f32, i1)\n%c, %d:2 = "t.a"() : () -> (i32, f32, i1)\n'
        '"t.b"(%d#1, %c) : (i1, i32) -> ()\n',
        # redefinition, undefined names, other types
        '%a = "t.a"() : () -> i32\n%a = "t.a"() : () -> i32\n',
        '"t.b"(%a) : (i32) -> ()\n"t.b"(%b) : (i32) -> ()\n%a = "t.a"() : () -> i32\n%b = "t.a"() : () -> i32\n',
        '%a = "t.a"() : () -> i32\n%b = "t.a"() : () -> f32\n"t.b"(%a) : (i32) -> ()\n"t.b"(%b) : (i32) -> ()\n',
        '%a = "t.a"() : () -> i32\n"t.b"(%a) : (i32) -> ()\n"t.b"(%) : (i32) -> ()\n',
        # the same line under another default dialect
        "module {\n  func.func @f() {\n    return\n  }\n  return\n}\n",
        '%a = "t.a"() : () -> i32\r\n%b = "t.a"() : () -> i32\r\n',
    ],
)
def test_peculiar_lines(text: str) -> None:
    assert_same(text)


LINES = (
    '%{0} = "t.a"() : () -> i32',
    '%{0} = "t.b"(%{1}) : (i32) -> i32',
    '%{0} = "t.c"(%{1}, %{2}) : (i32, i32) -> i32',
    "%{0} = stablehlo.not %{1} : i32",
    "%{0} = stablehlo.add %{1}, %{2} : i32 loc(#l)",
    '%{0} = "stablehlo.add"(%{1}, %{2}) {{a}} : (i32, i32) -> i32 loc("x")',
    '%{0}:2 = "t.d"(%{1}, %{1}) : (i32, i32) -> (i32, f32)',
    '"t.e"(%{1}) {{s = "%{2}"}} : (i32) -> ()',
    '"t.f"() : () -> () loc("{0}")',
    '"t.f"() : () -> ()',
    "// %{0}",
    '"t.g"(%{1}#1) : (f32) -> ()',
    '"t.h"() ({{',
    "}}) : () -> ()",
    "",
)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    lines: list[str] = []
    for _ in range(rng.randint(2, 40)):
        names = [f"v{rng.randrange(12)}" for _ in range(3)]
        end = rng.choice(["\n", "\n", "\n", "\n", " ", " // x\n"])
        lines.append("  " * rng.randrange(2) + rng.choice(LINES).format(*names) + end)
    assert_same("".join(lines))


@pytest.mark.skipif(not CORPUS.exists(), reason="the shared corpus is not there")
@pytest.mark.parametrize(
    "name", ["convnet_train", "scan_transformer", "shard_map_collectives", "custom_rules"]
)
def test_corpus(name: str) -> None:
    assert_same((CORPUS / f"{name}.mlir").read_text("utf-8"))
