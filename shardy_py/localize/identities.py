"""The identities of combiners: scalars that leave every value as it is.

>>> from xdsl.dialects.builtin import f32, i8
>>> identity_data("stablehlo.maximum", i8), identity_data("stablehlo.minimum", f32).hex()
(b'\\x80', '0000807f')
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import Signedness
from xdsl.ir import Attribute

from shardy_py.mlir.dialects.traits import constant_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, Value
from shardy_py.mlir.text.builtin_attributes import is_complex, is_integer
from shardy_py.mlir.text.dense import element_size, store_integer
from shardy_py.mlir.text.float_formats import FORMATS, Special
from shardy_py.ops import TABLE, Identity


def identity(build: StablehloBuilder, combiner: str, type_: Attribute) -> Value:
    """A constant of the identity of a combiner, with that tensor type."""
    element: Any = type_.element_type  # pyright: ignore
    data = identity_data(combiner, element)
    assert data is not None
    return build.dense(type_, data)


def identity_data(combiner: str, element: Any) -> bytes | None:
    """The bytes of the identity of a combiner for an element type; None if it has none."""
    row = TABLE[combiner].combiner
    return None if row is None else encoded(row.identity, element)


def encoded(identity: Identity, element: Attribute) -> bytes | None:
    """The bytes of an identity as a scalar of an element type; None if the type has none."""
    return _ENCODERS[identity](element)


def is_constant_of(value: Value, data: bytes) -> bool:
    """True if a scalar is a constant with these bytes."""
    constant = constant_of(value)
    given: Any = None if constant is None else constant.properties["value"]
    return given is not None and getattr(given.data, "data", None) == data


def _zero(element: Attribute) -> bytes | None:
    is_power = not (is_complex(element) or is_integer(element)) and FORMATS[element.name].is_power
    return None if is_power else bytes(element_size(element))


def _one(element: Attribute) -> bytes:
    if is_complex(element):
        return _one(element.element_type) + bytes(element_size(element.element_type))
    return store_integer(1, element) if is_integer(element) else _float(element, 1.0)


def _extreme(element: Attribute, sign: int) -> bytes | None:
    """The largest value, infinite for floats with an infinity, or the smallest one."""
    if is_complex(element):
        return None
    if not is_integer(element):
        kind = FORMATS[element.name]
        return _float(
            element, sign * (math.inf if kind.special is Special.IEEE else kind.to_float(kind.largest))
        )
    width = element.width.data
    has_sign = element.signedness.data is not Signedness.UNSIGNED and width > 1
    low, high = (-1 << (width - 1), (1 << (width - 1)) - 1) if has_sign else (0, (1 << width) - 1)
    return store_integer(high if sign > 0 else low, element)


def _float(element: Attribute, value: float) -> bytes:
    kind = FORMATS[element.name]
    return kind.encode(value).to_bytes(kind.size, "little")


_ENCODERS: dict[Identity, Callable[[Any], bytes | None]] = {
    Identity.ZERO: _zero,
    Identity.ONE: _one,
    Identity.LOWEST: lambda element: _extreme(element, -1),
    Identity.HIGHEST: lambda element: _extreme(element, +1),
    Identity.ALL_ONES: lambda element: store_integer(-1, element) if is_integer(element) else None,
}
"""`add` and `maximum` of i1 are `or`, `multiply` and `minimum` are `and`, with the same identities."""
