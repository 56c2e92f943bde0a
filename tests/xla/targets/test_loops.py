"""Loops of permutes for products, and the padding of scattered sums, on TPUs.

What XLA:TPU made of the programs of `loop_models.py` is in `compiled_loops.json`; nothing is compiled here.
"""

from __future__ import annotations

import json

import pytest

from shardy_py import Program, propagate
from shardy_py.report.communication import CommunicationReport
from shardy_py.xla.targets.padding import ScatteredParts

_GATHERED = """
sdy.mesh @mesh = <["a"={devices}]>
func.func @main(%x: tensor<{rows}x512x{type}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}},
                %w: tensor<512x256x{type}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}})
    -> (tensor<{rows}x256x{type}> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}}) {{
  {copied}
  %1 = stablehlo.dot_general %x, {weight}, contracting_dims = [1] x [0]
      : (tensor<{rows}x512x{type}>, tensor<512x256x{type}>) -> tensor<{rows}x256x{type}>
  return %1 : tensor<{rows}x256x{type}>
}}
"""
_SUMMED = """
sdy.mesh @mesh = <["a"={devices}]>
func.func @main(%x: tensor<512x{rows}xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"a"}}]>}},
                %w: tensor<{rows}x256xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}})
    -> (tensor<512x256xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<512x{rows}xbf16>, tensor<{rows}x256xbf16>) -> tensor<512x256xbf16>
  return %0 : tensor<512x256xbf16>
}}
"""
_COPIED = "%0 = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<512x256xbf16>"


def _report(text: str, target: str) -> CommunicationReport:
    return propagate(Program.parse(text), progress=False).communication(target=target)


def _sent(text: str, target: str) -> list[tuple[str, int]]:
    """The kind and the runs of each collective."""
    return [(use.kind, use.times) for use in _report(text, target).sending]


def _gathered(devices: int, rows: int, type_: str = "bf16", *, copied: bool = False) -> str:
    copy, weight = (_COPIED, "%0") if copied else ("", "%w")
    return _GATHERED.format(devices=devices, rows=rows, type=type_, copied=copy, weight=weight)


@pytest.mark.parametrize(
    ("target", "devices", "rows", "loops"),
    [
        ("tpu-v5e", 8, 4216, False),
        ("tpu-v5e", 8, 4232, True),
        ("tpu-v5e", 16, 4272, True),
        ("tpu-v5p", 8, 4216, False),
        ("tpu-v5p", 8, 4224, True),
        ("tpu-v6e", 8, 9832, False),
        ("tpu-v6e", 8, 9840, True),
        ("tpu-v5e", 2, 2**20, False),
        ("tpu-v5e", 64, 2**20, False),
        ("h100", 8, 2**20, False),
    ],
)
def test_products_of_many_rows_are_loops(target: str, devices: int, rows: int, loops: bool) -> None:
    """The last sizes of which XLA:TPU made none, and the first of which it made one."""
    expected = ("collective_permute", devices + 1) if loops else ("all_gather", 1)
    assert _sent(_gathered(devices, rows), target) == [expected]


