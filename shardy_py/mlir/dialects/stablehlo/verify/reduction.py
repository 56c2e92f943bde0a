"""Rules of reductions: inputs of one shape, a body that combines two scalars (or slices) into one.

Here, too: map, sort and top_k, and batch normalization, with one number a feature beside whole tensors.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.stablehlo.verify.messages import fail, quoted, require, size_text
from shardy_py.mlir.dialects.stablehlo.verify.tensors import RankedTensor, Sizes, read_tensor, same_size
from shardy_py.mlir.dialects.stablehlo.verify.view import BodyTypes, View, require_predicate, tensor_of
from shardy_py.mlir.dialects.stablehlo.verify.windows import (
    WindowDimension,
    output_sizes,
    read_padding,
    read_windows,
)


def elements_of(view: View, index: int, inputs: Sequence[RankedTensor]) -> list[Attribute | None]:
    """The element types that a body returns: those of the inputs if it has no block."""
    body = view.bodies[index]
    if body is None:
        return [tensor.element for tensor in inputs]
    returned = [tensor_of(type_).element for type_ in body.returned]
    return (
        returned if len(returned) >= len(inputs) else returned + [x.element for x in inputs[len(returned) :]]
    )


def check_body(
    body: BodyTypes, inputs: Sequence[RankedTensor], initial: Sequence[RankedTensor], allowed: Sizes
) -> None:
    """A body that reduces `inputs`, in this order:

    - it takes two values an input, and returns one
    - what it takes and returns is of one type; `initial` values have its shape and promote to its element
    - inputs promote to what it takes, whose shape is part of `allowed`
    """
    count = len(inputs)
    if len(body.arguments) != 2 * count:
        fail(
            f"Reduction-region must take {2 * count} parameters, but takes {len(body.arguments)} parameter(s)"
        )
    require(bool(body.returned), "The reduction-region expected to return some value(s)")
    if len(body.returned) != count:
        fail(f"Reduction-region here must produce {count} tensors, but produces {len(body.returned)} instead")
    accumulators: list[RankedTensor] = []
    for type_ in body.returned:
        tensor = read_tensor(type_)
        if tensor is None:
            fail(
                "Reduction-region here must produce tensor-typed result(s), but produces "
                f"{quoted(type_)} instead"
            )
        accumulators.append(tensor)
    for index in range(count):
        _check_accumulator(body, index, count, accumulators[index], initial[index])
        _check_argument(tensor_of(body.arguments[count + index]), index, count, inputs[index], allowed)


def _check_accumulator(
    body: BodyTypes, index: int, count: int, accumulator: RankedTensor, initial: RankedTensor
) -> None:
    for at in (index, count + index):
        argument = tensor_of(body.arguments[at])
        if not accumulator.is_alike(argument, any_precision=at != index):
            fail(
                f"The type of reduction-region's parameter at index {at} is different than the corresponding "
                f"result type: {argument} vs {accumulator}"
            )
    if not initial.is_shaped_as(accumulator):
        fail(
            f"The shape of reduction-region's result type at index {index} differs from the op's "
            f"corresponding init-value type: {accumulator} vs {initial}"
        )
    if not initial.is_promotable(accumulator):
        fail(
            f"The element-type of reduction-region's result type at index {index} is expected to be "
            f"promotable from the op's corresponding init-value element-type: {accumulator} vs {initial}"
        )


def _check_argument(
    argument: RankedTensor, index: int, count: int, given: RankedTensor, allowed: Sizes
) -> None:
    at = count + index
    if not given.is_promotable(argument):
        elements = quoted(given.element, argument.element, joint=", but got ")
        fail(
            f"The element-type of reduction-region's argument at index {at} is expected to be promotable "
            f"from {elements}"
        )
    if argument.rank > len(allowed):
        fail(
            f"The rank of reduction-region's argument at index {at} is expected to be <= {len(allowed)}, got "
            f"{argument.rank}"
        )
    matched = 0
    for size in allowed:
        if matched < argument.rank and same_size(size, argument.sizes[matched]):
            matched += 1
    if matched != argument.rank:
        fail(
            f"The shape of reduction-region's argument at index {at} is not compatible with that of "
            f"reduce-op's input-parameter at index {index}"
        )


def _require_one_shape(inputs: Sequence[RankedTensor]) -> None:
    for index, tensor in enumerate(inputs):
        if not inputs[0].is_shaped_as(tensor):
            fail(
                f"expects all inputs to have compatible shapes. Shape at input-index {index} is not "
                "compatible with shape at input-index 0"
            )


# ---------------------------------------------------------------------- reduce


def _kept(view: View) -> tuple[RankedTensor, ...]:
    """The inputs without the dimensions that are reduced."""
    inputs, dimensions = view.group("inputs"), view.integers("dimensions")
    if not inputs:
        return ()
    _require_one_shape(inputs)
    rank = inputs[0].rank
    seen: set[int] = set()
    for dimension in dimensions:
        if not 0 <= dimension < rank:
            fail(f"Out-of-bounds dimension {dimension}, expected to be in range [0, {rank})")
        require(dimension not in seen, f"Duplicate reduction dimension: {dimension}")
        seen.add(dimension)
    kept = inputs[0].take(index for index in range(rank) if index not in seen)
    return tuple(kept.of(tensor.element) for tensor in inputs)


def infer_reduce(view: View) -> Sequence[RankedTensor]:
    """The inputs without the reduced dimensions, of the elements that the body returns."""
    kept = _kept(view)
    elements = elements_of(view, 0, view.group("inputs"))
    return [tensor.of(element) for tensor, element in zip(kept, elements, strict=False)]


def check_reduce(view: View) -> None:
    """The body reduces the inputs to slices of the kept dimensions."""
    kept = _kept(view)
    allowed = kept[0].sizes if kept else ()
    check_body(view.body(0), view.group("inputs"), view.group("init_values"), allowed)


# ---------------------------------------------------------------------- reduce_window, select_and_scatter


def _windows(view: View) -> tuple[WindowDimension, ...]:
    inputs, sizes = view.group("inputs"), view.integers("window_dimensions")
    require(bool(inputs), "requires at least 1 input value")
    _require_one_shape(inputs)
    padding = read_padding(view.dense("padding"))
    for tensor in inputs:
        if tensor.rank != len(sizes):
            fail(
                f"expects window-dimensions size == input rank, but got window-dimensions size: {len(sizes)} "
                f"and input: {tensor} with rank = {tensor.rank}."
            )
    return read_windows(
        sizes,
        view.integers("window_strides"),
        padding,
        view.integers("base_dilations"),
        view.integers("window_dilations"),
    )


def infer_reduce_window(view: View) -> Sequence[RankedTensor]:
    """One element a position of the window, of the elements that the body returns."""
    windows = _windows(view)
    inputs = view.group("inputs")
    elements = elements_of(view, 0, inputs)
    results: list[RankedTensor] = []
    for tensor, element in zip(inputs, elements, strict=False):
        bounds = output_sizes(tensor.bounds, windows) if tensor.bounds else ()
        results.append(RankedTensor(output_sizes(tensor.sizes, windows), element, bounds))
    return results


def check_reduce_window(view: View) -> None:
    """The body reduces the inputs to slices of the window."""
    _windows(view)
    allowed = view.integers("window_dimensions")
    check_body(view.body(0), view.group("inputs"), view.group("init_values"), allowed)


def infer_select_and_scatter(view: View) -> Sequence[RankedTensor]:
    """The operand's shape, of the elements that the second body returns."""
    operand = view.operands[0]
    return (operand.of(elements_of(view, 1, (operand,))[0]),)


