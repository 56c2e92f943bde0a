"""Runs targets with planted faults and prints the verdicts as JSON: `python -m tests.fuzz.planted`.

In a process of its own, because the harness forks, which a process with JAX's threads must not.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from typing import Any, NoReturn

from tests.fuzz.judging import Fault, Target
from tests.fuzz.worker import Limits, verdicts


def _raise(error: Exception) -> NoReturn:
    raise error


PLANTED: dict[str, Callable[[bytes, random.Random], Any]] = {
    "output": lambda data, random_: "output",
    "KeyError": lambda data, random_: _raise(KeyError("x")),
    "broken promise": lambda data, random_: _raise(Fault("no place")),
    "died": lambda data, random_: os.kill(os.getpid(), 9),
    "hang": lambda data, random_: time.sleep(30),
    "MemoryError": lambda data, random_: bytearray(2 << 30) and "output",
}
"""What a target does, by the verdict that is due."""

if __name__ == "__main__":
    kinds = {
        name: [
            (verdict.index, verdict.kind)
            for verdict in verdicts(
                Target("planted", lambda: (b"module {}",), run), 0, range(3), Limits(seconds=0.3)
            )
        ]
        for name, run in PLANTED.items()
    }
    print(json.dumps(kinds))
