"""Short texts of large values, for `repr`: a debugger or a notebook prints them unasked."""

from __future__ import annotations

_MOST = 500


def short_repr(kind: type, *facts: str) -> str:
    """Returns `<Kind: fact, fact>`, shortened if the facts are long.

    >>> short_repr(dict, "3 keys", "")
    '<dict: 3 keys>'
    """
    text = ", ".join(filter(None, facts))
    return f"<{kind.__name__}: {text if len(text) <= _MOST else text[: _MOST - 3] + '...'}>"
