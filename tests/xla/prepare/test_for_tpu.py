"""Programs as XLA:TPU simplifies them before it propagates: its ops, and the same values.

The ops are those in XLA:TPU's dumps before Shardy, of jax 0.10.2. Nothing is compiled here.
"""

from __future__ import annotations

import numpy as np
import pytest

from shardy_py import Program
from shardy_py.mlir.ir import walk_pre_order
from shardy_py.mlir.plain import plain
from shardy_py.xla.prepare.for_tpu import simplified_for_tpu
from shardy_py.xla.prepare.populate_expanded_op_rules import populate_expanded_op_rules

_F = "tensor<{}xf32>"


def _text(arguments: str, body: str, result: str) -> str:
    """arguments: shapes of f32, %0, %1, ...; a type that begins with i is one of integers."""
    given = ", ".join(
        f"%a{i}: tensor<{shape.replace('i:', '')}x{'i32' if shape.startswith('i:') else 'f32'}>"
        for i, shape in enumerate(arguments.split())
    )
    return f"func.func @main({given}) -> {result} {{\n{body}\n  return %r : {result}\n}}"


def _product(operands: str, left: str, right: str, result: str, numbers: str) -> str:
    types = f"(tensor<{left}xf32>, tensor<{right}xf32>) -> tensor<{result}xf32>"
    return f"stablehlo.dot_general {operands}, {numbers} : {types}"


def _transposed(value: str, name: str, held: str, made: str, order: str) -> str:
    types = f"(tensor<{held}xf32>) -> tensor<{made}xf32>"
    return f"  %{name} = stablehlo.transpose %{value}, dims = [{order}] : {types}\n"


def _spread(value: str, name: str, held: str, made: str, dimensions: str) -> str:
    types = f"(tensor<{held}xf32>) -> tensor<{made}xf32>"
    return f"  %{name} = stablehlo.broadcast_in_dim %{value}, dims = [{dimensions}] : {types}\n"


def _sum(value: str, held: str, dimensions: str, made: str) -> str:
    types = f"(tensor<{held}xf32>, tensor<f32>) -> tensor<{made}xf32>"
    applied = f"applies stablehlo.add across dimensions = [{dimensions}]"
    return f"stablehlo.reduce({value} init: %z) {applied} : {types}"


_ZERO = "  %z = stablehlo.constant dense<0.0> : tensor<f32>"
_ADD = """({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %sum = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    })"""
_SCATTER = "indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers"
_ROWS = f"""<{{{_SCATTER} = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0],
      scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}}>"""
_TABLE = f"""<{{{_SCATTER} = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}>"""
_INTO = "(tensor<32x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<32x8xf32>"


def _gradients(count: int) -> str:
    """Two gradients of a table of 32 rows, by so many rows each."""
    into = _INTO.replace("4x", f"{count}x")
    rows = (f'"stablehlo.scatter"(%b, {each}) {_TABLE} {_ADD} : {into}' for each in ("%a0, %a1", "%a2, %a3"))
    zeros = "stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32x8xf32>"
    named = zip("bstr", (zeros, *rows, "stablehlo.add %s, %t : tensor<32x8xf32>"), strict=True)
    body = "\n".join([_ZERO, *(f"  %{name} = {op}" for name, op in named)])
    return _text(f"i:{count}x1 {count}x8 i:{count}x1 {count}x8", body, _F.format("32x8"))


_BOTH = "batching_dims = [0] x [0], contracting_dims = [1] x [1]"
_FIRST, _LAST = "contracting_dims = [0] x [0]", "contracting_dims = [1] x [0]"

