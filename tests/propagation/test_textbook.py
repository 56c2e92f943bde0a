"""The textbook against the fast engine: programs of the repository and the corpus, and random ones."""

from __future__ import annotations

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.propagation import textbook
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.graph.from_module import op_graph
from shardy_py.propagation.propagate import PropagationOptions
from shardy_py.propagation.rules import rule_of
from tests.mlir.programs import DEAD, MANUAL, WHILE
from tests.propagation.textbook import difference, imported, programs, random_case, text_of

SMALL = 35_000
"""Bytes of the programs that are compared each time."""
PROGRAMS = programs()
LARGE = {n for n, path in PROGRAMS.items() if path.suffix == ".gz" or path.stat().st_size > SMALL}


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - LARGE))
def test_programs(name: str) -> None:
    assert not difference(imported(text_of(PROGRAMS[name])))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_programs(name: str) -> None:
    assert not difference(imported(text_of(PROGRAMS[name])))


@pytest.mark.parametrize("text", [WHILE, MANUAL, DEAD], ids=["while", "manual", "dead"])
@pytest.mark.parametrize("strategy", ["basic", "aggressive", "basic-then-aggressive"])
def test_strategies(text: str, strategy: str) -> None:
    assert not difference(parse_module(text), PropagationOptions(strategy))


def _differences(seeds: range) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for seed in seeds:
        text, options, importing = random_case(seed)
        try:
            module = imported(text, importing)
            build_program(module, rule_of)
        except ShardyError:  # no side takes it
            continue
        found.append((seed, difference(module, options)))
    return found


def test_random_programs() -> None:
    found = _differences(range(30))
    assert len(found) >= 28
    assert not [pair for pair in found if pair[1]]


@pytest.mark.slow
def test_many_random_programs() -> None:
    assert not [pair for pair in _differences(range(30, 1000)) if pair[1]]


PRODUCT = """
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y", ?}p1]>},
                %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
"""


def test_shardings_and_local_shapes_are_pushed_along() -> None:
    graph = op_graph(parse_module(PRODUCT), rule_of)
    found = textbook.propagate(graph)
    edges = {(maker, user): data for maker, user, data in found.edges(data=True)}
    product = edges["%0", "result 0"]
    assert str(product["sharding"]) == '<@mesh, [{"x", ?}, {?}]>'
    assert (product["local_shape"], product["local_bytes"]) == ((4, 32), 512)
    weight = edges["%arg1", "%0"]
    assert str(weight["sharding"]) == '<@mesh, [{"y", ?}, {?}]>'
    assert weight["layout"] == "f32[4,32]{1,0}"
    assert found.nodes["%0"]["local_read_bytes"] == 4 * (4 * 4 + 4 * 32)
    assert all(data["sharding"] is None for _, _, data in graph.out_edges("%0", data=True))


def test_the_book_is_short() -> None:
    source = textbook.__file__
    assert source is not None
    with open(source) as file:
        assert len(file.readlines()) <= 250
