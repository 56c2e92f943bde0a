"""Every op that moves, reduces or orders elements: n lanes at once give what each lane gives alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from shardy_py.indexing.layout import element_type
from shardy_py.ops.compute import (
    Array,
    indexed,
    movement,
    normalization,
    order,
    reduction,
    scan,
    scatter,
    windowed,
)
from tests.ops.compute.against_jax import run_text

LANES = 3
_ADD = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32> })"""
_AFFINE = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.add %p, %p : tensor<f32>
    %r = stablehlo.subtract %t, %q : tensor<f32>
    stablehlo.return %r : tensor<f32> })"""
_SET = "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): stablehlo.return %q : tensor<f32> })"
_CAPTURES = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %t = stablehlo.multiply %p, %z : tensor<f32>
    %r = stablehlo.add %t, %q : tensor<f32>
    stablehlo.return %r : tensor<f32> })"""
_SCATTER = """{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<4x6xf32>, tensor<5x1xi32>, tensor<5x6xf32>) -> tensor<4x6xf32>"""
_LESS = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>, %s: tensor<i32>, %t: tensor<i32>):
    %r = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1> }) {dimension = 0 : i64, is_stable = true}
    : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)"""
_NEARER = """({ ^bb0(%p: tensor<f32>, %q: tensor<f32>, %s: tensor<i32>, %t: tensor<i32>):
    %m = stablehlo.multiply %p, %z : tensor<f32>
    %n = stablehlo.multiply %q, %z : tensor<f32>
    %r = stablehlo.compare LT, %m, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1> }) {dimension = 0 : i64, is_stable = true}
    : (tensor<4x6xf32>, tensor<4x6xi32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)"""
_GATHER = """#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
    index_vector_dim = 1>"""
_NORM = "{epsilon = 0.5 : f32, feature_index = 1 : i64}"
X, N, Z = "%x: tensor<4x6xf32>", "%i: tensor<4x6xi32>", "%z: tensor<f32>"
V = "%v: tensor<5x1xi32>"
F = "%f: tensor<6xf32>"


# The name of the row, with a remark behind a space; arguments; the op; its result types.
EXAMPLES: tuple[tuple[str, str, str, str], ...] = (
    (
        "stablehlo.broadcast",
        X,
        '"stablehlo.broadcast"(%x) {broadcast_sizes = array<i64: 2>}'
        " : (tensor<4x6xf32>) -> tensor<2x4x6xf32>",
        "tensor<2x4x6xf32>",
    ),
    (
        "stablehlo.broadcast_in_dim",
        X,
        "stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<4x6xf32>) -> tensor<6x2x4xf32>",
        "tensor<6x2x4xf32>",
    ),
    (
        "stablehlo.concatenate",
        f"{X}, %y: tensor<4x3xf32>",
        "stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x9xf32>",
        "tensor<4x9xf32>",
    ),
    (
        "stablehlo.dynamic_broadcast_in_dim",
        X,
        """stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [0, 2]
            : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>""",
        "tensor<?x?x?xf32>",
    ),
    (
        "stablehlo.dynamic_iota",
        "",
        "stablehlo.dynamic_iota %shape, dim = 2 : (tensor<3xi32>) -> tensor<?x?x?xi8>",
        "tensor<?x?x?xi8>",
    ),
    (
        "stablehlo.dynamic_pad",
        f"{X}, {Z}",
        """stablehlo.dynamic_pad %x, %z, %two, %two, %two
            : (tensor<4x6xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
            -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
    ),
    (
        "stablehlo.dynamic_reshape",
        X,
        "stablehlo.dynamic_reshape %x, %shape : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>",
        "tensor<?x?x?xf32>",
    ),
    (
        "stablehlo.get_dimension_size",
        X,
        "stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x6xf32>) -> tensor<i32>",
        "tensor<i32>",
    ),
    ("stablehlo.iota", "", "stablehlo.iota dim = 1 : tensor<4x6xi8>", "tensor<4x6xi8>"),
    (
        "stablehlo.pad",
        f"{X}, {Z}",
        """stablehlo.pad %x, %z, low = [1, -1], high = [-2, 1], interior = [1, 0]
            : (tensor<4x6xf32>, tensor<f32>) -> tensor<6x6xf32>""",
        "tensor<6x6xf32>",
    ),
    (
        "stablehlo.real_dynamic_slice",
        X,
        """stablehlo.real_dynamic_slice %x, %one, %two, %one
            : (tensor<4x6xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        "tensor<?x?xf32>",
    ),
    (
        "stablehlo.reshape",
        X,
        "stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<8x3xf32>",
        "tensor<8x3xf32>",
    ),
    ("stablehlo.reverse", X, "stablehlo.reverse %x, dims = [1] : tensor<4x6xf32>", "tensor<4x6xf32>"),
    (
        "stablehlo.set_dimension_size",
        X,
        """stablehlo.set_dimension_size %x, %size, dim = 1
            : (tensor<4x6xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 6>>""",
        "tensor<4x?xf32, #stablehlo.bounds<?, 6>>",
    ),
    (
        "stablehlo.slice",
        X,
        "stablehlo.slice %x [1:4, 0:6:2] : (tensor<4x6xf32>) -> tensor<3x3xf32>",
        "tensor<3x3xf32>",
    ),
    (
        "stablehlo.transpose",
        X,
        "stablehlo.transpose %x, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>",
        "tensor<6x4xf32>",
    ),
    (
        "stablehlo.dynamic_gather",
        f"{X}, {V}",
        f'"stablehlo.dynamic_gather"(%x, %v, %row) {{dimension_numbers = {_GATHER}}}'
        " : (tensor<4x6xf32>, tensor<5x1xi32>, tensor<2xi32>) -> tensor<5x6xf32>",
        "tensor<5x6xf32>",
    ),
    (
        "stablehlo.dynamic_slice",
        f"{X}, %a: tensor<i32>, %b: tensor<i32>",
        """stablehlo.dynamic_slice %x, %a, %b, sizes = [2, 3]
            : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>""",
        "tensor<2x3xf32>",
    ),
    (
        "stablehlo.dynamic_update_slice",
        f"{X}, %y: tensor<2x3xf32>, %a: tensor<i32>, %b: tensor<i32>",
        """stablehlo.dynamic_update_slice %x, %y, %a, %b
            : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>""",
        "tensor<4x6xf32>",
    ),
    (
        "stablehlo.gather",
        f"{X}, {V}",
        f'"stablehlo.gather"(%x, %v) {{dimension_numbers = {_GATHER}, slice_sizes = array<i64: 1, 6>}}'
        " : (tensor<4x6xf32>, tensor<5x1xi32>) -> tensor<5x6xf32>",
        "tensor<5x6xf32>",
    ),
    (
        "stablehlo.gather of wider slices",
        f"{X}, {V}",
        '"stablehlo.gather"(%x, %v) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 1],'
        " start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 2>}"
        " : (tensor<4x6xf32>, tensor<5x1xi32>) -> tensor<3x2x5xf32>",
        "tensor<3x2x5xf32>",
    ),
    (
        "stablehlo.torch_index_select",
        f"{X}, %w: tensor<4x2xi32>",
        '"stablehlo.torch_index_select"(%x, %w) {dim = 1 : i64, batch_dims = 1 : i64}'
        " : (tensor<4x6xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>",
        "tensor<4x2xf32>",
    ),
    *(
        (
            f"stablehlo.scatter {remark}",
            f"{X}, {V}, %u: tensor<5x6xf32>, {Z}",
            f'"stablehlo.scatter"(%x, %v, %u) {region} {_SCATTER}',
            "tensor<4x6xf32>",
        )
        for remark, region in (("add", _ADD), ("set", _SET), ("any", _AFFINE), ("captures", _CAPTURES))
    ),
    *(
        (
            f"stablehlo.reduce {remark}",
            f"{X}, {Z}",
            f'"stablehlo.reduce"(%x, %z) {region} {{dimensions = array<i64: 0>}}'
            " : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>",
            "tensor<6xf32>",
        )
        for remark, region in (("add", _ADD), ("any", _AFFINE), ("captures", _CAPTURES))
    ),
    *(
        (
            f"stablehlo.reduce_window {remark}",
            f"{X}, {Z}",
            f'"stablehlo.reduce_window"(%x, %z) {region} {{window_dimensions = array<i64: 2, 20>,'
            " window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [19, 2]]> : tensor<2x2xi64>}"
            " : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x8xf32>",
            "tensor<2x8xf32>",
        )
        for remark, region in (("add", _ADD), ("any", _AFFINE), ("captures", _CAPTURES))
    ),
    (
        "stablehlo.select_and_scatter",
        f"{X}, %y: tensor<2x3xf32>, {Z}",
        f""""stablehlo.select_and_scatter"(%x, %y, %z) ({{ ^bb0(%p: tensor<f32>, %q: tensor<f32>):
            %r = stablehlo.compare GE, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %r : tensor<i1> }}, {_ADD.strip("()")})
            {{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}}
            : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>""",
        "tensor<4x6xf32>",
    ),
    ("stablehlo.sort", f"{X}, {N}", f'"stablehlo.sort"(%x, %i) {_LESS}', "tensor<4x6xf32>, tensor<4x6xi32>"),
    (
        "stablehlo.sort captures",
        f"{X}, {N}, {Z}",
        f'"stablehlo.sort"(%x, %i) {_NEARER}',
        "tensor<4x6xf32>, tensor<4x6xi32>",
    ),
    (
        "chlo.scan",
        f"{X}, {F}",
        """chlo.scan(%x) inits (%f) dimension=0 attributes {is_reverse = true} {
            ^bb0(%p: tensor<6xf32>, %q: tensor<6xf32>):
              %r = stablehlo.add %p, %q : tensor<6xf32>
              stablehlo.return %p, %r : tensor<6xf32>, tensor<6xf32>
            } : (tensor<4x6xf32>, tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>)""",
        "tensor<4x6xf32>, tensor<6xf32>",
    ),
    (
        "stablehlo.batch_norm_inference",
        f"{X}, {F}, %g: tensor<6xf32>, %h: tensor<6xf32>, %k: tensor<6xf32>",
        f'"stablehlo.batch_norm_inference"(%x, %f, %g, %h, %k) {_NORM} : (tensor<4x6xf32>, tensor<6xf32>,'
        " tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<4x6xf32>",
        "tensor<4x6xf32>",
    ),
    (
        "stablehlo.batch_norm_training",
        f"{X}, {F}, %g: tensor<6xf32>",
        f'"stablehlo.batch_norm_training"(%x, %f, %g) {_NORM} : (tensor<4x6xf32>, tensor<6xf32>,'
        " tensor<6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)",
        "tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>",
    ),
    (
        "stablehlo.batch_norm_grad",
        f"{X}, {F}, %g: tensor<6xf32>, %h: tensor<6xf32>, %y: tensor<4x6xf32>",
        f'"stablehlo.batch_norm_grad"(%x, %f, %g, %h, %y) {_NORM} : (tensor<4x6xf32>, tensor<6xf32>,'
        " tensor<6xf32>, tensor<6xf32>, tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>)",
        "tensor<4x6xf32>, tensor<6xf32>, tensor<6xf32>",
    ),
)
FAMILIES = (indexed, movement, normalization, order, reduction, scan, scatter, windowed)


def test_every_op_has_an_example() -> None:
    rows = {name for family in FAMILIES for name in family.COMPUTE}
    assert rows == {name.split(" ", maxsplit=1)[0] for name, *_ in EXAMPLES}


@pytest.mark.parametrize(("name", "arguments", "op", "types"), EXAMPLES, ids=[row[0] for row in EXAMPLES])
def test_lanes_are_independent(name: str, arguments: str, op: str, types: str) -> None:
    count = types.count("tensor<")
    values = ", ".join(f"%result#{number}" for number in range(count)) if count > 1 else "%result"
    text = f"""func.func @main({arguments}) -> ({types}) {{
        %shape = stablehlo.constant dense<[4, 1, 6]> : tensor<3xi32>
        %one = stablehlo.constant dense<1> : tensor<2xi32>
        %two = stablehlo.constant dense<2> : tensor<2xi32>
        %row = stablehlo.constant dense<[1, 6]> : tensor<2xi32>
        %size = stablehlo.constant dense<5> : tensor<i32>
        %result{f":{count}" if count > 1 else ""} = {op}
        return {values} : {types}
    }}"""
    rng = np.random.default_rng(7)
    given = [_random(rng, argument.split("tensor<")[1]) for argument in arguments.split(", %") if argument]
    for several in product((False, True), repeat=min(len(given), 3)):
        several = (*several, *several[-1:] * (len(given) - len(several)))
        operands = [array if many else array[:1] for array, many in zip(given, several, strict=True)]
        together = run_text(text, *operands)
        if not any(several):
            assert {len(result) for result in together} == {1}
        for lane in range(LANES if any(several) else 1):
            alone = run_text(text, *(array[min(lane, len(array) - 1)][None] for array in operands))
            for joint, own in zip(together, alone, strict=True):
                np.testing.assert_allclose(joint[min(lane, len(joint) - 1)], own[0], rtol=1e-6, err_msg=name)


def _random(rng: np.random.Generator, tensor: str) -> Array:
    *sizes, element = tensor.rstrip(">").split("x")
    shape = (LANES, *map(int, sizes))
    if element == "f32":
        return rng.integers(1, 6, shape).astype(np.float32)
    return rng.integers(-1, 5, shape).astype(element_type(element).dtype)
