"""Ops of torch on lists of tensors, as optimizers call them, as the ops on single ones that they stand for.

    torch._foreach_add_([a, b], [c, d], alpha=2)        a.add_(c, alpha=2), b.add_(d, alpha=2)

Not here: the graph in which they are replaced (`trace.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shardy_py.base.narrowing import is_sequence
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.traced import Traced

_PREFIX = "aten._foreach_"
_WITH_VALUE = ("addcdiv", "addcmul")
"""Ops whose last argument is a keyword, `value`, of that on single tensors."""


def is_foreach(target: object) -> bool:
    """Returns whether an op is one on lists of tensors."""
    return str(target).startswith(_PREFIX)


def run_each(target: object, args: Sequence[Traced], kwargs: Mapping[str, Traced]) -> list[Traced]:
    """The results of an op for each tensor of its lists."""
    name = str(target).removeprefix(_PREFIX).partition(".")[0]
    lists = [part for part in (*args, *kwargs.values()) if is_sequence(part)]
    return [
        _one(
            name, [_at(part, place) for part in args], {key: _at(part, place) for key, part in kwargs.items()}
        )
        for place in range(len(lists[0]))
    ]


def _at(part: Traced, place: int) -> Traced:
    """The argument for one tensor: an element of a list, or one for all."""
    return part[place] if is_sequence(part) else part


def _one(name: str, args: list[Traced], kwargs: dict[str, Traced]) -> Traced:
    stem = name.removesuffix("_")
    if stem in _WITH_VALUE and len(args) > 3:
        kwargs["value"] = args.pop()
    torch = torch_module("torch")
    if stem == "norm":
        return torch.linalg.vector_norm(*args, **kwargs)
    function: Callable[..., Traced] = getattr(args[0], name) if name != stem else getattr(torch, stem)
    return function(*(args[1:] if name != stem else args), **kwargs)
