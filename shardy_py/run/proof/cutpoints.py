"""Cut points: values that a run of both programs replaces by random ones, after it has compared them.

What a value is computed from does not matter behind it, so nothing can hide a wrong op: not an operand that
is zero, a quotient of equal numbers, a limit that is always reached. An element becomes a function of itself
and of its place in the whole tensor, so what is equal stays equal, and so do the parts of a device and of
its replicas.

Not here: which values correspond (`correspondences.py`), what a difference behind cut points means
(`exact.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from math import prod

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from shardy_py.base.records import dataclass
from shardy_py.mlir.dialects.stablehlo import PadOp
from shardy_py.mlir.ir import type_of
from shardy_py.mlir.plain import tensor_type
from shardy_py.mlir.record import record_of
from shardy_py.ops import Control, Family, Identity
from shardy_py.ops.compute import Array
from shardy_py.ops.spec import Storage
from shardy_py.ops.table import TABLE, row_of
from shardy_py.run.proof.correspondences import Counterpart
from shardy_py.run.proof.exact_inputs import constants_of
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, is_float
from shardy_py.run.proof.field.hashing import mixed
from shardy_py.run.proof.field.residues import Residues

_LABEL = "cut point"
_NUMBERS = {Identity.ZERO: 0.0, Identity.ONE: 1.0}
"""The finite identities of combiners of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class Cutpoints:
    """The values of the whole program that are replaced. arithmetic: of the run."""

    values: frozenset[SSAValue]
    arithmetic: FieldArithmetic
    _places: dict[int, Array] = field(default_factory=dict[int, Array])

    def renewed(self, value: SSAValue, array: Array) -> Array | None:
        """Returns what takes the place of an array [lanes, *shape]; None: it stays.

        Infinities and NaN are replaced, too: a result that is NaN for one element hides all others.
        """
        if value not in self.values or array.dtype.kind not in "fc":
            return None
        arithmetic, size = self.arithmetic, prod(array.shape[1:])
        places = self._places.get(size)
        if places is None:
            places = self._places[size] = arithmetic.hashes.of(_LABEL, np.arange(size, dtype=np.uint64))
        first, *others = arithmetic.codes(array)
        bits = mixed(first ^ places.reshape(array.shape[1:]))
        for other in others:
            bits = mixed(bits ^ other)
        result: Array = arithmetic.residues(bits)
        if array.dtype.kind == "c":
            result = result + 1j * arithmetic.residues(mixed(bits))
        self.keep_values(array, result)
        return result

    def keep_values(self, array: Array, renewed: Array) -> None:
        """Lets what takes the place of a constant be compared as the constant is."""
        shadows = self.arithmetic.shadows
        values = shadows.of(array)
        if values is not None:
            shadows.add(renewed, values)


def cut_values(found: Iterable[Counterpart]) -> frozenset[SSAValue]:
    """Returns the values that can be replaced in both programs.

    Each is computed by an op, and known in the local program where it stands for one: with its sharding, and
    as a sum if its terms are still to be reduced. Single numbers stay what they are, as passes know those of
    padding and of initial values.
    """
    values: set[SSAValue] = set()
    never: set[SSAValue] = set()
    for counterpart in found:
        pending = counterpart.pending
        is_known = _is_placed(counterpart) and (pending is None or pending.reduction == "sum")
        (values if is_known else never).update(counterpart.whole)
    computed = [value for value in values - never if isinstance(value, OpResult) and _is_of_floats(value)]
    is_own = {op: _is_own(op) for op in dict.fromkeys(value.op for value in computed)}
    return frozenset(value for value in computed if is_own[value.op] and not _is_neutral(value))


def _is_placed(counterpart: Counterpart) -> bool:
    """Returns whether it is known which elements each device has."""
    if counterpart.sharding is not None:
        return True
    local, *wholes = (tensor_type(type_of(value)) for value in (counterpart.value, *counterpart.whole))
    return local is not None and all(whole is not None and whole.shape == local.shape for whole in wholes)


def _is_of_floats(value: OpResult) -> bool:
    type_ = tensor_type(type_of(value))
    return type_ is not None and is_float(type_)


def _is_own(op: Operation) -> bool:
    """Returns whether an op computes its results, and is not what passes may move an operand instead of."""
    row = row_of(record_of(op))
    is_computed = row.control is Control.NONE and row.storage is not Storage.ALIAS
    return is_computed and row.kind is not Family.MOVEMENT and row.collective is None


def _is_neutral(value: OpResult) -> bool:
    """Returns whether a number is a constant that an op which uses it can rely on: an identity, or 0 beside
    what it pads."""
    type_ = tensor_type(type_of(value))
    if type_ is None or type_.shape:
        return False
    number = next(iter(constants_of((value,))), None)
    if number is None:
        return False
    for use in value.uses:
        user = use.operation
        if isinstance(user, PadOp) and number == 0:
            return True
        rows = (TABLE.get(op.name) for region in user.regions for block in region.blocks for op in block.ops)
        for row in rows:
            combiner = None if row is None else row.combiner
            if combiner is not None and number == _NUMBERS.get(combiner.identity):
                return True
    return False


def with_sum(residues: Residues, terms: Array, sums: Array, wanted: Array, first: Array) -> Array:
    """Returns terms [devices, *part] whose sums are what is wanted, by another first term of each.

    first: its device. Sums that are not finite stay.
    """
    result = terms.copy()
    change = residues.subtract(wanted[first], sums[first])
    changed = residues.add(terms[first], change)
    result[first] = np.where(np.isfinite(wanted[first]), changed, terms[first])
    return result
