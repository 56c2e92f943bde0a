"""What the verifier accepts and says, and what generic form shows, in each release of the reference."""

from __future__ import annotations

import pytest

from shardy_py.base import releases
from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module

REDUCED = """sdy.mesh @mesh = <["a"=2, "b"=2]>
sdy.mesh @device = <[], device_ids=[0]>
func.func @main(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<{given}>}}) -> tensor<8xf32> {{
  %0 = {op} out_sharding=<@mesh, {made}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}}
"""


def fault(text: str, release: str) -> str:
    """The first fault of a program, empty without one."""
    with releases.of(release):
        try:
            verify_module(parse_module(text))
        except ShardyError as error:
            return error.diagnostics[0].message
    return ""


@pytest.mark.parametrize(
    ("op", "made"),
    [
        ('sdy.all_reduce {"a"} %x', '[{}], unreduced={"b"}'),
        ('sdy.reduce_scatter [{"a"}] %x', '[{"a"}], unreduced={"b"}'),
    ],
)
def test_reductions_add_no_unreduced_axes(op: str, made: str) -> None:
    text = REDUCED.format(given="@mesh, [{}]", op=op, made=made)
    assert fault(text, "0.10") == ""
    assert fault(text, "0.12").endswith("op cannot add new unreduced axis 'b'.")


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ('sdy.sharded_to_unreduced [{"a"}] %x', "out_sharding reduction_op must be SUM"),
        ('sdy.replicated_to_unreduced {"a"} %x', "out_sharding reduction_op must be SUM"),
        ("sdy.reshard %x", "cannot introduce 'max' unreduced axes. Expected 'sum'."),
        ("sdy.sharding_constraint %x", "cannot introduce 'max' unreduced axes. Expected 'sum'."),
    ],
)
def test_maxima_are_introduced(op: str, said: str) -> None:
    given = '@mesh, [{"a"}]' if "sharded_to" in op else "@mesh, [{}]"
    text = REDUCED.format(given=given, op=op, made='[{}], unreduced=max{"a"}')
    if "to_unreduced" not in op:
        text = text.replace("out_sharding=", "")
    assert fault(text, "shardy-2026-08-22").endswith(f"op {said}")
    assert fault(text, "0.12") == ""


def test_the_word_for_one_device() -> None:
    text = REDUCED.format(given="@device, [{}]", op="sdy.all_gather [{}] %x", made="[{}]")
    rest = "sharding can only have a sharding with rank 0 and no replicated or unreduced axes."
    assert fault(text, "0.10") == f"'func.func' op arg 0 - a maximal {rest}"
    assert fault(text, "0.12") == f"'func.func' op arg 0 - a single-device {rest}"


def test_generic_form_shows_sums() -> None:
    text = REDUCED.format(given="@mesh, [{}]", op='sdy.all_reduce {"a"} %x', made="[{}]")
    module = parse_module(text)
    for release, is_shown in (("0.10", False), ("0.12", True), ("0.10", False)):
        with releases.of(release):
            printed = print_module(module, generic=True)
        assert ('reduction_axes = #sdy<axis_ref_list{"a"}>, reduction_op = 0 : i32}' in printed) is is_shown
        with releases.of(release):
            assert print_module(parse_module(printed)) == print_module(module)
