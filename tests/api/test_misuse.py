"""Mistakes of a first hour: each is an error that says what is wrong and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardy_py
from shardy_py import Mesh, Options, P, Program, Sharding, ShardyError, propagate
from shardy_py.cli.opt import main

DEVICES: Any = np.arange(8).reshape(4, 2)
MESH = Mesh.of(data=4, model=2)
TEXT = """
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> tensor<8x8xf32> {
  return %arg0 : tensor<8x8xf32>
}
"""


def called(function: Any, *arguments: Any, **keywords: Any) -> Callable[[], object]:
    return lambda: function(*arguments, **keywords)


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (called(propagate, TEXT), "expected a Program, got .*; Program.parse.text. reads text"),
        (called(propagate, "model.mlir"), "Program.load.'model.mlir'. reads a file"),
        (called(propagate, len), "Program.from_jax.function, .arguments. traces a function"),
        (called(propagate, 3), "Program.parse reads text, Program.load a file, Program.from_jax traces"),
        (
            called(Options, strategy="basic"),
            "unknown option 'strategy': .*did you mean 'propagation_strategy'",
        ),
        (called(Program.parse, "model.py"), "got the name of a file, 'model.py'; Program.load reads files"),
        (called(Program.parse, "import jax\n\nx = 1\n"), "1:1: error: expected MLIR, got Python; run it and"),
        (called(Program.parse, "# a model\nfrom jax import jit\n"), "expected MLIR, got Python"),
        (
            called(Program.parse, "{ lambda ; a:f32[8]. let\n"),
            "expected MLIR, got a jaxpr; pass the function",
        ),
        (called(Program.parse, '{"a": 1}\n'), "expected MLIR, got JSON"),
        (called(Sharding, DEVICES, P("data")), "got array.*; an array of devices has no names of axes"),
        (called(Sharding, MESH, P("dta")), "unknown axis name: .dta.; .*did you mean 'data'"),
        (
            called(Mesh.of, 4, 2),
            "mesh: expected sizes by axis, got .4, 2.; Mesh.of.data=4, model=2. makes one",
        ),
        (called(Mesh.of, "data=4"), "mesh: expected sizes by axis, got 'data=4'"),
        (called(Mesh.of, [("data", 4)]), "mesh: expected sizes by axis"),
        (called(Mesh, (4, 2), ("data", "model")), "mesh: expected sizes by axis, got .4, 2."),
        (called(Mesh, DEVICES, ("data", "model")), "numbers of devices are its device_ids="),
        (called(lambda: P("data", None).partitions), r"pass jax.sharding.PartitionSpec\('data', None\)"),
    ],
)
def test_misuse(misuse: Callable[[], object], message: str) -> None:
    with pytest.raises(ShardyError, match=message) as caught:
        misuse()
    assert caught.value.first.message.count("\n") == 0


def test_names_of_jax_and_misspelled_names() -> None:
    program: Any = Program.parse(TEXT)
    package: Any = shardy_py
    for read, message in (
        (called(lambda: package.Progam), "did you mean 'Program'?"),
        (called(lambda: package.PartitionSpec), "use shardy_py.P"),
        (called(lambda: package.NamedSharding), "use shardy_py.Sharding"),
        (called(lambda: program.memory()), "propagate it first: propagate.program..memory"),
        (called(lambda: program.anotate), "did you mean 'annotate'?"),
    ):
        with pytest.raises(AttributeError, match=message):
            read()


def test_suggest_takes_one_mesh_and_one_value() -> None:
    program = Program.parse(TEXT)
    for mesh in (MESH, {"data": 2, "model": 2}):
        suggestion = program.suggest(mesh, keep="%arg0", tries=1, progress=False)
        assert suggestion.plans
    with pytest.raises(ShardyError, match="tries: expected an integer, 1 or above, got 0"):
        program.suggest(tries=0)
    with pytest.raises(ShardyError, match=r"expected a Mesh such as Mesh.of.data=4., got 'data=4'"):
        program.suggest("data=4")


def test_a_python_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.py"
    path.write_text('"""A model."""\n\nimport jax\n')
    with pytest.raises(ShardyError, match="expected MLIR, got Python; run it and pass the function to"):
        Program.load(path)
    assert main([str(path)]) == 1
    assert f"{path}:1:1: error: expected MLIR, got Python" in capsys.readouterr().err


def test_stages_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    jitted = jax.jit(lambda x: x)
    traced = jitted.trace(jax.ShapeDtypeStruct((8,), "float32"))
    for given, remedy in (
        (jitted, "Program.from_jax(function, *arguments) traces it"),
        (traced, "Program.from_jax(traced) takes it"),
        (traced.lower(), "Program.from_jax(lowered) takes it"),
        (traced.jaxpr, "pass the function with its arguments to Program.from_jax"),
    ):
        for take in (propagate, Program.parse, Program.load):
            with pytest.raises(ShardyError) as caught:
                take(given)
            assert caught.value.first.message.endswith(remedy)
    mesh = jax.sharding.AbstractMesh((4, 2), ("data", "model"))
    with pytest.raises(ShardyError, match=r"expected a PartitionSpec of JAX, got P.'data'. of shardy_py"):
        jax.sharding.NamedSharding(mesh, P("data"))
