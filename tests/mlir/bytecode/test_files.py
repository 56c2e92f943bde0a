"""Files of bytecode that MLIR wrote, in several versions of the format and of VHLO, read without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import Program, ShardyError
from shardy_py.cli import check, main
from shardy_py.mlir.bytecode import read_bytecode, read_file
from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.mlir.dialects.verification import verify_module
from shardy_py.mlir.ir import operands_of, user_of

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.mlirbc"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_the_program_that_mlir_reads_from_it(path: Path) -> None:
    name, kind, *_ = path.stem.split(".")
    expected = parse_module((DATA / f"{name}.{kind.partition('_')[0]}.txt").read_text())
    module = read_bytecode(path.read_bytes(), str(path))
    verify_module(module)
    assert print_module(module, debuginfo=True) == print_module(expected, debuginfo=True)
    assert print_module(module, generic=True) == print_module(expected, generic=True)


def test_versions_are_told() -> None:
    files = {path.stem: read_file(path.read_bytes()) for path in FILES}
    assert {file.version for file in files.values()} == {0, 1, 3, 4, 5, 6}
    assert files["ops.vhlo_1.0.0"].producer == "StableHLO_v1.0.0"


def test_uses_are_in_the_order_of_text() -> None:
    """Newest first, as propagation visits them."""
    text, file = (DATA / "ops.format.txt").read_text(), DATA / "ops.format_6.mlirbc"
    orders: list[list[tuple[str, int]]] = []
    for module in (parse_module(text), read_bytecode(file.read_bytes())):
        values = [value for op in module.walk() for value in operands_of(op)]
        orders.append([(user_of(use).name, use.index) for value in values for use in value.uses])
    assert orders[0] == orders[1]


def test_every_command_and_the_api_read_bytecode(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DATA / "sharded.vhlo_1.12.0.mlirbc")
    program = Program.load(path)
    assert str(program["%arg0"].sharding) == '<@mesh, [{"x"}, {"y":(1)2, ?}p1]>'
    assert main([path]) == 0
    assert capsys.readouterr().out == program.text()
    assert check.main([path, "--no-progress"]) in (0, 1)


def test_damage_is_placed_by_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.mlirbc"
    path.write_bytes((DATA / "ops.format_6.mlirbc").read_bytes()[:40])
    message = "MLIR bytecode at byte 21: expected a section of 30 bytes, got the end of the section after"
    with pytest.raises(ShardyError, match=message):
        Program.load(path)
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: error: {message}")
