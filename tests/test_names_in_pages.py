"""The pages for users name flags, parts of the API and files that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from shardy_py import Program
from shardy_py.api.result import Result
from shardy_py.cli.flags import FLAGS
from shardy_py.passes import PASSES
from shardy_py.passes.pipelines import PIPELINES
from tests.pages import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FLAG = re.compile(r"(?<![\w-])--([a-z][\w-]*)")
_OTHERS = re.compile(
    r"pytest|tests\.|benchmarks|pip |make |git |xla_|mlir-opt|python -m|torchrun|model-explorer"
    r"|code --install"
)
"""Lines on flags of other commands."""
_NOT_OURS = {"set", "count-polynomials", "compiled", "optimizer", "node_data_paths"}
"""Flags of surveys, of Model Explorer and of an example's pass, on further lines of a sentence."""
_IMPORT = re.compile(r"^(?:>>> )?from (shardy_py[\w.]*) import \(?([\w, ]+)\)?", re.MULTILINE)
_READ = re.compile(r"\b(program|Program|result|Result)\.([a-z]\w*)\b")


@pytest.fixture(scope="module")
def flags() -> set[str]:
    """The flags of all commands, by their help."""
    found = {row.name for row in (*FLAGS, *PASSES, *PIPELINES)}
    for command, module in COMMANDS.items():
        if command in ("sdy-opt", "hlo-layout"):
            continue
        text = Path(str(import_module(module).__file__)).read_text()
        found |= set(re.findall(r'"--([a-z][\w-]*)"', text))
    for name in ("layout", "as_compiled", "arguments", "torch_plans"):
        text = (ROOT / "shardy_py" / "cli" / f"{name}.py").read_text()
        found |= set(re.findall(r'"--([a-z][\w-]*)"', text))
    return found | {"help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_flags_exist(page: Path, flags: set[str]) -> None:
    lines = [line for line in page.read_text().splitlines() if not _OTHERS.search(line)]
    named = {name for line in lines for name in _FLAG.findall(line)}
    assert sorted(named - flags - _NOT_OURS) == []


def _imports(page: Path) -> Iterator[tuple[str, str]]:
    for module, names in _IMPORT.findall(page.read_text()):
        yield from ((module, name.split(" as ")[0].strip()) for name in names.split(",") if name.strip())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_names_of_the_api_exist(page: Path) -> None:
    for module, name in _imports(page):
        if not module.startswith(("shardy_py.frontends", "shardy_py.viewer.model_explorer")):
            package = hasattr(import_module(module), "__path__")
            is_module = package and find_spec(f"{module}.{name}") is not None
            assert is_module or hasattr(import_module(module), name), f"{module}.{name}"
    fields = {*dir(Program), *dir(Result), *Result.__dataclass_fields__, "module", "origin", "taken", "roots"}
    lacking = {f"{of}.{name}" for of, name in _READ.findall(page.read_text()) if name not in fields}
    assert {
        name for name in lacking if not name.endswith((".mlir", ".py", ".html", ".json", ".mlirbc"))
    } == set()


def test_all_commands_are_named() -> None:
    for page in ("README.md", "docs/tutorial.md"):
        text = (ROOT / page).read_text()
        assert not [command for command in COMMANDS if f"`{command}`" not in text]
