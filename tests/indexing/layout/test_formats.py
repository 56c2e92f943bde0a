from __future__ import annotations

from collections.abc import Callable

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing.layout.formats import (
    Bytes,
    default_layout,
    layout_bytes,
    padded_bytes,
    padding_share,
    unpadded_bytes,
)
from shardy_py.indexing.layout.text import parse_shape
from shardy_py.indexing.layout.values import ArrayShape


def laid_out(text: str, target: str = "tpu", **options: int) -> str:
    shape = parse_shape(text)
    assert isinstance(shape, ArrayShape)
    return str(default_layout(shape, target, **options))


# The rows of the specification's table.
@pytest.mark.parametrize(
    ("shape", "tiles"),
    [
        ("f32[16,256]", "{1,0:T(8,128)}"),
        ("s32[5,7,9]", "{2,1,0:T(8,128)}"),
        ("u32[8,8]", "{1,0:T(8,128)}"),
        ("f32[1,256]", "{1,0:T(2,128)}"),
        ("f32[2,256]", "{1,0:T(2,128)}"),
        ("f32[3,256]", "{1,0:T(4,128)}"),
        ("f32[9,4,256]", "{2,1,0:T(4,128)}"),
        ("f32[5,256]", "{1,0:T(8,128)}"),
        *((f"{t}[16,256]", "{1,0:T(8,128)(2,1)}") for t in ("bf16", "f16", "s16", "u16")),
        *((f"{t}[64,256]", "{1,0:T(8,128)(4,1)}") for t in ("s8", "u8", "f8e4m3fn", "f8e5m2", "f8e8m0fnu")),
        ("pred[64,256]", "{1,0:T(8,128)(4,1)}"),
    ],
)
def test_tpu_formats_of_the_specification(shape: str, tiles: str) -> None:
    assert laid_out(shape) == shape + tiles


# Layouts that public HLO of TPUs shows.
@pytest.mark.parametrize(
    "shape",
    [
        "f32[]{:T(128)}",
        "bf16[]{:T(256)}",
        "pred[]{:T(512)}",
        "f32[1024]{0:T(1024)}",
        "s32[16]{0:T(128)}",
        "s32[2048]{0:T(1024)}",
        "u32[256]{0:T(256)}",
        "s32[301]{0:T(512)}",
        "bf16[8192]{0:T(1024)(128)(2,1)}",
        "bf16[128]{0:T(256)(128)(2,1)}",
        "pred[1]{0:T(512)(128)(4,1)}",
        "bf16[2,8192]{1,0:T(2,128)(2,1)}",
        "bf16[1,16384,4,256]{3,2,1,0:T(4,128)(2,1)}",
        "pred[1,1]{1,0:T(4,128)(4,1)}",
        "u8[267,512,4,128]{3,2,1,0:T(4,128)(4,1)}",
        "s4[1,8,32768,256]{3,2,1,0:T(8,128)(8,1)E(4)}",
    ],
)
def test_tpu_layouts_seen_in_public(shape: str) -> None:
    assert laid_out(shape.partition("{")[0]) == shape


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("f64[9,9]", "f64[9,9]{1,0:T(8,128)}"),
        ("c64[1,9]", "c64[1,9]{1,0:T(2,128)}"),
        ("s64[]", "s64[]{:T(128)}"),
        ("u2[9,9]", "u2[9,9]{1,0:T(16,128)(16,1)E(2)}"),
        ("f4e2m1fn[1,9]", "f4e2m1fn[1,9]{1,0:T(8,128)(8,1)E(4)}"),
        ("f32[0,3]", "f32[0,3]{1,0:T(2,128)}"),
        ("f32[4,<=8]{0,1:T(2,2)}", "f32[4,<=8]{1,0:T(4,128)}"),
    ],
)
def test_tpu_formats_beyond_the_specification(shape: str, expected: str) -> None:
    assert laid_out(shape) == expected


