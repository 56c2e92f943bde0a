"""The modules that commands import: their number on a small program, and those that none may wait for.

Seconds depend on the machine, modules do not; each run pays for those that it imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import io, json, sys
from contextlib import redirect_stdout, suppress
from importlib import import_module
name, sys.argv = sys.argv[1], sys.argv[1:]
with redirect_stdout(io.StringIO()), suppress(SystemExit):
    import_module("shardy_py.cli" + name).main()
print(json.dumps([*sys.modules]), end="")
"""
NETWORK = {"ssl", "socket", "http", "email", "xml"}
PROCESSES = {"multiprocessing", "concurrent", "subprocess"}
COMPUTED = {"numpy", "ml_dtypes"}
TABLES = {"hashlib", "html"}
FRAMEWORKS = {"jax", "torch", "pandas", "scipy", "networkx", "rich"}


@pytest.mark.parametrize(
    ("command", "arguments", "most", "none_of"),
    [
        (
            ".opt",
            ["examples/mlp.mlir", "--sdy-propagation-pipeline"],
            306,
            NETWORK | PROCESSES | COMPUTED | FRAMEWORKS,
        ),
        (".check", ["examples/mlp.mlir"], 565, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | TABLES),
        (".diff", ["examples/mlp.mlir", "examples/mlp.mlir"], 425, NETWORK | PROCESSES | FRAMEWORKS),
        (
            ".explorer",
            ["examples/mlp.mlir", "--output", "-"],
            585,
            NETWORK | PROCESSES | COMPUTED | FRAMEWORKS,
        ),
        (".interpret", ["examples/mlp.mlir", "--random", "0"], 340, NETWORK | FRAMEWORKS),
        (".check", ["--help"], 80, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
        (".compare", ["--help"], 60, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
        (".explorer", ["--help"], 60, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
        (".suggest", ["--help"], 60, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
        (".hlo_indexing", ["--help"], 60, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
        (".layout", ["f32[3,5]{1,0:T(2,2)}"], 70, NETWORK | PROCESSES | COMPUTED | FRAMEWORKS | {"xdsl"}),
    ],
    ids=[
        "sdy-opt",
        "sdy-check",
        "sdy-diff",
        "shardy-explorer",
        "stablehlo-interpret",
        *(f"help-{n}" for n in range(5)),
        "hlo-layout",
    ],
)
def test_modules_of_a_small_program(
    root: Path, command: str, arguments: list[str], most: int, none_of: set[str]
) -> None:
    given = [sys.executable, "-c", CODE, command, *arguments]
    run = subprocess.run(given, cwd=root, capture_output=True, timeout=60)
    loaded: list[str] = json.loads(run.stdout)
    assert none_of & {name.partition(".")[0] for name in loaded} == set()
    assert sum(name.startswith("shardy_py") for name in loaded) <= most


def test_a_check_of_what_sends_nothing_computes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "program.mlir"
    file.write_text("""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
""")
    run = subprocess.run([sys.executable, "-c", CODE, ".check", str(file)], capture_output=True, timeout=60)
    loaded: list[str] = json.loads(run.stdout)
    assert "shardy_py.localize.facet" in loaded
    assert not COMPUTED & {name.partition(".")[0] for name in loaded}
