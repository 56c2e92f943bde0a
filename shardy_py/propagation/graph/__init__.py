"""From IR to the op graph and to the flat program of propagation, and the record of a propagation.

The results know ops by number and values by slot, so that propagation itself needs no IR. Not here: the rules
(`propagation/rules/`) and the fixpoint (`propagation/fixpoint.py`).
"""
