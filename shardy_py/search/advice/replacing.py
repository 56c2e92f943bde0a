"""A rewrite of an op: its words, what it changes, code to paste. Not here: which ones (`rewrites.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from xdsl.ir import Operation

from shardy_py.base.records import dataclass
from shardy_py.mlir.ir import erase, place_before, replace_uses
from shardy_py.mlir.location_names import location_text
from shardy_py.mlir.text.source import position_of


def _no_code(text: str) -> str:
    return ""


@dataclass(frozen=True)
class SuggestedRewrite:
    """A rewrite of an op.

    name: equal for rewrites that do the same to an op. words: of it, as an instruction. apply: changes a
    program that has the op. code: what to write instead of an expression of the source; "" if the words do.
    definition: a function that the code calls.
    """

    name: str
    words: Callable[[Operation], str] = field(compare=False)
    apply: Callable[[Operation], None] = field(compare=False)
    code: Callable[[str], str] = field(default=_no_code, compare=False)
    definition: str = field(default="", compare=False)

    def pasted(self, text: str) -> str:
        """Returns the code for an expression with the function that it calls; "" if there is none."""
        code = self.code(text)
        return f"{self.definition}{code}" if code else ""


def replace_op(op: Operation, *new: Operation) -> None:
    """Puts ops in the place of one, the results of the last of them in that of its results."""
    for each in new:
        place_before(each, op)
    for old, made in zip(op.results, new[-1].results, strict=True):
        replace_uses(old, made)
    erase(op)


def at(op: Operation) -> str:
    """Returns where an op is, as the end of a phrase; "" if that is not known."""
    place = position_of(op.location) or location_text(op.location)
    return f" at {place}" if place else ""
