"""Reductions as XLA:TPU simplifies them before it propagates shardings.

    reduce(reduce(x)), reduce(transpose(x))  ->  reduce(x)
    reduce(reshape(x))       ->  reduce(x), or reshape(reduce(x)) along dimensions that the reshape leaves
    reduce of single elements                ->  reshape
    reduce(broadcast(x))     ->  multiply(x, how often), of a sum along what was broadcast
    reduce(convert(x))       ->  convert(reduce(x)), of a maximum in f32 of what is bf16

Established with 23 programs, each compiled ahead of time; the last one is of its pass tpu-reduce-rewriter.
Source: openxla/xla, `HandleReduce` in xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AnyFloat, BFloat16Type, Float32Type, bf16, f32
from xdsl.ir import Attribute, Operation, Region, SSAValue

from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import build_operation, operands_of, place_before
from shardy_py.mlir.plain import plain
from shardy_py.mlir.record import combiners_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, resized
from shardy_py.mlir.text.dense import element_size
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.xla.prepare import folding
from shardy_py.xla.prepare.folds import BROADCAST, RESHAPE, TRANSPOSE

REDUCE = stablehlo.ReduceOp.name


def fold_reduce_of_ones(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction of single elements is a reshape; users write a first value that is neutral for the op."""
    found = _reduction(op)
    if found is None:
        return None
    value, dimensions = found
    sizes = folding.sizes_of(value)
    if any(sizes[i] != 1 for i in dimensions):
        return None
    if splats.of(operands_of(op)[1]) is None or combiners_of(op)[0] is None:
        return None
    return folding.reshaped(op, value)


