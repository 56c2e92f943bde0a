"""Programs with explicit collectives made local: all devices together compute what the whole program does.

By tables of device ids as in Shardy, by arithmetic on them, and on grids of replicas.
"""

from __future__ import annotations

from dataclasses import fields

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pass_call
from shardy_py.passes.partitioned import Partitioned, run_partitioner
from shardy_py.reshard.process_grid import Grid
from shardy_py.run.proof import prove

IOTA = 'sdy.mesh @mesh = <["x"=2, "y"=4]>'
REVERSED = 'sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[4, 5, 6, 7, 0, 1, 2, 3]>'
SHUFFLED = 'sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[3, 0, 5, 6, 1, 7, 2, 4]>'


class OnGrid(Partitioned):
    """A partitioned program that runs on a given grid."""

    given = Grid()

    @property
    def grid(self) -> Grid:
        return self.given


def is_equal(text: str, grid: Grid | None = None, **options: bool) -> bool:
    """Whether the local program of `@main` computes what the whole one does."""
    counts = {} if grid is None else {"replica_count": grid.replicas, "partition_count": grid.partitions}
    convert = pass_call("sdy-convert-global-to-local", **options, **counts)
    partitioned = run_partitioner(parse_module(text), (convert, pass_call("sdy-drop-sharding-and-mesh")))
    if grid is not None:
        partitioned = OnGrid(*(getattr(partitioned, field.name) for field in fields(Partitioned)))
        partitioned.given = grid  # pyright: ignore
    answer = prove(partitioned)
    answer.check()
    assert answer.tally.elements
    return answer.is_equal


def sharded(type_: str, sharding: str) -> str:
    """A type with its sharding, as of a function's argument."""
    return f"{type_} {{sdy.sharding = #sdy.sharding<@mesh, {sharding}>}}"


def value(*shardings: str) -> str:
    """The attribute of an op's results."""
    listed = ", ".join(f"<@mesh, {sharding}>" for sharding in shardings)
    return f"sdy.sharding = #sdy.sharding_per_value<[{listed}]>"


def program(arguments: list[tuple[str, str]], body: str, result: tuple[str, str]) -> str:
    """`@main` with arguments and a result `%r` of these types and shardings, without its mesh."""
    inputs = ", ".join(f"%arg{number}: {sharded(*given)}" for number, given in enumerate(arguments))
    return f"func.func @main({inputs}) -> ({sharded(*result)}) {{\n{body}\n  return %r : {result[0]}\n}}"


