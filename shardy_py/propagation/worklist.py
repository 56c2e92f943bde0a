"""The worklist of a round: steps in program order, and on top a stack of steps to run again.

Not here: running a step (`fixpoint.py`).

>>> worklist = Worklist(bytearray([1, 0, 1]))
>>> worklist.pop(), worklist.pop()
(0, 2)
>>> worklist.push(0); worklist.push(1); worklist.push(0)
>>> worklist.pop(), worklist.pop(), worklist.pop()
(1, 0, -1)
"""

from __future__ import annotations


class Worklist:
    """Steps in program order, with a stack of pushed steps that are popped first.

    waiting: by step, 1 if it is still to be popped in program order.
    queued: by step, 1 if it is on the stack.
    again: the stack, its top last.
    cursor: the last step popped in program order; later steps are never pushed on the stack.
    """

    __slots__ = ("again", "cursor", "queued", "waiting")

    def __init__(self, waiting: bytearray) -> None:
        """Start with the steps whose byte in `waiting` is 1."""
        self.waiting = waiting
        self.queued = bytearray(len(waiting))
        self.again: list[int] = []
        self.cursor = -1

    def pop(self) -> int:
        """Remove and return the next step; -1 if there is none."""
        if self.again:
            step = self.again.pop()
            self.queued[step] = 0
            return step
        step = self.waiting.find(1, self.cursor + 1)
        self.cursor = step if step >= 0 else len(self.waiting)
        return step

    def push(self, step: int) -> None:
        """Push `step`, unless it is on the worklist."""
        if step > self.cursor:
            self.waiting[step] = 1
        elif not self.queued[step]:
            self.queued[step] = 1
            self.again.append(step)
