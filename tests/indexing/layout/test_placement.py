"""Elements and offsets, both ways, against pad, reshape and transpose done by numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import evaluate_points
from shardy_py.indexing.layout import (
    ArrayShape,
    Layout,
    Pad,
    Reshape,
    Tile,
    Transpose,
    parse_array,
    relayout_steps,
)
from tests.conftest import examples
from tests.indexing.layout.strategies import arrays, elements, points

MANY = settings(max_examples=examples(200), deadline=None)
SOME = settings(max_examples=examples(100), deadline=None)


def moved(shape: ArrayShape) -> np.ndarray:
    """The buffer of an array whose elements are their row-major numbers from 0, -1 in padding."""
    assert shape.layout
    array = np.arange(elements(shape)).reshape(shape.dimensions)
    for step in relayout_steps(shape.dimensions, shape.layout):
        match step:
            case Transpose(permutation):
                array = array.transpose(permutation)
            case Reshape(dimensions):
                array = array.reshape(dimensions)
            case Pad(high):
                array = np.pad(array, [(0, n) for n in high], constant_values=-1)
        assert array.shape == step.dimensions
    return array


@MANY
@given(arrays())
def test_steps_and_arithmetic_agree(shape: ArrayShape) -> None:
    """Every element has its own offset; what no element has is padding; all as numpy moves them."""
    buffer = moved(shape)
    assert buffer.shape == (shape.placement.size,)
    index = points(shape)
    offsets = np.broadcast_to(shape.placement.offset(tuple(index.T)), len(index))
    assert np.array_equal(buffer[offsets], np.arange(elements(shape)))
    found, inside = shape.placement.elements(np.arange(buffer.size))
    assert np.array_equal(inside, buffer >= 0)
    assert (found[:, ~inside] == -1).all()
    assert np.array_equal(found[:, inside].T, index[buffer[inside]])


@SOME
@given(arrays())
def test_one_at_a_time(shape: ArrayShape) -> None:
    place = shape.placement
    offsets = np.arange(0, place.size, max(1, place.size // 50))
    found, inside = place.elements(offsets)
    for k, offset in enumerate(offsets.tolist()):
        element = place.element(offset)
        assert (element is not None) == inside[k]
        if element is not None:
            assert element == tuple(found[:, k])
            assert place.offset(element) == offset


@SOME
@given(arrays())
def test_maps_and_arithmetic_agree(shape: ArrayShape) -> None:
    assert shape.layout
    place = shape.placement
    index = points(shape)
    read, inside = evaluate_points(shape.layout.indexing_map(shape), index)
    assert inside.all()
    assert np.array_equal(read[:, 0], np.broadcast_to(place.offset(tuple(index.T)), len(index)))
    offsets = np.arange(place.size)
    read, inside = evaluate_points(place.digit_map() * place.element_map(), offsets[:, None])
    expected, is_element = place.elements(offsets)
    assert np.array_equal(inside, is_element)
    assert np.array_equal(read[inside].T, expected[:, is_element])


def test_any_order() -> None:
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)):
        place = Layout(order).placement((2, 3, 4))
        array = np.arange(24).reshape(2, 3, 4).transpose(tuple(reversed(order))).reshape(-1)
        assert [array[place.offset(i)] for i in product(range(2), range(3), range(4))] == [*range(24)]


def test_maps_read_well() -> None:
    tiled = parse_array("f32[3,5]{1,0:T(2,2)}")
    assert tiled.layout
    assert str(tiled.layout.indexing_map(tiled)).splitlines()[0] == (
        "(d0, d1) -> (d0 * 2 + d1 + (d0 floordiv 2) * 8 + (d1 floordiv 2) * 2),"
    )
    whole = Layout((1, 0), (Tile((8, 128)),)).indexing_map((8, 128))
    assert str(whole).splitlines()[0] == "(d0, d1) -> (d0 * 128 + d1),"
    assert str(Layout((0, 1)).indexing_map((3, 5))).splitlines()[0] == "(d0, d1) -> (d0 + d1 * 3),"


def test_steps_of_the_specification() -> None:
    assert relayout_steps((3, 5), Layout((1, 0), (Tile((2, 2)),))) == (
        Pad((1, 1), (4, 6)),
        Reshape((2, 2, 3, 2)),
        Transpose((0, 2, 1, 3), (2, 3, 2, 2)),
        Reshape((24,)),
    )
    steps = relayout_steps((2, 7, 8, 11, 10), Layout((4, 3, 2, 1, 0), (Tile((-1, -1, 2, -1, 3)),)))
    assert steps[0] == Reshape((112, 110))
    assert steps[1] == Pad((0, 1), (112, 111))
    assert relayout_steps((7,), Layout((0,))) == ()
    assert relayout_steps((7,), Layout((0,), tail_padding_alignment=5)) == (Pad((3,), (10,)),)


def test_sizes() -> None:
    sizes = {
        "f32[3,5]": 15,
        "f32[3,5]{1,0:T(2,2)}": 24,
        "f32[3,5]{1,0:T(8,128)}": 1024,
        "f32[3,5]{1,0:T(2,2)L(64)}": 64,
        "f32[]{:T(128)}": 128,
        "f32[]": 1,
        "f32[0,5]{1,0:T(8,128)}": 0,
        "f32[<=9]{0:T(8)}": 16,
        "f32[200]{0:T(8,128)}": 2048,
    }
    assert {text: parse_array(text).placement.size for text in sizes} == sizes


def test_one_offset_beyond_64_bits() -> None:
    place = parse_array("f32[4000000000,4000000000]{1,0:T(8,128)}").placement
    last = (3_999_999_999, 3_999_999_999)
    assert place.element(place.offset(last)) == last
    with pytest.raises(ShardyError, match="exceed 64 bits"):
        place.offset((np.zeros(1, int), np.zeros(1, int)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32[3,5]{1,1}", "minor_to_major: expected a permutation of 2 dimensions, got (1, 1)"),
        ("f32[3,5]{-1,0}", "minor_to_major: expected a permutation of 2 dimensions, got (-1, 0)"),
        ("f32[3,?]{1,0}", "placement of an unbounded array"),
        ("f32[?]", "placement of an unbounded array"),
        ("f32[3,5]{1,0:T(2,0)}", "tile (2, 0): expected sizes of at least 1, got 0"),
        ("f32[3,5]{1,0:T(2,*)}", "tile (2, -1): the minor-most dimension has no dimension to combine"),
        ("f32[3,5]{1,0:D(D,C)}", "placement of a sparse array, levels ('D', 'C'),"),
    ],
)
def test_arrays_without_placement(text: str, message: str) -> None:
    shape = parse_array(text)
    with pytest.raises(ShardyError) as error:
        _ = shape.placement
    assert message in str(error.value)


def test_outside() -> None:
    place = parse_array("f32[3,5]{1,0:T(2,2)}").placement
    for call, message in (
        (lambda: place.offset((3, 0)), "dimension 0: expected a coordinate from 0 to 2, got 3"),
        (
            lambda: place.offset((0, np.array([4, -1]))),
            "dimension 1: expected a coordinate from 0 to 4, got -1",
        ),
        (lambda: place.element(24), "the buffer: expected a coordinate from 0 to 23, got 24"),
        (lambda: place.elements(np.array([3, 99])), "the buffer: expected a coordinate from 0 to 23, got 99"),
        (lambda: place.offset((0,)), "expected 2 coordinates, got 1"),
    ):
        with pytest.raises(ShardyError) as error:
            call()
        assert message in str(error.value)
