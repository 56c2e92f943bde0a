"""Directions of propagation through an op: forward is from operands to results.

>>> (Direction.FORWARD | Direction.BACKWARD).name, (Direction.FORWARD & Direction.BACKWARD).name
('BOTH', 'NONE')
"""

from __future__ import annotations

from enum import IntFlag


class Direction(IntFlag):
    """In which direction axes may move; `|` and `&` are union and intersection."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


Directions = tuple[Direction, ...]
"""One direction a factor of a rule."""
