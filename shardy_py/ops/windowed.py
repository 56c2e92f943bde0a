"""Ops that slide a window: convolution, reduce_window, select_and_scatter."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from shardy_py.base.behaviours import Behaviour
from shardy_py.indexing import Constraint, Expr, Interval, dim, extent, range_var
from shardy_py.ops.dimensions import ConvolutionDimensions, Window, own_windows, windows_of
from shardy_py.ops.policy import MOVED_ALONG, PASS, REDUCED, WHOLE, Policy
from shardy_py.ops.reads import (
    Domain,
    Reads,
    all_results,
    domain_of,
    extents,
    shape_of,
)
from shardy_py.ops.record import OpRecord
from shardy_py.ops.sketch import Atom, Sketch, TensorDim
from shardy_py.ops.spec import Family, Linear, OpSpec
from shardy_py.ops.work import products_of, selections, window_folds


def reduce_window(record: OpRecord) -> tuple[Reads, ...]:
    """Every result folds every input over the window at d."""
    shape = shape_of(record.operands[0])
    sizes = tuple(record.attributes["window_dimensions"])
    domain = domain_of(record, ranges=sizes)
    point: list[Expr] = []
    constraints: list[Constraint] = []
    windows = own_windows(record.attributes, len(shape))
    for i, window in enumerate(windows):
        element, inside = window.element(dim(i), range_var(i), shape[i])
        point.append(element)
        constraints.extend(inside)
    inputs = len(record.operands) // 2
    folded = domain.reading(tuple(point), tuple(constraints))
    return (Reads(all_results(record), (folded,) * inputs + (domain.reading(()),) * inputs),)


def select_and_scatter(record: OpRecord, *, is_closer: bool = False) -> tuple[Reads, ...]:
    """An element reads the sources of the windows that cover it, and those windows for the selection.

    is_closer: without neighbours that share no window with the element.
    """
    shape, source = shape_of(record.operands[0]), shape_of(record.operands[1])
    windows = own_windows(record.attributes, len(shape))
    sizes = tuple(window.size for window in windows)
    domain = Domain(extents(shape), (*extents(sizes), *(Interval(1 - size, size - 1) for size in sizes)))
    read: list[Expr] = []
    gathered: list[Expr] = []
    read_inside: list[Constraint] = []
    shared: list[Constraint] = []
    gathered_inside: list[Constraint] = []
    for i, window in enumerate(windows):
        neighbour = range_var(len(sizes) + i)
        read.append(dim(i) + neighbour)
        if window.size > 1:
            read_inside.append((read[i], extent(shape[i])))
        position = dim(i) + window.low - range_var(i)
        gathered.append(position // window.stride)
        is_source = (position, Interval(0, (source[i] - 1) * window.stride))
        starts_window = (position % window.stride, Interval(0, 0))
        if window.stride > 1:
            gathered_inside.append(starts_window)
        if window != Window(1):
            gathered_inside.append(is_source)
        shared += (is_source, starts_window, (range_var(i) + neighbour, extent(window.size)))
    maps = (
        domain.reading(tuple(read), (*read_inside, *shared) if is_closer else tuple(read_inside)),
        domain.reading(tuple(gathered), tuple(gathered_inside)),
        domain.reading(()),
    )
    return (Reads((0,), maps),)


def convolution(record: OpRecord) -> tuple[Reads, ...]:
    """A product contracted over the input features of the group and the window at d."""
    numbers = ConvolutionDimensions.of(record.attributes)
    lhs, rhs, out = (shape_of(t) for t in (*record.operands[:2], record.results[0]))
    sizes = numbers.window(rhs)
    domain = domain_of(record, ranges=(*sizes, rhs[numbers.in_feature]))
    feature = dim(numbers.result_feature)
    batch_group, feature_group = (
        _group(feature, out[numbers.result_feature], count)
        for count in (numbers.batch_groups, numbers.feature_groups)
    )
    read: dict[int, Expr] = {
        numbers.batch: dim(numbers.result_batch) + batch_group * out[numbers.result_batch],
        numbers.feature: range_var(len(sizes)) + feature_group * rhs[numbers.in_feature],
    }
    kernel: dict[int, Expr] = {numbers.in_feature: range_var(len(sizes)), numbers.out_feature: feature}
    constraints: list[Constraint] = []
    windows = windows_of(record.attributes, sizes)
    for i, ((where, beside, place), window) in enumerate(zip(numbers.spatials, windows, strict=True)):
        read[where], inside = window.element(dim(place), range_var(i), lhs[where])
        constraints.extend(inside)
        kernel[beside] = range_var(i)
    maps = (
        domain.reading(tuple(read[i] for i in range(len(lhs))), tuple(constraints)),
        domain.reading(tuple(kernel[i] for i in range(len(rhs)))),
    )
    return (Reads((0,), maps),)


def _group(feature: Expr, features: int, groups: int) -> Expr:
    return feature // (features // groups) if groups > 1 else feature * 0


def convolved(record: OpRecord) -> tuple[Reads, ...]:
    """As `convolution`, without the kernel elements that are multiplied with padding."""
    (reads,) = convolution(record)
    image, kernel = reads.operands
    assert image is not None
    assert kernel is not None
    return (Reads((0,), (image, replace(kernel, constraints=image.constraints))),)


def walk_convolution(record: OpRecord) -> list[TensorDim]:
    """The left operand, batch first, then spatial dimensions, then features."""
    return [TensorDim("operand", 0, d) for d in ConvolutionDimensions.of(record.attributes).image]


def adjust_convolution(sketch: Sketch, conservative: bool) -> None:
    """A spatial dimension of the input has the factors of the windows and the window, the larger first.

    Their sizes are limited to the rest of the input's dimension; none has size one. What has no room in it
    has its whole size on the output's or the kernel's dimension alone. Conservatively, there are none.
    """
    numbers = ConvolutionDimensions.of(sketch.record.attributes)
    for lhs, rhs, out in numbers.spatials:
        slot = TensorDim("operand", 0, lhs)
        windows = sketch.atom_at(TensorDim("result", 0, out))
        window = sketch.atom_at(TensorDim("operand", 1, rhs))
        sketch.set_type(windows, MOVED_ALONG)
        sketch.set_type(window, REDUCED)
        sketch.atoms[TensorDim("result", 0, out)] = [windows]
        sketch.atoms[TensorDim("operand", 1, rhs)] = [window]
        sketch.atoms[slot] = []
        left = shape_of(sketch.record.operands[0])[lhs]
        sizes = shape_of(sketch.record.results[0])[out], shape_of(sketch.record.operands[1])[rhs]
        order = [(windows, sizes[0]), (window, sizes[1])]
        for atom, size in order if sizes[0] >= sizes[1] else reversed(order):
            shared = min(left, size)
            if not conservative and shared <= 1 < size and Behaviour.CONVOLUTION_HAS_LONE_FACTORS.holds:
                sketch.resize(atom, size)
                sketch.set_type(atom, MOVED_ALONG)
                sketch.following.setdefault(slot, []).append(atom)
                continue
            if conservative or shared <= 1:
                sketch.drop(atom)
                continue
            sketch.resize(atom, shared)
            sketch.atoms[slot].append(atom)
            left //= shared
    feature = TensorDim("result", 0, numbers.result_feature)
    last = sketch.atoms[feature][-1]
    if sketch.size_of(last) == 1:
        sketch.drop(last)


def adjust_window(sketch: Sketch, conservative: bool) -> None:
    """An input is sharded along windows only, even where they do not overlap.

    Unsound with a base dilation: a window of one element without stride and padding counts as none.
    """
    for d in range(len(shape_of(sketch.record.results[0]))):
        atom = _shard_along_windows(sketch, d, conservative)
        for number in range(len(sketch.record.results)):
            for side in ("operand", "result"):
                sketch.atoms[TensorDim(side, number, d)] = [atom]


def adjust_selection(sketch: Sketch, conservative: bool) -> None:
    """The source has one element a window, and is kept whole unless windows are single elements."""
    for d, size in enumerate(shape_of(sketch.record.operands[1])):
        atom = _shard_along_windows(sketch, d, conservative)
        sketch.atoms[TensorDim("operand", 0, d)] = sketch.atoms[TensorDim("result", 0, d)] = [atom]
        slot = TensorDim("operand", 1, d)
        if sketch.type_of(atom) is PASS:
            sketch.atoms[slot] = [atom]
        else:
            own = sketch.add(Atom(-1, slot), size)
            sketch.set_apart(slot, TensorDim("result", 0, d), own)
            sketch.set_type(own, WHOLE)
            sketch.block(own, is_blocked=conservative)


def _shard_along_windows(sketch: Sketch, dimension: int, conservative: bool) -> Atom:
    atom = sketch.atom_at(TensorDim("result", 0, dimension))
    window = own_windows(sketch.record.attributes, len(shape_of(sketch.record.results[0])))[dimension]
    stays = (window.size, window.stride, window.low, window.high) == (1, 1, 0, 0)
    sketch.resize(atom, shape_of(sketch.record.results[0])[dimension])
    sketch.set_type(atom, PASS if stays else MOVED_ALONG)
    sketch.block(atom, is_blocked=conservative and not stays)
    return atom


_SELECTED = partial(select_and_scatter, is_closer=True)
_SELECTION = Policy(adjust=adjust_selection)
_CONVOLVED = Policy(walk=walk_convolution, adjust=adjust_convolution)
ROWS = (
    OpSpec(
        "stablehlo.reduce_window",
        reduce_window,
        policy=Policy(adjust=adjust_window),
        family=Family.WINDOW,
        work=window_folds,
    ),
    OpSpec(
        "stablehlo.select_and_scatter",
        select_and_scatter,
        closer=_SELECTED,
        policy=Policy(adjust=adjust_selection),
        family=Family.WINDOW,
        work=selections,
    ),
    OpSpec(
        "stablehlo.convolution",
        convolution,
        closer=convolved,
        policy=_CONVOLVED,
        family=Family.PRODUCT,
        linear=Linear.ONE,
        work=products_of(convolution),
    ),
    OpSpec("stablehlo.dynamic_conv", family=Family.PRODUCT),
)
