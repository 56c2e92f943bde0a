"""`torch.einsum` as a sequence of products that keep dimensions apart, left to right.

torch decomposes it into a `bmm` of merged dimensions, through which few shardings propagate.

>>> parse("b i, ...j", [2, 3])
([['b', 'i'], ['...1', '...0', 'j']], ['...1', '...0', 'b', 'i', 'j'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shardy_py.frontends.aten.elements import Row, converted, sizes
from shardy_py.frontends.aten.shapes import diagonal, reordered
from shardy_py.frontends.builder import RankedTensorType, Tensor, dot_general, ops, reduce_sum

Labels = list[str]
"""A label for each dimension: a letter, or `...k` for the k-th dimension of an ellipsis from the right."""


def parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of operands with these ranks, and those of the result.

    Without `->` the result has the dimensions of ellipses, then the letters that occur once, sorted.
    """
    given, arrow, wanted = equation.replace(" ", "").partition("->")
    operands = [_labels(term, rank) for term, rank in zip(given.split(","), ranks, strict=True)]
    covered = max((_ellipsis_size(labels) for labels in operands), default=0)
    if arrow:
        return operands, _labels(wanted, len(wanted.replace("...", "")) + covered * ("..." in wanted))
    counts = Counter(label for labels in operands for label in labels)
    letters = sorted(label for label, count in counts.items() if count == 1 and label[0] != ".")
    return operands, [*_ellipsis(covered), *letters]


def _labels(term: str, rank: int) -> Labels:
    before, dots, after = term.partition("...")
    return [*before, *(_ellipsis(rank - len(before) - len(after)) if dots else ()), *after]


def _ellipsis(count: int) -> Labels:
    return [f"...{k}" for k in reversed(range(count))]


def _ellipsis_size(labels: Labels) -> int:
    return sum(label[0] == "." for label in labels)


def einsum(
    out: RankedTensorType, equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None
) -> Tensor:
    """The sum of products. `path`, an order of contraction, changes no result and is ignored."""
    operands, wanted = parse(equation, [tensor.rank for tensor in tensors])
    extents: dict[str, int] = {}
    for tensor, labels in zip(tensors, operands, strict=True):
        for label, size in zip(labels, sizes(tensor.type), strict=True):
            extents[label] = max(size, extents.get(label, 1)) if size else 0
    terms = [
        _distinct(*_broadcast(tensor, labels, extents))
        for tensor, labels in zip(converted(out.element_type, *tensors), operands, strict=True)
    ]
    result, labels = terms[0]
    for number, (other, other_labels) in enumerate(terms[1:], 2):
        needed = {*wanted, *(label for _, later in terms[number:] for label in later)}
        result, labels = _summed(result, labels, needed | {*other_labels})
        other, other_labels = _summed(other, other_labels, needed | {*labels})
        result, labels = _product(result, labels, other, other_labels, needed)
    result, labels = _summed(result, labels, set(wanted))
    missing = [label for label in wanted if label not in labels]  # of size 1 in all operands
    result = reordered(result, [labels.index(label) for label in wanted if label in labels])
    return ops.reshape(result, sizes(out)) if missing else result


def _broadcast(tensor: Tensor, labels: Labels, extents: dict[str, int]) -> tuple[Tensor, Labels]:
    """The operand without dimensions of size 1 that others have in another size."""
    shape = sizes(tensor.type)
    kept = [d for d, label in enumerate(labels) if shape[d] == extents[label]]
    if len(kept) == len(labels):
        return tensor, labels
    return ops.reshape(tensor, [shape[d] for d in kept]), [labels[d] for d in kept]


def _distinct(tensor: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """The operand with the diagonal of dimensions that share a label."""
    while repeated := next((label for label, count in Counter(labels).items() if count > 1), None):
        first = labels.index(repeated)
        second = labels.index(repeated, first + 1)
        tensor = diagonal(tensor, first, second)
        labels = [label for d, label in enumerate(labels) if d not in (first, second)] + [repeated]
    return tensor, labels


def _summed(tensor: Tensor, labels: Labels, needed: set[str]) -> tuple[Tensor, Labels]:
    over = [d for d, label in enumerate(labels) if label not in needed]
    return (reduce_sum(tensor, over) if over else tensor), [label for label in labels if label in needed]


def _product(
    lhs: Tensor, lhs_labels: Labels, rhs: Tensor, rhs_labels: Labels, needed: set[str]
) -> tuple[Tensor, Labels]:
    """The product over all labels; common ones that are not needed any more are contracted."""
    common = [label for label in lhs_labels if label in rhs_labels]
    batch = [label for label in common if label in needed]
    summed = [label for label in common if label not in needed]

    def places(chosen: Labels) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return tuple(map(lhs_labels.index, chosen)), tuple(map(rhs_labels.index, chosen))

    free = [label for label in (*lhs_labels, *rhs_labels) if label not in common]
    return dot_general(lhs, rhs, places(summed), places(batch)), [*batch, *free]


ROWS: dict[str, Row] = {"einsum": einsum}
"""The rows by the name of the op without overload."""
