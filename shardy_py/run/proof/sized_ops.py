"""How the sizes of an op's operands, results and attributes depend on one another.

For ops whose dimensions differ in size, or whose attributes hold sizes; all other relations follow from the
sharding rule, in which dimensions of one factor have its size.

Not here: which op has which (`facet.py`), solving the relations (`sizes.py`), changing the program
(`resizing.py`).

>>> from shardy_py.ops import TensorType
>>> half = OpRecord("stablehlo.slice", (TensorType((64,)),), (TensorType((32,)),),
...                 {"start_indices": (32,), "limit_indices": (64,), "strides": (1,)})
>>> slice_attributes(half, [(10,)], [(5,)])
{'start_indices': (5,), 'limit_indices': (10,)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from shardy_py.base.records import dataclass
from shardy_py.ops import OpRecord
from shardy_py.ops.dimensions import (
    ConvolutionDimensions,
    GatherDimensions,
    ScatterDimensions,
    Window,
    own_windows,
    windows_of,
)
from shardy_py.ops.reads import integer, shape_of
from shardy_py.run.proof.size_relations import (
    AtMost,
    PaddedSize,
    ProductOfSizes,
    SlicedSize,
    SumOfSizes,
    Windows,
)
from shardy_py.run.proof.sizes import Problem
from shardy_py.sharding import ShardingRule

Shape = tuple[int, ...]
Variables = tuple[int, ...]
"""The variables of the dimensions of a tensor; () for other values."""


@dataclass(frozen=True, slots=True)
class SizedOp:
    """An op with the variables of its dimensions, and of the factors of its rule."""

    record: OpRecord
    operands: tuple[Variables, ...]
    results: tuple[Variables, ...]
    factors: Variables = ()

    @property
    def variables(self) -> tuple[int, ...]:
        """All of them."""
        return (
            *(v for side in (self.operands, self.results) for tensor in side for v in tensor),
            *self.factors,
        )


Relate = Callable[[SizedOp, Problem], None]
"""Adds relations of the dimensions of an op."""
Resize = Callable[[OpRecord, Sequence[Shape], Sequence[Shape]], Mapping[str, Shape]]
"""The attributes of an op with sizes, for new shapes of its operands and results."""


def relate_by_rule(op: SizedOp, rule: ShardingRule, problem: Problem, *, is_described: bool) -> None:
    """Relates dimensions to the factors of the rule. Sizes of dimensions that nothing describes stay."""
    tensors = (*op.operands, *op.results)
    for variables, mapping in zip(tensors, rule.tensors, strict=True):
        for variable, factors in zip(variables, mapping, strict=True):
            of_factors = tuple(op.factors[factor] for factor in factors)
            size = problem.sizes[variable]
            if size == 1 or not factors:
                continue  # one element stays one, and what no factor describes the row does, or the verifier
            if prod(map(problem.sizes.__getitem__, of_factors)) != size:
                if not is_described:
                    problem.pin(variable, *of_factors)
            elif len(factors) == 1:
                problem.tie(variable, of_factors[0])
            else:
                problem.relate(ProductOfSizes(variable, of_factors))


def relate_alike(op: SizedOp, problem: Problem) -> None:
    """An op without a rule, as a collective: operands as their results, or of a multiple of their sizes."""
    if not op.operands:
        return
    if len(op.operands) != len(op.results) or tuple(map(len, op.operands)) != tuple(map(len, op.results)):
        problem.pin(*op.variables)
        return
    for operand, result in zip(op.operands, op.results, strict=True):
        for pair in zip(operand, result, strict=True):
            problem.tie(*pair)


def _at_most(part: int, whole: int, problem: Problem) -> None:
    if problem.sizes[part] == problem.sizes[whole]:
        problem.tie(part, whole)
    else:
        problem.relate(AtMost(part, whole))


# ---------------------------------------------------------------------- slices, pads, concatenations


def slice_(op: SizedOp, problem: Problem) -> None:
    """The result has the elements between two bounds."""
    bounds = (op.record.attributes[name] for name in ("start_indices", "limit_indices", "strides"))
    for operand, result, *row in zip(op.operands[0], op.results[0], *bounds, strict=True):
        if row == [0, problem.sizes[operand], 1]:
            problem.tie(operand, result)
        else:
            problem.relate(SlicedSize(operand, result, *row))


def slice_attributes(
    record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]
) -> Mapping[str, Shape]:
    """Bounds at the same places of a smaller operand."""
    old = shape_of(record.operands[0])
    given = zip(record.attributes["start_indices"], record.attributes["limit_indices"], strict=True)
    bounds = [
        SlicedSize(0, 1, start, limit).bounds(size, new) or (start, limit)
        for size, new, (start, limit) in zip(old, operands[0], given, strict=True)
    ]
    return {
        "start_indices": tuple(start for start, _ in bounds),
        "limit_indices": tuple(limit for _, limit in bounds),
    }


def _padding(record: OpRecord) -> list[tuple[int, int, int]]:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return list(zip(*(record.attributes[name] for name in names), strict=True))


def pad(op: SizedOp, problem: Problem) -> None:
    """The result has elements around and between those of the operand."""
    for operand, result, edges in zip(op.operands[0], op.results[0], _padding(op.record), strict=True):
        if any(edges):
            problem.relate(PaddedSize(operand, result, *edges))
        else:
            problem.tie(operand, result)


def pad_attributes(
    record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]
) -> Mapping[str, Shape]:
    """Edges that smaller tensors leave."""
    old = shape_of(record.results[0])
    edges = [
        PaddedSize(0, 1, *given).edges(size, new) or given[:2]
        for size, new, given in zip(old, results[0], _padding(record), strict=True)
    ]
    return {
        "edge_padding_low": tuple(low for low, _ in edges),
        "edge_padding_high": tuple(high for _, high in edges),
    }


def concatenate(op: SizedOp, problem: Problem) -> None:
    """The result has the elements of all operands along a dimension."""
    along = integer(op.record.attributes, "dimension")
    for operand in op.operands:
        for dimension, pair in enumerate(zip(operand, op.results[0], strict=True)):
            if dimension != along:
                problem.tie(*pair)
    problem.relate(SumOfSizes(op.results[0][along], tuple(operand[along] for operand in op.operands)))


# ---------------------------------------------------------------------- slices at run-time offsets


def dynamic_slice(op: SizedOp, problem: Problem) -> None:
    """The result is at most as large as the operand."""
    for operand, result in zip(op.operands[0], op.results[0], strict=True):
        _at_most(result, operand, problem)


def result_shape(
    record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]
) -> Mapping[str, Shape]:
    """A slice has the sizes of the result."""
    return {"slice_sizes": results[0]}


def dynamic_update_slice(op: SizedOp, problem: Problem) -> None:
    """The update is at most as large as the operand."""
    for operand, update in zip(op.operands[0], op.operands[1], strict=True):
        _at_most(update, operand, problem)


def gather(op: SizedOp, problem: Problem) -> None:
    """Windows are at most as large as the operand."""
    numbers = GatherDimensions.of(op.record.attributes)
    for dimension, offset in numbers.windowed(len(op.operands[0])):
        _at_most(op.results[0][offset], op.operands[0][dimension], problem)


def gather_attributes(
    record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]
) -> Mapping[str, Shape]:
    """Windows have the sizes of the result."""
    sizes = list(record.attributes["slice_sizes"])
    for dimension, offset in GatherDimensions.of(record.attributes).windowed(len(sizes)):
        sizes[dimension] = results[0][offset]
    return {"slice_sizes": tuple(sizes)}


def scatter(op: SizedOp, problem: Problem) -> None:
    """Updates are at most as large as what they update."""
    windowed = ScatterDimensions.of(op.record.attributes).windowed(len(op.operands[0]))
    count = len(op.results)
    for operand, update in zip(op.operands[:count], op.operands[count + 1 :], strict=True):
        for dimension, window in windowed:
            _at_most(update[window], operand[dimension], problem)


# ---------------------------------------------------------------------- windows


def _relate_windows(
    triples: Sequence[tuple[int, int | None, int]], windows: Sequence[Window], problem: Problem
) -> None:
    """triples: operand, window if its size is one of a tensor, and result, of each dimension."""
    for (operand, window, result), row in zip(triples, windows, strict=True):
        if row == Window(1):
            problem.tie(operand, result)
            continue
        padding = row.low + row.high
        relation = (row.size, row.stride, padding, row.base_dilation, row.dilation)
        problem.relate(Windows(operand, window, result, *relation))
        covered = (row.size - 1) * row.dilation + 1
        for variable in (operand, result):
            problem.reach(variable, min(covered, _FARTHEST))
        if window is None and covered < problem.sizes[operand]:
            # All elements are in all windows of smaller ones: it does not matter where these begin.
            problem.at_least(operand, covered // 2 + 1)


_FARTHEST = 8
"""Windows larger than that read all parts anyhow, as those of the gradients of kernels."""


def convolution(op: SizedOp, problem: Problem) -> None:
    """The windows are those of the kernel."""
    numbers = ConvolutionDimensions.of(op.record.attributes)
    kernel = [op.operands[1][d] for d in numbers.kernel_spatial]
    operands = [op.operands[0][d] for d in numbers.spatial]
    results = [op.results[0][d] for d in numbers.result_spatial]
    windows = windows_of(op.record.attributes, [problem.sizes[variable] for variable in kernel])
    _relate_windows(list(zip(operands, kernel, results, strict=True)), windows, problem)


def reduce_window(op: SizedOp, problem: Problem) -> None:
    """The windows are those that the op states."""
    windows = own_windows(op.record.attributes, len(op.operands[0]))
    for operand, result in zip(op.operands, op.results, strict=False):
        _relate_windows([(a, None, b) for a, b in zip(operand, result, strict=True)], windows, problem)
    for operand in op.operands[1 : len(op.results)]:
        for pair in zip(op.operands[0], operand, strict=True):
            problem.tie(*pair)


def select_and_scatter(op: SizedOp, problem: Problem) -> None:
    """The source has an element for each window; the result is as large as the operand."""
    operand, source, *_ = op.operands
    windows = own_windows(op.record.attributes, len(operand))
    _relate_windows([(a, None, b) for a, b in zip(operand, source, strict=True)], windows, problem)
    for pair in zip(operand, op.results[0], strict=True):
        problem.tie(*pair)


# ---------------------------------------------------------------------- sizes in attributes and operands


def fixed(op: SizedOp, problem: Problem) -> None:
    """All sizes stay: they are values, or in other places."""
    problem.pin(*op.variables)


def fft(op: SizedOp, problem: Problem) -> None:
    """A spectrum of n real elements has n // 2 + 1."""
    operand, result = op.operands[0], op.results[0]
    ties = list(zip(operand, result, strict=True))
    kind = op.record.attributes["fft_type"]
    if kind in ("RFFT", "IRFFT"):
        real, halved = ties.pop() if kind == "RFFT" else reversed(ties.pop())
        # As many as windows of one element at each second place, of n + 1.
        problem.relate(Windows(real, None, halved, size=1, stride=2, padding=1, base_dilation=1, dilation=1))
    for pair in ties:
        problem.tie(*pair)


def fft_length(record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]) -> Mapping[str, Shape]:
    """The sizes of the real side."""
    real = results[0] if record.attributes["fft_type"] == "IRFFT" else operands[0]
    return {"fft_length": real[-len(record.attributes["fft_length"]) :]}


def top_k(op: SizedOp, problem: Problem) -> None:
    """At most as many are found as there are."""
    for result in op.results:
        _at_most(result[-1], op.operands[0][-1], problem)
        for pair in zip(result[:-1], op.operands[0][:-1], strict=True):
            problem.tie(*pair)


def found_count(record: OpRecord, operands: Sequence[Shape], results: Sequence[Shape]) -> Mapping[str, Shape]:
    """As many as the result has."""
    return {"k": results[0][-1:]}
