"""The program as XLA:GPU simplifies it before it propagates shardings.

    simplified_for_gpu(module)   a copy

It folds ops, and moves reshapes behind elementwise ops, as XLA:TPU; but it keeps equal ops, products of what
is transposed, and products with a vector. Selections of the largest elements:

    top_k(x)  ->  reshape(TopK(reshape(x)))            of f32 and bf16: rows of a matrix
    top_k(x)  ->  sort(x, iota), slices of the first   of others

Shardings do not propagate through the call, but do through the sort. Source: openxla/xla,
xla/hlo/transforms/expanders/topk_decomposer.cc (`topk-decomposer`), xla/service/topk_rewriter.cc
(`topk-rewriter`), both of the pipeline `pre-spmd-partitioner`; xla/service/gpu/gpu_spmd_pipeline.cc
(`spmd-simplify`), and dumps of its passes. Not here: what XLA:TPU makes of selections
(`selection_sorts.py`), kernels for the call (`xla/targets/gpu/expanded.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.custom_calls import TOP_K
from shardy_py.xla.prepare.added_updates import fold_added_update
from shardy_py.xla.prepare.converted_operands import fold_product_by_predicate
from shardy_py.xla.prepare.folding import Fold, is_static
from shardy_py.xla.prepare.product_folds import (
    fold_product_of_zeros,
    fold_product_without_sums,
    fold_transposed_product,
)
from shardy_py.xla.prepare.selection_sorts import CALLED, sorted_first
from shardy_py.xla.prepare.simplifying import Simplification
from shardy_py.xla.prepare.single_scatters import fold_added_scatter, fold_scatter_of_one
from shardy_py.xla.prepare.tpu_folds import BROADCAST_FOLDS, REDUCE_FOLDS, SLICE_FOLDS


def simplified_for_gpu(module: ModuleOp) -> ModuleOp:
    """Returns a simplified copy of a program without calls."""
    return _SIMPLIFICATION.of(module)


def _selected(op: Operation) -> Sequence[SSAValue] | None:
    (value,) = operands_of(op)
    if not is_static(value):
        return None
    (type_,) = record_of(op).operands
    if type_ is None or type_.element not in CALLED:
        return sorted_first(op, is_stable=True)
    build = StablehloBuilder(before=op)
    *batch, size = shape_of(value)
    rows = (prod(batch),) if batch else ()
    count = shape_of(op.results[0])[-1]
    types = [ranked_tensor((*rows, count), element) for element in (element_of(value), i32)]
    is_matrix = len(batch) < 2
    matrix = value if is_matrix else build.reshape(value, (*rows, size))
    values, places = build.insert("custom_call", (matrix,), types, call_target_name=TOP_K).results
    if not is_matrix:
        return [build.reshape(made, (*batch, count)) for made in (values, places)]
    return values, _zeros(build, places) if _is_root(op) else places


def _is_root(op: Operation) -> bool:
    """True if a program returns just what an op makes.

    The partitioner then adds up the places of all devices, which XLA:GPU takes for zeros: none sends them.
    """
    users = {use.operation for result in op.results for use in result.uses}
    end = next(iter(users), None)
    if end is None or len(users) != 1 or end.name != ReturnOp.name:
        return False
    return all(value in op.results for value in operands_of(end))


def _zeros(build: StablehloBuilder, places: SSAValue) -> SSAValue:
    return build.broadcast(build.integer(0, i32), shape_of(places))


_FOLDS: dict[str, tuple[Fold, ...]] = {
    f"stablehlo.{name}": folds
    for name, folds in {
        "add": (fold_added_update, fold_added_scatter),
        "broadcast_in_dim": BROADCAST_FOLDS,
        "dot_general": (fold_product_of_zeros, fold_product_without_sums),
        "multiply": (fold_product_by_predicate,),
        "reduce": REDUCE_FOLDS,
        "scatter": (fold_scatter_of_one,),
        "slice": SLICE_FOLDS,
        "transpose": (fold_transposed_product,),
    }.items()
}
_SIMPLIFICATION = Simplification(_FOLDS, ((TopKOp, _selected),))
