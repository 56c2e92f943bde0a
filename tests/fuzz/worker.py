"""Runs inputs in a child process with limits on memory and time: whatever an input does, it is reported.

If the child dies or hangs, the input behind the last reported one is at fault, and another child goes on
after it.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from tests.fuzz.judging import Fault, Target, work_folder

PATIENCE = 10
"""How many times its processor time an input may take in all, on a busy machine or waiting for a process."""
BATCH = 2_000
"""Inputs of one child: memory that a process gathers must not be taken for that of an input."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one input may use; seconds: of processor time."""

    seconds: float = 10.0
    memory_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one input: output, diagnostic, or the kind of a fault with its detail."""

    index: int
    kind: str
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether the input showed a fault."""
        return self.kind not in ("output", "diagnostic")


class OutOfTime(BaseException):
    """The time limit of one input was exceeded; not an `Exception`, so that no handler takes it."""


def input_of(target: Target, seed: int, index: int) -> tuple[bytes, random.Random]:
    """Returns one input and the random choices of its run, both functions of the seed and the index."""
    random_ = random.Random(f"{target.name}/{seed}/{index}")
    seeds = target.seeds()
    data = target.damage(random_.choice(seeds), random_.choice(seeds), random_)
    return data, random_


def verdicts(target: Target, seed: int, indices: range, limits: Limits) -> Iterator[Verdict]:
    """Yields the verdict of each input, in order."""
    target.seeds()  # made once, before the children are forked
    work_folder()  # which has those of the children
    while indices:
        batch = indices[:BATCH]
        last = indices.start - 1
        for verdict in _batch(target, seed, batch, limits):
            last = verdict.index
            yield verdict
        indices = range(last + 1, indices.stop)


def _batch(target: Target, seed: int, indices: range, limits: Limits) -> Iterator[Verdict]:
    """Yields verdicts until the child has run all inputs, or one of them has killed it."""
    receiver, sender = get_context("fork").Pipe(duplex=False)
    child = os.fork()
    if not child:
        receiver.close()
        _child(target, seed, indices, limits, sender)
    sender.close()
    expected = indices.start
    try:
        while expected < indices.stop:
            longest = (PATIENCE + 1) * limits.seconds + 5
            if not receiver.poll(longest):
                os.kill(child, signal.SIGKILL)
                yield Verdict(expected, "hang", f"no end within {longest:.0f} s, uninterruptible")
                return
            try:
                verdict: Verdict = receiver.recv()
            except EOFError:
                yield Verdict(expected, "died", f"the process ended: {_end(child)}")
                child = 0
                return
            expected = verdict.index + 1
            yield verdict
    finally:
        receiver.close()
        if child:
            os.waitpid(child, 0)


def _end(child: int) -> str:
    _, status = os.waitpid(child, 0)
    return (
        f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit code {os.WEXITSTATUS(status)}"
    )


def _child(target: Target, seed: int, indices: range, limits: Limits, sender: Connection) -> NoReturn:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (limits.memory_bytes, limits.memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGALRM, _ring)
        signal.signal(signal.SIGPROF, _ring)
        # Commands leave their garbage to the end of the process, and here one process runs many.
        gc.disable = gc.freeze = lambda: None
        try:
            for index in indices:
                sender.send(_verdict(target, seed, index, limits))
        finally:
            shutil.rmtree(work_folder(), ignore_errors=True)
        code = 0
    except BrokenPipeError:  # the run ended early
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        sender.close()
        sys.stderr.flush()
        os._exit(code)


def _ring(*_: object) -> NoReturn:
    raise OutOfTime


def _verdict(target: Target, seed: int, index: int, limits: Limits) -> Verdict:
    data, random_ = input_of(target, seed, index)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limits.seconds)
    try:
        kind = target.run(data, random_)
        return Verdict(index, kind)
    except OutOfTime:
        frames = traceback.extract_tb(sys.exc_info()[2])[:-1]
        place = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-6:]))
        return Verdict(index, "hang", f"more than {time.monotonic() - start:.0f} s: {place}")
    except Fault as fault:
        return Verdict(index, "broken promise", str(fault))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno}"
        return Verdict(index, type(error).__name__, f"{str(error)[:300]} ({where})")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
