"""What is written as bytecode reads back as the same program, here and by jaxlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shardy_py import Program, ShardyError
from shardy_py.cli.opt import main
from shardy_py.mlir.bytecode import read_bytecode, read_file, write_bytecode
from shardy_py.mlir.dialects import parse_module, print_module

FILES = (
    *(
        "stablehlo/control.mlir",
        "stablehlo/contraction.mlir",
        "stablehlo/reduction.mlir",
        "sdy/attributes.mlir",
    ),
    *("stablehlo/collectives.mlir", "stablehlo/movement.mlir", "stablehlo/elementwise.mlir", "chlo/ops.mlir"),
)
BLOCKS = """
func.func @f(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  cf.cond_br %c, ^one(%x : tensor<f32>), ^two
^one(%y: tensor<f32> loc("y")):
  return %y : tensor<f32>
^two:
  %z = stablehlo.negate %x : tensor<f32> loc(fused["a", "b.py":1:2])
  cf.br ^one(%z : tensor<f32>)
}
"""


def texts(root: Path, name: str) -> list[str]:
    return (root / "filecheck" / "dialects" / name).read_text().split("// -----")


@pytest.mark.parametrize("name", FILES)
def test_programs_are_read_as_they_were(root: Path, name: str) -> None:
    for text in texts(root, name):
        module = parse_module(text)
        again = read_bytecode(write_bytecode(module))
        assert print_module(again, debuginfo=True) == print_module(module, debuginfo=True)


def test_blocks_and_successors() -> None:
    module = parse_module(BLOCKS, allow_unregistered=True)
    again = read_bytecode(write_bytecode(module), allow_unregistered=True)
    assert print_module(again, debuginfo=True) == print_module(module, debuginfo=True)


def test_equal_attributes_are_written_once() -> None:
    function = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{ {}\n return %0 : tensor<4xf32> }}"
    adds = [f'%{n} = stablehlo.add %x, %x : tensor<4xf32> loc("m.py":1:2)' for n in (0, 1)]
    one, two = (read_file(write_bytecode(parse_module(function.format("\n".join(adds[:n]))))) for n in (1, 2))
    assert (len(one.types), len(one.ops)) == (len(two.types), len(two.ops)) == (1, 4)
    assert one.version == 1


def test_sdy_opt_and_save_write_it(tmp_path: Path) -> None:
    source, made = tmp_path / "a.mlir", tmp_path / "a.mlirbc"
    source.write_text("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }\n")
    assert main([str(source), "--emit-bytecode", "-o", str(made)]) == 0
    program = Program.load(source)
    assert Program.load(made).text(debuginfo=True) == program.text(debuginfo=True)
    program.save(made, bytecode=True)
    assert made.read_bytes() == write_bytecode(program.module)


def test_several_programs_and_resources_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-", "--emit-bytecode", "--split-input-file"]) == 1
    assert "for the --emit-bytecode option: cannot be used with --split-input-file" in capsys.readouterr().err
    text = (
        "module attributes {a = dense_resource<r> : tensor<1xi8>} {}\n"
        '{-# dialect_resources: { builtin: { r: "0x0100000002" } } #-}'
    )
    with pytest.raises(ShardyError, match="dense_resource"):
        write_bytecode(parse_module(text))


@pytest.mark.parametrize("name", [*FILES[:3], "../../examples/mlp.mlir"])
def test_jaxlib_reads_it(root: Path, name: str) -> None:
    pytest.importorskip("jaxlib", reason="jaxlib is not installed")
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    made: Any = ir.Module
    with mlir.make_ir_context():
        for text in texts(root, name):
            data = write_bytecode(parse_module(text))
            read, expected = (
                made.parse(each).operation.get_asm(enable_debug_info=True) for each in (data, text)
            )
            assert print_module(parse_module(read)) == print_module(parse_module(expected))
