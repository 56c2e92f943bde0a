"""Keys are equal for copies of a module, and differ for modules that differ anywhere."""

from __future__ import annotations

import pytest

from shardy_py import P, Program, propagate
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.module_keys import ModuleKeys

TEXT = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %arg1: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.subtract %arg0, %arg1 : tensor<8x8xf32> loc("m.py":3:4)
  %1:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg1) : tensor<8x8xf32>, tensor<8x8xf32>
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<8x8xf32>, tensor<8x8xf32>
    }
  return %1#0 : tensor<8x8xf32>
}
"""


def test_copies_have_the_digest_of_the_module() -> None:
    keys, module = ModuleKeys(), Program.parse(TEXT).module
    assert keys.of(module) == keys.of(module) == keys.of(clone(module, {}))
    again = [propagate(Program.parse(TEXT), progress=False).program.module for _ in range(2)]
    assert keys.of(again[0]) == keys.of(again[1]) != keys.of(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%arg0, %arg1 :", "%arg1, %arg0 :"),
        ("subtract", "divide"),
        ('[{"x"}, {}]', '[{"y"}, {}]'),
        ('"y"=2', '"y"=4'),
        ("m.py", "other.py"),
        ("3:4", "3:5"),
        ("dense<true>", "dense<false>"),
        ("return %iterArg, %iterArg_0", "return %iterArg_0, %iterArg"),
        ("return %1#0", "return %1#1"),
    ],
)
def test_a_change_anywhere_changes_the_digest(old: str, new: str) -> None:
    assert old in TEXT
    keys = ModuleKeys()
    before, after = (Program.parse(text).module for text in (TEXT, TEXT.replace(old, new)))
    assert keys.of(before) != keys.of(after)


def test_the_attributes_of_many_arguments_are_compared_one_by_one() -> None:
    given = '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}'
    arguments = ", ".join(f"%arg{n}: tensor<8xf32> {given}" for n in range(400))
    text = f'sdy.mesh @mesh = <["x"=2, "y"=2]>\nfunc.func public @main({arguments}) -> () {{ return }}'
    program, keys = Program.parse(text), ModuleKeys()
    found = [keys.of(program.annotate({"%arg399": P(axis)}).module) for axis in ("y", "y", "x")]
    assert found[0] == found[1] != found[2]
