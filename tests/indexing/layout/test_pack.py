from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout import (
    COMBINE,
    ArrayShape,
    Layout,
    Tile,
    linear_index,
    pack,
    parse_shape,
    unpack,
)
from shardy_py.indexing.layout.element_types import ELEMENT_TABLE, element_type, element_type_of
from shardy_py.indexing.layout.mixed_radix import digit_order

NUMPY_TYPES = "? b B h H i I q Q e f d g F D G S3 U2 M8[s] m8[ns] V5 >f4 >i2"
DTYPES = [np.dtype(code) for code in NUMPY_TYPES.split()] + [
    np.dtype(getattr(ml_dtypes, row.numpy_name))
    for row in ELEMENT_TABLE.values()
    if hasattr(ml_dtypes, row.numpy_name)
]


def offset(index: tuple[int, ...], bounds: tuple[int, ...], layout: Layout) -> int:
    """The specification, one element at a time: physical order, then for each tile join and cut."""
    order = layout.minor_to_major[::-1]
    e, d = [index[i] for i in order], [bounds[i] for i in order]
    for tile in layout.tiles:
        t = list(tile.sizes)
        first = len(d) - len(t)
        for i in reversed(range(len(t))):
            if t[i] == COMBINE:
                at = first + i
                e[at : at + 2] = [e[at] * d[at + 1] + e[at + 1]]
                d[at : at + 2] = [d[at] * d[at + 1]]
                del t[i]
        first = len(d) - len(t)
        kept, cut = d[:first], d[first:]
        pairs = list(zip(e[first:], t, strict=True))
        e = e[:first] + [x // y for x, y in pairs] + [x % y for x, y in pairs]
        d = kept + [-(-x // y) for x, y in zip(cut, t, strict=True)] + t
    return linear_index(e, d)


def random_case(random: Random) -> tuple[tuple[int, ...], Layout]:
    """A shape of up to 5 dimensions and a layout: any order, up to 3 tiles with joined dimensions, a tail."""
    rank = random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5])
    sizes = [0, *range(1, 14)] if rank < 3 else [1, 2, 3, 4, 5]
    bounds = tuple(random.choice(sizes) for _ in range(rank))
    order = random.sample(range(rank), rank)
    tiles: list[Tile] = []
    now = rank
    for _ in range(random.choice([0, 1, 1, 2, 2, 3]) if rank else 0):
        sizes_of_tile = [
            COMBINE if random.random() < 0.15 else random.choice([1, 2, 2, 3, 4, 5, 8])
            for _ in range(random.randint(1, min(now, 4)))
        ]
        sizes_of_tile[-1] = random.choice([1, 2, 3, 4])
        tiles.append(Tile(tuple(sizes_of_tile)))
        joined = sizes_of_tile.count(COMBINE)
        now += len(sizes_of_tile) - 2 * joined
    return bounds, Layout(
        tuple(order), tuple(tiles), tail_padding_alignment=random.choice([1, 1, 1, 2, 7, 64])
    )


def filled(bounds: tuple[int, ...], dtype: np.dtype[Any], random: Random) -> np.ndarray[Any, Any]:
    """An array of all sorts of bytes; of an element type narrower than a byte, of all its bits."""
    row = element_type_of(dtype)
    octets = np.frombuffer(random.randbytes(prod(bounds) * dtype.itemsize), np.uint8)
    if row is not None and (row.bits < 8 or row.name == "pred"):
        octets = octets & ((1 << row.value_bits) - 1)
    if dtype.kind == "U":
        octets = octets & np.tile(np.array([0x7F, 0, 0, 0], np.uint8), octets.size // 4)
    return octets.copy().view(dtype).reshape(bounds)


@pytest.mark.parametrize("seed", range(10))
def test_random_layouts_put_each_element_where_the_formula_says(seed: int) -> None:
    random = Random(seed)
    for case in range(50):
        bounds, layout = random_case(random)
        dtype = random.choice(DTYPES[1:12])
        array = filled(bounds, dtype, random)
        fill = np.full((), 7, dtype)
        buffer = pack(array, layout, fill=7)
        expected = np.full(layout.placement(bounds).size, fill, dtype)
        for index in np.ndindex(*bounds):
            expected[offset(index, bounds, layout)] = array[index]
        where = f"seed {seed}, case {case}: {dtype} {bounds} {layout}"
        assert buffer.dtype == dtype, where
        assert buffer.tobytes() == expected.tobytes(), where
        back = unpack(buffer, layout, bounds)
        assert (back.shape, back.dtype) == (bounds, dtype), where
        assert back.tobytes() == array.tobytes(), where


def test_the_random_layouts_are_of_every_kind() -> None:
    kinds = [0, 0, 0]
    for seed in range(10):
        random = Random(seed)
        for _ in range(50):
            bounds, layout = random_case(random)
            kinds[0] += len(layout.tiles) > 1
            kinds[1] += any(COMBINE in tile.sizes for tile in layout.tiles)
            kinds[2] += digit_order(layout.placement(bounds)) is None
            random.choice(DTYPES[1:12])
    assert min(kinds) > 50


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("tiles", ["", ":T(4,4)(2,1)", ":T(4,4)(3,1)", ":T(*,6)L(64)"])
def test_every_type_comes_back(dtype: np.dtype[Any], tiles: str) -> None:
    shape = parse_shape(f"s8[5,7]{{0,1{tiles}}}")
    assert isinstance(shape, ArrayShape)
    assert shape.layout is not None
    array = filled((5, 7), dtype, Random(str(dtype)))
    buffer = pack(array, shape.layout)
    back = unpack(buffer, shape.layout, (5, 7), dtype)
    assert back.dtype == dtype
    assert back.tobytes() == array.tobytes()
    assert unpack(buffer.tobytes(), shape.layout, (5, 7), dtype).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["pred", "s1", "u1", "s2", "u2", "s4", "u4", "f4e2m1fn"])
@pytest.mark.parametrize("count", [1, 3, 8, 13])
def test_narrow_elements_share_bytes_the_first_in_the_low_order_bits(name: str, count: int) -> None:
    row = element_type(name)
    if not hasattr(np, row.numpy_name) and not hasattr(ml_dtypes, row.numpy_name):
        pytest.skip(f"this ml_dtypes has no {row.numpy_name}")
    bits = row.value_bits
    array = filled((count,), row.dtype, Random(count))
    layout = Layout((0,), element_size_bits=1 if name == "pred" else 0)
    buffer = pack(array, layout)
    number = sum(int(value) << (bits * i) for i, value in enumerate(array.view(np.uint8)))
    assert buffer.dtype == np.uint8
    assert buffer.tobytes() == number.to_bytes(-(-count * bits // 8), "little")
    shape = ArrayShape(name, (count,))
    assert unpack(buffer, layout, shape).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", ["int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
def test_narrow_elements_are_packed_as_in_the_buffers_of_xla(name: str) -> None:
    jnp = pytest.importorskip("jax.numpy", reason="XLA's own buffers need jax")
    import ctypes

    values = np.array([1, 0, 1, 1, 1], getattr(ml_dtypes, name))
    held = jnp.asarray(values).block_until_ready()
    mine = pack(values, Layout((0,)))
    whole = mine.size - 1  # the rest of the last byte holds what it held before
    theirs = bytes((ctypes.c_uint8 * whole).from_address(held.unsafe_buffer_pointer()))
    assert theirs == mine.tobytes()[:whole]


def test_wide_elements_begin_with_their_own_bytes() -> None:
    pred = np.array([True, False, True])
    layout = parse_shape("pred[3]{0:T(4)E(32)}").layout  # type: ignore[union-attr]
    buffer = pack(pred, layout, fill=True)
    assert buffer.view("<u4").tolist() == [1, 0, 1, 1]
    assert unpack(buffer, layout, (3,), bool).tolist() == pred.tolist()
    assert pack(np.array([1, 2], ">u2"), Layout((0,), element_size_bits=32)).tolist() == [
        1,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
    ]


def test_the_figure_of_the_specification() -> None:
    shape = parse_shape("f32[4,8]{1,0:T(2,4)(2,1)}")
    assert isinstance(shape, ArrayShape)
    assert shape.layout is not None
    offsets = unpack(np.arange(32), shape.layout, (4, 8))
    assert offsets.tolist() == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [1, 3, 5, 7, 9, 11, 13, 15],
        [16, 18, 20, 22, 24, 26, 28, 30],
        [17, 19, 21, 23, 25, 27, 29, 31],
    ]


def test_large_arrays_go_in_slabs() -> None:
    array = np.arange(520 * 1100, dtype=np.float64).reshape(1, 520, 1100)
    shape = parse_shape("f64[1,520,1100]{2,1,0:T(8,128)}")
    layout = shape.layout  # type: ignore[union-attr]
    buffer = pack(array, layout, fill=-1)
    padded = np.full((520, 1152), -1.0)
    padded[:, :1100] = array
    assert np.array_equal(buffer, padded.reshape(65, 8, 9, 128).transpose(0, 2, 1, 3).reshape(-1))
    assert np.array_equal(unpack(buffer, layout, array.shape), array)


def test_what_is_given_stays_as_it_is_and_is_not_shared() -> None:
    array = np.arange(6.0)
    idle = (Tile((2,)), Tile((COMBINE, 2)))
    for tiles in ((), (Tile((4,)),), (Tile((2,)), Tile((3, 1))), idle):
        layout = Layout((0,), tiles)
        buffer = pack(array, layout)
        assert not np.may_share_memory(buffer, array)
        assert not np.may_share_memory(unpack(buffer, layout, (6,)), buffer)


def test_arrays_with_strides_and_without_elements() -> None:
    layout = Layout((1, 0), (Tile((2, 2)),))
    array = np.arange(60).reshape(6, 10)[::2, ::-2]
    assert np.array_equal(unpack(pack(array, layout), layout, (3, 5)), array)
    assert pack(np.empty((0, 5)), layout).size == 0
    assert unpack(b"", layout, (0, 5), "f4").shape == (0, 5)
    assert pack(3.0, Layout((), (Tile((4,)),)), fill=1).tolist() == [3, 1, 1, 1]


FLAT = Layout((0,))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack(np.ones((2, 2)), FLAT), "minor_to_major: expected a permutation of 2 dimensions"),
        (lambda: pack(np.ones(2, np.int8), FLAT, fill=300), "invalid fill 300 for padding of int8"),
        (lambda: pack(np.ones(2, np.int8), FLAT, fill="x"), "invalid fill 'x' for padding"),
        (lambda: pack(np.ones(2, np.int8), Layout((0,), element_size_bits=4)), r"element size E of s8"),
        (lambda: pack(np.ones(2, bool), Layout((0,), element_size_bits=3)), r"element size E of pred"),
        (
            lambda: unpack(np.ones(3), FLAT, (4,)),
            "4 elements of 64 bits: expected one dimension and 32 bytes",
        ),
        (lambda: unpack(np.ones((2, 2)), FLAT, (4,)), r"got 32 in shape \(2, 2\)"),
        (
            lambda: unpack(b"abc", FLAT, ArrayShape("s4", (4,))),
            "of 4 bits: expected one dimension and 2 bytes",
        ),
        (lambda: pack(np.ones(2), Layout((0,), (Tile((0,)),))), "expected sizes of at least 1, got 0"),
    ],
)
def test_invalid_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call()
