"""Rules that changed between releases of the reference: each as both have it."""

from __future__ import annotations

import pytest

from shardy_py.base import behaviours, releases
from shardy_py.ops import OpRecord, TensorType
from shardy_py.propagation.rules import derive_rule


def f32(*shape: int) -> TensorType:
    return TensorType(shape)


PAD = OpRecord(
    "stablehlo.pad",
    (f32(3), f32()),
    (f32(3),),
    {"edge_padding_low": (1,), "edge_padding_high": (-1,), "interior_padding": (0,)},
)
UPDATE = OpRecord("stablehlo.dynamic_update_slice", (f32(7), f32(1), TensorType((), "i32")), (f32(7),), {})
CONVOLUTION = OpRecord(
    "stablehlo.convolution",
    (f32(1, 11, 2), f32(3, 2, 1)),
    (f32(1, 19, 1),),
    {
        "dimension_numbers": {
            "input_batch_dimension": 0,
            "input_feature_dimension": 2,
            "input_spatial_dimensions": (1,),
            "kernel_input_feature_dimension": 1,
            "kernel_output_feature_dimension": 2,
            "kernel_spatial_dimensions": (0,),
            "output_batch_dimension": 0,
            "output_feature_dimension": 2,
            "output_spatial_dimensions": (1,),
        },
        "padding": ((5, 5),),
    },
)


def reshape(operand: tuple[int, ...], result: tuple[int, ...]) -> OpRecord:
    return OpRecord("stablehlo.reshape", (f32(*operand),), (f32(*result),), {})


@pytest.mark.parametrize(
    ("record", "before", "since"),
    [
        (PAD, "([i], [])->([i]) {i=3}", "([i], [])->([i]) {i=3} permutation={i}"),
        (
            UPDATE,
            "([i], [j], [])->([i]) {i=7, j=1} need_replication={j}",
            "([i], [j], [])->([i]) {i=7, j=1} permutation={i, j}",
        ),
        (
            CONVOLUTION,
            "([i, j, k], [l, k, m])->([i, j, n]) {i=1, j=11, k=2, l=1, m=1, n=1} "
            "reduction={k} permutation={j}",
            "([i, j, l], [k, l, m])->([i, j, n]) {i=1, j=11, k=3, l=2, m=1, n=1} "
            "reduction={l} permutation={j, k}",
        ),
        (
            reshape((3, 2), (2, 3)),
            "([i, l])->([j, k]) {i=3, j=2, k=3, l=2}",
            "([i, k])->([i, j]) {i=3, j=3, k=2} need_replication={j, k} permutation={i}",
        ),
        (
            reshape((6, 4), (4, 6)),
            "([ij, mn])->([ik, ln]) {i=2, j=3, k=2, l=3, m=2, n=2}",
            "([ij, lm])->([ij, km]) {i=2, j=3, k=3, l=2, m=2} need_replication={k, l} permutation={j}",
        ),
    ],
    ids=["pad", "update", "convolution", "reshape", "reshape with common factors"],
)
def test_each_release_has_its_rule(record: OpRecord, before: str, since: str) -> None:
    for name, expected in (("0.10", before), ("0.12", since)):
        with releases.of(name):
            found = str(derive_rule(record)).strip("<>")
        assert found == expected, name


def test_a_change_says_since_when_and_where_its_test_is() -> None:
    for behaviour in behaviours.Behaviour:
        assert behaviour.value.since in (*releases.RELEASES, *releases.TREES)
        assert behaviour.value.reason[0].islower() or behaviour.value.reason.startswith(("JAX", "XLA"))
        with releases.of(releases.NEWEST):
            assert behaviour.holds
        with releases.of(releases.RELEASES[0]):
            assert not behaviour.holds
