"""Rules of products and of linear algebra: dot, dot_general, cholesky, triangular_solve, fft."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, Float32Type, Float64Type
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.stablehlo.structs import DotAlgorithm, DotDimensionNumbers
from shardy_py.mlir.dialects.stablehlo.verify.messages import (
    fail,
    listed,
    quoted,
    raw,
    require,
    require_distinct,
)
from shardy_py.mlir.dialects.stablehlo.verify.tensors import (
    RankedTensor,
    Sizes,
    is_complex,
    most_specific,
    require_shape,
    same_size,
)
from shardy_py.mlir.dialects.stablehlo.verify.view import View
from shardy_py.mlir.text.attribute_writer import attribute_text


def check_dot(view: View) -> None:
    """Vectors and matrices, the last dimension of the one with the first of the other."""
    check_precision(view)
    lhs, rhs = view.operands
    fits = lhs.rank in (1, 2) and rhs.rank in (1, 2) and same_size(lhs.sizes[-1], rhs.sizes[0])
    require(fits, "expected both lhs/rhs ranks to be either 1 or 2")
    require_shape((*lhs.sizes[:-1], *rhs.sizes[1:]), view.results[0])


def check_precision(view: View) -> None:
    """There is a precision an operand, or none."""
    count = len(view.list("precision_config") or ())
    require(count <= 2, f"expects precision config to be empty or have <= 2 elements, got {count}")


def check_dot_general(view: View) -> None:
    """A general dot product, in this order:

    - an algorithm, where given, is known
    - as many batch and contracting dimensions on either side; each there, and only once
    - their sizes agree
    - the result: batch dimensions, then the others of lhs, then those of rhs
    - an algorithm allows no precision but DEFAULT
    """
    algorithm: DotAlgorithm | None = view.value("algorithm")
    if algorithm is not None:
        _check_algorithm(algorithm)
    check_precision(view)
    require_shape(dot_general_sizes(view), view.results[0])
    precisions = view.list("precision_config") or ()
    is_default = all(getattr(p, "data", "DEFAULT") == "DEFAULT" for p in precisions)
    require(is_default or algorithm is None, "must specify DEFAULT precision config when algorithm is set.")


def dot_general_sizes(view: View) -> Sizes:
    """The sizes of the result, which follow from the operands; its element type does not."""
    numbers: DotDimensionNumbers = view.value("dot_dimension_numbers")
    lhs, rhs = view.operands
    check_products(numbers, lhs, rhs)
    return _dot_shape(numbers, lhs, rhs)


def _check_algorithm(algorithm: DotAlgorithm) -> None:
    require(algorithm.lhs_component_count >= 1, "lhs component count must be positive")
    require(algorithm.rhs_component_count >= 1, "rhs component count must be positive")
    require(algorithm.num_primitive_operations >= 1, "num primitive operations must be positive")
    lhs, rhs, accumulator = map(
        attribute_text,
        (algorithm.lhs_precision_type, algorithm.rhs_precision_type, algorithm.accumulation_type),
    )
    if not _is_known(algorithm, lhs, rhs, accumulator):
        fail(
            f"dot algorithm not known to be supported on any hardware: {{lhs:'{lhs}', rhs:'{rhs}', "
            f"accum:'{accumulator}', lhs_components:{algorithm.lhs_component_count}, "
            f"rhs_components:{algorithm.rhs_component_count}, "
            f"primitive_ops:{algorithm.num_primitive_operations}, "
            f"imprecise:{int(algorithm.allow_imprecise_accumulation)}}}"
        )


_KNOWN_ALGORITHMS: dict[tuple[str, str], tuple[int, ...]] = {
    ("f16", "f16"): (1,),
    ("f16", "f32"): (1,),
    ("bf16", "bf16"): (1,),
    ("bf16", "f32"): (1, 3, 6, 9),
    ("tf32", "f32"): (1, 3),
    ("f32", "f32"): (1,),
    ("f64", "f64"): (1,),
}
"""By types of both operands and of the accumulator, the numbers of primitive operations that some hardware
supports."""


def _is_known(algorithm: DotAlgorithm, lhs: str, rhs: str, accumulator: str) -> bool:
    operations = algorithm.num_primitive_operations
    if (algorithm.lhs_component_count, algorithm.rhs_component_count) != (1, 1):
        return False
    if all(name.startswith("f8") and name != "f8E8M0FNU" for name in (lhs, rhs)):
        return accumulator == "f32" and operations == 1
    is_listed = lhs == rhs and operations in _KNOWN_ALGORITHMS.get((lhs, accumulator), ())
    return is_listed and not algorithm.allow_imprecise_accumulation


def check_products(numbers: object, lhs: RankedTensor, rhs: RankedTensor) -> None:
    """Pairs of batch and contracting dimensions, each there and only once, with sizes that agree."""
    lists: dict[str, tuple[int, ...]] = vars(numbers)
    kinds, sides = ("batching", "contracting"), (("lhs", lhs), ("rhs", rhs))
    for kind in kinds:
        if len(lists[f"lhs_{kind}_dimensions"]) != len(lists[f"rhs_{kind}_dimensions"]):
            fail(f"lhs and rhs should have the same number of {kind} dimensions")
    for side, _ in sides:
        require_distinct(numbers, f"{side}_batching_dimensions", f"{side}_contracting_dimensions")
    for name, tensor in ((f"{side}_{kind}_dimensions", tensor) for side, tensor in sides for kind in kinds):
        for index in lists[name]:
            if not 0 <= index < tensor.rank:
                fail(f"{name} value: {index} is out of range: [0, {tensor.rank})")
    for kind in kinds:
        for i, j in zip(lists[f"lhs_{kind}_dimensions"], lists[f"rhs_{kind}_dimensions"], strict=True):
            require(same_size(lhs.sizes[i], rhs.sizes[j]), f"{kind} dimension sizes must match for lhs/rhs")


def _dot_shape(numbers: DotDimensionNumbers, lhs: RankedTensor, rhs: RankedTensor) -> Sizes:
    pairs = zip(numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions, strict=True)
    batch = [
        most_specific(index, lhs.sizes[i], rhs.sizes[j], lhs.bound(i), rhs.bound(j))[0]
        for index, (i, j) in enumerate(pairs)
    ]
    used = {*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions}
    rhs_used = {*numbers.rhs_batching_dimensions, *numbers.rhs_contracting_dimensions}
    rows = [size for index, size in enumerate(lhs.sizes) if index not in used]
    columns = [size for index, size in enumerate(rhs.sizes) if index not in rhs_used]
    return (*batch, *rows, *columns)


def infer_cholesky(view: View) -> Sequence[RankedTensor]:
    """Square matrices."""
    a = view.operands[0]
    require(a.rank >= 2, f"argument 'a' must have rank >= 2, got shape {listed(a.sizes)}.")
    if not same_size(a.sizes[-2], a.sizes[-1]):
        fail(f"minor dimensions of 'a' must have equal size, got shape {listed(a.sizes)}.")
    return (a,)


def infer_triangular_solve(view: View) -> Sequence[RankedTensor]:
    """Square matrices `a` and as many `b`, one side of `b` as long as that of `a`."""
    a, b = view.operands
    require(a.rank >= 2, f"operand 'a' must have rank >= 2, but got {a}")
    if not same_size(a.sizes[-2], a.sizes[-1]):
        fail(f"two minor dimensions of operand 'a' must be compatible, but got {a}")
    require(a.rank == b.rank, f"operands must have equal rank, but got {a} and {b}")
    shared = b.sizes[-2 if view.flag("left_side") else -1]
    if not same_size(a.sizes[-1], shared):
        fail(f"shared dimension of operands 'a' and 'b' must be compatible, but got {a} and {b}")
    if not all(map(same_size, a.sizes[:-2], b.sizes[:-2])):
        fail(f"batch dimensions of the operands must be compatible, but got {a} and {b}")
    if view.value("transpose_a") == "TRANSPOSE_INVALID":
        fail("Invalid transpose option value for triangular solve")
    return (b,)


def infer_fft(view: View) -> Sequence[RankedTensor]:
    """One to three dimensions; the kind of transform decides between real and complex elements."""
    operand, length, kind = view.operands[0], view.integers("fft_length"), view.value("fft_type")
    rank = len(length)
    require(1 <= rank <= 3, f"rank must be between 1 and 3, but got {rank}.")
    element: Attribute | None = operand.element
    if kind == "RFFT":
        is_real = isinstance(element, Float32Type | Float64Type)
        require(is_real, f"RFFT requires f32 or f64 input type, but is given {quoted(element)}.")
        element = ComplexType(element)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
    else:
        if not is_complex(element):
            fail(f"FFT/IFFT/IRFFT take a complex tensor as input, but is given {operand}.")
        if kind == "IRFFT" and is_complex(element):
            element = element.element_type
    if operand.rank < rank:
        fail(f"operand rank must not be less than fft rank of {rank} for operand of type {operand}.")
    sizes = list(operand.sizes)
    if kind == "RFFT":
        _check_real(operand, length)
        if length[-1]:
            sizes[-1] = length[-1] // 2 + 1
    elif kind == "IRFFT":
        _check_inverse(operand, length)
        sizes[-1] = length[-1]
    bounds = operand.bounds
    if bounds and kind in ("RFFT", "IRFFT"):
        bounds = (*bounds[:-1], None)
    return (RankedTensor(tuple(sizes), element, bounds, operand.encoding),)


def _check_real(operand: RankedTensor, length: Sequence[int]) -> None:
    for size, wanted in zip(operand.sizes[-len(length) :], length, strict=True):
        if not same_size(size, wanted):
            fail(
                "RFFT requires innermost dimensions to be compatible with fft_length. Got: "
                f"{listed(operand.sizes)} but wanted {listed(length)}."
            )


def _check_inverse(operand: RankedTensor, length: Sequence[int]) -> None:
    for size, wanted in zip(operand.sizes[-len(length) : -1], length, strict=False):
        if not same_size(size, wanted):
            fail(
                "IRFFT requires non-final dimensions to be compatible with fft_length. Got: "
                f"{listed(operand.sizes)} but wanted {listed(length)}, and {raw(size)} != {wanted}."
            )
    last = operand.sizes[-1]
    if (not same_size(last, 0) or length[-1] != 0) and not same_size(last, length[-1] // 2 + 1):
        fail(
            f"IRFFT requires innermost dimension to be compatible with fft_length[-1]/2+1. Got: {raw(last)} "
            f"but fft_length is {listed(length)}."
        )
