"""XLA's own forms: HLO text (`text/`), layouts of arrays (`layout/`), indexing analysis (`analysis/`).

Not here: what XLA does to a program (`xla/`), MLIR text (`mlir/text/`). `analysis/from_mlir.py` is the only
file that reads xDSL's IR.
"""
