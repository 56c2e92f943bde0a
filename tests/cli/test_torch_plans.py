"""Commands on archives of torch.export under plans of DTensor."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# ruff: noqa: E402
from shardy_py.cli import check, compare, diff, explorer, opt
from shardy_py.cli.shell import FAILURE, SUCCESS, TROUBLE
from tests.viewer.explorer.test_page import explorer_data

pytestmark = pytest.mark.torch

PLAN = """
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

from shardy_py.frontends.torch import FullyShard, TensorParallel

PLAN = [TensorParallel("tp", {"0": ColwiseParallel(), "2": RowwiseParallel()}), FullyShard("dp")]
INPUTS = {"input": [Shard(0), Replicate()]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and its plan."""
    nn, folder = torch.nn, tmp_path_factory.mktemp("plans")
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
    for name, batch in (("m.pt2", 8), ("twice.pt2", 16)):
        torch.export.save(torch.export.export(model, (torch.randn(batch, 16),)), folder / name)
    (folder / "plan.py").write_text(PLAN)
    (folder / "m.mlir").write_text("func.func @main() {\n  return\n}\n")
    return folder


def run(folder: Path, program: str, *flags: str) -> int:
    named = [flag.replace("plan.py", str(folder / "plan.py")) for flag in flags]
    return check.main([str(folder / program), "--no-verdict", *named])


def test_plans_of_archives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mesh = ("--mesh", "dp=2,tp=4")
    assert run(folder, "m.pt2", *mesh, "--plan", "plan.py:PLAN", "--shardings", "plan.py:INPUTS") == SUCCESS
    assert "result has no sharding: propagation decides its layout" in capsys.readouterr().out
    limits = ("--replicated-bytes", "1K", "--select", "SDY001")
    assert run(folder, "m.pt2", *mesh, *limits) == FAILURE
    assert "0.weight" in capsys.readouterr().out
    assert run(folder, "m.pt2", *mesh, *limits, "--plan", "plan.py:PLAN") == SUCCESS


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--plan", "plan.py:PLAN"), "--plan needs a mesh: --mesh dp=2,tp=4"),
        (
            ("--mesh", "dp=2", "--plan", "plan.py:PLAM"),
            "argument --plan: unknown name in .* did you mean 'PLAN'",
        ),
        (("--mesh", "dp=2", "--plan", "plan.py"), "expected a file and a name in it: plan.py:PLAN"),
        (
            ("--mesh", "dp=2", "--plan", "none.py:PLAN"),
            "argument --plan: cannot open input file 'none.py': No such file",
        ),
        (("--mesh", "dp=2", "--plan", "plan.py:PLAN"), "m.pt2: error: unknown axis of the plan 'tp'"),
        (("--mesh", "dp=2,tp=3", "--plan", "plan.py:PLAN"), "m.pt2: error: 0.weight: ColwiseParallel along"),
    ],
)
def test_invalid_flags(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], message: str
) -> None:
    assert run(folder, "m.pt2", *flags) == TROUBLE
    assert re.search(message, capsys.readouterr().err)


def test_other_programs_have_their_own_meshes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "m.mlir", "--mesh", "dp=2") == TROUBLE
    assert "--mesh is for programs that torch.export.save wrote" in capsys.readouterr().err


def test_plans_import_modules_of_their_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "styles.py").write_text(PLAN)
    (folder / "other.py").write_text("import os\nfrom styles import PLAN\nFOUND = os.sep and PLAN\n")
    before = list(sys.path)
    mesh = ("--mesh", "dp=2,tp=4")
    assert run(folder, "m.pt2", *mesh, "--plan", f"{folder / 'other.py'}:FOUND") == SUCCESS
    assert sys.path == before
    assert run(folder, "m.pt2", *mesh, "--plan", f"{folder / 'other.py'}:MISSING") == TROUBLE
    assert "unknown name in" in (said := capsys.readouterr().err)
    assert "expected one of 'PLAN', 'FOUND'" in said


def test_verdicts_on_plans_of_archives(
    folder: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Layers of a Sequential are modules, also behind the constraints of a plan."""
    flags = ("--mesh", "dp=2,tp=4", "--plan", f"{folder / 'plan.py'}:PLAN")
    assert check.main([str(folder / "m.pt2"), *flags]) == SUCCESS
    assert "all_reduce along tp" in capsys.readouterr().out
    assert check.main([str(folder / "m.pt2"), *flags[:2], "--no-verdict"]) == FAILURE
    assert "pass --mesh dp=2,tp=4 and --plan plan.py:PLAN" in caplog.text


@pytest.fixture
def plan(folder: Path) -> tuple[str, ...]:
    """The flags of a mesh, a plan and the shardings of inputs."""
    file = folder / "plan.py"
    return ("--mesh", "dp=2,tp=4", "--plan", f"{file}:PLAN", "--shardings", f"{file}:INPUTS")


def test_every_command_takes_plans_of_archives(
    folder: Path, plan: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    model, page = str(folder / "m.pt2"), str(folder / "page.html")
    assert opt.main([model, *plan, "--sdy-propagation-pipeline", "--communication-report"]) == SUCCESS
    assert "all_reduce  tp=4" in capsys.readouterr().out
    assert diff.main([model, str(folder / "twice.pt2"), *plan, "--propagate"]) == SUCCESS
    assert re.search(r"bytes moved +[1-9]", capsys.readouterr().out)
    assert explorer.main([model, *plan, "-o", page]) == SUCCESS
    assert "all_reduce" in str(explorer_data(Path(page).read_text()))
    # What was compiled is read first, so that a wrong one is an error behind the plan.
    assert compare.main([model, str(folder / "m.mlir"), *plan]) == TROUBLE
    assert "m.mlir" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("main", "code"), [(opt.main, FAILURE), (explorer.main, FAILURE), (diff.main, TROUBLE)]
)
def test_every_command_asks_for_an_archive(
    folder: Path, main: Callable[[list[str]], int], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    others = [str(folder / "m.mlir")] * (1 + (main is diff.main))
    assert main([*others, "--mesh", "dp=2"]) == code
    assert "--mesh is for programs that torch.export.save wrote" in capsys.readouterr().err


def test_flags_of_sdy_opt_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main([str(folder / "m.pt2"), "--mesh=dp=0"]) == FAILURE
    assert "argument --mesh: expected a number from 1 to" in capsys.readouterr().err
    assert opt.main([str(folder / "m.pt2"), "--mesh", "dp=2,dp=4"]) == FAILURE
    assert "argument --mesh: axis 'dp' is given twice" in capsys.readouterr().err
