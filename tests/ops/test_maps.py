"""Maps of single ops: against the text that is expected of them, and against numpy on random ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardy_py.indexing import parse_map, reads
from shardy_py.ops import OpRecord, indexing_maps
from shardy_py.ops.reads import shape_of
from tests.conftest import examples
from tests.ops.examples import CONVOLUTION, SCALAR, op, t
from tests.propagation.rules import instances

I32 = t(element="i32")
SLICE = {"start_indices": (5, 3, 0), "limit_indices": (10, 20, 50), "strides": (1, 7, 2)}
PAD = {"edge_padding_low": (1, 4), "edge_padding_high": (4, 8), "interior_padding": (1, 0)}
DOT = {
    "lhs_batching_dimensions": (0,),
    "rhs_batching_dimensions": (0,),
    "lhs_contracting_dimensions": (2,),
    "rhs_contracting_dimensions": (1,),
}
GATHER = {
    "offset_dims": (1, 2, 3),
    "collapsed_slice_dims": (),
    "start_index_map": (0, 1),
    "index_vector_dim": 1,
}
ADD = op("stablehlo.add", [t(10, 20)] * 2, [t(10, 20)])
REVERSED = op("stablehlo.reverse", [t(1, 17, 9, 9)], [t(1, 17, 9, 9)], dimensions=(1, 2))
CASES: dict[str, tuple[OpRecord, list[str]]] = {
    "add": (ADD, ["(d0, d1) -> (d0, d1), domain: d0 in [0, 9], d1 in [0, 19]"] * 2),
    "broadcast": (
        op("stablehlo.broadcast_in_dim", [t(20)], [t(10, 20, 30)], broadcast_dimensions=(1,)),
        ["(d0, d1, d2) -> (d1), domain: d0 in [0, 9], d1 in [0, 19], d2 in [0, 29]"],
    ),
    "dynamic_slice": (
        op("stablehlo.dynamic_slice", [t(2, 2, 258), I32, I32, I32], [t(1, 2, 32)], slice_sizes=(1, 2, 32)),
        [
            "(d0, d1, d2){rt0, rt1, rt2} -> (d0 + rt0, d1 + rt1, d2 + rt2), domain: d0 in [0, 0],"
            "d1 in [0, 1], d2 in [0, 31], rt0 in [0, 1], rt1 in [0, 0], rt2 in [0, 226]",
            *["(d0, d1, d2) -> (), domain: d0 in [0, 0], d1 in [0, 1], d2 in [0, 31]"] * 3,
        ],
    ),
    "dynamic_update_slice": (
        op("stablehlo.dynamic_update_slice", [t(20, 30), t(5, 10), I32, I32], [t(20, 30)]),
        [
            "(d0, d1) -> (d0, d1), domain: d0 in [0, 19], d1 in [0, 29]",
            "(d0, d1){rt0, rt1} -> (d0 - rt0, d1 - rt1), domain: d0 in [0, 19], d1 in [0, 29],"
            "rt0 in [0, 15], rt1 in [0, 20], d0 - rt0 in [0, 4], d1 - rt1 in [0, 9]",
            *["(d0, d1) -> (), domain: d0 in [0, 19], d1 in [0, 29]"] * 2,
        ],
    ),
    "gather": (
        op(
            "stablehlo.gather",
            [t(33, 76, 70), t(1806, 2, element="i32")],
            [t(1806, 7, 8, 4)],
            dimension_numbers=GATHER,
            slice_sizes=(7, 8, 4),
        ),
        [
            "(d0, d1, d2, d3){rt0, rt1} -> (d1 + rt0, d2 + rt1, d3), domain: d0 in [0, 1805], d1 in [0, 6],"
            "d2 in [0, 7], d3 in [0, 3], rt0 in [0, 26], rt1 in [0, 68]",
            "(d0, d1, d2, d3)[s0] -> (d0, s0), domain: d0 in [0, 1805], d1 in [0, 6], d2 in [0, 7],"
            "d3 in [0, 3], s0 in [0, 1]",
        ],
    ),
    "transpose": (
        op("stablehlo.transpose", [t(3, 12288, 6, 128)], [t(3, 6, 128, 12288)], permutation=(0, 2, 3, 1)),
        [
            "(d0, d1, d2, d3) -> (d0, d3, d1, d2), domain: d0 in [0, 2], d1 in [0, 5], d2 in [0, 127],"
            "d3 in [0, 12287]"
        ],
    ),
    "reverse": (
        REVERSED,
        [
            "(d0, d1, d2, d3) -> (d0, -d1 + 16, -d2 + 8, d3), domain: d0 in [0, 0], d1 in [0, 16],"
            "d2 in [0, 8], d3 in [0, 8]"
        ],
    ),
    "reduce": (
        op("stablehlo.reduce", [t(256, 10)] * 2 + [SCALAR] * 2, [t(10)] * 2, dimensions=(0,)),
        [
            *["(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255]"] * 2,
            *["(d0) -> (), domain: d0 in [0, 9]"] * 2,
        ],
    ),
    "slice": (
        op("stablehlo.slice", [t(10, 20, 50)], [t(5, 3, 25)], **SLICE),
        ["(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2), domain: d0 in [0, 4], d1 in [0, 2], d2 in [0, 24]"],
    ),
    "collapse": (
        op("stablehlo.reshape", [t(4, 8)], [t(32)]),
        ["(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"],
    ),
    "expand": (
        op("stablehlo.reshape", [t(32)], [t(4, 8)]),
        ["(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"],
    ),
    "reshape": (
        op("stablehlo.reshape", [t(4, 8)], [t(2, 4, 4)]),
        [
            "(d0, d1, d2) -> (d0 * 2 + d1 floordiv 2, d2 + (d1 mod 2) * 4), domain: d0 in [0, 1],"
            "d1 in [0, 3], d2 in [0, 3]"
        ],
    ),
    "reshape_in_runs": (
        op("stablehlo.reshape", [t(4, 8, 12)], [t(32, 3, 4)]),
        [
            "(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2), domain: d0 in [0, 31], d1 in [0, 2],"
            "d2 in [0, 3]"
        ],
    ),
    "concatenate": (
        op("stablehlo.concatenate", [t(2, 5, 7), t(2, 11, 7), t(2, 17, 7)], [t(2, 33, 7)], dimension=1),
        [
            "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 1], d1 in [0, 4], d2 in [0, 6]",
            "(d0, d1, d2) -> (d0, d1 - 5, d2), domain: d0 in [0, 1], d1 in [5, 15], d2 in [0, 6]",
            "(d0, d1, d2) -> (d0, d1 - 16, d2), domain: d0 in [0, 1], d1 in [16, 32], d2 in [0, 6]",
        ],
    ),
    "dot_general": (
        op(
            "stablehlo.dot_general",
            [t(4, 128, 256), t(4, 256, 64)],
            [t(4, 128, 64)],
            dot_dimension_numbers=DOT,
        ),
        [
            f"(d0, d1, d2)[s0] -> ({reads_}), domain: d0 in [0, 3], d1 in [0, 127],"
            "d2 in [0, 63], s0 in [0, 255]"
            for reads_ in ("d0, d1, s0", "d0, s0, d2")
        ],
    ),
    "pad": (
        op("stablehlo.pad", [t(4, 4), SCALAR], [t(12, 16)], **PAD),
        [
            "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7],"
            "(d0 - 1) mod 2 in [0, 0]",
            "(d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]",
        ],
    ),
    "convolution": (
        op(
            "stablehlo.convolution",
            [t(2, 9, 4), t(3, 2, 6)],
            [t(2, 3, 6)],
            dimension_numbers=CONVOLUTION,
            window_strides=(2,),
            padding=((1, 0),),
            rhs_dilation=(2,),
            window_reversal=(True,),
            feature_group_count=2,
        ),
        [
            "(d0, d1, d2)[s0, s1] -> (d0, d1 * 2 - s0 * 2 + 3, s1 + (d2 floordiv 3) * 2), domain:"
            "d0 in [0, 1], d1 in [0, 2], d2 in [0, 5], s0 in [0, 2], s1 in [0, 1],"
            "d1 * 2 - s0 * 2 + 3 in [0, 8]",
            "(d0, d1, d2)[s0, s1] -> (s0, s1, d2), domain: d0 in [0, 1], d1 in [0, 2], d2 in [0, 5],"
            "s0 in [0, 2], s1 in [0, 1]",
        ],
    ),
    "reduce_window": (
        op("stablehlo.reduce_window", [t(1024, 514), SCALAR], [t(1024, 3)], window_dimensions=(1, 512)),
        [
            "(d0, d1)[s0] -> (d0, d1 + s0), domain: d0 in [0, 1023], d1 in [0, 2], s0 in [0, 511]",
            "(d0, d1) -> (), domain: d0 in [0, 1023], d1 in [0, 2]",
        ],
    ),
}
SIMPLIFIED = ("reshape", "reshape_in_runs", "reduce_window")


@pytest.mark.parametrize("name", CASES)
def test_expected_maps(name: str) -> None:
    record, expected = CASES[name]
    maps = indexing_maps(record)
    assert maps is not None
    for by_operand in maps:
        got = [m.simplified if m and name in SIMPLIFIED else m for m in by_operand]
        assert list(map(str, got)) == [str(parse_map(text)) for text in expected]


def moved(record: OpRecord, arrays: list[Any]) -> Any:
    """What numpy makes of the operands."""
    a = record.attributes
    match record.name:
        case "stablehlo.transpose":
            return np.transpose(arrays[0], a["permutation"])
        case "stablehlo.reshape":
            return arrays[0].reshape(shape_of(record.results[0]))
        case "stablehlo.reverse":
            return np.flip(arrays[0], a["dimensions"])
        case "stablehlo.slice":
            parts = zip(a["start_indices"], a["limit_indices"], a["strides"], strict=True)
            return arrays[0][tuple(slice(*part) for part in parts)]
        case "stablehlo.concatenate":
            return np.concatenate(arrays, a["dimension"])
        case "stablehlo.broadcast_in_dim":
            order = np.argsort(a["broadcast_dimensions"], kind="stable")
            shape = [1] * len(shape_of(record.results[0]))
            for d, target in enumerate(a["broadcast_dimensions"]):
                shape[target] = arrays[0].shape[d]
            return np.broadcast_to(
                arrays[0].transpose([int(i) for i in order]).reshape(shape), shape_of(record.results[0])
            )
        case _:
            raise NotImplementedError(record.name)


MOVEMENT: dict[str, Callable[[], Any]] = {
    "transpose": instances.transpose,
    "reshape": instances.reshape,
    "reverse": instances.reverse,
    "slice": instances.slice_,
    "concatenate": instances.concatenate,
    "broadcast_in_dim": instances.broadcast_in_dim,
}


@pytest.mark.parametrize("family", MOVEMENT)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_maps_move_elements_as_numpy_does(family: str, data: st.DataObject) -> None:
    record = data.draw(MOVEMENT[family]())
    arrays: list[Any] = []
    start = 0
    for operand in record.operands:
        shape = shape_of(operand)
        size = int(np.prod(shape))
        arrays.append(np.arange(start, start + size).reshape(shape))
        start += size
    expected = moved(record, arrays)
    if expected.size > 2000:
        return
    maps = indexing_maps(record)
    assert maps is not None
    got = np.full(expected.shape, -1)
    for array, index_map in zip(arrays, maps[0], strict=True):
        assert index_map is not None
        for element, sources in reads(index_map).items():
            (source,) = sources
            assert got[element] == -1
            got[element] = array[source]
    assert (got == expected).all()


def test_reshaped_and_back_is_the_identity() -> None:
    there = indexing_maps(op("stablehlo.reshape", [t(10, 10, 10)], [t(50, 20)]))
    back = indexing_maps(op("stablehlo.reshape", [t(50, 20)], [t(10, 10, 10)]))
    assert there
    assert back
    assert there[0][0]
    assert back[0][0]
    composed = back[0][0].compose(there[0][0]).simplified
    expected = "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 9], d1 in [0, 9], d2 in [0, 9]"
    assert str(composed) == str(parse_map(expected))
