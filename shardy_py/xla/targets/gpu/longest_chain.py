"""The longest chain of ops that need one another, which mostly tells whether an op needs another.

Each layer of a model needs the one before, so that the chain leads through all of them. Not here: the search
for ops that it does not connect (`siblings.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class LongestChain:
    """The longest chain of a graph whose ops come after those that they read.

    users: by op those that read it; count: of all ops.

    >>> chain = LongestChain({0: [1, 2], 1: [3], 2: [3], 3: [4, 5]}, 6)
    >>> chain.connects(1, 5), chain.connects(2, 5), chain.connects(1, 2)
    (True, True, False)
    """

    def __init__(self, users: Mapping[int, Sequence[int]], count: int) -> None:
        lengths, following = [1] * count, [-1] * count
        for number in range(count - 1, -1, -1):
            for user in users.get(number, ()):
                if lengths[user] >= lengths[number]:
                    lengths[number], following[number] = lengths[user] + 1, user
        number = max(range(count), key=lengths.__getitem__, default=-1)
        self._entered = [count] * count
        """By op the first place in the chain that needs it, or is it."""
        self._left = [-1] * count
        """By op the last place in the chain that it needs, or is."""
        place = 0
        while number >= 0:
            self._entered[number] = self._left[number] = place
            number, place = following[number], place + 1
        self._spread(users, count)

    def _spread(self, users: Mapping[int, Sequence[int]], count: int) -> None:
        entered, left = self._entered, self._left
        for number in range(count - 1, -1, -1):
            own = entered[number]
            for user in users.get(number, ()):
                if entered[user] < own:
                    own = entered[user]
            entered[number] = own
        for number in range(count):
            own = left[number]
            for user in users.get(number, ()) if own >= 0 else ():
                if left[user] < own:
                    left[user] = own

    def connects(self, first: int, second: int) -> bool:
        """True if the second of different ops needs the first through an op of the chain."""
        return self._entered[first] <= self._left[second]
