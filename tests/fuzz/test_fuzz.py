"""The harness reports each kind of fault, and goes on."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest

from tests.fuzz.mutation import damaged
from tests.fuzz.targets import Fault, Target
from tests.fuzz.worker import Limits, Verdict, verdicts


def _verdicts(run: Callable[[bytes, random.Random], object], limits: Limits) -> list[Verdict]:
    target = Target("planted", lambda: (b"module {}",), run)  # type: ignore[arg-type]
    return list(verdicts(target, 0, range(3), limits))


def _raise(error: BaseException) -> object:
    raise error


def _hold(count: int) -> object:
    return bytearray(count) and "output"


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (lambda data, random_: "output", "output"),
        (lambda data, random_: _raise(KeyError("x")), "KeyError"),
        (lambda data, random_: _raise(Fault("no place")), "broken promise"),
        (lambda data, random_: os.kill(os.getpid(), 6), "died"),
        (lambda data, random_: time.sleep(30), "hang"),
        (lambda data, random_: _hold(2 << 30), "MemoryError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fault_is_reported_for_each_input(run: Callable[..., object], kind: str) -> None:
    found = _verdicts(run, Limits(seconds=0.3))
    assert [(verdict.index, verdict.kind) for verdict in found] == [(0, kind), (1, kind), (2, kind)]


def test_a_damaged_input_is_a_function_of_its_seed() -> None:
    once, again = (damaged(b'"a"(%0) : 12', b"x y", random.Random(7), binary=False) for _ in range(2))
    assert once == again
