"""Proves that the local program of all devices computes what the whole program does.

    answer = prove(run_partitioner(module, calls))
    print(answer)

Reading order: `proving.py` runs both programs, `comparison.py` compares op by op, `correspondences.py` says
what with what, `shards.py` which elements of it, `answer.py` what comes out.
"""

from __future__ import annotations

from shardy_py.proof.answer import Answer, Fault
from shardy_py.proof.proving import ProofOptions, prove

__all__ = ["Answer", "Fault", "ProofOptions", "prove"]
