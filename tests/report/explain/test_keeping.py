"""Replicated and unreduced axes of a value come from an annotation with these axes."""

from __future__ import annotations

import random

import pytest

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.passes import pipelines
from shardy_py.passes.runner import recording, run_passes
from shardy_py.report.explain import AxisExplanation, Explainer
from tests.differential.programs import Width, wide_program
from tests.report.explain.removing import explained
from tests.report.explain.test_why_not import OPEN, T, argument, function


def kept(explainer: Explainer, value: str) -> list[AxisExplanation]:
    axes = explainer.explain(explainer.names.table.find(value)).axes
    return [axis for axis in axes if axis.role != "sharded"]


@pytest.mark.parametrize("role", ["replicated", "unreduced"])
def test_an_argument(role: str) -> None:
    module = parse_module(function(argument(0, OPEN, T, f', {role}={{"x"}}'), f"  return %arg0 : {T}"))
    with recording() as record:
        run_passes(module, pipelines.import_passes())
    (axis,) = kept(Explainer(record, module), "%arg0")
    (chain,) = axis.chains
    assert (axis.role, axis.axis, axis.dimension, chain.links) == (role, "x", -1, ())
    assert chain.annotation.sharding == f'<@mesh, [{{?}}, {{?}}], {role}={{"x"}}>'
    explainer = Explainer(record, module)
    text = str(explainer.explain(explainer.names.table.find("%arg0")))
    assert f"  it is {role} along x\n    from the argument sharding of %arg0 <@mesh" in text


def test_random_programs() -> None:
    count = 0
    for seed in range(40):
        width = Width(unreduced=0.1, replicated=0.2, named=seed % 2 == 0)
        try:
            explainer = explained(parse_module(wide_program(random.Random(seed), width)))
        except ShardyError:
            continue
        for entry in explainer.names.table.entries:
            for axis in explainer.explain(entry).axes:
                if axis.role != "sharded":
                    (chain,) = axis.chains
                    name = axis.axis.split(":")[0]
                    assert f'"{name}"' in chain.annotation.sharding.split(f"{axis.role}={{")[1]
                    count += 1
    assert count > 0
