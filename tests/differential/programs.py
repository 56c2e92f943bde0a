"""Random programs of every op family: `wide_program(random, width)`. What they compute means nothing.

A seed gives the same program always. The writing is in `writer.py`, the ops in `op_families.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

from shardy_py.base.errors import ShardyError
from shardy_py.mlir.dialects import parse_module
from shardy_py.mlir.dialects.verification import verify_module
from tests.differential.meshes import Width
from tests.differential.op_families import any_op
from tests.differential.writer import Kind, Scope, Value, Writer

__all__ = ["Width", "wide_program"]


Accepts = Callable[[str], bool]
"""Whether the text of a module is valid."""


def is_valid(text: str) -> bool:
    """Whether a text is a module that verifies."""
    try:
        verify_module(parse_module(text))
    except ShardyError:
        return False
    return True


def wide_program(rng: random.Random, width: Width, *, accepts: Accepts | None = None) -> str:
    """A module of functions that call each other, where nothing outside of regions is dead.

    accepts: ops with which the module is not accepted are left out; for
    families that write some invalid ops for tensors without elements.
    """
    w = Writer(rng, width)
    texts: list[str] = []
    for n in range(rng.randint(0, 2) if width.calls else 0):
        texts.append(_function(w, f"f{n}", "private ", 5, texts, accepts))
    main = _function(w, "main", "", width.ops, texts, accepts)
    return "\n".join([w.shardings.declarations(), main, *texts])


def _function(
    w: Writer, name: str, visibility: str, longest: int, others: list[str], accepts: Accepts | None
) -> str:
    """A function that takes what its ops need and returns what nothing else uses."""
    w.lines = []
    arguments = [Value(f"%{name}_{i}", w.kind()) for i in range(w.rng.randint(1, 3))]
    scope = Scope([*arguments], w.mesh, arguments)
    for _ in range(w.rng.randint(1 if visibility else min(4, longest), longest)):
        if accepts is None:
            any_op(w, scope)
        else:
            _accepted_op(w, scope, others, accepts)
    results = [w.rng.choice(scope.values[-8:]) for _ in range(w.rng.randint(1, 3))]
    results += [v for v in scope.values if v.name not in w.uses and v not in results and v not in arguments]
    takes = ", ".join(f"{v.name}: {v.kind}{w.place(v.kind, 0.5)}" for v in arguments)
    gives = ", ".join(str(v.kind) + w.place(v.kind, 0.3) for v in results)
    names, types = ", ".join(v.name for v in results), ", ".join(str(v.kind) for v in results)
    kinds: list[tuple[Kind, ...]] = [tuple(v.kind for v in part) for part in (arguments, results)]
    if visibility:
        w.functions.append((name, kinds[0], kinds[1]))
    head = f"func.func {visibility}@{name}({takes}) -> ({gives}) {{"
    return "\n".join([head, *w.lines, f"  return {names} : {types}\n}}\n"])


def _accepted_op(w: Writer, scope: Scope, others: list[str], accepts: Accepts) -> None:
    """Adds an op, and takes it back if the module is not accepted with it."""
    assert scope.arguments is not None
    lists = (w.lines, scope.values, scope.arguments)
    lengths, uses, groups = [len(each) for each in lists], set(w.uses), dict(w.groups)
    with suppress(ValueError, IndexError):  # of random choices among no sizes; what is written is invalid
        any_op(w, scope)
    takes = ", ".join(f"{v.name}: {v.kind}" for v in scope.arguments)
    function = "\n".join([f"func.func @main({takes}) {{", *w.lines, "  return\n}"])
    if not accepts("\n".join([w.shardings.declarations(), function, *others])):
        w.uses, w.groups = uses, groups
        for each, length in zip(lists, lengths, strict=True):
            del each[length:]
