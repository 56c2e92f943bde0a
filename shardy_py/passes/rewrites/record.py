"""What a rewrite is: a function and the ops that it looks at. Not here: applying them (`driver.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One rewrite.

    op_name: the ops it looks at.
    apply: changes the program around an op if it can; whether it has.
    label: the name under which it can be asked for; empty: only with all others.
    """

    op_name: str
    apply: Callable[[Operation], bool]
    label: str = ""
