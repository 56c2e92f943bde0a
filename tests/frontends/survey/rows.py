"""A model of the survey: how it is built, and what it is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Called = tuple[Any, tuple[Any, ...], Mapping[str, Any]]
"""A module, and the positional and keyword arguments of its call."""


@dataclass(frozen=True)
class Row:
    """A model by name; `build` makes it, with inputs of small sizes.

    source: the package it comes from, or "written" (in this folder). options: of `torch.export.export`.
    """

    name: str
    source: str
    build: Callable[[], Called]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
