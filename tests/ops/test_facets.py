"""Facets: each op has a row in each or a default that is stated; a second row is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shardy_py.base import plugins
from shardy_py.base.errors import ShardyError
from shardy_py.base.plugins import load_plugins
from shardy_py.localize.facet import LOCAL, LocalRow
from shardy_py.ops import TABLE, Facet, Family, OpSpec
from shardy_py.ops.compute import COMPUTED, ComputedRow
from shardy_py.ops.compute import facet as computed
from shardy_py.run.interpret.facet import RUN, RunRow
from shardy_py.run.proof.facet import EXACT, ExactRow
from shardy_py.xla.buffers.facet import STORED, StoredRow
from shardy_py.xla.spmd.facet import SENT, SentRow
from shardy_py.xla.targets.facet import COMPILED, CompiledRow
from shardy_py.xla.targets.gpu.facet import KERNELS, KernelRow

FACETS: dict[str, tuple[Facet[Any], type]] = {
    "LOCAL": (LOCAL, LocalRow),
    "SENT": (SENT, SentRow),
    "STORED": (STORED, StoredRow),
    "COMPILED": (COMPILED, CompiledRow),
    "KERNELS": (KERNELS, KernelRow),
    "COMPUTED": (COMPUTED, ComputedRow),
    "RUN": (RUN, RunRow),
    "EXACT": (EXACT, ExactRow),
}
CALL = "stablehlo.custom_call"


@pytest.fixture
def cost() -> Facet[int]:
    return Facet("cost of", 1, {Family.ELEMENTWISE: 2, Family.PRODUCT: 8}, {"stablehlo.fft": 5, CALL: 3})


@pytest.mark.parametrize("name", FACETS)
def test_every_op_has_the_facet_or_a_default_that_is_stated(name: str, root: Path) -> None:
    facet, row_class = FACETS[name]
    assert all(isinstance(facet.of(op), row_class) for op in TABLE)
    page = (root / "docs/design/facets.md").read_text()
    (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}`"))
    (default, families) = line.split(" | ")[3:5]
    assert default
    assert set(facet.families) == {family for family in Family if family.name in families}


@pytest.mark.parametrize("name", FACETS)
def test_rows_are_those_of_ops(name: str) -> None:
    facet, _ = FACETS[name]
    assert {op for op in facet.rows if "@" not in op} <= set(TABLE)


def test_every_family_is_the_default_of_a_facet_and_has_ops() -> None:
    assert {family for facet, _ in FACETS.values() for family in facet.families} == {*Family} - {
        Family.OTHER,
        Family.PRODUCT,  # counted as such in `search/advice/outcome.py`
    }
    assert {row.kind for row in TABLE.values()} == {*Family}


def test_the_tables_of_computations_share_no_op() -> None:
    tables = [vars(module)["COMPUTE"] for module in map(computed.family, computed.FAMILIES)]
    assert sum(map(len, tables)) == len({op for table in tables for op in table})


@pytest.mark.parametrize(
    ("op", "row"),
    [
        ("stablehlo.fft", 5),
        ("stablehlo.add", 2),
        ("chlo.next_after", 2),
        ("stablehlo.dot_general", 8),
        ("stablehlo.sort", 1),
        ("mine.op", 1),
        (f"{CALL}@Eigh", 3),
        (f"{CALL}@mine", 3),
    ],
)
def test_a_row_else_that_of_the_call_the_family_or_the_default(cost: Facet[int], op: str, row: int) -> None:
    assert cost.of(op) == row


def test_a_target_without_calls_of_its_own_row_has_that_of_its_family(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(TABLE, f"{CALL}@mine", OpSpec(f"{CALL}@mine", is_elementwise=True))
    assert Facet("cost of", 1, {Family.ELEMENTWISE: 2}).of(f"{CALL}@mine") == 2


def test_registering_twice_is_an_error(cost: Facet[int]) -> None:
    cost.register("mine.op", 4)
    message = r"cost of 'mine\.op': expected one row, got two; give replaces=True to replace the first"
    with pytest.raises(ShardyError, match=message):
        cost.register("mine.op", 6)
    with pytest.raises(ShardyError, match=r"cost of 'stablehlo\.fft': expected one row"):
        cost.register("stablehlo.fft", 6)
    cost.register("mine.op", 6, replaces=True)
    assert cost.of("mine.op") == 6


def test_two_plugins_cannot_register_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_owners", "_loaded"):
        monkeypatch.setattr(plugins, name, {})
    monkeypatch.setattr(SENT, "rows", dict(SENT.rows))
    text = """from shardy_py.xla.spmd.facet import SENT
SENT.register("mine.op", SENT.of("stablehlo.tanh"), replaces=True)
"""
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(text)
    load_plugins(str(tmp_path / "one.py"))
    assert SENT.of("mine.op") is SENT.of("stablehlo.tanh")
    with pytest.raises(
        ShardyError, match=r"what XLA's partitioner sends for 'mine\.op': expected one plugin"
    ):
        load_plugins(str(tmp_path / "two.py"))
