"""Conversions on residues: roundings are functions, but for what is exact in the narrower type.

A value is exact in the narrowest format that it passed: movement, order, wider types keep it, so a rounding
to that format is the identity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from shardy_py.indexing.layout.element_types import element_type
from shardy_py.mlir.text.float_formats import FORMATS
from shardy_py.ops import Family, OpRecord, TensorType
from shardy_py.ops.compute import Array, Compute, compute_of
from shardy_py.ops.compute.lanes import dtype_of
from shardy_py.ops.spec import Storage
from shardy_py.ops.table import TABLE, row_name
from shardy_py.run.proof.field.arithmetic import FieldArithmetic, FieldSite, is_float
from shardy_py.run.proof.field.elementwise import integral, uninterpreted

Format = tuple[int, int]
"""The bits of exponent and mantissa in which a value is exact."""
_CHOICES = {
    f"stablehlo.{name}"
    for name in ["maximum", "minimum", "select", "clamp", "reduce_precision", "abs", "negate"]
}


def format_of(type_: TensorType | None) -> Format | None:
    """Returns the format of the floats of a type; None: it has none."""
    if type_ is None or not is_float(type_):
        return None
    form = FORMATS.get(type_.element.removeprefix("complex<").removesuffix(">"))
    return None if form is None else (form.exponent_bits, form.mantissa_bits)


def widest(formats: Iterable[Format | None]) -> Format | None:
    """Returns a format that holds the values of all."""
    found = [form for form in formats if form is not None]
    return None if not found else (max(form[0] for form in found), max(form[1] for form in found))


def fits(inner: Format, outer: Format) -> bool:
    """Returns whether all values of a format are of the other one."""
    return inner[0] <= outer[0] and inner[1] <= outer[1]


def kept_format(record: OpRecord, given: tuple[Format | None, ...]) -> Format | None:
    """Returns the format in which the results of an op are exact, from those of its operands."""
    own = format_of(record.results[0]) if record.results else None
    if own is None:
        return None
    if record.name == "stablehlo.reduce_precision" and given[0] is not None:
        attributes = record.attributes
        asked = attributes["exponent_bits"], attributes["mantissa_bits"]
        return min(given[0][0], asked[0]), min(given[0][1], asked[1])
    row = TABLE.get(row_name(record))
    keeps = row is not None and (
        row.kind in (Family.MOVEMENT, Family.INDEXED) or row.storage is Storage.ALIAS
    )
    if record.name == "stablehlo.convert" or keeps or record.name in _CHOICES:
        held = widest(given)
        if held is not None and record.name != "stablehlo.bitcast_convert" and fits(held, own):
            return held
    return own


def rounding(arithmetic: FieldArithmetic, form: Format, record: OpRecord, operand: Array) -> Array:
    """A function, the identity on small dyadic numbers that the format holds."""
    label = f"round to {form[0]} and {form[1]} bits"
    if operand.dtype.kind == "c":
        parts = [rounding(arithmetic, form, record, part) for part in (np.real(operand), np.imag(operand))]
        result: Array = np.empty(operand.shape, operand.dtype)
        result.real = parts[0]
        result.imag = parts[1]
        return result
    near, value = arithmetic.field.decoded(operand, 1 << min(form[1] + 1, 16))
    mantissa, _ = np.frexp(value)
    scaled = np.ldexp(mantissa, form[1] + 1)
    kept = (near & (np.rint(scaled) == scaled)) | ~np.isfinite(operand)
    if kept.all():
        return operand
    arithmetic.uninterpreted.add(label)
    bits = arithmetic.hashes.of(label, *arithmetic.codes(operand))
    return np.where(kept, operand, arithmetic.residues(bits))


def reduce_precision(arithmetic: FieldArithmetic, site: FieldSite) -> Compute | None:
    """A rounding to the format that it says."""
    attributes = site.record.attributes
    form = attributes["exponent_bits"], attributes["mantissa_bits"]
    held = site.formats[0] if site.formats else None
    if held is not None and fits(held, form):
        return _same

    def compute(record: OpRecord, operand: Array) -> Array:
        return rounding(arithmetic, form, record, operand)

    return compute


def _same(record: OpRecord, operand: Array) -> Array:
    return operand


def convert(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """Between floats a rounding, or nothing; from integers the true value; to integers a function."""
    (source,), (target,) = site.original.operands, site.original.results
    form = format_of(target)
    held = site.formats[0] if site.formats and site.formats[0] else format_of(source)
    if form is None:
        return integral_or_zero(arithmetic, site)
    if held is None:
        return from_integers(arithmetic, site)
    plain, is_exact, rounds = compute_of(site.record), fits(held, form), form

    def compute(record: OpRecord, operand: Array) -> Array:
        moved = operand if operand.dtype == dtype_of(record.results[0]) else plain(record, operand)
        return moved if is_exact else rounding(arithmetic, rounds, record, moved)

    return compute


def from_integers(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """The residues of integers, rounded as in the original type."""
    plain = compute_of(site.original)
    wide = dtype_of(site.record.results[0])

    def compute(record: OpRecord, *operands: Array) -> Array:
        return arithmetic.constant(plain(site.original, *operands).astype(wide))

    return compute


def integral_or_zero(arithmetic: FieldArithmetic, site: FieldSite) -> Compute:
    """To integers: the true value if known or small, else a hash; to booleans: whether it is not zero."""
    plain = compute_of(site.record)
    if dtype_of(site.record.results[0]) == np.bool_:
        return plain
    label = site.label

    def compute(record: OpRecord, operand: Array) -> Array:
        value = arithmetic.shadows.of(operand)
        if value is not None:
            return plain(record, value)
        real = np.ascontiguousarray(np.real(operand))
        near, value = arithmetic.field.decoded(real)
        result = np.where(near, plain(record, value), uninterpreted(arithmetic, label, record, (real,)))
        finite = np.isfinite(real)
        return result if finite.all() else np.where(finite, result, plain(record, operand))

    return compute


def bitcast(arithmetic: FieldArithmetic, site: FieldSite) -> Compute | None:
    """Floats to integers: a hash, of zero 0; integers to floats: the true float."""
    (source,), (target,) = site.original.operands, site.original.results
    assert source is not None
    assert target is not None
    if is_float(source) and is_float(target):
        return _same if source.element == target.element else None
    original = site.original
    if not is_float(source):
        return from_integers(arithmetic, site)
    bits = element_type(source.element).bits
    held = TensorType(source.shape, f"ui{bits}")
    unsigned = replace(original, operands=(held,))
    plain, label = compute_of(unsigned), site.label

    def compute(record: OpRecord, operand: Array) -> Array:
        hashed = arithmetic.hashes.of(label, *arithmetic.codes(operand))
        hashed = arithmetic.with_few(hashed)
        if bits < 64:
            hashed = hashed & np.uint64((1 << bits) - 1)
        hashed = np.where(operand == 0, np.uint64(0), hashed)
        return plain(unsigned, hashed.astype(dtype_of(held)))

    return compute


__all__ = ["bitcast", "convert", "format_of", "from_integers", "integral", "kept_format", "reduce_precision"]
