"""`sdy-insert-explicit-reshards`: makes the tensors of every op agree, by reshards around it.

    %lhs: [{"x"}, {"y"}], %rhs: [{"y"}, {"x"}]
    before  %0 = stablehlo.dot %lhs, %rhs {... [<@mesh, [{"x"}, {}]>]}
    after   %0 = sdy.reshard %rhs <@mesh, [{"y"}, {}]>
            %1 = stablehlo.dot %lhs, %0 {... [<@mesh, [{"x"}, {}]>]}

Without `enable-full-version` only for calls, concatenations of tensors with different shardings, matrix
products that gain by it, and wherever axes are unreduced; the partitioner that follows handles the rest.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from shardy_py.graph.symbols import Symbols, functions_of, meshes_of
from shardy_py.passes.options import InsertExplicitReshardsOptions
from shardy_py.passes.reshard_insertion import ReshardInsertion


def insert_explicit_reshards(module: ModuleOp, options: InsertExplicitReshardsOptions) -> None:
    """Inserts reshards where operands and results of an op disagree."""
    insertion = ReshardInsertion(Symbols(module), meshes_of(module), is_full=options.enable_full_version)
    insertion.run(function for function in functions_of(module) if function.body.blocks)
