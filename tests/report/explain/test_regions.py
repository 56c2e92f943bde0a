"""Regions of a neighbourhood: what walks along factors reach, counted without making the crossings."""

from __future__ import annotations

import pytest

from shardy_py import Program, propagate
from shardy_py.report.explain.neighbourhood import Neighbourhood
from shardy_py.sharding import AxisRef
from tests.conftest import corpus_params, corpus_text

_MOST_STARTS = 12


@pytest.mark.parametrize("name", corpus_params())
def test_a_region_is_what_a_walk_reaches(name: str) -> None:
    result = propagate(Program.parse(corpus_text(name), f"{name}.mlir"))
    for propagation in result.record.propagations if result.record else ():
        neighbourhood, journal = Neighbourhood(propagation), propagation.journal
        axes = [AxisRef(axis.name) for mesh in journal.meshes.values() for axis in mesh.axes]
        slots = len(journal.end_numbers)
        for slot in range(0, slots, max(1, slots // _MOST_STARTS)):
            sharding = journal.sharding(slot)
            for dimension in range(0 if sharding is None else sharding.rank):
                for axis in axes:
                    crossings = [crossing for crossing, _ in neighbourhood.walk(slot, dimension, axis)]
                    region = neighbourhood.region(slot, dimension, axis)
                    assert {*region.reached} == {crossing.before for crossing in crossings}
                    assert region.slots == {crossing.before[0] for crossing in crossings}
                    has_axis = [
                        crossing for crossing in crossings if neighbourhood.has(*crossing.before, axis)
                    ]
                    assert region.stop_count == len(has_axis)