def check_select_and_scatter(view: View) -> None:
    """A select-and-scatter, in this order:

    - the first body compares two scalars of the operand's element; the second reduces those of the source
    - windows as in `windows.py`; the source has one element a position
    """
    operand, source, initial = view.operands
    _check_select(view.body(0), operand)
    check_body(view.body(1), (RankedTensor((), source.element),), (initial,), ())
    sizes = view.integers("window_dimensions")
    if operand.rank != len(sizes):
        fail(
            f"expects window-dimensions size == operand rank, but got window-dimensions size: {len(sizes)} "
            f"and operand-type: {operand} with rank = {operand.rank}."
        )
    padding = read_padding(view.dense("padding"))
    windows = read_windows(sizes, view.integers("window_strides"), padding)
    expected = RankedTensor(output_sizes(operand.sizes, windows), operand.element)
    if not expected.is_alike(source, any_precision=True):
        fail(f"expects source-type to be {expected}, but got{source}")


def _check_select(body: BodyTypes, operand: RankedTensor) -> None:
    if len(body.arguments) != 2:
        fail(f"expects the select-region to take 2 parameters, but takes {len(body.arguments)}")
    scalar = RankedTensor((), operand.element)
    for index, type_ in enumerate(body.arguments):
        tensor = read_tensor(type_)
        if tensor is None or not scalar.is_alike(tensor, any_precision=True):
            fail(
                f"expects the type of select-region's parameter at index {index} to be {scalar}, but got "
                f"{quoted(type_)}"
            )
    require_predicate(
        body,
        "expects select-region to return single value, but got:",
        "expects the return-type of select-region to be tensor<i1>, but got:",
    )


# ---------------------------------------------------------------------- map, sort, top_k


