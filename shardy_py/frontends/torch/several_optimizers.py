"""Several optimizers as one, as Muon for matrices with AdamW for the rest.

    optimizer = as_one([Muon(matrices), AdamW(others)])

Not here: their steps and states (`optimizers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.api import ShardyError
from shardy_py.base.narrowing import is_sequence
from shardy_py.frontends.torch.placements import torch_module
from shardy_py.frontends.torch.traced import Traced


def as_one(given: object) -> Traced:
    """The optimizer, or one whose step is that of each of a list; None as it is.

    Raises `ShardyError` for a list without any, and for a parameter that two of them have.
    """
    if not is_sequence(given):
        return given
    each: list[Traced] = [*given]
    kind = torch_module("torch.optim").Optimizer
    if not each or not all(isinstance(optimizer, kind) for optimizer in each):
        got = ", ".join(type(optimizer).__name__ for optimizer in each) or "none"
        raise ShardyError.unexpected("optimizer", expected="optimizers of torch in the list", got=got)
    parameters = [p for optimizer in each for group in optimizer.param_groups for p in group["params"]]
    if len({id(parameter) for parameter in parameters}) < len(parameters):
        raise ShardyError("two of the optimizers have one parameter; give each parameter to one of them")
    return _one_of(each)


def _one_of(optimizers: Sequence[Traced]) -> Traced:
    """An optimizer that holds others, whose groups are those of all."""

    kind = torch_module("torch.optim").Optimizer

    class Several(kind):
        """Makes the step of each."""

        def __init__(self) -> None:
            groups = [group for optimizer in optimizers for group in optimizer.param_groups]
            kind.__init__(self, [{"params": group["params"]} for group in groups], {})
            self.param_groups = groups
            self.each = [*optimizers]

        def step(self, closure: object = None) -> None:
            for optimizer in self.each:
                optimizer.step()

    return Several()
