"""The passes of a training step among the ops of a function: forward, backward and update.

JAX names what it derives (`transpose(jvp(layer_0))`); the rest goes by the flow of data: an op that needs a
gradient and is not part of its computation is of the update, and so is what only the update needs. Not here:
passes of programs without such names (`report/training_step.py`), in reports (`report/verdict/repeats.py`),
how ops are grouped (`scopes.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shardy_py.report.training_step import BACKWARD, FORWARD, UPDATE

PASSES = FORWARD, BACKWARD, UPDATE
"""In their order."""
_BACKWARD = "transpose("
_FORWARD = "jvp("


def passes_of_model(names: Sequence[str], users: Mapping[int, Iterable[int]]) -> list[str]:
    """Returns the pass of each op, by its position; [] if no op is of a backward pass.

    names: of the ops in program order, with their scopes, as JAX writes them. users: by position, the ops
    that use its results.

    >>> passes_of_model(["f/jvp(a)/dot", "f/transpose(jvp(a))/dot", "f/sub"], {0: [1], 1: [2]})
    ['forward', 'backward', 'update']
    """
    if not any(_BACKWARD in name for name in names):
        return []
    needs_gradient = [_BACKWARD in name for name in names]
    found: list[str] = []
    for at, name in enumerate(names):
        if _BACKWARD in name:
            found.append(BACKWARD)
        elif _FORWARD in name or not needs_gradient[at]:
            found.append(FORWARD)
        else:
            found.append(UPDATE)
        for user in users.get(at, ()) if needs_gradient[at] else ():
            needs_gradient[user] = True
    for at in range(len(names) - 1, -1, -1):
        own = [found[user] for user in users.get(at, ())]
        if found[at] == FORWARD and _FORWARD not in names[at] and own and set(own) == {UPDATE}:
            found[at] = UPDATE
    return found
