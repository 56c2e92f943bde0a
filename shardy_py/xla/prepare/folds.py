"""The folds: `transpose(transpose(x))` is one transpose, `x + 0` is `x`; `FOLDS` is the table of all."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from shardy_py.base.deferred import np
from shardy_py.base.session import SESSION
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.ir import operands_of, type_of
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import record_of
from shardy_py.mlir.text.builtin_attributes import is_dense, is_integral
from shardy_py.mlir.text.dense import element_size, elements_type, store_integer
from shardy_py.mlir.typed import element_type_of, of_kind
from shardy_py.ops import TABLE
from shardy_py.xla.prepare import folding

if TYPE_CHECKING:
    from numpy.typing import NDArray


def neutral(number: int, *, left: bool = True) -> folding.Fold:
    """Folds an op whose other operand is filled with `number` to it; not the left one if not `left`."""

    def apply(op: Operation, splats: folding.Splats) -> SSAValue | None:
        first, second = operands_of(op)
        if splats.is_number(second, number):
            return first
        return second if left and splats.is_number(first, number) else None

    return apply


def absorbing(number: int) -> folding.Fold:
    """Folds an integer op to the operand that is filled with `number`."""

    def apply(op: Operation, splats: folding.Splats) -> SSAValue | None:
        (result,) = op.results
        if not is_integral(element_type_of(type_of(result))):  # as of most programs
            return None
        return next((operand for operand in operands_of(op) if splats.integer(operand) == number), None)

    return apply


def fold_all_ones(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """`x & -1` is `x`."""
    first, second = operands_of(op)
    for kept, other in ((first, second), (second, first)):
        number = splats.integer(other)
        if number is not None and not any(store_integer(~number, element_type_of(other.type))):
            return kept
    return None


def fold_same_operands(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """`x - x` and `x ^ x` of integers are zero."""
    first, second = operands_of(op)
    if first is not second:
        return None
    element = getattr(first.type, "element_type", None)
    if not is_integral(element) or not folding.is_static(first):
        return None
    return folding.make_constant(op, store_integer(0, element))


def fold_compare(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Compares integers with themselves; `x != false` and `x == true` are `x`."""
    first, second = operands_of(op)
    data = folding.computed(op, (0, 0)) if first is second and folding.is_static(first) else None
    if data is not None:
        return folding.make_constant(op, data)
    neutral = {"NE": 0, "EQ": 1}.get(record_of(op).attributes["comparison_direction"])
    return (
        first if folding.same_type(op) and neutral is not None and splats.integer(second) == neutral else None
    )


