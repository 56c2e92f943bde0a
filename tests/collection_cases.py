"""The garbage collector around long runs: cases of `test_collection.py`.

`python -m tests.collection_cases` prints what is wrong with each by its name, "" if nothing is. They run in a
process of their own: that of the tests holds millions of objects, which each case would look through.
"""

from __future__ import annotations

import gc
import inspect
import json
import traceback
from collections.abc import Callable
from weakref import ref

import pytest

from shardy_py import Program
from shardy_py.base import session
from shardy_py.base.session import without_collection

PROGRAM = """
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
"""


class Cyclic:
    """An object that only the collector frees."""

    def __init__(self) -> None:
        self.me = self


def test_what_is_made_within_is_old_afterwards() -> None:
    with without_collection():
        made = [Cyclic() for _ in range(1000)]
    old = set(map(id, gc.get_objects(generation=2)))
    assert all(id(one) in old for one in made)


def test_garbage_is_collected_when_enough_came(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = session._OldGeneration()
    fresh._bound = 10_000
    monkeypatch.setattr(session, "_OLD", fresh)
    with without_collection():
        gone = ref(Cyclic())
    assert gone() is not None
    with without_collection():
        kept = [Cyclic() for _ in range(20_000)]
    assert gone() is None
    assert len(kept) == 20_000
    assert fresh._entered == 0


def test_calls_that_make_little_leave_the_collection_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = session._OldGeneration()
    fresh._bound, fresh._entered = 10_000, 15_000
    monkeypatch.setattr(session, "_OLD", fresh)
    with without_collection():
        pass
    assert fresh._entered >= 15_000
    fresh._entered = 20_000
    with without_collection():
        kept = [Cyclic() for _ in range(10)]
    assert fresh._entered == 0
    assert len(kept) == 10


def test_the_next_program_begins_with_a_collection_if_the_last_left_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = session._OldGeneration()
    monkeypatch.setattr(session, "_OLD", fresh)
    monkeypatch.setattr(session._OldGeneration, "FEWEST_OF_ENDED", 10_000)
    with without_collection():
        gone = ref(Cyclic())
    with without_collection(begins_program=True):
        assert gone() is not None  # so little is not worth it
    fresh._entered = 20_000
    with without_collection():
        assert gone() is not None  # no other program begins
    with without_collection(begins_program=True):
        assert gone() is None
    assert fresh._alive > 10_000
    fresh._entered = fresh._alive // 2
    with without_collection():
        gone = ref(Cyclic())
    with without_collection(begins_program=True):
        assert gone() is not None  # most of it may be alive


def test_reading_a_program_frees_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_OLD", session._OldGeneration())
    monkeypatch.setattr(session._OldGeneration, "FEWEST_OF_ENDED", 0)
    gone = ref(Program.parse(PROGRAM).module)
    session._OLD._alive, session._OLD._entered = 0, 1
    assert gone() is not None
    Program.parse(PROGRAM)
    assert gone() is None


def test_the_next_program_begins_with_a_collection_if_tables_were_emptied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_OLD", session._OldGeneration())
    tables = session.Session(limit=0)
    tables.table("numbers")["x"] = 1
    gone = ref(Cyclic())
    with without_collection(begins_program=True):
        assert gone() is not None
    with tables.program():
        assert gone() is not None  # in the midst of a program
    with without_collection(begins_program=True):
        assert gone() is None


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with without_collection():
            pass
        assert gc.get_freeze_count() > count // 2  # some may die meanwhile
    finally:
        gc.unfreeze()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


CASES: dict[str, Callable[..., None]] = {
    name: each for name, each in list(globals().items()) if name.startswith("test_")
}


def outcome(case: Callable[..., None]) -> str:
    """What is wrong."""
    with pytest.MonkeyPatch.context() as patch:
        try:
            case(*([patch] if inspect.signature(case).parameters else []))
        except AssertionError:
            return traceback.format_exc()
        finally:
            gc.unfreeze()
            gc.enable()
    return ""


if __name__ == "__main__":
    print(json.dumps({name: outcome(case) for name, case in CASES.items()}))
