"""Programs as numbers: what ops compute (`compute/`), the interpreter (`interpret/`), the proof (`proof/`).

`loops.py` and `scalars.py` compute what is known without running: trip counts and scalars. Not here: what a
program costs (`report/`), XLA's folds (`xla/prepare/`).
"""
