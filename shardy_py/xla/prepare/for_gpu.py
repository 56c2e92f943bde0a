"""Selections of the largest elements as XLA:GPU makes them before it propagates shardings.

    top_k(x)  ->  reshape(TopK(reshape(x)))            of f32 and bf16: rows of a matrix
    top_k(x)  ->  sort(x, iota), slices of the first   of others

Shardings do not propagate through the call, but do through the sort. Source: openxla/xla,
xla/hlo/transforms/expanders/topk_decomposer.cc (`topk-decomposer`), xla/service/topk_rewriter.cc
(`topk-rewriter`), both of the pipeline `pre-spmd-partitioner`. Not here: what XLA:TPU makes of them
(`selection_sorts.py`), kernels for the call (`xla/targets/gpu/expanded.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from shardy_py.mlir import ir
from shardy_py.mlir.cloning import clone
from shardy_py.mlir.dialects.chlo import TopKOp
from shardy_py.mlir.ir import operands_of
from shardy_py.mlir.record import record_of
from shardy_py.mlir.stablehlo_builder import StablehloBuilder, element_of, shape_of
from shardy_py.mlir.text.type_reader import ranked_tensor
from shardy_py.ops.custom_calls import TOP_K
from shardy_py.propagation.graph.liveness import is_dead
from shardy_py.xla.prepare.folding import is_static
from shardy_py.xla.prepare.selection_sorts import CALLED, sorted_first


def is_simplified_for_gpu(module: ModuleOp) -> bool:
    """Returns whether a program has ops that XLA:GPU replaces."""
    return bool(ir.find_ops(module, TopKOp.name))


def simplified_for_gpu(module: ModuleOp) -> ModuleOp:
    """Returns a copy of a program without calls, in which selections are calls or sorts."""
    module = clone(module, {})
    for op in ir.find_ops(module, TopKOp.name):
        for old, new in zip(op.results, _selected(op) or op.results, strict=True):
            ir.replace_uses(old, new)
        if is_dead(op):
            ir.erase(op)
    return module


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
