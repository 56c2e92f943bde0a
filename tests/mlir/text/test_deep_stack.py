"""The recursion limit is raised for the process, and lowered when the last thread is done."""

from __future__ import annotations

import sys
from threading import Barrier, Thread

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.text.deep_stack import deep_stack


def test_a_thread_that_is_done_does_not_lower_the_limit_of_another() -> None:
    before = sys.getrecursionlimit()
    inside, done = Barrier(2), Barrier(2)
    limits: list[int] = []

    def other() -> None:
        with deep_stack():
            inside.wait()
            done.wait()
            limits.append(sys.getrecursionlimit())

    thread = Thread(target=other)
    thread.start()
    with deep_stack():
        inside.wait()
    done.wait()
    thread.join()
    assert limits[0] > before
    assert sys.getrecursionlimit() == before


def test_threads_read_deeply_nested_text_at_once() -> None:
    deep = "module attributes {a = " + "[" * 900 + "]" * 900 + "} {}"
    outcomes: list[str] = []

    def read() -> None:
        for _ in range(5):
            try:
                parse_module(deep)
                outcomes.append("read")
            except ShardyError as error:
                outcomes.append(str(error))

    threads = [Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 20
    assert len(set(outcomes)) == 1
