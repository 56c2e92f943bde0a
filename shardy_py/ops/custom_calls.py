"""Custom calls by target: rows named "stablehlo.custom_call@TARGET".

Not here: custom calls with a sharding rule of the user's, which takes precedence.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shardy_py.indexing import IndexMap, dim, range_var
from shardy_py.ops.elementwise import pointwise
from shardy_py.ops.policy import PASS, WHOLE, DimensionRead, Policy, Treatment, by_relation, pass_through
from shardy_py.ops.reads import Maps, Reads, domain_of, everything, names, shape_of
from shardy_py.ops.record import OpRecord
from shardy_py.ops.reduction import last_dimension, last_two_dimensions, whole_dimensions
from shardy_py.ops.sketch import Sketch, TensorDim
from shardy_py.ops.spec import Memory, OpSpec, Role, RuleSource

CALL = "stablehlo.custom_call"
POINTWISE = names("""InspectSharding LayoutConstraint
    mhlo.erf X64SplitHigh X64SplitLow xla.megascale.provide_metadata""")
OFFLOADS = {"MoveToDevice": Memory.DEVICE, "MoveToHost": Memory.HOST}
MATRIX = ["Cholesky", "CompactWyHelper", "InvertDiagBlocksLowerTriangular", "InvertDiagBlocksUpperTriangular"]
EIGENVALUES, FACTORS = "EighTpu", "LuDecompositionBlock"
MOVED = names("""_SPMDInternalOp_MultiPad _SPMDInternalOp_RotateRight _SPMDInternalOp_MultiRotate
    _SPMDInternalOp_MultiSlice _SPMDInternalOp_Wrap""")

TOP_K, KERNEL = "TopK", "tpu_custom_call"

WITHOUT_RULE = names("""sdy_testonly tpu_custom_call xla_python_cpu_callback xla_python_gpu_callback
    xla_ffi_python_cpu_callback xla_ffi_python_gpu_callback xla.debug.Log""")


def _matrix_and_vector(record: OpRecord, vector_beside: bool) -> tuple[Reads, ...]:
    """From the matrix of the last two dimensions: a matrix, and a vector in the last dimension."""
    shape = shape_of(record.operands[0])
    batch = len(shape) - 2
    (matrix,) = last_two_dimensions(record)
    domain = domain_of(record, 1, shape[batch:])
    read: IndexMap = domain.reading((*map(dim, range(batch)), range_var(0), range_var(1)))
    beside = {(0, batch + 1): batch} if vector_beside else {}
    opaque = frozenset(range(batch, len(domain.dims)))
    return (replace(matrix, results=(0,)), Reads((1,), (read,), frozenset((0, 1)), beside, opaque))


def eigh(record: OpRecord) -> tuple[Reads, ...]:
    """Eigenvectors, as columns, and eigenvalues: value k belongs to column k."""
    return _matrix_and_vector(record, vector_beside=True)


def qr(record: OpRecord) -> tuple[Reads, ...]:
    """Householder vectors below the triangle R, and their factors."""
    return _matrix_and_vector(record, vector_beside=False)


def householder_product(record: OpRecord) -> tuple[Reads, ...]:
    """The product of the reflectors given by the columns and their factors."""
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
    """The best values along the dimension that shrinks, with indices; two operands are initial values."""
    operand, result = shape_of(record.operands[0]), shape_of(record.results[0])
    along = [d for d, (size, kept) in enumerate(zip(operand, result, strict=True)) if size != kept]
    return (whole_dimensions(record, along, 2),)


def best(read: DimensionRead) -> Treatment:
    """Unsound for k of all: only a dimension that shrinks counts as searched."""
    if read.size == read.result_size:
        return Treatment(True, PASS)
    return replace(by_relation(read), blocked=True)


def approximately_best(read: DimensionRead) -> Treatment:
    """Each device searches its part; the results have a factor of their own."""
    return Treatment(False, PASS, result_type=WHOLE, result_blocked=True)


def adjust_combination(sketch: Sketch, conservative: bool) -> None:
    """The state of a random number generator is kept whole."""
    if sketch.record.attributes.get("context.feeds_rng_bit_generator"):
        atom = sketch.atom_at(TensorDim("result", 0, 0))
        sketch.set_type(atom, WHOLE)
        sketch.block(atom)


def free_all(sketch: Sketch, conservative: bool) -> None:
    """Unsound: every factor counts as free."""
    for atoms in sketch.atoms.values():
        for atom in atoms:
            sketch.set_type(atom, PASS)


def _row(target: str, maps: Maps | None = None, **columns: Any) -> OpSpec:
    return OpSpec(f"{CALL}@{target}", maps, **columns)


def _all_operands(record: OpRecord) -> frozenset[int]:
    """Returns all operands: the maps describe the sharding of the target, which may read less."""
    return frozenset(range(len(record.operands)))


_FREE = Policy(pass_through)
ROWS = (
    *(_row(target, pointwise, policy=_FREE) for target in POINTWISE),
    _row("annotate_device_placement", pointwise, policy=_FREE, memory=Memory.STATED),
    *(
        _row(target, pointwise, policy=_FREE, role=Role.PASS_THROUGH, memory=memory)
        for target, memory in OFFLOADS.items()
    ),
    *(_row(target, last_two_dimensions, policy=_FREE, superset=_all_operands) for target in MATRIX),
    *(_row(target, pointwise, policy=_FREE, closer=everything, superset=_all_operands) for target in MOVED),
    *(_row(target, rule_source=RuleSource.NONE) for target in WITHOUT_RULE),
    _row("X64Combine", pointwise, policy=Policy(pass_through, adjust=adjust_combination)),
    _row("Eigh", eigh, policy=Policy(pass_through, adjust=free_all)),
    _row("Qr", qr, superset=_all_operands),
    _row("QrDecompositionBlock", qr, superset=_all_operands),
    _row("ProductOfElementaryHouseholderReflectors", householder_product, superset=_all_operands),
    _row("mhlo.topk", last_dimension, policy=Policy(best)),
    _row("ApproxTopK", reduced_top_k, policy=Policy(approximately_best), superset=_all_operands),
    _row("PartialReduce", reduced_top_k, policy=Policy(approximately_best), superset=_all_operands),
)
