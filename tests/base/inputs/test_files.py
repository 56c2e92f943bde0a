"""Files of programs: what every command and the API read, and the words for what they do not."""

from __future__ import annotations

import gzip
import json
from importlib import import_module
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError
from shardy_py.base.inputs import files
from shardy_py.cli import check

TEXT = """sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
EXPECTED = "expected a program as text, bytecode or a protocol buffer"
PACKED = gzip.compress(TEXT.encode(), mtime=0)


def test_every_command_and_the_api_read_gzip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mlir.gz").write_bytes(PACKED)
    Path("unnamed").write_bytes(PACKED)  # the name does not matter
    text = Program.parse(TEXT).text()
    assert Program.load("a.mlir.gz").text() == Program.parse(PACKED).text() == text
    for arguments in (
        ["unnamed"],
        ["check", "a.mlir.gz"],
        ["diff", "a.mlir.gz", "unnamed"],
        ["suggest", "a.mlir.gz", "--tries", "2", "--no-progress"],
        ["explorer", "a.mlir.gz", "-o", "a.html"],
        ["interpret", "a.mlir.gz", "--random", "0"],
        ["hlo_indexing", "a.mlir.gz"],
        ["view", "--program", "a.mlir.gz"],
    ):
        module = import_module(
            "shardy_py.cli.opt" if len(arguments) == 1 else f"shardy_py.cli.{arguments[0]}"
        )
        assert module.main(arguments[1:] or arguments) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PACKED[:-20], "x.gz: expected a complete gzip file, got its end after"),
        (PACKED[:12] + b"\x07" + PACKED[13:], "x.gz: expected a gzip file, got damaged data: "),
        (PACKED + b"rest", "x.gz: expected a gzip file, got damaged data: Not a gzipped file"),
        (gzip.compress(PACKED), f"x.gz: {EXPECTED}, got gzip within gzip; decompress it"),
        (
            b"\x28\xb5\x2f\xfd\xff",
            f"x.gz: {EXPECTED}, got a file compressed by zstd; decompress it, or",
        ),
    ],
)
def test_damaged_files_are_described(data: bytes, message: str) -> None:
    with pytest.raises(ShardyError) as caught:
        files.source_of(data, "x.gz")
    assert caught.value.first.message.startswith(message)


def test_a_gzip_file_of_several_members_is_one_text() -> None:
    assert files.source_of(PACKED + PACKED, "x.gz").text == 2 * TEXT


def test_small_files_that_hold_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LARGEST", 1 << 21)
    bomb = gzip.compress(bytes(1 << 22))
    message = r"x.gz: decompressed by gzip: expected at most 2,097,152 bytes of text, got more; decompress it"
    with pytest.raises(ShardyError, match=message):
        files.source_of(bomb, "x.gz")
    with pytest.raises(ShardyError, match="expected at most 2,097,152 bytes"):
        files.source_of(bytes(gzip.compress(bytes(1 << 20), 1)) * 3, "x.gz")


def test_commands_place_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.mlir.gz"
    path.write_bytes(PACKED[:-20])
    assert check.main([str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"{path}: error: expected a complete gzip file, got its end after ")
    assert out == "" or json.loads(out)
