"""The meaning of elementwise ops on residues: laws of a field, order, or functions that nothing is known of.

Each meaning returns the function of an op, or None: numpy's, on residues as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shardy_py.ops import OpRecord
from shardy_py.ops.compute import Array, Compute, compute_of
from shardy_py.ops.compute.arithmetic import FLOAT, using
from shardy_py.ops.compute.chlo import broadcasting
from shardy_py.ops.compute.lanes import dtype_of
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite, Meaning
from shardy_py.run.proof.field.residues import MARGIN_BITS, Residues, is_finite

_POINTS = np.array([0.0, 1.0, np.inf, -np.inf, np.nan])
_LEAST, _COUNT = -16, 48
"""The range of integers that hashes give."""
_MOST_POWER = 4


def _placed(site: FieldSite, function: Compute) -> Compute:
    return broadcasting(function) if site.record.name.startswith("chlo.broadcast_") else function


def carrier(arithmetic: FieldArithmetic, site: FieldSite) -> Compute | None:
    """Numpy's function: movement, equality, order."""
    return None


def _law(function: Callable[..., Array]) -> Meaning:
    """A law of the field: the function of it and of operands."""

    def meaning(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
        def compute(record: OpRecord, *operands: Array) -> Array:
            return function(arithmetic.field, *operands)

        return _placed(site, compute)

    return meaning


add, subtract = _law(Residues.add), _law(Residues.subtract)
multiply, square = _law(Residues.multiply), _law(Residues.square)
negate, conjugate = _law(Residues.negative), _law(Residues.conjugate)


def divide(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """A product with what `FieldArithmetic.inverse` is of the divisor."""

    def compute(record: OpRecord, left: Array, right: Array) -> Array:
        return arithmetic.divide(left, right)

    return _placed(site, compute)


def function(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """A function that nothing is known of but its values where they are dyadic: exp(0), tanh(inf)."""
    arithmetic.uninterpreted.add(site.name)
    label = site.label

    def compute(record: OpRecord, *operands: Array) -> Array:
        return uninterpreted(arithmetic, label, record, operands)

    return _placed(site, compute)


def uninterpreted(
    arithmetic: FieldArithmetic, label: str, record: OpRecord, operands: tuple[Array, ...]
) -> Array:
    """Returns hashes of the operands in the type of the result."""
    dtype = dtype_of(record.results[0])
    codes = [code for operand in operands for code in arithmetic.codes(operand)]
    bits = arithmetic.hashes.of(label, *codes)
    if dtype.kind == "c":
        result: Array = np.empty(bits.shape, dtype)
        result.real = arithmetic.residues(bits)
        result.imag = arithmetic.residues(arithmetic.hashes.of(f"{label}.imag", *codes))
    elif dtype.kind == "f":
        result = arithmetic.residues(bits)
    elif dtype == np.bool_:
        return (bits & np.uint64(1)) != 0
    else:
        plain = bits % np.uint64(_COUNT) + np.uint64(_LEAST % (1 << 64))
        few = arithmetic.with_few(bits)
        return np.where(few == bits, plain, few).view(np.int64).astype(dtype)
    return _with_known_values(arithmetic, record, operands, result)


def _with_known_values(
    arithmetic: FieldArithmetic, record: OpRecord, operands: tuple[Array, ...], result: Array
) -> Array:
    """Puts the true values where operands are not finite, and where a real one is 0 or 1."""
    floats = [operand for operand in operands if operand.dtype.kind in "fc"]
    is_unary = len(operands) == 1 and floats and floats[0].dtype.kind == "f" == result.dtype.kind
    if is_unary:
        (x,) = operands
        at_zero, at_one = x == 0, x == arithmetic.field.one
        if not (at_zero.any() or at_one.any()) and is_finite(x):
            return result
        chosen = at_zero | at_one | ~np.isfinite(x)
        values = compute_of(record)(record, _POINTS[None])[0]
        where = np.where(at_zero, 0, np.where(at_one, 1, np.where(np.isnan(x), 4, np.where(x > 0, 2, 3))))
        true = values[where]
    elif all(map(is_finite, floats)):
        return result
    else:
        chosen = np.zeros((), np.bool_)
        for operand in floats:
            chosen = chosen | ~np.isfinite(operand)
        true = compute_of(record)(record, *operands)
    known = chosen & (~np.isfinite(true) | (_is_dyadic(true)))
    return np.where(known, arithmetic.field.encoded(np.where(known, true, 0)), result)


def _is_dyadic(values: Array) -> Array:
    parts = (np.real(values), np.imag(values)) if values.dtype.kind == "c" else (values,)
    result: Array = np.array(True)
    for part in parts:
        result = result & (np.rint(part * 256) == part * 256) & (np.abs(part) <= 65536)
    return result


def power(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """Exponents from 0 to 4 by multiplication, others a function."""
    hashed = function(arithmetic, site)

    def compute(record: OpRecord, base: Array, exponent: Array) -> Array:
        field = arithmetic.field
        result = hashed(record, base, exponent)
        small = [
            np.asarray(exponent == field.encoded(np.full(1, float(k)))[0]) for k in range(_MOST_POWER + 1)
        ]
        if any(mask.any() for mask in small):
            value: Array = field.encoded(np.ones(base.shape)).astype(base.dtype)
            for mask in small:
                result = np.where(mask, value, result)
                value = field.multiply(value, base)
        return np.where(base == field.one, field.one, result)

    return compute


def integral(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """Rounding to integers, remainders: the true value of small dyadic numbers, else a function."""
    hashed, plain = function(arithmetic, site), compute_of(site.record)

    def compute(record: OpRecord, *operands: Array) -> Array:
        field = arithmetic.field
        values = arithmetic.shadows.all_of(operands)
        if values is None:
            pairs = [field.decoded(operand) for operand in operands]
            known: Array = np.array(True)
            for near, _ in pairs:
                known = known & near
            values = [value for _, value in pairs]
        else:
            known = np.array(True)
        result = np.where(known, field.encoded(plain(record, *values)), hashed(record, *operands))
        if all(map(is_finite, operands)):
            return result
        infinite: Array = np.array(False)
        for operand in operands:
            infinite = infinite | ~np.isfinite(operand)
        return np.where(infinite, plain(record, *operands), result)

    return compute


def compare(arithmetic: FieldArithmetic, site: FieldSite) -> Compute | None:
    """By true values if they are known, else by the order of residues; a predicate if loops go on by it."""
    plain = compute_of(site.record)

    def compute(record: OpRecord, *operands: Array) -> Array:
        values = arithmetic.shadows.all_of(operands)
        if values is not None:
            return plain(record, *values)
        if site.is_condition:
            codes = [code for operand in operands for code in arithmetic.codes(operand)]
            return arithmetic.hashes.of(site.label, *codes) % np.uint64(10) < np.uint64(7)
        return plain(record, *operands)

    return compute


def magnitude(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """The absolute value: not below zero in any order, as the reader of a program expects.

    Where nearly all residues are below zero, one of those above it: a function of x that is even.
    """
    chosen, label = ordered(arithmetic, site), site.label

    def compute(record: OpRecord, operand: Array) -> Array:
        field = arithmetic.field
        if operand.dtype.kind == "c":
            return uninterpreted(arithmetic, label, record, (operand,))
        if field.order != "highest" or arithmetic.shadows.of(operand) is not None:
            return chosen(record, operand)
        negated = field.negative(operand)
        small = np.maximum(operand, negated)
        if bool((small >= 0).all()):
            return small
        bits = arithmetic.hashes.of(label, *arithmetic.codes(np.minimum(operand, negated)))
        return np.where(small >= 0, small, np.asarray(bits >> np.uint64(64 - MARGIN_BITS)).astype(np.float64))

    return compute


def ordered(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """A choice by order, of one of the operands or of its negative: max, min, clamp, abs."""
    plain = compute_of(site.record)

    def compute(record: OpRecord, *operands: Array) -> Array:
        field = arithmetic.field
        values = arithmetic.shadows.all_of(operands)
        if values is None:
            return field.arranged(plain(record, *operands))
        with using(FLOAT):
            wanted = plain(record, *values)
        result = field.encoded(np.where(np.isnan(wanted), wanted, 0)) + np.zeros_like(wanted)
        for operand, value in zip(operands, values, strict=True):
            rank = wanted.ndim - operand.ndim
            operand, value = (a.reshape(a.shape + (1,) * rank) for a in (operand, value))
            result = np.where(value == wanted, operand, result)
            result = np.where((-value == wanted) & (value != wanted), field.negative(operand), result)
        return result

    def broadcasting(record: OpRecord, *operands: Array) -> Array:
        return arithmetic.field.arranged(plain(record, *operands))

    return broadcasting if site.record.name.startswith("chlo.b") else compute


def sign(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """1, 0 or -1, by the true value if it is known."""
    plain = compute_of(site.record)

    def compute(record: OpRecord, operand: Array) -> Array:
        value = arithmetic.shadows.of(operand)
        return arithmetic.field.encoded(plain(record, operand if value is None else value))

    return compute


def encoded(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """Constants and random numbers: the residue of the true value."""
    plain = compute_of(site.record)

    def compute(record: OpRecord, *operands: Array) -> Array | tuple[Array, ...]:
        result: Array | tuple[Array, ...] = plain(record, *operands)
        if isinstance(result, tuple):
            return tuple(map(arithmetic.constant, result))
        return arithmetic.constant(result)

    return compute
