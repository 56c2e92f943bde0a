"""Sharding rules in JAX's einsum-like notation: `"i j, j k -> i k"`, one word for each dimension.

    (i j) k     a compound dimension: factors i and j, major to minor; sizes must be given for factors that
                are not a whole dimension of any tensor
    ... i       leading dimensions, none or more, the same in all tensors; `...1`, `...2` are other groups

The types of factors and the messages are those of JAX's custom_partitioning; a factor of different sizes in
different tensors has the smallest. Not here: rules in MLIR's notation (`dialects/sdy`).

>>> print(einsum_rule("... i j, j k -> ... i k", ((2, 8, 16), (16, 4)), ((2, 8, 4),), reduction=("j",)))
<([i, j, k], [k, l])->([i, j, l]) {i=2, j=8, k=16, l=4} reduction={k}, custom>
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.ops import TensorType, shape_of
from shardy_py.sharding import Factor, FactorType, ShardingRule

_FACTOR = re.compile(r"[^\W\d_]\w*")
_ELLIPSIS = re.compile(r"\.\.\.(\d{0,9})")

Dimension = tuple[str, ...]
"""The factors of a dimension, major to minor."""


@dataclass(frozen=True, slots=True)
class EinsumTensor:
    """One tensor of the notation; group: the number of its leading dimensions, None without an ellipsis."""

    dimensions: tuple[Dimension, ...]
    group: int | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    """One tensor of the op: its name in messages, its dimensions without an ellipsis, and their sizes."""

    name: str
    dimensions: tuple[Dimension, ...]
    shape: tuple[int, ...]


def einsum_rule(
    notation: str,
    operands: Sequence[TensorType | Sequence[int]],
    results: Sequence[TensorType | Sequence[int]],
    *,
    factor_sizes: Mapping[str, int] | None = None,
    reduction: Sequence[str] = (),
    need_replication: Sequence[str] = (),
    permutation: Sequence[str] = (),
    is_custom: bool = True,
) -> ShardingRule:
    """Returns the rule of `notation` for tensors of these types or shapes.

    factor_sizes: the sizes of factors that occur in compound dimensions only.
    reduction, need_replication, permutation: the factors of these types; all others pass through.
    is_custom: whether it is a user's rule of a custom call; no reshards are inserted before that.
    """
    sides = parse_notation(notation)
    dimensions = [d for side in sides for tensor in side for d in tensor.dimensions]
    sizes = dict(factor_sizes or {})
    _check_sizes(dimensions, sizes)
    listed = {
        FactorType.REDUCTION: reduction,
        FactorType.NEED_REPLICATION: need_replication,
        FactorType.PERMUTATION: permutation,
    }
    types = _types_by_factor(dimensions, listed)
    for kind, tensors, given in zip(("operand", "result"), sides, (operands, results), strict=True):
        if len(tensors) != len(given):
            raise ShardyError(
                f"Sharding rule has {len(tensors)} {kind}s, but the operation has {len(given)} {kind}s"
            )
    places = _expand(sides, (operands, results))
    numbers = _number(places, sizes)
    _check_compounds(places, sizes)
    factors = tuple(Factor(sizes[n], types.get(n, FactorType.PASS_THROUGH)) for n in numbers)
    mapped = [tuple(tuple(numbers[name] for name in d) for d in place.dimensions) for place in places]
    count = len(operands)
    return ShardingRule(factors, tuple(mapped[:count]), tuple(mapped[count:]), is_custom=is_custom)


def parse_notation(notation: str) -> tuple[tuple[EinsumTensor, ...], tuple[EinsumTensor, ...]]:
    """Returns the operands and results of a notation.

    >>> parse_notation("(i j) -> i")[0]
    (EinsumTensor(dimensions=(('i', 'j'),), group=None),)
    """
    sides = notation.split("->")
    if len(sides) != 2:
        raise ShardyError(f"There is no -> in rule: '{notation}'")
    operands, results = (tuple(map(_parse_tensor, side.split(","))) for side in sides)
    return operands, results


def _parse_tensor(text: str) -> EinsumTensor:
    dimensions: list[Dimension] = []
    compound: list[str] | None = None
    group: int | None = None
    at = 0
    while at < len(text):
        character = text[at]
        if found := _FACTOR.match(text, at):
            if compound is None:
                dimensions.append((found[0],))
            else:
                compound.append(found[0])
        elif found := _ELLIPSIS.match(text, at):
            if dimensions or compound is not None or group is not None:
                raise ShardyError("Ellipsis can only be used at the beginning of a dimension")
            group = int(found[1] or 0)
        elif character == "(":
            if compound is not None:
                raise ShardyError("Compound factors should be one level, nested brackets are not allowed")
            compound = []
        elif character == ")":
            if compound is None:
                raise ShardyError("Brackets are not balanced")
            if len(compound) < 2:
                raise ShardyError("Brackets should contain at least two factors")
            dimensions.append(tuple(compound))
            compound = None
        elif not character.isspace():
            raise ShardyError(_character_fault(character))
        at = found.end() if found else at + 1
    if compound is not None:
        raise ShardyError(f"Brackets are not balanced in rule: '{text.strip()}'")
    return EinsumTensor(tuple(dimensions), group)


def _character_fault(character: str) -> str:
    if character == ".":
        return "Character '.' must be used inside ellipsis '...'"
    if character == "_" or character.isdigit():
        return f"Factor names have to start with a letter, but got '{character}'"
    return f"Unknown character '{character}'"


def _check_sizes(dimensions: Sequence[Dimension], sizes: Mapping[str, int]) -> None:
    """Checks that sizes are given for exactly the factors that are not a whole dimension."""
    used = {name for dimension in dimensions for name in dimension}
    whole = {dimension[0] for dimension in dimensions if len(dimension) == 1}
    for name in sizes:
        if name not in used:
            raise ShardyError(f"Factor {name} is not used in the rule, but size is provided")
        if name in whole:
            raise ShardyError(f"Factor {name} represents a whole dimension; do not specify its size")
    for name in sorted(used - whole - sizes.keys()):
        raise ShardyError(f"Factor {name} is only used in compound factors; must specify its size")


def _types_by_factor(
    dimensions: Sequence[Dimension], listed: Mapping[FactorType, Sequence[str]]
) -> dict[str, FactorType]:
    """Returns the given types by factor."""
    types: dict[str, FactorType] = {}
    for kind, names in listed.items():
        for name in names:
            if not any(name in dimension for dimension in dimensions):
                raise ShardyError(f"Factor {name} in {kind.name.lower()}_factors is not used in the rule")
            if types.setdefault(name, kind) is not kind:
                raise ShardyError(f"Factor {name} can only be in one of the factor sets")
    return types


def _expand(
    sides: Sequence[Sequence[EinsumTensor]], types: Sequence[Sequence[TensorType | Sequence[int]]]
) -> list[_Place]:
    """The tensors of the op; the dimensions of an ellipsis have factors named `?GROUP_NUMBER`."""
    ranks: dict[int, int] = {}
    places: list[_Place] = []
    for kind, tensors, given in zip(("operand", "result"), sides, types, strict=True):
        for number, (tensor, type_) in enumerate(zip(tensors, given, strict=True)):
            shape = shape_of(type_) if isinstance(type_, TensorType) else tuple(type_)
            place, leading = f"{number}th {kind}", 0
            if tensor.group is not None:
                leading = max(len(shape) - len(tensor.dimensions), 0)
                known = ranks.setdefault(tensor.group, leading)
                if known != leading:
                    raise ShardyError(
                        f"Ellipsis represents different number of leading dimensions {known} and {leading}"
                    )
            rank = leading + len(tensor.dimensions)
            if rank != len(shape):
                raise ShardyError(
                    f"Sharding rule {place} has rank {rank}, but the operation {place} has rank {len(shape)}"
                )
            first = ((f"?{tensor.group}_{i}",) for i in range(leading))
            places.append(_Place(place, (*first, *tensor.dimensions), shape))
    return places


def _number(places: Sequence[_Place], sizes: dict[str, int]) -> dict[str, int]:
    """Numbers the factors in order of occurrence; adds the sizes of whole dimensions to `sizes`."""
    numbers: dict[str, int] = {}
    for place in places:
        for dimension, size in zip(place.dimensions, place.shape, strict=True):
            for name in dimension:
                numbers.setdefault(name, len(numbers))
            if len(dimension) == 1:
                (name,) = dimension
                known = sizes.setdefault(name, size)
                if known != size and name.startswith("?"):
                    sizes_text = f"{known} and {size}"
                    raise ShardyError(f"Batching dimension {name[1:]} corresponds to two sizes: {sizes_text}")
                sizes[name] = min(known, size)
    return numbers


def _check_compounds(places: Sequence[_Place], sizes: Mapping[str, int]) -> None:
    for place in places:
        for dimension, size in zip(place.dimensions, place.shape, strict=True):
            total = prod(sizes[name] for name in dimension)
            if len(dimension) > 1 and total != size:
                raise ShardyError(
                    f"{place.name} actual size {size} doesn't match the size {total} derived from the "
                    f"compound factors {dimension}"
                )
