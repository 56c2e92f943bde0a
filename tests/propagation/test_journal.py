"""The journal beside the log of events, which is kept independently: the same axes, at the same places."""

from __future__ import annotations

import pytest

from shardy_py.mlir.dialects import parse_module
from shardy_py.passes.import_.constraints import synchronize_groups
from shardy_py.passes.pipelines import import_passes, inline_passes
from shardy_py.passes.runner import run_passes
from shardy_py.propagation.graph.build import build_program
from shardy_py.propagation.journal import Arrivals, Journal
from shardy_py.propagation.propagate import propagate
from shardy_py.propagation.rules import rule_of
from shardy_py.sharding import TensorSharding
from tests.propagation.notation import changes
from tests.propagation.random_programs import random_program


def axes(sharding: TensorSharding | None) -> set[tuple[int, str]]:
    if sharding is None:
        return set()
    return {(at, axis.name) for at, given in enumerate(sharding.dimensions) for axis in given.axes}


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed: int) -> None:
    module = run_passes(parse_module(random_program(seed)), import_passes() + inline_passes())
    synchronize_groups(module)
    program = build_program(module, rule_of)
    journal = Journal()
    propagator = propagate(program.flat, program.meshes, journal=journal)
    new_axes = {
        (s, *axis) for _, s, old, new in changes(program.flat, journal) for axis in axes(new) - axes(old)
    }
    arrivals = Arrivals(program.flat, journal)
    boundaries = {
        slots[-1]: boundary
        for kind, slots in zip(program.flat.step_kinds, program.flat.step_slots, strict=True)
        if (boundary := program.flat.kinds[kind].boundary) is not None
    }
    for slot in range(len(program.flat.shardings)):
        manual = boundaries[slot].manual_axes if slot in boundaries else ()
        told = {axis for axis in new_axes if axis[0] == slot}
        found = {(slot, a.dimension, a.axis.name) for a in arrivals.at(slot)}
        assert {t for t in told if t[2] not in manual} <= found
        for _, dimension, name in found:
            assert (dimension, name) in axes(propagator.sharding(slot))
        assert journal.sharding(slot) == propagator.sharding(slot)
        assert journal.first_sharding(slot) == program.flat.shardings[slot]


@pytest.mark.parametrize("seed", range(60, 80))
def test_sources_had_the_axis(seed: int) -> None:
    """At the entry of an arrival its sources had the axis: from the start, or by an earlier arrival."""
    module = run_passes(parse_module(random_program(seed)), import_passes() + inline_passes())
    synchronize_groups(module)
    program = build_program(module, rule_of)
    journal = Journal()
    propagate(program.flat, program.meshes, journal=journal)
    arrivals = Arrivals(program.flat, journal)
    borders = {
        s[-1]
        for k, s in zip(program.flat.step_kinds, program.flat.step_slots, strict=True)
        if program.flat.kinds[k].boundary is not None
    }
    for slot in range(len(program.flat.shardings)):
        for arrival in arrivals.at(slot):
            assert arrival.sources
            for source in arrival.sources:
                if source.slot in borders:
                    continue
                at_first = axes(journal.first_sharding(source.slot))
                earlier = {
                    (a.dimension, a.axis.name)
                    for a in arrivals.at(source.slot)
                    if a.entry < arrival.entry + (arrival.step is None)
                }
                assert (source.dimension, arrival.axis.name) in at_first | earlier


def test_an_axis_that_grows_does_not_come_from_itself() -> None:
    text = (
        'sdy.mesh @mesh = <["x"=4]>\n'
        'func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}]>}, '
        '%arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {\n'
        "  %0 = stablehlo.add %arg0, %arg1 : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n"
    )
    program = build_program(parse_module(text), rule_of)
    journal = Journal()
    propagate(program.flat, program.meshes, journal=journal)
    first, second = (program.slots.of[id(value)] for value in program.step_ops[0].operands)
    (arrival,) = Arrivals(program.flat, journal).at(first)
    assert [source.slot for source in arrival.sources] == [second]


def test_stages() -> None:
    text = (
        'sdy.mesh @mesh = <["x"=2]>\n'
        'func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1]>}) '
        "-> tensor<8xf32> {\n  %0 = stablehlo.abs %arg0 : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n"
    )
    module = parse_module(text)
    program = build_program(module, rule_of)
    journal = Journal()
    propagate(program.flat, program.meshes, journal=journal)
    (arrival,) = Arrivals(program.flat, journal).at(program.slots.of[id(program.step_ops[0].results[0])])
    assert journal.stage_of(arrival.entry) == "user priority 1, pass_through_single_use, aggressive"
    assert [setting.first_entry for setting in journal.settings] == [0, 0]
