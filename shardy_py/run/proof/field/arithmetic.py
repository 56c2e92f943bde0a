"""The arithmetic of exact proofs: elements of floats are residues, functions are hashes.

    arithmetic = FieldArithmetic(field, Hash(key), sites)
    Settings(arithmetic=arithmetic)

An op is computed as its row in `facet.py` says. What depends on constants, iotas and integers alone has its
true value beside the residue, its shadow: order, rounding to integers and the like ask that.

Not here: residues (`residues.py`), what each op means (`facet.py`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from shardy_py.base.arrays import Ufunc
from shardy_py.base.records import dataclass
from shardy_py.ops import Family, OpRecord, TensorType
from shardy_py.ops.compute import Array, Compute, compute_of
from shardy_py.ops.compute.arithmetic import FLOAT, Arithmetic, using
from shardy_py.ops.table import TABLE, row_name
from shardy_py.run.interpret.values import is_array
from shardy_py.run.proof.field.hashing import Hash
from shardy_py.run.proof.field.residues import Residues
from shardy_py.run.proof.field.ufuncs import FieldUfunc

_LEAST_ITERATIONS, _MORE = 3, 5
_LARGEST_DIVISOR = float(1 << 16)
_PURE = (Family.ELEMENTWISE, Family.MOVEMENT, Family.INDEXED)


@dataclass(frozen=True, slots=True)
class FieldSite:
    """An op.

    original: with the types of the program. record: with those that run, where all floats are f64.
    formats: the exponent and mantissa bits in which each float operand is exact; None: an integer.
    is_condition: whether it decides if a loop goes on. ends_by_floats: whether it is a loop that ends as
    floats decide.
    """

    original: OpRecord
    record: OpRecord
    formats: tuple[tuple[int, int] | None, ...] = ()
    is_condition: bool = False
    ends_by_floats: bool = False

    @property
    def name(self) -> str:
        """The name of the op's row; ops that broadcast are those of equal shapes."""
        return row_name(self.record).replace("chlo.broadcast_", "stablehlo.")

    @property
    def label(self) -> str:
        """The name with the types of the operands, which a function depends on."""
        types = (type_.element for type_ in self.original.operands if type_)
        return f"{self.name}({','.join(types)})"


class Shadows:
    """The true values of some arrays of residues."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[weakref.ref[Array], Array]] = {}

    def of(self, array: object) -> Array | None:
        """Returns the true values: integers are their own."""
        if not is_array(array):  # a region
            return None
        if array.dtype.kind not in "fc":
            return array
        known = self._values.get(id(array))
        return None if known is None else known[1]

    def all_of(self, arrays: Sequence[object]) -> list[Array] | None:
        """Returns the true values of all; None if one has none."""
        found = [self.of(array) for array in arrays]
        values = [value for value in found if value is not None]
        return values if len(values) == len(found) else None

    def add(self, array: Array, value: Array) -> None:
        """Says what the values are, as long as the array lives."""
        key, values = id(array), self._values
        # The entry goes before the memory of the array does, so no other array has its key.
        values[key] = weakref.ref(array, lambda dead: values.pop(key, None)), value


Meaning = Callable[["FieldArithmetic", FieldSite], "Compute | None"]
"""Returns the function of an op, or None: numpy's, on residues as they are."""


