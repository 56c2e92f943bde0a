"""The list of passes against the classes: names, options, files, documentation."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

from shardy_py.passes import PASSES, PassRow, options, pass_by_name
from shardy_py.passes.pipelines import PIPELINES


@pytest.mark.parametrize("row", PASSES, ids=lambda row: row.name)
def test_row_describes_its_function(row: PassRow) -> None:
    function = getattr(import_module(row.module_name), row.stem)
    expected = {"module": "ModuleOp", "return": "None"}
    if row.options_class is not None:
        expected["options"] = row.options_class.__name__
    found = {name: text.removeprefix("builtin.") for name, text in function.__annotations__.items()}
    assert found == expected


PACKAGES = (
    *("passes", "passes.import_", "passes.propagate", "passes.export", "localize"),
    *("xla.gspmd.passes", "xla.prepare"),
)


def test_every_pass_is_listed() -> None:
    listed = {(row.module_name, row.stem) for row in PASSES}
    for package in PACKAGES:
        folder = import_module(f"shardy_py.{package}")
        for info in pkgutil.iter_modules(folder.__path__):
            name = f"shardy_py.{package}.{info.name}"
            function = getattr(import_module(name), info.name, None)
            if "module" in getattr(function, "__annotations__", {}):
                assert (name, info.name) in listed


def test_names_are_unique() -> None:
    names = [row.name for row in (*PASSES, *PIPELINES)]
    assert len(names) == len(set(names))
    assert [pass_by_name(row.name) for row in PASSES] == [*PASSES]
    assert pass_by_name("nope") is None


def test_summaries_are_one_sentence() -> None:
    for row in (*PASSES, *PIPELINES):
        assert row.summary.endswith(".")
        assert ". " not in row.summary


def test_names_follow_the_rule() -> None:
    row = PassRow("sdy-some-new-pass", "Does.", "passes.export.new", options.UnflattenCallGraphOptions)
    assert (row.stem, row.class_name) == ("some_new_pass", "SomeNewPassPass")
    assert row.module_name == "shardy_py.passes.export.new"
    assert PassRow("xla-new", "Does.", "xla.prepare.shared").stem == "new"
    assert [option.name for option in row.options] == ["dedup-functions-fully"]


def test_listing_loads_no_xdsl() -> None:
    code = (
        "import sys, shardy_py.passes.pipelines; assert not {'xdsl', 'numpy', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)
