"""Proves that the local program of all devices computes what the whole program does.

    answer = prove(run_partitioner(module, calls))
    print(answer)

Reading order: `plan.py` chooses the shapes, `proving.py` runs both programs, `comparison.py` compares op by
op, `correspondences.py` says what with what, `shards.py` which elements of it, `answer.py` what comes out.
"""

from __future__ import annotations

from shardy_py.run.proof.answer import Answer, Part, ValueFault
from shardy_py.run.proof.bisection import bisected
from shardy_py.run.proof.options import ProofOptions, Shapes
from shardy_py.run.proof.plan import prove

__all__ = ["Answer", "Part", "ProofOptions", "Shapes", "ValueFault", "bisected", "prove"]
