"""Amounts of bytes: one unit in Python and on command lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shardy_py import Program, ShardyError
from shardy_py.base.byte_sizes import byte_size
from shardy_py.check import Limits
from shardy_py.cli.suggest import main
from shardy_py.hardware import hardware_of

WHOLE = 1000


@pytest.mark.parametrize(
    ("given", "size"),
    [
        *((16, 16), (np.int64(16), 16), (16e9, 16 * 10**9), ("16", 16), ("16 B", 16), ("1_000", 1000)),
        *(("16GB", 16 * 10**9), ("16 gb", 16 * 10**9), ("1.5 kB", 1500), ("16e9", 16 * 10**9)),
        *(("16GiB", 16 << 30), ("16 GiB", 16 << 30), ("16G", 16 << 30), ("64k", 64 << 10), ("2T", 2 << 40)),
        *(("60%", 600), ("12.5 %", 125), ("100%", 1000)),
    ],
)
def test_amounts(given: object, size: int) -> None:
    assert byte_size(given, whole=WHOLE) == size


@pytest.mark.parametrize(
    "given",
    [
        "",
        "GB",
        "1,5GB",
        "-1",
        "1x",
        "1KiBs",
        "0%",
        "100.1%",
        "9e30",
        "nan",
        "\u0663",
        -1,
        1.5,
        True,
        None,
        [1],
    ],
)
def test_invalid_amounts(given: object) -> None:
    with pytest.raises(
        ShardyError, match="expected bytes such as 16GB, 16GiB or 16000000000, or a percentage"
    ):
        byte_size(given, whole=WHOLE)


def test_percentages_need_something_that_they_are_of() -> None:
    with pytest.raises(ShardyError, match="expected bytes such as 64M, 64MB or 65536, got '60%'"):
        byte_size("60%")


TEXT = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.tanh %x : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
"""


@pytest.mark.parametrize("given", ["90%", "16GB", "16 GiB", "20000"])
def test_python_and_the_shell_read_the_same_limit(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(TEXT)
    limits: list[int | None] = []
    suggest = Program.suggest

    def noted(*arguments: object, **options: object) -> object:
        found = suggest(*arguments, **options)  # pyright: ignore
        limits.append(found.memory_limit)
        return found

    monkeypatch.setattr(Program, "suggest", noted)
    assert main([str(source), "--tries", "2", "--memory", given]) == 0
    capsys.readouterr()
    Program.parse(TEXT).suggest(tries=2, memory=given, progress=False)
    memory = hardware_of("tpu-v5p").memory_bytes
    wanted = {"90%": memory * 9 // 10, "16GB": 16 * 10**9, "16 GiB": 16 << 30, "20000": 20000}[given]
    assert limits == [wanted, wanted]


def test_a_part_is_written_as_a_percentage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ShardyError, match=r"got 0.9; write '90%' for a part of the memory of a device"):
        Program.parse(TEXT).suggest(memory=0.9, progress=False)
    assert main(["-", "--memory", "0.9%%"]) != 0
    assert "argument --memory: expected bytes such as 16GB" in capsys.readouterr().err


def test_limits_of_findings_are_in_bytes() -> None:
    assert Limits().replicated_bytes == byte_size("64M") == byte_size("64MiB")