def test_a_loop_of_floats_needs_twice_the_rows() -> None:
    assert _sent(_gathered(8, 8432, "f32"), "tpu-v5e") == [("all_gather", 1)]
    (use,) = _report(_gathered(8, 8464, "f32"), "tpu-v5e").sending
    assert (use.kind, use.type.element, use.held_bytes) == ("collective_permute", "bf16", 512 * 256 * 2 // 8)


def test_what_the_program_gathers_is_no_loop() -> None:
    assert _sent(_gathered(8, 8192, copied=True), "tpu-v5e") == [("all_gather", 1)]


@pytest.mark.parametrize(("target", "loops"), [("tpu-v5e", True), ("tpu-v5p", False)])
def test_four_devices_of_a_plane_of_three_dimensions_are_no_loop(target: str, loops: bool) -> None:
    assert _sent(_gathered(4, 65536), target) == [("collective_permute", 3) if loops else ("all_gather", 1)]


@pytest.mark.parametrize("targets", [("tpu-v5e", None, "tpu-v5e"), (None, "tpu-v5e", None, "h100")])
def test_reports_of_one_result_do_not_depend_on_those_before(targets: tuple[str | None, ...]) -> None:
    result = propagate(Program.parse(_gathered(8, 8192)), progress=False)
    for target in targets:
        (use,) = result.communication(target=target, partitioner="xla").sending
        assert use.kind == ("collective_permute" if target == "tpu-v5e" else "all_gather")


def test_a_loop_stands_for_a_gather() -> None:
    (use,) = _report(_gathered(8, 8192), "tpu-v5e").sending
    assert [before.kind for before in use.before] == ["all_gather"]
    assert [change.made_by for change in use.changes] == ["windowed einsum"]
    assert (use.axes, use.exposed) == ((("a", 8),), "")


def test_sums_of_many_products_are_loops() -> None:
    assert _sent(_SUMMED.format(devices=8, rows=4216), "tpu-v5e") == [("reduce_scatter", 1)]
    assert _sent(_SUMMED.format(devices=8, rows=4232), "tpu-v5e") == [("collective_permute", 9)]
    assert _sent(_SUMMED.format(devices=4, rows=8192), "tpu-v5e") == [("collective_permute", 5)]


def test_a_loop_overlaps_with_its_product() -> None:
    result = propagate(Program.parse(_SUMMED.format(devices=8, rows=8192)), progress=False)
    time = result.time(target="tpu-v5e")
    parts = [
        sum(node.seconds * node.times for node in time.block.nodes if node.name == name)
        for name in ("collective_permute", "stablehlo.dot_general")
    ]
    assert time.overlapped == pytest.approx(max(parts))
    assert time.serial == pytest.approx(sum(parts))


_SHARED = """
sdy.mesh @mesh = <["a"=8]>
func.func @main(%x: tensor<8192x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                %y: tensor<8192x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
                %w: tensor<512x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<8192x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
        tensor<8192x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<512x256xbf16>) -> tensor<256x512xbf16>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8192x512xbf16>, tensor<512x256xbf16>) -> tensor<8192x256xbf16>
  %1 = stablehlo.dot_general %y, %t, contracting_dims = [1] x [0]
      : (tensor<8192x256xbf16>, tensor<256x512xbf16>) -> tensor<8192x512xbf16>
  return %0, %1 : tensor<8192x256xbf16>, tensor<8192x512xbf16>
}
"""


def test_a_weight_that_two_products_need_is_gathered_once() -> None:
    """Also where one of them reads its transposition, which is folded into the product."""
    assert _sent(_SHARED, "tpu-v5e") == [("all_gather", 1)]


@pytest.mark.parametrize(
    ("memory", "rows", "columns", "devices", "rings", "padded"),
    [
        (16, 448, 2048, 4, 1, 448),
        (16, 464, 2048, 4, 1, 480),
        (16, 904, 2048, 4, 1, 920),
        (16, 4096, 2048, 4, 1, 4104),
        (16, 16384, 4096, 4, 1, 16464),
        (16, 1400, 1536, 4, 1, 1400),
        (16, 1024, 2048, 8, 1, 1064),
        (16, 209, 1024, 8, 1, 216),
        (16, 4096, 2048, 4, 2, 4256),
        (16, 1024, 4096, 4, 2, 1120),
        (32, 2048, 4096, 4, 1, 2088),
    ],
)
def test_scattered_sums_are_padded(
    memory: int, rows: int, columns: int, devices: int, rings: int, padded: int
) -> None:
    """Rows of each device, as XLA:TPU makes them; memory: of an op, in MiB."""
    assert ScatteredParts(memory * 2**20).rows(rows, columns, devices, rings) == padded


def test_rows_behind_the_padding_are_sent_on() -> None:
    text = _SUMMED.format(devices=8, rows=1024).replace("512x", "1672x")
    uses = _report(text, "tpu-v5e").sending
    assert [(use.kind, use.type.shape) for use in uses] == [
        ("reduce_scatter", (1728, 256)),
        ("collective_permute", (49, 256)),
    ]


_BEHIND = """
sdy.mesh @mesh = <["a"=4]>
func.func @main(%x: tensor<{batch}x64x256xbf16>
                        {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}, {{"a"}}]>}},
                %w: tensor<256x256xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{"a"}}, {{}}]>}})
    -> (tensor<{batch}x64x256xbf16> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"a"}}, {{}}]>}}) {{
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
      : (tensor<{batch}x64x256xbf16>, tensor<256x256xbf16>) -> tensor<{batch}x64x256xbf16>
  return %0 : tensor<{batch}x64x256xbf16>
}}
"""


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("target", ["tpu-v5e", "h100"])
def test_sums_of_batches_are_scattered(batch: int, target: str) -> None:
    """XLA:TPU makes products without dimensions of one element, as compiled for v5e."""
    assert _sent(_BEHIND.format(batch=batch), target) == [("reduce_scatter", 1)]


@pytest.mark.parametrize(("batch", "kind"), [(4, "all_reduce"), (8, "reduce_scatter")])
@pytest.mark.parametrize("target", ["tpu-v5e", "tpu-v5p", "tpu-v6e"])
def test_sums_of_a_batch_of_one_on_each_device_are_not_scattered(batch: int, kind: str, target: str) -> None:
    """As compiled for 16 devices of each chip, where batches of 4 and 8 have 1 and 2 rows a device."""
    text = _BEHIND.format(batch=batch).replace('<["a"=4]>', '<["b"=4, "a"=4]>').replace("[{}, {", '[{"b"}, {')
    assert _sent(text, target) == [(kind, 1)]


@pytest.mark.slow
def test_programs_that_were_compiled() -> None:
    """Bytes of each kind are within 5 % of those that XLA:TPU sends."""
    pytest.importorskip("jax", reason="JAX (extra: jax) is not installed")
    from tests.xla.targets.loop_models import KNOWN, TOPOLOGIES, compared

    known = json.loads(KNOWN.read_text())["programs"]
    rows = [row for name in known for row in compared(name, [*TOPOLOGIES])]
    assert {(row.name, row.target) for row in rows if not row.is_close(1)} == DIFFERENT
    assert len(rows) > len(known)


DIFFERENT: set[tuple[str, str]] = set()
