"""A finite field for exact proofs: residues, functions that nothing is known of, what each op means.

Reading order: `residues.py`, `hashing.py`, `arithmetic.py`, `facet.py`. Not here: the runs (`exact.py`).
"""
