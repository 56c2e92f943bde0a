"""The page on XLA's shardings: its examples run, and the pipelines it names exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from shardy_py.passes import pass_by_name
from shardy_py.passes.pipelines import pipeline_by_name


def test_examples_run(root: Path) -> None:
    found = doctest.testfile(str(root / "docs" / "hlo_sharding.md"), module_relative=False)
    assert found.attempted > 10
    assert not found.failed


def test_what_it_names_exists(root: Path) -> None:
    text = (root / "docs" / "hlo_sharding.md").read_text()
    named = set(re.findall(r"--((?:xla-)?sdy-[\w-]+|convert-[\w-]+)", text))
    assert len(named) > 4
    assert all(pass_by_name(name) or pipeline_by_name(name) for name in named), named
