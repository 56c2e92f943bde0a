"""The names in StableHLO's rows: kinds of attributes and types, defaults, parts of templates.

Not here: kinds that any dialect may use (`mlir/dialects/kinds.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, IndexType

from shardy_py.mlir.dialects import kinds
from shardy_py.mlir.dialects.encoding import ATTRIBUTE, Encoding, enum_encoding, table
from shardy_py.mlir.dialects.stablehlo import attributes as a
from shardy_py.mlir.dialects.stablehlo import structs
from shardy_py.mlir.dialects.stablehlo.elements import CONV_DIMENSIONS, ELEMENTS
from shardy_py.mlir.dialects.stablehlo.type_kinds import TYPE_KINDS
from shardy_py.mlir.text.assembly import Spelling
from shardy_py.mlir.text.attribute_reader import string_attribute
from shardy_py.mlir.text.attribute_writer import symbol_text

_PRECISIONS = Spelling(
    lambda cursor: ArrayAttr(cursor.items(lambda: a.PrecisionAttr.spelling.read(cursor))),
    lambda attribute: f"[{', '.join(element.data for element in attribute.data)}]",
)
_TARGET = Spelling(
    lambda cursor: string_attribute(cursor.symbol()), lambda attribute: symbol_text(attribute.data)
)


def _is_layout(attribute: Any) -> bool:
    if not kinds.is_of(attribute, DenseIntOrFPElementsAttr):
        return False
    return isinstance(attribute.type.element_type, IndexType) and len(attribute.type.get_shape()) == 1


def _is_layouts(attribute: Any) -> bool:
    return kinds.is_of(attribute, ArrayAttr) and all(map(_is_layout, attribute.data))


_OWN_ATTRIBUTES = {
    "comparison_direction": "Which comparison operation to perform.",
    "comparison_type": "Which comparison type to use.",
    "fft_type": "XLA fast fourier transform type.",
    "transpose": "Transpose options",
    "rng_distribution": "XLA PRNG distribution to be used.",
    "rng_algorithm": "XLA PRNG algorithm to be used.",
    "dot": "Attribute that models the dimension information for dot.",
    "conv": "Structure of dimension information for conv op",
    "dot_algorithm": "Attribute that models the algorithm constraints to use for computing dot.",
    "gather": "Attribute that models the dimension information for gather",
    "scatter": "Attribute that models the dimension information for scatter",
    "channel_handle": "two 64-bit integers 'handle' and 'type'",
    "result_accuracy": "The requested accuracy for transcendental unary ops.",
}
"""MLIR's descriptions of the dialect's attributes that are attributes of ops."""
_MAX_API_VERSION = 4


def _is_api_version(attribute: Any) -> bool:
    return kinds.KINDS["i32"].accepts(attribute) and 0 <= attribute.value.data <= _MAX_API_VERSION


def _is_groups(attribute: Any) -> bool:
    return kinds.KINDS["table"].accepts(attribute) or isinstance(attribute, a.ReplicaGroupMeshAxesAttr)


_KINDS = kinds.own_kinds({**a.ATTRIBUTES, **a.ENCLOSED}, _OWN_ATTRIBUTES)
_OWN_KINDS = {
    **_KINDS,
    "conv": replace(_KINDS["conv"], spelling=CONV_DIMENSIONS),
    "precisions": kinds.array_of(
        "Precision Config attribute",
        kinds.is_instance(a.PrecisionAttr),
        enum_encoding(a.PrecisionAttr),
        _PRECISIONS,
    ),
    "target": replace(kinds.KINDS["string"], spelling=_TARGET),
    "api_version": replace(
        kinds.KINDS["i32"], description="Custom call API version", accepts=_is_api_version
    ),
    "layouts": kinds.array_of("Array of layout (1D tensor of index type) attributes", _is_layout, ATTRIBUTE),
    "tilings": kinds.array_of("Array of tiling attributes", _is_layouts, ATTRIBUTE),
    "aliases": kinds.array_of(
        "Aliasing attribute for outputs and operands of CustomCall",
        kinds.is_instance(a.OutputOperandAliasAttr),
        Encoding("OutputOperandAliasAttr"),
    ),
    "groups": kinds.AttributeKind(
        "64-bit signless integer elements attribute or mesh and axes based replica groups representation.",
        _is_groups,
        encoding=Encoding(
            "DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr", "Sequence[Sequence[int]]", table
        ),
    ),
}

NOTATION = kinds.Notation(
    "stablehlo",
    kinds={**kinds.KINDS, **_OWN_KINDS},
    types=TYPE_KINDS,
    defaults={**kinds.DEFAULTS, "default_accuracy": a.ResultAccuracyAttr(structs.ResultAccuracy())},
    elements=ELEMENTS,
)
"""The notation of StableHLO's rows."""
