"""The arithmetic of ops: floating-point operations and transcendental functions, counted as XLA counts them.

A product is counted by the points of its maps' domain, an elementwise op by its elements, a reduction by how
often it applies its region. Not here: the part of each device, the time it takes (`report/time/`).
Source: openxla/xla, xla/service/hlo_cost_analysis.cc.

>>> from shardy_py.ops.record import TensorType
>>> a, b, c = TensorType((8, 4)), TensorType((4, 6)), TensorType((8, 6))
>>> from shardy_py.ops.contraction import dot
>>> products(OpRecord("stablehlo.dot", (a, b), (c,)), dot).flops
384
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from shardy_py.base.behaviours import Behaviour
from shardy_py.base.records import dataclass
from shardy_py.indexing import cardinality
from shardy_py.ops.reads import Maps, integers, shape_of
from shardy_py.ops.record import OpRecord


@dataclass(frozen=True, slots=True)
class Work:
    """The arithmetic of one op on whole tensors.

    flops: without transcendental functions, which are counted apart. kept: of `flops`, those that are saved
    because a reduction starts at the first element: one for each element of the result.
    operand: of which a device works on its part; None: of the result. is_of_region: the counts are
    applications of the op's region. is_product: they run on matrix units. is_masked: where devices complete
    the result with an all-reduce, each masks the elements that are not its own. is_sort: n log n comparisons
    of n elements, also of the part of a device. is_of_angles: the functions are of angles, of which
    multiples of a turn are taken off first.
    """

    flops: int = 0
    transcendentals: int = 0
    kept: int = 0
    operand: int | None = None
    is_of_region: bool = False
    is_product: bool = False
    is_masked: bool = False
    is_sort: bool = False
    is_of_angles: bool = False


NO_WORK = Work()
WorkOf = Callable[[OpRecord], Work]


def elements(record: OpRecord, *, of_operand: int | None = None) -> int:
    """The number of elements of the first result, or of an operand."""
    types = record.results if of_operand is None else record.operands
    type_ = types[of_operand or 0] if types else None
    return prod(size or 0 for size in type_.shape) if type_ is not None else 0


def each_element(record: OpRecord) -> Work:
    """One operation for each element of the result."""
    return Work(elements(record))


def each_function(record: OpRecord) -> Work:
    """One transcendental function for each element of the result."""
    return Work(0, elements(record))


def each_angle(record: OpRecord) -> Work:
    """One function of an angle for each element of the result."""
    return Work(0, elements(record), is_of_angles=True)


def decomposed(flops: int, transcendentals: int, change: tuple[Behaviour, int] | None = None) -> WorkOf:
    """The column of an elementwise op that XLA makes of several: the counts for each element.

    change: a behaviour with which there are so many flops more.
    """

    def work(record: OpRecord) -> Work:
        count = elements(record)
        more = change[1] if change is not None and change[0].holds else 0
        return Work((flops + more) * count, transcendentals * count)

    return work


def all_functions(record: OpRecord) -> Work:
    """One transcendental function for each element of all results, as XLA counts random bits."""
    types = (type_ for type_ in record.results if type_ is not None)
    return Work(0, sum(prod(size or 0 for size in type_.shape) for type_ in types))


def products(record: OpRecord, maps: Maps) -> Work:
    """A multiplication and an addition for each point at which all operands are read."""
    (reads,) = maps(record)
    points = max((m for m in reads.operands if m is not None), key=lambda m: len(m.constraints))
    return Work(2 * cardinality(points), is_product=True)


def products_of(maps: Maps) -> WorkOf:
    """The column of a product with these maps."""
    return lambda record: products(record, maps)


def folds(record: OpRecord) -> Work:
    """A reduction applies its region once for each element that it folds."""
    return Work(elements(record, of_operand=0), kept=elements(record), operand=0, is_of_region=True)


def window_folds(record: OpRecord) -> Work:
    """A reduction of windows applies its region for all elements of a window but one, padding included."""
    size = prod(integers(record.attributes, "window_dimensions"))
    return Work(elements(record) * (size - 1), is_of_region=True)


def selections(record: OpRecord) -> Work:
    """A selection in each window, and an addition of its source."""
    size = prod(integers(record.attributes, "window_dimensions") or (1,))
    return Work(elements(record, of_operand=1) * size, operand=1, is_of_region=True)


def updates(record: OpRecord) -> Work:
    """A scatter applies its region for each element of the first update."""
    first = (len(record.operands) - 1) // 2 + 1
    flops = elements(record, of_operand=first)
    return Work(flops, operand=first, is_of_region=True, is_masked=True)


def look_ups(record: OpRecord) -> Work:
    """A gather moves elements only."""
    return Work(is_masked=True)


def each_region(record: OpRecord) -> Work:
    """The region is applied for each element of the result."""
    return Work(elements(record), is_of_region=True)


def comparisons(record: OpRecord) -> Work:
    """n log n comparisons of n elements."""
    return Work(sort_flops(elements(record, of_operand=0)), operand=0, is_sort=True)


def sort_flops(count: int) -> int:
    """The comparisons of a sort of so many elements.

    >>> sort_flops(8), sort_flops(9), sort_flops(0)
    (24, 36, 0)
    """
    return count * (count - 1).bit_length() if count else 0


def transforms(record: OpRecord) -> Work:
    """Eight operations for each element and the logarithms of the lengths."""
    logarithms = prod(max(size, 1).bit_length() - 1 for size in integers(record.attributes, "fft_length"))
    return Work(8 * logarithms * elements(record, of_operand=0), operand=0)


def solves(record: OpRecord) -> Work:
    """A triangular solve: two operations for each element of the right-hand side and each row."""
    return Work(2 * shape_of(record.operands[0])[-1] * elements(record, of_operand=1), operand=1)


def factorizations(record: OpRecord) -> Work:
    """A Cholesky factorization: n / 3 operations for each element of an n x n matrix."""
    return Work(shape_of(record.operands[0])[-1] * elements(record, of_operand=0) // 3, operand=0)
