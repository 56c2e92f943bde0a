"""Aliases of locations read by lines are those read token by token."""

from __future__ import annotations

import pytest

from shardy_py import ShardyError
from shardy_py.mlir.dialects.registry import parse_module, syntax_table
from shardy_py.mlir.text.cursor import MAX_NESTING
from shardy_py.mlir.text.location_aliases import LocationAliases
from shardy_py.mlir.text.module_reader import ModuleReader
from shardy_py.mlir.text.source import Source
from shardy_py.mlir.text.writer import print_module

DEFINITIONS = """\
#loc = loc(unknown)
#loc1 = loc("a.py":3:7 to :12)
#loc2 = loc("a.py":3:7 to 5:1)
#loc3 = loc("a.py":3:7)
#loc4 = loc("jit(f)/mul"(#loc1))
#loc5 = loc(callsite(#loc4 at #loc2))
#loc6 = loc("nowhere"(#loc))
#loc7 = loc("name")
#loc8 = loc("quoted \\"name\\""(#loc5))
#loc9 = loc(fused[#loc4, #loc5])
#loc10 = loc("after"(#loc9))
"""
MODULE = """\
module {
  func.func @main(%arg0: tensor<8xf32> loc("x")) -> tensor<8xf32> {
    %0 = stablehlo.abs %arg0 : tensor<8xf32> loc(#loc4)
    %1 = stablehlo.abs %0 : tensor<8xf32> loc(#loc10)
    return %1 : tensor<8xf32> loc(#loc8)
  } loc(#loc)
} loc(#loc)
"""


def read(text: str) -> ModuleReader:
    """The reader of a text, at its end."""
    reader = ModuleReader(Source(text, "x.mlir"), syntax_table())
    reader.module()
    return reader


def with_locations(text: str) -> str:
    """The text, read and printed."""
    return print_module(parse_module(text, "x.mlir"), syntax=syntax_table(), debuginfo=True)


@pytest.mark.parametrize("text", [DEFINITIONS + MODULE, MODULE + DEFINITIONS, MODULE + DEFINITIONS[:-1]])
def test_lines_give_what_tokens_give(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(text)
    printed = with_locations(text)
    monkeypatch.setattr(LocationAliases, "_read", lambda self, cursor: self.start)
    slow = read(text)
    assert fast.aliases == slow.aliases
    assert {name: type(a) for name, a in fast.aliases.items()} == {
        n: type(a) for n, a in slow.aliases.items()
    }
    assert fast.alias_extents == slow.alias_extents
    assert printed == with_locations(text)


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        ('#loc = loc(unknown)\n#loc = loc("a")\n', "redefinition of attribute alias id 'loc'"),
        ("#loc = loc(unknown)\n#a = loc(callsite(#loc at #b))\n", "undefined symbol alias id 'b'"),
        ("#loc = loc(unknown)\n#a = 1\n#c = loc(callsite(#a at #loc))\n", "expected location attribute"),
    ],
)
def test_faults_are_those_of_tokens(definitions: str, message: str) -> None:
    for text in (definitions + MODULE, MODULE + definitions):
        with pytest.raises(ShardyError, match=message):
            read(text)


def test_deep_chains_end_at_the_bound() -> None:
    lines = ["#loc = loc(unknown)", *(f'#l{n} = loc("n"(#l{n - 1}))' for n in range(1, MAX_NESTING))]
    lines[1] = '#l1 = loc("n")'
    with pytest.raises(ShardyError, match=f"nesting exceeds {MAX_NESTING} levels"):
        read("\n".join(lines) + "\n")


def test_an_alias_of_operations_only_is_no_attribute_before_its_definition() -> None:
    text = 'module attributes {a = #loc1} {} loc(#loc1)\n#loc1 = loc("x")\n'
    with pytest.raises(ShardyError, match="undefined symbol alias id 'loc1'"):
        read(text)
