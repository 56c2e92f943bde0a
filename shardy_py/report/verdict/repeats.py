"""The repeats of a model: layers, and forward, backward and rematerialized passes, by the names JAX gives.

>>> phase("jit(step)/transpose(jvp(layer_0))/dot"), layer_count(["f/layer_0/dot", "f/layer_1/dot"])
('backward', 2)

Not here: which collectives or findings are grouped (`causes.py`, `check/grouping.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shardy_py.base.patterns import on_use

_NUMBER = on_use(r"\d+")
_INDEX = on_use(r"(?<=\[)\d+(?=\])|(?<=\.)\d+(?=\.\w+\.)")
"""The number of a layer: `[3]` of JAX; of torch one with a module behind it, as in `layers.3.up.weight`."""
_TRANSFORM = on_use(r"^(jit|jvp|transpose|vmap|pmap|checkpoint|remat|custom_jvp|custom_vjp)\((.*)\)$")
"""A part of a name stack that says how JAX transforms what is inside."""
_MACHINERY = frozenset(
    ("", "checkpoint", "rematted_computation", "while", "body", "cond", "closed_call", "pjit", "remat")
)
"""Parts of a name stack that JAX adds by itself, in the forward or in the backward pass."""


def phase(scope: str) -> str:
    """Returns which pass of a program with derivatives ops of a scope belong to; "" if it is unknown.

    >>> phase("jit(step)/jvp(layer_0)/dot"), phase("jit(step)/transpose(jvp(layer_0))/dot")
    ('forward', 'backward')
    """
    if not scope:
        return ""
    if "rematted_computation" in scope:
        return "rematerialized"
    return "backward" if "transpose(" in scope else "forward"


def phases(scopes: Iterable[str]) -> dict[str, int]:
    """Returns how many scopes are forward, backward or rematerialized; {} if the program has one pass."""
    found = Counter(map(phase, scopes))
    del found[""]
    return dict(found) if set(found) != {"forward"} else {}


def layer_count(scopes: Iterable[str]) -> int:
    """Returns the number of layers: scopes that differ by a number only; 0 if there are none."""
    distinct = {scope for scope in scopes if scope}
    numbers = {tuple(_NUMBER.findall(scope)) for scope in distinct}
    return len(numbers) if len({_NUMBER.sub("#", scope) for scope in distinct}) < len(distinct) else 0


def module_of(scope: str) -> str:
    """Returns the scope of a module without its layer and pass, and without the op.

    >>> module_of("jit(step)/transpose(jvp(Model))/layer_3/mlp/dot_general")
    'Model/layer_#/mlp'
    """
    parts = [_untransformed(part) for part in scope.split("/")[1:-1]]
    return "/".join(_NUMBER.sub("#", part) for part in parts if part not in _MACHINERY)


def family_name(label: str) -> str:
    """Returns the label of an argument or result without the numbers of layers.

    >>> family_name("params[3]['up']"), family_name("layers.3.up.weight"), family_name("net.3.weight")
    ("params[*]['up']", 'layers.*.up.weight', 'net.3.weight')
    """
    return _INDEX.sub("*", label)


def _untransformed(part: str) -> str:
    while (found := _TRANSFORM.match(part)) is not None:
        part = found[2]
    return part
