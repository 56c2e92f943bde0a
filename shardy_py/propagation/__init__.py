"""Propagation: rules and shardings in, shardings out, to the fixed point.

Start at `propagate.py`, then `fixpoint.py` (order), `step.py` (one op) and the two strategies.
"""