F = "tensor<8x16xf32>"
ON_X, ON_Y, ON_XY = (value(text) for text in ('[{"x"}, {}]', '[{"y"}, {}]', '[{"x"}, {"y"}]'))
ON_FREE, ON_LOOP = value('[{}, {"y"}]'), value('[{"x"}, {"y"}]', "[]")
MOVES = {
    "gather one dimension": (
        [(F, '[{"x"}, {}]')],
        f'%r = sdy.all_gather [{{"x"}}, {{}}] %arg0 out_sharding=<@mesh, [{{}}, {{}}]> : {F}',
        (F, "[{}, {}]"),
    ),
    "gather two dimensions": (
        [(F, '[{"y":(2)2}, {"x", "y":(1)2}]')],
        '%r = sdy.all_gather [{"y":(2)2}, {"x", "y":(1)2}] %arg0'
        f" out_sharding=<@mesh, [{{}}, {{}}]> : {F}",
        (F, "[{}, {}]"),
    ),
    "slice": (
        [(F, "[{}, {}]")],
        f'%r = sdy.all_slice [{{"y", "x"}}, {{}}] %arg0 out_sharding=<@mesh, [{{"y", "x"}}, {{}}]> : {F}',
        (F, '[{"y", "x"}, {}]'),
    ),
    "exchange one dimension": (
        [(F, '[{"y"}, {}]')],
        f'%r = sdy.all_to_all [{{"y"}}: 0->1] %arg0 out_sharding=<@mesh, [{{}}, {{"y"}}]> : {F}',
        (F, '[{}, {"y"}]'),
    ),
    "exchange two dimensions": (
        [("tensor<8x4x4x8xf32>", '[{}, {"x", "y":(2)2}, {"y":(1)2}, {}]')],
        '%r = sdy.all_to_all [{"y":(2)2}: 1->3, {"y":(1)2}: 2->0] %arg0'
        ' out_sharding=<@mesh, [{"y":(1)2}, {"x"}, {}, {"y":(2)2}]> : tensor<8x4x4x8xf32>',
        ("tensor<8x4x4x8xf32>", '[{"y":(1)2}, {"x"}, {}, {"y":(2)2}]'),
    ),
    "permute": (
        [(F, '[{"x"}, {"y":(1)2}]')],
        f'%r = sdy.collective_permute %arg0 out_sharding=<@mesh, [{{"y":(2)2}}, {{"x"}}]> : {F}',
        (F, '[{"y":(2)2}, {"x"}]'),
    ),
    "reduce": (
        [(F, "[{}, {}]")],
        '%0 = sdy.replicated_to_unreduced {"x"} %arg0'
        f' out_sharding=<@mesh, [{{}}, {{}}], unreduced={{"x"}}>'
        f" : {F}\n"
        f'%r = sdy.all_reduce {{"x"}} %0 out_sharding=<@mesh, [{{}}, {{}}]> : {F}',
        (F, "[{}, {}]"),
    ),
    "reduce to parts": (
        [(F, "[{}, {}]")],
        f'%0 = sdy.replicated_to_unreduced {{"x", "y"}} %arg0'
        f' out_sharding=<@mesh, [{{}}, {{}}], unreduced={{"x", "y"}}> : {F}\n'
        f'%r = sdy.reduce_scatter [{{"y"}}, {{"x"}}] %0 out_sharding=<@mesh, [{{"y"}}, {{"x"}}]> : {F}',
        (F, '[{"y"}, {"x"}]'),
    ),
    "reduce to parts of some dimensions": (
        [("tensor<4x3x2x5xf32>", "[{}, {}, {}, {}]")],
        '%0 = sdy.replicated_to_unreduced {"x", "y"} %arg0'
        ' out_sharding=<@mesh, [{}, {}, {}, {}], unreduced={"x", "y"}> : tensor<4x3x2x5xf32>\n'
        '%r = sdy.reduce_scatter [{"y"}, {}, {"x"}, {}] %0'
        ' out_sharding=<@mesh, [{"y"}, {}, {"x"}, {}]> : tensor<4x3x2x5xf32>',
        ("tensor<4x3x2x5xf32>", '[{"y"}, {}, {"x"}, {}]'),
    ),
    "parts to terms": (
        [(F, '[{"y"}, {"x"}]')],
        '%0 = sdy.sharded_to_unreduced [{"y"}, {}] %arg0'
        f' out_sharding=<@mesh, [{{}}, {{"x"}}], unreduced={{"y"}}> : {F}\n'
        f'%r = sdy.all_reduce {{"y"}} %0 out_sharding=<@mesh, [{{}}, {{"x"}}]> : {F}',
        (F, '[{}, {"x"}]'),
    ),
    "parts to terms of a maximum": (
        [("tensor<8xi16>", '[{"y"}]')],
        '%0 = sdy.sharded_to_unreduced [{"y"}] %arg0'
        ' out_sharding=<@mesh, [{}], unreduced=max{"y"}> : tensor<8xi16>\n'
        '%r = sdy.all_reduce max {"y"} %0 out_sharding=<@mesh, [{}]> : tensor<8xi16>',
        ("tensor<8xi16>", "[{}]"),
    ),
}
"""Collectives: arguments, body, result."""


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("mesh", [IOTA, REVERSED, SHUFFLED])
def test_collectives(name: str, mesh: str) -> None:
    text = f"{mesh}\n{program(*MOVES[name])}"
    assert is_equal(text)
    assert is_equal(
        text,
        device_id_arithmetic=True,
        per_dim_all_gather=True,
        combine_multi_dimension_reduce_scatter=True,
    )
    assert is_equal(text, enable_rgv3=True)


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("grid", [Grid(8, 1), Grid(2, 4)])
def test_collectives_among_replicas(name: str, grid: Grid) -> None:
    text = f"{SHUFFLED}\n{program(*MOVES[name])}"
    assert is_equal(text, grid)
    assert is_equal(f"{IOTA}\n{program(*MOVES[name])}", grid, device_id_arithmetic=True)


def test_collectives_of_users_among_replicas() -> None:
    """What manual computations exchange among partitions is exchanged among the replicas that run them."""
    body = (
        '%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x", "y"}]>]'
        ' out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%arg1: tensor<1xui32>) {\n'
        '  %1 = "stablehlo.collective_permute"(%arg1) {source_target_pairs = dense<[[0, 3], [3, 0]]> :'
        " tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}"
        " : (tensor<1xui32>) -> tensor<1xui32>\n"
        "  %2 = stablehlo.partition_id : tensor<ui32>\n"
        "  %3 = stablehlo.reshape %2 : (tensor<ui32>) -> tensor<1xui32>\n"
        "  %4 = stablehlo.add %1, %3 : tensor<1xui32>\n"
        "  sdy.return %4 : tensor<1xui32>\n} : (tensor<8xui32>) -> tensor<8xui32>\n"
        '%r = stablehlo.negate %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", "y"}]>]>}'
        " : tensor<8xui32>"
    )
    spec = ("tensor<8xui32>", '[{"x", "y"}]')
    assert is_equal(f"{IOTA}\n{program([spec], body, spec)}")
    assert is_equal(f"{IOTA}\n{program([spec], body, spec)}", Grid(8, 1))