def fold_convert(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A conversion to the same type is its operand."""
    return operands_of(op)[0] if folding.same_type(op) else None


def fold_select(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Chooses if the predicate is known; `select(not p, a, b)` is `select(p, b, a)`."""
    choice, yes, no = operands_of(op)
    if yes is no:
        return yes
    known = splats.integer(choice)
    if known is not None:
        return yes if known else no
    inverted = folding.producer(choice, stablehlo.NotOp.name)
    return None if inverted is None else folding.make(op, "select", [*operands_of(inverted), no, yes], {})


def part_of_complex(index: int) -> folding.Fold:
    """The real (0) or imaginary (1) part of `complex(a, b)` is `a` or `b`."""

    def apply(op: Operation, splats: folding.Splats) -> SSAValue | None:
        joined = folding.producer(operands_of(op)[0], stablehlo.ComplexOp.name)
        return None if joined is None else operands_of(joined)[index]

    return apply


Array: TypeAlias = "NDArray[np.void]"
BROADCAST, CONCATENATE = stablehlo.BroadcastInDimOp.name, stablehlo.ConcatenateOp.name
RESHAPE, TRANSPOSE = stablehlo.ReshapeOp.name, stablehlo.TransposeOp.name
MAX_ELEMENTS = 65536
"""Constants of more elements are not folded, unless all are the same."""


def fold_constant(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Moves known elements."""
    (result,) = op.results
    if not folding.is_static(result):
        return None
    data = splats.of(result)
    if data is None:
        arrays = _elements(op, splats) if TABLE[op.name].is_folded else None
        if arrays is None:
            return None
        from shardy_py.ops.compute import compute_of  # many modules, needed for few programs

        record = record_of(op)
        data = compute_of(record)(record, *(array[None] for array in arrays)).tobytes()
    return folding.make_constant(op, data)


def fold_constant_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reshape of a constant is that constant with another type."""
    arrays = _elements(op, splats) if folding.is_static(*op.results) else None
    return None if arrays is None else folding.make_constant(op, arrays[0].tobytes())


def _elements(op: Operation, splats: folding.Splats) -> list[Array] | None:
    """The elements of all operands as uninterpreted bytes; None if one is not constant, or they are many."""
    if prod(folding.sizes_of(op.results[0])) > MAX_ELEMENTS:
        return None
    arrays: list[Array] = []
    for operand in operands_of(op):
        array = _array(operand, splats)
        if array is None:
            return None
        arrays.append(array)
    return arrays


def _array(value: SSAValue, splats: folding.Splats) -> Array | None:
    data = splats.of(value)
    if data is not None:
        return np.broadcast_to(np.frombuffer(data, f"V{len(data)}").reshape(()), folding.sizes_of(value))
    constant = constant_of(value)
    dense = None if constant is None else constant.properties["value"]
    if not is_dense(dense):
        return None
    size = element_size(elements_type(dense)[1])
    return np.frombuffer(dense.data.data, f"V{size}").reshape(folding.sizes_of(value))


def fold_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reshape to the same type is its operand; of two reshapes the second one stays."""
    inner = folding.producer(operands_of(op)[0], RESHAPE)
    if inner is None and not folding.same_type(op):
        return None
    return folding.reshaped(op, operands_of(op)[0] if inner is None else operands_of(inner)[0])


def fold_broadcast(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Two broadcasts are one; a broadcast that repeats no element is a reshape or transpose."""
    (source,), (result,) = operands_of(op), op.results
    if not folding.is_static(source, result):
        return None
    inner = folding.producer(source, BROADCAST)
    repeats = _elements_of(folding.sizes_of(source)) != _elements_of(folding.sizes_of(result))
    if repeats and inner is None:
        return None
    dimensions: tuple[int, ...] = plain(op.properties["broadcast_dimensions"])
    if inner is not None and not folding.same_type(op):
        inner_dimensions: tuple[int, ...] = plain(inner.properties["broadcast_dimensions"])
        merged = [dimensions[dimension] for dimension in inner_dimensions]
        return folding.make(
            op, "broadcast_in_dim", operands_of(inner), {"broadcast_dimensions": folding.integers(merged)}
        )
    if not repeats:
        if dimensions == tuple(sorted(dimensions)):
            return folding.reshaped(op, source)
        if len(folding.sizes_of(source)) == len(folding.sizes_of(result)):
            permutation = [dimensions.index(dimension) for dimension in range(len(dimensions))]
            return folding.make(op, "transpose", [source], {"permutation": folding.integers(permutation)})
    return None


@SESSION.cache(4096)
def _elements_of(sizes: tuple[int, ...]) -> int:
    return prod(sizes)


def fold_transpose(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A transpose that only moves dimensions of size 1 is a reshape; two transposes are one."""
    (source,) = operands_of(op)
    permutation: tuple[int, ...] = plain(op.properties["permutation"])
    moved = [dimension for dimension in permutation if folding.sizes_of(source)[dimension] != 1]
    if moved == sorted(moved) and folding.is_static(source):
        return folding.reshaped(op, source)
    inner = folding.producer(source, TRANSPOSE)
    if inner is None:
        return None
    merged = [plain(inner.properties["permutation"])[dimension] for dimension in permutation]
    return folding.make(op, "transpose", operands_of(inner), {"permutation": folding.integers(merged)})


def fold_concatenate(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Nested concatenates are one; operands without elements are dropped."""
    dimension = plain(op.properties["dimension"])
    parts: list[SSAValue] = []
    for operand in operands_of(op):
        inner = folding.producer(operand, CONCATENATE) if operand.has_one_use() else None
        is_nested = inner is not None and plain(inner.properties["dimension"]) == dimension
        parts += operands_of(of_kind(inner, Operation)) if is_nested else [operand]
    parts = [part for part in parts if folding.sizes_of(part)[dimension] != 0] or parts[:1]
    if len(parts) == 1 and parts[0].type == op.results[0].type:
        return parts[0]
    is_same = len(parts) == len(operands_of(op))
    return None if is_same else folding.make(op, "concatenate", parts, dict(op.properties))


def fold_slice(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A slice of everything is its operand; a slice of a concatenate takes only the operands it needs."""
    if folding.same_type(op) and folding.is_static(*op.results):
        return operands_of(op)[0]
    joined = folding.producer(operands_of(op)[0], CONCATENATE)
    if joined is None or not folding.is_static(*operands_of(joined), *op.results):
        return None
    dimension: int = plain(joined.properties["dimension"])
    first, last = (list(plain(op.properties[name])) for name in ("start_indices", "limit_indices"))
    at, skipped = 0, 0
    parts: list[SSAValue] = []
    for part in operands_of(joined):
        end = at + folding.sizes_of(part)[dimension]
        if end <= first[dimension] and not parts:
            skipped = end
        elif at < last[dimension]:
            parts.append(part)
        at = end
    is_shared = len(parts) > 1 and not joined.results[0].has_one_use()
    if len(parts) == len(operands_of(joined)) or not parts or is_shared:
        return None
    source = parts[0]
    if len(parts) > 1:
        shape = list(folding.sizes_of(source))
        shape[dimension] = sum(folding.sizes_of(part)[dimension] for part in parts)
        type_ = TensorType(element_type_of(source.type), shape)
        source = folding.make(op, "concatenate", parts, dict(joined.properties), type_)
    first[dimension] -= skipped
    last[dimension] -= skipped
    bounds = {"start_indices": folding.integers(first), "limit_indices": folding.integers(last)}
    return folding.make(op, "slice", [source], {**op.properties, **bounds})


def fold_dynamic_slice(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A dynamic slice at constants is a slice, its start clamped so that all of it is inside."""
    (source, *starts), (result,) = operands_of(op), op.results
    numbers = [splats.integer(start) for start in starts]
    if None in numbers or not folding.is_static(source, result):
        return None
    sizes = folding.sizes_of(result)
    room = [whole - part for whole, part in zip(folding.sizes_of(source), sizes, strict=True)]
    first = [min(max(start, 0), most) for start, most in zip(cast("list[int]", numbers), room, strict=True)]
    last = [start + size for start, size in zip(first, sizes, strict=True)]
    bounds = {"start_indices": first, "limit_indices": last, "strides": [1] * len(first)}
    return folding.make(
        op, "slice", [source], {name: folding.integers(values) for name, values in bounds.items()}
    )


def fold_dynamic_update_slice(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """An empty update leaves the operand; one of everything is the update; computed starts are constants."""
    whole, update, *starts = operands_of(op)
    if not folding.is_static(whole, update):
        return None
    if 0 in folding.sizes_of(update):
        return whole
    if whole.type == update.type and all(splats.is_number(start, 0) for start in starts):
        return update
    elements = [None if constant_of(start) else splats.of(start) for start in starts]
    if not any(elements):
        return None
    pairs = zip(starts, elements, strict=True)
    known = [folding.constant_before(op, start.type, e) if e else start for start, e in pairs]
    return folding.make(op, "dynamic_update_slice", [whole, update, *known], dict(op.properties))


def fold_pad(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Padding by nothing leaves the operand; padding of nothing broadcasts the padding."""
    source, padding = operands_of(op)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    if not any(number for name in names for number in plain(op.properties[name])):
        return source
    if not folding.is_static(source, *op.results) or 0 not in folding.sizes_of(source):
        return None
    return folding.make(op, "broadcast_in_dim", [padding], {"broadcast_dimensions": folding.integers(())})


def fold_reverse(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Reversing dimensions of size 1 leaves the operand."""
    (source,) = operands_of(op)
    dimensions: tuple[int, ...] = plain(op.properties["dimensions"])
    sizes = folding.sizes_of(source)
    return source if all(sizes[dimension] == 1 for dimension in dimensions) else None


def fold_reduce(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction of no dimension leaves the operand."""
    is_none = len(op.results) == 1 and not plain(op.properties["dimensions"])
    return operands_of(op)[0] if is_none and folding.same_type(op) else None


FOLDS: dict[str, tuple[folding.Fold, ...]] = {
    f"stablehlo.{name}": folds
    for name, folds in {
        "add": (neutral(0),),
        "and": (absorbing(0), fold_all_ones),
        "broadcast_in_dim": (fold_broadcast,),
        "compare": (fold_compare,),
        "concatenate": (fold_constant, fold_concatenate),
        "convert": (fold_convert,),
        "dynamic_slice": (fold_constant, fold_dynamic_slice),
        "dynamic_update_slice": (fold_dynamic_update_slice,),
        "imag": (part_of_complex(1),),
        "multiply": (absorbing(0), neutral(1)),
        "or": (neutral(0),),
        "pad": (fold_pad,),
        "real": (part_of_complex(0),),
        "reduce": (fold_reduce,),
        "reshape": (fold_constant, fold_constant_reshape, fold_reshape),
        "reverse": (fold_constant, fold_reverse),
        "select": (fold_select,),
        "slice": (fold_constant, fold_slice),
        "subtract": (fold_same_operands, neutral(0, left=False)),
        "transpose": (fold_constant, fold_transpose),
        "xor": (fold_same_operands, neutral(0)),
    }.items()
}
"""The folds of each op, tried in this order."""
