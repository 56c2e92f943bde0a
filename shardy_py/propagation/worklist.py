"""What is left to do in a round: steps in program order, with those to do again on top.

Not here: what is done with a step (`fixpoint.py`).

>>> worklist = Worklist(bytearray([1, 0, 1]))
>>> worklist.pop(), worklist.pop()
(0, 2)
>>> worklist.push(0); worklist.push(1); worklist.push(0)
>>> worklist.pop(), worklist.pop(), worklist.pop()
(1, 0, -1)
"""

from __future__ import annotations


class Worklist:
    """A list of steps that starts in program order and on which steps are put back.

    waiting: by step, 1 if it is still to be taken in program order.
    queued: by step, 1 if it was put back.
    again: the steps that were put back, the next one last.
    cursor: the last step taken in program order; those behind it count as on the list, waiting or not.
    """

    __slots__ = ("again", "cursor", "queued", "waiting")

    def __init__(self, waiting: bytearray) -> None:
        """Start with the steps whose byte in `waiting` is 1."""
        self.waiting = waiting
        self.queued = bytearray(len(waiting))
        self.again: list[int] = []
        self.cursor = -1

    def pop(self) -> int:
        """The next step, -1 at the end."""
        if self.again:
            step = self.again.pop()
            self.queued[step] = 0
            return step
        step = self.waiting.find(1, self.cursor + 1)
        self.cursor = step if step >= 0 else len(self.waiting)
        return step

    def push(self, step: int) -> None:
        """Put `step` on top, unless it is on the list."""
        if step > self.cursor:
            self.waiting[step] = 1
        elif not self.queued[step]:
            self.queued[step] = 1
            self.again.append(step)
