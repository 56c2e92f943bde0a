"""Work of reports grows as programs do: lines that run in a module, at one size and at four times that.

The times are measured by `benchmarks/growth.py`; lines are the same in each run.
"""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import pytest

import shardy_py
from tests.report.executed_lines import lines_by_file

ROOT = Path(shardy_py.__file__).parent
BENCHMARKS = ROOT.parent / "benchmarks"
FACTOR = 4
BOUND = FACTOR**1.15

CASES = (
    ("arguments", "suggest", "search/suggest/suggestion.py"),
    ("constant uses", "memory h100", "xla/targets/gpu/kernels.py"),
    ("results", "suggest", "xla/targets/rounding.py"),
    ("concatenation", "memory", "xla/buffers/host_equal.py"),
    ("concatenation", "communication", "report/verdict/causes.py"),
    ("concatenation", "explorer", "report/explain/neighbourhood.py"),
    ("concatenation", "suggest", "xla/spmd/halo.py"),
    ("custom call", "prove", "run/proof/pieces.py"),
    ("custom call", "suggest", "xla/targets/combining.py"),
    ("custom call", "communication xla", "search/advice/sites.py"),
    ("reduced", "time", "report/time/local_work.py"),
    ("reduced", "time", "indexing/index_map.py"),
    ("reduced", "suggest", "search/suggest/roles.py"),
    ("reduced", "suggest", "xla/buffers/held.py"),
    ("reduced", "memory h100", "xla/targets/sends.py"),
    ("reduced", "memory h100", "xla/targets/build.py"),
    ("reduced", "communication xla", "search/advice/manual_rewrite.py"),
    ("loop values", "suggest", "xla/targets/rounding.py"),
    ("carried", "suggest", "xla/targets/rounding.py"),
    ("carried", "suggest", "xla/buffers/assignment.py"),
    ("carried", "suggest", "xla/buffers/memory_order.py"),
    ("one group", "explorer", "report/explain/neighbourhood.py"),
    ("loops", "explorer", "report/training_step.py"),
    ("constraints", "memory", "xla/buffers/host_equal.py"),
    ("constraints", "memory h100", "mlir/typed.py"),
    ("barriers", "suggest", "xla/buffers/aliases.py"),
    ("meshes", "memory h100", "xla/buffers/gpu/latency.py"),
    ("manual operands", "time xla", "mlir/dialects/traits.py"),
    ("nested loops", "suggest", "xla/buffers/moved.py"),
    ("nested loops", "suggest", "xla/buffers/loops_there.py"),
    ("nested branches", "memory", "xla/spmd/program.py"),
    ("nested branches", "memory", "xla/buffers/schedule.py"),
    ("nested branches", "memory", "xla/buffers/aliases.py"),
    ("nested branches", "memory", "xla/buffers/host_fusion.py"),
    ("nested branches", "time xla", "xla/spmd/program.py"),
    ("nested branches", "trace", "report/time/interval.py"),
    ("nested branches", "export", "xla/gspmd/passes/stablehlo_shard_maps.py"),
    ("nested branches", "compiled", "mlir/nesting.py"),
    ("nested branches", "compiled", "xla/prepare/inlining.py"),
    ("nested branches", "suggest", "xla/buffers/tpu/order.py"),
    ("sharded results", "memory h100", "xla/targets/merging.py"),
    ("sharded results", "memory h100", "xla/targets/gpu/kernels.py"),
    ("sharded results", "suggest", "xla/spmd/loop_users.py"),
    ("sharded results", "suggest", "search/suggest/batch.py"),
    ("results", "prove", "mlir/numbering.py"),
    ("custom call", "prove", "mlir/numbering.py"),
    ("reduced", "prove", "mlir/numbering.py"),
    ("reduced", "prove", "mlir/ir/walking.py"),
    ("reduced", "what if constrained", "base/annotations.py"),
    ("reduced", "what if constrained", "mlir/holders.py"),
    ("nested loops", "compiled", "mlir/nesting.py"),
    ("constant uses", "diff", "report/matching.py"),
    ("dead users", "diff", "report/matching.py"),
    ("one group", "diff", "report/matching.py"),
    ("groups", "diff", "report/matching.py"),
    ("priorities", "diff", "report/matching.py"),
    ("nested loops", "diff", "report/matching.py"),
    ("indexed", "diff", "report/matching.py"),
    ("nested loops", "diff", "mlir/text/naming.py"),
)
"""The family of programs, the report, and the module in which work was once repeated for each part."""


SMALLER = {"loops": 30, "nested loops": 12, "nested branches": 15}
"""The smaller of the two sizes, of families that are slow, or that may not be nested as deeply as others."""


@pytest.mark.slow
@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the programs are those of the benchmarks")
@pytest.mark.parametrize("family", dict.fromkeys(family for family, _, _ in CASES))
def test_the_work_of_reports_grows_as_programs_do(family: str, tmp_path: Path) -> None:
    families, sharded, surfaces = (
        run_path(str(BENCHMARKS / f"{name}.py")) for name in ("families", "sharded_families", "surfaces")
    )
    program, _ = {**families["FAMILIES"], **sharded["SHARDED_FAMILIES"]}[family]
    cases = [(report, str(ROOT / module)) for own, report, module in CASES if own == family]
    small = SMALLER.get(family, 100)
    counts: list[list[int]] = []
    for size in (2, small, small * FACTOR):  # the first loads what is loaded on use
        todo = surfaces["steps"](program(size), tmp_path)
        todo["read"]()
        todo["propagate"]()
        lines = {
            report: lines_by_file(
                todo[report], frozenset(file for own, file in cases if own == report).__contains__
            )
            for report in dict.fromkeys(report for report, _ in cases)
        }
        counts.append([lines[report][file] for report, file in cases])
    grown = {case: last / first for case, first, last in zip(cases, *counts[1:], strict=True)}
    assert {case: ratio for case, ratio in grown.items() if ratio > BOUND} == {}
