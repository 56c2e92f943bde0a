"""XLA's own forms: HLO text (`text/`) and indexing analysis (`analysis/`).

Not here: layouts of arrays (`indexing/layout/`), what XLA does to a program (`xla/`), MLIR text
(`mlir/text/`). `analysis/from_mlir.py` is the only
file that reads xDSL's IR.
"""
