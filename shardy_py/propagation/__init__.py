"""Propagation: rules and shardings in, shardings out, to the fixed point.

Start at `propagate.py`, then `fixpoint.py` (order), `step.py` (one op) and the two strategies.
"""

from shardy_py.propagation.directions import Direction
from shardy_py.propagation.fixpoint import Event, Propagator, Taken
from shardy_py.propagation.propagate import PropagationOptions, propagate

__all__ = ["Direction", "Event", "PropagationOptions", "Propagator", "Taken", "propagate"]