def gather(indices: str, numbers: str, sizes: str, result: str, reduce: str) -> str:
    """A gather of `%arg0` at `%arg1`, and the all-reduce of what devices found."""
    return (
        f'%0 = "stablehlo.gather"(%arg0, %arg1) {{dimension_numbers = #stablehlo.gather<{numbers}>,'
        f" slice_sizes = array<i64: {sizes}>}} : ({F}, {indices}) -> {result}\n"
        f"%r = sdy.all_reduce {reduce} %0 out_sharding=<@mesh, [{{}}, {{}}]> : {result}"
    )


ROW = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
BOTH = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [1, 0], index_vector_dim = 1"
FIRST = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [1], index_vector_dim = 1"


def scatter(combiner: str, type_: str, numbers: str, indices: str, updates: str) -> str:
    """A scatter of `%arg2` into `%arg0` at `%arg1`."""
    element = type_.removesuffix(">").rpartition("x")[2]
    return (
        '%r = "stablehlo.scatter"(%arg0, %arg1, %arg2) ({\n'
        f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>):\n"
        f"  %c = stablehlo.{combiner} %a, %b : tensor<{element}>\n  stablehlo.return %c : tensor<{element}>\n"
        f"}}) {{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, {ON_X}}}"
        f" : ({type_}, {indices}, {updates}) -> {type_}"
    )


ROWS = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],"
ROWS += " index_vector_dim = 1"
UNINDEXED = "update_window_dims = [], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1],"
UNINDEXED += " index_vector_dim = 1"

