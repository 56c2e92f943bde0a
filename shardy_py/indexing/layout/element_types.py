"""Element types: XLA's names, MLIR's spellings, sizes and numpy types.

Not here: the width of elements in one layout (`E(n)`: `element_bits` of `formats.py`).

>>> element_type("complex<f32>").name, element_type("f8E4M3FN").bits, element_type("BF16").dtype.name
('c64', 8, 'bfloat16')
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from shardy_py.base.deferred import np
from shardy_py.base.errors import ShardyError
from shardy_py.base.records import dataclass
from shardy_py.base.session import SESSION

if TYPE_CHECKING:
    from shardy_py.base.arrays import AnyDtype


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type.

    name: as XLA spells it, lower-case.
    mlir: as MLIR spells it in a tensor type.
    bits: of an element in memory, packed as tightly as XLA does. A `pred` takes a byte.
    numpy_name: the equivalent type of numpy or ml_dtypes.
    """

    name: str
    mlir: str
    bits: int
    numpy_name: str

    @property
    def value_bits(self) -> int:
        """The fewest bits that hold all values: 1 for `pred`, else `bits`."""
        return 1 if self.name == "pred" else self.bits

    def is_narrower_than(self, other: ElementType) -> bool:
        """Returns whether elements take fewer bits than those of another type, and at least a byte."""
        return self.bits >= _BYTE and self.value_bits < other.value_bits

    @property
    def dtype(self) -> AnyDtype:
        """The numpy type; types narrower than a byte take a byte in it.

        Raises ShardyError if the installed ml_dtypes does not have it.
        """
        import ml_dtypes

        type_ = getattr(np, self.numpy_name, None) or getattr(ml_dtypes, self.numpy_name, None)
        if type_ is None:
            what = f"element type {self.name} without ml_dtypes.{self.numpy_name}"
            raise ShardyError.unsupported(what, remedy="update ml_dtypes")
        return np.dtype(type_)


_BYTE = 8
_WIDTHS = (1, 2, 4, 8, 16, 32, 64)
# Nothing packs the six bits of f6; a byte holds them.
_SMALL_FLOATS = (
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ"),
    *("f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
)


def _small_float(mlir: str) -> ElementType:
    name = mlir.lower()
    return ElementType(name, mlir, 4 if name[1] == "4" else 8, f"float{name[1]}_{name[2:]}")


ELEMENT_TABLE: dict[str, ElementType] = {
    row.name: row
    for row in (
        ElementType("pred", "i1", 8, "bool_"),
        *(ElementType(f"s{bits}", f"si{bits}", bits, f"int{bits}") for bits in _WIDTHS),
        *(ElementType(f"u{bits}", f"ui{bits}", bits, f"uint{bits}") for bits in _WIDTHS),
        *map(_small_float, _SMALL_FLOATS),
        ElementType("f16", "f16", 16, "float16"),
        ElementType("bf16", "bf16", 16, "bfloat16"),
        ElementType("f32", "f32", 32, "float32"),
        ElementType("f64", "f64", 64, "float64"),
        ElementType("c64", "complex<f32>", 64, "complex64"),
        ElementType("c128", "complex<f64>", 128, "complex128"),
    )
}
"""All element types of arrays, by XLA's name."""

_BY_SPELLING = {
    **ELEMENT_TABLE,
    **{row.mlir.lower(): row for row in ELEMENT_TABLE.values()},
    **{f"i{bits}": ELEMENT_TABLE[f"s{bits}"] for bits in (2, 4, 8, 16, 32, 64)},
    "index": ELEMENT_TABLE["s64"],
}
_QUANTIZED = re.compile(r"!quant\.\w+<(\w+)")
_INTEGER = re.compile(r"([su]?)i([1-9]\d{0,2})")


@SESSION.cache(4096)
def element_type(spelling: str) -> ElementType:
    """The element type of that name in XLA or MLIR, in upper or lower case.

    `i8` and `index` are s8 and s64; integers of other widths (`i3`) are the next wider ones; a quantized type
    is its storage type. Raises ShardyError for any other text.
    """
    quantized = _QUANTIZED.match(spelling)
    plain = (quantized[1] if quantized else spelling).lower()
    row = _BY_SPELLING.get(plain)
    if row is None and (integer := _INTEGER.fullmatch(plain)):
        width = 1 << (int(integer[2]) - 1).bit_length()
        row = ELEMENT_TABLE.get(f"{'u' if integer[1] == 'u' else 's'}{width}")
    if row is None:
        raise ShardyError.unknown("element type", spelling, ELEMENT_TABLE)
    return row


_OF_USERS = 2
"""The value of `isbuiltin` for numpy types that packages add; unpickled types of numpy have 0."""


@lru_cache(maxsize=4096)
def element_type_of(dtype: AnyDtype) -> ElementType | None:
    """The element type of a numpy type; None if XLA has none (strings, long doubles)."""
    if dtype.isbuiltin != _OF_USERS and dtype.newbyteorder("=").char in "?bhilqBHILQefdFD":
        kind = {"b": "", "i": "s", "u": "u", "f": "f", "c": "c"}[dtype.kind]
        return ELEMENT_TABLE[f"{kind}{8 * dtype.itemsize}" if kind else "pred"]
    return next((row for row in ELEMENT_TABLE.values() if row.numpy_name == dtype.name), None)
