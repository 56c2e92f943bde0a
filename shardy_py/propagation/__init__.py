"""Propagation: rules and shardings in, shardings out, to the fixed point; plain data, no IR.

Start at `textbook.py`, the algorithm on the op graph (`op_graph.py`). The fast engine is `propagate.py`, then
`flat.py` (the data), `fixpoint.py` (the order), `step.py` (one op) and the two strategies. `graph/` makes the
op graph and the flat program of a module, and writes the result back.
"""
