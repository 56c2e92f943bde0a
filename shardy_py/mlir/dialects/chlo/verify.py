"""Rules of ragged products and of scans.

The rules are those of CHLO's definitions in StableHLO. Not here: ops that broadcast (`broadcasting.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute

from shardy_py.mlir.dialects.chlo.attributes import RaggedDotDimensionNumbers
from shardy_py.mlir.dialects.faults import Fault
from shardy_py.mlir.dialects.stablehlo.verify.contraction import check_precision, check_products
from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, listed, raw, require, require_distinct
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Size,
    Sizes,
    read_tensor,
    require_shape,
    same_size,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View


def check_ragged_dot(view: View) -> None:
    """A ragged product, in this order:

    - what a general dot product must satisfy
    - one ragged dimension of lhs; sizes of groups for all of them, or for each of what lies outside of it
    - one dimension of groups in rhs, as many as there are sizes, if the ragged dimension is neither a batch
      nor contracted; otherwise none
    - the result: groups, where rows are contracted, then as of a product
    """
    if not view.is_ranked:
        return
    check_precision(view)
    numbers: RaggedDotDimensionNumbers = view.value("ragged_dot_dimension_numbers")
    lhs, rhs, groups = view.operands
    check_products(numbers, lhs, rhs)
    require(len(numbers.lhs_ragged_dimensions) == 1, "There must be exactly one ragged dimension in the lhs.")
    ragged = numbers.lhs_ragged_dimensions[0]
    _require_within("lhs_ragged_dim", ragged, "lhs_rank", lhs.rank)
    _check_group_sizes(groups, [lhs.sizes[d] for d in _outside(numbers, ragged, lhs.rank)])
    count = groups.sizes[-1]
    for dimension in numbers.rhs_group_dimensions:
        _require_within("rhs_group_dim", dimension, "rhs_rank", rhs.rank)
    for other in ("rhs_batching_dimensions", "rhs_contracting_dimensions"):
        require_distinct(numbers, "rhs_group_dimensions", other)
    _check_groups(numbers, rhs, count, is_free=_is_free(numbers, ragged))
    is_contracted = ragged in numbers.lhs_contracting_dimensions
    require_shape(((count,) if is_contracted else ()) + _made(numbers, lhs, rhs), view.results[0])


def _is_free(numbers: RaggedDotDimensionNumbers, dimension: int) -> bool:
    return dimension not in (*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions)


def _outside(numbers: RaggedDotDimensionNumbers, ragged: int, rank: int) -> Iterator[int]:
    """The dimensions of lhs for each of which there may be sizes of groups: batches and those before."""
    kinds = numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions
    before = [tuple(free for free in range(rank) if _is_free(numbers, free)), *kinds]
    if ragged not in kinds[0]:
        yield from kinds[0]
    own = next(dimensions for dimensions in before if ragged in dimensions)
    yield from own[: own.index(ragged)]


def _check_group_sizes(groups: RankedTensor, prefix: Sequence[Size]) -> None:
    if groups.rank == 1:
        return
    if groups.rank != len(prefix) + 1:
        fail(f"expected group_sizes to have rank {len(prefix) + 1}, got {groups.rank}")
    if [*groups.sizes[:-1]] != [*prefix]:
        expected = listed((*prefix, groups.sizes[-1]))
        fail(f"group_sizes is expected to have shape [{expected}], got [{listed(groups.sizes)}]")


def _check_groups(
    numbers: RaggedDotDimensionNumbers, rhs: RankedTensor, count: Size, *, is_free: bool
) -> None:
    groups = numbers.rhs_group_dimensions
    if not is_free:
        require(
            not groups,
            "There must be zero group dimensions in the rhs when the ragged dimension is batch or "
            "contracting.",
        )
        return
    require(
        len(groups) == 1,
        "There must be exactly one group dimension in the rhs when the lhs ragged dimension is "
        "non-contracting.",
    )
    if not same_size(count, rhs.sizes[groups[0]]):
        fail(f"rhs group dimension is expected to have size={raw(count)}, got {raw(rhs.sizes[groups[0]])}")


def _made(numbers: RaggedDotDimensionNumbers, lhs: RankedTensor, rhs: RankedTensor) -> Sizes:
    """Batch dimensions, then the others of lhs, then those of rhs but for the groups."""
    batches = numbers.lhs_batching_dimensions
    used = {*batches, *numbers.lhs_contracting_dimensions}
    rhs_used = {
        *numbers.rhs_batching_dimensions,
        *numbers.rhs_contracting_dimensions,
        *numbers.rhs_group_dimensions,
    }
    rows = [size for d, size in enumerate(lhs.sizes) if d not in used]
    columns = [size for d, size in enumerate(rhs.sizes) if d not in rhs_used]
    return (*[lhs.sizes[d] for d in batches], *rows, *columns)


def _require_within(name: str, value: int, limit_name: str, limit: int) -> None:
    if not 0 <= value < limit:
        fail(f"Expects {name} to be in range [0, {limit_name}) i.e. [0, {limit}). got: {value}.")


def check_scan(view: View) -> None:
    """Inputs of one length along the dimension; the body takes what is left of them, and the carries."""
    inputs, dimension = view.group("inputs"), view.integer("dimension")
    if not inputs and not any(view.integers("resultSegmentSizes")[:1]):
        raise Fault("at least one of inputs or outputs must be present")
    _scanned_length(view)
    arguments = view.body(0).arguments
    if len(arguments) != len(view.operands):
        raise Fault(f"expects {len(view.operands)} arguments in the body, but got {len(arguments)}")
    for index, argument in enumerate(arguments):
        operand = _ranked(view, index)
        if index < len(inputs):
            operand = operand.take(d for d in range(operand.rank) if d != dimension)
        given = read_tensor(argument)
        if given is None or not operand.is_compatible(given):
            raise Fault(f"operand and body argument {index} are incompatible")


def infer_scan(view: View) -> Sequence[RankedTensor | Attribute]:
    """Results as the body of a valid scan returns them: outputs with a dimension more, and carries."""
    returned, dimension = view.body(0).returned, view.integer("dimension")
    carries = len(view.operands) - len(view.group("inputs"))
    if len(returned) < carries:
        fail(f"ScanOp body must return at least {carries} values (carries)")
    length = _scanned_length(view)
    made: list[RankedTensor] = []
    for index, type_ in enumerate(returned):
        tensor = read_tensor(type_)
        if tensor is None:
            fail(f"terminator operand {index} is not ranked")
        sizes = [*tensor.sizes]
        if index < len(returned) - carries:
            sizes.insert(dimension, length)
        made.append(RankedTensor(tuple(sizes), tensor.element))
    return made


def _scanned_length(view: View) -> Size:
    """The size of the dimension that is scanned, which all inputs share; None if it is dynamic."""
    dimension = view.integer("dimension")
    length = view.integer("scan_dim_size") if "scan_dim_size" in view.op.properties else None
    for index in range(len(view.group("inputs"))):
        operand = _ranked(view, index)
        if dimension >= operand.rank:
            raise Fault(f"scan dimension of operand {index} is out of bounds")
        size = operand.sizes[dimension]
        if size is not None and length not in (None, size):
            raise Fault(f"invalid scan dimension size of operand {index}")
        length = length if size is None else size
    return length


def _ranked(view: View, index: int) -> RankedTensor:
    tensor = read_tensor(view.operand_types[index])
    if tensor is None:
        raise Fault(f"operand {index} is not ranked")
    return tensor
