"""From IR to the flat program of propagation, and the record of what propagation did to it.

The results know ops by number and values by slot, so that propagation itself needs no IR. Not here: the rules
(`propagation/rules/`) and the fixpoint (`propagation/fixpoint.py`).
"""