def infer_map(view: View) -> Sequence[RankedTensor]:
    """A body of scalars, applied along all dimensions."""
    body, inputs = view.body(0), view.operands
    if len(inputs) != len(body.arguments):
        fail(
            f"expects number of operands to match the arity of map computation, but got: {len(inputs)} and "
            f"{len(body.arguments)}"
        )
    for index, (type_, given) in enumerate(zip(body.arguments, inputs, strict=True)):
        argument = tensor_of(type_)
        if argument.rank != 0:
            fail(
                f"computation arguments must be 0-rank tensor, but got: arg #{index} of type {quoted(type_)}"
            )
        if argument.element != given.element:
            elements = quoted(given.element, argument.element, joint=" and ")
            fail(f"element type of operands and computation arguments must match, but got: {elements}")
    require(len(body.returned) == 1, f"computation must return single output, but got: {len(body.returned)}")
    element = tensor_of(body.returned[0])
    require(element.rank == 0, f"computation must return 0-rank tensor, but got: {element}")
    dimensions = view.integers("dimensions")
    if dimensions != tuple(range(len(dimensions))):
        fail(
            f"requires monotonically increasing dimension numbers, but got: {', '.join(map(str, dimensions))}"
        )
    rank = inputs[0].rank
    if len(dimensions) != rank:
        fail(
            f"applied to a subset of dimensions currently not supported: operand dimensions = {rank}, "
            f"requested map dimensions size = {len(dimensions)}"
        )
    return (RankedTensor(inputs[0].sizes, element.element),)


def infer_operands(view: View) -> Sequence[RankedTensor]:
    """The operands' types."""
    return view.operands


def check_sort(view: View) -> None:
    """The dimension exists, counted from the end if negative; the body compares two scalars an input."""
    inputs, dimension = view.operands, view.integer("dimension", -1)
    if inputs:
        rank = inputs[0].rank
        if not -rank <= dimension < rank:
            fail(f"dimension attribute value must be in range [-{rank}, {rank}), but found {dimension}")
    body = view.body(0)
    if len(body.arguments) != 2 * len(inputs):
        fail(f"comparator block should have {2 * len(inputs)} arguments")
    for index, type_ in enumerate(body.arguments):
        expected = RankedTensor((), inputs[index // 2].element)
        if read_tensor(type_) != expected:
            fail(f"comparator block argument #{index} should be of type {expected} but got {quoted(type_)}")
    require_predicate(
        body, "comparator must return single output but got", "comparator must return tensor<i1> but got"
    )


def infer_top_k(view: View) -> Sequence[RankedTensor | Attribute]:
    """The operand with `k` elements in its last dimension, and their positions."""
    if not view.is_ranked:
        return view.result_types
    operand, k = view.operands[0], view.integer("k")
    require(operand.rank >= 1, "operand's rank must be at least 1")
    last = operand.sizes[-1]
    require(last is None or last >= k, f"operand's last dimension must be at least {k}")
    bounds = (*operand.bounds[:-1], None) if operand.bounds else ()
    values = RankedTensor((*operand.sizes[:-1], k), operand.element, bounds, operand.encoding)
    return (values, values.of(i32))


# ---------------------------------------------------------------------- batch normalization


def _check_features(
    view: View, whole: Sequence[RankedTensor], features: Sequence[RankedTensor]
) -> tuple[RankedTensor, RankedTensor]:
    """The shapes of the whole tensor and of what there is one of a feature."""
    for name, tensors in (("multi", whole), ("single", features)):
        if not all(a.is_shaped_as(b) for a in tensors for b in tensors):
            fail(f"expects {name}-dimensional operands to have compatible shapes.")
    first, index = whole[0], view.integer("feature_index")
    if index >= first.rank:
        fail(
            "expects featureIndex to be smaller than the rank of multi-dimensional operands; got "
            f"featureIndex {index}, and rank {first.rank}."
        )
    count, size = first.sizes[index], features[0].sizes[0]
    if not same_size(size, count):
        fail(
            "expects the size of single-dimensional operands to be compatible with feature count, but the "
            f"size of single-dimensional operands is {size_text(size)} and the feature count is "
            f"{size_text(count)}."
        )
    return first, first.take((index,))


def infer_training(view: View) -> Sequence[RankedTensor]:
    """The tensor, and mean and variance a feature."""
    whole, feature = _check_features(view, view.operands[:1], view.operands[1:])
    return (whole, feature, feature)


def infer_inference(view: View) -> Sequence[RankedTensor]:
    """The tensor."""
    return _check_features(view, view.operands[:1], view.operands[1:])[:1]


def infer_gradient(view: View) -> Sequence[RankedTensor]:
    """The gradients of the tensor, and of scale and offset."""
    operand, *features, gradient = view.operands
    whole, feature = _check_features(view, (operand, gradient), features)
    return (whole, feature, feature)
