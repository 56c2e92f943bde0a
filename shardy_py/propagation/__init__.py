"""Propagation: rules and shardings in, shardings out, to the fixed point; plain data, no IR.

Start at `propagate.py`, then `flat.py` (the data), `fixpoint.py` (the order), `step.py` (one op) and the two
strategies. `propagation/graph/build.py` makes the flat program of a module and writes the result back.
"""