OPS = {
    "gather rows": (
        [(F, '[{"x"}, {}]'), ("tensor<3xi32>", "[{}]")],
        gather("tensor<3xi32>", ROW, "1, 16", "tensor<3x16xf32>", '{"x"}'),
        ("tensor<3x16xf32>", "[{}, {}]"),
    ),
    "gather with narrow unsigned indices": (
        [(F, '[{"x"}, {}]'), ("tensor<3x1xui8>", "[{}, {}]")],
        gather("tensor<3x1xui8>", ROW, "1, 16", "tensor<3x16xf32>", '{"x"}'),
        ("tensor<3x16xf32>", "[{}, {}]"),
    ),
    "gather along two indexed dimensions": (
        [(F, '[{"x"}, {"y"}]'), ("tensor<3x2xi64>", "[{}, {}]")],
        gather("tensor<3x2xi64>", BOTH, "1, 1", "tensor<3x1xf32>", '{"x", "y"}'),
        ("tensor<3x1xf32>", "[{}, {}]"),
    ),
    "gather along an unindexed dimension": (
        [(F, '[{"x"}, {}]'), ("tensor<3x1xi64>", "[{}, {}]")],
        gather("tensor<3x1xi64>", FIRST, "1, 4", "tensor<3x4xf32>", '{"x"}'),
        ("tensor<3x4xf32>", "[{}, {}]"),
    ),
    "gather the largest of what devices hold": (
        [(F, '[{"x"}, {}]'), ("tensor<3xi32>", "[{}]")],
        gather("tensor<3xi32>", ROW, "1, 16", "tensor<3x16xf32>", 'max {"x"}'),
        ("tensor<3x16xf32>", "[{}, {}]"),
    ),
    "scatter rows": (
        [(F, '[{"x"}, {}]'), ("tensor<3xi32>", "[{}]"), ("tensor<3x16xf32>", "[{}, {}]")],
        scatter("add", F, ROWS, "tensor<3xi32>", "tensor<3x16xf32>"),
        (F, '[{"x"}, {}]'),
    ),
    "scatter to an unindexed dimension": (
        [(F, '[{"x"}, {}]'), ("tensor<3x1xi32>", "[{}, {}]"), ("tensor<3xf32>", "[{}]")],
        scatter("subtract", F, UNINDEXED, "tensor<3x1xi32>", "tensor<3xf32>"),
        (F, '[{"x"}, {}]'),
    ),
    "iota": (
        [(F, '[{"x"}, {"y"}]')],
        f"%0 = stablehlo.iota dim = 1 {{{ON_XY}}} : {F}\n%r = stablehlo.add %0, %arg0 {{{ON_XY}}} : {F}",
        (F, '[{"x"}, {"y"}]'),
    ),
    "constant": (
        [("tensor<4x2xi32>", '[{"y"}, {}]')],
        f"%0 = stablehlo.constant {{{ON_Y}}} dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi32>\n"
        f"%r = stablehlo.add %0, %arg0 {{{ON_Y}}} : tensor<4x2xi32>",
        ("tensor<4x2xi32>", '[{"y"}, {}]'),
    ),
    "sum from an initial value": (
        [(F, '[{}, {"y"}]'), ("tensor<f32>", "[]")],
        f"%0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1]"
        f" : ({F}, tensor<f32>) -> tensor<8xf32>\n"
        '%r = sdy.all_reduce {"y"} %0 out_sharding=<@mesh, [{}]> : tensor<8xf32>',
        ("tensor<8xf32>", "[{}]"),
    ),
    "pads that differ": (
        [(F, '[{"x"}, {}]'), ("tensor<f32>", "[]")],
        f"%r = stablehlo.pad %arg0, %arg1, low = [2, 1], high = [2, 1], interior = [2, 0] {{{ON_X}}}"
        f" : ({F}, tensor<f32>) -> tensor<26x18xf32>",
        ("tensor<26x18xf32>", '[{"x"}, {}]'),
    ),
    "strided slice": (
        [(F, '[{"x"}, {}]')],
        f"%r = stablehlo.slice %arg0 [1:8:2, 0:16:3] {{{ON_X}}} : ({F}) -> tensor<4x6xf32>",
        ("tensor<4x6xf32>", '[{"x"}, {}]'),
    ),
    "dynamic slice": (
        [(F, '[{"x"}, {}]'), ("tensor<i32>", "[]")],
        f"%r = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [8, 3] {{{ON_X}}}"
        f" : ({F}, tensor<i32>, tensor<i32>) -> tensor<8x3xf32>",
        ("tensor<8x3xf32>", '[{"x"}, {}]'),
    ),
    "update of a slice": (
        [(F, '[{"y"}, {}]'), ("tensor<5x3xf32>", "[{}, {}]"), ("tensor<ui8>", "[]")],
        f"%r = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 {{{ON_Y}}}"
        f" : ({F}, tensor<5x3xf32>, tensor<ui8>, tensor<ui8>) -> {F}",
        (F, '[{"y"}, {}]'),
    ),
    "windows apart": (
        [(F, '[{"x"}, {"y"}]'), ("tensor<f32>", "[]")],
        '%r = "stablehlo.reduce_window"(%arg0, %arg1) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
        "  %c = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %c : tensor<f32>\n}) {"
        "window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 4>,"
        f" {ON_XY}}} : ({F}, tensor<f32>) -> tensor<4x4xf32>",
        ("tensor<4x4xf32>", '[{"x"}, {"y"}]'),
    ),
    "broadcast of new dimensions": (
        [("tensor<16xf32>", '[{"y"}]')],
        f"%r = stablehlo.broadcast %arg0, sizes = [8] {{{ON_XY}}} : (tensor<16xf32>) -> {F}",
        (F, '[{"x"}, {"y"}]'),
    ),
    "size of a dimension": (
        [(F, '[{"x"}, {"y"}]')],
        f"%r = stablehlo.get_dimension_size %arg0, dim = 1 : ({F}) -> tensor<i32>",
        ("tensor<i32>", "[]"),
    ),
    "shape as an operand": (
        [("tensor<16xf32>", '[{"y"}]')],
        "%0 = stablehlo.constant dense<[8, 16]> : tensor<2xi64>\n"
        f"%r = stablehlo.dynamic_broadcast_in_dim %arg0, %0, dims = [1] {{{ON_XY}}}"
        f" : (tensor<16xf32>, tensor<2xi64>) -> {F}",
        (F, '[{"x"}, {"y"}]'),
    ),
    "manual computation": (
        [(F, '[{"x"}, {"y"}]')],
        f'%0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>]'
        ' out_shardings=[<@mesh, [{"x"}, {"y"}]>] manual_axes={"x"} (%arg1: tensor<4x16xf32>) {\n'
        f"  %1 = stablehlo.tanh %arg1 {{{ON_FREE}}} : tensor<4x16xf32>\n"
        f"  sdy.return %1 : tensor<4x16xf32>\n}} : ({F}) -> {F}\n"
        f"%r = stablehlo.negate %0 {{{ON_XY}}} : {F}",
        (F, '[{"x"}, {"y"}]'),
    ),
    "loop": (
        [(F, '[{"x"}, {"y"}]')],
        "%0 = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%1:2 = stablehlo.while(%a = %arg0, %i = %0) : {F}, tensor<i32>"
        f" attributes {{{ON_LOOP}}} cond {{\n"
        "  %n = stablehlo.constant dense<3> : tensor<i32>\n"
        "  %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  stablehlo.return %2 : tensor<i1>\n} do {\n"
        "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
        f"  %3 = stablehlo.sine %a {{{ON_XY}}} : {F}\n"
        "  %4 = stablehlo.add %i, %one : tensor<i32>\n"
        f"  stablehlo.return %3, %4 : {F}, tensor<i32>\n}}\n"
        f"%r = stablehlo.negate %1#0 {{{ON_XY}}} : {F}",
        (F, '[{"x"}, {"y"}]'),
    ),
}
"""Ops on parts: arguments, body, result."""


