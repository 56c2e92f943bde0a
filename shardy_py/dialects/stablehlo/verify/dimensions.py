"""Rules on lists of dimensions that several ops share."""

from __future__ import annotations

from collections.abc import Sequence

from shardy_py.dialects.stablehlo.verify.tensors import Sizes, Tensor, fail, listed, require


def is_sorted(values: Sequence[int]) -> bool:
    """Whether no value is smaller than the one before."""
    return list(values) == sorted(values)


def is_unique(values: Sequence[int]) -> bool:
    """Whether no value occurs twice."""
    return len(set(values)) == len(values)


def require_distinct(first: Sequence[int], second: Sequence[int], name: str, other: str) -> None:
    """No dimension is in a list twice, or in both."""
    seen: set[int] = set()
    for dimension in (*first, *second):
        require(dimension not in seen, f"has duplicated dimension from {name} and {other}: {dimension}")
        seen.add(dimension)


def require_within(dimensions: Sequence[int], limit: int, name: str, limit_name: str) -> None:
    """Each dimension of a list exists."""
    for dimension in dimensions:
        if not 0 <= dimension < limit:
            fail(
                f"Expects each element of {name} to be in range [0, {limit_name}) i.e. [0, {limit}). got: "
                f"{dimension}."
            )


def require_at_most(dimension: int, limit: int, name: str, limit_name: str) -> None:
    """A dimension exists, or is one past the last."""
    if not 0 <= dimension <= limit:
        fail(f"Expects {name} to be in range [0, {limit_name}] i.e. [0, {limit}]. got: {dimension}.")


def require_dimension(tensor: Tensor, dimension: int) -> None:
    """The tensor has the dimension."""
    require(dimension >= 0, f"requires non-negative dimension attribute; found ({dimension})")
    if dimension >= tensor.rank:
        fail(f"requires dimension attribute in range [0, {tensor.rank}); found ({dimension})")


def require_shape(expected: Sizes, given: Tensor) -> None:
    """The inferred shape is that of the result."""
    from shardy_py.dialects.stablehlo.verify.tensors import same_shape, size_text

    if not same_shape(expected, given.sizes):
        fail(
            f"inferred shape '[{', '.join(map(size_text, expected))}]' is incompatible with return type of "
            f"operation {given}"
        )


def braces(values: Sequence[int]) -> str:
    """`{1, 2}`."""
    return f"{{{listed(values)}}}"
