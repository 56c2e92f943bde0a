"""Custom calls whose target is known: what they read, under rows named "stablehlo.custom_call@TARGET".

Not here: custom calls with a sharding rule of their own (the caller takes it as it is).
"""

from __future__ import annotations

from typing import Any

from shardy_py.indexing import IndexMap, dim, range_var
from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.reads import Maps, Reads, domain_of, everything, names, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.reduction import last_dimension, last_two_dimensions, whole_dimensions
from shardy_py.ops.spec import OpSpec, Role, RuleSource

CALL = "stablehlo.custom_call"
POINTWISE = names("""annotate_device_placement InspectSharding LayoutConstraint
    mhlo.erf X64SplitHigh X64SplitLow X64Combine xla.megascale.provide_metadata""")
OFFLOADS = ["MoveToDevice", "MoveToHost"]
MATRIX = ["Cholesky", "CompactWyHelper", "InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular"]
MOVED = names("""_SPMDInternalOp_MultiPad _SPMDInternalOp_RotateRight _SPMDInternalOp_MultiRotate
    _SPMDInternalOp_MultiSlice _SPMDInternalOp_Wrap""")

WITHOUT_RULE = names("""sdy_testonly tpu_custom_call xla_python_cpu_callback xla_python_gpu_callback
    xla_ffi_python_cpu_callback xla_ffi_python_gpu_callback xla.debug.Log""")


def _matrix_and_vector(record: OpRecord, vector_beside: bool) -> tuple[Reads, ...]:
    """The matrix of the last two dimensions gives a matrix, and a vector in the last dimension."""
    shape = shape_of(record.operands[0])
    batch = len(shape) - 2
    (matrix,) = (last_two_dimensions(record)[0],)
    domain = domain_of(record, 1, shape[batch:])
    read: IndexMap = domain.reading((*map(dim, range(batch)), range_var(0), range_var(1)))
    beside = {(0, batch + 1): batch} if vector_beside else {}
    opaque = frozenset(range(batch, len(domain.dims)))
    return (
        Reads((0,), matrix.operands, matrix.whole, matrix.beside),
        Reads((1,), (read,), frozenset((0, 1)), beside, opaque),
    )


def eigh(record: OpRecord) -> tuple[Reads, ...]:
    """Eigenvectors, as columns, and eigenvalues: value k belongs to column k."""
    return _matrix_and_vector(record, vector_beside=True)


def qr(record: OpRecord) -> tuple[Reads, ...]:
    """Householder vectors below the triangle R, and their factors."""
    return _matrix_and_vector(record, vector_beside=False)


def householder_product(record: OpRecord) -> tuple[Reads, ...]:
    """The product of the reflectors that the columns and their factors describe."""
    shape, factors = shape_of(record.operands[0]), shape_of(record.operands[1])
    batch = len(shape) - 2
    domain = domain_of(record, ranges=(*shape[batch:], *factors[batch:]))
    points = tuple(map(dim, range(batch)))
    maps = (
        domain.reading((*points, range_var(0), range_var(1))),
        domain.reading((*points, *(range_var(2 + i) for i in range(len(factors) - batch)))),
    )
    beside = {(0, batch): batch, (0, batch + 1): batch + 1}
    return (Reads((0,), maps, frozenset(range(len(domain.ranges))), beside),)


def reduced_top_k(record: OpRecord) -> tuple[Reads, ...]:
    """Values and their indices, the best along the dimension that shrinks; two operands of initial values."""
    operand, result = shape_of(record.operands[0]), shape_of(record.results[0])
    along = (d for d, (size, kept) in enumerate(zip(operand, result, strict=True)) if size != kept)
    return (whole_dimensions(record, along, 2),)


def _row(target: str, maps: Maps | None = None, **columns: Any) -> OpSpec:
    return OpSpec(f"{CALL}@{target}", maps, **columns)


def _all_operands(record: OpRecord) -> frozenset[int]:
    """What the target computes is not stated: the maps are those of its sharding."""
    return frozenset(range(len(record.operands)))


ROWS = (
    *(_row(target, pointwise) for target in POINTWISE),
    *(_row(target, pointwise, role=Role.PASS_THROUGH) for target in OFFLOADS),
    *(_row(target, last_two_dimensions, superset=_all_operands) for target in MATRIX),
    *(_row(target, pointwise, closer=everything, superset=_all_operands) for target in MOVED),
    *(_row(target, rule_source=RuleSource.NONE) for target in WITHOUT_RULE),
    _row("Eigh", eigh),
    _row("Qr", qr, superset=_all_operands),
    _row("QrDecompositionBlock", qr, superset=_all_operands),
    _row("ProductOfElementaryHouseholderReflectors", householder_product, superset=_all_operands),
    _row("mhlo.topk", last_dimension),
    _row("ApproxTopK", reduced_top_k, superset=_all_operands),
    _row("PartialReduce", reduced_top_k, superset=_all_operands),
)
