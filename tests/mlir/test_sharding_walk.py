from __future__ import annotations

from dataclasses import replace

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.ir import find_ops
from shardy_py.mlir.sharding_walk import survey, transform_shardings
from shardy_py.mlir.symbols import functions_of, meshes_of, module_of, top_level_ops
from shardy_py.mlir.value_shardings import ShardingReader
from shardy_py.passes.export.function_shardings import (
    transform_function,
    transform_owners,
    transform_results,
)
from shardy_py.sharding import TensorSharding

PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<8x8xf32> {a.b, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<8x8xf32>)
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0:2 = call @f(%arg0, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"y"}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
  %1 = sdy.propagation_barrier %0#1 allowed_direction=NONE : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  %3 = sdy.manual_computation(%2) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>) {
    sdy.return %arg2 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
func.func private @f(tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
"""  # noqa: E501 (a program)


def turned(sharding: TensorSharding) -> TensorSharding:
    return replace(sharding, dimensions=sharding.dimensions[::-1])


def text(sharding: TensorSharding | None) -> str:
    return str(sharding)


def test_transform_shardings_reaches_every_place() -> None:
    module = parse_module(PROGRAM)
    before = print_module(module)
    transform_shardings(module, turned)
    after = print_module(module)
    swapped = (
        before.replace('[{"x"}, {}]', "[A]")
        .replace('[{}, {"y"}]', "[B]")
        .replace('[{"y"}, {}]', "[C]")
        .replace('[{"x"}, {"y"}]', "[D]")
    )
    for mark, new in (
        ("[A]", '[{}, {"x"}]'),
        ("[B]", '[{"y"}, {}]'),
        ("[C]", '[{}, {"y"}]'),
        ("[D]", '[{"y"}, {"x"}]'),
    ):
        swapped = swapped.replace(mark, new)
    assert after == swapped
    transform_shardings(module, turned)
    assert print_module(module) == before


def test_transform_shardings_asks_once_for_equal_values() -> None:
    asked: list[TensorSharding] = []

    def change(sharding: TensorSharding) -> TensorSharding:
        asked.append(sharding)
        return sharding

    module = parse_module(PROGRAM)
    attributes = [op.attributes.get("sdy.sharding") for op in find_ops(module, "func.call")]
    transform_shardings(module, change)
    assert len(asked) == len(set(asked)) == 4
    assert [op.attributes.get("sdy.sharding") for op in find_ops(module, "func.call")] == attributes


def test_reader() -> None:
    module = parse_module(PROGRAM)
    reader = ShardingReader()
    main = functions_of(module)[0]
    arguments = main.body.blocks[0].args
    assert text(reader.of(arguments[0])) == '<@mesh, [{"x"}, {}]>'
    assert reader.of(arguments[1]) is None
    (call,) = find_ops(module, "func.call")
    (barrier,) = find_ops(module, "sdy.propagation_barrier")
    (manual,) = find_ops(module, "sdy.manual_computation")
    assert text(reader.of(call.results[1])) == '<@mesh, [{}, {"y"}]>'
    assert reader.of(barrier.results[0]) is None
    assert reader.through_barriers(barrier.results[0]) == reader.of(call.results[1])
    assert text(reader.of(manual.regions[0].blocks[0].args[0])) == '<@mesh, [{}, {"y"}]>'
    assert text(reader.of(manual.results[0])) == '<@mesh, [{"x"}, {}]>'


def test_reader_sees_changed_arguments() -> None:
    module = parse_module(PROGRAM)
    reader = ShardingReader()
    main = functions_of(module)[0]
    argument = main.body.blocks[0].args[0]
    reader.of(argument)
    transform_function(main, lambda sharding, _: turned(sharding), "sdy-turn")
    assert text(reader.of(argument)) == '<@mesh, [{}, {"x"}]>'


def test_survey() -> None:
    module = parse_module(PROGRAM)
    for axis, expected in (("x", True), ("y", True), ("z", False)):
        assert survey(module).any_sharding(lambda s, a=axis: a in str(s.dimensions)) is expected
    (manual,) = find_ops(module, "sdy.manual_computation")
    assert survey(manual).any_sharding(lambda s: text(s) == '<@mesh, [{"x"}, {"y"}]>')
    assert [op.name for op in survey(module, "sdy.return", "func.call").ops] == ["func.call", "sdy.return"]


def test_boundaries_know_their_types() -> None:
    module = parse_module(PROGRAM)
    seen: list[str] = []

    def change(sharding: TensorSharding, type_: object) -> TensorSharding:
        seen.append(f"{sharding} {type_}")
        return turned(sharding)

    (call,) = find_ops(module, "func.call")
    (manual,) = find_ops(module, "sdy.manual_computation")
    transform_results(call, change, "sdy-turn")
    assert str(call.attributes["sdy.sharding"].data[0]) == '<@mesh, [{}, {"x"}]>'  # type: ignore[attr-defined]
    transform_owners(manual, change, "sdy-turn")
    # Inside the computation, the argument is local and has free axes only.
    assert seen[2] == '<@mesh, [{}, {"y"}]> tensor<4x8xf32>'
    assert str(manual.properties["in_shardings"].data[0]) == '<@mesh, [{"x", "y"}, {}]>'  # type: ignore[attr-defined]


def test_top_level() -> None:
    module = parse_module(PROGRAM)
    assert [op.name for op in top_level_ops(module)] == ["sdy.mesh", "func.func", "func.func"]
    assert list(meshes_of(module)) == ["mesh"]
    (call,) = find_ops(module, "func.call")
    assert module_of(call) is module
