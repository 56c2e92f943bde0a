"""Files of bytecode that MLIR wrote, in several versions of the format and of VHLO, read without it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from shardy_py import Program, ShardyError
from shardy_py.cli import check
from shardy_py.cli.opt import main
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


def test_an_exported_function_is_its_module(tmp_path: Path) -> None:
    """A flatbuffer of `jax.export`, here of JAX 0.12, and the same by gzip."""
    packed = tmp_path / "exported.gz"
    packed.write_bytes(gzip.compress((DATA / "exported.bin").read_bytes()))
    for path in (DATA / "exported.bin", packed):
        program = Program.load(path)
        assert str(program.release) == "JAX 0.12"
        assert str(program["params['w']"].sharding) == '<@mesh, [{}, {"y"}]>'
        assert [value.label for value in program.values.results()] == ["result['out']", "result['sum']"]


def test_damage_is_placed_by_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.mlirbc"
    path.write_bytes((DATA / "ops.format_6.mlirbc").read_bytes()[:40])
    message = "MLIR bytecode at byte 21: expected a section of 30 bytes, got the end of the section after"
    with pytest.raises(ShardyError, match=message):
        Program.load(path)
    assert main([str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}: error: {message}")


def test_ops_of_newer_versions_are_named() -> None:
    data = (DATA / "ops.vhlo_1.10.0.mlirbc").read_bytes().replace(b"slice_v1", b"slice_v9")
    message = r"'vhlo\.slice_v9' is an op of a newer VHLO; export the program for an older version"
    with pytest.raises(ShardyError, match=message):
        Program.parse(data)
    future = b"ML\xefR" + bytes([2 * 7 + 1]) + b"MLIR\0"
    with pytest.raises(ShardyError, match="expected a version of the format up to 6, got 7"):
        Program.parse(future)


def test_few_bytes_never_stand_for_much() -> None:
    """Each array holds the one before it twice: 2**60 attributes in 60 entries."""
    data = doubled_arrays(60)
    with pytest.raises(ShardyError, match=r"byte \d+: an attribute expands to more than 1048576"):
        read_bytecode(data)
    with pytest.raises(ShardyError, match="nesting exceeds 200 levels"):
        read_bytecode(doubled_arrays(300, times=1))
    assert "[]" in print_module(read_bytecode(doubled_arrays(3)))


def doubled_arrays(count: int, *, times: int = 2) -> bytes:
    """Bytecode of a module with an attribute of so many nested arrays, each with the next some times."""

    def number(value: int) -> bytes:
        return bytes([value << 1 | 1]) if value < 128 else (value << 2 | 2).to_bytes(2, "little")

    def section(kind: int, content: bytes) -> bytes:
        return bytes([kind]) + number(len(content)) + content

    strings = (b"builtin", b"module", b"a.b")
    table = number(len(strings)) + b"".join(number(len(each) + 1) for each in reversed(strings))
    arrays = [number(0) + number(times) + number(index + 2) * times for index in range(1, count)]
    dictionary = number(1) + number(1) + number(count + 2) + number(2)
    entries = [number(15), dictionary, *arrays, number(0) + number(0), number(2) + number(2)]
    sizes = number(len(entries)) + number(0) + number(0) + number(len(entries))
    sizes += b"".join(number(len(entry) << 1 | 1) for entry in entries)
    op = number(0) + bytes([1 | 16]) + number(0) + number(1) + number(1 << 1 | 1)
    body = section(4, number(1) + number(0) + number(0))
    parts = (
        section(0, table + b"".join(each + b"\0" for each in strings)),
        section(1, number(1) + number(0) + number(1) + number(0) + number(1) + number(1)),
        section(2, b"".join(entries)),
        section(3, sizes),
        section(4, number(1 << 1) + op + body),
    )
    return b"ML\xefR" + number(4) + b"test\0" + b"".join(parts)
