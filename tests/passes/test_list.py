"""The list of passes against the classes: names, options, files, documentation."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest
from xdsl.passes import ModulePass, PassPipeline

from shardy_py.passes import PASSES, PassRow, options, pass_by_name
from shardy_py.passes.pipelines import PIPELINES


@pytest.mark.parametrize("row", PASSES, ids=lambda row: row.name)
def test_row_describes_its_function(row: PassRow) -> None:
    function = getattr(import_module(row.module_name), row.stem)
    expected = {"module": "ModuleOp", "return": "None"}
    if row.options_class is not None:
        expected["options"] = row.options_class.__name__
    assert function.__annotations__ == expected


@pytest.mark.parametrize("row", PASSES, ids=lambda row: row.name)
def test_xdsl_parses_the_options(row: PassRow) -> None:
    pass_class = row.load()
    assert issubclass(pass_class, ModulePass)
    assert (pass_class.__name__, pass_class.name) == (row.class_name, row.name)
    values: dict[type, tuple[str, object]] = {
        bool: ("true", True),
        int: ("3", 3),
        str: ('"a b"', "a b"),
        tuple: ('"a","b"', ("a", "b")),
    }
    texts = (f"{o.name}={values[type(o.default)][0]}" for o in row.options)
    spec = f"{row.name}{{{' '.join(texts)}}}" if row.options else row.name
    (found,) = PassPipeline.parse_spec({row.name: row.load}, spec).passes
    assert vars(found) == {o.field_name: values[type(o.default)][1] for o in row.options}


def test_every_pass_file_is_listed() -> None:
    listed = {(row.package, row.stem) for row in PASSES}
    for package in {row.package for row in PASSES}:
        folder = import_module(f"shardy_py.{package}")
        for info in pkgutil.iter_modules(folder.__path__):
            function = getattr(import_module(f"shardy_py.{package}.{info.name}"), info.name, None)
            if "module" in getattr(function, "__annotations__", {}):
                assert (package, info.name) in listed


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