@pytest.mark.parametrize("name", OPS)
def test_ops(name: str) -> None:
    text = f"{SHUFFLED}\n{program(*OPS[name])}"
    assert is_equal(text)
    assert is_equal(f"{REVERSED}\n{program(*OPS[name])}", device_id_arithmetic=True)


@pytest.mark.parametrize("element", ["f32", "bf16", "f8E4M3FN", "i8", "ui8", "i1"])
@pytest.mark.parametrize("combiner", ["add", "maximum", "minimum", "and", "or"])
def test_terms_of_a_scatter_begin_once(combiner: str, element: str) -> None:
    """Terms of updates that are sharded start from the input on one device, from the identity on others."""
    if combiner in ("and", "or") and "f" in element:
        pytest.skip("floats have no bits to combine")
    text = scatter(combiner, f"tensor<8x16x{element}>", ROWS, "tensor<4xi32>", f"tensor<4x16x{element}>")
    arguments = [
        (f"tensor<8x16x{element}>", "[{}, {}]"),
        ("tensor<4xi32>", '[{"y"}]'),
        (f"tensor<4x16x{element}>", '[{"y"}, {}]'),
    ]
    reduction = {"maximum": "max ", "minimum": "min ", "and": "min ", "or": "max "}.get(combiner, "")
    if element != "i1" and combiner in ("and", "or"):
        pytest.skip("sdy.all_reduce has sums, maxima and minima only")
    body = text.replace("%r =", "%0 =").replace(f", {ON_X}", "")
    body += (
        f'\n%r = sdy.all_reduce {reduction}{{"y"}} %0 out_sharding=<@mesh, [{{}}, {{}}]> : {arguments[0][0]}'
    )
    assert is_equal(f"{IOTA}\n{program(arguments, body, (arguments[0][0], '[{}, {}]'))}")


def test_calls_with_parts() -> None:
    inner = sharded(F, '[{"x"}, {}]')
    callee = f"func.func private @f(%arg0: {inner}) -> ({inner}) {{\n  return %arg0 : {F}\n}}"
    body = f"%r = func.call @f(%arg0) : ({F}) -> {F}"
    spec = [(F, '[{"x"}, {}]')]
    assert is_equal(f"{IOTA}\n{program(spec, body, spec[0])}\n{callee}")
    other = [(F, '[{"y"}, {}]')]
    with pytest.raises(
        ShardyError, match=r"sharding of operand 0: expected that of the function: .*x.*got .*y"
    ):
        is_equal(f"{IOTA}\n{program(other, body, spec[0])}\n{callee}")


def test_large_meshes_have_no_tables() -> None:
    mesh = 'sdy.mesh @mesh = <["x"=1024, "y"=1024]>'
    body = (
        '%0 = sdy.all_gather [{"x":(2)512}] %arg0 out_sharding=<@mesh, [{"x":(1)2}]> : tensor<1048576xf32>\n'
        '%r = sdy.all_slice [{"y"}] %0 out_sharding=<@mesh, [{"x":(1)2, "y"}]> : tensor<1048576xf32>'
    )
    whole = [("tensor<1048576xf32>", '[{"x"}]'), ("tensor<1048576xf32>", '[{"x":(1)2, "y"}]')]
    module = parse_module(f"{mesh}\n{program(whole[:1], body, whole[1])}")
    convert = pass_call("sdy-convert-global-to-local", device_id_arithmetic=True)
    text = str(run_partitioner(module, (convert, pass_call("sdy-drop-sharding-and-mesh"))).local)
    assert len(text) < 3000
    assert "sub_axis_info" in text