def fold_reduce_of_reduce(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction of what another one of the same kind reduces is one."""
    found = _reduction(op)
    inner = None if found is None else folding.producer(found[0], REDUCE)
    if found is None or inner is None or len(inner.results) != 1 or not _combines_alike(op, inner, splats):
        return None
    before: tuple[int, ...] = plain(inner.properties["dimensions"])
    source = operands_of(inner)[0]
    left = [i for i in range(len(folding.sizes_of(source))) if i not in before]
    return _reduced(op, source, [*before, *(left[i] for i in found[1])])


def fold_reduce_of_transpose(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction of what is transposed reduces it as it was; the result is transposed if need be."""
    found = _reduction(op)
    moved = None if found is None else folding.producer(found[0], TRANSPOSE)
    if found is None or moved is None:
        return None
    value, dimensions = found
    order: tuple[int, ...] = plain(moved.properties["permutation"])
    left = [at for i, at in enumerate(order) if i not in dimensions]
    source, along = operands_of(moved)[0], [order[i] for i in dimensions]
    if len(left) > 1 and not value.has_one_use():
        return None
    if left == sorted(left):
        return _reduced(op, source, along)
    places = sorted(left)
    type_ = resized(op.results[0], [folding.sizes_of(source)[i] for i in places])
    permutation = folding.integers([places.index(i) for i in left])
    return folding.make(op, "transpose", [_reduced(op, source, along, type_)], {"permutation": permutation})


def fold_reduce_of_reshape(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A reduction goes before a reshape along dimensions that it leaves, and along all others at once."""
    found = _reduction(op)
    shaped = None if found is None else folding.producer(found[0], RESHAPE)
    if found is None or shaped is None:
        return None
    (source,), (value, dimensions) = operands_of(shaped), found
    if not folding.is_static(source):
        return None
    held, made = folding.sizes_of(source), folding.sizes_of(value)
    same = _unmodified(held, made)
    along = [same[i] for i in dimensions if i in same]
    others = [i for i in dimensions if i not in same]
    if {*range(len(made))}.difference(same) == {*others} and others:
        return _reduced(op, source, [*along, *({*range(len(held))}.difference(same.values()))])
    if not along:
        return None
    type_ = resized(op.results[0], [size for i, size in enumerate(held) if i not in along])
    first = _reduced(op, source, along, type_)
    kept = [i for i in range(len(made)) if i not in dimensions or i in others]
    between = resized(op.results[0], [made[i] for i in kept])
    shaped_again = folding.make(op, "reshape", [first], {}, between)
    return _reduced(op, shaped_again, [kept.index(i) for i in others]) if others else shaped_again


def fold_sum_of_broadcast(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A sum along what was broadcast is a product by how often each element was repeated."""
    found = _reduction(op)
    spread = None if found is None else folding.producer(found[0], BROADCAST)
    if found is None or spread is None or combiners_of(op)[0] != stablehlo.AddOp.name:
        return None
    (source,), (value, dimensions) = operands_of(spread), found
    kept: tuple[int, ...] = plain(spread.properties["broadcast_dimensions"])
    element = element_of(value)
    if not isinstance(element, AnyFloat) or set(kept) & set(dimensions) or not folding.is_static(source):
        return None
    if not splats.is_number(operands_of(op)[1], 0) or not folding.sizes_of(source):
        return None
    sizes = folding.sizes_of(value)
    count = FORMATS[element.name].encode(float(prod(sizes[i] for i in dimensions)))
    build = StablehloBuilder(before=op)
    left = [i for i in range(len(sizes)) if i not in dimensions]
    whole = build.broadcast(source, [sizes[i] for i in left], [left.index(i) for i in kept])
    times = build.dense(resized(whole, ()), count.to_bytes(element_size(element), "little"))
    return build.binary("multiply", whole, build.broadcast(times, [sizes[i] for i in left]))


def fold_maximum_of_converted(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A maximum in f32 of what was converted from bf16 is computed in bf16; not a minimum, nor of f16."""
    found = _reduction(op)
    inner = None if found is None else folding.producer(found[0], stablehlo.ConvertOp.name)
    if inner is None or combiners_of(op)[0] != stablehlo.MaximumOp.name:
        return None
    (source,), (value, first) = operands_of(inner), operands_of(op)
    if not (isinstance(element_of(source), BFloat16Type) and isinstance(element_of(value), Float32Type)):
        return None
    build, known = StablehloBuilder(before=op), splats.of(first)
    if known is None:
        least = build.convert(first, bf16)
    else:
        number = FORMATS[f32.name].to_float(int.from_bytes(known, "little"))
        least = build.dense(resized(source, ()), FORMATS[bf16.name].encode(number).to_bytes(2, "little"))
    region, type_ = build.combining_region("maximum", bf16), resized(source, folding.sizes_of(op.results[0]))
    new = build_operation(
        type(op),
        [source, least],
        [type_],
        dict(op.properties),
        dict(op.attributes),
        op.location,
        regions=[region],
    )
    place_before(new, op)
    return build.convert(new.results[0], f32)


def _reduction(op: Operation) -> tuple[SSAValue, tuple[int, ...]] | None:
    """The value that a reduction of one value reduces, and the dimensions; None for others."""
    values = operands_of(op)
    if len(values) != 2:
        return None
    (value, _), (result,) = values, op.results  # faster than indices: xDSL's tuple has its own `__getitem__`
    return (value, plain(op.properties["dimensions"])) if folding.is_static(value, result) else None


def _unmodified(held: Sequence[int], made: Sequence[int]) -> dict[int, int]:
    """By dimension of a reshape's result the one of its operand that it is, with all elements before it."""
    starts = [prod(held[:i]) for i in range(len(held))]
    places = {(start, size): i for i, (start, size) in enumerate(zip(starts, held, strict=True)) if size != 1}
    pairs = ((j, places.get((prod(made[:j]), size))) for j, size in enumerate(made))
    return {j: i for j, i in pairs if i is not None}


def _combines_alike(op: Operation, inner: Operation, splats: folding.Splats) -> bool:
    """True if two reductions of one value each combine by one op, from one value."""
    combined = combiners_of(op)
    if combined != combiners_of(inner) or combined[0] is None:
        return False
    first, other = (operands_of(each)[1] for each in (op, inner))
    return first is other or (splats.of(first) is not None and splats.of(first) == splats.of(other))


def _reduced(
    op: Operation, source: SSAValue, dimensions: Sequence[int], type_: Attribute | None = None
) -> SSAValue:
    """The reduction of another value along these dimensions, by default to the type of the result of `op`."""
    region = Region()
    clone_region_into(op.regions[0], region, {})
    properties: dict[str, Attribute] = {**op.properties, "dimensions": folding.integers(sorted(dimensions))}
    operands, types = [source, operands_of(op)[1]], [type_ or op.results[0].type]
    attributes, location = dict(op.attributes), op.location
    new = build_operation(type(op), operands, types, properties, attributes, location, regions=[region])
    place_before(new, op)
    return new.results[0]
