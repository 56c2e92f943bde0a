"""Rows of the battery of single ops (`ops_battery.py`): a call, its sharded operands, what it must send."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from shardy_py import P

SUM = "all_reduce"


@dataclass(frozen=True)
class Row:
    """A call. operands: "8:dp 16 4:tp": sizes with their axes, behind `i<n>` integers below n, behind `b`
    booleans. whole: the kinds of collectives that the op needs, each once; None: whatever XLA sends.
    is_gradient: the gradients of all operands of floats, given that of the result, the last operand.
    """

    name: str
    function: Callable[..., Any]
    operands: tuple[str, ...]
    whole: frozenset[str] | None
    is_gradient: bool = False

    def gradients(self, *tensors: Any) -> tuple[Any, ...]:
        """The gradients of the operands, given tensors for these and for the gradient of the result."""
        *operands, of_result = tensors
        leaves = [t.detach().requires_grad_() if t.is_floating_point() else t for t in operands]
        result = self.function(*leaves)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        return torch.autograd.grad(result, wanted, of_result)


def operand_of(text: str) -> tuple[Any, Any]:
    """An example tensor and its spec."""
    kind, *rest = text.split() or ["f"]
    words = rest if kind[0] in "ibf" else [kind, *rest]
    pairs = [word.partition(":") for word in words]
    shape = [int(size) for size, _, _ in pairs]
    spec = P(*(tuple(axes.split(",")) if axes else None for _, _, axes in pairs))
    if kind[0] == "i":
        return torch.randint(0, int(kind[1:]), shape), spec
    return (torch.rand(shape) > 0.5 if kind[0] == "b" else torch.randn(shape)), spec


def row(name: str, function: Callable[..., Any], *operands: str, whole: str | None = "") -> Row:
    """whole: kinds, separated by spaces."""
    return Row(name, function, operands, None if whole is None else frozenset(whole.split()))


def gradient(name: str, function: Callable[..., Any], *operands: str, of: str, whole: str | None = "") -> Row:
    """The gradients of a call; of: the gradient of its result."""
    kinds = None if whole is None else frozenset(whole.split())
    return Row(f"{name} backward", function, (*operands, of), kinds, is_gradient=True)


def einsum(equation: str, *operands: str, whole: str | None = "") -> Row:
    """A row of `torch.einsum`."""
    return row(f"einsum {equation}", lambda *given: torch.einsum(equation, *given), *operands, whole=whole)
