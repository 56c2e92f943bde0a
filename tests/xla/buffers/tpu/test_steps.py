"""The steps that XLA:TPU adds to the program of a device, with the bytes that its buffers have on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.ops import CALL, OpRecord, TensorType
from shardy_py.xla.buffers.local_sizes import measured, tiled_bytes
from shardy_py.xla.buffers.needed_orders import TileOrder, needed_orders, sorted_order
from shardy_py.xla.buffers.reshaped_orders import reshaped_orders
from shardy_py.xla.buffers.tpu.exchanged import OrderChange, exchange_of, received_as, sent_as
from shardy_py.xla.buffers.tpu.offsets import Offsets, tile_numbers
from shardy_py.xla.buffers.tpu.records import LOOK_UP, OFFSETS, Records
from shardy_py.xla.buffers.tpu.spread_images import SpreadStep, spread_of, spread_steps
from shardy_py.xla.spmd.tiling import Tiling

R, T, C, J = OrderChange.RESHAPE, OrderChange.TRANSPOSE, OrderChange.COPY, OrderChange.JOIN


@pytest.mark.parametrize(
    ("held", "made", "element", "before", "after"),
    [
        # As the buffers of copy_bitcast_fusion, reshape, all-to-all, reduce, copy of XLA:TPU.
        (
            *((512, 32), (64, 256), "f32"),
            [(R, 131072), (T, 131072), (T, 131072), (R, 65536)],
            [(C, 65536), (R, 131072), (T, 65536)],
        ),
        (
            *((64, 256), (512, 32), "f32"),
            [(C, 131072), (R, 65536)],
            [(C, 65536), (R, 131072), (T, 131072), (T, 131072), (C, 131072), (J, 65536)],
        ),
        # Narrow elements are not copied flat; whole tiles are sent as they are.
        (
            (16, 16, 64),
            (16, 128, 8),
            "bf16",
            [(C, 262144), (T, 262144), (T, 262144), (R, 32768)],
            [(R, 262144), (T, 262144), (T, 262144), (C, 262144), (J, 32768)],
        ),
        ((512, 4096), (4096, 512), "f32", [(T, 8388608), (T, 8388608)], []),
        ((8, 256, 1024), (8, 32, 8192), "f32", [(T, 8388608)], [(T, 8388608)]),
    ],
)
def test_exchanges_are_of_pieces(
    held: tuple[int, ...],
    made: tuple[int, ...],
    element: str,
    before: list[tuple[OrderChange, int]],
    after: list[tuple[OrderChange, int]],
) -> None:
    exchange = exchange_of(held, made)
    assert exchange is not None
    given, result = TensorType(held, element), TensorType(made, element)
    assert [(change, measured(type_, "tpu")) for change, type_ in sent_as(given, exchange)] == before
    assert [
        (change, measured(type_, "tpu")) for change, type_ in received_as(given, result, exchange)
    ] == after


def test_other_exchanges_are_not_known() -> None:
    assert exchange_of((8, 8), (64,)) is None
    assert exchange_of((8, 8, 8), (4, 32, 4)) is None


def test_offsets_are_looked_up_once() -> None:
    """In a table, but where the numbers of parts are those of devices; counts multiply such a number."""
    offsets = Offsets(Records(), 4)
    rows, columns = Tiling((4, 1), 1, (0, 1, 2, 3)), Tiling((1, 2), 2, (0, 2, 1, 3))
    assert [step.record.name for step in offsets.of_tile(rows, 0, 16, None)] == [LOOK_UP]
    assert [step.record.name for step in offsets.of_tile(columns, 1, 64, None)] == [OFFSETS, LOOK_UP]
    assert not [*offsets.of_tile(columns, 1, 64, None)]
    assert tile_numbers(columns, 1) == (0, 1, 0, 1)
    assert [step.record.name for step in offsets.of_count(columns, 1, 8, None)] == [OFFSETS, LOOK_UP]
    assert [step.record.name for step in offsets.of_count(columns, 1, 32, None)] == [LOOK_UP]
    assert [step.record.name for step in offsets.of_group((0, 1))] == [OFFSETS, LOOK_UP]


def _convolution(stride: int) -> OpRecord:
    numbers = {
        **{
            f"{side}_{role}_dimension": d
            for side in ("input", "output")
            for role, d in (("batch", 0), ("feature", 3))
        },
        **{f"{side}_spatial_dimensions": (1, 2) for side in ("input", "output")},
        "kernel_input_feature_dimension": 2,
        "kernel_output_feature_dimension": 3,
        "kernel_spatial_dimensions": (0, 1),
    }
    attributes = {
        "dimension_numbers": numbers,
        "window_strides": (stride, stride),
        "padding": ((1, 1), (1, 1)) if stride == 1 else ((0, 1), (0, 1)),
    }
    image, kernel = TensorType((2, 32, 32, 4), "f32"), TensorType((3, 3, 4, 8), "f32")
    return OpRecord("stablehlo.convolution", (image, kernel), (image,), attributes)


def _bytes(
    record: OpRecord, image: tuple[int, ...], made: tuple[int, ...], whole: int
) -> list[tuple[SpreadStep, int]]:
    spread = spread_of(record, image, (3, 3, image[-1], made[-1]), made, whole)
    assert spread is not None
    steps = spread_steps(record, TensorType(image, "f32"), spread, whole)
    orders = [(each.step, [each.type.shape[d] or 0 for d in reversed(each.minor_to_major)]) for each in steps]
    return [(step, tiled_bytes("bf16", tuple(sizes))) for step, sizes in orders]


def test_images_of_small_batches_are_spread_over_tiles() -> None:
    """As copy.22, pad, slice.6, select_maximum_fusion.2 and copy.12 of XLA:TPU."""
    fused, alone = SpreadStep.FUSED, SpreadStep.ALONE
    assert _bytes(_convolution(1), (2, 32, 32, 4), (2, 32, 32, 8), 0) == [
        *((fused, 65536), (alone, 81920), (alone, 28672)),
        *((fused, 114688), (fused, 114688), (alone, 229376)),
    ]
    assert _bytes(_convolution(2), (2, 32, 32, 8), (2, 16, 16, 32), 40) == [
        *((alone, 163840), (alone, 131072), (alone, 57344)),
        *((fused, 196608), (fused, 196608), (alone, 393216)),
    ]


def test_parts_stay_where_a_window_of_their_stride_reads_them() -> None:
    """As the gradient of an input: 9 of 72 elements each; parts of 5 do not begin at each second element."""
    same = spread_of(_convolution(1), (2, 64, 64, 4), (3, 3, 4, 8), (2, 64, 64, 8), 72)
    smaller = spread_of(_convolution(2), (2, 32, 32, 4), (3, 3, 4, 8), (2, 16, 16, 8), 40)
    assert (same and same.part, smaller and smaller.part) == (9, 4)


def test_large_batches_and_kernels_are_not_spread() -> None:
    record = _convolution(1)
    assert spread_of(record, (8, 32, 32, 4), (3, 3, 4, 8), (8, 32, 32, 8)) is None
    assert spread_of(record, (2, 4, 4, 4), (3, 3, 4, 8), (2, 4, 4, 8)) is None
    assert spread_of(record, (2, 32, 32, 4), (32, 32, 4, 8), (2, 3, 3, 8)) is None


def test_calls_are_row_major() -> None:
    matrices, order = TensorType((128, 8, 8), "f32"), TensorType((128, 8), "i32")
    call = OpRecord(CALL, (matrices,), (matrices, order), {"call_target_name": "LuDecompositionBlock"})
    orders = dict(needed_orders(call, [(128, 8, 8)], (128, 8, 8)))
    assert {number: each.minor_to_major for number, each in orders.items()} == {
        0: (2, 1, 0),
        -1: (2, 1, 0),
        -2: (1, 0),
    }
    kernel = OpRecord(CALL, (matrices,), (matrices,), {"call_target_name": "InvertDiagBlocksLowerTriangular"})
    assert not [*needed_orders(kernel, [(128, 8, 8)], (128, 8, 8))]


@pytest.mark.parametrize(
    ("shape", "dimension", "order"),
    [
        # As XLA:TPU (v5p) compiled sorts.
        ((32, 64), 1, (0, 1)),
        ((100, 120), 1, (0, 1)),
        ((96, 160), 1, (0, 1)),
        ((128, 1000), 1, (0, 1)),
        ((128, 8192), 1, (0, 1)),
        ((8, 128), 1, (1, 0)),
        ((120, 1000), 1, (1, 0)),
        ((300, 1000), 1, (1, 0)),
        ((300, 200), 0, (0, 1)),
        ((50000, 7), 0, (0, 1)),
        ((4, 100, 300), 1, (2, 1, 0)),
        ((4, 100, 300), 2, (2, 0, 1)),
        ((100, 16, 300), 0, (2, 0, 1)),
        ((4, 1000, 8), 1, (1, 2, 0)),
        ((1000, 4, 8), 0, (0, 2, 1)),
    ],
)
def test_what_is_sorted_is_in_rows(shape: tuple[int, ...], dimension: int, order: tuple[int, ...]) -> None:
    """Unless it fills lanes with less padding."""
    assert sorted_order(TensorType(shape), dimension).minor_to_major == order


def test_sorts_read_all_in_one_order() -> None:
    record = OpRecord("stablehlo.sort", (), (TensorType((32, 64)),), {"dimension": 1})
    order = TileOrder((0, 1), (32, 64))
    assert [*needed_orders(record, [(32, 64), (32, 64)], (32, 64))] == [(-1, order), (0, order), (1, order)]


def test_words_alone_in_rows_have_tiles_of_one_row() -> None:
    assert tiled_bytes("f32", (1, 128)) == 512
    assert tiled_bytes("bf16", (1, 128)) == 512
    assert tiled_bytes("f32", (2, 128)) == 1024


@pytest.mark.parametrize(
    ("held", "made", "orders"),
    [
        # As XLA:TPU (v5p) compiled reshapes of exp(x), which is in the order of the argument.
        ((1024, 16), (16384,), ((1, 0), (0,))),
        ((256, 2), (2, 256), ((1, 0), (1, 0))),
        ((256, 8), (32, 64), ((1, 0), (1, 0))),
        ((128, 4, 2), (512, 2), ((1, 0, 2), (0, 1))),
        ((40, 12, 3), (480, 3), ((1, 0, 2), (0, 1))),
        ((512,), (256, 2), (None, (1, 0))),
        ((32, 64), (256, 8), (None, (1, 0))),
        ((128, 16), (2, 64, 16), None),
        ((1024, 16), (8, 128, 16), None),
        ((512, 6, 8), (512, 48), None),
    ],
)
def test_reshapes_keep_the_order_of_elements(
    held: tuple[int, ...], made: tuple[int, ...], orders: tuple[object, ...] | None
) -> None:
    assert reshaped_orders(held, made, "f32") == orders


def test_a_column_is_copied_into_rows_before_it_is_reshaped() -> None:
    """XLA:TPU (v5p) has f32[1024,4]{0,1} of 16 KiB in lanes, and copies it to {1,0}, of 512 KiB."""
    text = """
    func.func @main(%x: tensor<1024x4xf32>) -> tensor<4096xf32> {
      %0 = stablehlo.sine %x : tensor<1024x4xf32>
      %1 = stablehlo.reshape %0 : (tensor<1024x4xf32>) -> tensor<4096xf32>
      return %1 : tensor<4096xf32>
    }"""
    estimate = propagate(Program.parse(text), progress=False).memory("tpu-v5p").estimate
    assert 512 << 10 <= estimate.temporaries <= (512 + 64) << 10
