"""Threads of one process that work on different programs get the answers that one gets."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from xdsl.ir import Operation

from shardy_py import Program, ShardyError, propagate
from shardy_py.base.session import SESSION
from shardy_py.mlir import record
from shardy_py.mlir.dialects import parse_module
from shardy_py.ops import OpRecord
from tests.differential.meshes import Width
from tests.differential.programs import wide_program

WIDTH = Width(replicated=0.0, annotated=0.4, ops=8)
PROGRAMS = 60


def answers(text: str) -> list[str]:
    """The program propagated, and reports on it; messages of those that refuse it."""
    try:
        result = propagate(Program.parse(text), progress=False)
    except ShardyError as error:
        return [str(error)]
    found: list[str] = []
    for ask in (
        result.program.text,
        lambda: result.communication(partitioner="xla").to_rows(),
        lambda: result.memory("tpu-v5p").estimate,
        result.summary,
        result.time,
        lambda: result.explain([*result.values][-1].name),
    ):
        try:
            found.append(str(ask()))
        except ShardyError as error:
            found.append(str(error))
    return found


@pytest.mark.slow
def test_threads_and_one_thread_agree() -> None:
    texts = [wide_program(random.Random(seed), WIDTH) for seed in range(PROGRAMS)]
    expected = [*map(answers, texts)]
    SESSION.clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = [*pool.map(answers, texts)]
    finally:
        sys.setswitchinterval(before)
    assert found == expected


def test_threads_that_miss_an_entry_together_get_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look-up of one thread and its entry, another one makes the same."""
    made: list[object] = []
    convert = record._convert

    def interrupted(op: Operation, context: dict[str, Any]) -> OpRecord:
        monkeypatch.setattr(record, "_convert", convert)
        made.append(record.record_of(op))
        return convert(op, context)

    text = "func.func @main(%a: tensor<7xf32>) {\n%0 = stablehlo.negate %a : tensor<7xf32>\nreturn\n}"
    module = parse_module(text)
    negate = next(op for op in module.walk() if op.name == "stablehlo.negate")
    SESSION.clear()
    monkeypatch.setattr(record, "_convert", interrupted)
    assert record.record_of(negate) is made[0]
