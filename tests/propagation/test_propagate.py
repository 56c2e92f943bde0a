"""Propagation of hand-made programs: order, rounds, groups, siblings, priorities, dead ops, journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shardy_py.ops import Role
from shardy_py.propagation.fixpoint import Propagator
from shardy_py.propagation.flat import FlatProgram, GroupMember, Liveness, ReturnedValue, StepKind
from shardy_py.propagation.journal import Journal
from shardy_py.propagation.propagate import PropagationOptions, held_back, propagate, released
from shardy_py.propagation.step import Step
from shardy_py.propagation.step_tables import Round
from shardy_py.sharding import Mesh, TensorSharding
from tests.propagation.notation import ADD, DOT, MESHES, changes, rule, sharding, shardings, short, step

BASIC = PropagationOptions("basic", run_op_priority_propagation=False, run_user_priority_propagation=False)
AGGRESSIVE = PropagationOptions(
    "aggressive", run_op_priority_propagation=False, run_user_priority_propagation=False
)
OPS = PropagationOptions(run_user_priority_propagation=False)
EW = step(ADD, Role.PASS_THROUGH)
SHARED = step(ADD, Role.PASS_THROUGH, shared=True)
UNARY = step("ij -> ij, i=8, j=8", Role.PASS_THROUGH)


def program_of(
    start: Sequence[TensorSharding | None], steps: Sequence[tuple[StepKind, tuple[int, ...]]]
) -> FlatProgram:
    """A program from the shardings of slots 1, 2, ... and the steps in order.

    The dependents of a slot are the step that defines it, then the steps that use it, the last one first.
    """
    program = FlatProgram([None, *start])
    program.ranks = [0, *(s.rank if s else 0 for s in start)]
    makers: list[list[int]] = [[] for _ in program.shardings]
    users: list[list[int]] = [[] for _ in program.shardings]
    for number, (kind, slots) in enumerate(steps):
        program.step_slots.append(slots)
        program.step_kinds.append(program.kind_number(kind))
        made = slots[len(kind.rule.operands) :] if kind.rule else ()
        for slot in dict.fromkeys(slots):
            (makers if slot in made else users)[slot].insert(0, number)
    program.dependents = [(*first, *then) for first, then in zip(makers, users, strict=True)]
    return program


def run(
    start: str,
    steps: list[tuple[StepKind, tuple[int, ...]]],
    options: PropagationOptions = BASIC,
) -> list[str]:
    """The shardings of slots 1, 2, ... after propagation."""
    return result(program_of(shardings(start), steps), options)


def result(program: FlatProgram, options: PropagationOptions = BASIC) -> list[str]:
    propagator = propagate(program, MESHES, options)
    return [short(propagator.sharding(slot)) for slot in range(1, len(program.shardings))]


def test_a_chain_forward_and_backward() -> None:
    chain = [(UNARY, (1, 2)), (UNARY, (2, 3)), (UNARY, (3, 4))]
    assert run("[{a}, {?}]; -; -; -", chain) == ["[{a}, {?}]"] + ["[{a, ?}, {?}]"] * 3
    assert run("-; -; -; [{a}, {?}]", chain) == ["[{a, ?}, {?}]"] * 3 + ["[{a}, {?}]"]
    assert run("-; -; -; -", chain) == ["-"] * 4


def test_what_steps_do_is_known_in_the_next_program_on_equal_meshes(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = [(UNARY, (1, 2)), (UNARY, (2, 3))]
    first = run("[{a}, {?}]; -; -", chain, OPS)
    taken: list[Step] = []

    def take(step: Step, *_: object) -> list[tuple[int, TensorSharding]]:
        taken.append(step)
        return []

    monkeypatch.setattr(Step, "take", take)
    assert run("[{a}, {?}]; -; -", chain, OPS) == first
    assert not taken
    propagate(program_of(shardings("[{a}, {?}]; -; -"), chain), {**MESHES, "other": Mesh.of(x=2)}, OPS)
    assert taken  # on other meshes


def test_the_first_in_program_order_wins_where_order_matters() -> None:
    """Two sources for one value: the op that stands first is taken first."""
    first, second = (UNARY, (1, 3)), (UNARY, (3, 2))
    assert run("[{a, ?}, {?}]; [{b, ?}, {?}]; -", [first, second])[2] == "[{a, ?}, {?}]"
    assert run("[{a, ?}, {?}]; [{b, ?}, {?}]; -", [second, first])[2] == "[{b, ?}, {?}]"


def test_op_priority_decides_before_program_order() -> None:
    """The dot stands first, but elementwise ops are propagated through first."""
    dot = (step(DOT, reduction="k"), (1, 2, 3))
    start = "[{a, ?}, {?}]; -; -; [{?}, {a, ?}]"
    assert run(start, [dot, (UNARY, (3, 4))], AGGRESSIVE)[2] == "[{a, ?}, {?}]"
    assert run(start, [dot, (UNARY, (3, 4))], OPS)[2] == "[{?}, {a, ?}]"


def test_ops_with_shared_operands_wait_a_round() -> None:
    start = "[{a, ?}, {?}]; -; [{?}, {a, ?}]; -"
    shared = [(step("ij -> ij, i=8, j=8", Role.PASS_THROUGH, shared=True), (1, 2)), (UNARY, (2, 3))]
    assert run(start, [(UNARY, (1, 2)), shared[1]], OPS)[1] == "[{a, ?}, {?}]"
    assert run(start, shared, OPS)[1] == "[{?}, {a, ?}]"


def test_the_strategies_one_after_the_other() -> None:
    dot = [(step(DOT, reduction="k"), (1, 2, 3))]
    start = "[{a, ?}, {?}]; [{?}, {a, ?}]; -"
    both = PropagationOptions(
        "basic-then-aggressive", run_op_priority_propagation=False, run_user_priority_propagation=False
    )
    assert run(start, dot, BASIC)[2] == "-"
    assert run(start, dot, both)[2] == "[{a, ?}, {?}]"


def test_results_of_the_main_function_take_part_before_and_after() -> None:
    program = program_of(shardings("-; -; [{a}, {?}]"), [(UNARY, (1, 2))])
    program.returned = (ReturnedValue(2, 3, rule("ij -> ij, i=8, j=8")),)
    assert result(program) == ["[{a, ?}, {?}]", "[{a, ?}, {?}]", "[{a}, {?}]"]
    program.shardings = [None, *shardings("[{a}, {?}]; -; -")]
    assert result(program) == ["[{a}, {?}]", "[{a, ?}, {?}]", "[{a, ?}, {?}]"]


def test_members_of_a_group_change_together() -> None:
    program = program_of(shardings("[{a}, {?}]; -; -; -"), [(UNARY, (1, 2)), (UNARY, (3, 4))])
    group = tuple(GroupMember(slot, program.dependents[slot]) for slot in (2, 3))
    program.groups = {2: (group[0], group), 3: (group[1], group)}
    assert result(program) == ["[{a}, {?}]"] + ["[{a, ?}, {?}]"] * 3


def test_siblings_of_the_first_sharded_result_become_open() -> None:
    two = step("ij -> ij, i=8, j=8")
    program = program_of(shardings("[{a}, {?}]; -; -"), [(two, (1, 2))])
    program.siblings = {2: (2, 3), 3: (2, 3)}
    program.ranks[3] = 3
    assert result(program)[2] == "[{?}, {?}, {?}]"


def test_other_readers_see_a_change_when_they_are_visited() -> None:
    """A step in front of the change does not, until the next round."""
    start, steps = "-; -; [{a}, {?}]", [(UNARY, (2, 1)), (UNARY, (2, 3))]
    program = program_of(shardings(start), steps)
    program.dependents[2] = (1,)
    program.other_readers = {2: (0,)}
    assert result(program)[:2] == ["-", "[{a, ?}, {?}]"]
    assert result(program, OPS)[:2] == ["[{a, ?}, {?}]", "[{a, ?}, {?}]"]


def test_user_priorities_hold_dimensions_back() -> None:
    start = "[{a}p1, {?}]; [{?}, {a, ?}]; -"
    assert run(start, [(EW, (1, 2, 3))], PropagationOptions())[2] == "[{?}, {a, ?}]"
    assert run(start, [(EW, (1, 2, 3))], AGGRESSIVE)[2] == "[{a, ?}, {?}]"


class Modes(list[int]):
    """The modes of a round; counts how often those of all steps were looked up."""

    read = 0

    def __getitem__(self, kind: Any) -> Any:
        Modes.read += 1
        return super().__getitem__(kind)


def test_the_modes_of_steps_are_looked_up_once_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    tables_of_round = Propagator._tables_of_round
    known: dict[object, Round] = {}

    def counting(propagator: Propagator, *given: Any) -> Round:
        if given not in known:
            tables, modes = tables_of_round(propagator, *given)
            known[given] = tables, Modes(modes)
        return known[given]

    monkeypatch.setattr(Propagator, "_tables_of_round", counting)
    monkeypatch.setattr(Modes, "read", 0)
    count = 9
    steps = [(UNARY, (2 * n - 1, 2 * n)) for n in range(1, count + 1)]
    found = run("; ".join(f"[{{a}}p{n}, {{?}}]; -" for n in range(1, count + 1)), steps, PropagationOptions())
    assert found[1::2] == ["[{a, ?}, {?}]"] * count
    assert Modes.read < 2 * len(known) * count  # for each of the priorities it was that often


def test_held_back_axes_are_replicated_until_their_turn() -> None:
    original = sharding("[{a}p1, {b, ?}p0, {c, ?}p2] replicated={t}")
    first = held_back(original, MESHES)
    assert short(first) == "[{}, {b, ?}, {}] replicated={a, c, t}"
    second = released(first, original, 1)
    assert short(second) == "[{a}, {b, ?}, {}] replicated={c, t}"
    assert short(released(second, original, 2)) == "[{a}, {b, ?}, {c, ?}] replicated={t}"


def test_a_dead_op_acts_until_it_is_erased() -> None:
    """Step 0 feeds only step 1, which is dead: the first hands "a" on before both are gone."""
    steps = [(EW, (1, 2, 3)), (UNARY, (3, 4)), (UNARY, (5, 6))]
    program = program_of(shardings("[{a}, {?}]; -; -; -; -; -"), steps)
    program.liveness = Liveness(
        remaining_uses={0: 1, 1: 0},
        operands={0: ((-1, 0), (-1, 1)), 1: ((0, 2),)},
        nested={0: (), 1: ()},
        users={0: [0], 1: [0], 2: [1]},
        reads={0: (0, 1), 1: (2,)},
    )
    assert result(program) == ["[{a}, {?}]", "[{a, ?}, {?}]", "[{a, ?}, {?}]", "-", "-", "-"]


def test_erasing_a_user_frees_the_other_one() -> None:
    """Step 1 waits because its operand has two users; step 0, dead, is one of them."""
    shared = step("ij -> ij, i=8, j=8", Role.PASS_THROUGH, shared=True)
    steps = [(shared, (1, 2)), (shared, (1, 3)), (UNARY, (3, 4))]
    start = "[{a, ?}, {?}]; -; -; [{?}, {a, ?}]"
    assert run(start, steps, OPS)[2] == "[{?}, {a, ?}]"
    program = program_of(shardings(start), steps)
    program.liveness = Liveness(
        remaining_uses={0: 0}, operands={0: ((-1, 0),)}, nested={0: ()}, users={0: [0, 1]}, reads={1: (0,)}
    )
    assert result(program, OPS)[1:3] == ["-", "[{a, ?}, {?}]"]


def test_an_erased_op_is_not_freed() -> None:
    """Step 0 uses its operand twice; when the first use goes it is not the only user, it is gone."""
    steps = [(SHARED, (1, 1, 2)), (UNARY, (2, 3))]
    program = program_of(shardings("-; -; [{a, ?}, {?}]"), steps)
    program.liveness = Liveness(
        remaining_uses={0: 1, 1: 0},
        operands={0: ((-1, 0), (-1, 0)), 1: ((0, 1),)},
        nested={0: (), 1: ()},
        users={0: [0, 0], 1: [1]},
        reads={0: (0,), 1: (1,)},
    )
    assert result(program, OPS)[0] == "-"


def test_the_journal_records_every_change() -> None:
    steps = [(UNARY, (1, 2)), (SHARED, (2, 2, 3))]
    program, journal = program_of(shardings("[{a}, {?}]; -; -"), steps), Journal()
    propagate(program, MESHES, OPS, journal=journal)
    stages = [journal.stage_of(entry) for entry in range(len(journal.entries))]
    assert stages == ["pass_through_single_use, aggressive", "pass_through, aggressive"]
    assert [(step, slot, short(old), short(new)) for step, slot, old, new in changes(program, journal)] == [
        (0, 2, "-", "[{a, ?}, {?}]"),
        (1, 3, "-", "[{a, ?}, {?}]"),
    ]
    assert [short(journal.sharding(slot)) for slot in (1, 2, 3)] == ["[{a}, {?}]"] + ["[{a, ?}, {?}]"] * 2
