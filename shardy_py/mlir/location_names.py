"""Names in locations: of arguments, and name stacks of ops as XLA writes them into `op_name`.

    loc(callsite("mul" at "jit(f)/jit(layer)"))      jit(f)/jit(layer)/mul
    loc("debug_print:"("jit(f)/debug_print"))        jit(f)/debug_print

Not here: positions in files (`mlir/text/source.py`), modules of a model (`module_paths.py`).
"""

from __future__ import annotations

from xdsl.dialects.builtin import CallSiteLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from shardy_py.mlir.text.location_syntax import parts_of
from shardy_py.mlir.text.source import position_of

_TYPE = ":"
"""The end of a name that is the kind of an op, around the location that has the name of the op itself."""


def name_in(location: Attribute | None) -> str:
    """The outermost name in a location, which JAX uses for the name of an argument; "" if it has none."""
    while isinstance(location, CallSiteLoc):
        location = location.callee
    if isinstance(location, FusedLoc):
        return next((name for name in map(name_in, parts_of(location)) if name), "")
    return _own_name(location) if isinstance(location, NameLoc) else ""


def names_in(location: Attribute | None) -> tuple[str, ...]:
    """The names in a location, of the outermost call first: of an inlined op also that of the call."""
    found: list[str] = []
    while isinstance(location, CallSiteLoc):
        found += names_in(location.callee)[::-1]
        location = location.caller
    if isinstance(location, NameLoc | FusedLoc) and (name := name_in(location)):
        found.append(name)
    return tuple(reversed(found))


def name_stack(location: Attribute | None) -> str:
    """The names in a location as one, `jit(f)/jit(layer)/mul`; "" if it has none."""
    return "/".join(names_in(location)) if isinstance(location, CallSiteLoc) else name_in(location)


def location_text(location: Attribute | None) -> str:
    """A location in one line: its innermost position in the model and its name; "" if it has neither.

    `loc("jit(f)/dot"("model.py":12:3))` gives `model.py:12:3 jit(f)/dot`.
    """
    position = None if location is None else position_of(location)
    return " ".join(filter(None, (str(position) if position else "", name_stack(location))))


def _own_name(location: NameLoc) -> str:
    """The name of an op, inside that of its kind: JAX writes `loc("cos:"("jit(f)/cos"(...)))`."""
    name, inner = location.desc.data, location.location
    if name.endswith(_TYPE) and isinstance(inner, NameLoc):
        return _own_name(inner)
    return name
