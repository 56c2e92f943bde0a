"""The wheel and the sdist: they build, carry what they should, and the wheel works away from the checkout."""

from __future__ import annotations

import importlib.util
import os
import re
import site
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import shardy_py
from tools import release_check

PROGRAM = """\
module @step {
  sdy.mesh @mesh = <["data"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
      -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
"""


def test_the_api_is_listed_before_it_is_loaded() -> None:
    code = "import sys, shardy_py; sys.exit('Program' not in dir(shardy_py) or 'xdsl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_pages_of_the_release_follow_the_package(root: Path) -> None:
    version = shardy_py.__version__
    assert f"\n## {version} " in (root / "CHANGELOG.md").read_text()
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text()
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    needed = [re.match(r"[\w.]+", line)[0] for line in project["dependencies"]]  # type: ignore[index]
    page = (root / "docs" / "stability.md").read_text()
    assert [name for name in needed if not re.search(rf"\b{name}\b", page)] == []


@pytest.fixture(scope="module")
def built(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist."""
    for tool in ("build", "hatchling"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed (it comes with the dev extra)")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(root)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=100)
    return folder


def test_wheel_holds_the_package_and_nothing_else(built: Path, root: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
    assert {"shardy_py/py.typed", "shardy_py/cli/__init__.py", "shardy_py/api/pipeline.py"} <= names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"shardy_py"}
    modules = {str(path.relative_to(root)) for path in (root / "shardy_py").rglob("*.py")}
    assert modules <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_sdist_holds_what_a_developer_needs(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames() if "/" in name}
    assert {
        "pyproject.toml",
        "Makefile",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "shardy_py/py.typed",
        "tests/test_packaging.py",
        "filecheck/lit.cfg",
        "examples/transformer_train.mlir",
    } <= names


def test_the_installed_wheel_works_elsewhere(built: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # Dependencies come from here, so that nothing is downloaded; the package itself only from the wheel.
    flags = ("--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check", "--ignore-installed")
    wheel = str(next(built.glob("*.whl")))
    install = [sys.executable, "-m", "pip", "install", *flags, "--prefix", str(environment), wheel]
    subprocess.run(install, check=True, timeout=60)
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    (tmp_path / "program.mlir").write_text(PROGRAM)
    python = environment / "bin" / "python"
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command: str | Path) -> str:
        parts = [str(part) for part in command]
        finished = subprocess.run(
            parts, capture_output=True, text=True, cwd=tmp_path, env=variables, timeout=60, check=False
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    # An editable install of the checkout is among the dependencies: the wheel must come first.
    where = run(python, "-c", "import shardy_py; print(shardy_py.__file__)")
    assert Path(where.strip()).is_relative_to(environment)
    script = environment / "bin" / "sdy-opt"
    output = run(python, script, "program.mlir", "--sdy-propagation-pipeline")
    assert output.count('sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>') == 2


def test_the_release_check_unpacks_where_python_has_no_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Python 3.11.0 to 3.11.3, which Debian 12 has."""
    (tmp_path / "made" / "shardy_py").mkdir(parents=True)
    (tmp_path / "made" / "tests").mkdir()
    sdist = tmp_path / "made.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(tmp_path / "made", "made")
    extract = tarfile.TarFile.extractall

    def without_filter(archive: tarfile.TarFile, path: Path) -> None:
        extract(archive, path)

    monkeypatch.setattr(tarfile.TarFile, "extractall", without_filter)
    monkeypatch.setattr(release_check, "OUT", tmp_path)
    assert [each.name for each in release_check.tests_of(sdist).iterdir()] == ["tests"]
