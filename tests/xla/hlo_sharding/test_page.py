"""The page on XLA's shardings: its examples run, and the pipelines it names exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

from shardy_py.mlir.dialects import parse_module, print_module
from shardy_py.passes import pass_by_name
from shardy_py.passes.options import ImportShardingsOptions
from shardy_py.passes.pipelines import pipeline_by_name, stablehlo_import_passes
from shardy_py.passes.runner import run_passes


def test_examples_run(root: Path) -> None:
    found = doctest.testfile(str(root / "docs" / "hlo_sharding.md"), module_relative=False)
    assert found.attempted > 10
    assert not found.failed


def test_names_on_the_page_exist(root: Path) -> None:
    text = (root / "docs" / "hlo_sharding.md").read_text()
    named = set(re.findall(r"--((?:xla-)?sdy-[\w-]+|convert-[\w-]+)", text))
    assert len(named) > 4
    assert all(pass_by_name(name) or pipeline_by_name(name) for name in named), named


HLO = """HloModule m, entry_computation_layout={(f32[8,8]{1,0})->f32[8,8]{1,0}}

ENTRY %main (p: f32[8,8]) -> f32[8,8] {
  %p = f32[8,8]{1,0} parameter(0), sharding={devices=[4,1,2]<=[8] last_tile_dim_replicate}
  ROOT %n = f32[8,8]{1,0} negate(%p), sharding={replicated}
}
"""


def test_hlo_text_becomes_a_dump(root: Path) -> None:
    pytest.importorskip("jaxlib._hlo", reason="needs jaxlib")
    page = (root / "docs" / "hlo_sharding.md").read_text()
    (block,) = (
        text for text in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M) if "import _hlo" in text
    )
    names: dict[str, Any] = {"text": HLO}
    exec(block, names)
    read = stablehlo_import_passes(
        ImportShardingsOptions(mesh_axes=("x=4", "y=2"), allow_propagation_to_results=("true",))
    )
    text = print_module(run_passes(parse_module(names["dump"]), read))
    assert '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}' in text
    assert "-> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>})" in text
