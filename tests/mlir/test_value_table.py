"""Arguments and results of functions, with and without the values between them."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.value_classes import ValueClasses
from shardy_py.mlir.value_table import ValueEntry, ValueTable

CALLS = """
func.func @main(%x: tensor<4xf32> loc("x"), %arg1: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "y"}) {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.while(%b = %a) : tensor<4xf32> cond {
    %c = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    stablehlo.return %b : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}"""
NESTED = "module { func.func @g(%a: tensor<4xf32>) { return } }\n" + CALLS


@pytest.mark.parametrize("text", [CALLS, NESTED, "func.func private @f(tensor<4xf32>)"])
def test_boundaries_are_those_among_all_values(text: str) -> None:
    alone, among = (ValueTable(parse_module(text)) for _ in range(2))
    every = [(str(each), each.label) for each in among.entries if each.role != "intermediate"]
    assert [(str(each), each.label) for each in alone.boundaries.values()] == every
    assert [*among.boundaries.values()] == [each for each in among.entries if each.role != "intermediate"]
    assert {*alone.boundaries.values()} <= {*alone.entries}


@pytest.mark.parametrize("text", [CALLS, NESTED])
def test_names_of_ops_are_those_of_their_entries(text: str) -> None:
    table = ValueTable(parse_module(text))
    alone = {id(op): table.names_of(op) for op in table.ops}
    assert "entries" not in vars(table)
    for op in table.ops:
        entry = table.by_value.get(id(op.results[0])) if op.results else None
        assert alone[id(op)] == (("", "") if entry is None else (entry.name, entry.function))
    elsewhere = ValueTable(parse_module(CALLS)).ops
    assert {table.names_of(op) for op in elsewhere} == {("", "")}


def test_values_of_a_class_are_asked_for_once() -> None:
    """`where` gives what a filter does, in program order, by a question for each class."""
    entries = ValueTable(parse_module(CALLS)).entries
    asked: list[ValueEntry] = []

    def is_sharded_like(entry: ValueEntry) -> bool:
        asked.append(entry)
        return str(entry.type) == "tensor<4xf32>" and entry.role != "result"

    found = [*ValueClasses(entries).where(is_sharded_like)]
    assert len(asked) < len(entries)
    assert found == [entry for entry in entries if is_sharded_like(entry)]
    assert len(found) == 7
