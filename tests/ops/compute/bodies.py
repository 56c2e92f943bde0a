"""Regions on scalars, made from Python functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shardy_py.ops.compute.lanes import Array, RegionTerm


@dataclass
class Region:
    """A region as ops with regions take it; without hints about what it computes, if none are given."""

    function: Callable[..., tuple[Array, ...]]
    combiner: str = ""
    terms: tuple[RegionTerm | Array | int, ...] = ()
    lanes: int = 1
    calls: int = 0

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        self.calls += 1
        assert {len(argument) for argument in arguments} <= {1, max(map(len, arguments))}
        return self.function(*arguments)


def combining(name: str, function: Callable[[Any, Any], Any]) -> Region:
    """Returns a region that is one op of two arguments."""
    return Region(lambda left, right: (function(left, right),), f"stablehlo.{name}")
