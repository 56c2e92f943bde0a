"""The names of the values of a training step that belong to a parameter, made and read in one place.

    layers.0.weight after, layers.0.weight gradient, exp_avg of layers.0.weight

Users shard by these names, which are all that a program has of its parameters once it is made. Full names
of parameters have no spaces. Not here: which values a step has (`training_step.py`).

>>> owner_of(after(state("exp_avg", "up.weight"))), owner_of(gradient("up.weight")), owner_of("loss")
('up.weight', 'up.weight', 'loss')
"""

from __future__ import annotations

_AFTER, _GRADIENT, _OF = " after", " gradient", " of "


def after(name: str) -> str:
    """The name of the new value of a parameter, buffer or state."""
    return name + _AFTER


def gradient(name: str) -> str:
    """The name of the gradient of a parameter."""
    return name + _GRADIENT


def state(key: str, owner: str) -> str:
    """The name of a state that an optimizer has for a parameter."""
    return key + _OF + owner


def is_state(name: str) -> bool:
    """True if a name, or pattern of names, is of states of single parameters."""
    return _OF in name


def owner_of(name: str) -> str:
    """The name of the parameter that a value belongs to; of any other value, its own."""
    for suffix in (_AFTER, _GRADIENT):
        name = name.removesuffix(suffix)
    return name.rpartition(_OF)[2]
