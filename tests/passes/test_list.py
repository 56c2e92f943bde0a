"""The list of passes against the classes: names, options, files, documentation."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.passes import ModulePass

from shardy_py.passes import PASSES, PassRow, options, pass_by_name
from shardy_py.passes.pipelines import PIPELINES


@pytest.mark.parametrize("row", PASSES, ids=lambda row: row.name)
def test_row_describes_its_class(row: PassRow) -> None:
    pass_class = row.load()
    assert issubclass(pass_class, ModulePass)
    assert pass_class.name == row.name
    options = {field.name: field.default for field in fields(pass_class)}
    assert options == {option.field_name: option.default for option in row.options}


def test_every_pass_file_is_listed(root: Path) -> None:
    listed = {row.name for row in PASSES}
    package = root / "shardy_py"
    folders = (package / "passes", package / "gspmd" / "passes", package / "xla")
    for path in (path for folder in folders for path in folder.glob("*.py")):
        module = import_module(".".join(path.relative_to(root).with_suffix("").parts))
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, ModulePass)
                and value.__module__ == module.__name__
            ):
                assert getattr(value, "name", None) is None or value.name in listed, (
                    f"{path.name} is not listed"
                )


def test_names_are_unique() -> None:
    names = [row.name for row in (*PASSES, *PIPELINES)]
    assert len(names) == len(set(names))
    assert pass_by_name("sdy-close-shardings") is not None
    assert pass_by_name("nope") is None


def test_summaries_are_one_sentence() -> None:
    for row in (*PASSES, *PIPELINES):
        assert row.summary.endswith(".")
        assert ". " not in row.summary


def test_names_follow_the_rule() -> None:
    row = PassRow("sdy-some-new-pass", "Does.", options.UnflattenCallGraphOptions)
    assert (row.stem, row.class_name, row.module_name) == (
        "some_new_pass",
        "SomeNewPassPass",
        "shardy_py.passes.some_new_pass",
    )
    assert [option.name for option in row.options] == ["dedup-functions-fully"]


def test_listing_loads_no_xdsl() -> None:
    code = (
        "import sys, shardy_py.passes.pipelines; assert not {'xdsl', 'numpy', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
