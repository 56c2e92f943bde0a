"""Both directions of ops, as text; compositions; what is declared and not stated."""

from __future__ import annotations

from time import process_time

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.indexing import parse_map
from shardy_py.ops import OpRecord, TensorType, input_to_output, is_exact, output_to_input, reads_everything
from shardy_py.sharding import Factor, FactorType, ShardingRule
from tests.ops.examples import SCALAR, op, t
from tests.ops.test_maps import CASES

REVERSED = {
    "add": ["(d0, d1) -> (d0, d1), domain: d0 in [0, 9], d1 in [0, 19]"] * 2,
    "broadcast": ["(d0)[s0, s1] -> (s0, d0, s1), domain: d0 in [0, 19], s0 in [0, 9], s1 in [0, 29]"],
    "transpose": [
        "(d0, d1, d2, d3) -> (d0, d2, d3, d1), domain: d0 in [0, 2], d1 in [0, 12287], d2 in [0, 5],"
        "d3 in [0, 127]"
    ],
    "reverse": CASES["reverse"][1],
    "reduce": [
        *["(d0, d1) -> (d1), domain: d0 in [0, 255], d1 in [0, 9]"] * 2,
        *["()[s0] -> (s0), domain: s0 in [0, 9]"] * 2,
    ],
    "slice": [
        "(d0, d1, d2) -> (d0 - 5, (d1 - 3) floordiv 7, d2 floordiv 2), domain: d0 in [5, 9], d1 in [3, 17],"
        "d2 in [0, 48], (d1 - 3) mod 7 in [0, 0], d2 mod 2 in [0, 0]"
    ],
    "collapse": ["(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"],
    "expand": ["(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"],
    "reshape": [
        "(d0, d1) -> (d0 floordiv 2, d1 floordiv 4 + (d0 mod 2) * 2, d1 mod 4), domain: d0 in [0, 3],"
        "d1 in [0, 7]"
    ],
    "reshape_in_runs": [
        "(d0, d1, d2) -> (d0 * 8 + d1, d2 floordiv 4, d2 mod 4), domain: d0 in [0, 3], d1 in [0, 7],"
        "d2 in [0, 11]"
    ],
    "concatenate": [
        f"(d0, d1, d2) -> (d0, d1{shift}, d2), domain: d0 in [0, 1], d1 in [0, {last}], d2 in [0, 6]"
        for shift, last in (("", 4), (" + 5", 10), (" + 16", 16))
    ],
    "dot_general": [
        "(d0, d1, d2)[s0] -> (d0, d1, s0),"
        "domain: d0 in [0, 3], d1 in [0, 127], d2 in [0, 255], s0 in [0, 63]",
        "(d0, d1, d2)[s0] -> (d0, s0, d2),"
        "domain: d0 in [0, 3], d1 in [0, 255], d2 in [0, 63], s0 in [0, 127]",
    ],
    "pad": [
        "(d0, d1) -> (d0 * 2 + 1, d1 + 4), domain: d0 in [0, 3], d1 in [0, 3]",
        "()[s0, s1] -> (s0, s1), domain: s0 in [0, 11], s1 in [0, 15]",
    ],
}


@pytest.mark.parametrize("name", [name for name in CASES if name != "convolution"])
def test_output_to_input(name: str) -> None:
    record, expected = CASES[name]
    for by_operand in output_to_input(record):
        assert [str(m) for (m,) in by_operand] == [str(parse_map(text)) for text in expected]


@pytest.mark.parametrize("name", REVERSED)
def test_input_to_output(name: str) -> None:
    by_operand = input_to_output(CASES[name][0])
    for got, expected in zip(by_operand, REVERSED[name], strict=True):
        assert [str(m) for (m,) in got] == [str(parse_map(expected))] * len(got)


def only(record: OpRecord):
    return output_to_input(record)[0][0][0]


def test_a_bitcast_is_a_transpose_a_reshape_and_a_transpose() -> None:
    layouts = {"operand_layout": (0, 2, 1), "result_layout": (0, 1)}
    bitcast = only(op("hlo.bitcast", [t(4, 6, 2)], [t(8, 6)], **layouts))
    chain = [
        op("stablehlo.transpose", [t(6, 8)], [t(8, 6)], permutation=(1, 0)),
        op("stablehlo.reshape", [t(6, 2, 4)], [t(6, 8)]),
        op("stablehlo.transpose", [t(4, 6, 2)], [t(6, 2, 4)], permutation=(1, 2, 0)),
    ]
    first, second, third = map(only, chain)
    assert bitcast == first * second * third


def test_a_padded_window_is_a_window_of_what_is_padded() -> None:
    window = {"window_dimensions": (3, 2), "window_strides": (2, 1)}
    padded = op("stablehlo.reduce_window", [t(9, 4), SCALAR], [t(5, 5)], padding=((1, 1), (0, 2)), **window)
    edges = {"edge_padding_low": (1, 0), "edge_padding_high": (1, 2), "interior_padding": (0, 0)}
    pad = op("stablehlo.pad", [t(9, 4), SCALAR], [t(11, 6)], **edges)
    plain = op("stablehlo.reduce_window", [t(11, 6), SCALAR], [t(5, 5)], **window)
    assert only(padded) == only(plain) * only(pad)


def test_a_custom_call_reads_what_its_rule_lets_it() -> None:
    factors = (Factor(4), Factor(8), Factor(3), Factor(5, FactorType.NEED_REPLICATION))
    rule = ShardingRule(factors, (((0, 1), (2,)), ((3,), (0,))), (((0,), (1, 2)),))
    attributes = {"call_target_name": "mine", "sdy.sharding_rule": rule}
    record = op("stablehlo.custom_call", [t(32, 3), t(5, 4)], [t(4, 24)], **attributes)
    first, second = output_to_input(record)[0]
    assert str(first[0]).splitlines()[0] == "(d0, d1) -> (d0 * 8 + d1 floordiv 3, d1 mod 3),"
    assert str(second[0]).splitlines()[0] == "(d0, d1)[s0] -> (s0, d0),"
    assert not is_exact(record)
    assert not reads_everything(record)


def test_what_is_not_stated_reads_everything() -> None:
    record = op("stablehlo.while", [t(2), None], [t(2), None])
    (to_first, to_token), (of_token, _) = output_to_input(record)
    assert [str(m).splitlines()[0] for m in to_first] == ["(d0)[s0] -> (s0),"]
    assert to_token == of_token == ()
    assert reads_everything(record)
    assert not is_exact(record)


def test_exactness_is_told_by_operand() -> None:
    record = CASES["pad"][0]
    assert is_exact(record, 0)
    assert not is_exact(record, 1)
    assert not is_exact(record)


def test_attributes_that_do_not_fit_are_named() -> None:
    with pytest.raises(
        ShardyError, match=r"'stablehlo.transpose' op has attributes that do not match its types"
    ):
        output_to_input(op("stablehlo.transpose", [t(2, 3)], [t(3, 2)], permutation=(0, 5)))


def test_many_results_take_linear_time() -> None:
    start = process_time()
    record = OpRecord("stablehlo.custom_call", (TensorType((2,)),), (TensorType((2,)),) * 20_000)
    assert len(output_to_input(record)) == 20_000
    assert process_time() - start < 12  # quadratic: 20 s


def test_a_reshape_of_many_dimensions_takes_linear_time() -> None:
    start = process_time()
    record = OpRecord("stablehlo.reshape", (TensorType((8,)),), (TensorType((8, *(1,) * 20_000)),))
    ((maps,),) = output_to_input(record)
    assert len(maps) == 1
    assert process_time() - start < 12  # quadratic: minutes
