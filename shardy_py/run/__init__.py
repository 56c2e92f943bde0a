"""Programs as numbers: the interpreter (`interpret/`), the proof (`proof/`).

Not here: what ops compute (`ops/compute/`), scalars and trip counts that are known without a run
(`mlir/scalars.py`, `mlir/loops.py`), what a program costs (`report/`), XLA's folds (`xla/prepare/`).
"""
