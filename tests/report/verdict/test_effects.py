"""What a change does to each collective: the effects sum up to what it saves."""

from __future__ import annotations

from shardy_py import Program, propagate
from shardy_py.report.verdict import CollectivePlace, bytes_by_place, cost_groups, effects_between
from tests.report.compiled.compiled_program import PROGRAM
from tests.report.verdict.test_causes import program


def test_effects_sum_up_to_what_is_saved() -> None:
    verdict = propagate(Program.parse(PROGRAM)).verdict(partitioner="xla")
    assert verdict.changes
    for change in verdict.changes:
        assert [effect.place.kind for effect in change.effects if effect.after == 0] == ["all_gather"]
        assert sum(effect.before - effect.after for effect in change.effects) == change.saved_bytes


def test_the_same_collective_is_found_in_another_program() -> None:
    old, new = (program(layers, has_lines=True).communication(partitioner="xla").sending for layers in (3, 2))
    (effect,) = effects_between(old, new)
    assert effect.place.scope == "jit(f)/jvp(layer_2)/dot_general"
    assert (effect.place.kind, effect.place.axes, effect.after) == ("all_reduce", ("model",), 0)
    assert effect.before == old[2].total.bytes
    assert effects_between(old, old) == ()
    (added,) = effects_between(new, old)
    assert (added.before, added.after) == (0, effect.before)


def test_causes_know_the_positions_of_their_collectives() -> None:
    report = program(has_lines=True).communication(partitioner="xla")
    numbers = [number for group in cost_groups(report) for number in group.numbers]
    assert sorted(numbers) == [*range(len(report.sending))]
    for group in cost_groups(report):
        places = {CollectivePlace.of(use) for use in group.uses}
        assert places == {CollectivePlace.of(report.sending[number]) for number in group.numbers}
    assert sum(bytes_by_place(report.sending).values()) == report.total.bytes
