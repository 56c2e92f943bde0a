"""Hardware of users."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.hardware import HARDWARE, Hardware, placement_of
from shardy_py.hardware.toml import parse

WHOLE = """
name = "mine"
memory_gib = 8
memory_gb_per_second = 100
vector_tflops = 1
layouts = "linear"

[matrix_tflops]
bf16 = 10
f32 = 5

[network]
kind = "switch"
devices = 4
gb_per_second = 20
latency_us = 1

[beyond]
gb_per_second = 2
latency_us = 10
"""


def test_a_whole_device() -> None:
    mine = parse(WHOLE, "mine.toml")
    assert (mine.name, mine.memory_bytes, mine.memory_bytes_per_second) == ("mine", 8 * 2**30, 100e9)
    assert (mine.peak_flops, mine.flops_per_second("f32", "HIGHEST"), mine.vector_flops) == (
        10e12,
        5e12,
        1e12,
    )
    assert mine.network.devices == 4
    assert mine.beyond.link.latency_seconds == pytest.approx(10e-6)


def test_what_differs_from_a_known_device(tmp_path: Path) -> None:
    path = tmp_path / "faster.toml"
    path.write_text('name = "faster"\nbase = "tpu-v5p"\nmemory_gb_per_second = 4000\n[network]\nring = 8\n')
    faster, base = Hardware.load(path), HARDWARE["tpu-v5p"]
    assert faster.memory_bytes_per_second == 4000e9
    assert faster.network.ring == 8
    assert faster.network.link == base.network.link
    assert (faster.memory_bytes, faster.matrix_flops, faster.beyond) == (
        base.memory_bytes,
        base.matrix_flops,
        base.beyond,
    )
    assert placement_of(f"{path},data=beyond").hardware == faster


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "memory_gib = 8",
            "memory_gib = -8",
            "a.toml:3:1: error: memory_gib: expected a number above 0, .*, got -8",
        ),
        ("memory_gib = 8", "memory_gob = 8", "a.toml:3:1: error: unknown key 'memory_gob': expected one of"),
        ("memory_gib = 8\n", "", "a.toml:1:1: error: 'memory_gib' is missing; add it, or a base"),
        ("bf16 = 10\n", "", r"a.toml:8:1: error: \[matrix_tflops\] lacks 'bf16'; add it, or a base"),
        ('"switch"', '"ring"', "a.toml:13:1: error: kind: expected 'torus' or 'switch', got 'ring'"),
        ("devices = 4", "devices = 4.5", "a.toml:14:1: error: devices: expected an integer, got 4.5"),
        ("devices = 4", "sizes = 4", r"a.toml:14:1: error: \[network\]: unknown key 'sizes'"),
        ('"linear"', '"flat"', "a.toml:6:1: error: unknown layouts 'flat'"),
        ('"mine"', '"mine', "a.toml:2:13: error: TOML: got "),
        ("bf16 = 10", "bf16 = true", "a.toml:9:1: error: bf16: expected a number above 0, .*, got True"),
        (
            "memory_gib = 8",
            "memory_gib = 1" + "0" * 30,
            "a.toml:3:1: error: memory_gib: expected a number above",
        ),
        (
            "memory_gib = 8",
            "memory_gib = 1" + "0" * 5000,
            "a.toml:3:1: error: TOML: got an integer with too many",
        ),
        ("bf16 = 10", "bf16 = " + "[" * 2000, "a.toml:9:1: error: TOML: got brackets nested too deeply"),
        ("devices = 4", "devices = 1" + "0" * 400, "a.toml:14:1: error: devices: expected"),
        ('"mine"', "1" + "0" * 4000, r"a.toml:2:1: error: name: expected text, got 10000.*\.\.\.$"),
        ('name = "mine"', 'name = "mine"\nbase = "abacus"', "a.toml:3:1: error: unknown hardware 'abacus'"),
    ],
)
def test_faults_have_their_place(old: str, new: str, message: str) -> None:
    with pytest.raises(ShardyError, match=message):
        parse(WHOLE.replace(old, new), "a.toml")


def test_a_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ShardyError, match=r"cannot read '.*none\.toml': No such file"):
        Hardware.load(tmp_path / "none.toml")
