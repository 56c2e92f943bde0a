"""Directions of propagation through an op: forward is from operands to results.

>>> (Direction.FORWARD | Direction.BACKWARD).name, (Direction.FORWARD & Direction.BACKWARD).name
('BOTH', 'NONE')
"""

from __future__ import annotations

from enum import IntFlag


class Direction(IntFlag):
    """The directions in which axes may propagate; `|` and `&` are union and intersection."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


Directions = tuple[Direction, ...]
"""The direction of each factor of a rule."""
