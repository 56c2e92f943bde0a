"""Scatters of one element to each row, of one update in all, and of several in a row, as XLA:TPU has them.

    rows.at[arange(n), i].add(a), by batching dimensions  ->  select(iota == i, rows + a, rows)
    x.at[i].add(a)                                        ->  dynamic_update_slice of dynamic_slice + a
    zeros.at[i].add(a) + b                                ->  b.at[i].add(a)
    zeros.at[i].add(a) + zeros.at[j].add(b)      ->  zeros.at[concatenate(i, j)].add(concatenate(a, b))

The first one is the gradient of `take_along_axis`, as in a cross entropy; the last one is made of fewer
indices than there are rows. Source: dumps of XLA:TPU's passes sparse-gradient-rewrite, scatter_expander and
algsimp, of 40 programs; openxla/xla, scatter_expander.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import prod

from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone_region_into
from shardy_py.mlir.dialects import stablehlo
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import combiner_of, record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of
from shardy_py.ops.dimensions import ScatterDimensions
from shardy_py.xla.prepare import folding

SCATTER = stablehlo.ScatterOp.name


def fold_scatter_in_rows(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A scatter of one element to each row selects between it and the elements of the row."""
    if not _is_simple(op):
        return None
    base, indices, updates = operands_of(op)
    numbers, sizes = ScatterDimensions.of(record_of(op).attributes), folding.sizes_of(base)
    rows = tuple(i for i in range(len(sizes)) if i not in numbers.collapsed)
    is_row = len(numbers.collapsed) == 1 and numbers.collapsed == numbers.index_map
    if not is_row or numbers.offsets or numbers.batching != rows or not rows:
        return None
    count = prod(sizes[i] for i in rows)
    if numbers.indices_batching != tuple(range(len(rows))):
        return None
    if not prod(folding.sizes_of(indices)) == prod(folding.sizes_of(updates)) == count:
        return None
    build, batch = StablehloBuilder(before=op), tuple(sizes[i] for i in rows)
    place = build.broadcast(build.reshape(indices, batch), sizes, rows)
    here = build.compare("EQ", build.iota(sizes, numbers.collapsed[0], element_of(indices)), place)
    value = _combined(op, build, base, build.broadcast(build.reshape(updates, batch), sizes, rows))
    return None if value is None else build.select(here, value, base)


def fold_scatter_of_one(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """A scatter of one update changes the slice of the operand where that goes, if it is inside."""
    if not _is_simple(op):
        return None
    base, indices, updates = operands_of(op)
    numbers, sizes = ScatterDimensions.of(record_of(op).attributes), folding.sizes_of(base)
    count = len(numbers.index_map)
    if prod(folding.sizes_of(indices)) != count or not count or numbers.batching:
        return None
    window = [1] * len(sizes)
    kept = numbers.kept(len(sizes))
    for at, i in zip(numbers.offsets, kept, strict=True):
        window[i] = folding.sizes_of(updates)[at]
    build = StablehloBuilder(before=op)
    given = build.reshape(indices, (count,))
    zero = build.integer(0, element_of(indices))
    starts = [zero] * len(sizes)
    for at, i in enumerate(numbers.index_map):
        starts[i] = build.reshape(build.slice(given, [at], [at + 1]), ())
    part = build.dynamic_slice(base, starts, window)
    value = _combined(op, build, part, build.reshape(updates, window))
    if value is None:
        return None
    inside = _inside(build, splats, starts, [size - own for size, own in zip(sizes, window, strict=True)])
    if inside is not None:
        value = build.select(build.broadcast(inside, window), value, part)
    return build.one("dynamic_update_slice", (base, value, *starts), base.type)


def fold_added_scatter(op: Operation, splats: folding.Splats) -> SSAValue | None:
    """Values added to a scatter that adds are added to its operand: zeros, where it is a gradient.

    Those of another gradient of the same table are scattered with them, if both are few.
    """
    for value, other in permutations(operands_of(op)):
        scatter = folding.producer(value, SCATTER)
        if scatter is None or not value.has_one_use() or not _is_simple(scatter):
            continue
        if combiner_of(scatter) != op.name:
            continue
        beside = folding.producer(other, SCATTER)
        if beside is not None:
            return _joined(op, scatter, beside, splats)
        base, *others = operands_of(scatter)
        total = StablehloBuilder(before=op).binary("add", base, other)
        return _scattered(op, scatter, [total, *others])
    return None


def _joined(op: Operation, one: Operation, other: Operation, splats: folding.Splats) -> SSAValue | None:
    """The scatter into zeros of the indices and updates of two.

    None if these are as many as rows of the table, or the scatters differ: then their results are added.
    """
    is_used_once = all(each.results[0].has_one_use() for each in (one, other))
    if not is_used_once or not _is_simple(other) or combiner_of(one) != combiner_of(other):
        return None
    numbers, same = (ScatterDimensions.of(record_of(each).attributes) for each in (one, other))
    (base, *first), (known, *second) = operands_of(one), operands_of(other)
    if numbers != same or numbers.batching or 0 in numbers.offsets or numbers.vector == 0:
        return None
    if any(splats.of(base) or b"?") or any(splats.of(known) or b"?") or not _are_few(one, other):
        return None
    pairs = [*zip(first, second, strict=True)]
    if any(folding.sizes_of(left)[1:] != folding.sizes_of(right)[1:] for left, right in pairs):
        return None
    build = StablehloBuilder(before=op)
    return _scattered(op, one, [base, *(build.concatenate([*pair], 0) for pair in pairs)])


def _are_few(*scatters: Operation) -> bool:
    """True if scatters have together fewer indices than their operand has rows."""
    count = rows = 0
    for scatter in scatters:
        numbers = ScatterDimensions.of(record_of(scatter).attributes)
        base, indices, _ = map(folding.sizes_of, operands_of(scatter))
        count += prod(size for d, size in enumerate(indices) if d != numbers.vector)
        rows = prod(base[i] for i in numbers.index_map)
    return count < rows


def _scattered(before: Operation, scatter: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    """The result of a scatter like another one, of other operands."""
    region = Region()
    clone_region_into(scatter.regions[0], region, {})
    types, attributes = [scatter.results[0].type], (dict(scatter.properties), dict(scatter.attributes))
    new = ir.build_operation(type(scatter), operands, types, *attributes, scatter.location, regions=[region])
    ir.place_before(new, before)
    return new.results[0]


def _is_simple(op: Operation) -> bool:
    return len(op.results) == 1 and folding.is_static(*operands_of(op))


def _combined(op: Operation, build: StablehloBuilder, old: SSAValue, new: SSAValue) -> SSAValue | None:
    """The value that the region of a scatter makes of two; None if it is more than one op."""
    end = ir.terminator_of(op.regions[0])
    if end is not None and isinstance(made := operands_of(end)[0], BlockArgument):
        return (old, new)[made.index]
    name = combiner_of(op)
    return None if name is None else build.binary(name.removeprefix("stablehlo."), old, new)


def _inside(
    build: StablehloBuilder, splats: folding.Splats, starts: Sequence[SSAValue], room: Sequence[int]
) -> SSAValue | None:
    """A scalar, true if all starts are inside; None if it is known that they are."""
    found: SSAValue | None = None
    for start, most in zip(starts, room, strict=True):
        number = splats.integer(start)
        if number is not None and 0 <= number <= most:
            continue
        element = element_of(start)
        for direction, bound in ("GE", 0), ("LE", most):
            here = build.compare(direction, start, build.integer(bound, element))
            found = here if found is None else build.binary("and", found, here)
    return found
