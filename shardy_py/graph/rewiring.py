"""Replacing ops by others, noted in the journal of movements when one is kept.

Not here: uses and places of ops (`shardy_py/ir.py`), copying ops (`cloning.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from shardy_py.graph.movements import is_recording, note_copies
from shardy_py.ir import erase, place_before, replace_uses


def replace_op(old: Operation, new: Operation) -> None:
    """Put `new`, which stands nowhere, where `old` stands; its results replace those of `old`."""
    place_before(new, old)
    replace_by_values(old, new.results)


def replace_by_values(op: Operation, values: Sequence[SSAValue]) -> None:
    """Let the users of the results of `op` use `values`; `op` goes."""
    for before, after in zip(op.results, values, strict=True):
        replace_uses(before, after)
    if is_recording():
        note_copies(dict(zip(op.results, values, strict=True)))
    erase(op)