CASES: dict[str, tuple[str, list[str]]] = {
    "a matrix in batches is read as it is": (
        _text(
            "2x16x8 2x8x32",
            _transposed("a0", "l", "2x16x8", "2x8x16", "0, 2, 1")
            + f"  %r = {_product('%l, %a1', '2x8x16', '2x8x32', '2x16x32', _BOTH)}",
            _F.format("2x16x32"),
        ),
        ["dot_general"],
    ),
    "another transposition stays": (
        _text(
            "4x8x16 16x32",
            _transposed("a0", "l", "4x8x16", "16x4x8", "2, 0, 1")
            + f"  %r = {_product('%l, %a1', '16x4x8', '16x32', '4x8x32', _FIRST)}",
            _F.format("4x8x32"),
        ),
        ["transpose", "dot_general"],
    ),
    "sides are exchanged": (
        _text(
            "8x16 16x32",
            f"  %p = {_product('%a0, %a1', '8x16', '16x32', '8x32', _LAST)}\n"
            + _transposed("p", "r", "8x32", "32x8", "1, 0"),
            _F.format("32x8"),
        ),
        ["dot_general"],
    ),
    "a vector is multiplied": (
        _text("8x16 16", f"  %r = {_product('%a0, %a1', '8x16', '16', '8', _LAST)}", _F.format("8")),
        ["broadcast_in_dim", "multiply", "constant", "reduce", "add"],
    ),
    "a row is a vector": (
        _text("1x16 16x8", f"  %r = {_product('%a0, %a1', '1x16', '16x8', '1x8', _LAST)}", _F.format("1x8")),
        ["reshape", "broadcast_in_dim", "multiply", "constant", "reduce", "add", "reshape"],
    ),
    "a scatter of one element to each row chooses": (
        _text(
            "4x8 i:4x1 4",
            f'  %r = "stablehlo.scatter"(%a0, %a1, %a2) {_ROWS} {_ADD}\n'
            "      : (tensor<4x8xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<4x8xf32>",
            _F.format("4x8"),
        ),
        ["reshape", "broadcast_in_dim", "iota", "compare", "broadcast_in_dim", "add", "select"],
    ),
    "sums are added to the operand of a scatter": (
        _text(
            "i:4x1 4x8 32x8",
            f"{_ZERO}\n  %b = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> tensor<32x8xf32>\n"
            f'  %s = "stablehlo.scatter"(%b, %a0, %a1) {_TABLE} {_ADD} : {_INTO}\n'
            "  %r = stablehlo.add %s, %a2 : tensor<32x8xf32>",
            _F.format("32x8"),
        ),
        ["scatter", "add"],
    ),
    "few gradients of a table are one scatter": (
        _gradients(4),
        ["constant", "broadcast_in_dim", "concatenate", "concatenate", "scatter", "add"],
    ),
    "many gradients of a table are added": (
        _gradients(16),
        ["constant", "broadcast_in_dim", "scatter", "add", "scatter", "add", "add"],
    ),
    "scatters one after another stay": (
        _text(
            "32x8 i:4x1 4x8 i:4x1 4x8",
            f'  %s = "stablehlo.scatter"(%a0, %a1, %a2) {_TABLE} {_ADD} : {_INTO}\n'
            f'  %r = "stablehlo.scatter"(%s, %a3, %a4) {_TABLE} {_ADD} : {_INTO}',
            _F.format("32x8"),
        ),
        ["scatter", "add", "scatter", "add"],
    ),
    "a reduction goes before a reshape": (
        _text(
            "32x8",
            f"{_ZERO}\n  %s = stablehlo.reshape %a0 : (tensor<32x8xf32>) -> tensor<16x2x8xf32>\n"
            "  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [2]\n"
            "      : (tensor<16x2x8xf32>, tensor<f32>) -> tensor<16x2xf32>",
            _F.format("16x2"),
        ),
        ["constant", "reduce", "add", "reshape"],
    ),
    "reductions are one": (
        _text(
            "4x6x8",
            f"{_ZERO}\n  %s = stablehlo.reduce(%a0 init: %z) applies stablehlo.add across dimensions = [0]\n"
            "      : (tensor<4x6x8xf32>, tensor<f32>) -> tensor<6x8xf32>\n"
            "  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]\n"
            "      : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>",
            _F.format("6"),
        ),
        ["constant", "reduce", "add"],
    ),
    "a sum of what is broadcast is a product": (
        _text(
            "16x32",
            f"{_ZERO}\n  %s = stablehlo.broadcast_in_dim %a0, dims = [0, 2]"
            " : (tensor<16x32xf32>) -> tensor<16x4x32xf32>\n"
            "  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1]\n"
            "      : (tensor<16x4x32xf32>, tensor<f32>) -> tensor<16x32xf32>",
            _F.format("16x32"),
        ),
        ["constant", "broadcast_in_dim", "multiply"],
    ),
    "rows of a cumulative sum": (
        _text(
            "2x256",
            f'{_ZERO}\n  %r = "stablehlo.reduce_window"(%a0, %z) <{{window_dimensions = array<i64: 1, 256>,'
            f" padding = dense<[[0, 0], [255, 0]]> : tensor<2x2xi64>}}> {_ADD}\n"
            "      : (tensor<2x256xf32>, tensor<f32>) -> tensor<2x256xf32>",
            _F.format("2x256"),
        ),
        [
            *("constant", "reshape", "reduce_window", "add", "slice", "reshape", "reduce_window", "add"),
            *("slice", "broadcast_in_dim", "add", "reshape"),
        ],
    ),
    "the first of a reshape": (
        _text(
            "1x16x4",
            "  %s = stablehlo.reshape %a0 : (tensor<1x16x4xf32>) -> tensor<16x4xf32>\n"
            "  %r = stablehlo.slice %s [0:5, 0:4] : (tensor<16x4xf32>) -> tensor<5x4xf32>",
            _F.format("5x4"),
        ),
        ["slice", "reshape"],
    ),
    "reshapes go after elementwise ops": (
        _text(
            "8x4 8x4",
            "  %s = stablehlo.reshape %a0 : (tensor<8x4xf32>) -> tensor<32xf32>\n"
            "  %t = stablehlo.reshape %a1 : (tensor<8x4xf32>) -> tensor<32xf32>\n"
            "  %r = stablehlo.add %s, %t : tensor<32xf32>",
            _F.format("32"),
        ),
        ["add", "reshape"],
    ),
    "one-hot matrices are made in the form in which they are read": (
        _text(
            "i:8 32x4",
            "  %i = stablehlo.iota dim = 1 : tensor<8x16xi32>\n"
            "  %b = stablehlo.broadcast_in_dim %a0, dims = [0] : (tensor<8xi32>) -> tensor<8x16xi32>\n"
            "  %c = stablehlo.compare EQ, %b, %i : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi1>\n"
            "  %f = stablehlo.convert %c : (tensor<8x16xi1>) -> tensor<8x16xf32>\n"
            "  %s = stablehlo.reshape %f : (tensor<8x16xf32>) -> tensor<4x2x16xf32>\n"
            "  %t = stablehlo.reshape %a1 : (tensor<32x4xf32>) -> tensor<4x2x16xf32>\n"
            "  %r = stablehlo.multiply %s, %t : tensor<4x2x16xf32>",
            _F.format("4x2x16"),
        ),
        [
            *("reshape", "broadcast_in_dim", "iota", "compare"),
            *("reshape", "constant", "broadcast_in_dim", "select"),
        ],
    ),
    "a mean of groups of channels is spread over their channels": (
        _text(
            "2x5x6",
            f"{_ZERO}\n"
            "  %g = stablehlo.reshape %a0 : (tensor<2x5x6xf32>) -> tensor<2x5x3x2xf32>\n"
            f"  %m = {_sum('%g', '2x5x3x2', '1, 3', '2x3')}\n"
            f"{_spread('m', 'b', '2x3', '2x5x3x2', '0, 2')}"
            "  %d = stablehlo.subtract %g, %b : tensor<2x5x3x2xf32>\n"
            "  %r = stablehlo.reshape %d : (tensor<2x5x3x2xf32>) -> tensor<2x5x6xf32>",
            _F.format("2x5x6"),
        ),
        [
            *("constant", "reduce", "add", "reshape", "reduce", "add"),
            *("broadcast_in_dim", "reshape", "broadcast_in_dim", "subtract"),
        ],
    ),
    "what is scaled by blocks keeps its shape": (
        _text(
            "4x6",
            f"{_ZERO}\n"
            "  %g = stablehlo.reshape %a0 : (tensor<4x6xf32>) -> tensor<4x3x2xf32>\n"
            f"  %m = {_sum('%g', '4x3x2', '1', '4x2')}\n"
            f"{_spread('m', 'b', '4x2', '4x3x2', '0, 2')}"
            "  %d = stablehlo.multiply %g, %b : tensor<4x3x2xf32>\n"
            "  %r = stablehlo.reshape %d : (tensor<4x3x2xf32>) -> tensor<4x6xf32>",
            _F.format("4x6"),
        ),
        ["constant", "reshape", "reduce", "add", "broadcast_in_dim", "reshape", "multiply"],
    ),
    "a sum of what is spread in two ways is reshaped once": (
        _text(
            "4x3 4x2",
            f"{_spread('a0', 'b', '4x3', '4x3x2', '0, 1')}"
            f"{_spread('a1', 'c', '4x2', '4x3x2', '0, 2')}"
            "  %d = stablehlo.multiply %b, %c : tensor<4x3x2xf32>\n"
            "  %r = stablehlo.reshape %d : (tensor<4x3x2xf32>) -> tensor<4x6xf32>",
            _F.format("4x6"),
        ),
        ["broadcast_in_dim", "broadcast_in_dim", "multiply", "reshape"],
    ),
    "a maximum in f32 of what was bf16 is one in bf16": (
        _text(
            "4x6",
            "  %b = stablehlo.convert %a0 : (tensor<4x6xf32>) -> tensor<4x6xbf16>\n"
            "  %f = stablehlo.convert %b : (tensor<4x6xbf16>) -> tensor<4x6xf32>\n"
            "  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
            f"  %r = {_sum('%f', '4x6', '1', '4').replace('add', 'maximum')}\n",
            _F.format("4"),
        ),
        ["convert", "constant", "reduce", "maximum", "convert"],
    ),
    "a large kernel is an image": (
        _text(
            "2x4x4x3 2x7x7x5",
            "  %r = stablehlo.convolution(%a0, %a1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f],"
            " window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]}"
            " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
            " : (tensor<2x4x4x3xf32>, tensor<2x7x7x5xf32>) -> tensor<3x3x3x5xf32>",
            _F.format("3x3x3x5"),
        ),
        ["reverse", "convolution"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_ops_are_those_of_the_compiler_and_values_stay(case: str) -> None:
    text, ops = CASES[case]
    program = Program.parse(text, as_compiled=False)
    simple = Program(simplified_for_tpu(program.module))
    names = [op.name for op in walk_pre_order(simple.module) if op.name.startswith("stablehlo.")]
    made = [name.removeprefix("stablehlo.") for name in names if name != "stablehlo.return"]
    assert sorted(made) == sorted(ops)
    rng = np.random.default_rng(0)
    inputs = [
        rng.integers(0, 4, value.shape, np.int32)
        if "i32" in str(value.entry.type)
        else rng.integers(-8, 8, value.shape).astype(np.float32)
        for value in program.values.arguments("main")
    ]
    again = Program.parse(simple.text(), as_compiled=False)
    before, after = (each.run(inputs)["result 0"] for each in (program, again))
    np.testing.assert_allclose(np.asarray(before), np.asarray(after), rtol=1e-5)
    assert Program(simplified_for_tpu(again.module)).text() == simple.text(), "nothing is left to simplify"


LATER = {
    "one use is left after another op is gone": (
        _text(
            "16x8 8x32 16x32",
            f"  %d = {_product('%a0, %a1', '16x8', '8x32', '16x32', _LAST)}\n"
            + _transposed("d", "r", "16x32", "32x16", "1, 0")
            + """  %true = stablehlo.constant dense<true> : tensor<i1>
  %s = stablehlo.select %true, %a2, %d : tensor<i1>, tensor<16x32xf32>
  stablehlo.custom_call @use(%s) {has_side_effect = true} : (tensor<16x32xf32>) -> ()""",
            _F.format("32x16"),
        ),
        {"dot_general"},
    ),
    "ops are equal once their operands are": (
        _text(
            "16x8",
            """  %zero = stablehlo.constant dense<0.0> : tensor<16x8xf32>
  %u = stablehlo.add %a0, %zero : tensor<16x8xf32>
  %e = stablehlo.exponential %a0 : tensor<16x8xf32>
  %f = stablehlo.exponential %u : tensor<16x8xf32>
  %r = stablehlo.subtract %e, %f : tensor<16x8xf32>""",
            _F.format("16x8"),
        ),
        {"exponential", "subtract"},
    ),
    "ops equal one that came to be behind them": (
        _text(
            "16x8 4x32",
            """  %e = stablehlo.reshape %a0 : (tensor<16x8xf32>) -> tensor<128xf32>
  %m = stablehlo.negate %e : tensor<128xf32>
  %s = stablehlo.reshape %a0 : (tensor<16x8xf32>) -> tensor<4x32xf32>
  %f = stablehlo.reshape %s : (tensor<4x32xf32>) -> tensor<128xf32>
  %n = stablehlo.negate %f : tensor<128xf32>
  %q = stablehlo.add %m, %n : tensor<128xf32>
  %g = stablehlo.reshape %q : (tensor<128xf32>) -> tensor<4x32xf32>
  %r = stablehlo.dot_general %g, %a1, contracting_dims = [1] x [1]
      : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x4xf32>""",
            _F.format("4x4"),
        ),
        {"negate", "add", "reshape", "dot_general"},
    ),
}


@pytest.mark.parametrize("case", LATER)
def test_ops_are_looked_at_again_where_a_change_concerns_them(case: str) -> None:
    text, ops = LATER[case]
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    names = [op.name.removeprefix("stablehlo.") for op in walk_pre_order(module)]
    assert sorted(name for name in names if name in ops) == sorted(ops)
    assert "transpose" not in names


@pytest.mark.parametrize(("kind", "count"), [("FFT", 3), ("RFFT", 2)])
def test_fourier_transforms_are_products(kind: str, count: int) -> None:
    """Of real values, zeros are no product."""
    held, made = ("complex<f32>", 64) if kind == "FFT" else ("f32", 33)
    text = f"""
func.func @main(%x: tensor<8x64x{held}>) -> tensor<8x{made}xcomplex<f32>> {{
  %0 = stablehlo.fft %x, type = {kind}, length = [64] : (tensor<8x64x{held}>) -> tensor<8x{made}xcomplex<f32>>
  return %0 : tensor<8x{made}xcomplex<f32>>
}}"""
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    names = [op.name for op in walk_pre_order(module)]
    assert names.count("stablehlo.dot_general") == count
    assert "stablehlo.fft" not in names


@pytest.mark.parametrize(("experts", "name"), [(8, "stablehlo.sort"), (32768, "chlo.top_k")])
def test_few_of_many_are_selected_by_a_call(experts: int, name: str) -> None:
    type_ = f"tensor<16x{experts}xf32>"
    text = f"""
func.func @main(%x: {type_}) -> (tensor<16x2xf32>, tensor<16x2xi32>) {{
  %0, %1 = chlo.top_k(%x, k = 2) : {type_} -> (tensor<16x2xf32>, tensor<16x2xi32>)
  return %0, %1 : tensor<16x2xf32>, tensor<16x2xi32>
}}"""
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    assert name in [op.name for op in walk_pre_order(module)]


_MATRICES = "tensor<4x32x32xf32>"
_SOLVE = """%0 = "stablehlo.triangular_solve"(%x, %x) <{{left_side = {}, lower = {}, unit_diagonal = false,
  transpose_a = #stablehlo<transpose {}>}}>
  : (tensor<4x32x32xf32>, tensor<4x32x32xf32>) -> tensor<4x32x32xf32>"""


@pytest.mark.parametrize(
    ("op", "called", "ops"),
    [
        ("%0 = stablehlo.cholesky %x, lower = true : {0}", "Cholesky", {"reduce": 2}),
        ("%0:2 = stablehlo.custom_call @Eigh(%x) : ({0}) -> ({0}, {1})", "EighTpu", {"sort": 1, "slice": 4}),
        (
            "%0:3 = stablehlo.custom_call @LuDecomposition(%x) : ({0}) -> ({0}, {2}, {2})",
            *("LuDecompositionBlock", {"gather": 1}),
        ),
    ],
    ids=["cholesky", "eigh", "lu"],
)
def test_kernels_make_blocks_of_matrices(op: str, called: str, ops: dict[str, int]) -> None:
    line = op.format(_MATRICES, "tensor<4x32xf32>", "tensor<4x32xi32>")
    count = line.partition(" ")[0].partition(":")[2]
    results = {"": "%0", "2": "%0#0, %0#1", "3": "%0#0, %0#2"}[count]
    types = {"": _MATRICES, "2": f"{_MATRICES}, tensor<4x32xf32>", "3": f"{_MATRICES}, tensor<4x32xi32>"}[
        count
    ]
    text = f"func.func @main(%x: {_MATRICES}) -> ({types}) {{ {line} return {results} : {types} }}"
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    found = [op.name.removeprefix("stablehlo.") for op in walk_pre_order(module)]
    targets = [
        plain(op.properties["call_target_name"]) for op in walk_pre_order(module) if "custom" in op.name
    ]
    assert targets == [called]
    assert {name: found.count(name) for name in ops} == ops


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("is_lower", [True, False])
@pytest.mark.parametrize("turned", ["NO_TRANSPOSE", "TRANSPOSE"])
def test_a_solve_is_a_product_with_the_inverse(is_left: bool, is_lower: bool, turned: str) -> None:
    """The dimension of the inverse that is contracted makes up for the side, and for a transpose."""
    line = _SOLVE.format(str(is_left).lower(), str(is_lower).lower(), turned)
    text = f"func.func @main(%x: {_MATRICES}) -> {_MATRICES} {{ {line} return %0 : {_MATRICES} }}"
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    (product,) = [op for op in walk_pre_order(module) if op.name == "stablehlo.dot_general"]
    numbers = plain(product.properties["dot_dimension_numbers"])
    along = 2 if (turned == "NO_TRANSPOSE") == is_left else 1
    contracted = (along, 1) if is_left else (2, along)
    sides = numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"]
    assert tuple(dimension for (dimension,) in sides) == contracted


def test_an_op_that_hlo_expands_gets_the_rule_of_its_new_shape() -> None:
    text = """func.func @main(%a: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %g = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<4x3x2xf32>
      %s = chlo.square %g : tensor<4x3x2xf32> -> tensor<4x3x2xf32>
      %r = stablehlo.reshape %s : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
      return %r : tensor<4x6xf32>
    }"""
    program = Program.parse(text, as_compiled=False)
    populate_expanded_op_rules(program.module)
    simple = Program(simplified_for_tpu(program.module)).text()
    assert "reshape" not in simple
    assert "<([i, j])->([i, j]) {i=4, j=6}>" in simple


def test_the_only_branch_is_taken() -> None:
    """Also where another case makes its index, as `jnp.diagonal` does for each platform."""
    text = """
func.func @main(%i: tensor<i32>, %x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.case"(%i) ({
    %2 = "stablehlo.case"(%i) ({ stablehlo.return %i : tensor<i32> }) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %2 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  %1 = "stablehlo.case"(%0) ({
    %3 = stablehlo.tanh %x : tensor<8xf32>
    stablehlo.return %3 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}"""
    module = simplified_for_tpu(Program.parse(text, as_compiled=False).module)
    names = [op.name for op in walk_pre_order(module)]
    assert "stablehlo.case" not in names
    assert "stablehlo.tanh" in names
