"""Products that XLA:TPU computes in loops of permutes, with the temporaries that it allocates on v5p."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.mlir.dialects.stablehlo import CollectivePermuteOp, DotGeneralOp
from shardy_py.ops import OpRecord
from shardy_py.xla.buffers.schedule import is_in_loop
from shardy_py.xla.buffers.tpu.einsum_loops import is_gathered, products_in_loops
from shardy_py.xla.spmd.model import PlannedCollective
from shardy_py.xla.spmd.program import Name, PlannedOp
from shardy_py.xla.spmd.walk import Sent

_MIB = 1 << 20
_X = '%x: tensor<16x1024x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}, {}]>}'


def _temporaries(body: str, arguments: str, made: str) -> int:
    text = f"""
    sdy.mesh @mesh = <["d"=8]>
    func.func @main({_X}, {arguments}) -> tensor<{made}> {{
      {body}
    }}"""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    return result.memory("tpu-v5p").estimate.temporaries


_FIRST = """%p = stablehlo.dot_general %x, %a, contracting_dims = [2] x [0]
        : (tensor<16x1024x2048xbf16>, tensor<2048x8192xbf16>) -> tensor<16x1024x8192xbf16>"""
_A = '%a: tensor<2048x8192xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {}]>}'
_TANH = "%t = stablehlo.tanh %p : tensor<16x1024x8192xbf16>"


@pytest.mark.parametrize(
    ("body", "made"),
    [
        (f"{_FIRST}\n return %p : tensor<16x1024x8192xbf16>", "16x1024x8192xbf16"),
        (f"{_FIRST}\n {_TANH}\n return %t : tensor<16x1024x8192xbf16>", "16x1024x8192xbf16"),
    ],
    ids=["returned", "with tanh, which is not in the product"],
)
def test_an_iteration_makes_a_part_of_the_sum_as_large_as_the_result(body: str, made: str) -> None:
    compiled = 48.1 * _MIB  # 32 for the part, 16 for four shards
    assert 0.9 <= _temporaries(body, _A, made) / compiled <= 1.1


@pytest.mark.parametrize("spec", ['[{"d"}, {}]', '[{}, {"d"}]'], ids=["summed over", "put beside others"])
def test_a_loop_reads_what_is_stored(spec: str) -> None:
    body = f"""{_FIRST}
      {_TANH}
      %q = stablehlo.dot_general %t, %b, contracting_dims = [2] x [0]
        : (tensor<16x1024x8192xbf16>, tensor<8192x2048xbf16>) -> tensor<16x1024x2048xbf16>
      return %q : tensor<16x1024x2048xbf16>"""
    arguments = f"{_A}, %b: tensor<8192x2048xbf16> {{sdy.sharding = #sdy.sharding<@mesh, {spec}>}}"
    compiled = 120 * _MIB  # with what is free between buffers; 68 if the products took in the tanh
    assert 0.8 <= _temporaries(body, arguments, "16x1024x2048xbf16") / compiled <= 1.1


def test_parts_of_sums_are_made_two_at_once() -> None:
    text = f"""
    sdy.mesh @mesh = <["d"=8]>
    func.func @main({_X}, {_X.replace("%x", "%y").replace("2048", "8192")})
        -> (tensor<2048x8192xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"d"}}, {{}}]>}}) {{
      %p = stablehlo.dot_general %x, %y, contracting_dims = [0, 1] x [0, 1]
        : (tensor<16x1024x2048xbf16>, tensor<16x1024x8192xbf16>) -> tensor<2048x8192xbf16>
      return %p : tensor<2048x8192xbf16>
    }}"""
    result = propagate(Program.parse(text, as_compiled=True), progress=False)
    compiled = 28.2 * _MIB  # 8 for two parts, 12 for three that go around, 8 for a copy of %x in columns
    assert 0.9 <= result.memory("tpu-v5p").estimate.temporaries / compiled <= 1.1


def _permute(kind: str, devices: int) -> PlannedCollective:
    instead = PlannedCollective(kind, devices, "f32", (8, 8))
    return PlannedCollective("collective_permute", 2, "f32", (8, 8), instead=instead)


def test_products_of_shards_and_of_parts_of_sums_are_loops() -> None:
    def step(name: str, operands: tuple[str, ...], made: str) -> PlannedOp:
        record = OpRecord(name, (None,) * len(operands), (None,), {})
        return PlannedOp(record, operands, (made,), ())

    steps = [
        step(CollectivePermuteOp.name, ("w",), "shard"),
        step(DotGeneralOp.name, ("x", "shard"), "y"),
        step(DotGeneralOp.name, ("x", "y"), "part"),
        step(CollectivePermuteOp.name, ("part",), "sum"),
        step(DotGeneralOp.name, ("sum", "y"), "z"),
    ]
    sent = [
        [Sent(steps[0], _permute("all_gather", 8), 0)],
        [],
        [],
        [Sent(steps[3], _permute("all_reduce", 8), 0)],
        [],
    ]
    users: dict[Name, list[int]] = {"shard": [1], "y": [2, 4], "part": [3], "sum": [4]}
    assert products_in_loops(steps, sent, users) == {1, 2}


def test_the_only_iteration_of_four_devices_is_no_loop() -> None:
    assert is_gathered(_permute("all_gather", 4)) is None
    assert is_gathered(_permute("all_gather", 8)) is True
    assert is_gathered(_permute("all_reduce", 8)) is False
    assert is_gathered(PlannedCollective("collective_permute", 2, "f32", (8,))) is None


def test_values_of_loops_have_names_of_their_own() -> None:
    assert is_in_loop(("loop", 3, "start"))
    assert not any(map(is_in_loop, (3, "loop", ("copy", 3), None)))
