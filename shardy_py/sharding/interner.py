"""Numbers shardings, so that a look-up by several of them hashes a few integers.

>>> from shardy_py.sharding.tensor_sharding import TensorSharding
>>> interner = Interner()
>>> interner.number(TensorSharding.fully_open("mesh", 2)), interner.number(None)
(1, 0)
"""

from __future__ import annotations

from shardy_py.sharding.tensor_sharding import TensorSharding

NO_SHARDING = 0
"""The number of a missing sharding."""


class Interner:
    """Maps shardings to numbers and back; equal shardings have equal numbers."""

    def __init__(self) -> None:
        self.values: list[TensorSharding | None] = [None]
        """The sharding of each number."""
        self._numbers: dict[TensorSharding | None, int] = {None: NO_SHARDING}

    def number(self, sharding: TensorSharding | None) -> int:
        """Returns the number of `sharding`, a new one if it is new."""
        number = self._numbers.get(sharding)
        if number is None:
            number = self._numbers[sharding] = len(self.values)
            self.values.append(sharding)
        return number
