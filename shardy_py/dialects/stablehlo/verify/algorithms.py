"""The dot algorithms that some hardware is known to have."""

from __future__ import annotations

from shardy_py.dialects.stablehlo.structs import DotAlgorithm

_KNOWN = frozenset(
    (
        ("f16", "f16", "f16", 1),
        ("f16", "f16", "f32", 1),
        ("bf16", "bf16", "bf16", 1),
        ("bf16", "bf16", "f32", 1),
        ("bf16", "bf16", "f32", 3),
        ("bf16", "bf16", "f32", 6),
        ("bf16", "bf16", "f32", 9),
        ("tf32", "tf32", "f32", 1),
        ("tf32", "tf32", "f32", 3),
        ("f32", "f32", "f32", 1),
        ("f64", "f64", "f64", 1),
    )
)
"""Types of operands and accumulator, number of primitive operations."""


def is_known(algorithm: DotAlgorithm, lhs: str, rhs: str, accumulator: str) -> bool:
    """Whether an algorithm is supported; types are in MLIR's spelling."""
    if (algorithm.lhs_component_count, algorithm.rhs_component_count) != (1, 1):
        return False
    operations = algorithm.num_primitive_operations
    if _is_f8(lhs) and _is_f8(rhs):
        return accumulator == "f32" and operations == 1
    return not algorithm.allow_imprecise_accumulation and (lhs, rhs, accumulator, operations) in _KNOWN


def _is_f8(name: str) -> bool:
    return name.startswith("f8") and name != "f8E8M0FNU"
