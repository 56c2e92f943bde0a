"""The names of devices: one reader for all reports, in Python and in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from shardy_py import P, Program, propagate
from shardy_py.base.errors import ShardyError
from shardy_py.cli.opt import main
from shardy_py.cli.suggest import main as suggest
from shardy_py.hardware import ALIASES, HARDWARE, hardware_of, placement_of
from shardy_py.hardware.cost import cost_model
from shardy_py.xla.buffers.chips import target_of

SPELLINGS = [(name, name) for name in HARDWARE] + [(a, name) for name, all_ in ALIASES.items() for a in all_]
PROGRAM = """
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> tensor<8x8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
"""


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS)
def test_every_spelling_is_known_everywhere(spelling: str, name: str) -> None:
    for text in (spelling, spelling.upper(), spelling.replace("-", " "), spelling.replace("-", "_")):
        assert hardware_of(text) is HARDWARE[name]
        assert placement_of(f"{text},data=beyond").hardware is HARDWARE[name]
        assert cost_model(text).link == HARDWARE[name].network.link.link
        layouts, chip = target_of(text)
        assert layouts == HARDWARE[name].target
        assert chip is (None if name == "cpu" else HARDWARE[name])


def test_spellings_belong_to_one_device() -> None:
    assert len({spelling for spelling, _ in SPELLINGS}) == len(SPELLINGS)
    assert set(ALIASES) <= set(HARDWARE)


def test_reports_in_python() -> None:
    result = propagate(Program.parse(PROGRAM), progress=False)
    assert result.memory("v5e").chip is result.memory(hardware_of("tpu-v5e")).chip is HARDWARE["tpu-v5e"]
    assert result.memory(placement_of("v5e,topology=2x1")).fits
    assert str(result.time("V5P")) == str(result.time("tpu-v5p"))
    assert result.communication("v5e").model.name == "tpu-v5e"
    edited = propagate(result.program.annotate({"%0": P("x")}), progress=False)
    assert edited.communication("h100").total == edited.communication("h100-nvlink").total


@pytest.mark.parametrize("flag", ["--memory-report", "--communication-report", "--time-report"])
def test_reports_in_the_shell(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.mlir").write_text(PROGRAM)
    Path("my.toml").write_text('name = "mine"\nbase = "v5p"\n')
    for known in ("v5e", "h100", "tpu7x", "my.toml"):
        assert main(["p.mlir", "--sdy-propagation-pipeline", f"{flag}={known}"]) == 0
    capsys.readouterr()
    assert main(["p.mlir", f"{flag}=v5x"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"{flag}:1:1: error: unknown ")
    assert "expected one of 'tpu" in err
    assert "did you mean 'tpu-v5" in err


def test_suggest_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.mlir").write_text(PROGRAM)
    assert suggest([str(tmp_path / "p.mlir"), "--hardware", "v5e", "--tries", "2", "--no-progress"]) == 0
    assert suggest([str(tmp_path / "p.mlir"), "--hardware", "h10"]) == 1
    assert "argument --hardware: unknown hardware 'h10': expected one of" in capsys.readouterr().err


def test_anything_else_is_an_error() -> None:
    result = propagate(Program.parse(PROGRAM), progress=False)
    with pytest.raises(ShardyError, match="hardware: expected the name of a device such as 'tpu-v5p'"):
        result.time(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShardyError, match="expected 'tpu', 'linear', or the name of a device"):
        result.memory(3)  # pyright: ignore[reportArgumentType]
