"""The pages for users run, and show what happens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shardy_py
from shardy_py import testing
from shardy_py.cli import check, compare, diff
from shardy_py.cli.opt import main as sdy_opt
from shardy_py.frontends import builder
from tests.pages import Page

PAGES = {
    "api": 9,
    "builder": 4,
    "check": 6,
    "ci": 1,
    "coming_from": 14,
    "communication": 6,
    "compare": 3,
    "diff": 2,
    "gallery": 14,
    "graph": 5,
    "notebooks": 4,
    "interpret": 4,
    "inputs": 2,
    "partition": 5,
    "suggest": 4,
    "targets": 1,
    "testing": 2,
    "tour": 8,
    "tutorial": 12,
}
"""How many things each page shows, at least."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_true(name: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "suggest":
        pytest.importorskip("highspy", reason="highspy (extra: suggest) is not installed")
    if name == "gallery":
        pytest.importorskip("jax", reason="JAX is not installed")
    monkeypatch.chdir(tmp_path)
    page = Page(root / "docs" / f"{name}.md")
    page.run()
    assert page.checked >= PAGES[name]


@pytest.mark.parametrize(("page", "module"), [("api", shardy_py), ("builder", builder), ("testing", testing)])
def test_a_guide_names_all_that_is_public(page: str, module: ModuleType, root: Path) -> None:
    text = (root / "docs" / f"{page}.md").read_text()
    public = getattr(module, "__all__", None) or ["assert_sharding", "assert_collectives"]
    assert not [name for name in public if not re.search(rf"\b{name}\b", text)]


PROGRAM = """
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%arg0: tensor<30x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<30x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return %arg0 : tensor<30x8xf32>
}
"""


COMPILED = """HloModule m, is_scheduled=true
ENTRY %main {
  %p = f32[30,2]{1,0} parameter(0)
  ROOT %g = f32[30,8]{1,0} all-gather(%p), dimensions={1}, replica_groups={{0,2,4,6},{1,3,5,7}}
}
"""


def test_every_field_of_json_is_described(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mlir").write_text(PROGRAM)
    Path("b.mlir").write_text(PROGRAM.replace('[{"x"}, {}]', '[{"y"}, {}]'))
    Path("a.hlo").write_text(COMPILED)
    Path("b.hlo").write_text(COMPILED.replace("dimensions={1}", "dimensions={0}"))
    runs: tuple[tuple[str, Callable[[list[str]], int], list[str]], ...] = (
        ("communication", sdy_opt, ["a.mlir", "--communication-report", "--json"]),
        ("diff", diff.main, ["a.mlir", "b.mlir", "--json"]),
        ("check", check.main, ["a.mlir", "--json", "--fail-on", "never"]),
        ("compare", compare.main, ["a.mlir", "a.hlo", "--json"]),
        ("compare", compare.main, ["a.hlo", "b.hlo", "--json"]),
    )
    for page, main, arguments in runs:
        assert main(arguments) == 0
        text = (root / "docs" / f"{page}.md").read_text()
        fields = set(_fields(json.loads(capsys.readouterr().out)))
        assert len(fields) > 8
        assert not [name for name in fields if f"`{name}`" not in text and f'"{name}"' not in text]


def _fields(value: Any) -> Iterator[str]:
    """The names of all fields of a document; names of collectives are no fields."""
    for part in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _fields(part)
    if isinstance(value, dict):
        yield from (name for name in value if not name.startswith("all_"))


@pytest.mark.torch
def test_placements_are_what_the_page_says(root: Path) -> None:
    placements = pytest.importorskip(
        "torch.distributed.tensor.placement_types", reason="torch is not installed"
    )
    from shardy_py import Mesh, P, Sharding
    from shardy_py.frontends.torch import from_placements

    mesh = Mesh.of(x=4, y=2)
    text = (root / "docs" / "coming_from.md").read_text()
    rows = re.findall(r"^\| `(\[.*\])` \| `(P\(.*\))` \|$", text, re.MULTILINE)
    assert len(rows) == 5
    for theirs, ours in rows:
        wanted = Sharding(mesh, eval(ours, {"P": P})).for_rank(2)
        assert from_placements(mesh, eval(theirs, vars(placements)), (16, 16)) == wanted


def test_hlo_shardings_are_what_jax_says(root: Path) -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

    mesh = AbstractMesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    text = (root / "docs" / "coming_from.md").read_text()
    rows = re.findall(r"^(P\(.*\)) +(\{.*\})$", text, re.MULTILINE)
    assert len(rows) == 5
    for spec, shown in rows:
        sharding = NamedSharding(mesh, eval(spec, {"P": PartitionSpec}))
        assert str(sharding._to_xla_hlo_sharding(2)) == shown, jax.__version__


@pytest.mark.parametrize(
    ("page", "true"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "```python\nprint(1)\n```\n\n```text\n1\n```\n"),
        ("```python\n>>> 1\n2\n```\n", "```python\n>>> 1\n1\n```\n"),
        (
            "```python\n>>> {}[1]\n2\n```\n",
            "```python\n>>> {}[1]\nTraceback (most recent call last):\n    ...\nKeyError: 1\n```\n",
        ),
        (
            "```console\n$ sdy-check --no\nusage: x\n\n$ sdy-check --rules\nSDY001  w\n...\n```\n",
            None,
        ),
    ],
)
def test_a_page_that_is_not_true_is_found_out(page: str, true: str | None, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(page)
    with pytest.raises(AssertionError, match=r"page\.md shows"):
        Page(file).run()
    file.write_text(Page(file).rewritten())
    if true is not None:
        assert file.read_text() == true
    Page(file).run()
