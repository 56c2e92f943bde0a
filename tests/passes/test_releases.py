"""Passes that changed between releases of the reference: modules with what both print.

The programs are those of ../shared/jax_0_12, each with its flags in the first line.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from shardy_py import releases
from shardy_py.cli import main
from tests.conftest import CORPUS

FOLDER = CORPUS.parent / "jax_0_12"
VERSIONS = {"v010": "0.10", "v012": "0.12"}
SAME = ("asc_", "canon_", "df_", "pfr_", "pipe_call", "pipe_main", "r2c_", "red_")
"""The beginnings of names of programs that both releases print as here."""


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("//")]


PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem.startswith(SAME))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.skipif(not PROGRAMS, reason="../shared/jax_0_12 is not beside the checkout")
def test_each_release_prints_what_it_printed(version: str, tmp_path: Path) -> None:
    different: list[str] = []
    for name in PROGRAMS:
        path, output = FOLDER / f"{name}.mlir", tmp_path / "out.mlir"
        expected = (FOLDER / f"{name}.{version}.out").read_text()
        if expected.startswith(("// crash", "// err")):
            continue
        words = shlex.split(path.read_text().splitlines()[0].partition("sdy-opt")[2])
        flags = [f"-{word}" if word.startswith("-") else word for word in words]
        with releases.of(VERSIONS[version]):
            assert main([str(path), *flags, "-o", str(output)]) == 0
        if _lines(output.read_text()) != _lines(expected):
            different.append(name)
    assert different == []


OPEN = """sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


@pytest.mark.parametrize(("release", "shown"), [("0.10", "[{?}]>}) ->"), ("0.12", '[{"a"}]>}) ->')])
def test_an_open_input_takes_a_constraint(release: str, shown: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(OPEN)
    with releases.of(release):
        assert main([str(source), "--sdy-apply-sharding-constraints", "-o", str(output)]) == 0
    assert shown in output.read_text()
