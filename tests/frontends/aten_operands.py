"""Operands of examples of ATen ops (`aten_examples.py`)."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def f(*shape: int) -> Any:
    return torch.randn(shape)


def positive(*shape: int) -> Any:
    return torch.rand(shape) + 0.1


def within(*shape: int) -> Any:
    return torch.rand(shape) * 1.8 - 0.9


def n(*shape: int, low: int = -9, high: int = 10) -> Any:
    return torch.randint(low, high, shape)


def nonzero(*shape: int) -> Any:
    return n(*shape, low=1) * (1 - 2 * n(*shape, low=0, high=2))


def b(*shape: int) -> Any:
    return torch.randint(0, 2, shape).bool()


def c(*shape: int) -> Any:
    return torch.complex(f(*shape), f(*shape))


def call(name: str, *arguments: Any, **keywords: Any) -> Call:
    return f"aten.{name}", arguments, keywords


def spd(*shape: int) -> Any:
    """Symmetric positive definite matrices."""
    given = f(*shape)
    return given @ given.mT + torch.eye(shape[-1])
