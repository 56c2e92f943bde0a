"""Bitcasts: what the composed maps say, against numpy on every element, and what is known to be free."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import IndexMap, dim, evaluate_points, extent, parse_map, range_var
from shardy_py.indexing.layout import ArrayShape, Layout, is_bitcast, offset_map, parse_array, relayout_steps
from shardy_py.ops import OpRecord, TensorType, indexing_maps
from tests.conftest import examples
from tests.indexing.layout.strategies import arrays, elements, points
from tests.indexing.layout.test_placement import moved

MANY = settings(max_examples=examples(120), deadline=None)


def op_map(
    name: str, operand: tuple[int, ...], result: tuple[int, ...], permutation: tuple[int, ...] = ()
) -> IndexMap:
    """The map of an op of the table, from elements of its result to those of its operand."""
    attributes = {"permutation": permutation} if name == "transpose" else {}
    record = OpRecord(f"stablehlo.{name}", (TensorType(operand),), (TensorType(result),), attributes)
    maps = indexing_maps(record)
    assert maps
    assert maps[0][0]
    return maps[0][0]


def same_bytes(source: ArrayShape, target: ArrayShape, result: np.ndarray) -> bool:
    """Whether all elements lie at the same offsets; result: numbers of the operand's elements as the op
    orders them.
    """
    if source.placement.size != target.placement.size:
        return False
    assert target.layout
    buffer, wanted = moved(source), result
    lies = np.full(target.placement.size, -1)
    index = points(target)
    lies[np.broadcast_to(target.placement.offset(tuple(index.T)), len(index))] = wanted.reshape(-1)
    return bool((buffer[lies >= 0] == lies[lies >= 0]).all())


@st.composite
def relaid(draw: st.DrawFn) -> tuple[ArrayShape, ArrayShape]:
    source = draw(arrays())
    return source, draw(arrays(dimensions=source.dimensions))


@MANY
@given(relaid())
def test_two_layouts_of_an_array(pair: tuple[ArrayShape, ArrayShape]) -> None:
    source, target = pair
    numbers = np.arange(elements(source)).reshape(source.dimensions)
    assert is_bitcast(source, target) == same_bytes(source, target, numbers)


@st.composite
def transposed(draw: st.DrawFn) -> tuple[ArrayShape, ArrayShape, tuple[int, ...]]:
    """Half of the time the layout of the result follows the permutation, so that nothing moves."""
    source = draw(arrays())
    assert source.layout
    permutation = tuple(draw(st.permutations(range(len(source.dimensions)))))
    result = tuple(source.dimensions[i] for i in permutation)
    if draw(st.booleans()):
        order = tuple(permutation.index(i) for i in source.layout.minor_to_major)
        layout = Layout(
            order, source.layout.tiles, tail_padding_alignment=source.layout.tail_padding_alignment
        )
        return source, ArrayShape("f32", result, layout=layout), permutation
    return source, draw(arrays(dimensions=result)), permutation


@MANY
@given(transposed())
def test_transposes(case: tuple[ArrayShape, ArrayShape, tuple[int, ...]]) -> None:
    source, target, permutation = case
    through = op_map("transpose", source.dimensions, target.dimensions, permutation)
    numbers = np.arange(elements(source)).reshape(source.dimensions).transpose(permutation)
    assert is_bitcast(source, target, through) == same_bytes(source, target, numbers)


@st.composite
def reshaped(draw: st.DrawFn) -> tuple[ArrayShape, ArrayShape]:
    factors = draw(st.lists(st.sampled_from((1, 2, 2, 3, 4)), min_size=1, max_size=5))

    def grouped() -> tuple[int, ...]:
        cuts = sorted(draw(st.sets(st.integers(1, len(factors)))) | {len(factors)})
        return tuple(prod(factors[a:b]) for a, b in zip([0, *cuts], cuts, strict=False))

    return draw(arrays(dimensions=grouped())), draw(arrays(dimensions=grouped()))


@MANY
@given(reshaped())
def test_reshapes(pair: tuple[ArrayShape, ArrayShape]) -> None:
    source, target = pair
    through = op_map("reshape", source.dimensions, target.dimensions)
    numbers = np.arange(elements(source)).reshape(target.dimensions)
    assert is_bitcast(source, target, through) == same_bytes(source, target, numbers)


@MANY
@given(relaid())
def test_the_map_between_buffers(pair: tuple[ArrayShape, ArrayShape]) -> None:
    source, target = pair
    if not elements(source):
        return
    offsets = np.arange(target.placement.size)
    found, inside = evaluate_points(offset_map(source, target), offsets[:, None])
    index, is_element = target.placement.elements(offsets)
    assert np.array_equal(inside, is_element)
    expected = source.placement.offset(tuple(index[:, is_element]))
    assert np.array_equal(found[inside, 0], np.broadcast_to(expected, inside.sum()))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("f32[1024,1024]{1,0}", "f32[1024,1024]{1,0}", True),
        ("f32[1024,1024]{1,0}", "f32[1024,1024]{0,1}", False),
        ("f32[1,4096,1]{2,1,0}", "f32[1,4096,1]{0,2,1}", True),
        ("f32[4096,128]{1,0:T(8,128)}", "f32[4096,128]{1,0}", True),
        ("f32[4096,256]{1,0:T(8,128)}", "f32[4096,256]{1,0}", False),
        ("f32[4096,256]{1,0:T(8,128)}", "f32[4096,256]{1,0:T(16,128)}", False),
        ("f32[4096,128]{1,0:T(8,128)}", "f32[4096,128]{1,0:T(16,128)}", True),
        ("f32[100000,256]{1,0:T(8,128)(4,1)}", "f32[100000,256]{1,0:T(8,128)(4,1)}", True),
        ("bf16[4096,256]{1,0:T(8,128)(2,1)}", "bf16[4096,256]{1,0:T(8,128)}", False),
        ("f32[100000]{0:T(128)}", "f32[100000]{0}", False),
        ("f32[1000000]{0:T(1024)L(4096)}", "f32[1000000]{0:T(4096)}", True),
        ("f32[128000]{0:T(128)}", "f32[128000]{0}", True),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)(1)}", True),
        ("f32[4000000]{0:T(3)(2)}", "f32[4000000]{0:T(3)(2)}", True),
        ("f32[8]{0:S(1)}", "f32[8]{0}", False),
        ("s4[8]{0:E(4)}", "s4[8]{0}", False),
        ("s32[8]", "f32[8]", False),
        ("f32[8]", "f32[8]{0}", True),
        ("f32[0,9]{1,0}", "f32[0,9]{0,1}", True),
        ("f32[]{:T(128)}", "f32[]{:T(2,64)}", True),
    ],
)
def test_large_arrays(source: str, target: str, expected: bool) -> None:
    assert is_bitcast(parse_array(source), parse_array(target)) == expected


def test_a_tiled_matrix_is_a_row_major_array_of_tiles() -> None:
    """What a bf16 matrix on a TPU is, as the steps of its layout say: too large to be enumerated."""
    matrix = parse_array("bf16[4096,8192]{1,0:T(8,128)(2,1)}")
    assert matrix.layout
    tiles = parse_array("bf16[512,64,4,128,2,1]")
    through = parse_map(
        "(d0, d1, d2, d3, d4, d5) -> (d0 * 8 + d2 * 2 + d4, d1 * 128 + d3), domain: d0 in [0, 511],"
        "d1 in [0, 63], d2 in [0, 3], d3 in [0, 127], d4 in [0, 1], d5 in [0, 0]"
    )
    assert relayout_steps((4096, 8192), matrix.layout)[-2].dimensions == tiles.dimensions
    assert is_bitcast(matrix, tiles, through)
    assert str(offset_map(matrix, tiles, through)) == "(d0) -> (d0),\ndomain:\nd0 in [0, 33554431]"


@pytest.mark.parametrize("permutation", [*permutations(range(3))])
def test_transposes_of_large_arrays(permutation: tuple[int, ...]) -> None:
    dimensions = (512, 384, 640)
    source = ArrayShape("f32", dimensions, layout=Layout((2, 1, 0)))
    result = tuple(dimensions[i] for i in permutation)
    through = op_map("transpose", dimensions, result, permutation)
    for order in permutations(range(3)):
        target = ArrayShape("f32", result, layout=Layout(order))
        nothing_moves = tuple(permutation[i] for i in order) == (2, 1, 0)
        assert is_bitcast(source, target, through) == nothing_moves


def test_reshapes_that_split_and_join_tiled_dimensions() -> None:
    source = parse_array("f32[64,1024,512]{2,1,0:T(8,128)}")
    for text, expected in (
        ("f32[65536,512]{1,0:T(8,128)}", True),
        ("f32[64,128,8,512]{3,2,1,0:T(8,128)}", True),
        ("f32[64,256,4,512]{3,2,1,0:T(4,128)}", False),
        ("f32[64,524288]{1,0:T(8,128)}", False),
    ):
        target = parse_array(text)
        assert is_bitcast(source, target, op_map("reshape", source.dimensions, target.dimensions)) == expected


def test_ops_that_drop_or_add_elements_are_none() -> None:
    whole, part = parse_array("f32[6]{0:T(8)}"), parse_array("f32[4]{0:T(8)}")
    first = IndexMap((dim(0),), (extent(4),))
    assert is_bitcast(whole, part, first)
    assert not is_bitcast(whole, part, IndexMap((dim(0) + 1,), (extent(4),)))
    padded = parse_map("(d0) -> (d0), domain: d0 in [0, 5], d0 in [0, 3]")
    assert not is_bitcast(part, whole, padded)


def test_invalid_arguments() -> None:
    array = parse_array("f32[4]")
    for through, message in (
        (
            IndexMap((dim(0),), (extent(5),)),
            "the map of the op: expected a domain of sizes (4,) and 1 results",
        ),
        (IndexMap((), (extent(4),)), "the map of the op: expected a domain of sizes (4,) and 1 results"),
        (IndexMap((range_var(0),), (extent(4),), (extent(4),)), "a map with range or runtime variables"),
    ):
        with pytest.raises(ShardyError) as error:
            is_bitcast(array, array, through)
        assert message in str(error.value)
    with pytest.raises(ShardyError, match=r"expected arrays of the same sizes, got \(4,\) and \(2, 2\)"):
        is_bitcast(array, parse_array("f32[2,2]"))


def test_only_what_is_zero_is_taken_out() -> None:
    from shardy_py.indexing.layout.bitcast import _reduced

    difference = dim(0) * 6 + dim(1) * 2
    assert str(_reduced(difference, ((dim(0) * 3 + dim(1), extent(1)),))) == "0"
    assert _reduced(difference, ((dim(0) * 3 + dim(1), extent(2)),)) is difference
