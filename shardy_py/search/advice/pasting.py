"""Code of a user's Python: the call that an expression is, and the specs that JAX takes.

Not here: where the expression is (`fixes.py`), which code replaces it (`rewrites.py`, `manual_rewrite.py`).
"""

from __future__ import annotations

import ast

from shardy_py.sharding import DimensionSharding, TensorSharding
from shardy_py.sharding.spelling import string_literal


def parsed_call(text: str) -> ast.Call | None:
    """Returns the call that a text is, to be changed and written; None for other texts.

    >>> call = parsed_call("f(x, y)")
    >>> call and ast.unparse(call.args[0]), parsed_call("x + y"), parsed_call("f(")
    ('x', None, None)
    """
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return parsed if isinstance(parsed, ast.Call) else None


def spec_text(sharding: TensorSharding) -> str:
    """Returns a sharding as JAX's `PartitionSpec`; open dimensions without axes are unconstrained.

    >>> from shardy_py.sharding import AxisRef
    >>> x = AxisRef("x")
    >>> spec_text(TensorSharding("mesh", (DimensionSharding((x,), True), DimensionSharding((), True))))
    'P("x", None)'
    """
    return f"P({', '.join(map(_entry_text, sharding.dimensions))})"


def _entry_text(dimension: DimensionSharding) -> str:
    names = [string_literal(axis.name) for axis in dimension.axes]
    if not names:
        return "None" if dimension.is_closed else "P.UNCONSTRAINED"
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
