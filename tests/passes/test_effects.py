"""What the rows of passes say they need and add holds on the programs of the tests of passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from xdsl.dialects.builtin import ModuleOp

from shardy_py import ShardyError
from shardy_py.base.errors import collected_warnings
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.registry import parse_module, print_module
from shardy_py.mlir.ir import OpIndex, find_ops, indexed, op_names, ops_in, place_at_end, take_out
from shardy_py.passes import PASSES, pass_call
from shardy_py.passes.pipelines import propagation_passes
from shardy_py.passes.runner import run_passes

EFFECTS = {row.name: row.needs for row in PASSES if row.tracked}

FOLDERS = ("passes", "pipeline")


def texts() -> Iterator[str]:
    """The programs of the tests of passes and pipelines, and whole examples."""
    root = Path(__file__).parents[2]
    for path in (
        *(p for f in FOLDERS for p in (root / "filecheck" / f).rglob("*.mlir")),
        *(root / "examples").glob("*.mlir"),
    ):
        yield from path.read_text().split("// -----")


LOOP = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32>,
                %c: tensor<i1>) -> tensor<8xf32> {
  %0 = stablehlo.while(%i = %b) : tensor<8xf32>
   cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %a : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}
"""
LARGEST = 20_000
"""Characters of a program: longer ones have more of the same ops."""


class Given(NamedTuple):
    """A program that is read: its text, module, ops, and how it prints."""

    text: str
    module: ModuleOp
    ops: frozenset[str]
    printed: str


@cache
def programs() -> tuple[Given, ...]:
    """The valid ones."""
    found: list[Given] = []
    for text in (*texts(), LOOP):
        with suppress(ShardyError):
            module = parse_module(text)
            found.append(Given(text, module, frozenset(op_names(module)), print_module(module)))
    return tuple(given for given in found if len(given.text) <= LARGEST)


def test_every_row_names_a_pass() -> None:
    assert EFFECTS.keys() <= {row.name for row in PASSES}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects(name: str) -> None:
    needs = EFFECTS[name]
    changed = 0
    for given in programs():
        module = clone(given.module, {})
        index = OpIndex(module)
        try:
            with indexed(index):
                pass_call(name).run(module)
        except ShardyError:
            continue
        assert_is_current(index, module, given.text)
        is_without = bool(needs) and needs.isdisjoint(given.ops)
        if is_without or not changed:
            printed = print_module(module)
            changed += printed != given.printed
            assert printed == given.printed or not is_without, given.text
    assert changed or name in ("sdy-verify-unreduced-axes",), "no program shows the effect of the pass"


def assert_is_current(index: OpIndex, module: ModuleOp, text: str) -> None:
    """The index finds what a walk finds: ops of each class, and all."""
    walked = ops_in(module)
    classes = {*map(type, walked)}
    assert classes <= {op_class for op_class, _ in index.samples}, text
    for kind in classes:
        assert index.found(module, {kind}) == [op for op in walked if type(op) is kind], text
    for op in walked:
        if op.regions:
            found = index.all_in(op)
            assert found is None or found == ops_in(op), text
    assert index.all_in(module) == walked, text


def test_a_pass_without_its_ops_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    row = type(PASSES[0])
    monkeypatch.setattr(row, "run", lambda self, module, options: ran.append(self.name))
    module = parse_module("func.func @main() { return }")
    names = ("sdy-remove-sharding-groups", "sdy-close-shardings", "sdy-sharding-group-import")
    run_passes(module, [pass_call(name) for name in names])
    assert ran == ["sdy-close-shardings"]


def test_an_index_serves_its_module_alone() -> None:
    module = parse_module("func.func @main(%a: tensor<8xf32>) { return }")
    other = parse_module("func.func @main(%a: tensor<8xf32>) { return }")
    (function,) = module.body.block.ops
    with indexed(OpIndex(module)):
        assert not find_ops(module, "func.call")
        assert find_ops(function, "func.return") == find_ops(module, "func.return")
        assert find_ops(other, "func.return") != find_ops(module, "func.return")
        (end,) = find_ops(module, "func.return")
        take_out(end)
        assert not find_ops(module, "func.return")
        place_at_end(end, function.regions[0].block)
        assert find_ops(module, "func.return") == [end]


def test_constraints_of_contradicting_groups_become_reshards() -> None:
    """Propagation adds them, to a program that held none."""
    text = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>} : tensor<8x8xf32>
  %1 = stablehlo.abs %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {"a", ?}]>]>} : tensor<8x8xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8x8xf32>
  sdy.sharding_group %1 group_id=0 : tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
"""
    with collected_warnings():
        module = run_passes(parse_module(text), propagation_passes())
    names = [op.name for op in module.walk()]
    assert "sdy.sharding_constraint" not in names