class FieldArithmetic(Arithmetic):
    """A field, and functions, for one program, in one run after the other.

    field, hashes, turn: of the run that has begun; `turn` is by how many branches conditionals are turned.
    sites: of the ops. meaning_of: what an op means, by the name of its row.
    uninterpreted, whole: the ops that were hashed element by element, and of whole operands. branches:
    the numbers of branches of conditionals. iterations: the most of a loop that ends as floats decide.
    inverts: whether an inverse was a function.
    """

    is_exact = True

    def __init__(
        self,
        field: Residues,
        hashes: Hash,
        sites: Mapping[Any, FieldSite],
        meaning_of: Callable[[str], Meaning],
        turn: int = 0,
    ) -> None:
        self.sites = sites
        self._meaning_of = meaning_of
        self._ufuncs: dict[np.ufunc, FieldUfunc] = {
            plain: FieldUfunc(field, plain) for plain in (np.add, np.multiply)
        }
        self.begin(field, hashes, turn)
        self.shadows = Shadows()
        self.uninterpreted: set[str] = set()
        self.whole: set[str] = set()
        self.branches: set[int] = set()
        self.inverts = False
        self.iterations = 0

    def begin(
        self,
        field: Residues,
        hashes: Hash,
        turn: int,
        *,
        divides: bool = False,
        nan_bits: int = 0,
        ties: Sequence[float] = (),
        few: Sequence[int] = (),
    ) -> None:
        """Begins another run: ops that were built before compute in its field.

        divides: whether quotients are those of the field; else the inverse is a function like any other, so
        that all values are polynomials. nan_bits: functions are NaN once in two to that many times; 0: never.
        ties, few: residues and integers of which many values of functions are, so that equal ones meet.
        """
        self._few: Array = np.array(few, np.int64).view(np.uint64)
        self._ties: Array = np.array(ties, np.float64)
        self._nan = np.uint64((1 << nan_bits) - 1)
        self.field, self.hashes, self.turn, self.divides = field, hashes, turn, divides
        for ufunc in self._ufuncs.values():
            ufunc.field = field

    def function_of(self, op: Hashable, record: OpRecord) -> Compute | None:
        """Returns the function of an op with floats."""
        site = self.sites.get(op) or FieldSite(record, record)
        if not any(map(is_float, (*site.original.operands, *site.original.results))):
            return None
        own = self._meaning_of(row_name(record))(self, site)
        row = TABLE.get(row_name(record))
        if own is None and (row is None or row.kind not in _PURE):
            return None
        function = compute_of(record) if own is None else own
        if row is None or row.kind not in _PURE or not any(map(is_float, record.results)):
            return function
        return self._shadowed(site, function)

    def _shadowed(self, site: FieldSite, function: Compute) -> Compute:
        """The function, which also computes the true values where those of all operands are known."""
        plain = compute_of(site.record)

        def compute(record: OpRecord, *operands: object) -> object:
            result: object = function(record, *operands)
            values = self.shadows.all_of(operands)
            if values is not None and is_array(result) and self.shadows.of(result) is None:
                with using(FLOAT):
                    self.shadows.add(result, plain(record, *values))
            return result

        return compute

    def constant(self, array: Array) -> Array:
        """Returns the residues of floats."""
        if array.dtype.kind not in "fc":
            return array
        result = self.field.encoded(array)
        self.shadows.add(result, array)
        return result

    def matmul(self, lhs: Array, rhs: Array) -> Array:
        """Returns the products of matrices; those of integers are numpy's."""
        is_field = lhs.dtype.kind in "fc" or rhs.dtype.kind in "fc"
        return self.field.matmul(lhs, rhs) if is_field else np.matmul(lhs, rhs)

    def multiply(self, lhs: Array, rhs: Array) -> Array:
        """Returns the products of elements."""
        return self.field.multiply(lhs, rhs) if lhs.dtype.kind in "fc" else lhs * rhs

    def add(self, lhs: Array, rhs: Array) -> Array:
        """Returns the sums of elements."""
        return self.field.add(lhs, rhs) if lhs.dtype.kind in "fc" else lhs + rhs

    def divide(self, left: Array, right: Array) -> Array:
        """Returns quotients: those of the field by small integers and what depends on constants alone.

        By others a product with a function of the divisor, unless the run divides.
        """
        values = self.shadows.of(right)
        if self.divides or values is not None or not right.size:
            return self.field.divide(left, right)
        small = (np.abs(np.real(right)) <= _LARGEST_DIVISOR) & (np.imag(right) == 0) | ~np.isfinite(right)
        if small.all():
            return self.field.divide(left, right)
        self.inverts = True
        codes = self.codes(right)
        result: Array = self.residues(self.hashes.of("inverse", *codes))
        if right.dtype.kind == "c":
            result = result + 1j * self.residues(self.hashes.of("inverse.imag", *codes))
        product = self.field.multiply(left, result)
        return np.where(small, self.field.divide(left, right), product) if small.any() else product

    @override
    def ufunc(self, ufunc: Ufunc) -> Ufunc:
        """Returns sums and products of the field."""
        return self._ufuncs.get(ufunc, ufunc) if isinstance(ufunc, np.ufunc) else ufunc

    def follow(
        self,
        run: Callable[[list[Array]], Sequence[Array]],
        operands: Sequence[Array],
        results: Sequence[Array],
    ) -> None:
        """Sends true values as the residues: decisions after a collective are those before it."""
        values = self.shadows.all_of(operands)
        if values is None or not any(operand.dtype.kind in "fc" for operand in operands):
            return
        with using(FLOAT):
            for result, value in zip(results, run(values), strict=True):
                if result.dtype.kind in "fc" and self.shadows.of(result) is None:
                    self.shadows.add(result, value)

    def branch(self, position: int, count: int) -> int:
        """Turns all conditionals alike, so that all branches run without depending on inputs."""
        self.branches.add(count)
        return (position + self.turn) % count

    @override
    def most_iterations(self, op: Hashable) -> int | None:
        """Ends loops whose condition is a function of floats; in each run after another number."""
        site = self.sites.get(op)
        if site is None or not site.ends_by_floats:
            return None
        most = _LEAST_ITERATIONS + self.turn % _MORE
        self.iterations = max(self.iterations, most)
        return most

    def residues(self, bits: Array) -> Array:
        """Returns residues of random bits; in some runs NaN, or one of a few, for some of them."""
        result = self.field.of_bits(bits)
        if self._ties.size:
            chosen = self._ties[((bits >> np.uint64(1)) % np.uint64(self._ties.size)).astype(np.int64)]
            result = np.where(bits & np.uint64(1), result, chosen)
        return np.where(bits & self._nan, result, np.nan) if self._nan else result

    def with_few(self, bits: Array) -> Array:
        """Returns random bits; in some runs most of them one of a few integers."""
        if not self._few.size:
            return bits
        chosen = self._few[((bits >> np.uint64(3)) % np.uint64(self._few.size)).astype(np.int64)]
        return np.where(bits & np.uint64(7), chosen, bits)

    def codes(self, array: Array) -> list[Array]:
        """Returns what hashes take: one array, or two of complex numbers."""
        if array.dtype.kind == "c":
            return [self.field.canonical(np.real(array)), self.field.canonical(np.imag(array))]
        if array.dtype.kind == "f":
            return [self.field.canonical(array)]
        return [array.astype(np.int64).view(np.uint64)]


def is_float(type_: TensorType | None) -> bool:
    """Returns whether the elements of a tensor are floats or complex numbers."""
    if type_ is None:
        return False
    element = type_.element
    return element[0] in "fc" or element.startswith(("bf", "tf"))
