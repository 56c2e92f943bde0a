"""The colours of mesh axes, in notebooks and in the explorer.

>>> ink_and_fill(0), ink_and_fill(None) == ink_and_fill(9)
(('#fff', '#0072b2'), True)
"""

from __future__ import annotations

PALETTE: tuple[tuple[str, str], ...] = (
    ("#0072b2", "#fff"),
    ("#e69f00", "#000"),
    ("#009e73", "#000"),
    ("#cc79a7", "#000"),
    ("#d55e00", "#000"),
    ("#56b4e9", "#000"),
    ("#f0e442", "#000"),
    ("#7a5fb5", "#fff"),
    ("#8c6d46", "#fff"),
    ("#44505c", "#fff"),
)
"""Fill and ink of each axis: Okabe and Ito's, readable with impaired colour vision; contrast at least 4.5:1.

The last is that of unknown axes.
"""


def ink_and_fill(number: int | None) -> tuple[str, str]:
    """Returns the colours of text and ground of an axis by its number; None: an unknown one."""
    fill, ink = PALETTE[(len(PALETTE) - 1 if number is None else number) % len(PALETTE)]
    return ink, fill