def test_the_denser_pred() -> None:
    assert laid_out("pred[64,256]", element_size_bits=1) == "pred[64,256]{1,0:T(32,128)(32,1)E(1)}"
    shape = parse_shape("pred[64,256]{1,0:T(32,128)(32,1)E(1)}")
    assert (padded_bytes(shape), unpadded_bytes(shape)) == (64 * 256 // 8,) * 2


@pytest.mark.parametrize("shape", ["f32[3,5]", "f32[]", "pred[7]", "c128[2,2,2]", "bf16[1,2]"])
def test_linear(shape: str) -> None:
    rank = shape.count(",") + (shape[-2] != "[")
    order = ",".join(map(str, reversed(range(rank))))
    assert laid_out(shape, "linear") == (f"{shape}{{{order}}}" if order else shape)


def test_linear_packs_narrow_types() -> None:
    assert laid_out("s4[3]", "linear") == "s4[3]{0:E(4)}"
    assert layout_bytes("i4", (3,), "linear") == Bytes(2, 2)


@pytest.mark.parametrize(
    ("shape", "padded", "unpadded"),
    [
        ("f32[3,5]{1,0:T(2,2)}", 96, 60),
        ("f32[3,5]", 60, 60),
        ("f32[]{:T(128)}", 512, 4),
        ("f32[0,5]{1,0:T(8,128)}", 0, 0),
        ("f32[3]{0:L(8)}", 32, 12),
        ("pred[3]{0:E(32)}", 12, 3),
        ("s4[5]", 3, 3),
        ("s4[5]{0:E(8)}", 5, 3),
        ("s4[8]{0:M(64)}", 68, 4),
        ("(f32[3,5]{1,0:T(2,2)}, token[], b(s8[3]{0:T(4)}))", 100, 63),
        ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 112 * 111 * 4, 112 * 110 * 4),
    ],
)
def test_bytes(shape: str, padded: int, unpadded: int) -> None:
    parsed = parse_shape(shape)
    assert (padded_bytes(parsed), unpadded_bytes(parsed)) == (padded, unpadded)
    assert padding_share(parsed) == ((padded - unpadded) / padded if padded else 0)


def test_layout_bytes_takes_both_spellings() -> None:
    assert layout_bytes("i1", (3, 5)) == layout_bytes("pred", (3, 5)) == Bytes(512, 15)
    assert layout_bytes("bf16", (1, 1), "tpu") == Bytes(512, 2)
    assert layout_bytes("complex<f32>", (8, 128)) == layout_bytes("c64", (8, 128)) == Bytes(8192, 8192)
    assert layout_bytes("index", (), "linear") == Bytes(8, 8)
    assert layout_bytes("f32", (3, 5)).padding == 4 * 128 * 4 - 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layout_bytes("f32", (3,), "gpu"), "unknown target 'gpu': expected one of 'tpu', 'linear'"),
        (lambda: layout_bytes("f31", (3,)), "unknown element type 'f31'"),
        (lambda: layout_bytes("f32", (-1,)), "dimension 0 has negative size -1"),
        (lambda: laid_out("f32[?]"), r"unbounded array f32\[\?\]\{0\} is unsupported"),
        (
            lambda: laid_out("f32[3]", element_size_bits=8),
            r"element size E: expected at least 32 bits for f32, got 8",
        ),
        (lambda: padded_bytes(parse_shape("s8[3]{0:E(4)}")), r"expected at least 8 bits for s8, got 4"),
        (lambda: padded_bytes(parse_shape("f32[3]{0:T(0)}")), "expected sizes of at least 1, got 0"),
        (lambda: padded_bytes(parse_shape("f32[3]{0:D(C)}")), "sparse"),
        (lambda: padded_bytes(parse_shape("f32[3,3]{0,0}")), "expected a permutation of 2 dimensions"),
    ],
)
def test_invalid_arguments(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        call()
